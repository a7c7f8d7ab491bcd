//! Account key rollover (RFC 8555 section 7.3.5), with every check that section asks for.

use chancery_jose::{Jwk, SigningKey};
use chancery_tests::{AcmeClient, on_both_databases};
use serde_json::{Map, Value, json};

use super::common::{refused, signed, stage, text, with};

fn inner_header(url: &str, key: &Jwk) -> Map<String, Value> {
    with(Map::new(), json!({"url": url, "jwk": key.to_value()}))
}

fn payload(client: &AcmeClient) -> Value {
    json!({"account": client.kid, "oldKey": client.key.public().to_value()})
}

on_both_databases! {
    async fn a_key_is_changed_by_both_keys_together(world: World) {
        let (_, _, client) = stage(&world).await;
        let (url, new) = (client.url("keyChange"), SigningKey::generate().unwrap());
        let before = client.order(&["a.test"]).await.0;
        let inner = signed(inner_header(&url, new.public()), payload(&client).to_string().as_bytes(), &new);
        let changed = client.post(&url, &inner).await.expect(200);
        assert_eq!(changed["status"], "valid");
        // The old key is no longer the account's; the new one has all that was.
        let account = client.kid.clone().unwrap();
        refused(&client.read(&account).await, 400, "malformed", "does not verify");
        let rolled = AcmeClient { key: new, ..client };
        rolled.read(&account).await.expect(200);
        assert_eq!(rolled.read(&before).await.expect(200)["status"], "pending");
        let existing = AcmeClient { kid: None, ..rolled };
        let reply = existing.post(&existing.url("newAccount"), &json!({"onlyReturnExisting": true})).await;
        assert_eq!(reply.header("location"), Some(account.as_str()));
    }

    async fn a_key_change_that_fails_any_check_changes_nothing(world: World) {
        let (tenant, _, client) = stage(&world).await;
        let other = AcmeClient::registered(&world, &tenant.make_account("b@example.com").await).await;
        let (url, new) = (client.url("keyChange"), SigningKey::generate().unwrap());
        let good = payload(&client);
        let body = |changes: Value| {
            let mut body = good.clone();
            for (name, value) in changes.as_object().unwrap() {
                body[name] = value.clone();
            }
            body.to_string().into_bytes()
        };
        let header = |changes: Value| with(inner_header(&url, new.public()), changes);
        let third = SigningKey::generate().unwrap();
        for (inner, word) in [
            (signed(header(json!({})), &body(json!({"account": other.kid})), &new), "`account`"),
            (signed(header(json!({})), &body(json!({"account": 7})), &new), "`account` must be a string"),
            (signed(header(json!({})), &body(json!({"oldKey": third.public().to_value()})), &new), "`oldKey`"),
            (signed(header(json!({})), &body(json!({"oldKey": {}})), &new), "`oldKey`"),
            (signed(header(json!({})), b"{}", &new), "account"),
            (signed(header(json!({"url": client.url("newOrder")})), &body(json!({})), &new), "`url`"),
            (signed(header(json!({"url": null})), &body(json!({})), &new), "`url`"),
            (signed(header(json!({"jwk": null})), &body(json!({})), &new), "`jwk`"),
            (signed(header(json!({"kid": client.kid})), &body(json!({})), &new), "`kid`"),
            (signed(header(json!({"crit": []})), &body(json!({})), &new), "`crit`"),
            // By another key than the one it brings.
            (signed(header(json!({})), &body(json!({})), &third), "does not verify"),
            (signed(header(json!({})), &body(json!({})), &client.key), "does not verify"),
            (json!({}), "`protected`"),
        ] {
            refused(&client.post(&url, &inner).await, 400, "malformed", word);
        }
        let weak = header(json!({"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}));
        refused(&client.post(&url, &signed(weak, &body(json!({})), &new)).await, 400, "badPublicKey", "2048");

        // A key that has an account already: whose is said.
        for (taken, key) in [(&other, &other.key), (&client, &client.key)] {
            let inner = signed(inner_header(&url, key.public()), &body(json!({})), key);
            let reply = client.post(&url, &inner).await;
            refused(&reply, 409, "malformed", "another key");
            assert_eq!(reply.header("location"), taken.kid.as_deref());
        }
        client.read(client.kid.as_deref().unwrap()).await.expect(200);
        // A nonce inside is passed over.
        let inner = signed(header(json!({"nonce": "AAAA"})), &body(json!({})), &new);
        assert_eq!(text(&client.post(&url, &inner).await.expect(200), "status"), "valid");
    }
}
