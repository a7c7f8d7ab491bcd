//! The pages of the console, one after the other, by somebody who has signed in with the form.

use std::collections::BTreeSet;
use std::time::Instant;

use chancery_bench::Server;
use chancery_client::wire::{IssuancePolicy, ResellerAccountGroupRequest};
use chancery_client::{Client, PageQuery, RawRequest};
use chancery_domain::Timestamp;
use http::Method;

use crate::fill::Known;
use crate::place::{Place, Reseller};
use crate::times::{self, Times};

struct Page {
    name: &'static str,
    path: fn(&Asked<'_>) -> String,
    /// What must be on it, so that it is not an empty form whose time is taken.
    shows: for<'a> fn(&'a Asked<'_>) -> &'a str,
}

/// What the pages are asked of.
struct Asked<'a> {
    known: &'a Known,
    reseller: &'a Reseller,
    things: &'a Things,
}

/// What a store has none of when it is filled.
struct Things {
    group: String,
    policy: String,
    /// One on which certificates end.
    day: String,
}

const fn of(name: &'static str, path: fn(&Asked<'_>) -> String) -> Page {
    Page { name, path, shows: |_| "" }
}

const fn showing(
    name: &'static str,
    path: fn(&Asked<'_>) -> String,
    shows: for<'a> fn(&'a Asked<'_>) -> &'a str,
) -> Page {
    Page { name, path, shows }
}

const PAGES: &[Page] = &[
    of("overview", |_| "/console".to_owned()),
    of("calendar", |_| "/console/calendar".to_owned()),
    showing("calendar, a day", |of| format!("/console/calendar?day={}", of.things.day), |_| "Ending on"),
    of("certificates", |_| "/console/certificates".to_owned()),
    of("certificates, expired", |_| "/console/certificates?status=expired".to_owned()),
    of("certificates, revoked", |_| "/console/certificates?status=revoked".to_owned()),
    of("certificates, cancelled", |_| "/console/certificates?status=cancelled".to_owned()),
    of("certificates of a customer", |of| format!("/console/certificates?customer={}", of.known.account)),
    showing(
        "certificates of a name",
        |of| format!("/console/certificates?q={}", of.known.name),
        |of| &of.known.certificate,
    ),
    showing(
        "certificates of a serial",
        |of| format!("/console/certificates?q={}", of.known.serial),
        |of| &of.known.certificate,
    ),
    of("certificates of a profile", |_| "/console/certificates?profile=TLS-90d".to_owned()),
    showing("certificate", |of| format!("/console/certificates/{}", of.known.certificate), |of| &of.known.serial),
    of("orders", |_| "/console/orders".to_owned()),
    of("orders, expired", |_| "/console/orders?status=expired".to_owned()),
    of("orders, invalid", |_| "/console/orders?status=invalid".to_owned()),
    of("orders of a customer", |of| format!("/console/orders?customer={}", of.known.account)),
    showing("order", |of| format!("/console/orders/{}", of.known.order), |of| &of.known.name),
    of("customers", |_| "/console/customers".to_owned()),
    of("customers, suspended", |_| "/console/customers?status=suspended".to_owned()),
    of("customers who begin with c1", |_| "/console/customers?q=c1".to_owned()),
    showing("customer", |of| format!("/console/customers/{}", of.known.account), |of| &of.known.email),
    of("new customer", |_| "/console/customers/new".to_owned()),
    of("groups", |_| "/console/groups".to_owned()),
    showing("group", |of| format!("/console/groups/{}", of.things.group), |of| &of.things.policy),
    of("policies", |_| "/console/policies".to_owned()),
    showing("policy", |of| format!("/console/policies/{}", of.things.policy), |of| &of.things.group),
    of("new policy", |_| "/console/policies/new".to_owned()),
    showing(
        "policies, tried",
        |of| format!("/console/policies/try?customer={}&names={}", of.known.account, of.known.name),
        |_| "This could be ordered.",
    ),
    of("clients", |_| "/console/clients".to_owned()),
    showing("client", |of| format!("/console/clients/{}", of.reseller.client_id), |of| &of.reseller.client_id),
    of("audit", |_| "/console/audit".to_owned()),
    of("audit, an action that was never done", |_| "/console/audit?action=account.suspend".to_owned()),
    of("audit, revocations", |_| "/console/audit?action=certificate.revoke".to_owned()),
    of("audit, refused", |_| "/console/audit?outcome=refused".to_owned()),
    of("audit of an order", |of| format!("/console/audit?subject={}", of.known.order)),
];

const OPERATOR_PAGES: &[Page] = &[
    of("operator: overview", |_| "/console/operator".to_owned()),
    of("operator: resellers", |_| "/console/operator/resellers".to_owned()),
    showing(
        "operator: reseller",
        |of| format!("/console/operator/resellers/{}", of.reseller.code),
        |of| &of.reseller.client_id,
    ),
    of("operator: authorities", |_| "/console/operator/authorities".to_owned()),
    showing("operator: nodes", |_| "/console/operator/nodes".to_owned(), |_| "this one"),
    of("operator: audit", |_| "/console/operator/audit".to_owned()),
    of("operator: audit, an action", |_| "/console/operator/audit?action=order.create".to_owned()),
    of("operator: audit of a certificate", |of| format!("/console/operator/audit?subject={}", of.known.certificate)),
];

/// Looks at every page at every size, and prints.
pub(crate) async fn measure(sites: &[(&Place, &Server)], rounds: usize) {
    println!("Pages of the console, {rounds} looks at each; to be under 100 ms");
    let mut of_sizes = Vec::new();
    for (place, server) in sites {
        let reseller = &place.resellers[0];
        let things = things(&reseller.client(server), reseller).await;
        let credentials = [("client_id", &*reseller.client_id), ("client_secret", &*reseller.client_secret)];
        let person = Browser::sign_in(server, &credentials).await;
        let operator = Browser::sign_in(server, &[("operator_key", server.fact("operator_key"))]).await;
        let mut times = Times::default();
        for round in 0..rounds {
            let known = &reseller.known[round % reseller.known.len()];
            let asked = Asked { known, reseller, things: &things };
            for page in PAGES {
                person.look(page, &asked, &mut times).await;
            }
            for page in OPERATOR_PAGES {
                operator.look(page, &asked, &mut times).await;
            }
        }
        of_sizes.push(times);
    }
    let sizes: Vec<_> = sites.iter().map(|(place, _)| place.stored).collect();
    times::print(&sizes, &mut of_sizes, 1.5);
}

/// A group of the known customers with a policy; those of an earlier run where the store was kept.
async fn things(client: &Client, reseller: &Reseller) -> Things {
    const NAME: &str = "Measured";
    let (groups, policies) = (client.groups(), client.policies());
    let all = || PageQuery { limit: Some(1000), cursor: None };
    let group = groups.list(all()).await.unwrap().items.into_iter().find(|group| group.name == NAME);
    let policy = policies.list(all()).await.unwrap().items.into_iter().find(|policy| policy.name == NAME);
    let group = match group {
        Some(group) => group.lookup,
        None => {
            let request = ResellerAccountGroupRequest { name: NAME.to_owned(), description: None };
            groups.create(&request).await.unwrap().lookup
        }
    };
    let policy = match policy {
        Some(policy) => policy.lookup,
        None => {
            let request = IssuancePolicy { name: NAME.to_owned(), allow_wildcards: Some(false), ..Default::default() };
            policies.create(&request).await.unwrap().lookup
        }
    };
    let members: BTreeSet<_> = reseller.known.iter().map(|known| known.account.clone()).collect();
    groups.add_members(&group, members).await.unwrap();
    groups.assign_policy(&group, &policy).await.unwrap();
    let in_a_month = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 30 * 86_400;
    let day = Timestamp::from_secs(i64::try_from(in_a_month).unwrap()).date();
    Things { group, policy, day }
}

struct Browser {
    client: Client,
    cookie: String,
}

impl Browser {
    async fn sign_in(server: &Server, fields: &[(&str, &str)]) -> Self {
        let origin = server.fact("base_url");
        let client = Client::builder(origin).ca_pem(server.ca_pem()).http1_only().build().unwrap();
        let body: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = RawRequest::new(Method::POST, "/console/sign-in")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", origin);
        let answer = client.raw(request.body(body.join("&"))).await.unwrap();
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { client, cookie }
    }

    async fn look(&self, page: &Page, asked: &Asked<'_>, times: &mut Times) {
        let (path, shows) = ((page.path)(asked), (page.shows)(asked));
        let request = RawRequest::new(Method::GET, &path).header("cookie", &self.cookie);
        let began = Instant::now();
        let answer = self.client.raw(request).await;
        let took = began.elapsed();
        let outcome = match answer {
            Ok(answer) if answer.status != 200 => Err(format!("{path}: {}", answer.status)),
            Ok(answer) if !answer.text().contains(shows) => Err(format!("{path} does not show {shows}")),
            Ok(_) => Ok(1),
            Err(error) => Err(format!("{path}: {error}")),
        };
        times.push(page.name, took, outcome);
    }
}
