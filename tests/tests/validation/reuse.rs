use std::time::Duration;

use chancery_tests::on_both_databases;

use crate::site::{Site, account, choose, code, order, seen};

on_both_databases! {
    async fn a_name_that_was_shown_is_used_again_by_its_account_alone_and_for_ten_days(world: World) {
        let mut site = Site::open().await;
        site.name("a.example.test");
        let mut tenant = world.tenant("DEMO").await;
        let ours = account(&tenant, "a@example.com").await;
        let other = account(&tenant, "b@example.com").await;
        let first = order(&tenant, &ours, &["a.example.test"]).await;
        let challenge = code(&tenant, &first, "a.example.test", "http-01").await;
        site.publish(&challenge).await;
        choose(&tenant, &challenge).await;
        site.work(&world).await;
        assert_eq!(seen(&tenant, &first).await["status"], "ready");

        assert_eq!(order(&tenant, &ours, &["a.example.test"]).await["status"], "ready");
        assert_eq!(order(&tenant, &other, &["a.example.test"]).await["status"], "pending");
        assert_eq!(order(&tenant, &ours, &["*.a.example.test"]).await["status"], "pending");
        assert_eq!(order(&tenant, &ours, &["b.a.example.test"]).await["status"], "pending");
        let stranger = world.tenant("OTHER").await;
        let theirs = account(&stranger, "a@example.com").await;
        assert_eq!(order(&stranger, &theirs, &["a.example.test"]).await["status"], "pending");

        world.advance(Duration::from_secs(9 * 86_400));
        tenant.sign_in().await;
        assert_eq!(order(&tenant, &ours, &["a.example.test"]).await["status"], "ready");
        world.advance(Duration::from_secs(86_400));
        tenant.sign_in().await;
        assert_eq!(order(&tenant, &ours, &["a.example.test"]).await["status"], "pending");
    }
}
