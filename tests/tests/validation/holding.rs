use std::time::Duration;

use chancery_tests::on_both_databases;

use crate::site::{account, choose, code, order};

on_both_databases! {
    async fn a_job_that_its_node_holds_on_to_is_not_taken_over(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = account(&tenant, "a@example.com").await;
        let order = order(&tenant, &account, &["a.example.test"]).await;
        let mut fresh = world.services.jobs.take_fresh().unwrap();
        choose(&tenant, &code(&tenant, &order, "a.example.test", "http-01").await).await;
        let job = fresh.recv().await.unwrap().job;
        let node = world.another_node(chancery_tests::settings(), Vec::new()).await;
        let lease = world.services.jobs.lease_time();
        for _ in 0..4 {
            world.advance(lease - Duration::from_secs(1));
            assert_eq!(node.services.jobs.lease().await.unwrap(), []);
            assert!(world.services.jobs.renew(&job).await.unwrap());
        }
        // Nobody else can hold on to it, and without holding on it is anybody's.
        assert!(!node.services.jobs.renew(&job).await.unwrap());
        world.advance(lease);
        assert_eq!(node.services.jobs.lease().await.unwrap().len(), 1);
        assert!(!world.services.jobs.renew(&job).await.unwrap(), "it is another's by now");
    }
}
