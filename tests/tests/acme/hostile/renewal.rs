//! Renewal information (RFC 9773).

use chancery_jose::base64url;
use chancery_tests::{AcmeClient, World, identifiers, on_both_databases};
use http::Method;
use serde_json::{Value, json};

use super::common::{problem, refused, stage, text};

/// The name of a certificate: the identifier of its issuer's key and its serial number.
fn name_of(der: &[u8]) -> String {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).unwrap();
    let key_id = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        x509_parser::extensions::ParsedExtension::AuthorityKeyIdentifier(id) => {
            id.key_identifier.as_ref().map(|id| id.0)
        }
        _ => None,
    });
    format!("{}.{}", base64url::encode(key_id.unwrap()), base64url::encode(certificate.raw_serial()))
}

async fn window(world: &World, name: &str) -> Value {
    let reply = world.stranger().get(&format!("/acme/renewal-info/{name}")).await;
    assert_eq!(reply.header("retry-after"), Some("21600"));
    reply.expect(200)["suggestedWindow"].clone()
}

on_both_databases! {
    async fn everybody_may_ask_when_to_renew_and_a_revoked_one_is_due(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (_, order) = client.issue(&["a.test"]).await;
        let der = client.certificate(&order).await;
        let name = name_of(&der);
        let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
        let seen = window(&world, &name).await;
        let (start, end) = (text(&seen, "start").to_owned(), text(&seen, "end").to_owned());
        assert!(start < end);
        let now = chancery_tests::START.to_string();
        assert!(start > now, "{start}");
        assert!(chancery_domain::Timestamp::parse(&end).unwrap().as_secs() < certificate.validity().not_after.timestamp());
        for wrong in ["x", "x.y", &format!("{name}="), &name[1..], &format!("{name}.x"), "AAAA.AQ", "%00"] {
            let reply = world.stranger().get(&format!("/acme/renewal-info/{wrong}")).await;
            assert!(reply.status == 400 || reply.status == 404, "{wrong}: {}", reply.status);
            problem(&reply, reply.status.as_u16(), "malformed", "");
        }
        assert_eq!(world.stranger().raw(Method::POST, &format!("/acme/renewal-info/{name}"), &[], Vec::new()).await.status, 405);
        let asked = json!({"certificate": base64url::encode(&der)});
        assert_eq!(client.post(&client.url("revokeCert"), &asked).await.status, 200);
        assert!(text(&window(&world, &name).await, "end") < now.as_str());
    }

    async fn a_certificate_is_replaced_by_one_order(world: World) {
        world.start_workers();
        let (tenant, _, client) = stage(&world).await;
        let (_, order) = client.issue(&["a.test"]).await;
        let name = name_of(&client.certificate(&order).await);
        let ask = async |client: &AcmeClient, names: &[&str], replaces: Value| {
            let asked = json!({"identifiers": identifiers(names), "replaces": replaces});
            client.post(&client.url("newOrder"), &asked).await
        };
        for wrong in ["x", "AAAA.AQ", ""] {
            refused(&ask(&client, &["a.test"], json!(wrong)).await, 400, "malformed", "");
        }
        refused(&ask(&client, &["a.test"], json!(7)).await, 400, "malformed", "");
        refused(&ask(&client, &["b.test"], json!(name)).await, 400, "malformed", "in common");
        let other = AcmeClient::registered(&world, &tenant.make_account("b@example.com").await).await;
        refused(&ask(&other, &["a.test"], json!(name)).await, 403, "unauthorized", "another account");
        let order = ask(&client, &["a.test", "b.test"], json!(name)).await.expect(201);
        assert_eq!(text(&order, "replaces"), name);
        refused(&ask(&client, &["a.test"], json!(name)).await, 409, "alreadyReplaced", &name);
    }
}
