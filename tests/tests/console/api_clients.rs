//! API clients that a reseller makes, renews and revokes by itself: never more than whoever does it may do.

use std::time::Duration;

use chancery_domain::{Name, PageRequest, ScopeSet};
use chancery_service::identity::NewClient;
use chancery_store::AuditFilter;
use chancery_tests::{Tenant, World, on_both_databases, settings};

use crate::browser::Browser;
use crate::provider::{Hostile, leave};
use crate::sessions::is_kept;

const NARROW: &str = "reseller read:account write:account read:certificate";

on_both_databases! {
    async fn a_reseller_makes_a_client_that_can_sign_in_and_is_written_down(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        browser.look("/console/clients/new").await;
        let made = create(&mut browser, &tenant.client_secret, &["read:account", "read:order"], "").await;
        let (id, secret) = revealed(&made.unwrap());
        let mut colleague = Browser::new(&world);
        assert_eq!(colleague.sign_in(&id, &secret).await.status, 303);
        colleague.look("/console/customers").await;
        assert_eq!(colleague.get("/console/certificates").await.status, 403);
        // The secret is shown once.
        assert!(!browser.look(&format!("/console/clients/{id}")).await.contains(&secret));

        // Its secret is renewed by the one that made it.
        let page = browser.post(&format!("/console/clients/{id}/rotate"), &[("current", &tenant.client_secret)]).await;
        let (_, fresh) = revealed(&page.text());
        assert_ne!(secret, fresh);
        browser.done(&format!("/console/clients/{id}/finish-rotation"), &[("current", &tenant.client_secret)]).await;
        assert_eq!(colleague.get("/console/customers").await.status, 303, "signed in with a secret that is gone");
        assert_eq!(colleague.sign_in(&id, &fresh).await.status, 303);

        assert!(is_kept(&world, &colleague).await);
        browser.done(&format!("/console/clients/{id}/revoke"), &[("current", &tenant.client_secret)]).await;
        assert!(!is_kept(&world, &colleague).await, "it would be good again if the operator enabled the client");
        assert_eq!(colleague.get("/console/customers").await.status, 303);
        assert_eq!(colleague.sign_in(&id, &fresh).await.status, 401);
        assert_eq!(browser.post(&format!("/console/clients/{id}/enable"), &[]).await.status, 404);

        let filter = AuditFilter { actor: Some(tenant.client_id.clone()), ..AuditFilter::default() };
        let trail = world.services.audit.list(filter, PageRequest { limit: 20, after: None }).await.unwrap();
        for action in ["client.create", "client.rotate", "client.finish_rotation", "client.revoke"] {
            assert!(trail.iter().any(|row| row.action == action && row.subject == id), "{action}");
        }
    }

    async fn nobody_makes_a_client_that_may_do_more(world: World) {
        world.tenant("NORTH").await;
        let tenant = world.client_of("NORTH", NARROW.parse().unwrap()).await;
        let mut browser = Browser::of_any(&world, &tenant).await;
        let page = browser.look("/console/clients/new").await;
        assert!(page.contains("value=\"read:certificate\"") && !page.contains("value=\"write:order\""));
        let before = clients(&world).await;
        for wide in [&["write:order"][..], &["read:account", "write:certificate"]] {
            let refused = create(&mut browser, &tenant.client_secret, wide, "").await.unwrap_err();
            assert!(refused.contains("scopes that you do not have"), "{refused}");
        }
        let refused = create(&mut browser, &tenant.client_secret, &["everything"], "").await.unwrap_err();
        assert!(refused.contains("verything"), "{refused}");
        assert_eq!(clients(&world).await, before);
        create(&mut browser, &tenant.client_secret, &["write:account"], "").await.unwrap();
    }

    async fn a_client_that_may_do_more_is_not_theirs_to_renew_or_to_end(world: World) {
        let wide = world.tenant("NORTH").await;
        let tenant = world.client_of("NORTH", NARROW.parse().unwrap()).await;
        let mut browser = Browser::of_any(&world, &tenant).await;
        let at = |verb: &str| format!("/console/clients/{}{verb}", wide.client_id);
        assert!(browser.look(&at("")).await.contains("It may do more than you"));
        for verb in ["/rotate", "/finish-rotation", "/revoke"] {
            let reply = browser.post(&at(verb), &[("current", &tenant.client_secret)]).await;
            assert_eq!(reply.status, 400, "{verb}: {}", reply.text());
            assert!(!reply.text().contains("<code>chs_"));
        }
        Browser::of(&world, &wide).await.look("/console").await;
    }

    async fn a_client_of_another_reseller_is_not_there(world: World) {
        let (tenant, other) = (world.tenant("NORTH").await, world.tenant("SOUTH").await);
        let mut browser = Browser::of(&world, &tenant).await;
        assert_eq!(browser.get(&format!("/console/clients/{}", other.client_id)).await.status, 404);
        for verb in ["rotate", "finish-rotation", "revoke"] {
            let path = format!("/console/clients/{}/{verb}", other.client_id);
            assert_eq!(browser.post(&path, &[("current", &tenant.client_secret)]).await.status, 404, "{verb}");
        }
        Browser::of(&world, &other).await.look("/console").await;
    }

    async fn a_session_alone_makes_and_changes_no_client(world: World) {
        let tenant = world.tenant("NORTH").await;
        let other = world.client_of("NORTH", ScopeSet::all()).await;
        let mut browser = Browser::of(&world, &tenant).await;
        let before = clients(&world).await;
        for wrong in ["", "chs_guess", &other.client_secret] {
            assert!(create(&mut browser, wrong, &["read:account"], "").await.is_err());
            for verb in ["rotate", "finish-rotation", "revoke"] {
                let path = format!("/console/clients/{}/{verb}", other.client_id);
                assert_eq!(browser.post(&path, &[("current", wrong)]).await.status, 400, "{verb}");
            }
        }
        assert_eq!(clients(&world).await, before);
        Browser::of(&world, &other).await.look("/console").await;
    }

    async fn a_client_does_not_outlive_the_one_that_makes_or_renews_it(world: World) {
        let tenant = world.tenant("NORTH").await;
        let name = Name::parse("guest").unwrap();
        let new = NewClient { name, scopes: ScopeSet::all(), expires_in_days: Some(7) };
        let guest = world.services.operator.create_client("NORTH", new).await.unwrap();
        let mut browser = Browser::new(&world);
        assert_eq!(browser.sign_in(&guest.client.id.to_string(), guest.secret.reveal()).await.status, 303);
        browser.look("/console").await;
        for days in ["", "8", "0", "x"] {
            let refused = create(&mut browser, guest.secret.reveal(), &["read:account"], days).await.unwrap_err();
            assert!(refused.contains("aria-invalid=\"true\""), "{days}: {refused}");
        }
        create(&mut browser, guest.secret.reveal(), &["read:account"], "7").await.unwrap();
        // Nor may it get a secret of one that lasts.
        for verb in ["rotate", "finish-rotation"] {
            let path = format!("/console/clients/{}/{verb}", tenant.client_id);
            let refused = browser.post(&path, &[("current", guest.secret.reveal())]).await;
            assert_eq!(refused.status, 400, "{verb}");
            assert!(refused.text().contains("Lasts longer"), "{}", refused.text());
        }
    }

    async fn who_signed_in_through_a_provider_has_to_have_done_so_lately(world: World) {
        let provider = Hostile::start().await;
        world.tenant("NORTH").await;
        let mut may = provider.settings();
        may.sign_in.as_mut().unwrap().scopes = "reseller read:account write:account".parse().unwrap();
        let node = world.another_node(settings(), vec![provider.external(may, None)]).await;
        let mut browser = Browser::at(node.stranger());
        let asked = leave(&mut browser, "").await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked["nonce"])));
        let back = format!("/console/sign-in/with/partners/return?code=x&state={}", asked["state"]);
        assert_eq!(browser.get(&back).await.status, 303);
        browser.look("/console/clients").await;
        create(&mut browser, "", &["read:account"], "90").await.unwrap();
        assert!(create(&mut browser, "", &["read:order"], "90").await.is_err());
        for days in ["", "91"] {
            assert!(create(&mut browser, "", &["read:account"], days).await.is_err(), "{days}");
        }
        world.advance(Duration::from_secs(15 * 60));
        let refused = create(&mut browser, "", &["read:account"], "").await.unwrap_err();
        assert!(refused.contains("some time since you signed in"), "{refused}");
    }
}

/// The page that shows the secret, or else the one that says why not.
async fn create(browser: &mut Browser, current: &str, scopes: &[&str], days: &str) -> Result<String, String> {
    let mut fields = vec![("name", "Laptop"), ("current", current), ("days", days)];
    fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
    let reply = browser.post("/console/clients", &fields).await;
    match reply.status.as_u16() {
        200 => Ok(reply.text()),
        400 => Err(reply.text()),
        other => panic!("{other}: {}", reply.text()),
    }
}

fn revealed(page: &str) -> (String, String) {
    let word = |start: &str| {
        let from = page.find(&format!("<code>{start}")).expect("it is shown") + "<code>".len();
        page[from..].split('<').next().unwrap().to_owned()
    };
    (word("cli_"), word("chs_"))
}

async fn clients(world: &World) -> usize {
    world.services.operator.clients("NORTH").await.unwrap().len()
}

impl Browser {
    /// Signed in with a client that need not see the first page.
    async fn of_any(world: &World, tenant: &Tenant) -> Self {
        let mut browser = Self::new(world);
        assert_eq!(browser.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 303);
        browser.look("/console/clients").await;
        browser
    }
}
