//! Renewal information (RFC 9773).

use chancery_domain::RevocationReason;
use chancery_jose::base64url;
use chancery_pki::Certificate;
use chancery_service::operator::CertificateRef;
use chancery_tests::{AcmeClient, identifiers, on_both_databases};
use serde_json::json;
use x509_parser::prelude::{FromDer, ParsedExtension, X509Certificate};

use crate::common::{problem, stage};
use crate::revocation::{lost, serial};

/// How RFC 9773 section 4.1 names a certificate.
pub(crate) fn name(der: &[u8]) -> String {
    let (_, certificate) = X509Certificate::from_der(der).unwrap();
    let key = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::AuthorityKeyIdentifier(id) => id.key_identifier.as_ref().map(|id| id.0.to_vec()),
        _ => None,
    });
    format!("{}.{}", base64url::encode(&key.unwrap()), base64url::encode(certificate.raw_serial()))
}

on_both_databases! {
    async fn a_certificate_has_a_time_to_be_renewed(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (_, order) = client.issue(&["example.com"]).await;
        let name = name(&client.certificate(&order).await);
        let ask = async |name: &str| world.stranger().get(&format!("/acme/renewal-info/{name}")).await;
        let reply = ask(&name).await;
        assert_eq!(reply.header("retry-after"), Some("21600"));
        let window = reply.expect(200)["suggestedWindow"].clone();
        let time = |member: &str| chancery_domain::Timestamp::parse(window[member].as_str().unwrap()).unwrap();
        assert!(time("start") > world.services.now() && time("start") < time("end"), "{window}");
        problem(&ask("AAAA.AQAB").await, 404, "malformed");
        problem(&ask("nonsense").await, 400, "malformed");
    }

    async fn a_certificate_is_replaced_by_one_order(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let (_, order) = client.issue(&["example.com"]).await;
        let name = name(&client.certificate(&order).await);
        let replace = async |client: &AcmeClient, host: &str| {
            let payload = json!({"identifiers": identifiers(&[host]), "replaces": name});
            client.post(&client.url("newOrder"), &payload).await
        };
        problem(&replace(&client, "example.org").await, 400, "malformed");
        for unknown in ["nonsense", "", "AAAA.AQAB"] {
            let payload = json!({"identifiers": identifiers(&["example.com"]), "replaces": unknown});
            let detail = problem(&client.post(&client.url("newOrder"), &payload).await, 400, "malformed");
            assert!(detail.starts_with("`replaces`: "), "{unknown:?}: {detail}");
        }
        let other = AcmeClient::registered(&world, &credential).await;
        problem(&replace(&other, "example.com").await, 403, "unauthorized");
        let made = replace(&client, "example.com").await;
        let url = made.header("location").unwrap().to_owned();
        assert_eq!(made.expect(201)["replaces"], json!(name));
        problem(&replace(&client, "example.com").await, 409, "alreadyReplaced");
        // An order that came to nothing replaces nothing.
        let order = client.read(&url).await.expect(200);
        let authorization = order["authorizations"][0].as_str().unwrap();
        client.post(authorization, &json!({"status": "deactivated"})).await.expect(200);
        replace(&client, "example.com").await.expect(201);
    }

    /// Clients go on renewing what was lost when the database was put back from a copy, once it is brought back.
    async fn a_certificate_that_was_brought_back_is_renewed_like_any_other(world: World) {
        world.start_workers();
        let (_, credential, client) = stage(&world).await;
        let (_, der) = lost(&world, 1, 30);
        let name = name(&der);
        let ask = async || world.stranger().get(&format!("/acme/renewal-info/{name}")).await;
        let replace = async |host: &str| {
            let payload = json!({"identifiers": identifiers(&[host]), "replaces": name});
            client.post(&client.url("newOrder"), &payload).await
        };
        problem(&ask().await, 404, "malformed");
        problem(&replace("lost.example.com").await, 400, "malformed");
        let operator = &world.services.operator;
        operator.recover(vec![Certificate::from_der(&der).unwrap()]).await.unwrap();
        let start = async || {
            let window = ask().await.expect(200)["suggestedWindow"].clone();
            chancery_domain::Timestamp::parse(window["start"].as_str().unwrap()).unwrap()
        };
        assert_eq!(start().await, world.services.now().plus(std::time::Duration::from_secs(20 * 86_400 - 1)));
        problem(&replace("example.org").await, 400, "malformed");
        assert_eq!(replace("lost.example.com").await.expect(201)["replaces"], json!(name));
        problem(&replace("lost.example.com").await, 409, "alreadyReplaced");
        // Whose it was is lost, so that others may say the same; nobody is kept from it by them.
        let other = AcmeClient::registered(&world, &credential).await;
        let payload = json!({"identifiers": identifiers(&["lost.example.com"]), "replaces": name});
        other.post(&other.url("newOrder"), &payload).await.expect(201);
        let which = CertificateRef::Serial(serial(&der));
        operator.revoke(which, RevocationReason::Superseded, None).await.unwrap();
        assert!(start().await < world.services.now(), "a revoked one is renewed at once");
    }
}
