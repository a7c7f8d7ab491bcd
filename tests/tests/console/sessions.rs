//! How long somebody stays signed in, and what ends it.

use std::num::NonZeroU32;
use std::time::Duration;

use chancery_domain::{ClientId, PageRequest};
use chancery_overload::{Limit, LimitSettings, Rate};
use chancery_service::Settings;
use chancery_service::identity::hash_secret;
use chancery_store::{AuditFilter, ConsoleSession, SessionHolder, StoreError, Tx};
use chancery_testkit::TestStore;
use chancery_tests::{World, on_both_databases, settings};
use serde_json::Value;

use crate::browser::Browser;

const TO_SIGN_IN: &str = "/console/sign-in";
/// So many sessions that they do not end in one go.
const MANY: u32 = 1_500;
/// Sessions that one client may have.
const MAX_SESSIONS: usize = 100;

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

    async fn a_client_with_many_sessions_loses_its_oldest(world: World) {
        let (tenant, other) = (world.tenant("NORTH").await, world.client_of("NORTH", chancery_domain::ScopeSet::all()).await);
        let (mut oldest, mut colleague) = (Browser::of(&world, &tenant).await, Browser::of(&world, &other).await);
        world.advance(Duration::from_secs(1));
        let mut next = Browser::of(&world, &tenant).await;
        world.advance(Duration::from_secs(1));
        for _ in 2..MAX_SESSIONS {
            assert_eq!(Browser::new(&world).sign_in(&tenant.client_id, &tenant.client_secret).await.status, 303);
        }
        oldest.look("/console").await;
        let mut newest = Browser::of(&world, &tenant).await;
        assert_eq!(oldest.get("/console").await.header("location"), Some(TO_SIGN_IN));
        next.look("/console").await;
        newest.look("/console").await;
        colleague.look("/console").await;
    }

    async fn signing_out_everywhere_ends_very_many_sessions(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        sign_in_often(&world, tenant.client_id.parse().unwrap()).await;
        browser.done("/console/sign-out-everywhere", &[]).await;
        world.advance(Duration::from_secs(13 * 60 * 60));
        assert_eq!(world.services.console.sweep().await.unwrap(), 0, "none is left");
        let action = Some("console.sign_out_everywhere".to_owned());
        let filter = AuditFilter { action, ..AuditFilter::default() };
        let recorded = world.services.audit.list(filter, PageRequest { limit: 10, after: None }).await.unwrap();
        let sessions = |detail: &str| serde_json::from_str::<Value>(detail).unwrap()["sessions"].as_u64();
        let counts: Vec<_> = recorded.iter().map(|record| sessions(&record.detail)).collect();
        assert_eq!(counts, [Some(u64::from(MANY) + 1)]);
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

    async fn a_client_that_is_enabled_again_has_to_sign_in_again(world: World) {
        let tenant = world.tenant("NORTH").await;
        let other = world.client_of("NORTH", chancery_domain::ScopeSet::all()).await;
        let (mut browser, mut colleague) = (Browser::of(&world, &tenant).await, Browser::of(&world, &other).await);
        let (operator, id) = (&world.services.operator, tenant.client_id.parse::<ClientId>().unwrap());
        operator.set_client_disabled(id, true).await.unwrap();
        assert!(!is_kept(&world, &browser).await);
        operator.set_client_disabled(id, false).await.unwrap();
        assert_eq!(browser.get("/console").await.header("location"), Some(TO_SIGN_IN));
        colleague.look("/console").await;
        // To enable what is enabled ends nothing.
        let mut browser = Browser::of(&world, &tenant).await;
        operator.set_client_disabled(id, false).await.unwrap();
        browser.look("/console").await;
    }

    async fn a_reseller_that_is_resumed_has_to_sign_in_again(world: World) {
        let (tenant, other) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let colleague = world.client_of("NORTH", chancery_domain::ScopeSet::all()).await;
        let mut all = [Browser::of(&world, &tenant).await, Browser::of(&world, &colleague).await];
        let mut neighbour = Browser::of(&world, &other).await;
        let operator = &world.services.operator;
        operator.set_reseller_suspended("NORTH", true).await.unwrap();
        for browser in &all {
            assert!(!is_kept(&world, browser).await);
        }
        operator.set_reseller_suspended("NORTH", false).await.unwrap();
        for browser in &mut all {
            assert_eq!(browser.get("/console").await.header("location"), Some(TO_SIGN_IN));
        }
        neighbour.look("/console").await;
        let mut browser = Browser::of(&world, &tenant).await;
        operator.set_reseller_suspended("NORTH", false).await.unwrap();
        browser.look("/console").await;
    }

    async fn very_many_sessions_end_as_well(world: World) {
        let tenant = world.tenant("NORTH").await;
        let (operator, id) = (&world.services.operator, tenant.client_id.parse::<ClientId>().unwrap());
        let left = async || {
            world.advance(Duration::from_secs(2 * 60 * 60));
            world.services.console.sweep().await.unwrap()
        };
        sign_in_often(&world, id).await;
        operator.set_client_disabled(id, true).await.unwrap();
        assert_eq!(left().await, 0);
        operator.set_client_disabled(id, false).await.unwrap();
        sign_in_often(&world, id).await;
        operator.set_reseller_suspended("NORTH", true).await.unwrap();
        assert_eq!(left().await, 0);
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
        let hash = hash_secret(&token);
        let kept = world.store.read(move |tx| tx.console_session(&hash)).await.unwrap().unwrap();
        assert_ne!(kept.token.0.as_slice(), token.as_bytes());
        let plain = chancery_domain::SecretHash(token.as_bytes()[..32].try_into().unwrap());
        assert!(world.store.read(move |tx| tx.console_session(&plain)).await.unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_in_counts_as_a_request_of_the_reseller() {
    let two = NonZeroU32::new(2).unwrap();
    let limits = LimitSettings::none().with(Limit::Requests, Some(Rate::per_second(NonZeroU32::MIN, two)));
    let world = World::over(TestStore::sqlite(), Settings { limits, ..settings() }, Vec::new()).await;
    let (tenant, other) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
    let mut statuses = Vec::new();
    for secret in [&*tenant.client_secret, "chs_wrong", &tenant.client_secret, &tenant.client_secret] {
        statuses.push(Browser::new(&world).sign_in(&tenant.client_id, secret).await.status.as_u16());
    }
    assert_eq!(statuses, [303, 401, 303, 429], "a failed sign-in costs the reseller nothing");
    assert_eq!(Browser::new(&world).sign_in(&other.client_id, &other.client_secret).await.status, 303);
}

/// Whether the database still has the session of a browser.
pub(crate) async fn is_kept(world: &World, browser: &Browser) -> bool {
    let hash = hash_secret(browser.cookie("__Host-chancery-session").unwrap());
    world.store.read(move |tx| tx.console_session(&hash)).await.unwrap().is_some()
}

/// Sessions of a client that last an hour.
async fn sign_in_often(world: &World, client: ClientId) {
    let now = world.services.now();
    let unit = move |tx: &mut Tx<'_>| {
        for number in 0..MANY {
            tx.insert_console_session(&ConsoleSession {
                token: hash_secret(&number.to_string()),
                holder: SessionHolder::Client(client),
                credential: hash_secret("a secret"),
                created_at: now,
                seen_at: now,
                expires_at: now.plus(Duration::from_secs(60 * 60)),
            })?;
        }
        Ok::<_, StoreError>(())
    };
    world.store.write(unit).await.unwrap();
}
