//! Several nodes on one PostgreSQL hold a limit together.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_overload::{Limit, LimitSettings, Rate, RateLimits};
use chancery_service::Settings;
use chancery_store::{BucketWish, Tx};
use chancery_testkit::{Address, TestStore};
use chancery_tests::World;
use tokio::task::JoinSet;

use crate::common::{limited, number};

const NODES: usize = 4;

/// So many tries at each node, all at once; how many pass.
async fn storm(nodes: &[RateLimits], tries: usize) -> usize {
    let mut tasks = JoinSet::new();
    for node in nodes {
        for _ in 0..tries {
            let node = node.clone();
            tasks.spawn(async move { node.take(Limit::Requests, "DEMO").await.unwrap().allowed() });
        }
    }
    tasks.join_all().await.into_iter().filter(|allowed| *allowed).count()
}

async fn four_nodes(rate: Rate) -> Option<(World, Vec<RateLimits>)> {
    nodes_with(limited(&[(Limit::Requests, rate)])).await
}

async fn nodes_with(limits: Settings) -> Option<(World, Vec<RateLimits>)> {
    let world = World::over(TestStore::postgres()?, limits.clone(), Vec::new()).await;
    let mut nodes = vec![world.services.limits.clone()];
    for _ in 1..NODES {
        nodes.push(world.another_node(limits.clone(), Vec::new()).await.services.limits);
    }
    // They have heard of each other.
    for node in nodes.iter().chain(&nodes) {
        node.heartbeat().await;
    }
    Some((world, nodes))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_nodes_grant_together_what_one_would_within_a_fifth() {
    let rate = Rate::per_second(number(100), number(200));
    let Some((world, nodes)) = four_nodes(rate).await else { return };
    let burst = storm(&nodes, 200).await;
    assert!((160..=240).contains(&burst), "a burst of 200: {burst}");
    let mut passed = 0;
    for _ in 0..10 {
        world.advance(Duration::from_millis(500));
        passed += storm(&nodes, 60).await;
    }
    assert!((400..=600).contains(&passed), "500 in five seconds: {passed}");
    let all = burst + passed;
    assert!((560..=840).contains(&all), "700 altogether: {all}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_speaks_to_one_node_alone_gets_all_of_it() {
    let rate = Rate::per_second(number(100), number(200));
    let Some((_world, nodes)) = four_nodes(rate).await else { return };
    let passed = storm(&nodes[..1], 400).await;
    assert!((160..=240).contains(&passed), "{passed}");
    assert!(storm(&nodes[1..], 100).await <= 40, "what one has used up is gone for the others");
}

/// The first of each key waits for no answer, and those that follow find tokens in the pocket.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_cost_the_database_next_to_nothing() {
    let rate = Rate::per_second(number(1000), number(10_000));
    let Some((world, nodes)) = four_nodes(rate).await else { return };
    let before = transactions(&world);
    for _ in 0..2000 {
        assert!(nodes[0].take(Limit::Requests, "DEMO").await.unwrap().allowed());
    }
    let cost = transactions(&world) - before;
    assert!(cost < 100, "2000 requests cost {cost} transactions");
}

#[tokio::test]
async fn full_buckets_are_forgotten_some_at_a_time_and_others_stay() {
    let Some(store) = TestStore::postgres() else { return };
    let world = World::over(store, limited(&[]), Vec::new()).await;
    let wish =
        |key: usize, since| BucketWish { key: format!("{key:032}"), spent: 1, since, wanted: 0, step: 10, room: 100 };
    let early: Vec<_> = (0..5).map(|key| wish(key, 1000)).collect();
    let late: Vec<_> = (5..7).map(|key| wish(key, 2000)).collect();
    let exchange = move |tx: &mut Tx<'_>| {
        tx.exchange_tokens(&early, 1000)?;
        tx.exchange_tokens(&late, 2000)
    };
    assert_eq!(world.store.write(exchange).await.unwrap().len(), 2);
    let gone = Timestamp::from_secs(0);
    for expected in [3, 2, 0] {
        let forgotten = world.store.write(move |tx| tx.forget_buckets(1500, gone, 3)).await.unwrap();
        assert_eq!(forgotten, expected);
    }
    assert_eq!(world.store.write(move |tx| tx.forget_buckets(2010, gone, 3)).await.unwrap(), 2);
}

#[tokio::test]
async fn what_was_taken_on_credit_comes_back_from_when_it_was_taken() {
    let Some(store) = TestStore::postgres() else { return };
    let world = World::over(store, limited(&[]), Vec::new()).await;
    // What is spent, since when, and told when; how many of one that is wanted are granted, and when it is full again.
    let told = [(3, 1000, 1010, 1, 1040), (1, 1010, 1020, 0, 1050), (-1, 0, 1020, 1, 1050), (0, 0, 2000, 1, 2010)];
    let told = [&told[..], &[(2, 2300, 2200, 1, 2230), (1, 2200, 2300, 1, 2310)]].concat();
    for (spent, since, now, granted, full_at) in told {
        let wish = BucketWish { key: "one".to_owned(), spent, since, wanted: 1, step: 10, room: 30 };
        let answers = world.store.write(move |tx| tx.exchange_tokens(std::slice::from_ref(&wish), now)).await.unwrap();
        assert_eq!((answers[0].granted, answers[0].full_at), (granted, full_at), "at {now}");
    }
}

/// Updates of buckets that the server has seen.
fn transactions(world: &World) -> i64 {
    let Address::Postgres(address) = world.store.address() else { panic!("it is PostgreSQL") };
    std::thread::spawn(move || {
        let mut client = postgres::Client::connect(&address, postgres::NoTls).unwrap();
        client.execute("SELECT pg_stat_force_next_flush()", &[]).unwrap();
        let sql = "SELECT (n_tup_ins + n_tup_upd)::bigint FROM pg_stat_user_tables WHERE relname = 'rate_buckets'";
        client.query_one(sql, &[]).unwrap().get(0)
    })
    .join()
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn while_the_database_does_not_answer_each_node_goes_by_its_share() {
    let mut limits = limited(&[(Limit::Requests, Rate::per_second(number(100), number(200)))]);
    limits.limits.patience = LimitSettings::none().patience;
    let Some((world, nodes)) = nodes_with(limits).await else { return };
    let Address::Postgres(address) = world.store.address() else { panic!("it is PostgreSQL") };
    let (locked, wait) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        let mut client = postgres::Client::connect(&address, postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        transaction.execute("LOCK TABLE rate_buckets IN ACCESS EXCLUSIVE MODE", &[]).unwrap();
        locked.send(()).unwrap();
        released.recv().unwrap();
    });
    wait.recv().unwrap();
    let began = std::time::Instant::now();
    let passed = storm(&nodes, 200).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    release.send(()).unwrap();
    holder.join().unwrap();
    assert!((160..=240).contains(&passed), "{passed}");
}
