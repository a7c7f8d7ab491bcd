use chancery_tests::{lookup, on_both_databases};
use serde_json::json;

use crate::site::{Site, account, choose, code, codes, order, path, seen};

on_both_databases! {
    async fn three_names_are_shown_by_three_methods_and_certified(world: World) {
        let mut site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let names = ["a.example.test", "b.example.test", "c.example.test"];
        let order = order(&tenant, &account, &names).await;
        let mut chosen = Vec::new();
        for (name, kind) in names.into_iter().zip(["http-01", "dns-01", "tls-alpn-01"]) {
            site.name(name);
            let challenge = code(&tenant, &order, name, kind).await;
            site.publish(&challenge).await;
            choose(&tenant, &challenge).await;
            chosen.push(challenge);
        }
        site.work(&world).await;
        let ready = seen(&tenant, &order).await;
        assert_eq!(ready["status"], "ready", "{ready:#}");

        let http = tenant.get(&path(&chosen[0])).await.expect(200);
        assert_eq!((&http["status"], http["attempts"].as_array().unwrap().len()), (&json!("valid"), 1));
        let attempt = &http["attempts"][0];
        assert_eq!(attempt["perspective"], "primary");
        assert_eq!(attempt["addressesResolved"], json!(["127.0.0.1"]));
        assert_eq!(attempt["addressUsed"], site.web.address().to_string());
        assert_eq!(attempt["httpStatus"], 200);
        assert_eq!(attempt["dnssec"], "unchecked");
        assert_eq!((&attempt["expected"], &attempt["actual"]), (&http["keyAuthorization"], &http["keyAuthorization"]));
        let dns = tenant.get(&path(&chosen[1])).await.expect(200);
        let value = dns["instructions"]["recordValue"].as_str().unwrap();
        let record = format!("_acme-challenge.b.example.test. TXT \"{value}\"");
        assert_eq!(dns["attempts"][0]["dnsAnswers"], json!([record]));
        let tls = tenant.get(&path(&chosen[2])).await.expect(200);
        assert_eq!(tls["attempts"][0]["actual"], tls["attempts"][0]["expected"]);

        tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
        site.work(&world).await;
        let valid = seen(&tenant, &order).await;
        assert_eq!(valid["status"], "valid", "{valid:#}");
        let certificate = tenant.get(&format!("/v1/certificate/{}", valid["certificateLookup"].as_str().unwrap())).await;
        assert_eq!(certificate.status, 200);
    }

    async fn a_wildcard_is_shown_by_dns_alone(world: World) {
        let mut site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["*.example.test"]).await;
        let challenges = codes(&tenant, &order, "example.test").await;
        let kinds: Vec<_> = challenges.iter().map(|challenge| challenge["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["dns-01"]);
        site.publish(&challenges[0]).await;
        choose(&tenant, &challenges[0]).await;
        site.work(&world).await;
        assert_eq!(seen(&tenant, &order).await["status"], "ready");
    }

    async fn an_address_is_shown_by_its_web_server_and_the_dns_is_not_asked(world: World) {
        let mut site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["127.0.0.1"]).await;
        let challenges = codes(&tenant, &order, "127.0.0.1").await;
        let kinds: Vec<_> = challenges.iter().map(|challenge| challenge["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["http-01", "tls-alpn-01"]);
        site.publish(&challenges[0]).await;
        choose(&tenant, &challenges[0]).await;
        site.work(&world).await;
        assert_eq!(seen(&tenant, &order).await["status"], "ready");
        assert_eq!(site.dns.asked(), []);
    }
}
