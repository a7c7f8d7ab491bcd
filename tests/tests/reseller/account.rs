use chancery_tests::on_both_databases;
use serde_json::json;

on_both_databases! {
    async fn an_account_is_created_shown_and_listed(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = tenant.post("/v1/account", json!({"customer_email": "Admin@Example.com"})).await.expect(201);
        assert_eq!(made["email"], "Admin@Example.com");
        assert_eq!(made["resellerCode"], "DEMO");
        assert_eq!((made["revoked"].as_bool(), made["deleted"].as_bool()), (Some(false), Some(false)));
        assert_eq!(made["id"].as_i64(), Some(1));
        assert_eq!(made["hmacKey"].as_str().unwrap().len(), 64);

        let lookup = made["lookup"].as_str().unwrap();
        let shown = tenant.get(&format!("/v1/account/{lookup}")).await.expect(200);
        assert_eq!(shown["kid"], made["kid"]);
        assert!(shown.get("hmacKey").is_none());
        let listed = tenant.get("/v1/account").await.expect(200);
        assert_eq!(listed["items"][0]["lookup"], made["lookup"]);
        assert!(listed.get("nextCursor").is_none());
    }
}
