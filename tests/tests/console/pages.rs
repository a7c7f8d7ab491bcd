//! Every page is there, for those who may see it and for nobody else.

use chancery_domain::ScopeSet;
use chancery_tests::{Tenant, World, lookup, on_both_databases};

use crate::browser::Browser;

/// The pages of a reseller that has one of everything.
async fn pages(world: &World, tenant: &Tenant) -> Vec<String> {
    let account = lookup(&tenant.make_account("anna@example.com").await);
    let (group, policy) = (
        tenant.make_group("Retail").await,
        tenant.make_policy("Short", serde_json::json!({"max_validity_days": 30})).await,
    );
    tenant.add_members(&group, std::slice::from_ref(&account)).await;
    tenant.assign(&group, &policy).await;
    let order = world.issue(tenant, &account, &["www.example.com", "example.com"]).await;
    let certificate = order["certificateLookup"].as_str().or(order["certificate_lookup"].as_str());
    let certificate = certificate.map_or_else(|| panic!("{order}"), str::to_owned);
    let open = lookup(&tenant.make_order(&account, &["open.example.com"]).await);
    let mut paths: Vec<String> = [
        "",
        "/customers",
        "/customers?q=anna",
        "/customers?q=nobody",
        "/customers?status=all",
        "/customers/new",
        "/certificates",
        "/certificates?q=www.example.com&status=issued",
        "/certificates?q=nothing.example",
        "/certificates.csv",
        "/calendar",
        "/calendar?day=2027-01-01",
        "/orders",
        "/orders?status=pending",
        "/orders?customer=nobody",
        "/groups",
        "/groups/new",
        "/policies",
        "/policies/new",
        "/policies/try",
        "/policies/try?customer=anna@example.com&names=www.example.com",
        "/clients",
        "/audit",
        "/audit?outcome=refused",
    ]
    .map(|path| format!("/console{path}"))
    .into();
    for (noun, id) in
        [("customers", &account), ("groups", &group), ("policies", &policy), ("certificates", &certificate)]
    {
        paths.push(format!("/console/{noun}/{id}"));
    }
    paths.push(format!("/console/policies/try?policy={policy}&names=www.example.com"));
    for file in ["fullchain.pem", "cert.pem", "chain.pem", "cert.cer", "cert.p7b"] {
        paths.push(format!("/console/certificates/{certificate}/{file}"));
    }
    paths.extend([lookup(&order), open].map(|id| format!("/console/orders/{id}")));
    paths
}

on_both_databases! {
    async fn every_page_is_there_and_keeps_to_itself(world: World) {
        let tenant = world.tenant("NORTH").await;
        let (paths, mut browser) = (pages(&world, &tenant).await, Browser::of(&world, &tenant).await);
        for path in paths {
            let reply = browser.get(&path).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
            let policy = reply.header("content-security-policy").unwrap();
            assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
            let page = reply.text();
            assert!(!page.contains(" style=") && !page.contains("<script>") && !page.contains("onclick"), "{path}");
        }
    }

    async fn nobody_sees_a_page_without_signing_in(world: World) {
        let tenant = world.tenant("NORTH").await;
        let paths = pages(&world, &tenant).await;
        let mut stranger = Browser::new(&world);
        for path in paths.into_iter().chain(["/console/operator".to_owned(), "/console/operator/resellers".to_owned()]) {
            let reply = stranger.get(&path).await;
            assert_eq!(reply.status, 303, "{path}");
            assert!(reply.header("location").unwrap().starts_with("/console/sign-in"), "{path}");
        }
    }

    async fn a_client_sees_what_its_scopes_let_it_see(world: World) {
        let tenant = world.tenant("NORTH").await;
        let paths = pages(&world, &tenant).await;
        let narrow = world.client_of("NORTH", "reseller read:certificate".parse::<ScopeSet>().unwrap()).await;
        let mut browser = Browser::of(&world, &narrow).await;
        browser.look("/console/certificates").await;
        for path in paths.iter().filter(|path| path.contains("/customers/acc_") || path.contains("/orders/") || path.contains("/policies/pol")) {
            let reply = browser.get(path).await;
            assert_eq!(reply.status, 403, "{path}");
            assert!(reply.text().contains("scope"), "{}", reply.text());
        }
        assert_eq!(browser.post("/console/customers", &[("email", "b@example.com")]).await.status, 403);
    }

    async fn who_may_only_look_is_shown_no_form(world: World) {
        let tenant = world.tenant("NORTH").await;
        let (making, paths): (Vec<_>, Vec<_>) =
            pages(&world, &tenant).await.into_iter().partition(|path| path.ends_with("/new"));
        let reads: ScopeSet = "reseller read:account read:certificate read:order".parse().unwrap();
        let reader = world.client_of("NORTH", reads).await;
        let (mut writes, mut browser) = (Browser::of(&world, &tenant).await, Browser::of(&world, &reader).await);
        // What stands around every page.
        let around = |page: &str| page.matches("method=\"post\"").count() - 2;
        let mut forms = 0;
        for path in &paths {
            let (page, all) = (browser.look(path).await, writes.look(path).await);
            if page.starts_with("<!DOCTYPE html>") {
                assert_eq!(around(&page), 0, "{path}: {page}");
                assert!(!making.iter().any(|path| page.contains(&format!("href=\"{path}\""))), "{path}: {page}");
                forms += around(&all);
            }
        }
        assert!(forms > 10, "{forms}");
        for path in &making {
            assert_eq!(browser.get(path).await.status, 403, "{path}");
        }
        // The rules can be read all the same.
        let policy = paths.iter().find(|path| path.starts_with("/console/policies/pol")).unwrap();
        assert!(browser.look(policy).await.contains("value=\"30\""));
    }

    async fn the_list_for_spreadsheets_has_a_line_for_each_certificate(world: World) {
        let tenant = world.tenant("NORTH").await;
        pages(&world, &tenant).await;
        let reply = Browser::of(&world, &tenant).await.get("/console/certificates.csv?status=issued").await;
        assert_eq!(reply.header("content-type"), Some("text/csv; charset=utf-8"));
        let text = reply.text();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("example.com www.example.com"), "{text}");
    }

    async fn what_is_not_there_is_a_page_too(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        for path in ["/console/nothing", "/console/customers/acc_1", "/console/static/0/console.css", "/console/operator"] {
            let reply = browser.get(path).await;
            assert_eq!(reply.status, 404, "{path}");
            assert!(reply.text().contains("<h1>Not found</h1>"), "{path}: {}", reply.text());
        }
    }

    async fn a_path_that_is_no_text_is_a_page_too(world: World) {
        let tenant = world.tenant("NORTH").await;
        for mut browser in [Browser::of(&world, &tenant).await, Browser::new(&world)] {
            for path in ["customers/%ff", "certificates/x/%c3%28", "sign-in/with/%ff", "static/%ff", "%ff"] {
                let reply = browser.get(&format!("/console/{path}")).await;
                assert_eq!(reply.status, 404, "{path}: {}", reply.text());
                assert!(reply.text().contains("There is no such page."), "{path}: {}", reply.text());
                assert!(reply.header("content-security-policy").is_some(), "{path}");
            }
            assert_eq!(browser.post("/console/customers/%ff/suspend", &[]).await.status, 404);
        }
    }

    async fn style_and_script_are_files_that_never_change(world: World) {
        let mut browser = Browser::new(&world);
        let page = browser.look("/console/sign-in").await;
        for name in ["console.css", "console.js", "icon.svg"] {
            let end = page.find(name).unwrap() + name.len();
            let path = &page[page[..end].rfind('"').unwrap() + 1..end];
            let reply = browser.get(path).await;
            assert_eq!(reply.status, 200, "{path}");
            assert!(reply.header("cache-control").unwrap().contains("immutable"));
        }
    }
}
