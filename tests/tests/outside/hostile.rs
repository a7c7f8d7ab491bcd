//! The faults that `chancery dev` makes on purpose, as clients meet them.

use std::net::Ipv4Addr;
use std::time::Duration;

use chancery_testkit::dns::TestDns;
use serde_json::json;

use crate::acme::said;
use crate::dev_server::{DevServer, installed};
use crate::pebble::Pebble;
use crate::wire::{Wire, curl};

#[test]
fn a_rejected_nonce_is_rejected_for_good_and_the_next_one_is_given() {
    let Some(pebble) = Pebble::start(&["--reject-nonces", "50"]) else { return };
    let wire = pebble.wire();
    let (mut rejected, mut taken) = (0, 0);
    for _ in 0..40 {
        let nonce = wire.nonce();
        let ask = || wire.send(&wire.url("newAccount"), Some(&json!({"onlyReturnExisting": true})), &nonce);
        let seen = ask();
        match seen.problem().as_str() {
            "badNonce" => {
                assert_eq!((seen.status, seen.header("content-type")), (400, Some("application/problem+json")));
                assert_ne!(seen.header("replay-nonce").unwrap(), nonce);
                assert_eq!(ask().problem(), "badNonce");
                rejected += 1;
            }
            "accountDoesNotExist" => taken += 1,
            other => panic!("{other}"),
        }
    }
    assert!(rejected > 5 && taken > 5, "{rejected} rejected, {taken} taken");
}

#[test]
fn refusals_say_when_to_come_back() {
    let Some(server) = DevServer::start_with(&["--refuse", "100"]) else { return };
    let url = format!("{}/acme/TLS-90d/directory", server.fact("acme_url"));
    let (mut seconds, mut dates) = (0, 0);
    for _ in 0..40 {
        let seen = curl(server.fact("ca_bundle"), &[&url]);
        let when = seen.header("retry-after").unwrap();
        match (seen.status, seen.problem().as_str()) {
            (429, "rateLimited") => {
                assert_eq!(when, "1");
                seconds += 1;
            }
            (503, "serverInternal") => {
                assert!(when.ends_with(" GMT"), "{when}");
                dates += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(seconds > 5 && dates > 5, "{seconds} and {dates}");
    assert!(server.ask("GET", "/v1/account", &json!({}))["items"].is_array(), "the reseller's API is left alone");
}

#[test]
fn a_finalized_order_is_processing_first() {
    let Some(pebble) = Pebble::start(&["--skip-validation", "--force-processing"]) else { return };
    let mut wire = pebble.wire();
    wire.register();
    for name in ["a.hostile.test", "b.hostile.test", "c.hostile.test"] {
        let (url, order) = wire.order(name);
        wire.wait_for(&wire.answer(&order), "valid");
        let seen = wire.finalize(&order, name);
        assert_eq!((seen.status, &seen.json()["status"]), (200, &json!("processing")), "{seen:?}");
        assert_eq!(seen.header("retry-after"), Some("1"));
        assert_eq!(seen.json().get("certificate"), None);
        assert!(wire.wait_for(&url, "valid").0["certificate"].is_string());
    }
}

#[test]
fn a_slow_look_keeps_the_challenge_waiting() {
    let Some(pebble) = Pebble::start(&["--skip-validation", "--slow-validation", "4"]) else { return };
    let mut wire = pebble.wire();
    wire.register();
    let (_, order) = wire.order("a.hostile.test");
    let authorization = wire.answer(&order);
    let seen = wire.post(&authorization, None);
    assert_eq!((&seen.json()["status"], seen.header("retry-after")), (&json!("pending"), Some("1")));
    let (_, took) = wire.wait_for(&authorization, "valid");
    assert!(took > Duration::from_secs(1), "{took:?}");
}

mod slow {
    use super::*;

    #[test]
    fn clients_live_with_rejected_nonces() {
        if !installed("lego") || !installed("certbot") {
            return;
        }
        // More than Pebble does; certbot tries again once, and lego a few times.
        let Some(pebble) = Pebble::start(&["--reject-nonces", "10"]) else { return };
        let lego = (0..3).any(|turn| {
            let name = format!("{turn}.lego.test");
            pebble.lego("lego", &["-d", &name, "run"]).status.success()
        });
        let certbot = (0..3).any(|turn| {
            let name = format!("{turn}.certbot.test");
            pebble.certbot(&["-d", &name]).status.success()
        });
        assert!(lego && certbot, "lego: {lego}, certbot: {certbot}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn caa_forbids_only_where_it_is_asked() {
        if !installed("lego") {
            return;
        }
        let dns = TestDns::start().await;
        dns.address_of("forbidden.example.com", Ipv4Addr::LOCALHOST).caa("forbidden.example.com", 0, "issue", ";");
        let address = dns.address().to_string();
        let get = ["-d", "forbidden.example.com", "run"];
        let Some(silent) = Pebble::start(&["--dns", &address]) else { return };
        let got = silent.lego("lego", &get);
        assert!(got.status.success(), "{}", said(&got));
        let Some(asking) = Pebble::start(&["--dns", &address, "--caa"]) else { return };
        let refused = asking.lego("lego", &get);
        assert!(!refused.status.success() && said(&refused).contains("acme:error:caa"), "{}", said(&refused));
    }

    #[test]
    fn the_faults_are_on_the_main_listener_as_well() {
        let Some(server) = DevServer::start_with(&["--reject-nonces", "100"]) else { return };
        let url = format!("{}/acme/TLS-90d/directory", server.fact("acme_url"));
        let wire = Wire::at(server.fact("ca_bundle"), &url);
        let seen = wire.send(&wire.url("newAccount"), Some(&json!({})), &wire.nonce());
        assert_eq!((seen.status, seen.problem()), (400, "badNonce".to_owned()));
    }
}
