//! The secret of a client, renewed by whoever is signed in with it.

use chancery_tests::on_both_databases;

use crate::browser::{Browser, form_of};

on_both_databases! {
    async fn a_secret_is_renewed_and_the_old_one_dropped(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let at = |verb: &str| format!("/console/clients/{}/{verb}", tenant.client_id);
        let made = browser.post(&at("rotate"), &[("current", &tenant.client_secret)]).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let page = made.text();
        let fresh = page.split("chs_").nth(1).unwrap().split('<').next().unwrap();
        let fresh = format!("chs_{fresh}");
        let mut other = Browser::new(&world);
        assert_eq!(other.sign_in(&tenant.client_id, &fresh).await.status, 303);
        // The one that stays has to be shown.
        let wrong = browser.post(&at("finish-rotation"), &[("current", &tenant.client_secret)]).await;
        assert_eq!(wrong.status, 400);
        browser.done(&at("finish-rotation"), &[("current", &fresh)]).await;
        assert_eq!(browser.get("/console").await.status, 303, "signed in with a secret that is gone");
        other.look("/console").await;
        assert_eq!(Browser::new(&world).sign_in(&tenant.client_id, &tenant.client_secret).await.status, 401);
    }

    async fn a_secret_that_is_asked_for_twice_is_one_and_is_shown_again(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let own = format!("/console/clients/{}", tenant.client_id);
        let rotate = format!("{own}/rotate");
        let form = form_of(&browser.look(&own).await, &rotate);
        let name = form.iter().find(|(name, _)| name == "form").map(|(_, value)| value.clone()).unwrap();
        let fields = [("form", name.as_str()), ("current", &tenant.client_secret)];
        let [first, again] = [browser.post(&rotate, &fields).await, browser.post(&rotate, &fields).await];
        let secret = |page: &str| page.split("<code>chs_").nth(1).unwrap().split('<').next().unwrap().to_owned();
        assert_eq!(secret(&first.text()), secret(&again.text()));
        // Only to whoever proves again who they are.
        let stolen = browser.post(&rotate, &[("form", name.as_str()), ("current", "chs_guess")]).await;
        assert!(stolen.status == 400 && !stolen.text().contains("<code>chs_"), "{}", stolen.text());
        // Another form is another wish, and there are two secrets already.
        let other = browser.post(&rotate, &[("form", "other"), ("current", &tenant.client_secret)]).await;
        assert_eq!(other.status, 400, "{}", other.text());
    }

    async fn whoever_may_only_look_renews_nothing(world: World) {
        let tenant = world.tenant_with("NORTH", "reseller read:account".parse().unwrap()).await;
        let mut browser = Browser::of(&world, &tenant).await;
        assert!(!browser.look("/console/clients").await.contains("/console/clients/new"));
        let own = format!("/console/clients/{}", tenant.client_id);
        assert!(!browser.look(&own).await.contains("<input id=\"f-current"));
        assert_eq!(browser.get("/console/clients/new").await.status, 403);
        for path in ["rotate", "finish-rotation", "revoke"].map(|verb| format!("{own}/{verb}")) {
            let reply = browser.post(&path, &[("current", &tenant.client_secret)]).await;
            assert_eq!(reply.status, 403, "{path}: {}", reply.text());
            assert!(!reply.text().contains("chs_"));
        }
    }

    async fn a_session_alone_gets_no_secret(world: World) {
        let tenant = world.tenant("NORTH").await;
        let mut browser = Browser::of(&world, &tenant).await;
        let reply = browser.post(&format!("/console/clients/{}/rotate", tenant.client_id), &[("current", "chs_guess")]).await;
        assert_eq!(reply.status, 400);
        assert!(!reply.text().contains("<code>chs_"));
    }
}
