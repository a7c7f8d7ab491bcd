//! How long somebody stays signed in, and what ends it.

use std::time::Duration;

use chancery_tests::on_both_databases;

use crate::browser::Browser;

const TO_SIGN_IN: &str = "/console/sign-in";

on_both_databases! {
    async fn a_session_ends_when_nobody_uses_it(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        for _ in 0..3 {
            world.advance(Duration::from_secs(50 * 60));
            browser.look("/console").await;
        }
        world.advance(Duration::from_secs(60 * 60));
        assert_eq!(browser.get("/console").await.header("location"), Some(TO_SIGN_IN));
    }

    async fn a_session_ends_after_twelve_hours_whatever_happens(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        for _ in 0..23 {
            world.advance(Duration::from_secs(30 * 60));
            browser.look("/console").await;
        }
        world.advance(Duration::from_secs(30 * 60));
        assert_eq!(browser.get("/console").await.header("location"), Some(TO_SIGN_IN));
        assert_eq!(world.services.console.sweep().await.unwrap(), 0);
        world.advance(Duration::from_secs(1));
        assert_eq!(world.services.console.sweep().await.unwrap(), 1);
    }

    async fn signing_out_ends_this_session_and_no_other(world: World) {
        let tenant = world.tenant("NORTH").await;
        let (mut here, mut there) = (Browser::of(&world, &tenant).await, Browser::of(&world, &tenant).await);
        let mut stolen = here.copy();
        assert_eq!(here.done("/console/sign-out", &[]).await, TO_SIGN_IN);
        assert_eq!(here.cookie("__Host-chancery-session"), None);
        assert_eq!(stolen.get("/console").await.status, 303);
        there.look("/console").await;
    }

    async fn signing_out_everywhere_ends_all_of_this_client_and_no_others(world: World) {
        let (tenant, other) = (world.tenant("NORTH").await, world.client_of("NORTH", chancery_domain::ScopeSet::all()).await);
        let (mut here, mut there) = (Browser::of(&world, &tenant).await, Browser::of(&world, &tenant).await);
        let mut colleague = Browser::of(&world, &other).await;
        here.done("/console/sign-out-everywhere", &[]).await;
        assert_eq!(here.get("/console").await.status, 303);
        assert_eq!(there.get("/console").await.status, 303);
        colleague.look("/console").await;
    }

    async fn a_disabled_client_is_out_at_once(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        world.services.operator.set_client_disabled(tenant.client_id.parse().unwrap(), true).await.unwrap();
        assert_eq!(browser.get("/console").await.header("location"), Some(TO_SIGN_IN));
    }

    async fn a_suspended_reseller_is_out_at_once(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        world.services.operator.set_reseller_suspended("NORTH", true).await.unwrap();
        assert_eq!(browser.get("/console").await.header("location"), Some(TO_SIGN_IN));
    }

    async fn a_form_needs_the_token_of_its_session(world: World) {
        let (tenant, other) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let mut browser = Browser::of(&world, &tenant).await;
        let good = browser.csrf.clone();
        let theirs = Browser::of(&world, &other).await.csrf;
        for bad in ["", "x", &theirs, &good[1..]] {
            browser.csrf = bad.to_owned();
            let reply = browser.post("/console/customers", &[("email", "a@example.com")]).await;
            assert_eq!(reply.status, 403, "{bad}");
        }
        browser.csrf = good.clone();
        browser.origin = Some("https://evil.test".to_owned());
        assert_eq!(browser.post("/console/customers", &[("email", "a@example.com")]).await.status, 403);
        assert!(!browser.look("/console/customers").await.contains("a@example.com"));
        browser.origin = Some("https://ca.test".to_owned());
        assert_eq!(browser.post("/console/customers", &[("email", "a@example.com")]).await.status, 200);
        assert!(browser.look("/console/customers").await.contains("a@example.com"));
    }

    async fn only_a_hash_of_the_token_is_kept(world: World) {
        let tenant = world.tenant("NORTH").await;
        let browser = Browser::of(&world, &tenant).await;
        let token = browser.cookie("__Host-chancery-session").unwrap().to_owned();
        let hash = chancery_service::identity::hash_secret(&token);
        let kept = world.store.read(move |tx| tx.console_session(&hash)).await.unwrap().unwrap();
        assert_ne!(kept.token.0.as_slice(), token.as_bytes());
        let plain = chancery_domain::SecretHash(token.as_bytes()[..32].try_into().unwrap());
        assert!(world.store.read(move |tx| tx.console_session(&plain)).await.unwrap().is_none());
    }
}
