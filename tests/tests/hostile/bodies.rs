//! Bodies that are made to cost much.

use std::time::{Duration, Instant};

use chancery_http::Limits;
use chancery_tests::World;

use crate::common::{exchange, request, serve, status};

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_nesting_and_huge_numbers_are_refused_soon() {
    let world = World::sqlite().await;
    let tenant = world.tenant("DEMO").await;
    let address = serve(&world, Limits::default(), 100).await;
    let token = ("authorization", tenant.authorization.as_deref().unwrap());
    let began = Instant::now();
    for body in [
        "[".repeat(200_000),
        "{\"a\":".repeat(40_000),
        format!("{{\"customer_email\": {}}}", "[".repeat(100_000) + &"]".repeat(100_000)),
        format!("{{\"max_names\": {}, \"name\": \"x\"}}", "9".repeat(200_000)),
        format!("{{\"max_names\": 1e{}, \"name\": \"x\"}}", "9".repeat(100)),
        "{\"max_names\": 1e400, \"name\": \"x\"}".to_owned(),
        format!("{{\"name\": \"{}\"}}", "\\u0041".repeat(40_000)),
    ] {
        for path in ["/v1/policy", "/v1/account"] {
            let answer = exchange(address, &request("POST", path, &[JSON, token], body.as_bytes())).await;
            assert_eq!(status(&answer), 400, "{path} {}: {answer}", &body[..40]);
            assert!(answer.len() < 20_000, "an answer of {} bytes", answer.len());
        }
        let jose = ("content-type", "application/jose+json");
        let answer = exchange(address, &request("POST", "/acme/TLS-90d/new-account", &[jose], body.as_bytes())).await;
        assert_eq!(status(&answer), 400, "{answer}");
        let answer = exchange(address, &request("POST", "/oauth/token", &[JSON], body.as_bytes())).await;
        assert!((400..500).contains(&status(&answer)), "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_bodies_are_not_opened() {
    let world = World::sqlite().await;
    let tenant = world.tenant("DEMO").await;
    let address = serve(&world, Limits::default(), 100).await;
    let token = ("authorization", tenant.authorization.as_deref().unwrap());
    for coding in ["gzip", "br", "zstd", "deflate, gzip"] {
        let coding = ("content-encoding", coding);
        let answer = exchange(address, &request("POST", "/v1/account", &[JSON, token, coding], b"\x1f\x8b\x08")).await;
        assert_eq!(status(&answer), 415, "{answer}");
        let jose = ("content-type", "application/jose+json");
        let answer =
            exchange(address, &request("POST", "/acme/TLS-90d/new-account", &[jose, coding], b"\x1f\x8b")).await;
        assert_eq!(status(&answer), 415, "{answer}");
    }
}
