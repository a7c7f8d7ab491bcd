//! Accounts: changed, given another key, ended.

use chancery_jose::{SigningKey, jws};
use chancery_tests::{AcmeClient, Reply, on_both_databases};
use serde_json::{Map, Value, json};

use crate::common::{problem, stage};

/// A change to a new key, with what the inner request says.
async fn change_key(client: &AcmeClient, new: &SigningKey, account: &str, old: Value) -> Reply {
    let url = client.url("keyChange");
    let mut header = Map::new();
    header.insert("jwk".to_owned(), new.public().to_value());
    header.insert("url".to_owned(), url.as_str().into());
    let payload = json!({"account": account, "oldKey": old}).to_string();
    let inner = jws::sign_flattened(header, payload.as_bytes(), new).unwrap();
    client.post(&url, &inner).await
}

on_both_databases! {
    async fn contacts_are_checked_and_changed(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let changed = client.post(&url, &json!({"contact": ["mailto:new@example.com"]})).await.expect(200);
        assert_eq!(changed["contact"], json!(["mailto:new@example.com"]));
        problem(&client.post(&url, &json!({"contact": ["tel:+4930"]})).await, 400, "unsupportedContact");
        problem(&client.post(&url, &json!({"contact": ["mailto:a@example.com,b@example.com"]})).await, 400, "invalidContact");
        assert!(client.post(&url, &json!({"contact": []})).await.expect(200).get("contact").is_none());
    }

    async fn a_deactivated_account_can_do_nothing_more(world: World) {
        let (tenant, _, mut client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let (order, _) = client.order(&["example.com"]).await;
        assert_eq!(client.post(&url, &json!({"status": "deactivated"})).await.expect(200)["status"], "deactivated");
        assert!(problem(&client.read(&url).await, 401, "unauthorized").contains("deactivated"));
        problem(&client.read(&order).await, 401, "unauthorized");
        client.kid = None;
        let found = client.post(&client.url("newAccount"), &json!({"onlyReturnExisting": true})).await;
        problem(&found, 401, "unauthorized");
        let order = tenant.get(&format!("/v1/order/{}", crate::common::last(&order))).await.expect(200);
        assert_eq!(order["status"], "cancelled");
    }

    async fn a_key_is_changed_and_the_old_one_is_nothing_any_more(world: World) {
        let (_, credential, mut client) = stage(&world).await;
        let other = AcmeClient::registered(&world, &credential).await;
        let url = client.kid.clone().unwrap();
        let (new, old) = (SigningKey::generate().unwrap(), client.key.public().to_value());

        let account = change_key(&client, &new, other.kid.as_deref().unwrap(), old.clone()).await;
        problem(&account, 400, "malformed");
        let wrong = change_key(&client, &new, &url, other.key.public().to_value()).await;
        assert!(problem(&wrong, 400, "malformed").contains("oldKey"));
        let taken = change_key(&client, &other.key, &url, old.clone()).await;
        problem(&taken, 409, "malformed");
        assert_eq!(taken.header("location"), other.kid.as_deref());

        change_key(&client, &new, &url, old).await.expect(200);
        problem(&client.read(&url).await, 400, "malformed");
        client.key = new;
        client.read(&url).await.expect(200);
    }

    async fn an_account_is_nobody_elses(world: World) {
        let (_, credential, client) = stage(&world).await;
        let other = AcmeClient::registered(&world, &credential).await;
        problem(&other.read(client.kid.as_deref().unwrap()).await, 403, "unauthorized");
        let (url, order) = client.order(&["example.com"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenge = client.read(authorization).await.expect(200)["challenges"][0]["url"].as_str().unwrap().to_owned();
        for url in [&url, authorization, &challenge] {
            problem(&other.read(url).await, 404, "malformed");
        }
        problem(&other.post(&challenge, &json!({})).await, 404, "malformed");
        problem(&other.finalize(&order, &["example.com"]).await, 404, "malformed");
    }
}
