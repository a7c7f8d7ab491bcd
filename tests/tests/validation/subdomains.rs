//! Control of a name that counts for all names below it (RFC 9444).

use std::time::Duration;

use chancery_domain::{AuthorizationId, AuthorizationState};
use chancery_jose::base64url;
use chancery_service::{AcmeSettings, Settings};
use chancery_store::Tx;
use chancery_tests::{AcmeClient, Node, Reply, Tenant, World, on_both_databases, settings};
use serde_json::{Value, json};

use crate::site::Site;

struct Stage {
    node: Node,
    tenant: Tenant,
    credential: Value,
    client: AcmeClient,
}

impl Stage {
    async fn open(world: &World) -> Self {
        let node = world.another_node(with_subdomains(true), Vec::new()).await;
        let tenant = node.hears(&world.tenant("DEMO").await);
        let credential = tenant.make_account("a@example.com").await;
        let client = registered(&node, &credential).await;
        Self { node, tenant, credential, client }
    }

    async fn ask(&self, identifiers: Value) -> Reply {
        self.client.post(&self.client.url("newOrder"), &json!({"identifiers": identifiers})).await
    }

    /// A new order, its URL, and its authorizations.
    async fn order(&self, identifiers: Value) -> (String, Value, Vec<Value>) {
        let reply = self.ask(identifiers).await;
        let url = reply.header("location").map(str::to_owned);
        let order = reply.expect(201);
        let mut authorizations = Vec::new();
        for each in order["authorizations"].as_array().unwrap() {
            authorizations.push(self.client.read(each.as_str().unwrap()).await.expect(200));
        }
        (url.unwrap(), order, authorizations)
    }

    async fn ahead(&self, name: &str) -> (String, Value) {
        let asked = json!({"identifier": {"type": "dns", "value": name, "subdomainAuthAllowed": true}});
        let reply = self.client.post(&self.client.url("newAuthz"), &asked).await;
        let url = reply.header("location").map(str::to_owned);
        (url.unwrap_or_default(), reply.expect(201))
    }

    /// Publishes the record for the dns-01 challenge of an authorization at this name, and says so.
    async fn show(&self, site: &Site, authorization: &Value, place: &str) {
        let all = authorization["challenges"].as_array().unwrap();
        let challenge = all.iter().find(|challenge| challenge["type"] == "dns-01").unwrap();
        let url = challenge["url"].as_str().unwrap();
        let seen = self.tenant.get(&format!("/v1/challenge/{}", url.rsplit('/').next().unwrap())).await.expect(200);
        let record = &seen["instructions"];
        assert_eq!(record["recordName"], format!("_acme-challenge.{place}"));
        site.dns.txt(record["recordName"].as_str().unwrap(), record["recordValue"].as_str().unwrap());
        self.client.post(url, &json!({})).await.expect(200);
    }

    async fn work(&self, world: &World, site: &Site) {
        self.node.work(Some(site.eyes(world))).await;
    }

    /// How an order ends that is finalized for a name.
    async fn finalized(&self, world: &World, site: &Site, url: &str, name: &str) -> Value {
        let order = self.client.read(url).await.expect(200);
        assert_eq!(order["status"], "ready", "{order:#}");
        self.client.finalize(&order, &[name]).await.expect(200);
        self.work(world, site).await;
        self.client.read(url).await.expect(200)
    }
}

fn with_subdomains(subdomains: bool) -> Settings {
    let acme = AcmeSettings { subdomains, finalize_wait: Duration::ZERO, ..AcmeSettings::of("https://ca.test") };
    Settings { acme, ..settings() }
}

async fn registered(node: &Node, credential: &Value) -> AcmeClient {
    let mut client = AcmeClient::at(node.stranger(), "TLS-90d").await;
    client.register(credential).await.expect(201);
    client
}

fn kinds(authorization: &Value) -> Vec<&str> {
    authorization["challenges"].as_array().unwrap().iter().map(|each| each["type"].as_str().unwrap()).collect()
}

fn below(name: &str, ancestor: &str) -> Value {
    json!([{"type": "dns", "value": name, "ancestorDomain": ancestor}])
}

on_both_databases! {
    async fn control_is_shown_at_a_name_above_and_counts_for_others_below(world: World) {
        let stage = Stage::open(&world).await;
        assert_eq!(stage.client.directory["meta"]["subdomainAuthAllowed"], true);
        let site = Site::open().await;
        let (url, order, authorizations) = stage.order(below("a.b.example.test", "Example.TEST.")).await;
        assert_eq!(order["identifiers"], json!([{"type": "dns", "value": "a.b.example.test"}]));
        let authorization = &authorizations[0];
        assert_eq!(authorization["identifier"], json!({"type": "dns", "value": "example.test"}));
        assert_eq!(authorization["subdomainAuthAllowed"], true);
        assert_eq!(kinds(authorization), ["dns-01"], "a web server shows nothing of other names");
        stage.show(&site, authorization, "example.test").await;
        // CAA is asked for the name itself.
        site.dns.empty("a.b.example.test").empty("b.example.test");
        stage.work(&world, &site).await;
        let order = stage.finalized(&world, &site, &url, "a.b.example.test").await;
        assert_eq!(order["status"], "valid", "{order:#}");

        // Another name below needs nothing more, whether its ancestor is named or not, and the ancestor neither.
        site.dns.empty("c.example.test");
        for asked in [below("c.example.test", "example.test"), json!([{"type": "dns", "value": "c.example.test"}])] {
            let (url, order, authorizations) = stage.order(asked).await;
            assert_eq!((&order["status"], &authorizations[0]["status"]), (&json!("ready"), &json!("valid")));
            let order = stage.finalized(&world, &site, &url, "c.example.test").await;
            assert_eq!(order["status"], "valid", "{order:#}");
        }
        // A wildcard, a name beside and a name above do.
        for name in ["*.c.example.test", "example2.test", "badexample.test"] {
            let (_, order, authorizations) = stage.order(json!([{"type": "dns", "value": name}])).await;
            assert_eq!(order["status"], "pending", "{name}");
            assert!(authorizations[0].get("subdomainAuthAllowed").is_none());
        }
    }

    async fn caa_is_asked_for_each_name_below(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (url, ahead) = stage.ahead("example.test").await;
        assert_eq!((&ahead["subdomainAuthAllowed"], &ahead["status"]), (&json!(true), &json!("pending")));
        assert_eq!(kinds(&ahead), ["dns-01"]);
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        assert_eq!(stage.client.read(&url).await.expect(200)["status"], "valid");
        // Asked again, it is there already.
        assert_eq!(stage.ahead("example.test").await.1["status"], "valid");

        site.dns.caa("no.example.test", 0, "issue", "other.test").empty("yes.example.test");
        for (name, status) in [("yes.example.test", "valid"), ("no.example.test", "invalid")] {
            let (url, _, _) = stage.order(json!([{"type": "dns", "value": name}])).await;
            // The reseller sees that it was not asked yet.
            let path = format!("/v1/order/{}", url.rsplit('/').next().unwrap());
            let seen = stage.tenant.get(&path).await.expect(200);
            let (shown, caa) = (&seen["progress"][1], &seen["progress"][2]);
            assert_eq!((&shown["step"], &shown["status"]), (&json!("validation"), &json!("done")));
            assert_eq!(*caa, json!({"step": "caa", "status": "waiting"}));
            let order = stage.finalized(&world, &site, &url, name).await;
            assert_eq!(order["status"], status, "{order:#}");
        }
    }

    async fn what_a_node_concludes_that_knows_no_namespaces_is_not_of_one(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (url, _, authorizations) = stage.order(below("a.example.test", "example.test")).await;
        stage.show(&site, &authorizations[0], "example.test").await;
        site.dns.empty("a.example.test");
        stage.work(&world, &site).await;
        let order = stage.client.read(&url).await.expect(200);
        let id = order["authorizations"][0].as_str().unwrap().rsplit('/').next().unwrap();
        let id: AuthorizationId = id.parse().unwrap();
        let unit = move |tx: &mut Tx<'_>| {
            let mut authorization = tx.any_authorization(id)?.unwrap();
            let AuthorizationState::Valid(validation) = &mut authorization.state else { panic!("{authorization:?}") };
            assert_eq!(validation.namespace.take().unwrap().as_str(), "example.test");
            tx.save_authorization(&authorization)
        };
        world.store.write(unit).await.unwrap();
        for name in ["a.example.test", "b.example.test"] {
            let (_, order, _) = stage.order(json!([{"type": "dns", "value": name}])).await;
            assert_eq!(order["status"], "pending", "{name}");
        }
        assert_eq!(stage.finalized(&world, &site, &url, "a.example.test").await["status"], "invalid");
    }

    async fn a_permission_that_was_given_up_counts_for_no_name_below(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (url, ahead) = stage.ahead("example.test").await;
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        let (open, order, _) = stage.order(json!([{"type": "dns", "value": "a.example.test"}])).await;
        assert_eq!(order["status"], "ready");
        stage.client.post(&url, &json!({"status": "deactivated"})).await.expect(200);
        let (_, order, _) = stage.order(json!([{"type": "dns", "value": "b.example.test"}])).await;
        assert_eq!(order["status"], "pending");
        // Neither for one that was ready before.
        let order = stage.client.read(&open).await.expect(200);
        assert_eq!(order["status"], "invalid", "{order:#}");

        // What stands on it is the same permission.
        let (_, ahead) = stage.ahead("example.test").await;
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        let (_, order, _) = stage.order(json!([{"type": "dns", "value": "c.example.test"}])).await;
        assert_eq!(order["status"], "ready");
        let copy = order["authorizations"][0].as_str().unwrap();
        stage.client.post(copy, &json!({"status": "deactivated"})).await.expect(200);
        let (_, order, _) = stage.order(json!([{"type": "dns", "value": "d.example.test"}])).await;
        assert_eq!(order["status"], "pending");
    }

    async fn control_of_one_name_or_by_another_account_counts_for_none_below(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        // Shown for itself alone.
        let (_, _, authorizations) = stage.order(json!([{"type": "dns", "value": "example.test"}])).await;
        stage.show(&site, &authorizations[0], "example.test").await;
        stage.work(&world, &site).await;
        let (_, order, _) = stage.order(json!([{"type": "dns", "value": "a.example.test"}])).await;
        assert_eq!(order["status"], "pending");
        // For it to count for those below, it is shown as such.
        let (_, ahead) = stage.ahead("example.test").await;
        assert_eq!(ahead["status"], "pending");
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        let (_, order, _) = stage.order(json!([{"type": "dns", "value": "a.example.test"}])).await;
        assert_eq!(order["status"], "ready");
        let other = registered(&stage.node, &stage.credential).await;
        assert_eq!(other.order(&["a.example.test"]).await.1["status"], "pending");
    }

    async fn what_is_no_ancestor_is_refused(world: World) {
        let stage = Stage::open(&world).await;
        for (name, ancestor, why) in [
            ("a.example.test", "a.example.test", "is not a name above it"),
            ("a.example.test", "b.a.example.test", "is not a name above it"),
            ("a.example.test", "ample.test", "is not a name above it"),
            ("a.example.test", "example.com", "is not a name above it"),
            ("a.example.test", "*.example.test", "is not a host name"),
            ("a.example.test", "", "is not a host name"),
            ("*.a.example.test", "example.test", "leave it out"),
        ] {
            let reply = stage.ask(below(name, ancestor)).await;
            assert!(reply.text().contains(why), "{name} {ancestor}: {}", reply.text());
            assert_eq!(reply.expect(400)["type"], "urn:ietf:params:acme:error:malformed");
        }
        let address = json!([{"type": "ip", "value": "192.0.2.1", "ancestorDomain": "example.test"}]);
        assert!(stage.ask(address).await.expect(400)["detail"].as_str().unwrap().contains("an address has none"));
        let twice = json!([
            {"type": "dns", "value": "a.b.example.test", "ancestorDomain": "b.example.test"},
            {"type": "dns", "value": "a.b.example.test", "ancestorDomain": "example.test"},
        ]);
        assert!(stage.ask(twice).await.expect(400)["detail"].as_str().unwrap().contains("twice"));
        for (name, suffix, why) in [
            ("a.example.co.uk", "co.uk", "co.uk is a public suffix"),
            ("example.com", "com", "com is a public suffix"),
            ("a.test", "test", "test is a public suffix"),
            ("a.b.c.kobe.jp", "kobe.jp", "name b.c.kobe.jp or one below it"),
            ("a.b.s3.amazonaws.com", "amazonaws.com", "name b.s3.amazonaws.com or one below it"),
        ] {
            let reply = stage.ask(below(name, suffix)).await;
            assert!(reply.text().contains(why), "{}", reply.text());
            let refused = reply.json();
            assert_eq!(refused["type"], "urn:ietf:params:acme:error:rejectedIdentifier");
            // It is told of the name that was ordered (RFC 8555 section 6.7.1).
            assert_eq!(refused["subproblems"][0]["identifier"], json!({"type": "dns", "value": name}), "{refused}");
            assert!(refused["detail"].as_str().unwrap().contains("`ancestorDomain`"), "{refused}");
        }
        let asked = json!({"identifier": {"type": "dns", "value": "co.uk", "subdomainAuthAllowed": true}});
        let refused = stage.client.post(&stage.client.url("newAuthz"), &asked).await.expect(403);
        assert_eq!(refused["subproblems"][0]["identifier"]["value"], "co.uk");
    }

    async fn control_does_not_reach_below_a_public_suffix(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (_, ahead) = stage.ahead("kobe.jp").await;
        stage.show(&site, &ahead, "kobe.jp").await;
        site.dns.empty("kobe.jp").empty("jp");
        stage.work(&world, &site).await;
        assert_eq!(stage.ahead("kobe.jp").await.1["status"], "valid");
        let (_, order, _) = stage.order(json!([{"type": "dns", "value": "a.b.c.kobe.jp"}])).await;
        assert_eq!(order["status"], "pending");
    }

    async fn what_is_given_up_ends_every_open_order_for_a_name_below(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (given_up, ahead) = stage.ahead("example.test").await;
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        let two = json!([{"type": "dns", "value": "a.example.test"}, {"type": "dns", "value": "b.other.test"}]);
        let (url, order, _) = stage.order(two).await;
        assert_eq!(order["status"], "pending");
        stage.client.post(&given_up, &json!({"status": "deactivated"})).await.expect(200);
        let ended = stage.client.read(&url).await.expect(200);
        assert_eq!(ended["status"], "invalid", "{ended:#}");
        assert_eq!(ended["error"]["detail"], "the authorization for a.example.test was deactivated");
    }

    async fn who_controls_a_namespace_revokes_what_is_below(world: World) {
        let mut stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (url, _, authorizations) = stage.order(below("a.example.test", "example.test")).await;
        stage.show(&site, &authorizations[0], "example.test").await;
        site.dns.empty("a.example.test");
        stage.work(&world, &site).await;
        let order = stage.finalized(&world, &site, &url, "a.example.test").await;
        let certificate = base64url::encode(&stage.client.certificate(&order).await);
        let revoke = json!({"certificate": certificate, "reason": 4});

        stage.client = registered(&stage.node, &stage.credential).await;
        let revokes = stage.client.url("revokeCert");
        let ask = async |client: &AcmeClient| client.post(&revokes, &revoke).await.status.as_u16();
        assert_eq!(ask(&stage.client).await, 403);
        let (_, ahead) = stage.ahead("example.test").await;
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        // Where namespaces do not count for orders, they do not here.
        let node = world.another_node(with_subdomains(false), Vec::new()).await;
        let elsewhere = stage.client.speaking_to(node.stranger());
        assert_eq!(ask(&elsewhere).await, 403);
        assert_eq!(ask(&elsewhere.speaking_to(stage.node.stranger())).await, 200);
    }

    async fn what_is_not_allowed_any_more_is_not_issued_either(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (_, ahead) = stage.ahead("example.test").await;
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        let (url, order, _) = stage.order(below("a.example.test", "example.test")).await;
        assert_eq!(order["status"], "ready");
        let node = world.another_node(with_subdomains(false), Vec::new()).await;
        let client = stage.client.speaking_to(node.stranger());
        client.finalize(&order, &["a.example.test"]).await;
        node.work(None).await;
        let ended = client.read(&url).await.expect(200);
        assert_eq!(ended["status"], "invalid", "{ended:#}");
    }

    async fn policies_are_asked_about_the_name_that_is_ordered(world: World) {
        let stage = Stage::open(&world).await;
        let group = stage.tenant.post("/v1/account-group", json!({"name": "g"})).await.expect(200);
        let rules = json!({"name": "p", "denied_domains": ["secret.example.test"]});
        let policy = stage.tenant.post("/v1/policy", rules).await.expect(200);
        let (group, policy) = (chancery_tests::lookup(&group), chancery_tests::lookup(&policy));
        stage.tenant.post_empty(&format!("/v1/account-group/{group}/policy/{policy}")).await.expect(200);
        let member = json!({"accounts": [chancery_tests::lookup(&stage.credential)]});
        stage.tenant.post(&format!("/v1/account-group/{group}/member"), member).await.expect(200);
        let refused = stage.ask(below("secret.example.test", "example.test")).await;
        assert!(refused.text().contains("denied_domains"), "{}", refused.text());
        stage.ask(below("open.example.test", "example.test")).await.expect(201);
    }

    async fn where_it_is_not_allowed_names_above_are_passed_over(world: World) {
        let stage = Stage::open(&world).await;
        let site = Site::open().await;
        let (_, ahead) = stage.ahead("example.test").await;
        stage.show(&site, &ahead, "example.test").await;
        stage.work(&world, &site).await;
        // The operator has thought better of it.
        let node = world.another_node(with_subdomains(false), Vec::new()).await;
        let client = stage.client.speaking_to(node.stranger());
        let directory = node.stranger().get("/acme/TLS-90d/directory").await.expect(200);
        assert!(directory["meta"].get("subdomainAuthAllowed").is_none());
        let asked = json!({"identifiers": below("a.example.test", "example.test")});
        let order = client.post(&client.url("newOrder"), &asked).await.expect(201);
        assert_eq!(order["status"], "pending");
        let authorization = client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert_eq!(authorization["identifier"]["value"], "a.example.test");
        let asked = json!({"identifier": {"type": "dns", "value": "b.example.test", "subdomainAuthAllowed": true}});
        let ahead = client.post(&client.url("newAuthz"), &asked).await.expect(201);
        assert!(ahead.get("subdomainAuthAllowed").is_none());
        assert_eq!(kinds(&ahead), ["http-01", "dns-01", "tls-alpn-01"]);
    }
}
