//! Names whose validation fails.

use std::time::Duration;

use chancery_overload::Limit;
use chancery_tests::{AcmeClient, csr, identifiers, lookup};
use serde_json::json;

use crate::common::{hourly, limited, worlds};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_fails_is_tried_so_many_times_in_an_hour() {
    for world in worlds(&limited(&[(Limit::FailedValidations, hourly(3))])).await {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &account).await;
        let account = lookup(&account);
        for _ in 0..3 {
            world.fail(&tenant, &account, "broken.test").await;
        }
        let order = json!({"account_lookup": account, "csr": csr(&["broken.test"])});
        // A failure counts right after it can be seen.
        let mut refused = tenant.post("/v1/order", order.clone()).await;
        for _ in 0..50 {
            if refused.status == 201 {
                tokio::time::sleep(Duration::from_millis(20)).await;
                refused = tenant.post("/v1/order", order.clone()).await;
            }
        }
        assert_eq!(refused.refusal(429), "rate_limited");
        assert_eq!(refused.header("ratelimit-policy"), Some(r#""failed-validations";q=3;w=3600"#));
        let again = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=1200).contains(&again), "{again}");
        // Through the other door it is the same name of the same customer.
        let reply = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&["broken.test"])})).await;
        assert_eq!(reply.json()["type"], "urn:ietf:params:acme:error:rateLimited");
        assert!(reply.header("retry-after").is_some());
        // Of several names it is told which.
        let several = json!({"identifiers": identifiers(&["sound.test", "broken.test"])});
        let reply = client.post(&client.url("newOrder"), &several).await.expect(429);
        let about: Vec<_> = reply["subproblems"].as_array().unwrap().iter().map(|each| &each["identifier"]).collect();
        assert_eq!(about, [&json!({"type": "dns", "value": "broken.test"})]);
        assert!(reply["detail"].as_str().unwrap().contains("broken.test"), "{reply}");
        let several = json!({"account_lookup": account, "csr": csr(&["sound.test", "broken.test"])});
        let errors = tenant.post("/v1/order", several).await.expect(429)["errors"].clone();
        assert!(errors[0]["message"].as_str().unwrap().starts_with("broken.test: "), "{errors}");
        assert_eq!(errors.as_array().unwrap().len(), 1);
        tenant.make_order(&account, &["sound.test"]).await;
        let other = lookup(&tenant.make_account("b@example.com").await);
        tenant.make_order(&other, &["broken.test"]).await;
        world.advance(Duration::from_secs(again));
        tenant.post("/v1/order", order).await.expect(201);
    }
}
