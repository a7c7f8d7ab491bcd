//! One reseller's things are not there for another.

use axum::Extension;
use chancery_http::PeerAddr;
use chancery_jose::{SigningKey, base64url};
use chancery_service::{ListRequest, Origin};
use chancery_store::AuditFilter;
use chancery_tests::{AcmeClient, Tenant, World, csr_by, lookup, on_both_databases};
use serde_json::json;

use crate::browser::Browser;

/// A client at this address, with the certificate of a customer of another reseller to revoke.
async fn revoke_from(world: &World, address: &str, mut client: AcmeClient, certificate: &[u8]) {
    let peer = PeerAddr(format!("{address}:4000").parse().unwrap());
    client.stranger = world.stranger().hears_by(world.router.clone().layer(Extension(peer)));
    let payload = json!({"certificate": base64url::encode(certificate), "reason": 4});
    let done = client.post(&client.url("revokeCert"), &payload).await;
    assert_eq!(done.status, 200, "{}", done.text());
}

/// All that a reseller can read about the end of its certificates.
async fn everything(world: &World, tenant: &Tenant) -> String {
    let mut browser = Browser::of(world, tenant).await;
    let mut all = browser.look("/console/audit?action=certificate.revoke").await;
    for certificate in tenant.get("/v1/certificates").await.expect(200)["items"].as_array().unwrap() {
        all += &browser.look(&format!("/console/certificates/{}", lookup(certificate))).await;
        let order = certificate["orderLookup"].as_str().unwrap();
        all += &browser.look(&format!("/console/orders/{order}")).await;
        all += &tenant.get(&format!("/v1/order/{order}")).await.expect(200).to_string();
    }
    for list in ["/v1/certificates", "/v1/event?type=certificate.revoked", "/v1/order"] {
        all += &tenant.get(list).await.expect(200).to_string();
    }
    all
}

on_both_databases! {
    async fn who_may_not_read_customers_is_not_told_their_addresses_by_an_order(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let path = format!("/console/orders/{}", lookup(&tenant.make_order(&account, &["www.example.com"]).await));
        assert!(Browser::of(&world, &tenant).await.look(&path).await.contains("anna@example.com"));
        let clerk = world.client_of("NORTH", "reseller read:order".parse().unwrap()).await;
        let mut browser = Browser::new(&world);
        assert_eq!(browser.sign_in(&clerk.client_id, &clerk.client_secret).await.status, 303);
        let page = browser.look(&path).await;
        assert!(page.contains(&account) && !page.contains("anna@example.com"), "{page}");
    }

    async fn another_resellers_addresses_are_not_found(world: World) {
        let (mine, theirs) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let account = lookup(&theirs.make_account("anna@example.com").await);
        let kid = theirs.get(&format!("/v1/account/{account}")).await.expect(200);
        let kid = kid["kid"].as_str().unwrap_or_else(|| panic!("{kid}")).to_owned();
        let (group, policy) = (theirs.make_group("Retail").await, theirs.make_policy("Short", serde_json::json!({})).await);
        let order = world.issue(&theirs, &account, &["www.example.com"]).await;
        let certificate = order["certificateLookup"].as_str().unwrap_or_else(|| panic!("{order}")).to_owned();
        let order = lookup(&order);
        let mut browser = Browser::of(&world, &mine).await;
        for path in [
            format!("customers/{account}"), format!("groups/{group}"), format!("policies/{policy}"), format!("orders/{order}"),
            format!("certificates/{certificate}"), format!("certificates/{certificate}/fullchain.pem"),
        ] {
            assert_eq!(browser.get(&format!("/console/{path}")).await.status, 404, "{path}");
        }
        let sure = [("sure", "yes"), ("reason", "superseded"), ("email", "b@example.com"), ("name", "x"), ("policy", &policy), ("accounts", &account), ("account", &account), ("to", &group)];
        for path in [
            format!("customers/{account}/edit"), format!("customers/{account}/suspend"), format!("customers/{account}/terminate"),
            format!("customers/{account}/credentials"), format!("customers/{account}/credentials/{kid}/revoke"),
            format!("groups/{group}/edit"), format!("groups/{group}/delete"), format!("groups/{group}/assign"), format!("groups/{group}/unassign"),
            format!("groups/{group}/add"), format!("groups/{group}/remove"), format!("groups/{group}/move"),
            format!("policies/{policy}/edit"), format!("policies/{policy}/delete"),
            format!("orders/{order}/cancel"), format!("orders/{order}/finalize"), format!("certificates/{certificate}/revoke"),
        ] {
            assert_eq!(browser.post(&format!("/console/{path}"), &sure).await.status, 404, "{path}");
        }
        for list in ["customers", "customers?q=anna@example.com", "groups", "policies", "orders", "certificates", "certificates?q=www.example.com"] {
            let page = browser.look(&format!("/console/{list}")).await;
            for secret in [&account, &group, &policy, &order, &certificate] {
                assert!(!page.contains(secret.as_str()), "{list} shows {secret}");
            }
        }
        assert!(!browser.look("/console/audit").await.contains(&account));
    }

    async fn a_revocation_from_outside_does_not_identify_the_account_or_its_address(world: World) {
        world.start_workers();
        let (north, south) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let customer = north.make_account("anna@example.com").await;
        let client = AcmeClient::registered(&world, &customer).await;
        let key = SigningKey::generate().unwrap();
        let mut certificates = Vec::new();
        for name in ["by-names.test", "by-key.test", "by-owner.test"] {
            let (url, order) = client.order(&[name]).await;
            client.answer_all(&order).await;
            let order = client.wait_for(&url, "ready").await;
            let payload = json!({"csr": csr_by(&key, name)});
            let order = client.post(order["finalize"].as_str().unwrap(), &payload).await.expect(200);
            certificates.push(client.certificate(&order).await);
        }

        let other = AcmeClient::registered(&world, &south.make_account("eve@example.com").await).await;
        other.issue(&["by-names.test"]).await;
        let id = |client: &AcmeClient| client.kid.as_deref().unwrap().rsplit('/').next().unwrap().to_owned();
        let (other_id, own_id) = (id(&other), id(&client));
        revoke_from(&world, "203.0.113.1", other, &certificates[0]).await;
        let holder = AcmeClient { key, ..AcmeClient::at(world.stranger(), "TLS-90d").await };
        let thumbprint = holder.key.public().thumbprint();
        revoke_from(&world, "203.0.113.2", holder, &certificates[1]).await;
        revoke_from(&world, "203.0.113.3", client, &certificates[2]).await;

        let seen = everything(&world, &north).await;
        for hidden in [other_id.as_str(), &thumbprint, "203.0.113.1", "203.0.113.2", "SOUTH", "eve@example.com"] {
            assert!(!seen.contains(hidden), "{hidden} is shown");
        }
        // It is said that it happened, and by what right; who acts for the reseller is named.
        for shown in ["another ACME account, authorized for all names", "holder of the certificate key", &own_id, "203.0.113.3"] {
            assert!(seen.contains(shown), "{shown} is not shown");
        }
        let revoked = north.get("/v1/event?type=certificate.revoked").await.expect(200);
        assert_eq!(revoked["items"].as_array().unwrap().len(), 3);

        // The operator sees who it was.
        let filter = AuditFilter { action: Some("certificate.revoke".to_owned()), ..AuditFilter::default() };
        let records = world.services.audit.list(filter, Default::default()).await.unwrap();
        let actors: Vec<_> = records.iter().rev().map(|record| (record.actor.as_str(), record.address.as_str())).collect();
        let by_key = format!("key {thumbprint}");
        let expected = [(other_id.as_str(), "203.0.113.1"), (&by_key, "203.0.113.2"), (&own_id, "203.0.113.3")];
        assert_eq!(actors, expected);
        let page = Browser::of_operator(&world).await.look("/console/operator/audit?action=certificate.revoke").await;
        assert!([&*other_id, "203.0.113.1", &thumbprint].iter().all(|text| page.contains(text)), "{page}");
    }

    async fn a_filter_does_not_confirm_who_revoked(world: World) {
        world.start_workers();
        let (north, south) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let client = AcmeClient::registered(&world, &north.make_account("anna@example.com").await).await;
        let (_, order) = client.issue(&["a.test"]).await;
        let certificate = client.certificate(&order).await;
        let other = AcmeClient::registered(&world, &south.make_account("eve@example.com").await).await;
        other.issue(&["a.test"]).await;
        let id = other.kid.as_deref().unwrap().rsplit('/').next().unwrap().to_owned();
        revoke_from(&world, "203.0.113.1", other, &certificate).await;
        let caller = world.services.identity.authenticate(north.authorization.as_deref(), Origin::default()).await.unwrap();
        let found = async |filter: AuditFilter| {
            let filter = AuditFilter { action: Some("certificate.revoke".to_owned()), ..filter };
            let request = ListRequest { limit: 10, cursor: None };
            world.services.audit.list_own(&caller, filter, &request).await.unwrap().items
        };
        let all = found(AuditFilter::default()).await;
        let hidden = [&all[0].actor, &all[0].address, &all[0].request_id].map(String::as_str);
        assert_eq!((all.len(), all[0].actor_kind.as_str(), hidden), (1, "foreign_acme_account", ["", "", ""]));
        let truth = world.services.audit.list(AuditFilter { actor: Some(id.clone()), action: Some("certificate.revoke".to_owned()), ..AuditFilter::default() }, Default::default()).await.unwrap();
        assert!(!truth[0].request_id.is_empty());
        assert!(found(AuditFilter { actor: Some(id), ..AuditFilter::default() }).await.is_empty());
        let request_id = Some(truth[0].request_id.clone());
        assert!(found(AuditFilter { request_id, ..AuditFilter::default() }).await.is_empty());
    }

    async fn a_resellers_client_has_no_pages_of_the_operator(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        for path in ["", "/resellers", "/resellers/NORTH", "/authorities", "/audit"] {
            assert_eq!(browser.get(&format!("/console/operator{path}")).await.status, 404, "{path}");
        }
        for path in ["/resellers", "/resellers/NORTH/suspend", "/resellers/NORTH/clients"] {
            let reply = browser.post(&format!("/console/operator{path}"), &[("code", "EVIL"), ("name", "x")]).await;
            assert_eq!(reply.status, 404, "{path}");
        }
    }
}
