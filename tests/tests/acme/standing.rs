//! What is revoked, suspended or ended takes effect with the next request, and the refusal says which it was.

use std::time::Duration;

use chancery_domain::ProfileName;
use chancery_jose::SigningKey;
use chancery_service::Origin;
use chancery_service::acme::{AccountUpdate, AskedName, NewAcmeOrder};
use chancery_tests::{csr_der, lookup, on_both_databases, unhurried};
use serde_json::json;

use crate::common::{last, problem, stage};

on_both_databases! {
    async fn a_revoked_credential_takes_its_accounts_with_it(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        let kid = credential["kid"].as_str().unwrap();
        tenant.delete(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        let refused = client.read(client.kid.as_deref().unwrap()).await;
        assert!(problem(&refused, 403, "unauthorized").contains("EAB credential"));
    }

    async fn accounts_that_an_expired_credential_bound_go_on_until_it_is_revoked(world: World) {
        world.start_workers();
        let (mut tenant, root, _) = stage(&world).await;
        let path = format!("/v1/account/{}/eab-credential", lookup(&root));
        let credential = tenant.post(&path, json!({"expires_in_days": 1})).await.expect(201);
        let client = chancery_tests::AcmeClient::registered(&world, &credential).await;
        let (url, open) = client.order(&["before.test"]).await;
        client.answer_all(&open).await;
        let open = client.wait_for(&url, "ready").await;
        world.advance(Duration::from_secs(86_400));
        tenant.sign_in().await;
        // What was ordered before is finalized and issued, and so is what is ordered after.
        assert_eq!(client.finalize(&open, &["before.test"]).await.expect(200)["status"], "valid");
        client.issue(&["after.test"]).await;
        // It binds nothing more, and gives back the account that it bound.
        let mut late = chancery_tests::AcmeClient::at(world.stranger(), "TLS-90d").await;
        assert!(problem(&late.register(&credential).await, 403, "unauthorized").contains("has expired"));
        let same = chancery_tests::AcmeClient { kid: None, ..client };
        assert_eq!(same.post(&same.url("newAccount"), &json!({})).await.status, 200);
        tenant.delete(&format!("/v1/eab-credential/{}", credential["kid"].as_str().unwrap())).await.expect(200);
        let refused = same.post(&same.url("newAccount"), &json!({})).await;
        assert!(problem(&refused, 403, "unauthorized").contains("revoked"));
    }

    async fn a_suspended_customer_looks_and_revokes_and_no_more(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (url, issued) = client.issue(&["example.com"]).await;
        let (_, open) = client.order(&["example.org"]).await;
        let authorization = open["authorizations"][0].as_str().unwrap().to_owned();
        let challenge = client.read(&authorization).await.expect(200)["challenges"][0]["url"].as_str().unwrap().to_owned();
        let account = format!("/v1/account/{}", lookup(&credential));
        tenant.patch(&account, json!({"suspended": true})).await.expect(200);
        client.read(&url).await.expect(200);
        let finalize = open["finalize"].as_str().unwrap();
        for (url, payload) in [
            (client.url("newOrder"), json!({"identifiers": [{"type": "dns", "value": "example.net"}]})),
            (client.url("newAuthz"), json!({"identifier": {"type": "dns", "value": "example.net"}})),
            (challenge.clone(), json!({})),
            (authorization, json!({"status": "deactivated"})),
            (finalize.to_owned(), json!({"csr": csr_der(&["example.org"])})),
            (client.kid.clone().unwrap(), json!({"contact": []})),
            (client.kid.clone().unwrap(), json!({"status": "deactivated"})),
        ] {
            assert!(problem(&client.post(&url, &payload).await, 403, "unauthorized").contains("suspended"), "{url}");
        }
        let der = chancery_jose::base64url::encode(&client.certificate(&issued).await);
        let revoked = client.post(&client.url("revokeCert"), &json!({"certificate": der})).await;
        assert_eq!(revoked.status, 200, "{}", revoked.text());
        tenant.patch(&account, json!({"suspended": false})).await.expect(200);
        client.post(&challenge, &json!({})).await.expect(200);
    }

    async fn the_customers_of_a_suspended_reseller_wait(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        world.services.operator.set_reseller_suspended("DEMO", true).await.unwrap();
        assert!(problem(&client.read(&url).await, 403, "unauthorized").contains("provider"));
        world.services.operator.set_reseller_suspended("DEMO", false).await.unwrap();
        client.read(&url).await.expect(200);
    }

    async fn a_terminated_customer_is_gone(world: World) {
        let (tenant, credential, client) = stage(&world).await;
        tenant.delete(&format!("/v1/account/{}", lookup(&credential))).await.expect(200);
        let refused = client.read(client.kid.as_deref().unwrap()).await;
        assert!(problem(&refused, 403, "unauthorized").contains("terminated"));
    }

    async fn nothing_is_signed_for_an_account_that_has_ended_meanwhile(world: World) {
        let (_, _, client) = stage(&world).await;
        let node = world.another_node(unhurried(), Vec::new()).await;
        let client = client.speaking_to(node.stranger());
        let (url, order) = client.order(&["example.com"]).await;
        client.answer_all(&order).await;
        world.work(None).await;
        let order = client.wait_for(&url, "ready").await;
        let kid = client.kid.clone().unwrap();
        // Nobody is at work yet: the order waits, and the account ends before it is its turn.
        assert_eq!(client.finalize(&order, &["example.com"]).await.expect(200)["status"], "processing");
        client.post(&kid, &json!({"status": "deactivated"})).await.expect(200);
        world.work(None).await;
        let id: chancery_domain::OrderId = last(&url).parse().unwrap();
        let state = world.store.read(move |tx| tx.any_order(id)).await.unwrap().unwrap().state;
        assert!(matches!(state, chancery_domain::OrderState::Invalid { .. }), "{state:?}");
    }

    async fn what_was_admitted_a_moment_ago_is_asked_again_where_something_is_written(world: World) {
        for by_key in [true, false] {
            let (tenant, credential, client) = match by_key {
                true => stage(&world).await,
                false => {
                    let tenant = world.tenant("SECOND").await;
                    let credential = tenant.post("/v1/account", json!({"customer_email": "b@example.com"})).await.expect(201);
                    let client = chancery_tests::AcmeClient::registered(&world, &credential).await;
                    (tenant, credential, client)
                }
            };
            let (url, order) = client.order(&["example.com"]).await;
            let authorization = order["authorizations"][0].as_str().unwrap();
            let shown = client.read(authorization).await.expect(200);
            let (acme, id) = (&world.services.acme, last(client.kid.as_deref().unwrap()).parse().unwrap());
            let speaker = acme.key_of(id).await.unwrap();
            let nonce = acme.check_nonce(&client.nonce().await).unwrap();
            let admitted = acme.admit(id, nonce, &speaker, &Origin::default()).await.unwrap();
            let told = if by_key {
                let (old, new) = (client.key.public(), SigningKey::generate().unwrap());
                acme.change_key(&admitted, old, new.public()).await.unwrap();
                "another key"
            } else {
                let kid = credential["kid"].as_str().unwrap();
                tenant.delete(&format!("/v1/eab-credential/{kid}")).await.expect(200);
                "revoked"
            };
            let profile = ProfileName::parse("TLS-90d").unwrap();
            let identifiers = vec![AskedName { kind: "dns".to_owned(), value: "example.org".to_owned(), ancestor: None, subdomains: false }];
            let new = NewAcmeOrder { profile, identifiers, not_before: None, not_after: None, replaces: None };
            let challenge = last(shown["challenges"][0]["url"].as_str().unwrap()).parse().unwrap();
            let csr = chancery_jose::base64url::decode(&csr_der(&["example.com"])).unwrap();
            let refusals = [
                acme.new_order(&admitted, new).await.map(drop),
                acme.answer_challenge(&admitted, challenge).await.map(drop),
                acme.deactivate_authorization(&admitted, last(authorization).parse().unwrap()).await.map(drop),
                acme.finalize(&admitted, last(&url).parse().unwrap(), csr).await.map(drop),
                acme.update_account(&admitted, AccountUpdate { contacts: Some(Vec::new()), terms_agreed: false }).await.map(drop),
                acme.deactivate_account(&admitted).await.map(drop),
            ];
            for (place, refusal) in refusals.into_iter().enumerate() {
                let refusal = refusal.expect_err(&format!("{place}")).to_string();
                assert!(refusal.contains(told), "{place}: {refusal}");
            }
        }
    }
}
