//! Which names can be ordered, and how each refusal names the one it is about (RFC 8555 section 6.7.1).

use chancery_tests::{identifiers, lookup, on_both_databases};
use serde_json::{Value, json};

use super::common::{refused, stage, text};

fn values(order: &Value) -> Vec<&str> {
    order["identifiers"].as_array().unwrap().iter().map(|each| text(each, "value")).collect()
}

on_both_databases! {
    async fn names_are_written_in_one_way_whatever_way_they_come(world: World) {
        let (_, _, client) = stage(&world).await;
        for (asked, ordered) in [
            (vec!["B.Test", "a.test."], vec!["a.test", "b.test"]),
            (vec!["a.test", "a.test", "A.TEST"], vec!["a.test"]),
            (vec!["bücher.test"], vec!["xn--bcher-kva.test"]),
            (vec!["xn--bcher-kva.test"], vec!["xn--bcher-kva.test"]),
            (vec!["2001:DB8:0:0::1"], vec!["2001:db8::1"]),
            (vec!["a.test", "*.a.test"], vec!["*.a.test", "a.test"]),
        ] {
            let (_, order) = client.order(&asked).await;
            let mut seen = values(&order);
            seen.sort_unstable();
            assert_eq!(seen, ordered, "{asked:?}");
            assert_eq!(order["authorizations"].as_array().unwrap().len(), ordered.len());
        }
        // A wildcard is authorized by its base, and says so (section 7.1.4).
        let (_, order) = client.order(&["*.w.test"]).await;
        let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert_eq!(authorization["identifier"], json!({"type": "dns", "value": "w.test"}));
        assert_eq!(authorization["wildcard"], true);
        let kinds: Vec<_> = authorization["challenges"].as_array().unwrap().iter().map(|each| text(each, "type")).collect();
        assert_eq!(kinds, ["dns-01"]);
        // And an address never by DNS (RFC 8738 section 7).
        let (_, order) = client.order(&["192.0.2.7"]).await;
        let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert!(authorization.get("wildcard").is_none());
        let kinds: Vec<_> = authorization["challenges"].as_array().unwrap().iter().map(|each| text(each, "type")).collect();
        assert!(!kinds.is_empty() && !kinds.contains(&"dns-01"), "{kinds:?}");
    }

    async fn names_that_are_none_are_refused_each_with_its_reason(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.url("newOrder");
        let ask = async |identifiers: Value| client.post(&url, &json!({"identifiers": identifiers})).await;
        for (kind, value) in [
            ("dns", "192.0.2.1"), ("dns", "2001:db8::1"), ("dns", ""), ("dns", "."), ("dns", "a..test"), ("dns", "a b.test"),
            ("dns", "a.test/x"), ("dns", "http://a.test"), ("dns", "a.test:80"), ("dns", "-a.test"), ("dns", "a_b.test"),
            ("dns", "*"), ("dns", "a.*.test"), ("dns", "a*.a.test"), ("dns", "*.*.test"), ("dns", "xn--a.test"), ("dns", "a.test\0"),
            ("dns", "a@b.test"), ("dns", "1.2.3"),
            ("ip", "a.test"), ("ip", "192.0.2.1/24"), ("ip", "[2001:db8::1]"), ("ip", "192.0.2.256"), ("ip", "0300.0.2.1"), ("ip", ""),
            ("ip", "*.192.0.2.1"), ("ip", "fe80::1%eth0"),
        ] {
            let reply = ask(json!([{"type": kind, "value": value}])).await;
            assert!(reply.status == 400 || reply.status == 403, "{value:?}: {}", reply.text());
            let problem = reply.json();
            let found = text(&problem, "type").rsplit(':').next().unwrap();
            assert!(["malformed", "rejectedIdentifier"].contains(&found), "{value:?}: {problem}");
            assert!(text(&problem, "detail").len() > 10, "{value:?}: {problem}");
        }
        let long = format!("{}.test", vec!["a".repeat(60); 5].join("."));
        refused(&ask(json!([{"type": "dns", "value": long}])).await, 400, "malformed", "253");
        refused(&ask(json!([{"type": "email", "value": "a@a.test"}])).await, 400, "unsupportedIdentifier", "email");
        refused(&ask(json!([])).await, 400, "malformed", "at least one");
        for bad in [json!([7]), json!("a.test"), json!([{"value": "a.test"}]), json!([{"type": "dns"}]), Value::Null] {
            refused(&ask(bad).await, 400, "malformed", "");
        }
        refused(&client.post(&url, &json!({})).await, 400, "malformed", "identifiers");

        // Two kinds of wrong in one order: each is told.
        let mixed = json!([{"type": "email", "value": "a"}, {"type": "dns", "value": "a..b"}, {"type": "dns", "value": "ok.test"}]);
        let problem = refused(&ask(mixed).await, 400, "malformed", "1 more");
        assert_eq!(problem["subproblems"].as_array().unwrap().len(), 2, "{problem}");
    }

    async fn an_order_has_a_hundred_names_and_no_more(world: World) {
        let (_, _, client) = stage(&world).await;
        let names: Vec<String> = (0..101).map(|number| format!("n{number}.test")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (_, order) = client.order(&names[..100]).await;
        assert_eq!(order["authorizations"].as_array().unwrap().len(), 100);
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&names)})).await;
        refused(&reply, 400, "malformed", "101");
    }

    async fn a_policy_refuses_name_by_name(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let group = tenant.make_group("g").await;
        let rules = json!({"denied_domains": ["bad.test", "worse.test"], "allow_wildcards": false, "max_validity_days": 30});
        let policy = tenant.make_policy("p", rules).await;
        tenant.assign(&group, &policy).await;
        tenant.add_members(&group, &[lookup(&credential)]).await.expect(200);
        let url = client.url("newOrder");
        let asked = json!({"identifiers": identifiers(&["bad.test", "good.test", "worse.test", "*.wild.test"])});
        let problem = refused(&client.post(&url, &asked).await, 403, "rejectedIdentifier", "more");
        let mut about: Vec<_> = problem["subproblems"].as_array().unwrap().iter().map(|each| {
            assert_eq!(text(each, "type"), "urn:ietf:params:acme:error:rejectedIdentifier");
            text(&each["identifier"], "value")
        }).collect();
        about.sort_unstable();
        assert_eq!(about, ["*.wild.test", "bad.test", "worse.test"], "{problem}");
        let one = json!({"identifiers": identifiers(&["bad.test"])});
        refused(&client.post(&url, &one).await, 403, "rejectedIdentifier", "bad.test");
        refused(&client.post(&client.url("newAuthz"), &json!({"identifier": {"type": "dns", "value": "bad.test"}})).await, 403, "rejectedIdentifier", "bad.test");
        client.order(&["good.test"]).await;
        // A policy that comes later holds for what was ordered before.
        world.start_workers();
        let (order_url, order) = client.order(&["later.test"]).await;
        client.answer_all(&order).await;
        let order = client.wait_for(&order_url, "ready").await;
        let stop = json!({"name": "p", "issuance_enabled": false});
        tenant.put(&format!("/v1/policy/{policy}"), stop).await.expect(200);
        refused(&client.finalize(&order, &["later.test"]).await, 403, "rejectedIdentifier", "");
    }

    async fn a_list_is_no_identifier(world: World) {
        let (_, _, client) = stage(&world).await;
        for (url, payload) in [
            ("newOrder", json!({"identifiers": [["dns", "a.test"]]})),
            ("newOrder", json!({"identifiers": [{"type": "dns", "value": "a.test"}, ["dns", "b.a.test", "a.test"]]})),
            ("newOrder", json!({"identifiers": ["a.test"]})),
            ("newAuthz", json!({"identifier": ["dns", "a.test"]})),
        ] {
            refused(&client.post(&client.url(url), &payload).await, 400, "malformed", "must be an object");
        }
    }

    async fn a_quota_says_when_to_come_back(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let group = tenant.make_group("g").await;
        let policy = tenant.make_policy("p", json!({"max_certificates_per_day": 1})).await;
        tenant.assign(&group, &policy).await;
        tenant.add_members(&group, &[lookup(&credential)]).await.expect(200);
        world.start_workers();
        client.issue(&["a.test"]).await;
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&["b.test"])})).await;
        refused(&reply, 429, "rateLimited", "");
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!(wait > 0 && wait <= 86_400, "{wait}");
    }
}
