//! Accounts (RFC 8555 section 7.3): found, changed, listed and ended.

use std::time::Duration;

use chancery_tests::{AcmeClient, on_both_databases};
use serde_json::{Value, json};

use super::common::{links, refused, stage, text};

on_both_databases! {
    async fn who_asks_for_an_existing_account_only_gets_no_new_one(world: World) {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let binding = client.binding(&credential, chancery_jose::Algorithm::HS256);
        let payload = json!({"onlyReturnExisting": true, "externalAccountBinding": binding});
        let reply = client.post(&client.url("newAccount"), &payload).await;
        refused(&reply, 400, "accountDoesNotExist", "newAccount");
        client.register(&credential).await.expect(201);
        // Registering again changes nothing.
        let kid = client.kid.take().unwrap();
        let reply = client.post(&client.url("newAccount"), &json!({"contact": ["mailto:x@example.com"]})).await;
        assert_eq!(reply.header("location"), Some(kid.as_str()));
        let account = reply.expect(200);
        assert_eq!(account["contact"], json!(["mailto:admin@example.com"]));
        assert_eq!(text(&account, "orders"), format!("{kid}/orders"));
        // Nor does what would not do for a new one keep anybody from it (section 7.3.1).
        for ill in [json!({"contact": ["tel:1"]}), json!({"externalAccountBinding": {"protected": "?"}})] {
            let reply = client.post(&client.url("newAccount"), &ill).await;
            assert_eq!((reply.status.as_u16(), reply.header("location")), (200, Some(kid.as_str())), "{ill}");
        }
        // It is the same account in every directory.
        let other = AcmeClient::at(world.stranger(), "TLS-199d").await;
        let other = AcmeClient { key: client.key, ..other };
        let reply = other.post(&other.url("newAccount"), &json!({"onlyReturnExisting": true})).await;
        assert_eq!(reply.header("location"), Some(kid.as_str()));
    }

    async fn contacts_are_single_mail_addresses(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        for (contact, kind) in [
            (json!(["tel:+4930123456"]), "unsupportedContact"),
            (json!(["a@example.com"]), "unsupportedContact"),
            (json!(["mailto:a@example.com,b@example.com"]), "invalidContact"),
            (json!(["mailto:a@example.com?subject=x"]), "invalidContact"),
            (json!(["mailto:a%40example.com"]), "invalidContact"),
            (json!(["mailto:"]), "invalidContact"),
            (json!(["mailto:a@b@c"]), "invalidContact"),
            (json!(vec!["mailto:a@example.com"; 11]), "invalidContact"),
        ] {
            let reply = client.post(&url, &json!({"contact": contact})).await;
            let problem = refused(&reply, 400, kind, "");
            assert!(problem.get("subproblems") != Some(&Value::Null), "{problem}");
        }
        let bad = json!({"contact": ["mailto:a@example.com", "tel:1", "mailto:?"]});
        let problem = refused(&client.post(&url, &bad).await, 400, "unsupportedContact", "tel:1");
        let kinds: Vec<_> = problem["subproblems"].as_array().unwrap().iter().map(|each| text(each, "type")).collect();
        assert_eq!(kinds, ["urn:ietf:params:acme:error:unsupportedContact", "urn:ietf:params:acme:error:invalidContact"]);
        refused(&client.post(&url, &json!({"contact": "mailto:a@example.com"})).await, 400, "malformed", "");

        let changed = client.post(&url, &json!({"contact": ["mailto:b@example.com", "MAILTO:c@example.com"]})).await;
        assert_eq!(changed.expect(200)["contact"], json!(["mailto:b@example.com", "mailto:c@example.com"]));
        // What is not named stays; an empty list takes all away (section 7.3.2).
        assert_eq!(client.post(&url, &json!({})).await.expect(200)["contact"].as_array().unwrap().len(), 2);
        assert!(client.post(&url, &json!({"contact": []})).await.expect(200).get("contact").is_none());
    }

    async fn a_deactivated_account_can_do_nothing_more(world: World) {
        let (tenant, credential, mut client) = stage(&world).await;
        let (_, order) = client.order(&["a.test"]).await;
        let url = client.kid.clone().unwrap();
        for status in [json!("revoked"), json!("on holiday"), json!(7)] {
            refused(&client.post(&url, &json!({"status": status})).await, 400, "malformed", "");
        }
        let ended = client.post(&url, &json!({"status": "deactivated"})).await.expect(200);
        assert_eq!(ended["status"], "deactivated");
        for (url, payload) in [
            (url.clone(), None),
            (client.url("newOrder"), Some(json!({"identifiers": [{"type": "dns", "value": "a.test"}]}))),
            (text(&order, "finalize").to_owned(), Some(json!({"csr": "AA"}))),
            (url.clone(), Some(json!({"status": "deactivated"}))),
        ] {
            let reply = match payload {
                None => client.read(&url).await,
                Some(payload) => client.post(&url, &payload).await,
            };
            // RFC 8555 section 7.3.6.
            refused(&reply, 401, "unauthorized", "deactivated");
        }
        // Its key cannot come back.
        client.kid = None;
        refused(&client.register(&credential).await, 401, "unauthorized", "deactivated");
        let orders = tenant.get("/v1/order").await.expect(200);
        assert_eq!(orders["items"][0]["status"], "cancelled");
        // The credential binds others still.
        AcmeClient::registered(&world, &credential).await;
    }

    async fn orders_are_listed_newest_first_a_page_at_a_time(world: World) {
        let (_, _, client) = stage(&world).await;
        let mut made = Vec::new();
        for number in 0..105 {
            world.advance(Duration::from_millis(1));
            made.push(client.order(&[&format!("n{number}.test")]).await.0);
        }
        made.reverse();
        let list = format!("{}/orders", client.kid.clone().unwrap());
        let first = client.read(&list).await;
        let next = links(&first).iter().find_map(|link| link.strip_suffix(">;rel=\"next\"")?.strip_prefix('<')).unwrap();
        let second = client.read(next).await;
        assert!(!links(&second).iter().any(|link| link.contains("next")));
        let mut seen: Vec<_> = first.expect(200)["orders"].as_array().unwrap().clone();
        assert_eq!(seen.len(), 100);
        seen.extend(second.expect(200)["orders"].as_array().unwrap().clone());
        assert_eq!(json!(seen), json!(made));
        for query in ["?cursor=x", "?page=2", "?cursor=", "?cursor=x&cursor=y"] {
            refused(&client.read(&format!("{list}{query}")).await, 400, "malformed", "");
        }
    }
}
