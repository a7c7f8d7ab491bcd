//! The pages of the console at their extremes.

use crate::browser::Browser;
use crate::filled::{Filled, Size, worlds};
use crate::measure::{Expected, Findings, measure};
use crate::things::Kind;

/// What the router has below these is for everyone, for the operator, or in parts of 4 MiB.
const OTHERS: &[&str] =
    &["/console/", "/console/{", "/console/sign-", "/console/static", "/console/operator", "/console/certificates.csv"];

/// Every path of the console of a reseller, about the longest resource of its kind.
fn paths(filled: &Filled) -> Vec<String> {
    let printed = format!("{:?}", filled.world.router);
    let (routes, _) = printed.split_once("fallback_router").unwrap();
    let is_own = |route: &&str| {
        let is_other = |other: &&str| if other.ends_with('/') { route == other } else { route.starts_with(*other) };
        route.starts_with("/console") && !OTHERS.iter().any(is_other)
    };
    let longest = |noun: &str| match noun {
        "customers" => filled.busy.clone(),
        "groups" => filled.long.group.clone(),
        "policies" => filled.long.policy.clone(),
        "orders" => filled.long.order.clone(),
        "clients" => filled.tenant.client_id.clone(),
        "certificates" => filled.things.of(Kind::Certificate).to_owned(),
        "pauses" => filled.things.of(Kind::Pause).to_owned(),
        "credentials" => filled.credential["kid"].as_str().unwrap().to_owned(),
        other => panic!("no resource of {other}"),
    };
    let fill = |route: &str| {
        let parts: Vec<_> = route.split('/').collect();
        let filled = parts.iter().enumerate().map(|(place, part)| match *part {
            "{file}" => "fullchain.pem".to_owned(),
            parameter if parameter.starts_with('{') => longest(parts[place - 1]),
            plain => plain.to_owned(),
        });
        filled.collect::<Vec<_>>().join("/")
    };
    let mut paths: Vec<_> = routes.split('"').filter(is_own).map(fill).collect();
    paths.sort();
    paths.dedup();
    paths
}

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i13_no_page_of_the_console_exceeds_the_bounds_of_a_request() {
        for world in worlds().await {
            let filled = Filled::new(world, Size::CONSOLE).await;
            let mut browser = Browser::of(&filled.world, &filled.tenant).await;
            let (mut findings, mut pages) = (Findings::default(), 0);
            let expected = Expected::status(200);
            for path in paths(&filled) {
                let (reply, cost) = measure(&filled.world, expected, browser.get(&path)).await;
                // A form leads there, and no page.
                if reply.status != 405 {
                    findings.check(&path, expected, &reply, &cost);
                    pages += 1;
                }
            }
            findings.assert_none();
            assert!(pages >= 20, "{pages} pages");
        }
    }
}
