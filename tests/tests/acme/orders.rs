//! Orders and authorizations.

use std::time::Duration;

use chancery_domain::AuthorizationId;
use chancery_store::Tx;
use chancery_testkit::Address;
use chancery_tests::{AcmeClient, World, csr, csr_der, identifiers, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{last, problem, stage};
use crate::renewal::name;

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Gives one authorization up in the database, behind the back of the order that has it.
async fn lose(world: &World, authorization: &str) {
    let id: AuthorizationId = last(authorization).parse().unwrap();
    let now = world.services.now();
    let unit = move |tx: &mut Tx<'_>| {
        let authorization = tx.any_authorization(id)?.unwrap();
        tx.save_authorization(&authorization.deactivate(now).unwrap())
    };
    world.store.write(unit).await.unwrap();
}

/// The rows of ACME accounts, held so that nobody may change them.
struct Held {
    holder: ::postgres::Client,
    watcher: ::postgres::Client,
}

impl Held {
    fn all(database: String) -> Self {
        let connect = || ::postgres::Client::connect(&database, ::postgres::NoTls).unwrap();
        let (mut holder, watcher) = (connect(), connect());
        holder.batch_execute("BEGIN; SELECT 1 FROM acme_accounts FOR SHARE").unwrap();
        Self { holder, watcher }
    }

    fn until_somebody_waits(mut self) -> Self {
        let waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        while self.watcher.query(waiting, &[]).unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }

    fn let_go(mut self) {
        self.holder.batch_execute("COMMIT").unwrap();
    }
}

fn kinds(authorization: &Value) -> Vec<&str> {
    authorization["challenges"].as_array().unwrap().iter().map(|each| text(&each["type"])).collect()
}

on_both_databases! {
    async fn names_have_one_spelling_and_stand_once(world: World) {
        let (_, _, client) = stage(&world).await;
        let asked = ["WWW.Example.com.", "www.example.com", "Bücher.example", "2001:DB8:0::1", "*.example.com", "example.com"];
        let (_, order) = client.order(&asked).await;
        let expected = ["*.example.com", "example.com", "www.example.com", "xn--bcher-kva.example", "2001:db8::1"];
        assert_eq!(order["identifiers"], json!(identifiers(&expected)));
        let wildcard = client.read(text(&order["authorizations"][0])).await.expect(200);
        assert_eq!((&wildcard["identifier"]["value"], &wildcard["wildcard"]), (&json!("example.com"), &json!(true)));
        assert_eq!(wildcard["challenges"].as_array().unwrap().len(), 1);
        assert_eq!(wildcard["challenges"][0]["type"], "dns-01");
    }

    async fn a_hundred_names_are_ordered_and_no_more(world: World) {
        let (_, _, client) = stage(&world).await;
        let names: Vec<_> = (0..101).map(|number| format!("n{number}.example.com")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let (_, order) = client.order(&names[..100]).await;
        assert_eq!(order["authorizations"].as_array().unwrap().len(), 100);
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&names)})).await;
        problem(&reply, 400, "malformed");
    }

    async fn names_that_cannot_be_are_refused_one_by_one(world: World) {
        let (_, _, client) = stage(&world).await;
        let order = async |identifiers: Value| client.post(&client.url("newOrder"), &json!({"identifiers": identifiers})).await;
        problem(&order(json!([])).await, 400, "malformed");
        problem(&order(json!([{"type": "dns", "value": "192.0.2.1"}])).await, 400, "malformed");
        problem(&order(json!([{"type": "ip", "value": "example.com"}])).await, 400, "malformed");
        problem(&order(json!([{"type": "email", "value": "a@example.com"}])).await, 400, "unsupportedIdentifier");
        problem(&order(json!([{"type": "dns", "value": "a.*.example.com"}])).await, 400, "malformed");
        let public = order(json!([{"type": "dns", "value": "co.uk"}, {"type": "dns", "value": "com"}])).await;
        problem(&public, 403, "rejectedIdentifier");
        let parts = public.json()["subproblems"].as_array().unwrap().clone();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0]["identifier"], json!({"type": "dns", "value": "co.uk"}));
        // What cannot be read is told as it came, unless it is longer than any name.
        let (odd, long) = (json!({"type": "dns", "value": "ex ample.com"}), json!({"type": "dns", "value": "a".repeat(301)}));
        let unread = order(json!([odd, {"type": "email", "value": "a@b.c"}, long])).await;
        problem(&unread, 400, "malformed");
        let told: Vec<_> = unread.json()["subproblems"].as_array().unwrap().iter().map(|part| part["identifier"].clone()).collect();
        assert_eq!(told, [odd, json!({"type": "email", "value": "a@b.c"}), Value::Null]);
    }

    async fn the_directory_decides_the_profile(world: World) {
        let (_, _, client) = stage(&world).await;
        let order = async |url: &str, profile: &str| {
            client.post(url, &json!({"identifiers": identifiers(&["example.com"]), "profile": profile})).await
        };
        assert_eq!(order(&client.url("newOrder"), "TLS-90d").await.expect(201)["profile"], "TLS-90d");
        problem(&order(&client.url("newOrder"), "TLS-199d").await, 400, "invalidProfile");
        let elsewhere = order("https://ca.test/acme/TLS-199d/new-order", "TLS-199d").await.expect(201);
        assert_eq!(elsewhere["profile"], "TLS-199d");
    }

    async fn two_requests_are_two_orders_and_valid_names_stay_valid(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let (first, _) = client.issue(&["example.com"]).await;
        let (second, order) = client.order(&["example.com"]).await;
        assert_ne!(first, second);
        assert_eq!(order["status"], "ready");
        let reused = client.read(text(&order["authorizations"][0])).await.expect(200);
        assert_eq!((&reused["status"], &reused["challenges"][0]["status"]), (&json!("valid"), &json!("valid")));
        // What one account has shown is not another's.
        let other = AcmeClient::registered(&world, &credential).await;
        assert_eq!(other.order(&["example.com"]).await.1["status"], "pending");
    }

    async fn a_name_is_authorized_ahead_of_its_order(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let ask = async |name: &str| {
            let payload = json!({"identifier": {"type": "dns", "value": name}});
            client.post(&client.url("newAuthz"), &payload).await
        };
        problem(&ask("*.example.com").await, 400, "malformed");
        let reply = ask("example.com").await;
        let url = reply.header("location").unwrap().to_owned();
        let challenge = text(&reply.expect(201)["challenges"][0]["url"]).to_owned();
        let answered = client.post(&challenge, &json!({})).await;
        let links: Vec<_> = answered.headers.get_all("link").iter().map(|link| link.to_str().unwrap()).collect();
        assert!(links.contains(&format!("<{url}>;rel=\"up\"").as_str()), "{links:?}");
        client.wait_for(&url, "valid").await;
        // Answering once more is fine.
        assert_eq!(client.post(&challenge, &json!({})).await.expect(200)["status"], "valid");
        assert_eq!(client.order(&["example.com"]).await.1["status"], "ready");
        let given_up = client.post(&url, &json!({"status": "deactivated"})).await.expect(200);
        assert_eq!(given_up["status"], "deactivated");
        assert_eq!(client.order(&["example.com"]).await.1["status"], "pending");
    }

    async fn finalizing_wants_a_ready_order_and_a_csr_for_it(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.order(&["example.com"]).await;
        problem(&client.finalize(&order, &["example.com"]).await, 403, "orderNotReady");
        client.answer_all(&order).await;
        let order = client.wait_for(&url, "ready").await;
        problem(&client.finalize(&order, &["www.example.com"]).await, 400, "badCSR");
        problem(&client.post(text(&order["finalize"]), &json!({"csr": "AAAA"})).await, 400, "badCSR");
        problem(&client.post(text(&order["finalize"]), &json!({"csr": "no base64!"})).await, 400, "badCSR");
        // None of this has spent the order.
        let csr = json!({"csr": csr_der(&["example.com"])});
        let order = client.post(text(&order["finalize"]), &csr).await.expect(200);
        assert_eq!(order["status"], "valid");
        assert_eq!(client.post(text(&order["finalize"]), &csr).await.expect(200), order);
    }

    async fn policies_hold_here_too(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let group = tenant.make_group("g").await;
        tenant.add_members(&group, &[chancery_tests::lookup(&credential)]).await.expect(200);
        let policy = tenant.make_policy("p", json!({"allowed_domains": ["*.example.com"]})).await;
        tenant.assign(&group, &policy).await.expect(200);
        let names = identifiers(&["www.example.com", "example.org"]);
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": names})).await;
        assert!(problem(&reply, 403, "rejectedIdentifier").contains("allowed_domains"));
        assert_eq!(reply.json()["subproblems"][0]["identifier"]["value"], "example.org");
    }

    async fn a_deactivated_authorization_ends_its_order(world: World) {
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.order(&["example.com", "example.org"]).await;
        for authorization in order["authorizations"].as_array().unwrap() {
            let given_up = client.post(text(authorization), &json!({"status": "deactivated"})).await.expect(200);
            assert_eq!(given_up["status"], "deactivated");
        }
        let order = client.read(&url).await.expect(200);
        assert_eq!((&order["status"], order["error"]["type"].is_string()), (&json!("invalid"), true));
    }

    async fn every_open_order_that_stands_on_what_is_given_up_fails_with_it(world: World) {
        world.start_workers();
        let (tenant, _, client) = stage(&world).await;
        let (_, first) = client.issue(&["a.test"]).await;
        let replaces = name(&client.certificate(&first).await);
        let replace = json!({"identifiers": identifiers(&["a.test", "b.test"]), "replaces": replaces});
        let made = client.post(&client.url("newOrder"), &replace).await;
        let pending = made.header("location").unwrap().to_owned();
        let order = made.expect(201);
        let (ready, _) = client.order(&["a.test"]).await;
        let (other, _) = client.order(&["c.test"]).await;
        client.post(text(&first["authorizations"][0]), &json!({"status": "deactivated"})).await.expect(200);
        for url in [&pending, &ready] {
            let ended = client.read(url).await.expect(200);
            assert_eq!((&ended["status"], &ended["error"]["status"]), (&json!("invalid"), &json!(403)), "{ended}");
            assert_eq!(ended["error"]["detail"], "the authorization for a.test was deactivated");
        }
        assert_eq!(client.read(&other).await.expect(200)["status"], "pending");
        assert_eq!(client.read(text(&first["finalize"]).trim_end_matches("/finalize")).await.expect(200)["status"], "valid");
        let refused = client.finalize(&order, &["a.test", "b.test"]).await;
        assert!(problem(&refused, 403, "orderNotReady").contains("a.test was deactivated"), "{}", refused.text());
        // Nothing waits for them any more, and the reseller is told.
        client.post(&client.url("newOrder"), &replace).await.expect(201);
        let events = tenant.get("/v1/event?type=order.invalid").await.expect(200);
        let told: Vec<_> = events["items"].as_array().unwrap().iter().map(|event| text(&event["subject"]).to_owned()).collect();
        assert_eq!(told.len(), 2, "{events}");
        assert!([&pending, &ready].iter().all(|url| told.contains(&last(url).to_owned())), "{events}");
    }

    /// With one writer nothing can come in between.
    async fn an_order_fails_too_that_came_while_its_permission_was_being_given_up(world: World) {
        let Address::Postgres(database) = world.store.address() else { return };
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (_, first) = client.issue(&["a.test"]).await;
        let held = tokio::task::spawn_blocking(|| Held::all(database)).await.unwrap();
        let deactivated = json!({"status": "deactivated"});
        let giving_up = client.post(text(&first["authorizations"][0]), &deactivated);
        let ordering = async {
            let held = tokio::task::spawn_blocking(|| held.until_somebody_waits()).await.unwrap();
            let (url, order) = client.order(&["a.test"]).await;
            assert_eq!(order["status"], "ready");
            tokio::task::spawn_blocking(|| held.let_go()).await.unwrap();
            url
        };
        let (given_up, url) = tokio::join!(giving_up, ordering);
        given_up.expect(200);
        assert_eq!(client.read(&url).await.expect(200)["status"], "invalid");
    }

    async fn an_order_that_has_lost_a_name_fails_when_the_last_of_the_others_is_shown(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        client.issue(&["a.test"]).await;
        let (url, order) = client.order(&["a.test", "b.test"]).await;
        lose(&world, text(&order["authorizations"][0])).await;
        client.answer_all(&order).await;
        client.wait_for(text(&order["authorizations"][1]), "valid").await;
        let ended = client.read(&url).await.expect(200);
        assert_eq!(ended["status"], "invalid", "{ended}");
        assert_eq!(ended["error"]["detail"], "the authorization for a.test was deactivated");
    }

    async fn an_order_that_has_lost_a_name_fails_when_it_is_finalized(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        client.issue(&["a.test"]).await;
        let (url, order) = client.order(&["a.test", "b.test"]).await;
        lose(&world, text(&order["authorizations"][0])).await;
        for _ in 0..2 {
            let refused = problem(&client.finalize(&order, &["a.test", "b.test"]).await, 403, "orderNotReady");
            assert_eq!(refused, "the order has failed: unauthorized: the authorization for a.test was deactivated");
        }
        assert_eq!(client.read(&url).await.expect(200)["status"], "invalid");
    }

    async fn an_answer_does_not_outgrow_the_question(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.url("newOrder");
        let order = async |count: u32| {
            let names: Vec<_> = (0..count).map(|number| json!({"type": "dns", "value": format!("not a name {number}")})).collect();
            client.post(&url, &json!({"identifiers": names})).await
        };
        for count in [150, 3_000] {
            let reply = order(count).await;
            let detail = problem(&reply, 400, "malformed");
            assert!(detail.starts_with(&format!("there are {count} names, and a certificate may have 100")), "{detail}");
            assert!(reply.text().len() < 1_000, "{}", reply.text());
        }
        let reply = order(60).await;
        assert!(problem(&reply, 400, "malformed").ends_with("(and 59 more; subproblems tell of 32)"), "{}", reply.text());
        assert_eq!(reply.json()["subproblems"].as_array().unwrap().len(), 32);
        // The same name many times is one.
        let same: Vec<_> = (0..150).map(|_| json!({"type": "dns", "value": "a.test"})).collect();
        client.post(&url, &json!({"identifiers": same})).await.expect(201);
        // What is of another kind than we ask for is not repeated either.
        let reply = client.post(&url, &json!({"identifiers": "x".repeat(50_000)})).await;
        assert!(problem(&reply, 400, "malformed").ends_with("`identifiers` must be a list, not a string"));
        assert!(reply.text().len() < 1_000, "{} bytes", reply.text().len());
    }

    async fn nothing_is_offered_whose_record_could_not_be(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let long = |length: usize| {
            let name = format!("{0}.{0}.{0}.", "a".repeat(57));
            format!("{name}{}.test", "b".repeat(length - name.len() - 5))
        };
        // `_acme-challenge.` and the name have 253 characters together, or one more.
        for (length, offered) in
            [(237, vec!["http-01", "dns-01", "tls-alpn-01"]), (238, vec!["http-01", "tls-alpn-01"])]
        {
            let (_, order) = client.order(&[&long(length)]).await;
            let authorization = client.read(text(&order["authorizations"][0])).await.expect(200);
            assert_eq!(kinds(&authorization), offered, "{length}");
        }
        client.order(&[&format!("*.{}", long(237))]).await;
        let wildcard = format!("*.{}", long(238));
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&[&wildcard])})).await;
        assert!(problem(&reply, 403, "rejectedIdentifier").contains("too long"), "{}", reply.text());
        assert_eq!(reply.json()["subproblems"][0]["identifier"]["value"], wildcard);
        let asked = json!({"account_lookup": lookup(&credential), "csr": csr(&[&wildcard])});
        assert_eq!(tenant.post("/v1/order", asked).await.refusal(400), "policy_violation");
    }
}
