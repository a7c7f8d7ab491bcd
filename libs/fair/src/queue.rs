//! A queue that divides the time of its servers fairly between tenants.
//!
//! It is start-time fair queueing with measured costs. Each tenant has a virtual time: the time that its items have taken so far.
//! [`FairQueue::pop`] returns the oldest item of the tenant with the smallest virtual time, and [`FairQueue::finish`] charges
//! that tenant for the time the item took. A tenant that was idle joins at the virtual time of the item popped last: it cannot
//! save up time while it is idle, and it waits for no more than the items in service when it joins. A tenant that is
//! idle for a moment still owes the time that it used ahead of the others.
//!
//! A tenant may have at most as many items waiting as there are free places, so one that floods the queue leaves half of it to
//! the others. The last places are reserved for the system.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

/// An item costs at least this much, so that a flood of items that take no time is not free.
const MIN_COST: Duration = Duration::from_micros(20);
/// The system is charged a quarter of the time it uses, so that many busy tenants do not starve it.
const SYSTEM_WEIGHT: u64 = 4;
/// An eighth of the queue is reserved for the system.
const SYSTEM_RESERVE: usize = 8;
/// A quarter of the servers, rounded down, does not serve the tenant that occupies the others: an item of another one that arrives
/// finds a free server.
const RESERVED_SERVERS: usize = 4;
/// Idle tenants are forgotten when the number of known tenants has doubled and is at least this large.
const FEW_TENANTS: usize = 64;
/// The room that an idle tenant keeps for its next items.
const IDLE_CAPACITY: usize = 16;

/// The party that an item is charged to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tenant {
    /// The system, for work that belongs to no tenant. It may fill the queue and gets several times a tenant's share of time.
    #[default]
    System,
    /// All clients that are not authenticated, together: one tenant like any other.
    Anonymous,
    Id(u128),
}

impl Tenant {
    fn weight(self) -> u64 {
        match self {
            Self::System => SYSTEM_WEIGHT,
            Self::Anonymous | Self::Id(_) => 1,
        }
    }
}

/// The size of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Items that may wait.
    pub capacity: usize,
    /// Items that run at the same time. One tenant has at most half of them, rounded up, while other tenants wait, and at most
    /// three quarters, rounded up, while none does. The system is exempt from the latter.
    pub servers: usize,
}

/// Items of many tenants that wait for a server.
pub struct FairQueue<T> {
    limits: QueueLimits,
    tenants: HashMap<Tenant, Account<T>>,
    /// One entry for each tenant with waiting items. Virtual times only grow, so an entry can be outdated in one direction
    /// only: too small. `pop` corrects the outdated entries that it meets.
    order: BinaryHeap<Reverse<Entry>>,
    /// Entries made so far.
    entries: u64,
    waiting: usize,
    running: usize,
    /// The virtual time of the item popped last.
    now: u64,
    /// The largest virtual time of any tenant.
    latest: u64,
    /// The number of tenants at which idle ones are forgotten.
    forget_at: usize,
}

struct Account<T> {
    /// In nanoseconds.
    virtual_time: u64,
    waiting: VecDeque<T>,
    running: usize,
}

impl<T> Account<T> {
    /// Adds to the virtual time, and returns it.
    fn charge(&mut self, tenant: Tenant, time: Duration) -> u64 {
        let cost = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) / tenant.weight();
        self.virtual_time = self.virtual_time.saturating_add(cost);
        self.virtual_time
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    virtual_time: u64,
    /// Tenants with the same virtual time take turns.
    number: u64,
    tenant: Tenant,
}

impl<T> FairQueue<T> {
    pub fn new(limits: QueueLimits) -> Self {
        Self {
            limits,
            tenants: HashMap::new(),
            order: BinaryHeap::new(),
            entries: 0,
            waiting: 0,
            running: 0,
            now: 0,
            latest: 0,
            forget_at: FEW_TENANTS,
        }
    }

    /// The number of waiting items.
    pub fn len(&self) -> usize {
        self.waiting
    }

    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds an item, or returns it if the tenant may not have more of them waiting.
    pub fn push(&mut self, tenant: Tenant, item: T) -> Result<(), T> {
        let free = self.limits.capacity.saturating_sub(self.waiting);
        let reserved = self.limits.capacity / SYSTEM_RESERVE;
        let now = self.now;
        let account = self.account(tenant);
        let has_room = match tenant {
            Tenant::System => free > 0,
            Tenant::Anonymous | Tenant::Id(_) => account.waiting.len() < free.saturating_sub(reserved),
        };
        if !has_room {
            return Err(item);
        }
        account.waiting.push_back(item);
        if account.waiting.len() == 1 {
            account.virtual_time = account.virtual_time.max(now);
            let virtual_time = account.virtual_time;
            self.enter(tenant, virtual_time);
        }
        self.waiting += 1;
        Ok(())
    }

    /// Takes the next item to run; none if nothing waits, or only tenants with as many servers as they may have. [`Self::finish`]
    /// must follow once the item has run.
    pub fn pop(&mut self) -> Option<(Tenant, T)> {
        let Entry { tenant, virtual_time, .. } = self.next_entry()?;
        let account = self.tenants.get_mut(&tenant)?;
        let item = account.waiting.pop_front()?;
        account.running += 1;
        self.latest = self.latest.max(account.charge(tenant, MIN_COST));
        self.now = self.now.max(virtual_time);
        self.waiting -= 1;
        self.running += 1;
        if account.waiting.is_empty() {
            account.waiting.shrink_to(IDLE_CAPACITY);
        } else {
            let virtual_time = account.virtual_time;
            self.enter(tenant, virtual_time);
        }
        Some((tenant, item))
    }

    /// Takes all waiting items, in no particular order.
    pub fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        self.order.clear();
        self.tenants.values_mut().flat_map(|account| account.waiting.drain(..)).collect()
    }

    /// Charges a tenant for an item that was popped and has run for so long.
    pub fn finish(&mut self, tenant: Tenant, took: Duration) {
        self.charge(tenant, took.saturating_sub(MIN_COST));
        if let Some(account) = self.tenants.get_mut(&tenant) {
            account.running = account.running.saturating_sub(1);
        }
        self.running = self.running.saturating_sub(1);
        if self.waiting == 0 && self.running == 0 {
            // Nobody waits for anybody: no tenant is ahead of the others any more.
            self.now = self.latest;
        }
    }

    /// Charges a tenant for time that was spent because of it.
    pub fn charge(&mut self, tenant: Tenant, time: Duration) {
        let virtual_time = self.account(tenant).charge(tenant, time);
        self.latest = self.latest.max(virtual_time);
    }

    /// Takes the entry with the smallest virtual time out of the order: of the tenants with less than their share of the servers
    /// if there are any, or else of those that may have more.
    fn next_entry(&mut self) -> Option<Entry> {
        let share = self.limits.servers.div_ceil(2);
        let most = match self.limits.servers / RESERVED_SERVERS {
            0 => usize::MAX,
            reserved => self.limits.servers - reserved,
        };
        let mut passed_over = Vec::new();
        let next = loop {
            let Some(mut first) = self.order.peek_mut() else { break None };
            let Some(account) = self.tenants.get(&first.0.tenant) else {
                PeekMut::pop(first);
                continue;
            };
            if account.virtual_time > first.0.virtual_time {
                first.0.virtual_time = account.virtual_time;
                continue;
            }
            let Reverse(entry) = PeekMut::pop(first);
            if account.running < share {
                break Some(entry);
            }
            passed_over.push((entry, account.running < most || entry.tenant == Tenant::System));
        };
        // If only tenants with their share wait, most of the free servers are better used than left idle.
        let next = next.or_else(|| {
            let position = passed_over.iter().position(|(_, may_have_more)| *may_have_more)?;
            Some(passed_over.remove(position).0)
        });
        self.order.extend(passed_over.into_iter().map(|(entry, _)| Reverse(entry)));
        next
    }

    fn enter(&mut self, tenant: Tenant, virtual_time: u64) {
        self.order.push(Reverse(Entry { virtual_time, number: self.entries, tenant }));
        self.entries += 1;
    }

    fn account(&mut self, tenant: Tenant) -> &mut Account<T> {
        if self.tenants.len() >= self.forget_at && !self.tenants.contains_key(&tenant) {
            self.forget_idle();
        }
        let now = self.now;
        let new = || Account { virtual_time: now, waiting: VecDeque::new(), running: 0 };
        self.tenants.entry(tenant).or_insert_with(new)
    }

    /// Forgets the tenants that have no items and owe no time.
    fn forget_idle(&mut self) {
        let now = self.now;
        let is_needed =
            |account: &Account<T>| !account.waiting.is_empty() || account.running > 0 || account.virtual_time > now;
        self.tenants.retain(|_, account| is_needed(account));
        self.forget_at = (2 * self.tenants.len()).max(FEW_TENANTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Tenant = Tenant::Id(1);
    const B: Tenant = Tenant::Id(2);
    const HEAVY: Duration = Duration::from_millis(100);
    const LIGHT: Duration = Duration::from_millis(1);

    fn queue<T>(capacity: usize, servers: usize) -> FairQueue<T> {
        FairQueue::new(QueueLimits { capacity, servers })
    }

    fn push_all<T>(queue: &mut FairQueue<T>, tenant: Tenant, items: impl IntoIterator<Item = T>) {
        for item in items {
            assert!(queue.push(tenant, item).is_ok());
        }
    }

    /// Runs the next item, which takes as long as it says; returns whose it was.
    fn run(queue: &mut FairQueue<Duration>) -> Option<Tenant> {
        let (tenant, took) = queue.pop()?;
        queue.finish(tenant, took);
        Some(tenant)
    }

    #[test]
    fn one_tenants_items_keep_their_order() {
        let mut queue = queue(100, 1);
        push_all(&mut queue, A, 0..20);
        for expected in 0..20 {
            let (tenant, item) = queue.pop().unwrap();
            queue.finish(tenant, HEAVY);
            assert_eq!((tenant, item), (A, expected));
        }
        assert!(queue.pop().is_none() && queue.is_empty());
    }

    #[test]
    fn backlogged_tenants_have_equal_time() {
        let mut queue = queue(10_000, 1);
        push_all(&mut queue, A, [HEAVY; 50]);
        push_all(&mut queue, B, [LIGHT; 2000]);
        let mut used = HashMap::<Tenant, Duration>::new();
        for _ in 0..1000 {
            let (tenant, took) = queue.pop().unwrap();
            queue.finish(tenant, took);
            *used.entry(tenant).or_default() += took;
        }
        assert!(used[&A].abs_diff(used[&B]) <= HEAVY, "{used:?}");
    }

    #[test]
    fn a_light_tenant_waits_for_one_item_of_a_heavy_one() {
        let mut queue = queue(1000, 1);
        push_all(&mut queue, A, [HEAVY; 200]);
        for _ in 0..10 {
            let (heavy, took) = queue.pop().unwrap();
            assert_eq!(heavy, A);
            queue.push(B, LIGHT).unwrap();
            queue.finish(heavy, took);
            assert_eq!(run(&mut queue), Some(B));
        }
    }

    #[test]
    fn a_tenant_that_pauses_between_items_still_owes_their_time() {
        let mut queue = queue(1000, 1);
        push_all(&mut queue, B, [LIGHT; 300]);
        // It never has a second item waiting.
        let mut served = [0, 0];
        for _ in 0..300 {
            if queue.tenants.get(&A).is_none_or(|account| account.waiting.is_empty()) {
                queue.push(A, HEAVY).unwrap();
            }
            served[usize::from(run(&mut queue) == Some(B))] += 1;
        }
        assert_eq!(served[0], 3, "{served:?}");
    }

    #[test]
    fn an_idle_tenant_saves_up_no_time() {
        let mut queue = queue(10_000, 1);
        push_all(&mut queue, A, [LIGHT; 2000]);
        for _ in 0..1000 {
            assert_eq!(run(&mut queue), Some(A));
        }
        push_all(&mut queue, B, [LIGHT; 1000]);
        let of_b = (0..100).filter(|_| run(&mut queue) == Some(B)).count();
        assert!((50..=51).contains(&of_b), "{of_b}");
    }

    #[test]
    fn items_that_take_no_time_are_not_free() {
        let mut queue = queue(10_000, 1);
        push_all(&mut queue, A, [Duration::ZERO; 1000]);
        push_all(&mut queue, B, [MIN_COST; 1000]);
        let of_a = (0..100).filter(|_| run(&mut queue) == Some(A)).count();
        assert_eq!(of_a, 50);
    }

    #[test]
    fn debts_end_when_nobody_waits() {
        let mut queue = queue(100, 1);
        queue.push(A, HEAVY).unwrap();
        assert_eq!(run(&mut queue), Some(A));
        push_all(&mut queue, A, [LIGHT; 2]);
        push_all(&mut queue, B, [LIGHT; 2]);
        assert_eq!([(); 4].map(|()| run(&mut queue).unwrap()), [A, B, A, B]);
    }

    #[test]
    fn the_system_has_four_times_a_tenants_share() {
        let mut queue = queue(100_000, 1);
        for tenant in [Tenant::System, A, B] {
            push_all(&mut queue, tenant, [LIGHT; 1000]);
        }
        let of_system = (0..600).filter(|_| run(&mut queue) == Some(Tenant::System)).count();
        assert!((399..=401).contains(&of_system), "{of_system}");
    }

    #[test]
    fn time_spent_because_of_a_tenant_is_charged_to_it() {
        let mut queue = queue(1000, 1);
        push_all(&mut queue, A, [LIGHT; 100]);
        push_all(&mut queue, B, [LIGHT; 100]);
        queue.charge(A, HEAVY);
        let order: Vec<_> = (0..101).map(|_| run(&mut queue).unwrap()).collect();
        assert_eq!(order.iter().take(100).filter(|tenant| **tenant == B).count(), 100);
    }

    #[test]
    fn a_tenant_has_half_of_the_servers_while_others_wait() {
        let mut queue = queue(1000, 8);
        push_all(&mut queue, A, 0..20);
        push_all(&mut queue, B, 0..20);
        // B's items take no time, A's never end.
        let mut held = 0;
        for _ in 0..12 {
            match queue.pop().unwrap() {
                (A, _) => held += 1,
                (tenant, _) => queue.finish(tenant, HEAVY),
            }
        }
        assert_eq!(held, 4, "B owes more by far, and still has the other half");
    }

    #[test]
    fn a_tenant_alone_leaves_a_quarter_of_the_servers_to_those_who_arrive() {
        let mut queue = queue(1000, 8);
        push_all(&mut queue, A, 0..20);
        for _ in 0..6 {
            assert_eq!(queue.pop().map(|(tenant, _)| tenant), Some(A));
        }
        assert_eq!(queue.pop(), None);
        queue.push(B, 0).unwrap();
        assert_eq!(queue.pop().map(|(tenant, _)| tenant), Some(B), "no item of A has to end first");
        queue.finish(A, HEAVY);
        assert_eq!(queue.pop().map(|(tenant, _)| tenant), Some(A));
        assert_eq!(queue.drain().len(), 13);
        assert!(queue.is_empty() && queue.pop().is_none());
    }

    #[test]
    fn the_system_alone_has_every_server() {
        let mut queue = queue(1000, 8);
        push_all(&mut queue, Tenant::System, 0..20);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 20);
    }

    #[test]
    fn servers_are_handed_out_in_turn_before_anything_has_run() {
        let mut queue = queue(1000, 8);
        let tenants: Vec<_> = (1..=4).map(Tenant::Id).collect();
        for tenant in &tenants {
            push_all(&mut queue, *tenant, 0..20);
        }
        let taken: Vec<_> = (0..8).map(|_| queue.pop().unwrap().0).collect();
        assert_eq!(taken, tenants.repeat(2));
    }

    #[test]
    fn a_tenant_that_floods_the_queue_leaves_room_for_others() {
        let mut queue = queue(64, 1);
        let fill = |queue: &mut FairQueue<()>, tenant| (0..100).filter(|_| queue.push(tenant, ()).is_ok()).count();
        assert_eq!(fill(&mut queue, A), 28, "half of the places that are not the system's");
        assert_eq!(fill(&mut queue, B), 14);
        assert_eq!(fill(&mut queue, A), 0, "less is free than it has");
        assert_eq!(fill(&mut queue, Tenant::Id(3)), 7);
        assert_eq!(fill(&mut queue, Tenant::System), 15, "everything that is left");
        assert_eq!((queue.len(), fill(&mut queue, Tenant::Id(4))), (64, 0));
        queue.pop().unwrap();
        assert_eq!(fill(&mut queue, Tenant::Id(4)), 0, "the place is the system's");
    }

    #[test]
    fn clients_that_are_not_authenticated_are_one_tenant() {
        let mut flooded = queue(64, 1);
        let fill = |queue: &mut FairQueue<()>, tenant| (0..100).filter(|_| queue.push(tenant, ()).is_ok()).count();
        assert_eq!(fill(&mut flooded, Tenant::Anonymous), 28, "the reserve is the system's");
        assert_eq!(fill(&mut flooded, A), 14);
        let mut shared = queue(1000, 1);
        push_all(&mut shared, Tenant::Anonymous, [LIGHT; 100]);
        push_all(&mut shared, A, [LIGHT; 100]);
        let of_a = (0..100).filter(|_| run(&mut shared) == Some(A)).count();
        assert_eq!(of_a, 50);
    }

    #[test]
    fn idle_tenants_are_forgotten() {
        let mut queue = queue(1000, 1);
        // Never empty, so that time goes on.
        push_all(&mut queue, A, [LIGHT; 2]);
        for id in 0..10_000 {
            queue.push(Tenant::Id(100 + id), LIGHT).unwrap();
            queue.push(A, LIGHT).unwrap();
            run(&mut queue).unwrap();
            run(&mut queue).unwrap();
        }
        assert!(queue.tenants.len() <= 2 * FEW_TENANTS, "{}", queue.tenants.len());
        while run(&mut queue).is_some() {}
        assert!(queue.order.is_empty() && queue.waiting == 0 && queue.running == 0);
    }
}
