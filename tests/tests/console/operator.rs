//! The operator's pages.

use std::time::Duration;

use chancery_tests::{lookup, on_both_databases};

use crate::browser::Browser;

on_both_databases! {
    async fn the_operator_sees_the_service_and_no_resellers_pages(world: World) {
        world.tenant("NORTH").await;
        let mut browser = Browser::of_operator(&world).await;
        for path in ["", "/resellers", "/resellers/NORTH", "/authorities", "/nodes", "/audit", "/audit?outcome=refused"] {
            browser.look(&format!("/console/operator{path}")).await;
        }
        assert_eq!(browser.get("/console").await.header("location"), Some("/console/operator"));
        assert_eq!(browser.get("/console/operator/resellers/NOBODY").await.status, 404);
        assert_eq!(browser.post("/console/customers", &[("email", "a@example.com")]).await.status, 404);
    }

    async fn the_operator_makes_a_reseller_and_a_client_that_can_sign_in(world: World) {
        let mut browser = Browser::of_operator(&world).await;
        let wrong = browser.post("/console/operator/resellers", &[("code", "lower"), ("name", "South")]).await;
        assert!(wrong.status == 400 && wrong.text().contains("aria-invalid=\"true\""));
        browser.done("/console/operator/resellers", &[("code", "SOUTH"), ("name", "South")]).await;
        assert_eq!(browser.post("/console/operator/resellers", &[("code", "SOUTH"), ("name", "South")]).await.status, 400);
        let made = browser.post("/console/operator/resellers/SOUTH/clients", &[("name", "Laptop"), ("scope", "read:account")]).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let page = made.text();
        let word = |start: &str| {
            let from = page.find(&format!("<code>{start}")).unwrap() + "<code>".len();
            page[from..].split('<').next().unwrap().to_owned()
        };
        let (id, secret) = (word("cli_"), word("chs_"));
        let mut person = Browser::new(&world);
        assert_eq!(person.sign_in(&id, &secret).await.status, 303);
        person.look("/console/customers").await;
        let mut before = person.copy();
        browser.done(&format!("/console/operator/resellers/SOUTH/clients/{id}/disable"), &[]).await;
        assert_eq!(person.get("/console/customers").await.status, 303);
        browser.done(&format!("/console/operator/resellers/SOUTH/clients/{id}/enable"), &[]).await;
        assert_eq!(before.get("/console/customers").await.status, 303, "that session has ended");
        browser.done("/console/operator/resellers/SOUTH/suspend", &[]).await;
        assert_eq!(person.sign_in(&id, &secret).await.status, 401);
        assert!(browser.look("/console/operator/audit?action=reseller.suspend").await.contains("Olivia"));
    }

    async fn the_operator_renews_a_secret_and_drops_the_old_one(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of_operator(&world).await;
        let at = |verb: &str| format!("/console/operator/resellers/NORTH/clients/{}/{verb}", tenant.client_id);
        let made = browser.post(&at("rotate"), &[]).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let page = made.text();
        let fresh = format!("chs_{}", page.split("<code>chs_").nth(1).unwrap().split('<').next().unwrap());
        assert_ne!(fresh, tenant.client_secret);
        // Both let in until the old one is dropped.
        let (mut old, mut new) = (Browser::new(&world), Browser::new(&world));
        assert_eq!(old.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 303);
        assert_eq!(new.sign_in(&tenant.client_id, &fresh).await.status, 303);
        assert!(browser.done(&at("finish-rotation"), &[]).await.ends_with("/resellers/NORTH?done=rotated"));
        assert_eq!(old.get("/console").await.status, 303, "signed in with a secret that is gone");
        new.look("/console").await;
        assert_eq!(Browser::new(&world).sign_in(&tenant.client_id, &tenant.client_secret).await.status, 401);
        let audit = browser.look("/console/operator/audit").await;
        assert!(audit.contains("client.rotate") && audit.contains("client.finish_rotation") && audit.contains("Olivia") && !audit.contains(&fresh), "{audit}");
        // Nobody else may.
        for verb in ["rotate", "finish-rotation"] {
            new.look("/console").await;
            assert_eq!(new.post(&at(verb), &[]).await.status, 404, "{verb}");
        }
    }

    async fn a_reseller_that_is_resumed_is_let_in_again(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of_operator(&world).await;
        let mut person = Browser::of(&world, &tenant).await;
        let mut before = person.copy();
        browser.done("/console/operator/resellers/NORTH/suspend", &[]).await;
        assert_eq!(person.get("/console").await.status, 303);
        assert_eq!(person.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 401);
        assert!(browser.look("/console/operator/resellers").await.contains(">suspended</span>"));
        let to = browser.done("/console/operator/resellers/NORTH/resume", &[]).await;
        assert_eq!(to, "/console/operator/resellers/NORTH?done=resumed");
        assert!(browser.look(&to).await.contains("Resumed.") && !browser.look("/console/operator/resellers").await.contains(">suspended</span>"));
        assert_eq!(before.get("/console").await.status, 303, "that session has ended");
        assert_eq!(person.sign_in(&tenant.client_id, &tenant.client_secret).await.status, 303);
        person.look("/console").await;
        assert!(browser.look("/console/operator/audit?action=reseller.resume").await.contains("Olivia"));
    }

    async fn a_name_in_the_operators_trail_leads_to_what_was_done_to_it(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let mut browser = Browser::of_operator(&world).await;
        let page = browser.look("/console/operator/audit").await;
        let to = format!("/console/operator/audit?subject={account}");
        assert!(page.contains(&format!("href=\"{to}\"")), "{page}");
        assert!(!page.contains("href=\"/console/customers/"), "the operator is not let in there: {page}");
        let page = browser.look(&to).await;
        let has = |action: &str| page.contains(&format!("<span class=\"strong\">{action}</span>"));
        assert!(has("account.create") && !has("reseller.create"), "{page}");
        // For the reseller there is a page of it.
        let page = Browser::of(&world, &tenant).await.look("/console/audit").await;
        assert!(page.contains(&format!("href=\"/console/customers/{account}\"")), "{page}");
    }

    async fn a_revoked_operator_key_is_out_at_once(world: World) {
        let mut browser = Browser::of_operator(&world).await;
        let keys = world.services.operator.operator_keys().await.unwrap();
        world.services.operator.revoke_operator_key(keys[0].id).await.unwrap();
        assert_eq!(browser.get("/console/operator").await.status, 303);
        assert!(world.services.operator.revoke_operator_key(keys[0].id).await.is_err());
    }

    async fn a_wrong_operator_key_is_refused(world: World) {
        let mut browser = Browser::new(&world);
        for key in ["x", "cho_x_y", "cho_01m7fy4k5eem0bs3gp2d2rrtpy_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert_eq!(browser.post("/console/sign-in", &[("operator_key", key)]).await.status, 401, "{key}");
        }
    }

    async fn the_operator_sees_which_nodes_there_are_and_which_have_gone_silent(world: World) {
        let mut browser = Browser::of_operator(&world).await;
        assert!(browser.look("/console/operator/nodes").await.contains("No node has said anything yet"));
        let other = world.another_node(chancery_tests::settings(), Vec::new()).await;
        let start = world.services.now();
        world.services.nodes.announce("alpha", "1.2.3", start).await.unwrap();
        other.services.nodes.announce("<b>beta", "1.2.4", start).await.unwrap();
        let page = browser.look("/console/operator/nodes").await;
        assert!(page.contains("alpha") && page.contains("1.2.4") && page.contains("&lt;b&gt;beta"), "{page}");
        assert!(page.contains("not all of one version") && page.matches("this one").count() == 1, "{page}");
        world.advance(Duration::from_secs(35));
        world.services.nodes.announce("alpha", "1.2.3", start).await.unwrap();
        let page = browser.look("/console/operator/nodes").await;
        assert_eq!((page.matches(">silent<").count(), page.matches(">active<").count()), (1, 1), "{page}");
        let seen = world.services.nodes.list().await.unwrap();
        assert!(seen[0].this && !seen[0].silent && seen[0].started_at == start && seen[0].seen_at > start, "{seen:?}");
        // One that stops says so; one that is killed is forgotten after a day.
        other.services.nodes.leave().await.unwrap();
        assert_eq!(world.services.nodes.list().await.unwrap().len(), 1);
        other.services.nodes.announce("beta", "1.2.4", start).await.unwrap();
        world.advance(Duration::from_secs(86_401));
        world.services.nodes.announce("alpha", "1.2.3", start).await.unwrap();
        assert_eq!(world.services.nodes.list().await.unwrap().len(), 1);
    }

    async fn the_operator_sees_what_waits_and_what_is_overdue(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let mut browser = Browser::of_operator(&world).await;
        let row = |page: &str, kind: &str| {
            let row = page.split("<tr>").find(|row| row.contains(&format!("<span class=\"strong\">{kind}</span>"))).unwrap();
            let cells = row.split("<td").skip(1).map(|cell| cell.split_once('>').unwrap().1.split("</td>").next().unwrap().to_owned());
            cells.collect::<Vec<_>>()
        };
        let nothing = ["0", "0", "<span class=\"muted\">–</span>"];
        let page = browser.look("/console/operator").await;
        assert_eq!((row(&page, "validate"), row(&page, "issue")), (nothing.map(str::to_owned).into(), nothing.map(str::to_owned).into()));
        let ready = lookup(&world.make_ready(&tenant, &account, &["ready.example.com"]).await);
        let early = tenant.make_order(&account, &["a.example.com", "b.example.com"]).await;
        tenant.choose_all(&early).await;
        world.advance(Duration::from_secs(600));
        let late = tenant.make_order(&account, &["c.example.com"]).await;
        tenant.choose_all(&late).await;
        tenant.post_empty(&format!("/v1/order/{ready}/finalize")).await.expect(202);
        let page = browser.look("/console/operator").await;
        assert_eq!(row(&page, "validate"), ["3", "<span class=\"pill warn\">2</span>", "10 minutes ago"]);
        assert_eq!(row(&page, "issue"), ["1", "0", "just now"]);
        assert!(page.contains("href=\"#jobs\"><b>4</b><span>jobs, 2 overdue</span>"), "{page}");
    }

    async fn the_operator_sees_whether_ocsp_is_answered(world: World) {
        let mut browser = Browser::of_operator(&world).await;
        assert!(browser.look("/console/operator/authorities").await.contains("no responder for it"));
        let looked = tokio::time::timeout(Duration::from_secs(3), world.services.ocsp.watch()).await;
        assert!(looked.is_err(), "it goes on for ever");
        let page = browser.look("/console/operator/authorities").await;
        assert!(!page.contains("no responder for it") && page.contains("answered here, good until"), "{page}");
        world.advance(Duration::from_secs(8 * 86_400));
        let mut browser = Browser::of_operator(&world).await;
        assert!(browser.look("/console/operator/authorities").await.contains("no responder for it"));
    }
}
