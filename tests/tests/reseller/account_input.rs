//! What may be said of an account: addresses with every trick, notes, and all that is wrong at once.

use chancery_tests::on_both_databases;
use serde_json::{Map, Value, json};

use crate::common::{problems, segment};

on_both_databases! {
    async fn ordinary_addresses_are_taken_and_shown_as_they_were_written(world: World) {
        let tenant = world.tenant("DEMO").await;
        let longest = format!("{}@{}.{}.{}.com", "l".repeat(64), "a".repeat(63), "b".repeat(63), "c".repeat(57));
        assert_eq!(longest.len(), 254);
        for good in [
            "a@b.co",
            "First.Last+tag@Sub.Example.CO.UK",
            "o'hara!#$%&*/=?^_`{|}~-@example.com",
            "1@2.3com",
            "x@bücher.example",
            "x@例え.テスト",
            "y@xn--r8jz45g.xn--zckzah",
            "-@example.com",
            &longest,
        ] {
            let made = tenant.post("/v1/account", json!({"customer_email": good})).await;
            assert_eq!(made.status, 201, "{good}: {}", made.text());
            assert_eq!(made.json()["email"], good);
            let found = tenant.get(&format!("/v1/account?customer_email={}", segment(good))).await.expect(200);
            assert_eq!(found["items"][0]["email"], good);
        }
    }

    async fn every_trick_with_an_address_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let local = format!("{}@example.com", "l".repeat(65));
        let label = format!("a@{}.com", "d".repeat(64));
        let long = format!("{}@{}.{}.{}.com", "l".repeat(64), "a".repeat(63), "b".repeat(63), "c".repeat(58));
        // Short as written, longer than any address in the ASCII form of its domain.
        let grows = format!("a@{}com", "ü.".repeat(70));
        for bad in [
            "",
            " ",
            "@",
            "a",
            "a@",
            "@example.com",
            "a@b",
            "a@localhost",
            "a@@example.com",
            "a@b@example.com",
            "a b@example.com",
            " a@example.com",
            "a@example.com ",
            "a@example.com\n",
            "a\r\nBcc: b@example.com",
            "a@example.com\r\nb",
            "a@example.com,b@example.com",
            "a@example.com;b@example.com",
            "Admin <a@example.com>",
            "<a@example.com>",
            "mailto:a@example.com?x",
            "\"a b\"@example.com",
            "\"a\"@example.com",
            "a(b)@example.com",
            "a@(b)example.com",
            "a\\@b@example.com",
            "a@[127.0.0.1]",
            "a@[IPv6:::1]",
            "a@127.0.0.1",
            "a@1.2.3.4",
            ".a@example.com",
            "a.@example.com",
            "a..b@example.com",
            "a@.example.com",
            "a@example..com",
            "a@example.com.",
            "a@-example.com",
            "a@example-.com",
            "a@exa_mple.com",
            "a@exa mple.com",
            "a@*.example.com",
            "a@example.com/",
            "a@example.com:25",
            "a@exam%70le.com",
            "ü@example.com",
            "а@example.com",
            "a\u{200b}@example.com",
            "a@example\u{200b}.com",
            "a@\u{202e}example.com",
            "a@example.com\u{feff}",
            "a＠example.com",
            "a@example。com",
            "a@ｅxample.com",
            "a@example.com\u{0}",
            "a@xn--.com",
            "a@xn--a.com",
            "a\t@example.com",
            "a@exam\u{ad}ple.com",
            &local,
            &label,
            &long,
            &grows,
        ] {
            let reply = tenant.post("/v1/account", json!({"customer_email": bad})).await;
            assert_eq!(reply.status, 400, "{bad:?}: {}", reply.text());
            let found = problems(&reply);
            assert!(
                found == ["customer_email invalid"] || found == ["customer_email nul_character"],
                "{bad:?}: {found:?}"
            );
        }
        for (bad, problem) in [
            (json!(null), "wrong_type"),
            (json!(5), "wrong_type"),
            (json!(true), "wrong_type"),
            (json!(["a@example.com"]), "wrong_type"),
            (json!({}), "wrong_type"),
        ] {
            let reply = tenant.post("/v1/account", json!({"customer_email": bad})).await;
            assert_eq!(problems(&reply), [format!("customer_email {problem}")], "{bad}");
        }
        assert_eq!(problems(&tenant.post("/v1/account", json!({})).await), ["customer_email missing"]);
        assert_eq!(tenant.get("/v1/account").await.expect(200)["items"], json!([]));
    }

    async fn metadata_is_sixteen_pairs_of_short_texts(world: World) {
        let tenant = world.tenant("DEMO").await;
        let mut number = 0;
        let mut create = async |metadata: &Value| {
            number += 1;
            let body = json!({"customer_email": format!("a{number}@example.com"), "metadata": metadata});
            tenant.post("/v1/account", body).await
        };
        let pairs =
            |count: usize| Value::from((0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<Map<_, _>>());
        for good in [
            json!({}),
            pairs(16),
            json!({"é".repeat(64): "é".repeat(512)}),
            json!({"k": ""}),
            json!({"k": "several\nlines\twith tabs"}),
            json!({"a.b[0]": "x", "__proto__": "y", "$": "'; --"}),
        ] {
            let made = create(&good).await.expect(201);
            assert_eq!(made.get("metadata").unwrap_or(&json!({})), &good);
            let shown = tenant.get(&format!("/v1/account/{}", made["id"])).await.expect(200);
            assert_eq!(shown.get("metadata"), made.get("metadata"));
        }
        for (bad, problem) in [
            (pairs(17), "metadata too_many"),
            (json!({"": "x"}), "metadata invalid_key"),
            (json!({"é".repeat(65): "x"}), "metadata invalid_key"),
            (json!({"a\nb": "x"}), "metadata invalid_key"),
            (json!({"k": "é".repeat(513)}), "metadata.k invalid"),
            (json!({"k": "\u{1b}[31m"}), "metadata.k invalid"),
            (json!({"k": 1}), "metadata.k wrong_type"),
            (json!({"k": null}), "metadata.k wrong_type"),
            (json!({"k": {"nested": "x"}}), "metadata.k wrong_type"),
            (json!({"k": ["x"]}), "metadata.k wrong_type"),
            (json!([]), "metadata wrong_type"),
            (json!("k=v"), "metadata wrong_type"),
            (json!({"k\u{0}": "x"}), "metadata.k\u{fffd} nul_character"),
            (json!({"k": "x\u{0}"}), "metadata.k nul_character"),
        ] {
            assert_eq!(problems(&create(&bad).await), [problem], "{bad}");
        }
    }

    async fn unknown_fields_are_refused_by_name(world: World) {
        let tenant = world.tenant("DEMO").await;
        let reply = tenant.post("/v1/account", json!({"customer_email": "a@example.com", "external-id": "x"})).await;
        assert_eq!(reply.refusal(400), "unknown_field");
        assert_eq!(problems(&reply), ["external-id unknown_field"]);
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("external-id") && message.contains("external_id"), "{message}");
        // The names of answers are not those of requests.
        let body = json!({"customer_email": "a@example.com", "externalId": "x", "email": "x", "suspended": true});
        let reply = tenant.post("/v1/account", body).await;
        assert_eq!(reply.refusal(400), "unknown_field");
        let mut found = problems(&reply);
        found.sort();
        assert_eq!(found, ["email unknown_field", "externalId unknown_field", "suspended unknown_field"]);
        assert_eq!(tenant.get("/v1/account").await.expect(200)["items"], json!([]));
    }

    async fn everything_that_is_wrong_is_told_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"customer_email": "nobody", "external_id": "", "metadata": {"a": "\u{7}", "b": 1, "": "x"},
                          "account_groups": ["grp_1", 2], "colour": "red"});
        let reply = tenant.post("/v1/account", body).await;
        assert_eq!(reply.refusal(400), "invalid_request");
        let mut found = problems(&reply);
        found.sort();
        let expected = [
            "account_groups[1] wrong_type",
            "colour unknown_field",
            "customer_email invalid",
            "external_id invalid",
            "metadata invalid_key",
            "metadata.a invalid",
            "metadata.b wrong_type",
        ];
        assert_eq!(found, expected);
    }

    async fn what_is_told_does_not_grow_with_what_was_sent(world: World) {
        let tenant = world.tenant("DEMO").await;
        let unknown: Map<_, _> = (0..9000).map(|n| (format!("unknown-{n}"), json!(1))).collect();
        let pairs: Map<_, _> = (0..9000).map(|n| (format!("\u{1}{n}"), json!("\u{1}"))).collect();
        let long = json!({"customer_email": "a@example.com", "metadata": {"k".repeat(200_000): "v"}});
        for body in [
            Value::from(unknown),
            json!({"customer_email": "a@example.com", "metadata": pairs}),
            long,
            json!({"customer_email": "x".repeat(200_000)}),
        ] {
            let reply = tenant.post("/v1/account", body).await;
            assert!(problems(&reply).len() <= 32);
            assert!(reply.body.len() < 16_384, "{} bytes", reply.body.len());
        }
    }
}
