//! One reseller's things are not there for another.

use chancery_tests::{lookup, on_both_databases};

use crate::browser::Browser;

on_both_databases! {
    async fn who_may_not_read_customers_is_not_told_their_addresses_by_an_order(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let path = format!("/console/orders/{}", lookup(&tenant.make_order(&account, &["www.example.com"]).await));
        assert!(Browser::of(&world, &tenant).await.look(&path).await.contains("anna@example.com"));
        let clerk = world.client_of("NORTH", "reseller read:order".parse().unwrap()).await;
        let mut browser = Browser::new(&world);
        assert_eq!(browser.sign_in(&clerk.client_id, &clerk.client_secret).await.status, 303);
        let page = browser.look(&path).await;
        assert!(page.contains(&account) && !page.contains("anna@example.com"), "{page}");
    }

    async fn another_resellers_addresses_are_not_found(world: World) {
        let (mine, theirs) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let account = lookup(&theirs.make_account("anna@example.com").await);
        let kid = theirs.get(&format!("/v1/account/{account}")).await.expect(200);
        let kid = kid["kid"].as_str().unwrap_or_else(|| panic!("{kid}")).to_owned();
        let (group, policy) = (theirs.make_group("Retail").await, theirs.make_policy("Short", serde_json::json!({})).await);
        let order = world.issue(&theirs, &account, &["www.example.com"]).await;
        let certificate = order["certificateLookup"].as_str().unwrap_or_else(|| panic!("{order}")).to_owned();
        let order = lookup(&order);
        let mut browser = Browser::of(&world, &mine).await;
        for path in [
            format!("customers/{account}"), format!("groups/{group}"), format!("policies/{policy}"), format!("orders/{order}"),
            format!("certificates/{certificate}"), format!("certificates/{certificate}/fullchain.pem"),
        ] {
            assert_eq!(browser.get(&format!("/console/{path}")).await.status, 404, "{path}");
        }
        let sure = [("sure", "yes"), ("reason", "superseded"), ("email", "b@example.com"), ("name", "x"), ("policy", &policy), ("accounts", &account), ("account", &account), ("to", &group)];
        for path in [
            format!("customers/{account}/edit"), format!("customers/{account}/suspend"), format!("customers/{account}/terminate"),
            format!("customers/{account}/credentials"), format!("customers/{account}/credentials/{kid}/revoke"),
            format!("groups/{group}/edit"), format!("groups/{group}/delete"), format!("groups/{group}/assign"), format!("groups/{group}/unassign"),
            format!("groups/{group}/add"), format!("groups/{group}/remove"), format!("groups/{group}/move"),
            format!("policies/{policy}/edit"), format!("policies/{policy}/delete"),
            format!("orders/{order}/cancel"), format!("orders/{order}/finalize"), format!("certificates/{certificate}/revoke"),
        ] {
            assert_eq!(browser.post(&format!("/console/{path}"), &sure).await.status, 404, "{path}");
        }
        for list in ["customers", "customers?q=anna@example.com", "groups", "policies", "orders", "certificates", "certificates?q=www.example.com"] {
            let page = browser.look(&format!("/console/{list}")).await;
            for secret in [&account, &group, &policy, &order, &certificate] {
                assert!(!page.contains(secret.as_str()), "{list} shows {secret}");
            }
        }
        assert!(!browser.look("/console/audit").await.contains(&account));
    }

    async fn a_resellers_client_has_no_pages_of_the_operator(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        for path in ["", "/resellers", "/resellers/NORTH", "/authorities", "/audit"] {
            assert_eq!(browser.get(&format!("/console/operator{path}")).await.status, 404, "{path}");
        }
        for path in ["/resellers", "/resellers/NORTH/suspend", "/resellers/NORTH/clients"] {
            let reply = browser.post(&format!("/console/operator{path}"), &[("code", "EVIL"), ("name", "x")]).await;
            assert_eq!(reply.status, 404, "{path}");
        }
    }
}
