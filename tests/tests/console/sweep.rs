//! Every way into the console, as the router has it: nothing is shown or done for strangers, nor from elsewhere.

use std::collections::BTreeSet;

use chancery_tests::World;

use crate::browser::Browser;

/// What strangers need to sign in, and to see the page for it.
const OPEN: &[&str] = &[
    "/console/",
    "/console/sign-in",
    "/console/sign-in/with/x",
    "/console/sign-in/with/x/return",
    "/console/theme",
    "/console/static/x",
];

/// The paths of the console. A router does not list them, but it does print them.
fn paths(router: &axum::Router) -> BTreeSet<String> {
    let printed = format!("{router:?}");
    let (paths, _) = printed.split_once("fallback_router").expect("the paths come before the fallback");
    let paths = paths.split('"').skip(1).step_by(2).filter(|text| text.starts_with("/console"));
    let filled = |path: &str| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    paths.map(filled).collect()
}

#[tokio::test]
async fn every_way_in_asks_who_it_is() {
    let world = World::sqlite().await;
    let all = paths(&world.router);
    assert!(all.len() > 40, "{all:?}");
    for path in all.iter().filter(|path| !OPEN.contains(&path.as_str()) && *path != "/console/x") {
        let reply = Browser::new(&world).get(path).await;
        let asked = reply.header("location").is_some_and(|to| to.starts_with("/console/sign-in"));
        assert!(asked || reply.status == 405, "GET {path}: {}", reply.status);
        let reply = Browser::new(&world).post(path, &[]).await;
        let asked = reply.header("location").is_some_and(|to| to.starts_with("/console/sign-in"));
        assert!(asked || reply.status == 405, "POST {path}: {}", reply.status);
    }
}

#[tokio::test]
async fn no_form_is_taken_from_elsewhere_or_without_its_token() {
    let world = World::sqlite().await;
    let tenant = world.tenant("NORTH").await;
    let (mut person, mut operator) = (Browser::of(&world, &tenant).await, Browser::of_operator(&world).await);
    for path in paths(&world.router).iter().filter(|path| *path != "/console/x") {
        for browser in [&mut person, &mut operator] {
            let (csrf, origin) = (browser.csrf.clone(), browser.origin.clone());
            browser.origin = Some("https://evil.test".to_owned());
            let reply = browser.post(path, &[]).await;
            assert!([403, 405].contains(&reply.status.as_u16()), "from elsewhere {path}: {}", reply.status);
            browser.origin = origin;
            browser.csrf = "wrong".to_owned();
            if !OPEN.contains(&path.as_str()) {
                let reply = browser.post(path, &[]).await;
                assert!([403, 405].contains(&reply.status.as_u16()), "without its token {path}: {}", reply.status);
            }
            browser.csrf = csrf;
        }
    }
}
