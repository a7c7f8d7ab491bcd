//! A challenge whose answer is there in a moment: choice and verdict are written down together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chancery_domain::{CaaEvidence, PageRequest, ProblemKind, ResellerId, ValidationProblem};
use chancery_http::{Door, Edge, account_for, finish};
use chancery_jose::base64url;
use chancery_service::{Assignment, Job, JobKind, Looker, Report};
use chancery_store::AuditFilter;
use chancery_tests::{AcmeClient, START, VERSION, World, csr, lookup, on_both_databases};
use futures_util::future::join_all;
use serde_json::json;

use crate::common::stage;

/// Counts how often it looks, and sees the same each time.
struct Eyes {
    looks: AtomicUsize,
    shown: bool,
    takes: Duration,
}

#[async_trait]
impl Looker for Eyes {
    async fn look(&self, _: ResellerId, _: &Assignment) -> Report {
        self.looks.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.takes).await;
        let problem = ValidationProblem { kind: ProblemKind::Unauthorized, detail: "nothing there".to_owned() };
        let evidence = CaaEvidence::no_records(START);
        Report::new(if self.shown { Ok(evidence) } else { Err(problem) })
    }
}

/// Looks for longer than anybody waits, and then falls over.
#[derive(Default)]
struct Fainting {
    held: AtomicUsize,
    let_go: AtomicUsize,
}

#[async_trait]
impl Looker for Fainting {
    async fn look(&self, _: ResellerId, _: &Assignment) -> Report {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        panic!("on purpose");
    }

    fn hold(&self, _: &Job) {
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    fn let_go(&self, _: &Job) {
        self.let_go.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whoever looks in this process from now on, and for as long as the test has them.
fn eyes(world: &World, shown: bool, takes: Duration) -> Arc<Eyes> {
    let eyes = Arc::new(Eyes { looks: AtomicUsize::new(0), shown, takes });
    let looker: Arc<dyn Looker> = eyes.clone();
    world.services.validations.look_with(Arc::downgrade(&looker));
    eyes
}

/// An order for one name, and the URL of its first challenge.
async fn ordered(client: &AcmeClient) -> (String, String) {
    let (url, order) = client.order(&["a.test"]).await;
    let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
    (url, authorization["challenges"][0]["url"].as_str().unwrap().to_owned())
}

async fn jobs(world: &World) -> i64 {
    world.services.jobs.backlog().await.unwrap().iter().map(|queue| queue.jobs).sum()
}

/// What was done last, newest first.
async fn last_actions(world: &World, most: u32) -> Vec<String> {
    let page = PageRequest { after: None, limit: most };
    let trail = world.store.read(move |tx| tx.audit(&AuditFilter::default(), &page)).await.unwrap();
    trail.items.into_iter().map(|record| record.action).collect()
}

on_both_databases! {
    async fn the_verdict_is_the_answer_and_no_job_is_left(world: World) {
        let eyes = eyes(&world, true, Duration::ZERO);
        let (_, _, client) = stage(&world).await;
        let (order, challenge) = ordered(&client).await;
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "valid");
        assert_eq!(client.read(&order).await.expect(200)["status"], "ready");
        assert_eq!((eyes.looks.load(Ordering::Relaxed), jobs(&world).await), (1, 0));
        assert_eq!(last_actions(&world, 2).await, ["challenge.validate", "challenge.choose"]);
        // Saying it again changes nothing, and nobody looks again.
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "valid");
        assert_eq!(eyes.looks.load(Ordering::Relaxed), 1);
    }

    async fn what_is_not_shown_ends_the_order_at_once(world: World) {
        let _eyes = eyes(&world, false, Duration::ZERO);
        let (_, _, client) = stage(&world).await;
        let (order, challenge) = ordered(&client).await;
        let answer = client.post(&challenge, &json!({})).await.expect(200);
        assert_eq!((&answer["status"], &answer["error"]["detail"]), (&json!("invalid"), &json!("nothing there")));
        assert_eq!(client.read(&order).await.expect(200)["status"], "invalid");
        assert_eq!(jobs(&world).await, 0);
    }

    async fn a_choice_whose_verdict_takes_longer_is_durable_before_it_is_told(world: World) {
        let _eyes = eyes(&world, true, Duration::from_secs(3600));
        let (_, _, client) = stage(&world).await;
        let (order, challenge) = ordered(&client).await;
        let answer = client.post(&challenge, &json!({})).await;
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.expect(200)["status"], "processing");
        assert_eq!(jobs(&world).await, 1);
        world.work(None).await;
        client.wait_for(&order, "ready").await;
    }

    async fn however_often_it_is_answered_at_once_one_looks(world: World) {
        let eyes = eyes(&world, true, Duration::from_millis(200));
        let (_, _, client) = stage(&world).await;
        let (order, challenge) = ordered(&client).await;
        let (nothing, client_ref) = (json!({}), &client);
        let answers = join_all((0..8).map(|_| client_ref.post(&challenge, &nothing))).await;
        for answer in answers {
            assert_eq!(answer.expect(200)["status"], "valid");
        }
        assert_eq!((eyes.looks.load(Ordering::Relaxed), jobs(&world).await), (1, 0));
        assert_eq!(client.read(&order).await.expect(200)["status"], "ready");
    }

    async fn a_look_that_takes_longer_goes_on_and_is_not_begun_anew(world: World) {
        let eyes = eyes(&world, true, Duration::from_millis(1500));
        let (_, _, client) = stage(&world).await;
        let (order, challenge) = ordered(&client).await;
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "processing");
        client.wait_for(&order, "ready").await;
        assert_eq!((eyes.looks.load(Ordering::Relaxed), jobs(&world).await), (1, 0));
    }

    async fn a_look_that_panics_is_left_to_others(world: World) {
        let fainting = Arc::new(Fainting::default());
        let looker: Arc<dyn Looker> = fainting.clone();
        world.services.validations.look_with(Arc::downgrade(&looker));
        let (_, _, client) = stage(&world).await;
        let (order, challenge) = ordered(&client).await;
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "processing");
        let held_and_let_go = || (fainting.held.load(Ordering::Relaxed), fainting.let_go.load(Ordering::Relaxed));
        for _ in 0..200 {
            if held_and_let_go() == (1, 1) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(held_and_let_go(), (1, 1));
        world.work(None).await;
        client.wait_for(&order, "ready").await;
    }

    async fn names_of_an_order_that_has_ended_are_not_looked_at(world: World) {
        let eyes = eyes(&world, true, Duration::ZERO);
        let (_, _, client) = stage(&world).await;
        let (_, order) = client.order(&["a.test", "b.test"]).await;
        let [given_up, other] = [0, 1].map(|place| order["authorizations"][place].as_str().unwrap().to_owned());
        client.post(&given_up, &json!({"status": "deactivated"})).await.expect(200);
        for challenge in client.read(&other).await.expect(200)["challenges"].as_array().unwrap() {
            let refused = client.post(challenge["url"].as_str().unwrap(), &json!({})).await;
            assert!(refused.status.is_client_error(), "{}", refused.text());
        }
        assert_eq!(eyes.looks.load(Ordering::Relaxed), 0);
    }

    async fn while_too_much_is_in_hand_what_was_begun_goes_on_and_others_begin(world: World) {
        let _eyes = eyes(&world, true, Duration::ZERO);
        let (tenant, credential, client) = stage(&world).await;
        let (_, challenge) = ordered(&client).await;
        let code = tenant.code.clone();
        let reseller = world.store.read(move |tx| tx.reseller_by_code(&code)).await.unwrap().unwrap().id;
        let job = Job { kind: JobKind::Validate, subject: String::new(), attempts: 1, reseller: Some(reseller) };
        let in_hand: Vec<_> = (0..1024).map(|_| world.services.jobs.start(&job).unwrap()).collect();
        let asked = json!({"identifiers": [{"type": "dns", "value": "b.test"}]});
        let refused = client.post(&client.url("newOrder"), &asked).await;
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(refused.expect(503)["type"], "urn:ietf:params:acme:error:serverInternal");
        let asked = json!({"account_lookup": lookup(&credential), "csr": csr(&["b.test"])});
        assert_eq!(tenant.post("/v1/order", asked.clone()).await.refusal(503), "unavailable");
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "valid");
        let other = world.tenant("OTHER").await;
        let account = lookup(&other.make_account("other@example.com").await);
        other.make_order(&account, &["c.test"]).await;
        drop(in_hand);
        client.order(&["d.test"]).await;
        tenant.post("/v1/order", asked).await.expect(201);
    }

    async fn where_there_is_no_room_a_new_order_waits_before_its_signature_is_looked_at(world: World) {
        let eyes = eyes(&world, true, Duration::from_millis(800));
        let (_, _, client) = stage(&world).await;
        let door = Door { services: Arc::new(world.services.clone()), urls: world.urls.clone(), version: VERSION };
        // A quarter of eight: room for two, of which one reseller counts for one where it is not known who asks.
        let edge = Edge::new(Arc::new(|| "r".into())).at_most(8).beginning_at(&["/acme/{profile}/new-order"]);
        let router = finish(account_for(chancery_acme::router(door.clone()), door), edge);
        let stranger = world.stranger().hears_by(router);
        let client = client.speaking_to(stranger);
        let ((_, one), (_, other)) = (ordered(&client).await, ordered(&client).await);
        let new_order = client.url("newOrder");
        let mut header = client.header(&new_order).await;
        header.insert("alg".to_owned(), "ES256".into());
        let forged = json!({
            "protected": base64url::encode(serde_json::to_string(&header).unwrap().as_bytes()),
            "payload": base64url::encode(b"{}"),
            "signature": base64url::encode(&[1; 64]),
        });
        let forged = forged.to_string().into_bytes();
        let nothing = json!({});
        let (one, other, refused) = tokio::join!(client.post(&one, &nothing), client.post(&other, &nothing), async {
            while eyes.looks.load(Ordering::Relaxed) < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            client.send_raw(&new_order, forged.clone()).await
        });
        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")), "{}", refused.text());
        assert_eq!((&one.expect(200)["status"], &other.expect(200)["status"]), (&json!("valid"), &json!("valid")));
        assert_eq!(client.send_raw(&new_order, forged).await.status, 400, "now it is looked at, with the same nonce");
        client.order(&["b.test"]).await;
    }

    async fn nobody_looks_for_a_choice_that_cannot_stand(world: World) {
        let eyes = eyes(&world, true, Duration::ZERO);
        let (tenant, credential, client) = stage(&world).await;
        let (_, challenge) = ordered(&client).await;
        let stranger = AcmeClient::registered(&world, &credential).await;
        assert_eq!(stranger.post(&challenge, &json!({})).await.status, 404);
        let account = format!("/v1/account/{}", lookup(&credential));
        tenant.patch(&account, json!({"suspended": true})).await.expect(200);
        assert_eq!(client.post(&challenge, &json!({})).await.status, 403);
        assert_eq!(eyes.looks.load(Ordering::Relaxed), 0);
    }
}
