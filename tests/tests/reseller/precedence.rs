//! Who is told what first: 401, then 403, then 404, then what is wrong with the request; and nobody is told of another
//! reseller's things.

use chancery_domain::Scope;
use chancery_tests::{Reply, Tenant, lookup, on_both_databases};
use http::Method;
use serde_json::json;

use crate::common::{only, unnamed};

/// An operation: its method, its path with a place for the account's or the credential's name, and what it needs.
struct Operation {
    method: Method,
    path: &'static str,
    needs: Scope,
}

const fn operation(method: Method, path: &'static str, needs: Scope) -> Operation {
    Operation { method, path, needs }
}

const OPERATIONS: [Operation; 10] = [
    operation(Method::GET, "/v1/account", Scope::ReadAccount),
    operation(Method::POST, "/v1/account", Scope::WriteAccount),
    operation(Method::GET, "/v1/account/{account}", Scope::ReadAccount),
    operation(Method::DELETE, "/v1/account/{account}", Scope::WriteAccount),
    operation(Method::PATCH, "/v1/account/{account}", Scope::WriteAccount),
    operation(Method::GET, "/v1/account/{account}/eab-credential", Scope::ReadAccount),
    operation(Method::POST, "/v1/account/{account}/eab-credential", Scope::WriteAccount),
    operation(Method::GET, "/v1/eab-credential", Scope::ReadAccount),
    operation(Method::GET, "/v1/eab-credential/{kid}", Scope::ReadAccount),
    operation(Method::DELETE, "/v1/eab-credential/{kid}", Scope::WriteAccount),
];

impl Operation {
    fn addresses(&self) -> bool {
        self.path.contains('{')
    }

    fn at(&self, account: &str, kid: &str) -> String {
        self.path.replace("{account}", account).replace("{kid}", kid)
    }

    /// Asked with everything wrong that can be: the query, the key, the media type and the body.
    async fn badly(&self, somebody: &Tenant, account: &str, kid: &str) -> Reply {
        let headers = [("content-type", "text/html"), ("idempotency-key", "tab\there")];
        let path = format!("{}?limit=0&cursor=x&nope=1", self.at(account, kid));
        somebody.raw(self.method.clone(), &path, &headers, vec![b'{'; 300_000]).await
    }

    async fn well(&self, somebody: &Tenant, account: &str, kid: &str) -> Reply {
        let body = match (&self.method, self.path) {
            (&Method::POST, "/v1/account") => Some(json!({"customer_email": "new@example.com"})),
            (&Method::PATCH, _) => Some(json!({"suspended": true})),
            _ => None,
        };
        somebody.send(self.method.clone(), &self.at(account, kid), &[], body.as_ref()).await
    }
}

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

on_both_databases! {
    async fn a_stranger_is_told_to_sign_in_and_nothing_else(world: World) {
        let tenant = world.tenant("DEMO").await;
        let kid = tenant.make_account("a@example.com").await["kid"].as_str().unwrap().to_owned();
        let impostor = tenant.with_authorization("Bearer not.a.token");
        for operation in &OPERATIONS {
            for somebody in [&world.stranger(), &impostor] {
                for reply in [
                    operation.well(somebody, "1", &kid).await,
                    operation.well(somebody, "99", NOBODY).await,
                    operation.badly(somebody, "1", &kid).await,
                    operation.badly(somebody, "99", NOBODY).await,
                ] {
                    assert_eq!(reply.status, 401, "{} {}", operation.method, operation.path);
                    assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer "));
                    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
                    assert!(!reply.text().is_empty() && !reply.text().starts_with('{'), "{}", reply.text());
                }
            }
        }
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["status"], "active");
    }

    async fn a_client_without_the_scope_is_told_which_it_lacks_and_nothing_else(world: World) {
        let tenant = world.tenant("DEMO").await;
        let kid = tenant.make_account("a@example.com").await["kid"].as_str().unwrap().to_owned();
        for operation in &OPERATIONS {
            for missing in [operation.needs, Scope::Reseller] {
                let others: Vec<_> = Scope::ALL.iter().copied().filter(|scope| *scope != missing).collect();
                let client = world.client_of("DEMO", only(&others)).await;
                for reply in [
                    operation.well(&client, "1", &kid).await,
                    operation.well(&client, "99", NOBODY).await,
                    operation.badly(&client, "1", &kid).await,
                    operation.badly(&client, "99", NOBODY).await,
                ] {
                    assert_eq!(reply.status, 403, "{} {}: {}", operation.method, operation.path, reply.text());
                    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
                    assert!(reply.text().contains(&format!("`{missing}`")), "{}", reply.text());
                }
            }
        }
        assert_eq!(tenant.get("/v1/account/1").await.expect(200)["status"], "active");
    }

    async fn just_the_scope_is_enough(world: World) {
        let tenant = world.tenant("DEMO").await;
        for operation in &OPERATIONS {
            let email = format!("{}@example.com", operation.path.len() + operation.method.as_str().len() * 100);
            let made = tenant.make_account(&email).await;
            let client = world.client_of("DEMO", only(&[Scope::Reseller, operation.needs])).await;
            let reply = operation.well(&client, &lookup(&made), made["kid"].as_str().unwrap()).await;
            assert!(reply.status.is_success(), "{} {}: {}", operation.method, operation.path, reply.text());
        }
    }

    async fn what_is_not_there_is_told_before_what_is_wrong_with_the_request(world: World) {
        let tenant = world.tenant("DEMO").await;
        for operation in OPERATIONS.iter().filter(|operation| operation.addresses()) {
            let well = operation.well(&tenant, "99", NOBODY).await;
            let badly = operation.badly(&tenant, "99", NOBODY).await;
            let what = format!("{} {}", operation.method, operation.path);
            let code = if operation.path.contains("{kid}") { "eab_credential_not_found" } else { "account_not_found" };
            assert_eq!((well.refusal(404), badly.refusal(404)), (code.to_owned(), code.to_owned()), "{what}");
            assert_eq!(unnamed(&well), unnamed(&badly), "{what}");
        }
    }

    async fn what_is_anothers_is_told_as_what_never_was(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let live = other.make_account("live@example.com").await;
        let child = other.post_empty("/v1/account/live@example.com/eab-credential").await.expect(201);
        let ended = other.make_account("ended@example.com").await;
        other.delete("/v1/account/ended@example.com").await.expect(200);
        let before = other.get("/v1/account?include_deleted=true").await.expect(200);
        let never = |kid: &str| (format!("acc_{}", "0".repeat(26)), kid.to_owned());
        for operation in OPERATIONS.iter().filter(|operation| operation.addresses()) {
            let (account, kid) = never(NOBODY);
            let missing = operation.well(&tenant, &account, &kid).await;
            assert_eq!(missing.status, 404);
            for theirs in [&live, &ended] {
                for name in [
                    lookup(theirs),
                    theirs["id"].to_string(),
                    theirs["kid"].as_str().unwrap().to_owned(),
                    theirs["email"].as_str().unwrap().replace('@', "%40"),
                ] {
                    for kid in [&theirs["kid"], &child["kid"]].map(|kid| kid.as_str().unwrap()) {
                        let foreign = operation.well(&tenant, &name, kid).await;
                        let what = format!("{} {} of {name}", operation.method, operation.path);
                        assert_eq!((foreign.status, unnamed(&foreign)), (missing.status, unnamed(&missing)), "{what}");
                        let names = |reply: &Reply| reply.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
                        assert_eq!(names(&foreign), names(&missing), "{what}");
                    }
                }
            }
        }
        assert_eq!(other.get("/v1/account?include_deleted=true").await.expect(200), before);
        for list in ["/v1/account?include_deleted=true", "/v1/eab-credential"] {
            assert_eq!(tenant.get(list).await.expect(200), json!({"items": []}));
        }
    }

    async fn of_a_bad_key_a_bad_body_and_a_conflict_the_earlier_is_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let taken = json!({"customer_email": "a@example.com"});
        let bad_key = tenant.send(Method::POST, "/v1/account", &[("idempotency-key", "")], Some(&json!({}))).await;
        assert_eq!(bad_key.refusal(400), "invalid_idempotency_key");
        let gone = json!({"customer_email": "a@example.com", "account_groups": ["grp_1"], "colour": 1});
        assert_eq!(tenant.post("/v1/account", gone).await.refusal(400), "unknown_field");
        assert_eq!(tenant.post("/v1/account", taken).await.refusal(409), "account_conflict");
    }
}
