//! What is wrong with a CSR, told alike by `POST /v1/validate-csr` and by ordering with it.

use chancery_pki::NameRules;
use chancery_tests::{Tenant, lookup, on_both_databases, settings};
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::common::{finalize_path, order_path, revocation_path, stage, text};
use crate::customer_key::{CustomerKey, der_of, pem_of};

/// The codes of all problems, the same from both.
async fn verdict(tenant: &Tenant, account: &str, csr: &str) -> Vec<String> {
    let judged = tenant.post("/v1/validate-csr", json!({"csr": csr})).await;
    let ordered = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await;
    assert!(judged.header("content-type").unwrap().starts_with("text/plain"), "{}", judged.text());
    if judged.status == 200 {
        let order = ordered.expect(201);
        tenant.delete(&order_path(&order)).await.expect(200);
        return Vec::new();
    }
    assert_eq!(judged.status, 400, "{}", judged.text());
    assert_eq!(ordered.refusal(400), "invalid_request");
    let errors = ordered.json()["errors"].as_array().unwrap().clone();
    let told: Vec<_> = errors.iter().map(|each| format!("{}: {}", text(each, "code"), text(each, "message"))).collect();
    assert_eq!(judged.text().lines().collect::<Vec<_>>(), told);
    assert!(errors.iter().all(|each| each["field"] == "csr"), "{errors:?}");
    let of_account = tenant.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": account})).await;
    assert!(of_account.text().starts_with(&judged.text()), "{}", of_account.text());
    errors.iter().map(|each| text(each, "code")).collect()
}

on_both_databases! {
    /// Nobody has to ask three times to learn of five mistakes.
    async fn a_csr_that_cannot_be_read_is_told_with_all_else_that_is_wrong(world: World) {
        let (tenant, account) = stage(&world).await;
        let judge = async |body: Value| {
            let judged = tenant.post("/v1/validate-csr", body).await;
            assert_eq!(judged.status, 400, "{}", judged.text());
            let codes = judged.text().lines().map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>();
            codes.join(" ")
        };
        assert_eq!(judge(json!({"csr": "x", "profile": "nope"})).await, "unknown malformed_csr");
        assert_eq!(judge(json!({"csr": "x", "foo": 1})).await, "unknown_field malformed_csr");
        assert_eq!(judge(json!({"csr": 5, "foo": 1})).await, "wrong_type unknown_field");
        assert_eq!(judge(json!({"csr": "x", "profile": "no name"})).await, "invalid malformed_csr");
        assert_eq!(judge(json!({"profile": "nope", "foo": 1})).await, "unknown_field missing unknown");

        let order = async |body: Value| {
            let refused = tenant.post("/v1/order", body).await;
            assert_eq!(refused.refusal(400), "invalid_request");
            let errors = refused.json()["errors"].as_array().unwrap().clone();
            errors.iter().map(|each| text(each, "field")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(json!({"account_lookup": account, "csr": "x", "profile": "nope"})).await, "profile csr");
        let five = json!({"account_lookup": account, "csr": "x", "profile": "nope", "external_id": "", "not_after": "q",
                          "metadata": {"": "x"}, "more": 1});
        assert_eq!(order(five).await, "more not_after external_id metadata profile csr");
        // Whose account it is comes first, where nothing else is wrong.
        let unknown = tenant.post("/v1/order", json!({"account_lookup": "a@else.test", "csr": "x"})).await;
        assert_eq!(unknown.refusal(404), "account_not_found");
    }

    async fn a_bad_csr_is_judged_alike_before_and_by_ordering(world: World) {
        let (tenant, account) = stage(&world).await;
        let key = CustomerKey::p256();
        let good = key.request("DNS:a.test");
        let mut broken = der_of(&good);
        let last = broken.len() - 1;
        broken[last] ^= 1;
        let ca = ["-subj", "/", "-addext", "subjectAltName=DNS:a.test", "-addext", "basicConstraints=critical,CA:TRUE"];
        let cases = [
            (good.clone(), vec![]),
            (pem_of(&broken), vec!["bad_signature"]),
            (CustomerKey::new("RSA", &["rsa_keygen_bits:1024"]).request("DNS:a.test"), vec!["weak_key"]),
            (
                CustomerKey::new("RSA", &["rsa_keygen_bits:2048", "rsa_keygen_pubexp:3"]).request("DNS:a.test"),
                vec!["small_exponent"],
            ),
            (CustomerKey::new("EC", &["ec_paramgen_curve:P-521"]).request("DNS:a.test"), vec!["unsupported_key"]),
            (CustomerKey::new("ED25519", &[]).request("DNS:a.test"), vec!["key_type_not_allowed"]),
            (
                CustomerKey::new("RSA", &["rsa_keygen_bits:2048"]).request_with(&[
                    "-md5",
                    "-subj",
                    "/",
                    "-addext",
                    "subjectAltName=DNS:a.test",
                ]),
                vec!["unsupported_signature"],
            ),
            (key.request("DNS:a.test,email:a@a.test"), vec!["email_san"]),
            (key.request("DNS:a.test,URI:https://a.test/"), vec!["unsupported_san"]),
            (key.request("DNS:a_b.test"), vec!["underscore"]),
            (key.request_with(&["-subj", "/CN=b.test", "-addext", "subjectAltName=DNS:a.test"]), vec!["cn_not_in_san"]),
            (key.request_with(&["-subj", "/CN=a.test"]), vec!["no_san"]),
            (key.request("DNS:com"), vec!["public_suffix"]),
            (key.request("DNS:*.co.uk"), vec!["public_suffix"]),
            (key.request("DNS:a.*.test"), vec!["wildcard"]),
            (key.request("DNS:a.test,DNS:A.TEST"), vec!["duplicate_name"]),
            (key.request("DNS:-a.test"), vec!["invalid_name"]),
            (key.request(&format!("DNS:{}.test", ["a".repeat(63).as_str(); 4].join("."))), vec!["name_too_long"]),
            (key.request_with(&ca), vec!["ca_requested"]),
            (pem_of(&[0x30, 0x80]), vec!["malformed_csr"]),
            // All of it, not the first.
            (
                key.request_with(&[
                    "-subj",
                    "/CN=b.test",
                    "-addext",
                    "subjectAltName=DNS:a_b.test,DNS:com,email:a@a.test",
                ]),
                vec!["underscore", "email_san", "public_suffix", "cn_not_in_san"],
            ),
        ];
        for (csr, expected) in cases {
            assert_eq!(verdict(&tenant, &account, &csr).await, expected, "{csr}");
        }
    }

    async fn a_good_csr_is_taken_in_every_usual_form(world: World) {
        let (tenant, account) = stage(&world).await;
        let key = CustomerKey::new("RSA", &["rsa_keygen_bits:2048"]);
        let pem =
            key.request_with(&["-subj", "/CN=A.test/O=Somebody", "-addext", "subjectAltName=DNS:a.test,IP:192.0.2.7"]);
        for form in [
            pem.clone(),
            pem.replace('\n', "\r\n"),
            format!("Certificate request of a.test:\n\n{pem}\n"),
            pem.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"),
            BASE64.encode(&der_of(&pem)),
        ] {
            assert_eq!(verdict(&tenant, &account, &form).await, [""; 0], "{form}");
        }
    }

    // RFC 8555 section 7.4.
    async fn what_a_csr_asks_for_and_would_not_get_is_refused(world: World) {
        let (tenant, account) = stage(&world).await;
        let key = CustomerKey::p256();
        for (extension, expected) in [
            ("extendedKeyUsage=serverAuth,clientAuth", vec![]),
            ("keyUsage=critical,digitalSignature", vec![]),
            ("basicConstraints=critical,CA:FALSE", vec![]),
            ("1.3.6.1.4.1.99999.1=ASN1:NULL", vec![]),
            ("1.3.6.1.4.1.99999.1=critical,ASN1:NULL", vec!["unknown_critical"]),
            ("tlsfeature=status_request", vec!["must_staple"]),
            ("extendedKeyUsage=serverAuth,codeSigning", vec!["unsupported_usage"]),
            ("extendedKeyUsage=anyExtendedKeyUsage", vec!["unsupported_usage"]),
            ("certificatePolicies=2.23.140.1.2.1", vec!["unsupported_extension"]),
            ("nameConstraints=critical,permitted;DNS:a.test", vec!["unsupported_extension"]),
            ("policyConstraints=requireExplicitPolicy:0", vec!["unsupported_extension"]),
        ] {
            let csr = key.request_with(&["-subj", "/", "-addext", "subjectAltName=DNS:a.test", "-addext", extension]);
            assert_eq!(verdict(&tenant, &account, &csr).await, expected, "{extension}");
        }
    }

    async fn of_two_csrs_none_is_chosen(world: World) {
        let (tenant, account) = stage(&world).await;
        let both = CustomerKey::p256().request("DNS:a.test") + &CustomerKey::p256().request("DNS:b.test");
        assert_eq!(verdict(&tenant, &account, &both).await, ["malformed_csr"]);
        let told = tenant.post("/v1/validate-csr", json!({"csr": both})).await.text();
        assert_eq!(told, "malformed_csr: there is more than one CSR; send one");
    }

    async fn names_that_the_dns_gives_to_nobody_are_refused(world: World) {
        let (tenant, account) = stage(&world).await;
        let mut public = settings();
        for look in public.issuing.certificates.values_mut() {
            look.names = NameRules::default();
        }
        let node = world.another_node(public, Vec::new()).await;
        let key = CustomerKey::p256();
        for (name, inside, outside) in [
            ("www.example.com", vec![], vec![]),
            ("hello.onion", vec!["special_name"], vec!["special_name"]),
            ("*.hello.onion", vec!["special_name"], vec!["special_name"]),
            ("nas.home.arpa", vec![], vec!["special_name"]),
            ("2.0.192.in-addr.arpa", vec![], vec!["special_name"]),
        ] {
            let csr = key.request(&format!("DNS:{name}"));
            assert_eq!(verdict(&tenant, &account, &csr).await, inside, "{name}");
            assert_eq!(verdict(&node.hears(&tenant), &account, &csr).await, outside, "{name}");
        }
    }

    async fn a_key_that_was_revoked_as_compromised_is_nobodys_any_more(world: World) {
        let (tenant, account) = stage(&world).await;
        let other = world.tenant("OTHER").await;
        let theirs = lookup(&other.make_account("a@example.com").await);
        world.make_ready(&tenant, &account, &["a.test"]).await;
        for (reason, expected) in [("superseded", vec![]), ("keyCompromise", vec!["compromised_key"])] {
            let key = CustomerKey::p256();
            let order = |csr: String| json!({"account_lookup": account, "csr": csr});
            let first = tenant.post("/v1/order", order(key.request("DNS:a.test"))).await.expect(201);
            let waiting = tenant.post("/v1/order", order(key.request("DNS:a.test"))).await.expect(201);
            tenant.post_empty(&finalize_path(&first)).await.expect(202);
            world.work(None).await;
            tenant.post(&revocation_path(&first), json!({"reason": reason})).await.expect(202);
            assert_eq!(verdict(&tenant, &account, &key.request("DNS:b.test")).await, expected);
            assert_eq!(verdict(&other, &theirs, &key.request("DNS:b.test")).await, expected);
            // Nor for an order that was made before.
            tenant.post_empty(&finalize_path(&waiting)).await.expect(202);
            world.work(None).await;
            let ended = tenant.get(&order_path(&waiting)).await.expect(200);
            let status = if expected.is_empty() { "valid" } else { "invalid" };
            assert_eq!(ended["status"], status, "{}", ended["error"]);
        }
    }

    async fn nor_is_another_key_of_the_same_primes(world: World) {
        let (tenant, account) = stage(&world).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        let csr = chancery_tests::csr_with("rsa-2048", &["a.test"]);
        // Whoever has the primes could sign this; here it is only to be seen what is known of the key.
        let mut other = der_of(&csr);
        let exponent = other.windows(5).position(|five| five == [2, 3, 1, 0, 1]).unwrap();
        other[exponent + 4] = 3;
        let other = pem_of(&other);
        assert_eq!(verdict(&tenant, &account, &other).await, ["bad_signature"]);
        let order = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await.expect(201);
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        world.work(None).await;
        tenant.post(&revocation_path(&order), json!({"reason": "keyCompromise"})).await.expect(202);
        assert_eq!(verdict(&tenant, &account, &other).await, ["bad_signature", "compromised_key"]);
    }

    async fn what_validate_csr_cannot_judge_it_says_in_plain_words(world: World) {
        let (tenant, account) = stage(&world).await;
        let csr = CustomerKey::p256().request("DNS:a.test");
        for bad in [
            json!({}),
            json!({"csr": 1}),
            json!({"csr": csr, "profil": "TLS-90d"}),
            json!([]),
            json!({"csr": csr, "profile": "/"}),
        ] {
            let refused = tenant.post("/v1/validate-csr", bad.clone()).await;
            assert_eq!(refused.status, 400, "{bad}");
            assert!(refused.header("content-type").unwrap().starts_with("text/plain"), "{bad}");
            assert!(
                !refused.text().is_empty() && serde_json::from_str::<Value>(&refused.text()).is_err(),
                "{}",
                refused.text()
            );
        }
        let other = world.tenant("OTHER").await;
        for (who, whose) in
            [(&tenant, "acc_01jcq3v9k2e7x8t5m4n6p0r1sw"), (&tenant, "nobody"), (&other, account.as_str())]
        {
            let unknown = who.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": whose})).await;
            assert_eq!(unknown.refusal(404), "account_not_found");
        }
        let good = json!({"csr": csr, "account_lookup": account, "profile": "TLS-199d"});
        assert_eq!(tenant.post("/v1/validate-csr", good).await.status, 200);
        assert_eq!(world.stranger().post("/v1/validate-csr", json!({"csr": csr})).await.status, 401);
    }
}
