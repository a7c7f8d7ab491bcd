//! Accounts: changed, given another key, ended.

use chancery_domain::PageRequest;
use chancery_jose::{SigningKey, jws};
use chancery_store::AuditFilter;
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

    /// A few at a time, so that nobody else waits for all of them.
    async fn very_many_open_orders_end_with_their_account(world: World) {
        let (tenant, _, client) = stage(&world).await;
        for number in 0..205 {
            client.order(&[&format!("n{number}.example.com")]).await;
        }
        let url = client.kid.clone().unwrap();
        client.post(&url, &json!({"status": "deactivated"})).await.expect(200);
        let open = tenant.get("/v1/order?status=pending").await.expect(200);
        assert_eq!(open["items"], json!([]));
        let of = async |action: &str| {
            let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
            world.services.audit.list(filter, PageRequest { limit: 1000, after: None }).await.unwrap()
        };
        let (told, whole) = (of("order.cancel").await, of("acme_account.deactivate").await);
        assert_eq!((told.len(), whole.len()), (205, 1));
        assert!(told.iter().all(|line| (&line.request_id, &line.actor) == (&whole[0].request_id, &whole[0].actor)));
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

    async fn what_is_looked_for_is_of_the_key_the_account_has_now(world: World) {
        let (_, _, mut client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let (_, order) = client.order(&["example.com"]).await;
        client.answer_all(&order).await;
        let authorization: chancery_domain::AuthorizationId =
            crate::common::last(order["authorizations"][0].as_str().unwrap()).parse().unwrap();
        let challenge = chancery_domain::ChallengeId::of(authorization, chancery_domain::ChallengeType::Http01);
        let looked_for = async || world.services.validations.begin(challenge).await.unwrap().unwrap();
        let before = looked_for().await;
        assert_eq!(before.key_authorization, format!("{}.{}", before.token, client.key.public().thumbprint()));
        // CAA records name the ACME account (RFC 8657).
        assert_eq!(before.account_uri, url);
        let (new, old) = (SigningKey::generate().unwrap(), client.key.public().to_value());
        change_key(&client, &new, &url, old).await.expect(200);
        client.key = new;
        let after = looked_for().await.key_authorization;
        assert_eq!(after, format!("{}.{}", before.token, client.key.public().thumbprint()));
    }

    async fn orders_are_listed_a_page_at_a_time(world: World) {
        let (_, _, client) = stage(&world).await;
        let mut made = Vec::new();
        for _ in 0..103 {
            made.push(client.order(&["example.com"]).await.0);
            // Those of one moment have no order among themselves.
            world.advance(std::time::Duration::from_millis(1));
        }
        made.reverse();
        let account = client.read(client.kid.as_deref().unwrap()).await.expect(200);
        let first = client.read(account["orders"].as_str().unwrap()).await;
        assert_eq!(first.expect(200)["orders"], json!(made[..100]));
        let links = first.headers.get_all("link").iter().map(|link| link.to_str().unwrap());
        let next = links.filter_map(|link| link.strip_suffix(">;rel=\"next\"")).next().unwrap();
        let second = client.read(next.strip_prefix('<').unwrap()).await;
        assert_eq!(second.expect(200)["orders"], json!(made[100..]));
        let altered = format!("{}?cursor=AAAA", account["orders"].as_str().unwrap());
        problem(&client.read(&altered).await, 400, "malformed");
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
