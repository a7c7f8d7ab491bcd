//! Bodies of every wrong kind, paths and methods that are not there, and the name of each exchange.

use chancery_tests::{Reply, Tenant, lookup, on_both_databases};
use http::Method;
use serde_json::json;

use crate::common::{problems, segment};

on_both_databases! {
    async fn malformed_json_is_refused_with_its_position(world: World) {
        let tenant = world.tenant("DEMO").await;
        let whole = "{\n  \"customer_email\": \"a@example.com\",\n  \"metadata\": {\"k\": \"é\"}\n}";
        for end in (1..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let reply = post(&tenant, &whole.as_bytes()[..end]).await;
            assert_eq!(reply.refusal(400), "malformed_json", "{:?}", &whole[..end]);
            let line = whole[..end].lines().count();
            let message = reply.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&format!("at line {line}, column ")) || whole[..end].ends_with('\n'), "{message}");
        }
        let said =
            async |text: &str| post(&tenant, text.as_bytes()).await.expect(400)["message"].as_str().unwrap().to_owned();
        assert!(said("{\"customer_email\": oops}").await.contains("at line 1, column 20"));
        assert!(said("{\"customer_email\": \"a@example.com\",\n}").await.contains("at line 2, column 1"));
        for bad in [
            "{'customer_email': 'a@example.com'}",
            "{customer_email: 1}",
            "{\"a\": 1,}",
            "{} {}",
            "{}x",
            "nul",
            "// c\n{}",
            "{\"a\": NaN}",
            "{\"a\": 01}",
            "{\"a\": +1}",
            "{\"a\": .5}",
            "{\"a\": 1e999}",
            "{\"a\": \"\t\"}",
            "{\"a\": \"\\x\"}",
            "{\"a\": \"\\ud800\"}",
            "\u{feff}{}",
            " ",
            "\n",
        ] {
            assert_eq!(post(&tenant, bad.as_bytes()).await.refusal(400), "malformed_json", "{bad:?}");
        }
        nothing_happened(&tenant).await;
    }

    async fn a_deletion_takes_no_body(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = format!("/v1/account/{}", lookup(&tenant.make_account("a@example.com").await));
        let refused = tenant.send(Method::DELETE, &account, &[], Some(&json!({"revoke_certificates": true}))).await;
        assert_eq!(refused.refusal(400), "unknown_field");
        assert_eq!(problems(&refused), ["revoke_certificates unknown_field"]);
        for body in ["{", "[]", "\"a\"", "a=b&c=d&e=f&g=h&i=j"] {
            let refused = tenant.raw(Method::DELETE, &account, &[], body.into()).await;
            assert_eq!(refused.refusal(400), "invalid_request", "{body}");
        }
        assert_eq!(tenant.get(&account).await.expect(200)["status"], "active");
        // Nothing in a pair of braces is nothing.
        for nothing in ["{}", "{ }", "\n{\n  }\n"] {
            let account = format!("/v1/account/{}", lookup(&tenant.make_account("b@example.com").await));
            tenant.raw(Method::DELETE, &account, &[], nothing.into()).await.expect(200);
        }
    }

    async fn bytes_that_are_not_utf8_are_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let with =
            |bytes: &[u8]| [b"{\"customer_email\": \"a@example.com\", \"external_id\": \"", bytes, b"\"}"].concat();
        // A lone continuation, an overlong slash, a surrogate, a cut character, Latin-1, beyond Unicode.
        for bad in [&b"\x80"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"\xe9", b"\xf5\x80\x80\x80"] {
            assert_eq!(post(&tenant, &with(bad)).await.refusal(400), "malformed_json", "{bad:?}");
        }
        let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(post(&tenant, &utf16).await.refusal(400), "malformed_json");
        nothing_happened(&tenant).await;
        let made = post(&tenant, &with("é😀".as_bytes())).await.expect(201);
        assert_eq!(made["externalId"], "é😀");
    }

    async fn a_body_is_an_object(world: World) {
        let tenant = world.tenant("DEMO").await;
        for other in [
            "[]",
            "[{\"customer_email\": \"a@example.com\"}]",
            "[\"a@example.com\", null, null, null]",
            "null",
            "5",
            "\"customer_email\"",
            "true",
            "1.5",
        ] {
            let reply = post(&tenant, other.as_bytes()).await;
            assert_eq!(
                (reply.refusal(400), problems(&reply)),
                ("invalid_request".into(), vec!["body wrong_type".into()]),
                "{other}"
            );
        }
        nothing_happened(&tenant).await;
        for empty in [tenant.post_empty("/v1/account").await, post(&tenant, b"").await] {
            assert_eq!(empty.refusal(400), "invalid_request");
            assert!(empty.json()["message"].as_str().unwrap().contains("empty"));
        }
    }

    async fn a_name_that_comes_twice_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (body, field) in [
            (r#"{"customer_email": "a@example.com", "customer_email": "b@example.com"}"#, "customer_email"),
            (r#"{"customer_email": "a@example.com", "customer\u005femail": "a@example.com"}"#, "customer_email"),
            (r#"{"customer_email": "a@example.com", "metadata": {"k": "1", "k": "1"}}"#, "metadata.k"),
        ] {
            assert_eq!(problems(&post(&tenant, body.as_bytes()).await), [format!("{field} duplicate_field")]);
        }
        nothing_happened(&tenant).await;
    }

    async fn the_nul_character_is_refused_wherever_it_stands(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (body, field) in [
            (r#"{"customer_email": "a\u0000@example.com"}"#, "customer_email"),
            (r#"{"customer_email": "a@example.com", "external_id": "\u0000"}"#, "external_id"),
            (r#"{"customer_email": "a@example.com", "account_groups": ["grp_\u0000"]}"#, "account_groups[0]"),
        ] {
            assert_eq!(problems(&post(&tenant, body.as_bytes()).await), [format!("{field} nul_character")]);
        }
        assert_eq!(post(&tenant, b"{\"customer_email\": \"a\0@example.com\"}").await.refusal(400), "malformed_json");
        nothing_happened(&tenant).await;
    }

    async fn nesting_and_numbers_have_limits(world: World) {
        let tenant = world.tenant("DEMO").await;
        for depth in [40, 1000, 100_000] {
            let body = format!("{{\"customer_email\": {}1{}}}", "[".repeat(depth), "]".repeat(depth));
            let reply = post(&tenant, body.as_bytes()).await;
            assert_eq!(reply.refusal(400), "malformed_json", "{depth}");
            assert!(reply.json()["message"].as_str().unwrap().contains("nested too deeply"));
            assert_eq!(post(&tenant, "{\"a\":".repeat(depth / 4).as_bytes()).await.refusal(400), "malformed_json");
        }
        tenant.make_account("a@example.com").await;
        let json = [("content-type", "application/json")];
        for huge in [
            "99999999999999999999",
            "-99999999999999999999",
            "1e300",
            "-1",
            "1e2",
            "3.0",
            "4294967296",
            "1E-400",
            &"9".repeat(100_000),
        ] {
            let body = format!("{{\"max_bindings\": {huge}}}").into_bytes();
            let reply = tenant.raw(Method::POST, "/v1/account/1/eab-credential", &json, body).await;
            assert_eq!(reply.status, 400, "{}: {}", &huge[..huge.len().min(30)], reply.text());
            assert!(reply.body.len() < 1000);
        }
        assert_eq!(tenant.get("/v1/eab-credential").await.expect(200)["items"].as_array().unwrap().len(), 1);
    }

    async fn a_body_over_256_kib_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let padded = |size: usize| {
            let mut body = br#"{"customer_email": "a@example.com"}"#.to_vec();
            body.resize(size, b' ');
            body
        };
        for size in [256 * 1024 + 1, 10 * 1024 * 1024] {
            assert_eq!(post(&tenant, &padded(size)).await.refusal(413), "body_too_large");
        }
        nothing_happened(&tenant).await;
        post(&tenant, &padded(256 * 1024)).await.expect(201);
        let json = [("content-type", "application/json")];
        for (method, path) in [(Method::PATCH, "/v1/account/1"), (Method::POST, "/v1/account/1/eab-credential")] {
            let reply = tenant.raw(method, path, &json, vec![b' '; 10 * 1024 * 1024]).await;
            assert_eq!(reply.refusal(413), "body_too_large", "{path}");
        }
    }

    async fn a_body_that_is_not_declared_as_json_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let good = json!({"customer_email": "a@example.com"}).to_string().into_bytes();
        for bad in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/xml",
            "application/jsonx",
            "json",
            "*/*",
            "application/json; charset=utf-16",
            "",
        ] {
            let reply = tenant.raw(Method::POST, "/v1/account", &[("content-type", bad)], good.clone()).await;
            assert_eq!(reply.refusal(415), "unsupported_media_type", "{bad}");
            let message = reply.json()["message"].as_str().unwrap().to_owned();
            assert_eq!(message.contains("as UTF-8"), bad.contains("charset"), "{bad}: {message}");
        }
        for headers in [
            &[][..],
            &[("content-type", "application/json"), ("content-encoding", "gzip")],
            &[("content-type", "application/json"), ("content-type", "text/plain")],
        ] {
            assert_eq!(tenant.raw(Method::POST, "/v1/account", headers, good.clone()).await.status, 415, "{headers:?}");
        }
        nothing_happened(&tenant).await;
        let json = [("content-type", "Application/JSON; charset=\"UTF-8\"")];
        tenant.raw(Method::POST, "/v1/account", &json, good.clone()).await.expect(201);
        let plain = [("content-type", "text/plain")];
        for (method, path) in [(Method::PATCH, "/v1/account/1"), (Method::POST, "/v1/account/1/eab-credential")] {
            assert_eq!(tenant.raw(method, path, &plain, good.clone()).await.refusal(415), "unsupported_media_type");
        }
    }

    async fn paths_that_are_not_there_are_told_in_json(world: World) {
        let tenant = world.tenant("DEMO").await;
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/v1/accounts",
            "/v1/account/",
            "/v2/account",
            "/V1/account",
            "/v1/account/1/eab",
            "/v1/account/1/eab-credential/x",
            "/v1/eab-credential/",
            "//v1/account",
            "/v1/account/a/b",
            "/v1%2Faccount",
        ] {
            for somebody in [&tenant, &world.stranger()] {
                let reply = somebody.get(path).await;
                assert_eq!(
                    (reply.refusal(404), reply.json()["status"].as_u64()),
                    ("not_found".to_owned(), Some(404)),
                    "{path}"
                );
                assert_eq!(reply.header("content-type"), Some("application/json"));
                assert_eq!(reply.json()["requestId"].as_str(), reply.header("x-request-id"));
            }
        }
    }

    async fn methods_that_are_not_there_are_told_with_those_that_are(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (path, allowed) in [
            ("/v1/account", "GET,HEAD,POST"),
            ("/v1/account/1", "DELETE,GET,HEAD,PATCH"),
            ("/v1/account/1/eab-credential", "GET,HEAD,POST"),
            ("/v1/eab-credential", "GET,HEAD"),
            ("/v1/eab-credential/x", "DELETE,GET,HEAD"),
        ] {
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
                if allowed.split(',').any(|allowed| allowed == method) {
                    continue;
                }
                let reply = tenant.raw(method.parse().unwrap(), path, &[], Vec::new()).await;
                assert_eq!(reply.refusal(405), "method_not_allowed", "{method} {path}");
                let mut methods: Vec<_> = reply.header("allow").unwrap().split(',').map(str::trim).collect();
                methods.sort_unstable();
                assert_eq!(methods.join(","), allowed, "{method} {path}");
                assert_eq!(reply.header("content-type"), Some("application/json"));
            }
        }
    }

    async fn every_answer_names_its_exchange(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "a@example.com"});
        for (somebody, path, status) in [
            (&tenant, "/v1/account", 201),
            (&tenant, "/v1/account", 409),
            (&tenant, "/nope", 404),
            (&tenant, "/v1/account/1", 405),
            (&world.stranger(), "/v1/account", 401),
        ] {
            for (sent, taken) in [
                ("abc-1._Z", true),
                (&*"x".repeat(128), true),
                ("", false),
                ("a b", false),
                ("a/b", false),
                ("<script>", false),
                ("é", false),
                (&*"x".repeat(129), false),
            ] {
                let reply = somebody.send(Method::POST, path, &[("x-request-id", sent)], Some(&body)).await;
                let named = reply.header("x-request-id").unwrap().to_owned();
                assert_eq!(named == sent, taken, "{sent} at {path}");
                assert!(!named.is_empty());
                if status == 404 || status == 405 {
                    assert_eq!(
                        (reply.status.as_u16(), reply.json()["requestId"].as_str()),
                        (status, Some(named.as_str()))
                    );
                }
            }
            let once = tenant.get(path).await.header("x-request-id").unwrap().to_owned();
            assert_ne!(tenant.get(path).await.header("x-request-id"), Some(once.as_str()));
        }
    }

    async fn nothing_is_cached_or_sniffed(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        for path in ["/v1/account/1", "/v1/account/2", &format!("/v1/account/{}", segment("<script>")), "/nope"] {
            let reply = tenant.get(path).await;
            assert_eq!(
                (reply.header("cache-control"), reply.header("x-content-type-options")),
                (Some("no-store"), Some("nosniff"))
            );
        }
    }
}

async fn post(tenant: &Tenant, body: &[u8]) -> Reply {
    tenant.raw(Method::POST, "/v1/account", &[("content-type", "application/json")], body.to_vec()).await
}

async fn nothing_happened(tenant: &Tenant) {
    assert_eq!(tenant.get("/v1/account?include_deleted=true").await.expect(200), json!({"items": []}));
}
