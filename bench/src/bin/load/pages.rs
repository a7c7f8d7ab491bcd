//! The pages of the console, one after the other, by somebody who has signed in with the form.

use std::time::Instant;

use chancery_bench::Server;
use chancery_client::{Client, RawRequest, Response};
use http::Method;

use crate::fill::Known;
use crate::place::{Place, Reseller};
use crate::times::{self, Times};

type Page = (&'static str, fn(&Known, &Reseller) -> String);

const PAGES: &[Page] = &[
    ("overview", |_, _| "/console".to_owned()),
    ("calendar", |_, _| "/console/calendar".to_owned()),
    ("certificates", |_, _| "/console/certificates".to_owned()),
    ("certificates, expired", |_, _| "/console/certificates?status=expired".to_owned()),
    ("certificates, revoked", |_, _| "/console/certificates?status=revoked".to_owned()),
    ("certificates, cancelled", |_, _| "/console/certificates?status=cancelled".to_owned()),
    ("certificates of a customer", |known, _| format!("/console/certificates?customer={}", known.account)),
    ("certificates of a name", |known, _| format!("/console/certificates?q={}", known.name)),
    ("certificate", |known, _| format!("/console/certificates/{}", known.certificate)),
    ("orders", |_, _| "/console/orders".to_owned()),
    ("orders, expired", |_, _| "/console/orders?status=expired".to_owned()),
    ("orders, invalid", |_, _| "/console/orders?status=invalid".to_owned()),
    ("orders of a customer", |known, _| format!("/console/orders?customer={}", known.account)),
    ("order", |known, _| format!("/console/orders/{}", known.order)),
    ("customers", |_, _| "/console/customers".to_owned()),
    ("customers, suspended", |_, _| "/console/customers?status=suspended".to_owned()),
    ("customers who begin with c1", |_, _| "/console/customers?q=c1".to_owned()),
    ("customer", |known, _| format!("/console/customers/{}", known.account)),
    ("new customer", |_, _| "/console/customers/new".to_owned()),
    ("groups", |_, _| "/console/groups".to_owned()),
    ("policies", |_, _| "/console/policies".to_owned()),
    ("new policy", |_, _| "/console/policies/new".to_owned()),
    ("policies, tried", |known, _| format!("/console/policies/try?account={}&names={}", known.account, known.name)),
    ("clients", |_, _| "/console/clients".to_owned()),
    ("audit", |_, _| "/console/audit".to_owned()),
    ("audit, an action that was never done", |_, _| "/console/audit?action=account.suspend".to_owned()),
    ("audit, revocations", |_, _| "/console/audit?action=certificate.revoke".to_owned()),
    ("audit, refused", |_, _| "/console/audit?outcome=refused".to_owned()),
    ("audit of an order", |known, _| format!("/console/audit?subject={}", known.order)),
];

const OPERATOR_PAGES: &[Page] = &[
    ("operator: overview", |_, _| "/console/operator".to_owned()),
    ("operator: resellers", |_, _| "/console/operator/resellers".to_owned()),
    ("operator: reseller", |_, reseller| format!("/console/operator/resellers/{}", reseller.code)),
    ("operator: authorities", |_, _| "/console/operator/authorities".to_owned()),
    ("operator: audit", |_, _| "/console/operator/audit".to_owned()),
    ("operator: audit, an action", |_, _| "/console/operator/audit?action=order.create".to_owned()),
    ("operator: audit of a certificate", |known, _| format!("/console/operator/audit?subject={}", known.certificate)),
];

/// Looks at every page at every size, and prints.
pub(crate) async fn measure(sites: &[(&Place, &Server)], rounds: usize) {
    println!("Pages of the console, {rounds} looks at each; to be under 100 ms");
    let mut of_sizes = Vec::new();
    for (place, server) in sites {
        let reseller = &place.resellers[0];
        let credentials = [("client_id", &*reseller.client_id), ("client_secret", &*reseller.client_secret)];
        let person = Browser::sign_in(server, &credentials).await;
        let operator = Browser::sign_in(server, &[("operator_key", server.fact("operator_key"))]).await;
        let mut times = Times::default();
        for round in 0..rounds {
            let known = &reseller.known[round % reseller.known.len()];
            for (name, path) in PAGES {
                person.look(name, &path(known, reseller), &mut times).await;
            }
            for (name, path) in OPERATOR_PAGES {
                operator.look(name, &path(known, reseller), &mut times).await;
            }
        }
        of_sizes.push(times);
    }
    let sizes: Vec<_> = sites.iter().map(|(place, _)| place.stored).collect();
    times::print(&sizes, &mut of_sizes, 1.5);
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

    async fn look(&self, name: &str, path: &str, times: &mut Times) {
        let request = RawRequest::new(Method::GET, path).header("cookie", &self.cookie);
        let began = Instant::now();
        let answer = self.client.raw(request).await;
        let took = began.elapsed();
        let outcome = match answer {
            Ok(Response { status, .. }) if status == 200 => Ok(1),
            Ok(other) => Err(format!("{path}: {}", other.status)),
            Err(error) => Err(format!("{path}: {error}")),
        };
        times.push(name, took, outcome);
    }
}
