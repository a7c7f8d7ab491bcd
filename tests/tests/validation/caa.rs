use std::time::Duration;

use chancery_tests::{Tenant, World, lookup, on_both_databases};
use serde_json::Value;

use crate::site::{Site, account, choose, code, order, seen};

const NAME: &str = "a.example.test";

/// An order for a name that is shown in the DNS, looked at once.
async fn looked_at(world: &World, site: &mut Site, tenant: &Tenant, account: &str) -> Value {
    let order = order(tenant, account, &[NAME]).await;
    let challenge = code(tenant, &order, NAME, "dns-01").await;
    site.publish(&challenge).await;
    choose(tenant, &challenge).await;
    site.work(world).await;
    seen(tenant, &order).await
}

on_both_databases! {
    async fn a_caa_record_that_forbids_ends_the_order_and_is_named(world: World) {
        let mut site = Site::open().await;
        site.dns.empty(NAME).caa("example.test", 0, "issue", "other.test");
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let failed = looked_at(&world, &mut site, &tenant, &account).await;
        assert_eq!((failed["status"].as_str(), failed["error"]["type"].as_str()), (Some("invalid"), Some("caa")));
        let detail = failed["error"]["detail"].as_str().unwrap();
        for part in ["found at example.test", "`example.test. CAA 0 issue \"other.test\"`", "we are ca.test"] {
            assert!(detail.contains(part), "{detail}");
        }
        assert_eq!(failed["authorizations"][0]["status"], "invalid");
    }

    async fn a_caa_record_can_name_us_and_the_account(world: World) {
        let mut site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let ours = account(&tenant, "a@example.com").await;
        let other = account(&tenant, "b@example.com").await;
        let uri = format!("https://ca.test/account/{ours}");
        site.dns.caa(NAME, 0, "issue", &format!("ca.test; accounturi={uri}; validationmethods=dns-01"));
        assert_eq!(looked_at(&world, &mut site, &tenant, &ours).await["status"], "ready");
        let failed = looked_at(&world, &mut site, &tenant, &other).await;
        let detail = failed["error"]["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("it is for the account {uri}")), "{detail}");
    }

    async fn old_caa_evidence_is_not_enough_to_issue(world: World) {
        let mut site = Site::open().await;
        site.dns.empty(NAME);
        let mut tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = looked_at(&world, &mut site, &tenant, &account).await;
        assert_eq!(order["status"], "ready");
        // RFC 8659 leaves it to the CA; the Baseline Requirements say 8 hours.
        world.advance(Duration::from_secs(9 * 3600));
        tenant.sign_in().await;
        site.dns.caa(NAME, 0, "issue", ";");
        tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
        site.work(&world).await;
        let failed = seen(&tenant, &order).await;
        assert_eq!((failed["status"].as_str(), failed["error"]["type"].as_str()), (Some("invalid"), Some("caa")));
        assert!(failed["error"]["detail"].as_str().unwrap().contains("it lets nobody issue"), "{failed:#}");
    }
}
