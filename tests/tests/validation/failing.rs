use std::time::Duration;

use chancery_tests::{lookup, on_both_databases};
use http::Method;

use crate::site::{Site, account, choose, code, codes, order, path, seen};

on_both_databases! {
    async fn a_wrong_page_ends_authorization_and_order_and_is_shown(world: World) {
        let site = Site::open().await;
        site.name("a.example.test").name("b.example.test");
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["a.example.test", "b.example.test"]).await;
        let challenge = code(&tenant, &order, "a.example.test", "http-01").await;
        let other = code(&tenant, &order, "a.example.test", "dns-01").await;
        let token = challenge["token"].as_str().unwrap();
        site.web.page(&format!("/.well-known/acme-challenge/{token}"), "something else");
        choose(&tenant, &challenge).await;
        site.work(&world).await;

        let failed = seen(&tenant, &order).await;
        assert_eq!(failed["status"], "invalid");
        assert_eq!(failed["error"]["type"], "incorrectResponse");
        let detail = failed["error"]["detail"].as_str().unwrap();
        assert!(detail.starts_with("a.example.test: ") && detail.contains("something else"), "{detail}");
        let authorizations = failed["authorizations"].as_array().unwrap();
        let status = |name: &str| {
            let found = authorizations.iter().find(|each| each["identifier"]["value"] == name);
            found.unwrap()["status"].as_str().unwrap()
        };
        assert_eq!(status("a.example.test"), "invalid");
        assert_ne!(status("b.example.test"), "valid");

        // Choosing again, this one or another, shows the one that was looked at.
        for chosen in [&challenge, &other] {
            let again = tenant.post_empty(&path(chosen)).await.expect(410);
            assert_eq!(again["challenge"]["lookup"], challenge["lookup"]);
            assert_eq!(again["challenge"]["status"], "invalid");
            assert_eq!(again["challenge"]["attempts"][0]["actual"], "something else");
            assert_eq!(again["challenge"]["attempts"][0]["httpStatus"], 200);
            assert_eq!(again["challenge"]["error"]["type"], "incorrectResponse");
        }
        // A list leaves out what was seen.
        let challenges = |order: &serde_json::Value| {
            let all = order["authorizations"].as_array().unwrap().iter();
            all.flat_map(|each| each["challenges"].as_array().unwrap().clone()).collect::<Vec<_>>()
        };
        let looks = |order: &serde_json::Value| {
            challenges(order).iter().map(|each| each["attempts"].as_array().unwrap().len()).sum::<usize>()
        };
        let listed = tenant.get("/v1/order").await.expect(200);
        assert_eq!((looks(&failed), looks(&listed["items"][0])), (1, 0));
        assert_eq!(challenges(&failed).len(), challenges(&listed["items"][0]).len());
        let finalize = tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await;
        assert!(finalize.status.is_client_error(), "{}", finalize.text());
    }

    async fn an_order_ends_once_whatever_else_is_seen_of_its_names(world: World) {
        let site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let chosen_with_wrong_pages = async |names: &[&str]| {
            let order = order(&tenant, &account, names).await;
            for name in names {
                site.name(name);
                let challenge = code(&tenant, &order, name, "http-01").await;
                let token = challenge["token"].as_str().unwrap();
                site.web.page(&format!("/.well-known/acme-challenge/{token}"), "something else");
                choose(&tenant, &challenge).await;
            }
            order
        };
        let told = async || tenant.get("/v1/event?type=order.invalid").await.expect(200)["items"].clone();

        let failed = chosen_with_wrong_pages(&["a.example.test", "b.example.test", "c.example.test"]).await;
        site.work(&world).await;
        let problem = seen(&tenant, &failed).await["error"]["detail"].clone();
        let ends = told().await;
        assert_eq!(ends.as_array().unwrap().len(), 1, "{ends}");
        assert_eq!(ends[0]["subject"], failed["lookup"]);
        let said = ends[0]["data"]["problem"].as_str().unwrap();
        assert!(said.contains(problem.as_str().unwrap()), "{said} and {problem}");

        let cancelled = chosen_with_wrong_pages(&["d.example.test"]).await;
        tenant.send(Method::DELETE, &format!("/v1/order/{}", lookup(&cancelled)), &[], None).await.expect(200);
        site.work(&world).await;
        assert_eq!(told().await, ends);
        assert_eq!(seen(&tenant, &cancelled).await["status"], "cancelled");
    }

    /// What is missing can still be mended while it is looked for.
    async fn looks_are_shown_while_others_follow(world: World) {
        let mut site = Site::open().await;
        site.name("a.example.test");
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["a.example.test"]).await;
        let challenge = code(&tenant, &order, "a.example.test", "http-01").await;
        choose(&tenant, &challenge).await;
        let eyes = site.eyes_for(&world, Duration::from_secs(60));
        let meanwhile = async {
            let looks = loop {
                let shown = tenant.get(&path(&challenge)).await.expect(200);
                let looks = shown["attempts"].as_array().unwrap().clone();
                if !looks.is_empty() {
                    assert_eq!(shown["status"], "processing");
                    break looks;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            assert_eq!(looks[0]["httpStatus"], 404, "{looks:?}");
            let waiting = seen(&tenant, &order).await;
            let step = waiting["progress"].as_array().unwrap().iter().find(|step| step["step"] == "validation").unwrap();
            assert_eq!(step["detail"], "0 of 1 names are shown; 1 is being verified", "{waiting}");
            site.publish(&challenge).await;
        };
        tokio::join!(world.work(Some(eyes)), meanwhile);
        let shown = tenant.get(&path(&challenge)).await.expect(200);
        assert_eq!(shown["status"], "valid", "{shown}");
        let statuses: Vec<_> = shown["attempts"].as_array().unwrap().iter().map(|look| look["httpStatus"].as_i64()).collect();
        assert_eq!(statuses.last(), Some(&Some(200)));
        assert!(statuses[..statuses.len() - 1].iter().all(|status| *status == Some(404)), "each look once: {statuses:?}");
    }

    async fn a_second_choice_while_the_first_is_looked_at_is_refused_with_its_state(world: World) {
        let site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["a.example.test"]).await;
        let challenges = codes(&tenant, &order, "a.example.test").await;
        choose(&tenant, &challenges[0]).await;
        let again = tenant.post_empty(&path(&challenges[0])).await.expect(410);
        assert_eq!(again["challenge"]["status"], "processing");
        assert_eq!(site.dns.asked(), []);
    }

    async fn what_is_missing_ends_the_order_when_the_window_is_over(world: World) {
        let site = Site::open().await;
        site.dns.absent("a.example.test");
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["a.example.test"]).await;
        choose(&tenant, &code(&tenant, &order, "a.example.test", "dns-01").await).await;
        site.work(&world).await;
        let failed = seen(&tenant, &order).await;
        assert_eq!((failed["status"].as_str(), failed["error"]["type"].as_str()), (Some("invalid"), Some("dns")));
        let detail = failed["error"]["detail"].as_str().unwrap();
        assert!(detail.contains("_acme-challenge.a.example.test does not exist"), "{detail}");
    }
}
