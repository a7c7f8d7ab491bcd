//! `Idempotency-Key`: a request that is made twice happens once, and hears the same answer.

use std::time::Duration;

use chancery_domain::{Scope, ScopeSet};
use chancery_tests::{Reply, Tenant, at_once, count, on_both_databases};
use http::Method;
use serde_json::{Value, json};

use crate::common::{only, unnamed};

const CREDENTIALS: &str = "/v1/account/1/eab-credential";
const DAY: Duration = Duration::from_secs(86_400);

on_both_databases! {
    async fn the_same_key_and_body_hear_the_first_answer_again(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "a@example.com"});
        let first = keyed(&tenant, "/v1/account", "key-1", &body).await;
        assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (201, None));
        tenant.patch("/v1/account/1", json!({"suspended": true})).await.expect(200);
        world.advance(Duration::from_secs(3600));
        for _ in 0..3 {
            let again = keyed(&tenant, "/v1/account", "key-1", &body).await;
            assert_eq!((again.status, again.text()), (first.status, first.text()), "byte for byte, the HMAC key too");
            assert_eq!(again.header("idempotency-replayed"), Some("true"));
            assert_eq!(again.header("content-type"), Some("application/json"));
            assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
        }
        assert!(first.json()["hmacKey"].as_str().unwrap().len() == 64);
        assert_eq!(created(&tenant).await, (1, 1));

        let first = keyed(&tenant, CREDENTIALS, "key-2", &json!({"label": "x"})).await;
        let again = keyed(&tenant, CREDENTIALS, "key-2", &json!({"label": "x"})).await;
        assert_eq!((first.expect(201), again.header("idempotency-replayed")), (again.expect(201), Some("true")));
        let first = tenant.send(Method::POST, CREDENTIALS, &[("idempotency-key", "key-3")], None).await;
        let again = tenant.send(Method::POST, CREDENTIALS, &[("idempotency-key", "key-3")], None).await;
        assert_eq!((first.expect(201), again.header("idempotency-replayed")), (again.expect(201), Some("true")));
        assert_eq!(created(&tenant).await, (1, 3));
    }

    async fn without_a_key_every_request_stands_for_itself(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        for _ in 0..2 {
            let reply = tenant.post(CREDENTIALS, json!({})).await;
            assert_eq!((reply.status.as_u16(), reply.header("idempotency-replayed")), (201, None));
        }
        keyed(&tenant, CREDENTIALS, "one", &json!({})).await.expect(201);
        keyed(&tenant, CREDENTIALS, "two", &json!({})).await.expect(201);
        assert_eq!(created(&tenant).await, (1, 5));
    }

    async fn the_same_key_for_another_request_is_refused_and_the_first_answer_stays(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "a@example.com"});
        let first = keyed(&tenant, "/v1/account", "key", &body).await;
        let bytes = b"{\"customer_email\": \"a@example.com\"}".to_vec();
        let headers = [("idempotency-key", "key"), ("content-type", "application/json")];
        for other in [
            keyed(&tenant, "/v1/account", "key", &json!({"customer_email": "b@example.com"})).await,
            // Compared are bytes, not meanings, and paths, not what they address.
            tenant.raw(Method::POST, "/v1/account", &headers, bytes).await,
            keyed(&tenant, CREDENTIALS, "key", &body).await,
            keyed(&tenant, "/v1/account-group", "key", &json!({"name": "g"})).await,
            keyed(&tenant, "/v1/policy", "key", &json!({"name": "p"})).await,
            // What else is wrong with the other body does not matter any more.
            keyed(&tenant, "/v1/account", "key", &json!({"customer_email": 5})).await,
        ] {
            assert_eq!(
                (other.refusal(422), other.header("idempotency-replayed")),
                ("idempotency_key_reused".to_owned(), None)
            );
        }
        assert_eq!(keyed(&tenant, "/v1/account", "key", &body).await.text(), first.text());
        assert_eq!(keyed(&tenant, "/v1/account", "KEY", &body).await.refusal(409), "account_conflict");
        assert_eq!(created(&tenant).await, (1, 1));
        assert_eq!(tenant.get("/v1/account-group").await.expect(200)["items"], json!([]));
    }

    async fn refusals_are_replayed_in_the_same_words(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let gone = format!("grp_{}", "0".repeat(26));
        for (number, (path, status, body)) in [
            ("/v1/account", 409, json!({"customer_email": "a@example.com"})),
            ("/v1/account", 404, json!({"customer_email": "b@example.com", "account_groups": [gone]})),
            ("/v1/account", 400, json!({"customer_email": "nobody"})),
            ("/v1/account", 400, json!({"customer_email": 5})),
            ("/v1/account", 400, json!({"customer_email": "b@example.com", "colour": "red"})),
            ("/v1/account", 400, json!([])),
            (CREDENTIALS, 400, json!({"label": ""})),
            ("/v1/account/later@example.com/eab-credential", 404, json!({})),
        ]
        .into_iter()
        .enumerate()
        {
            let key = format!("key-{number}");
            let first = keyed(&tenant, path, &key, &body).await;
            assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (status, None), "{body}");
            let again = keyed(&tenant, path, &key, &body).await;
            assert_eq!((again.status, again.text()), (first.status, first.text()), "{body}");
            assert_eq!(again.header("idempotency-replayed"), Some("true"), "{body}");
            let mended = json!({"customer_email": format!("mended-{number}@example.com")});
            assert_eq!(
                keyed(&tenant, "/v1/account", &key, &mended).await.refusal(422),
                "idempotency_key_reused",
                "{body}"
            );
        }
        // Even where the reason for it has passed.
        tenant.delete("/v1/account/1").await.expect(200);
        tenant.make_account("later@example.com").await;
        let taken = json!({"customer_email": "a@example.com"});
        assert_eq!(keyed(&tenant, "/v1/account", "key-0", &taken).await.refusal(409), "account_conflict");
        let path = "/v1/account/later@example.com/eab-credential";
        assert_eq!(keyed(&tenant, path, "key-7", &json!({})).await.refusal(404), "account_not_found");
        keyed(&tenant, "/v1/account", "a new key", &taken).await.expect(201);
    }

    async fn text_that_is_not_json_is_replayed_too_and_what_was_not_read_is_not(world: World) {
        let tenant = world.tenant("DEMO").await;
        let send = async |key: &str, media_type: &str, body: &[u8]| {
            let headers = [("idempotency-key", key), ("content-type", media_type)];
            tenant.raw(Method::POST, "/v1/account", &headers, body.to_vec()).await
        };
        let cut = b"{\"customer_email\": \"a@exam";
        let first = send("key-1", "application/json", cut).await;
        assert_eq!(first.refusal(400), "malformed_json");
        let again = send("key-1", "application/json", cut).await;
        assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), Some("true")));
        // The media type and the size are seen before the body: mended, the same key is good.
        let whole = br#"{"customer_email": "a@example.com"}"#;
        assert_eq!(send("key-2", "text/plain", whole).await.status, 415);
        assert_eq!(send("key-2", "application/json", &vec![b' '; 300_000]).await.status, 413);
        assert_eq!(send("key-2", "application/json", b"").await.status, 400);
        send("key-2", "application/json", whole).await.expect(201);
    }

    async fn what_was_made_is_told_again_after_its_account_has_ended(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let first = keyed(&tenant, CREDENTIALS, "key", &json!({})).await;
        tenant.delete("/v1/account/1").await.expect(200);
        let again = keyed(&tenant, CREDENTIALS, "key", &json!({})).await;
        assert_eq!((again.expect(201), again.header("idempotency-replayed")), (first.expect(201), Some("true")));
        // A further request is about the account as it is: what is addressed comes before the key.
        assert_eq!(keyed(&tenant, CREDENTIALS, "key", &json!({"label": "x"})).await.refusal(404), "account_not_found");
        assert_eq!(keyed(&tenant, CREDENTIALS, "other", &json!({})).await.refusal(404), "account_not_found");
    }

    async fn a_key_is_forgotten_after_a_day(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let first = keyed(&tenant, CREDENTIALS, "key", &json!({})).await.expect(201);
        world.advance(DAY);
        tenant.sign_in().await;
        assert_eq!(keyed(&tenant, CREDENTIALS, "key", &json!({})).await.expect(201), first);
        world.advance(Duration::from_millis(1));
        let fresh = keyed(&tenant, CREDENTIALS, "key", &json!({})).await;
        assert_eq!(fresh.header("idempotency-replayed"), None);
        assert_ne!(fresh.expect(201)["kid"], first["kid"]);
        // The day begins again with the new answer, and the key may stand for something else by then.
        assert_eq!(keyed(&tenant, CREDENTIALS, "key", &json!({})).await.header("idempotency-replayed"), Some("true"));
        world.advance(DAY + Duration::from_secs(1));
        tenant.sign_in().await;
        let other = keyed(&tenant, "/v1/account", "key", &json!({"customer_email": "b@example.com"})).await;
        assert_eq!((other.status.as_u16(), other.header("idempotency-replayed")), (201, None));
    }

    async fn sweeping_forgets_old_answers_and_keeps_the_others(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        keyed(&tenant, CREDENTIALS, "old", &json!({})).await.expect(201);
        world.advance(DAY);
        tenant.sign_in().await;
        keyed(&tenant, CREDENTIALS, "new", &json!({})).await.expect(201);
        world.advance(Duration::from_secs(1));
        assert_eq!(world.services.answers.sweep().await.unwrap(), 1);
        assert_eq!(world.services.answers.sweep().await.unwrap(), 0);
        tenant.sign_in().await;
        assert_eq!(keyed(&tenant, CREDENTIALS, "new", &json!({})).await.header("idempotency-replayed"), Some("true"));
    }

    async fn keys_belong_to_a_reseller_whichever_client_sends_them(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let body = json!({"customer_email": "a@example.com"});
        let mine = keyed(&tenant, "/v1/account", "key", &body).await.expect(201);
        let theirs = keyed(&other, "/v1/account", "key", &body).await;
        assert_eq!(theirs.header("idempotency-replayed"), None);
        assert_ne!(theirs.expect(201)["kid"], mine["kid"]);
        let colleague = world.client_of("DEMO", ScopeSet::all()).await;
        assert_eq!(keyed(&colleague, "/v1/account", "key", &body).await.expect(201), mine);
        // The answer holds a secret: whoever may not create may not hear it.
        let reader = world.client_of("DEMO", only(&[Scope::Reseller, Scope::ReadAccount])).await;
        assert_eq!(keyed(&reader, "/v1/account", "key", &body).await.status, 403);
        assert_eq!(keyed(&world.stranger(), "/v1/account", "key", &body).await.status, 401);
    }

    async fn a_key_is_1_to_255_printable_characters(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let longest = "k".repeat(255);
        for good in [
            "k",
            "a key with spaces",
            "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f",
            "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~",
            &longest,
        ] {
            keyed(&tenant, CREDENTIALS, good, &json!({})).await.expect(201);
            assert_eq!(
                keyed(&tenant, CREDENTIALS, good, &json!({})).await.header("idempotency-replayed"),
                Some("true"),
                "{good}"
            );
        }
        let (_, before) = created(&tenant).await;
        for bad in ["", "tab\tinside", "schlüssel", &"k".repeat(256)] {
            assert_eq!(
                keyed(&tenant, CREDENTIALS, bad, &json!({})).await.refusal(400),
                "invalid_idempotency_key",
                "{bad:?}"
            );
            assert_eq!(
                keyed(&tenant, "/v1/account", bad, &json!({})).await.refusal(400),
                "invalid_idempotency_key",
                "{bad:?}"
            );
        }
        let twice = [("idempotency-key", "a"), ("idempotency-key", "a")];
        let reply = tenant.send(Method::POST, CREDENTIALS, &twice, Some(&json!({}))).await;
        assert_eq!(reply.refusal(400), "invalid_idempotency_key");
        assert_eq!(created(&tenant).await, (1, before));
    }

    async fn many_identical_creations_under_one_key_make_one_account_and_hear_one_answer(world: World) {
        let tenant = world.tenant("DEMO").await;
        let replies = at_once(32, |_| {
            let tenant = tenant.clone();
            async move { keyed(&tenant, "/v1/account", "key", &json!({"customer_email": "a@example.com"})).await }
        })
        .await;
        assert_eq!(count(&replies, 201), 32, "{:?}", replies.iter().map(Reply::text).collect::<Vec<_>>());
        assert!(replies.iter().all(|reply| reply.body == replies[0].body));
        let fresh = replies.iter().filter(|reply| reply.header("idempotency-replayed").is_none()).count();
        assert_eq!((fresh, created(&tenant).await), (1, (1, 1)));

        let replies = at_once(32, |_| {
            let tenant = tenant.clone();
            async move { keyed(&tenant, "/v1/account/a@example.com/eab-credential", "other", &json!({})).await }
        })
        .await;
        assert_eq!(count(&replies, 201), 32);
        assert!(replies.iter().all(|reply| reply.body == replies[0].body));
        assert_eq!(created(&tenant).await, (1, 2));
    }

    async fn of_many_creations_under_one_key_with_other_bodies_one_is_made(world: World) {
        let tenant = world.tenant("DEMO").await;
        let replies = at_once(16, |number| {
            let tenant = tenant.clone();
            let body = json!({"customer_email": format!("a{number}@example.com")});
            async move { keyed(&tenant, "/v1/account", "key", &body).await }
        })
        .await;
        assert_eq!((count(&replies, 201), count(&replies, 422)), (1, 15));
        assert_eq!(created(&tenant).await, (1, 1));
    }

    async fn a_key_does_not_change_what_is_refused_first(world: World) {
        let tenant = world.tenant("DEMO").await;
        let never = unnamed(&tenant.get("/v1/account/99").await);
        keyed(&tenant, "/v1/account", "used", &json!({"customer_email": "a@example.com"})).await.expect(201);
        for key in ["fresh", "used", "bad\tkey"] {
            let reply = keyed(&tenant, "/v1/account/99/eab-credential", key, &json!({"label": 5})).await;
            assert_eq!((reply.status.as_u16(), unnamed(&reply)), (404, never.clone()), "{key}");
        }
    }
}

async fn keyed(tenant: &Tenant, path: &str, key: &str, body: &Value) -> Reply {
    tenant.send(Method::POST, path, &[("idempotency-key", key)], Some(body)).await
}

/// How many accounts and credentials there are.
async fn created(tenant: &Tenant) -> (usize, usize) {
    let count = async |list| tenant.get(list).await.expect(200)["items"].as_array().unwrap().len();
    (count("/v1/account").await, count("/v1/eab-credential").await)
}
