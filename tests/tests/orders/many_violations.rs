//! Orders that break far more rules than anybody wants to read about.

use chancery_domain::policy::DomainPattern;
use chancery_domain::{AccountId, Name, PageRequest, Policy, PolicyId, PolicyRules};
use chancery_store::{AuditFilter, Tx};
use chancery_tests::{AcmeClient, Tenant, World, csr, identifiers, lookup, on_both_databases};
use serde_json::{Value, json};

const POLICIES: usize = 1000;
const NAMES: usize = 100;
/// A hundred names are not in the list of allowed domains, all are denied, and they are too many.
const VIOLATIONS: usize = POLICIES * (2 * NAMES + 1);

/// Puts an account under as many policies as there may be, each of which refuses whatever is ordered.
async fn forbid_everything(world: &World, tenant: &Tenant, account: &str) {
    let account: AccountId = account.parse().unwrap();
    let code = tenant.code.clone();
    let (now, entropy) = (world.services.now(), chancery_testkit::SeededEntropy::new(27));
    let rules = PolicyRules {
        allowed_domains: Some(vec![DomainPattern::parse("*.elsewhere.test").unwrap()]),
        denied_domains: Some(vec![DomainPattern::parse("*.test").unwrap()]),
        max_names: Some(1),
        ..PolicyRules::default()
    };
    let mut groups = Vec::new();
    for number in 0..POLICIES / 100 {
        groups.push(tenant.make_group(&format!("g{number}")).await.parse().unwrap());
    }
    let fill = move |tx: &mut Tx<'_>| {
        let reseller = tx.reseller_by_code(&code)?.expect("it is there").id;
        for (number, group) in (0..POLICIES).zip(groups.iter().cycle()) {
            let id = PolicyId::new(now, &entropy);
            let name = Name::parse(&format!("p{number:03}")).expect("a name");
            let rules = rules.clone();
            let policy =
                Policy { id, reseller, name, description: None, rules, created_at: now, updated_at: now, version: 1 };
            tx.insert_policy(&policy)?;
            tx.assign_policy(*group, id, now)?;
        }
        for group in &groups {
            tx.add_member(*group, account, now)?;
        }
        Ok::<_, chancery_store::StoreError>(())
    };
    world.store.write(fill).await.unwrap();
}

fn listed(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

on_both_databases! {
    async fn a_refusal_lists_32_violations_and_counts_the_others(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &account).await;
        let account = lookup(&account);
        forbid_everything(&world, &tenant, &account).await;
        let names: Vec<_> = (0..NAMES).map(|number| format!("n{number}.test")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let csr = csr(&names);

        let refused = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await;
        assert_eq!(refused.refusal(400), "policy_violation");
        assert!(refused.body.len() < 16 * 1024, "{} bytes", refused.body.len());
        let body = refused.json();
        assert_eq!((listed(&body["errors"]), &body["omittedErrors"]), (32, &json!(VIOLATIONS - 32)));
        assert_eq!(body["message"], format!("{VIOLATIONS} rules of the policies are broken"));
        // The first ones are those of the first policy.
        assert!(body["errors"].as_array().unwrap().iter().all(|each| each["message"].as_str().unwrap().contains("p000")));

        let page = tenant.get("/v1/event?limit=5").await;
        let event = &page.json()["items"][0];
        assert_eq!(event["type"], "policy.refused");
        let data = &event["data"];
        assert_eq!((listed(&data["problems"]), &data["omittedProblems"]), (32, &json!(VIOLATIONS - 32)));
        let newest = PageRequest { limit: 1, after: None };
        let written = world.services.audit.list(AuditFilter::default(), newest).await.unwrap();
        assert_eq!(written[0].action, "order.refuse");
        assert!(written[0].detail.len() < 16 * 1024, "{} bytes", written[0].detail.len());

        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&names)})).await;
        assert_eq!(reply.status, 403, "{}", reply.text());
        assert!(reply.body.len() < 16 * 1024, "{} bytes", reply.body.len());
        let problem = reply.json();
        assert_eq!(listed(&problem["subproblems"]), 32);
        let more = format!("and {} more; subproblems tell of 32", VIOLATIONS - 1);
        assert!(problem["detail"].as_str().unwrap().contains(&more), "{}", problem["detail"]);

        let question = json!({"account_lookup": account, "identifiers": names});
        let evaluated = tenant.post("/v1/policy/evaluate", question).await.expect(200);
        assert_eq!((&evaluated["allowed"], listed(&evaluated["violations"])), (&json!(false), 32));
        assert_eq!(evaluated["omittedViolations"], VIOLATIONS - 32);

        let judged = tenant.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": account})).await;
        assert_eq!(judged.status, 400);
        let lines: Vec<_> = judged.text().lines().map(str::to_owned).collect();
        assert_eq!((lines.len(), lines[32].as_str()), (33, format!("and {} more", VIOLATIONS - 32).as_str()));

        let question = json!({"account_lookup": account, "identifiers": ["a.test", "b.test"]});
        let found = tenant.post("/v1/diagnose", question).await.expect(200);
        for item in found["items"].as_array().unwrap() {
            assert_eq!((listed(&item["violations"]), &item["omittedViolations"]), (32, &json!(2 * POLICIES - 32)));
        }
    }

    async fn a_refusal_that_lists_everything_counts_nothing(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        crate::policies::under(&tenant, &account, "one", json!({"denied_domains": ["a.test"]})).await;
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        let refused = tenant.post("/v1/order", body).await.expect(400);
        assert_eq!((listed(&refused["errors"]), refused.get("omittedErrors")), (1, None));
        let event = tenant.get("/v1/event?limit=1").await.expect(200)["items"][0]["data"].clone();
        assert_eq!((listed(&event["problems"]), event.get("omittedProblems")), (1, None));
        let question = json!({"account_lookup": account, "identifiers": ["a.test"]});
        let evaluated = tenant.post("/v1/policy/evaluate", question).await.expect(200);
        assert_eq!((listed(&evaluated["violations"]), evaluated.get("omittedViolations")), (1, None));
    }
}
