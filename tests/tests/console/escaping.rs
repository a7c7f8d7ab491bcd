//! What people write is text, never markup.

use chancery_tests::{lookup, on_both_databases};
use serde_json::json;

use crate::browser::Browser;

const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";

on_both_databases! {
    async fn hostile_names_are_shown_as_text(world: World) {
        let tenant = world.tenant("NORTH").await;
        let body = json!({"customer_email": "a@example.com", "external_id": HOSTILE, "metadata": {"k<b>": HOSTILE}});
        let account = lookup(&tenant.post("/v1/account", body).await.expect(201));
        let group = lookup(&tenant.post("/v1/account-group", json!({"name": HOSTILE, "description": HOSTILE})).await.expect(200));
        let policy = tenant.make_policy(HOSTILE, json!({"description": HOSTILE})).await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await;
        tenant.assign(&group, &policy).await;
        let mut browser = Browser::of(&world, &tenant).await;
        let query = "%3Cscript%3Ealert(1)%3C/script%3E%22%27%3E";
        for path in [
            "customers".to_owned(), "groups".to_owned(), "policies".to_owned(), "audit".to_owned(), "customers/new".to_owned(),
            format!("customers/{account}"), format!("groups/{group}"), format!("policies/{policy}"),
            format!("customers?q={query}"), format!("certificates?q={query}&customer={query}"), format!("orders?q={query}&status={query}"),
            format!("audit?subject={query}"), format!("policies/try?customer=a@example.com&names={query}"),
        ] {
            let reply = browser.get(&format!("/console/{path}")).await;
            assert!(reply.status == 200 || reply.status == 400, "{path}: {}", reply.text());
            let page = reply.text();
            for bad in ["<script>alert", "<img src=x", "k<b>"] {
                assert!(!page.contains(bad), "{path} has {bad}");
            }
        }
        assert!(browser.look("/console/groups").await.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;"));
    }

    async fn what_was_typed_wrongly_comes_back_as_text(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let reply = browser.post("/console/customers", &[("email", HOSTILE), ("external_id", HOSTILE)]).await;
        assert_eq!(reply.status, 400);
        assert!(!reply.text().contains("<script>alert") && reply.text().contains("&lt;script&gt;"), "{}", reply.text());
    }
}
