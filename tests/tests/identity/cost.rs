//! In the common case a caller is known without a question to the database: here nobody could answer one.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chancery_domain::{Name, ScopeSet};
use chancery_service::identity::AuthError;
use chancery_service::{Actor, Caller, Origin};
use chancery_store::StoreError;
use chancery_tests::{World, on_both_databases};
use serde_json::json;

use crate::forge::{parts, with_signature};

/// Longer than anything here takes without the database, shorter than what is remembered is trusted.
const PATIENCE: Duration = Duration::from_secs(1);

on_both_databases! {
    async fn a_known_caller_costs_no_query(world: World) {
        let tenant = world.tenant("DEMO").await;
        let [key, unseen] = [api_key(&world).await, api_key(&world).await];
        let token = tenant.authorization.clone().unwrap();
        drop(Busy::take_every_connection(&world).await);
        // The first time may ask; asking also confirms that nothing has changed.
        for header in [&token, &key] {
            authenticate(&world, header).await.expect("an answer").unwrap();
        }

        let _busy = Busy::take_every_connection(&world).await;
        for _ in 0..20 {
            let caller = authenticate(&world, &token).await.expect("no query").unwrap();
            assert_eq!(caller.actor, Actor::Client(tenant.client_id.clone()));
            let caller = authenticate(&world, &key).await.expect("no query").unwrap();
            assert_eq!(caller.code.as_str(), "DEMO");
        }
        // So it would show if one were asked: somebody new has to be looked up.
        assert!(authenticate(&world, &unseen).await.is_none());
        let (header, claims) = parts(token.strip_prefix("Bearer ").unwrap());
        let forged = format!("Bearer {}", with_signature(&header, &claims, &"A".repeat(86)));
        assert!(authenticate(&world, &forged).await.expect("a bad signature costs no query either").is_err());
    }

    async fn what_cannot_be_confirmed_is_not_trusted_for_long(world: World) {
        let tenant = world.tenant("DEMO").await;
        let token = tenant.authorization.unwrap();
        authenticate(&world, &token).await.expect("an answer").unwrap();
        let busy = Busy::take_every_connection(&world).await;
        authenticate(&world, &token).await.expect("no query").unwrap();

        tokio::time::sleep(Duration::from_millis(4100)).await;
        assert!(authenticate(&world, &token).await.is_none(), "better slow than wrong");
        drop(busy);
        let identity = world.services.identity.clone();
        identity.authenticate(Some(&token), Origin::default()).await.unwrap();
    }

    async fn a_flood_of_unknown_keys_does_not_reach_the_database(world: World) {
        let tenant = world.tenant("DEMO").await;
        let token = tenant.authorization.unwrap();
        authenticate(&world, &token).await.expect("an answer").unwrap();
        let forged = |number: u32| {
            let (header, claims) = parts(token.strip_prefix("Bearer ").unwrap());
            let header = json!({"alg": header["alg"], "typ": "at+jwt", "kid": format!("tok_{number}")});
            format!("Bearer {}", with_signature(&header, &claims, &"A".repeat(86)))
        };
        // The first makes us look for the key; the others of the same second do not.
        assert!(authenticate(&world, &forged(0)).await.expect("an answer").is_err());
        let _busy = Busy::take_every_connection(&world).await;
        for number in 1..100 {
            assert!(authenticate(&world, &forged(number)).await.expect("no query").is_err());
        }
    }
}

async fn api_key(world: &World) -> String {
    let made = world.services.operator.create_api_key("DEMO", Name::parse("k").unwrap(), ScopeSet::all()).await;
    made.unwrap().text.reveal().to_owned()
}

/// `None` when there is no answer, because the database gives none.
async fn authenticate(world: &World, header: &str) -> Option<Result<Caller, AuthError>> {
    let asked = world.services.identity.authenticate(Some(header), Origin::default());
    tokio::time::timeout(PATIENCE, asked).await.ok()
}

/// Units of work that occupy every connection of the store until this is dropped.
struct Busy {
    _end: Sender<()>,
}

impl Busy {
    async fn take_every_connection(world: &World) -> Self {
        let (end, ended) = channel::<()>();
        let ended: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(ended));
        let connections = chancery_store::Options::default().connections;
        for _ in 0..connections {
            let (started, running) = tokio::sync::oneshot::channel();
            let (mut started, ended, store) = (Some(started), ended.clone(), (*world.store).clone());
            tokio::spawn(async move {
                let unit = store.read(move |_| {
                    started.take().map(|started| started.send(()));
                    // Ends with an error when the sender is gone; the first to wait holds the lock for the others.
                    drop(ended.lock().map(|ended| ended.recv()));
                    Ok::<_, StoreError>(())
                });
                drop(unit.await);
            });
            running.await.expect("a connection");
        }
        Self { _end: end }
    }
}
