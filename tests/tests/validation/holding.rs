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
            world.services.jobs.renew_all(vec![job.clone()]).await.unwrap();
        }
        // Nobody else can hold on to it, and without holding on it is anybody's.
        world.advance(lease - Duration::from_secs(1));
        node.services.jobs.renew_all(vec![job.clone()]).await.unwrap();
        world.advance(Duration::from_secs(1));
        assert_eq!(node.services.jobs.lease().await.unwrap().len(), 1);
        // By now it is another's, and who had it before cannot keep it from anybody.
        world.advance(lease - Duration::from_secs(1));
        world.services.jobs.renew_all(vec![job]).await.unwrap();
        world.advance(Duration::from_secs(1));
        assert_eq!(world.services.jobs.lease().await.unwrap().len(), 1);
    }
}
