//! `GET /v1/certificate/{certificate_lookup}` and its bare twin: every form and every status.

use std::process::Command;

use chancery_tests::{lookup, on_both_databases};
use http::Method;

use crate::common::{certificate_path, finalize_path, order_path, stage, text};
use crate::customer_key::{openssl, openssl_on};

fn certificates(pem: &str) -> Vec<String> {
    pem.split_inclusive("-----END CERTIFICATE-----\n").map(str::to_owned).collect()
}

on_both_databases! {
    async fn a_certificate_comes_in_the_form_that_is_asked_for(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.issue(&tenant, &account, &["a.test", "192.0.2.7"]).await;
        let path = certificate_path(&order);
        let get = async |accept: &str| tenant.send(Method::GET, &path, &[("accept", accept)], None).await;
        let pem = tenant.get(&path).await;
        assert_eq!(pem.header("content-type"), Some("application/pem-certificate-chain"));
        let chain = certificates(&pem.text());
        assert_eq!(chain.len(), 2);
        let shown = openssl_on(
            chain[0].as_bytes(),
            &["x509", "-noout", "-fingerprint", "-sha256", "-ext", "subjectAltName", "-in"],
        );
        assert!(shown.contains("DNS:a.test") && shown.contains("IP Address:192.0.2.7"), "{shown}");

        // Each certificate is signed by the next.
        let folder = tempfile::tempdir().unwrap();
        let files = ["leaf.pem", "issuer.pem"].map(|name| folder.path().join(name));
        for (file, certificate) in files.iter().zip(&chain) {
            std::fs::write(file, certificate).unwrap();
        }
        let verified = openssl(
            Command::new("openssl")
                .args(["verify", "-no_check_time", "-partial_chain", "-trusted"])
                .arg(&files[1])
                .arg(&files[0]),
        );
        assert!(String::from_utf8(verified).unwrap().contains("OK"));

        let der = get("application/pkix-cert").await;
        assert_eq!(der.header("content-type"), Some("application/pkix-cert"));
        let fingerprint = |text: &str| text.lines().find(|line| line.contains("ingerprint")).unwrap().to_owned();
        let of_der = openssl_on(&der.body, &["x509", "-inform", "DER", "-noout", "-fingerprint", "-sha256", "-in"]);
        assert_eq!(fingerprint(&of_der), fingerprint(&shown));

        let pkcs7 = get("application/pkcs7-mime").await;
        assert!(pkcs7.header("content-type").unwrap().starts_with("application/pkcs7-mime"));
        let inside = openssl_on(&pkcs7.body, &["pkcs7", "-inform", "DER", "-print_certs", "-in"]);
        assert_eq!(inside.matches("BEGIN CERTIFICATE").count(), 2);
        for certificate in &chain {
            assert!(inside.contains(certificate.trim()));
        }

        let json = get("application/json").await;
        assert_eq!(json.header("content-type"), Some("application/json"));
        let json = json.expect(200);
        assert_eq!((text(&json, "certificate"), text(&json, "chain")), (chain[0].clone(), chain[1].clone()));
        assert_eq!(json["names"], serde_json::json!(["a.test", "192.0.2.7"]));
        assert_eq!(lookup(&json), text(&order, "certificateLookup"));
        let fingerprint = fingerprint(&shown).rsplit('=').next().unwrap().replace(':', "").to_lowercase();
        assert_eq!(text(&json, "sha256Fingerprint"), fingerprint);

        for (accept, expected) in [
            ("*/*", "application/pem-certificate-chain"),
            ("application/*", "application/pem-certificate-chain"),
            ("text/html, */*;q=0.1", "application/pem-certificate-chain"),
            ("text/html, application/json", "application/json"),
            ("application/json;q=0.5, application/pkix-cert", "application/pkix-cert"),
            ("application/pkix-cert;q=0, application/json;q=0.001", "application/json"),
        ] {
            assert_eq!(get(accept).await.header("content-type"), Some(expected), "{accept}");
        }
        for accept in ["text/html", "image/png, text/plain", "application/pkix-cert;q=0"] {
            assert_eq!(get(accept).await.refusal(406), "not_acceptable", "{accept}");
        }
    }

    async fn the_bare_path_and_head_answer_alike(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        let path = certificate_path(&order);
        let bare = path.strip_prefix("/v1").unwrap();
        let (full, short) = (tenant.get(&path).await, tenant.get(bare).await);
        assert_eq!((full.status, &full.body), (short.status, &short.body));
        for path in [path.as_str(), bare] {
            let head = tenant.send(Method::HEAD, path, &[], None).await;
            assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
            assert_eq!(head.header("content-type"), full.header("content-type"));
            assert_eq!(world.stranger().get(path).await.status, 401);
        }
        let other = world.tenant("OTHER").await;
        for path in [path.as_str(), bare, "/certificate/cert_01jcq3v9k2e7x8t5m4n6p0r1sw", "/certificate/x"] {
            assert_eq!(other.get(path).await.refusal(404), "certificate_not_found");
        }
    }

    async fn until_it_is_there_the_order_is_told_and_when_to_come_again(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let cancelled = tenant.make_order(&account, &["b.test"]).await;
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        let waiting = async |status: &str| {
            for path in [certificate_path(&order), certificate_path(&order)[3..].to_owned()] {
                // Whatever form it is wanted in: there is none of it yet.
                let reply = tenant.send(Method::GET, &path, &[("accept", "application/pkix-cert")], None).await;
                let after: u64 = reply.header("retry-after").expect("when").parse().unwrap();
                assert!((1..60).contains(&after));
                let shown = reply.expect(202);
                assert_eq!((lookup(&shown), text(&shown, "status")), (lookup(&order), status.to_owned()));
                // A query that will be wrong later is wrong now.
                assert_eq!(tenant.get(&format!("{path}?chain=1")).await.status, 202);
                assert_eq!(tenant.get(&format!("{path}?chain=x")).await.fields(), ["chain"]);
                assert_eq!(tenant.get(&format!("{path}?chains=1")).await.fields(), ["chains"]);
            }
        };
        waiting("pending").await;
        tenant.choose_all(&order).await;
        world.work(None).await;
        waiting("ready").await;
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        waiting("processing").await;
        world.work(None).await;
        assert_eq!(tenant.get(&certificate_path(&order)).await.status, 200);
        for query in ["", "?chain=x", "?chains=1"] {
            let gone = tenant.get(&format!("{}{query}", certificate_path(&cancelled))).await;
            assert_eq!(gone.refusal(410), "certificate_gone");
        }
    }
}
