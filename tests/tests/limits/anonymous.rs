//! ACME requests that no account has signed: the rate of their address is checked before anything is done for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chancery_jose::SigningKey;
use chancery_overload::Limit;
use chancery_testkit::TestStore;
use chancery_tests::{AcmeClient, Reply, Tenant, World, at_once};
use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use serde_json::{Value, json};

use crate::common::{from, hourly, limited, worlds};

const HERE: &str = "192.0.2.1";
const ELSEWHERE: &str = "192.0.2.2";

fn at(world: &World, address: &str) -> Tenant {
    world.stranger().hears_by(from(&world.router, address))
}

/// The account of a client, and its key, as a request from another address shows them.
fn moved(client: &AcmeClient, stranger: Tenant) -> AcmeClient {
    AcmeClient { stranger, key: copy(&client.key), kid: client.kid.clone(), directory: client.directory.clone() }
}

fn copy(key: &SigningKey) -> SigningKey {
    SigningKey::from_pkcs8(&key.to_pkcs8().unwrap()).unwrap()
}

/// A client that claims to be this account and has another key.
fn forger(client: &AcmeClient) -> AcmeClient {
    AcmeClient { key: SigningKey::generate().unwrap(), ..moved(client, client.stranger.clone()) }
}

/// A client that names an account that does not exist.
fn unknown(client: &AcmeClient) -> AcmeClient {
    let kid = "https://ca.test/acme/account/acme_01mcc5rm00ee3rgq7rf7em3d93".to_owned();
    AcmeClient { kid: Some(kid), ..moved(client, client.stranger.clone()) }
}

/// Reads the account of a registered client, or asks for it with the key if there is none.
async fn ask(client: &AcmeClient) -> Reply {
    let url = client.url("newOrder");
    match &client.kid {
        Some(_) => client.post(&url, &json!({})).await,
        None => client.post(&client.url("newAccount"), &json!({"onlyReturnExisting": true})).await,
    }
}

#[track_caller]
fn limited_by_address(reply: &Reply) {
    assert_eq!(reply.status, 429, "{}", reply.text());
    assert_eq!(reply.json()["type"], "urn:ietf:params:acme:error:rateLimited");
    assert!(
        reply.header("ratelimit-policy").unwrap().starts_with("\"anonymous-requests-per-address\""),
        "{:?}",
        reply.headers
    );
    assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
}

/// The problem of a request that was authenticated and is refused for its payload.
#[track_caller]
fn authenticated(reply: &Reply) {
    assert_eq!((reply.status.as_u16(), &reply.json()["type"]), (400, &json!("urn:ietf:params:acme:error:malformed")));
    assert!(reply.json()["detail"].as_str().unwrap().contains("identifiers"), "{}", reply.text());
}

async fn client_of(world: &World, credential: &Value, address: &str) -> AcmeClient {
    let mut client = AcmeClient::at(at(world, address), "TLS-90d").await;
    client.register(credential).await.expect(201);
    client
}

/// Counts what is recorded on the thread of a test.
#[derive(Default)]
struct Tally(Arc<Mutex<BTreeMap<String, u64>>>);

struct Cell(Arc<Mutex<BTreeMap<String, u64>>>, String);

impl HistogramFn for Cell {
    fn record(&self, _: f64) {
        *self.0.lock().unwrap().entry(self.1.clone()).or_default() += 1;
    }
}

impl Recorder for Tally {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let labels: Vec<_> = key.labels().map(|label| label.value()).collect();
        Histogram::from_arc(Arc::new(Cell(self.0.clone(), format!("{} {}", key.name(), labels.join(" ")))))
    }
}

impl Tally {
    /// Signatures that were verified and units of work that read the database since the last call.
    fn take(&self) -> (u64, u64) {
        let counts = std::mem::take(&mut *self.0.lock().unwrap());
        let count = |name: &str| counts.get(name).copied().unwrap_or_default();
        (count("chancery_crypto_seconds jws"), count("chancery_store_unit_seconds read"))
    }
}

/// On one thread, so that everything is counted.
#[tokio::test]
async fn beyond_the_rate_of_an_address_nothing_is_looked_up_or_verified() {
    let world =
        World::over(TestStore::sqlite(), limited(&[(Limit::AnonymousRequestsPerAddress, hourly(3))]), Vec::new()).await;
    let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
    let client = moved(&client_of(&world, &credential, ELSEWHERE).await, at(&world, HERE));
    let fresh = moved(&client_of(&world, &credential, ELSEWHERE).await, at(&world, HERE));
    let (forger, unknown) = (forger(&client), unknown(&client));
    let stranger = AcmeClient::at(at(&world, HERE), "TLS-90d").await;

    let tally = Tally::default();
    let _guard = metrics::set_default_local_recorder(&tally);
    tally.take();
    // The test sees a lookup, and with it a verification, if there is one.
    assert_eq!(ask(&unknown).await.status, 400);
    let (verified, read) = tally.take();
    assert!(verified == 0 && read > 0, "{verified} {read}");
    ask(&forger).await.expect(400);
    let (verified, read) = tally.take();
    assert!(verified > 0 && read > 0, "{verified} {read}");
    assert_eq!(ask(&stranger).await.status, 400);
    assert_eq!(tally.take().0, 1);

    for _ in 0..20 {
        for client in [&unknown, &forger, &stranger, &client, &fresh] {
            limited_by_address(&ask(client).await);
        }
    }
    assert_eq!(tally.take(), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_accounts_do_not_count_against_their_address_and_failed_ones_do() {
    for world in worlds(&limited(&[(Limit::AnonymousRequestsPerAddress, hourly(4))])).await {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        // Registering is anonymous: it takes the first token.
        let client = client_of(&world, &credential, HERE).await;
        for _ in 0..20 {
            authenticated(&ask(&client).await);
        }
        let (forger, unknown) = (forger(&client), unknown(&client));
        let failed = ask(&forger).await;
        assert_eq!(failed.status, 400);
        assert_eq!(
            failed.header("ratelimit"),
            Some("\"anonymous-requests-per-address\";r=2;t=1800"),
            "{:?}",
            failed.headers
        );
        assert_eq!(failed.header("retry-after"), None);
        assert_eq!(ask(&unknown).await.status, 400);
        // A signature that is good is not enough: a request that is sent again counts as well.
        let header = client.header(&client.url("newOrder")).await;
        authenticated(&client.send(&client.url("newOrder"), header.clone(), b"{}").await);
        let again = client.send(&client.url("newOrder"), header, b"{}").await;
        assert_eq!(again.json()["type"], "urn:ietf:params:acme:error:badNonce", "{}", again.text());
        limited_by_address(&ask(&forger).await);
        limited_by_address(&ask(&unknown).await);
        // Nobody elsewhere is concerned, and tokens come back.
        authenticated(&ask(&moved(&client, at(&world, ELSEWHERE))).await);
        world.advance(Duration::from_secs(900));
        authenticated(&ask(&client).await);
        assert_eq!(ask(&unknown).await.status, 400);
        limited_by_address(&ask(&unknown).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_is_known_at_an_address_goes_on_while_a_neighbour_floods() {
    for world in worlds(&limited(&[(Limit::AnonymousRequestsPerAddress, hourly(4))])).await {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let (client, other) = (client_of(&world, &credential, HERE).await, client_of(&world, &credential, HERE).await);
        let absent = moved(&client_of(&world, &credential, ELSEWHERE).await, at(&world, HERE));
        authenticated(&ask(&client).await);
        authenticated(&ask(&other).await);
        let unknown = unknown(&client);
        assert_eq!([ask(&unknown).await.status, ask(&unknown).await.status], [400, 400]);
        limited_by_address(&ask(&unknown).await);
        for _ in 0..10 {
            authenticated(&ask(&client).await);
        }
        // An account that was never here is no exception.
        limited_by_address(&ask(&absent).await);
        // The first failure ends the exception of the account that the request names, and of no other.
        assert_eq!(ask(&forger(&client)).await.status, 400);
        limited_by_address(&ask(&forger(&client)).await);
        limited_by_address(&ask(&client).await);
        authenticated(&ask(&other).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewal_information_costs_a_token_of_the_address() {
    for world in worlds(&limited(&[(Limit::AnonymousRequestsPerAddress, hourly(2))])).await {
        let ask = async |address| at(&world, address).get("/acme/renewal-info/AAAA.AQAB").await;
        assert_eq!([ask(HERE).await.status, ask(HERE).await.status], [404, 404]);
        limited_by_address(&ask(HERE).await);
        assert_eq!(ask(ELSEWHERE).await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_at_once_do_not_get_past_the_rate() {
    for world in worlds(&limited(&[(Limit::AnonymousRequestsPerAddress, hourly(5))])).await {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let client = Arc::new(unknown(&moved(&client_of(&world, &credential, ELSEWHERE).await, at(&world, HERE))));
        let replies = at_once(40, |_| {
            let client = client.clone();
            async move { ask(&client).await }
        })
        .await;
        let refused = replies.iter().filter(|reply| reply.status == 429).count();
        assert_eq!(refused, 35);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_brings_its_key_does_not_take_a_token_that_is_set_aside() {
    for world in worlds(&limited(&[(Limit::AnonymousRequestsPerAddress, hourly(2))])).await {
        let reserve = || world.services.limits.reserve(Limit::AnonymousRequestsPerAddress, HERE).unwrap().unwrap();
        let stranger = AcmeClient::at(at(&world, HERE), "TLS-90d").await;
        let (first, second) = (reserve(), reserve());
        limited_by_address(&ask(&stranger).await);
        first.release();
        assert_eq!(ask(&stranger).await.status, 400);
        limited_by_address(&ask(&stranger).await);
        second.release();
        assert_eq!(ask(&stranger).await.status, 400);
        limited_by_address(&ask(&stranger).await);
    }
}

/// A client that hangs up while its account is looked up drops what is done for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_dropped_counts() {
    for world in worlds(&limited(&[(Limit::AnonymousRequestsPerAddress, hourly(2))])).await {
        let reserve = || world.services.limits.reserve(Limit::AnonymousRequestsPerAddress, HERE);
        drop(reserve().unwrap());
        reserve().unwrap().unwrap().release();
        let (last, refused) = (reserve().unwrap(), reserve());
        assert!(refused.is_err_and(|decision| decision.retry_seconds() == Some(1800)));
        drop(last);
        assert!(reserve().is_err_and(|decision| decision.retry_seconds() == Some(1800)));
        world.advance(Duration::from_secs(1800));
        assert!(reserve().is_ok());
    }
}
