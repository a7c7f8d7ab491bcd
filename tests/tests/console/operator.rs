//! The operator's pages.

use chancery_tests::on_both_databases;

use crate::browser::Browser;

on_both_databases! {
    async fn the_operator_sees_the_service_and_no_resellers_pages(world: World) {
        world.tenant("NORTH").await;
        let mut browser = Browser::of_operator(&world).await;
        for path in ["", "/resellers", "/resellers/NORTH", "/authorities", "/audit", "/audit?outcome=refused"] {
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
        let made = browser.post("/console/operator/resellers/SOUTH/clients", &[("name", "Laptop"), ("scope", "reseller"), ("scope", "read:account")]).await;
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
        browser.done(&format!("/console/operator/resellers/SOUTH/clients/{id}/disable"), &[]).await;
        assert_eq!(person.get("/console/customers").await.status, 303);
        browser.done(&format!("/console/operator/resellers/SOUTH/clients/{id}/enable"), &[]).await;
        browser.done("/console/operator/resellers/SOUTH/suspend", &[]).await;
        assert_eq!(person.sign_in(&id, &secret).await.status, 401);
        assert!(browser.look("/console/operator/audit?action=reseller.suspend").await.contains("Olivia"));
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
}
