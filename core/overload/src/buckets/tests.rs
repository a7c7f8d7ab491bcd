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

/// The number of tries that pass.
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
    assert_eq!(pass(&buckets, 1, &rate, 100 * SECOND, 300), 200, "at most the burst is saved up");
}

#[test]
fn remaining_tokens_and_the_wait_are_reported() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(1, 3));
    assert_eq!(buckets.peek(key(1), &rate, 0).0, 3);
    assert_eq!(pass(&buckets, 1, &rate, 0, 3), 3);
    assert_eq!(buckets.peek(key(1), &rate, 0), (0, Duration::from_secs(1)));
    let Taken::Refused { wait } = buckets.take(key(1), 1, &rate, SECOND / 2, false) else {
        panic!("the bucket is empty")
    };
    assert_eq!(wait, Duration::from_millis(500));
}

#[test]
fn a_clock_set_back_does_not_block_a_bucket_for_ever() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(1, 2));
    assert_eq!(pass(&buckets, 1, &rate, 1_000_000 * SECOND, 9), 2);
    assert_eq!(pass(&buckets, 1, &rate, 0, 9), 0);
    assert_eq!(pass(&buckets, 1, &rate, 5 * SECOND, 9), 2);
}

#[test]
fn a_clock_set_back_is_corrected_by_peeking_too() {
    let (buckets, rate) = (Buckets::new(false, 0), rate(1, 2));
    buckets.charge(key(1), &rate, 1_000_000 * SECOND);
    assert_eq!(buckets.peek(key(1), &rate, 0).0, 0);
    assert_eq!(buckets.peek(key(1), &rate, 5 * SECOND), (2, Duration::ZERO));
}

#[test]
fn reserved_tokens_are_charged_or_given_back() {
    for shared in [false, true] {
        let (buckets, rate) = (Buckets::new(shared, 0), rate(1, 3));
        let reserve = |now| buckets.reserve(key(1), &rate, now);
        let slots: Vec<_> = (0..3).map(|_| reserve(0).unwrap()).collect();
        assert_eq!(reserve(0), Err(Duration::from_secs(1)), "as many in flight as there are tokens");
        assert_eq!(buckets.peek(key(1), &rate, 0).0, 3, "a reservation takes nothing by itself");
        buckets.sweep(600 * SECOND);
        buckets.release(slots[0]);
        assert!(reserve(0).is_ok() && reserve(0).is_err(), "a token that was given back is reserved again");
        assert_eq!(pass(&buckets, 1, &rate, 0, 9), 0, "others take no token that is set aside");
        for slot in slots {
            buckets.spend(slot, &rate, 0);
        }
        assert_eq!((buckets.peek(key(1), &rate, 0).0, reserve(0)), (0, Err(Duration::from_secs(1))));
        assert!(reserve(SECOND).is_ok() && reserve(SECOND).is_err(), "one token a second comes back");
        buckets.release(key(1));
        assert_eq!(pass(&buckets, 1, &rate, 600 * SECOND, 9), 3);
    }
}

#[test]
fn reservations_of_a_crowd_go_back_to_the_bucket_that_they_came_from() {
    let (buckets, rate) = (Buckets::crowded(false, 7), rate(1, 1));
    let slot = buckets.reserve(key(1), &rate, 0).unwrap();
    assert_ne!(slot, key(1), "crowded keys share a bucket");
    assert!(buckets.reserve(key(1), &rate, 0).is_err());
    buckets.entries.lock().crowded = false;
    buckets.release(slot);
    assert_eq!(buckets.entries.lock().all[&slot].reserved, 0);
}

#[test]
fn idle_keys_are_dropped_and_too_many_busy_ones_share_buckets() {
    for shared in [false, true] {
        let (buckets, rate) = (Buckets::small(shared, 1000), rate(1, 4));
        let count = || buckets.entries.lock().all.len();
        for number in 0..100_000 {
            pass(&buckets, number, &rate, 0, 1);
        }
        assert!(count() <= 1000 + 256 + 256, "{}", count());
        // Pending synchronizations are done.
        let requests = buckets.refill_requests(usize::MAX);
        let refill = |request: &RefillRequest| Refill { key: request.key.clone(), full_at: SECOND, granted: 0 };
        buckets.apply(&requests, &requests.iter().map(refill).collect::<Vec<_>>());
        buckets.sweep(600 * SECOND);
        assert!(count() < 10, "{}", count());
    }
}

/// The shared store, for all nodes.
fn sync(nodes: &[Buckets], full_at: &mut i64, now: i64) {
    for node in nodes {
        let requests = node.refill_requests(10);
        let mut refills = Vec::new();
        for request in &requests {
            let alone = request.since.min(now) + request.spent.max(0) * request.step;
            let after = (*full_at + request.spent * request.step).max(alone).max(now);
            let granted = request.wanted.min(((now + request.room - after) / request.step).max(0));
            *full_at = after + granted * request.step;
            refills.push(Refill { key: request.key.clone(), full_at: *full_at, granted });
        }
        node.apply(&requests, &refills);
    }
}

#[test]
fn synchronized_nodes_enforce_a_limit_together_and_return_unused_tokens() {
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
            sync(&nodes, &mut full_at, 0);
        }
    }
    assert!((80..=120).contains(&passed), "{passed}");
    // An unused bucket is full again, prefetched tokens included.
    let later = 60 * SECOND;
    for _ in 0..3 {
        nodes.iter().for_each(|node| node.sweep(later));
        sync(&nodes, &mut full_at, later);
    }
    assert!(full_at <= later, "{full_at}");
    assert!(nodes.iter().all(|node| node.entries.lock().all.values().all(|entry| entry.prefetched == 0)));
}

#[test]
fn tokens_used_during_a_synchronization_are_paid_from_its_grant() {
    let (rate, mut full_at) = (rate(1, 3), 0);
    let node = Buckets::new(true, 0);
    node.charge(key(1), &rate, 0);
    let requests = node.refill_requests(10);
    node.charge(key(1), &rate, 0);
    node.charge(key(1), &rate, 0);
    full_at += 2 * SECOND;
    node.apply(&requests, &[Refill { key: requests[0].key.clone(), full_at, granted: 1 }]);
    assert_eq!(node.peek(key(1), &rate, 0).0, 0);
    sync(std::slice::from_ref(&node), &mut full_at, 0);
    assert_eq!((node.peek(key(1), &rate, 0).0, full_at), (0, 3 * SECOND));
}

#[test]
fn debt_refills_from_when_it_was_made_even_if_synchronized_late() {
    let (rate, mut full_at) = (rate(1, 3), 0);
    let node = Buckets::new(true, 0);
    for _ in 0..3 {
        node.charge(key(1), &rate, 0);
    }
    assert_eq!(node.peek(key(1), &rate, 0), (0, Duration::from_secs(1)));
    sync(std::slice::from_ref(&node), &mut full_at, SECOND);
    assert_eq!(node.peek(key(1), &rate, SECOND).0, 1);
}

#[test]
fn a_bucket_never_saves_up_more_than_its_burst() {
    let (rate, mut full_at) = (rate(2, 120), 0);
    let node = Buckets::new(true, 0);
    assert_eq!(pass(&node, 1, &rate, 0, 1), 1);
    let late = 55 * SECOND;
    for _ in 0..119 {
        node.charge(key(1), &rate, late);
    }
    sync(std::slice::from_ref(&node), &mut full_at, 60 * SECOND);
    let left = node.peek(key(1), &rate, 60 * SECOND).0;
    assert!((10..=12).contains(&left), "{left}");
}

#[test]
fn tokens_being_returned_still_count_until_the_store_confirms() {
    let (rate, mut full_at) = (rate(1, 3), 0);
    let node = Buckets::new(true, 0);
    node.charge(key(1), &rate, 0);
    sync(std::slice::from_ref(&node), &mut full_at, 0);
    assert_eq!(node.peek(key(1), &rate, 0).0, 2);
    let at = IDLE + 1;
    node.charge(key(2), &rate, at);
    node.sweep(at);
    let left = node.peek(key(1), &rate, at).0;
    let requests = node.refill_requests(10);
    assert!(requests.iter().any(|request| request.spent < 0), "{requests:?}");
    assert_eq!(node.peek(key(1), &rate, at).0, left);
    node.fail(&requests, at);
    assert_eq!(node.peek(key(1), &rate, at).0, left);
}

#[test]
fn the_first_request_of_a_key_does_not_wait_and_later_ones_do() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(1, 5));
    assert!(matches!(buckets.take(key(1), 1, &rate, 0, true), Taken::Allowed { .. }));
    assert!(matches!(buckets.take(key(1), 1, &rate, 0, true), Taken::Unsure));
}

#[test]
fn a_bucket_known_to_be_empty_is_not_requested_again() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(1, 5));
    pass(&buckets, 1, &rate, 0, 1);
    let requests = buckets.refill_requests(10);
    let empty = Refill { key: requests[0].key.clone(), full_at: 5 * SECOND, granted: 0 };
    buckets.apply(&requests, &[empty]);
    for _ in 0..100 {
        assert!(matches!(buckets.take(key(1), 1, &rate, 0, true), Taken::Refused { .. }));
    }
    assert_eq!(buckets.refill_requests(10), []);
}

#[test]
fn without_the_shared_store_each_node_enforces_its_share() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(4, 100));
    buckets.set_nodes(4);
    pass(&buckets, 1, &rate, 0, 1);
    let requests = buckets.refill_requests(10);
    buckets.fail(&requests, 0);
    let passed = pass(&buckets, 1, &rate, 0, 500);
    assert!((20..=30).contains(&passed), "{passed}");
    let requests = buckets.refill_requests(10);
    assert_eq!(requests[0].spent, passed as i64 + 1, "tokens used meanwhile are a debt");
}

#[test]
fn several_tokens_are_taken_together_or_not_at_all() {
    for shared in [false, true] {
        let (buckets, rate) = (Buckets::new(shared, 0), rate(1, 10));
        let take = |tokens, now| buckets.take(key(1), tokens, &rate, now, false);
        assert!(matches!(take(6, 0), Taken::Allowed { .. }));
        let Taken::Refused { wait } = take(6, 0) else { panic!("four are left") };
        assert_eq!(wait, Duration::from_secs(2));
        assert!(matches!(take(4, 0), Taken::Allowed { .. }), "a refusal costs nothing");
        assert!(matches!(take(1, 0), Taken::Refused { .. }));
        let Taken::Refused { wait } = take(11, 60 * SECOND) else { panic!("the burst is smaller") };
        assert!(wait > Duration::ZERO);
    }
}

#[test]
fn several_tokens_are_requested_at_once() {
    let (buckets, rate) = (Buckets::new(true, 0), rate(1, 10));
    assert!(matches!(buckets.take(key(1), 8, &rate, 0, true), Taken::Unsure));
    let waiter = buckets.wait(key(1), 8);
    let requests = buckets.refill_requests(usize::MAX);
    assert!(requests.len() == 1 && requests[0].wanted >= 8, "{}", requests[0].wanted);
    buckets.apply(&requests, &[Refill { key: requests[0].key.clone(), full_at: 10 * SECOND, granted: 10 }]);
    drop(waiter);
    assert!(matches!(buckets.take(key(1), 8, &rate, 0, true), Taken::Allowed { .. }));
    assert!(matches!(buckets.take(key(1), 8, &rate, 0, true), Taken::Refused { .. }));
    assert!(matches!(buckets.take(key(1), 2, &rate, 0, true), Taken::Allowed { .. }));
}
