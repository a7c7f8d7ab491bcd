//! Suspended, terminated, revoked: at once, and it is said which.

use chancery_overload::{Limit, LimitSettings, Rate};
use chancery_service::Settings;
use chancery_tests::{AcmeClient, identifiers, lookup, on_both_databases};
use serde_json::json;

use super::common::{refused, stage, text};

on_both_databases! {
    async fn a_suspended_customer_may_look_and_revoke_and_goes_on_later(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (_, issued) = client.issue(&["old.test"]).await;
        let certificate = chancery_jose::base64url::encode(&client.certificate(&issued).await);
        let (url, order) = client.order(&["a.test"]).await;
        let (ready_url, ready) = client.order(&["old.test"]).await;
        assert_eq!(ready["status"], "ready");
        let authorization_url = order["authorizations"][0].as_str().unwrap();
        let authorization = client.read(authorization_url).await.expect(200);
        let challenge = text(&authorization["challenges"][0], "url");
        let account = format!("/v1/account/{}", lookup(&credential));
        tenant.patch(&account, json!({"suspended": true})).await.expect(200);

        let (kid, new_order) = (client.kid.clone().unwrap(), client.url("newOrder"));
        for (url, payload) in [
            (new_order.as_str(), json!({"identifiers": identifiers(&["b.test"])})),
            (&client.url("newAuthz"), json!({"identifier": {"type": "dns", "value": "b.test"}})),
            (challenge, json!({})),
            (text(&ready, "finalize"), json!({"csr": chancery_tests::csr_der(&["old.test"])})),
            (&kid, json!({"contact": []})),
            (authorization_url, json!({"status": "deactivated"})),
        ] {
            let problem = refused(&client.post(url, &payload).await, 403, "unauthorized", "suspended");
            assert!(text(&problem, "detail").contains("ask your certificate provider"), "{problem}");
        }
        let mut second = AcmeClient::at(world.stranger(), "TLS-90d").await;
        refused(&second.register(&credential).await, 403, "unauthorized", "suspended");
        for url in [&kid, &url, &ready_url, authorization_url, challenge, text(&issued, "certificate")] {
            assert_eq!(client.read(url).await.status, 200, "{url}");
        }
        assert_eq!(client.read(&url).await.expect(200)["status"], "pending");
        assert_eq!(client.post(&client.url("revokeCert"), &json!({"certificate": certificate})).await.status, 200);

        tenant.patch(&account, json!({"suspended": false})).await.expect(200);
        client.answer_all(&order).await;
        client.wait_for(&url, "ready").await;
        assert_eq!(client.finalize(&order, &["a.test"]).await.expect(200)["status"], "valid");
    }

    async fn what_is_over_is_over_at_once_and_says_what_it_was(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let gone = AcmeClient::registered(&world, &tenant.make_account("b@example.com").await).await;
        let left = world.tenant("LEFT").await;
        let orphan = AcmeClient::registered(&world, &left.make_account("a@example.com").await).await;
        tenant.delete(&format!("/v1/eab-credential/{}", text(&credential, "kid"))).await.expect(200);
        tenant.delete("/v1/account/b%40example.com").await.expect(200);
        world.services.operator.set_reseller_suspended("LEFT", true).await.unwrap();
        for (client, word) in [(&client, "revoked"), (&gone, "terminated"), (&orphan, "provider is suspended")] {
            let kid = client.kid.clone().unwrap();
            let order = json!({"identifiers": identifiers(&["a.test"])});
            refused(&client.read(&kid).await, 403, "unauthorized", word);
            refused(&client.post(&client.url("newOrder"), &order).await, 403, "unauthorized", word);
            let again = AcmeClient { kid: None, key: chancery_jose::SigningKey::from_pkcs8(&client.key.to_pkcs8().unwrap()).unwrap(), stranger: client.stranger.clone(), directory: client.directory.clone() };
            refused(&again.post(&again.url("newAccount"), &json!({})).await, 403, "unauthorized", word);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customers_share_the_rate_of_their_reseller_and_are_told_when_to_come_again() {
    let number = |number| std::num::NonZeroU32::new(number).unwrap();
    let limits = LimitSettings::none().with(Limit::Requests, Some(Rate::per_second(number(1), number(4))));
    let settings = Settings { limits, ..chancery_tests::settings() };
    let world = chancery_tests::World::over(chancery_testkit::TestStore::sqlite(), settings, Vec::new()).await;
    let (_, _, client) = stage(&world).await;
    let kid = client.kid.clone().unwrap();
    let mut replies = Vec::new();
    for _ in 0..5 {
        replies.push(client.read(&kid).await);
    }
    let last = replies.pop().unwrap();
    refused(&last, 429, "rateLimited", "try again in");
    assert!(last.header("retry-after").is_some() && last.header("ratelimit").is_some());
    assert_eq!(replies[0].status, 200);
    let foreign = world.tenant("OTHER").await.make_account("a@example.com").await;
    let other = AcmeClient::registered(&world, &foreign).await;
    other.read(other.kid.as_deref().unwrap()).await.expect(200);
}
