use std::num::NonZeroU32;

use super::*;

const SECOND: i64 = 1_000_000;

fn rate(count: u32, burst: u32) -> Rate {
    let number = |number| NonZeroU32::new(number).unwrap();
    Rate::per_second(number(count), number(burst))
}

fn key(number: u32) -> Key {
    let mut key = Key::default();
    key[..4].copy_from_slice(&number.to_be_bytes());
    key[15] = 1;
    key
}

/// How many of so many tries pass.
fn pass(buckets: &Buckets, number: u32, rate: &Rate, now: i64, tries: usize) -> usize {
    let allowed = |_: &usize| matches!(buckets.take(key(number), 1, rate, now, false), Taken::Allowed { .. });
    (0..tries).filter(allowed).count()
}

#[test]
fn a_burst_passes_then_the_rate() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(50, 200));
    assert_eq!(pass(&buckets, 1, &rate, 0, 300), 200);
    assert_eq!(pass(&buckets, 2, &rate, 0, 1), 1, "keys do not share a bucket");
    assert_eq!(pass(&buckets, 1, &rate, SECOND, 300), 50);
    assert_eq!(pass(&buckets, 1, &rate, 100 * SECOND, 300), 200, "no more than a bucketful is saved up");
}

#[test]
fn what_is_left_and_when_to_come_again_are_told() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(1, 3));
    assert_eq!(buckets.peek(key(1), &rate, 0).0, 3);
    assert_eq!(pass(&buckets, 1, &rate, 0, 3), 3);
    assert_eq!(buckets.peek(key(1), &rate, 0), (0, Duration::from_secs(1)));
    let Taken::Refused { wait } = buckets.take(key(1), 1, &rate, SECOND / 2, false) else { panic!("it is empty") };
    assert_eq!(wait, Duration::from_millis(500));
}

#[test]
fn a_clock_that_is_set_back_keeps_nobody_waiting_for_ever() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(1, 2));
    assert_eq!(pass(&buckets, 1, &rate, 1_000_000 * SECOND, 9), 2);
    assert_eq!(pass(&buckets, 1, &rate, 0, 9), 0);
    assert_eq!(pass(&buckets, 1, &rate, 5 * SECOND, 9), 2);
}

#[test]
fn nor_where_it_is_only_looked_at() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(1, 2));
    buckets.charge(key(1), &rate, 1_000_000 * SECOND);
    assert_eq!(buckets.peek(key(1), &rate, 0).0, 0);
    assert_eq!(buckets.peek(key(1), &rate, 5 * SECOND), (2, Duration::ZERO));
}

#[test]
fn idle_keys_are_forgotten_and_busy_ones_share_in_the_end() {
    for shared in [false, true] {
        let (buckets, rate) = (Buckets::small(shared, 1000), rate(1, 4));
        let count = || buckets.entries.lock().all.len();
        for number in 0..100_000 {
            pass(&buckets, number, &rate, 0, 1);
        }
        assert!(count() <= 1000 + 256 + 256, "{}", count());
        // Those that wait to be settled are settled.
        let wishes = buckets.wishes(usize::MAX);
        let answer = |wish: &BucketWish| BucketAnswer { key: wish.key.clone(), full_at: SECOND, granted: 0 };
        buckets.settle(&wishes, &wishes.iter().map(answer).collect::<Vec<_>>());
        buckets.tidy(600 * SECOND);
        assert!(count() < 10, "{}", count());
    }
}

/// The database, for as many nodes as there are.
fn settle(nodes: &[Buckets], full_at: &mut i64, now: i64) {
    for node in nodes {
        let wishes = node.wishes(10);
        let mut answers = Vec::new();
        for wish in &wishes {
            let alone = wish.since.min(now) + wish.spent.max(0) * wish.step;
            let after = (*full_at + wish.spent * wish.step).max(alone).max(now);
            let granted = wish.wanted.min(((now + wish.room - after) / wish.step).max(0));
            *full_at = after + granted * wish.step;
            answers.push(BucketAnswer { key: wish.key.clone(), full_at: *full_at, granted });
        }
        node.settle(&wishes, &answers);
    }
}

#[test]
fn nodes_that_settle_hold_a_limit_together_and_give_back_what_they_do_not_need() {
    let (rate, mut full_at) = (rate(10, 100), 0);
    let nodes: Vec<_> = (0..4).map(|_| Buckets::new(true, 0)).collect();
    nodes.iter().for_each(|node| node.set_nodes(4));
    let mut passed = 0;
    for round in 0..200 {
        for node in &nodes {
            let allowed = matches!(node.take(key(1), 1, &rate, 0, true), Taken::Allowed { .. });
            passed += usize::from(allowed);
        }
        if round % 2 == 0 {
            settle(&nodes, &mut full_at, 0);
        }
    }
    assert!((80..=120).contains(&passed), "{passed}");
    // A bucket that nobody uses is full again, pockets included.
    let later = 60 * SECOND;
    for _ in 0..3 {
        nodes.iter().for_each(|node| node.tidy(later));
        settle(&nodes, &mut full_at, later);
    }
    assert!(full_at <= later, "{full_at}");
    assert!(nodes.iter().all(|node| node.entries.lock().all.values().all(|entry| entry.pocket == 0)));
}

/// What is taken on credit while the database is being asked is paid from what it grants: it is not there to be taken again.
#[test]
fn what_was_taken_while_it_was_settled_is_counted() {
    let (rate, mut full_at) = (rate(1, 3), 0);
    let node = Buckets::new(true, 0);
    node.charge(key(1), &rate, 0);
    let wishes = node.wishes(10);
    node.charge(key(1), &rate, 0);
    node.charge(key(1), &rate, 0);
    full_at += 2 * SECOND;
    node.settle(&wishes, &[BucketAnswer { key: wishes[0].key.clone(), full_at, granted: 1 }]);
    assert_eq!(node.peek(key(1), &rate, 0).0, 0);
    settle(std::slice::from_ref(&node), &mut full_at, 0);
    assert_eq!((node.peek(key(1), &rate, 0).0, full_at), (0, 3 * SECOND));
}

/// What was taken on credit comes back from when it was taken, not from when the database hears of it.
#[test]
fn what_is_settled_late_comes_back_in_time() {
    let (rate, mut full_at) = (rate(1, 3), 0);
    let node = Buckets::new(true, 0);
    for _ in 0..3 {
        node.charge(key(1), &rate, 0);
    }
    assert_eq!(node.peek(key(1), &rate, 0), (0, Duration::from_secs(1)));
    settle(std::slice::from_ref(&node), &mut full_at, SECOND);
    assert_eq!(node.peek(key(1), &rate, SECOND).0, 1);
}

/// A bucket holds no more than it holds, however long the database was away.
#[test]
fn nothing_is_saved_up_while_nobody_settles() {
    let (rate, mut full_at) = (rate(2, 120), 0);
    let node = Buckets::new(true, 0);
    assert_eq!(pass(&node, 1, &rate, 0, 1), 1);
    let late = 55 * SECOND;
    for _ in 0..119 {
        node.charge(key(1), &rate, late);
    }
    settle(std::slice::from_ref(&node), &mut full_at, 60 * SECOND);
    let left = node.peek(key(1), &rate, 60 * SECOND).0;
    assert!((10..=12).contains(&left), "{left}");
}

#[test]
fn what_is_being_given_back_is_not_missed_meanwhile() {
    let (rate, mut full_at) = (rate(1, 3), 0);
    let node = Buckets::new(true, 0);
    node.charge(key(1), &rate, 0);
    settle(std::slice::from_ref(&node), &mut full_at, 0);
    assert_eq!(node.peek(key(1), &rate, 0).0, 2);
    let at = IDLE + 1;
    node.charge(key(2), &rate, at);
    node.tidy(at);
    let left = node.peek(key(1), &rate, at).0;
    let wishes = node.wishes(10);
    assert!(wishes.iter().any(|wish| wish.spent < 0), "{wishes:?}");
    assert_eq!(node.peek(key(1), &rate, at).0, left);
    node.give_up(&wishes, at);
    assert_eq!(node.peek(key(1), &rate, at).0, left);
}

#[test]
fn the_first_of_a_key_waits_for_nobody_and_the_many_do() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(1, 5));
    assert!(matches!(buckets.take(key(1), 1, &rate, 0, true), Taken::Allowed { .. }));
    assert!(matches!(buckets.take(key(1), 1, &rate, 0, true), Taken::Unsure));
}

#[test]
fn a_bucket_that_is_known_to_be_empty_is_not_asked_for() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(1, 5));
    pass(&buckets, 1, &rate, 0, 1);
    let wishes = buckets.wishes(10);
    let empty = BucketAnswer { key: wishes[0].key.clone(), full_at: 5 * SECOND, granted: 0 };
    buckets.settle(&wishes, &[empty]);
    for _ in 0..100 {
        assert!(matches!(buckets.take(key(1), 1, &rate, 0, true), Taken::Refused { .. }));
    }
    assert_eq!(buckets.wishes(10), []);
}

#[test]
fn without_the_database_each_node_goes_by_its_share() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(4, 100));
    buckets.set_nodes(4);
    pass(&buckets, 1, &rate, 0, 1);
    let wishes = buckets.wishes(10);
    buckets.give_up(&wishes, 0);
    let passed = pass(&buckets, 1, &rate, 0, 500);
    assert!((20..=30).contains(&passed), "{passed}");
    let wishes = buckets.wishes(10);
    assert_eq!(wishes[0].spent, passed as i64 + 1, "what was taken meanwhile is owed");
}

#[test]
fn several_are_taken_together_or_not_at_all() {
    for shared in [false, true] {
        let (buckets, rate) = (Buckets::new(shared, 0), rate(1, 10));
        let take = |tokens, now| buckets.take(key(1), tokens, &rate, now, false);
        assert!(matches!(take(6, 0), Taken::Allowed { .. }));
        let Taken::Refused { wait } = take(6, 0) else { panic!("there are four") };
        assert_eq!(wait, Duration::from_secs(2));
        assert!(matches!(take(4, 0), Taken::Allowed { .. }), "the refusal has cost nothing");
        assert!(matches!(take(1, 0), Taken::Refused { .. }));
        let Taken::Refused { wait } = take(11, 60 * SECOND) else { panic!("no bucket has so many") };
        assert!(wait > Duration::ZERO);
    }
}

/// What others have left is asked for once, for all that is wanted, and not token by token.
#[test]
fn several_are_waited_for_once() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(1, 10));
    assert!(matches!(buckets.take(key(1), 8, &rate, 0, true), Taken::Unsure));
    let waits = buckets.wait(key(1), 8);
    let wishes = buckets.wishes(usize::MAX);
    assert!(wishes.len() == 1 && wishes[0].wanted >= 8, "{}", wishes[0].wanted);
    buckets.settle(&wishes, &[BucketAnswer { key: wishes[0].key.clone(), full_at: 10 * SECOND, granted: 10 }]);
    drop(waits);
    assert!(matches!(buckets.take(key(1), 8, &rate, 0, true), Taken::Allowed { .. }));
    assert!(matches!(buckets.take(key(1), 8, &rate, 0, true), Taken::Refused { .. }));
    assert!(matches!(buckets.take(key(1), 2, &rate, 0, true), Taken::Allowed { .. }));
}
