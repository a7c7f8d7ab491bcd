//! Who is let in, and who is not.

use std::time::Duration;

use chancery_domain::PageRequest;
use chancery_store::AuditFilter;
use chancery_tests::on_both_databases;

use crate::browser::Browser;

on_both_databases! {
    async fn a_client_signs_in_and_sees_its_reseller(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::new(&world);
        assert_eq!(browser.get("/console").await.header("location"), Some("/console/sign-in"));
        let reply = browser.sign_in(&tenant.client_id, &tenant.client_secret).await;
        assert_eq!((reply.status.as_u16(), reply.header("location")), (303, Some("/console")));
        let cookie = reply.header("set-cookie").unwrap();
        assert!(cookie.starts_with("__Host-chancery-session="), "{cookie}");
        for flag in ["; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/"] {
            assert!(cookie.contains(flag), "{flag} is missing: {cookie}");
        }
        assert!(!cookie.contains("Domain"), "{cookie}");
        let page = browser.look("/console").await;
        assert!(page.contains("NORTH") && page.contains("Overview"), "{page}");
        // Whoever is in already goes on.
        assert_eq!(browser.get("/console/sign-in").await.status, 303);
    }

    async fn a_session_ends_where_another_takes_its_place(world: World) {
        let (north, south) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let mut browser = Browser::of(&world, &north).await;
        let (mut thief, mut elsewhere) = (browser.copy(), Browser::of(&world, &north).await);
        assert_eq!(browser.sign_in(&south.client_id, "chs_wrong").await.status, 401);
        assert_eq!(thief.get("/console").await.status, 200);
        assert_eq!(browser.sign_in(&south.client_id, &south.client_secret).await.status, 303);
        assert!(browser.look("/console").await.contains("SOUTH"));
        assert_eq!(thief.get("/console").await.status, 303);
        assert_eq!(elsewhere.get("/console").await.status, 200);
        let filter = AuditFilter { action: Some("console.sign_out".to_owned()), ..AuditFilter::default() };
        let left = world.services.audit.list(filter, PageRequest { limit: 10, after: None }).await.unwrap();
        assert_eq!(left.iter().map(|line| &line.actor).collect::<Vec<_>>(), [&north.client_id]);
    }

    async fn a_page_that_was_asked_for_is_gone_back_to_and_no_other_host(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::new(&world);
        let asked = browser.get("/console/customers").await;
        assert_eq!(asked.header("location"), Some("/console/sign-in?next=%2Fconsole%2Fcustomers"));
        let asked = browser.get("/console/certificates?status=issued&q=a").await;
        let back = "/console/sign-in?next=%2Fconsole%2Fcertificates%3Fstatus%3Dissued%26q%3Da";
        assert_eq!(asked.header("location"), Some(back));
        assert_eq!(browser.get("/console/").await.header("location"), Some("/console"));
        for (next, to) in [
            ("/console/customers", "/console/customers"),
            ("/console/certificates?status=issued", "/console/certificates?status=issued"),
            ("//evil.test", "/console"),
            ("https://evil.test/console", "/console"),
            ("/console\\@evil.test", "/console"),
        ] {
            let mut browser = Browser::new(&world);
            let fields = [("client_id", &*tenant.client_id), ("client_secret", &tenant.client_secret), ("next", next)];
            assert_eq!(browser.done("/console/sign-in", &fields).await, to);
        }
    }

    async fn a_wrong_secret_is_told_beside_the_field_and_written_down(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::new(&world);
        let reply = browser.sign_in(&tenant.client_id, "chs_wrong").await;
        assert_eq!(reply.status, 401);
        assert!(reply.text().contains("aria-invalid=\"true\"") && reply.text().contains("wrong secret"), "{}", reply.text());
        assert!(!reply.text().contains("chs_wrong"), "a secret is shown");
        assert_eq!(browser.cookie("__Host-chancery-session"), None);
        // A secret in the place of the id is not shown either.
        let reply = browser.sign_in(&tenant.client_secret, "x").await;
        assert!(!reply.text().contains(&tenant.client_secret));
    }

    async fn after_ten_failures_even_the_right_secret_has_to_wait(world: World) {
        let (tenant, other) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let mut browser = Browser::new(&world);
        for _ in 0..10 {
            assert_eq!(browser.sign_in(&tenant.client_id, "wrong").await.status, 401);
        }
        let reply = browser.sign_in(&tenant.client_id, &tenant.client_secret).await;
        assert_eq!(reply.status, 429);
        assert!(reply.header("retry-after").is_some());
        assert_eq!(browser.sign_in(&other.client_id, &other.client_secret).await.status, 303);
        world.advance(Duration::from_secs(300));
        assert_eq!(browser.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 303);
    }

    async fn who_is_suspended_disabled_or_expired_is_not_let_in(world: World) {
        let tenant = world.tenant("NORTH").await;
        let id = tenant.client_id.parse().unwrap();
        let mut browser = Browser::new(&world);
        world.services.operator.set_reseller_suspended("NORTH", true).await.unwrap();
        let reply = browser.sign_in(&tenant.client_id, &tenant.client_secret).await;
        assert!(reply.status == 401 && reply.text().contains("suspended"), "{}", reply.text());
        world.services.operator.set_reseller_suspended("NORTH", false).await.unwrap();
        world.services.operator.set_client_disabled(id, true).await.unwrap();
        assert_eq!(browser.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 401);
    }

    async fn a_sign_in_from_another_page_is_refused(world: World) {
        let tenant = world.tenant("NORTH").await;
        for origin in [None, Some("https://evil.test".to_owned()), Some("null".to_owned())] {
            let mut browser = Browser::new(&world);
            browser.origin = origin;
            assert_eq!(browser.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 403);
        }
    }
}
