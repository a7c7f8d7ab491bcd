//! Fills a database so that its lists have the same to show at every size, and ever more behind it.

use std::sync::Arc;
use std::time::Instant;

use chancery_domain::{Account, AccountId, EabCredential, EmailAddress, Group, GroupId, ResellerId, Timestamp};
use chancery_store::{AuditRecord, Outcome, Store, StoreError};
use chancery_testkit::{Address, Builders, TestStore};
use tokio::task::JoinSet;

/// What was loaded, as far as the lists need to know.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// Has four accounts of five, of all kinds.
    pub(crate) reseller: ResellerId,
    /// Has the rest: all but the 100 oldest are terminated, and only those are suspended.
    pub(crate) waning: ResellerId,
    /// Has one credential for every hundred accounts there are, 200 at least.
    pub(crate) busy: AccountId,
    /// Has half of the reseller's accounts in it.
    pub(crate) group: GroupId,
    pub(crate) accounts: Span,
    pub(crate) credentials_of_busy: Span,
    pub(crate) groups: Span,
    pub(crate) policies: Span,
}

/// When the first and the last of a kind were made.
#[derive(Clone, Copy)]
pub(crate) struct Span(Timestamp, Timestamp);

impl Span {
    pub(crate) fn at(self, share: f64) -> Timestamp {
        let millis = (self.1.as_millis() - self.0.as_millis()) as f64 * share;
        Timestamp::from_millis(self.0.as_millis() + millis as i64)
    }
}

pub(crate) const SHARED_EMAIL: &str = "shared@example.com";
pub(crate) const COMMON_SUBJECT: &str = "acc_common";
/// 60 old lines of the trail have this actor and this action, and were refused.
pub(crate) const RARE: &str = "rare";
/// What the tail of a list is made of, at every size.
const OLDEST: usize = 500;
const CHUNK: usize = 5000;

pub(crate) async fn load(store: &TestStore, make: Arc<Builders>, accounts: usize) -> Loaded {
    let started = Instant::now();
    let (reseller, waning) = (make.reseller(), make.reseller());
    let ids = [reseller.id, waning.id];
    put(store, move |tx| Ok(tx.insert_reseller(&reseller)? && tx.insert_reseller(&waning)?)).await;

    let few = (accounts / 100).max(200);
    let first = make.now();
    let groups: Vec<_> = (0..few).map(|_| make.group(ids[0])).collect();
    let groups_span = Span(first, make.now());
    let policies: Vec<_> = (0..few).map(|_| make.policy(ids[0])).collect();
    let policies_span = Span(groups_span.1, make.now());
    let members: Arc<[GroupId]> = groups.iter().map(|group| group.id).collect();
    let now = make.now();
    put(store, move |tx| {
        groups.iter().try_for_each(|group: &Group| tx.insert_group(group).map(drop))?;
        policies.iter().try_for_each(|policy| tx.insert_policy(policy).map(drop))?;
        for (group, policy) in groups.iter().zip(&policies) {
            tx.assign_policy(group.id, policy.id, now)?;
        }
        Ok(())
    })
    .await;

    let (mut units, mut busy, first) = (JoinSet::new(), None, make.now());
    for from in (0..accounts).step_by(CHUNK) {
        let rows: Vec<_> = (from..(from + CHUNK).min(accounts)).map(|place| row(&make, ids, place)).collect();
        busy = busy.or_else(|| rows.iter().map(|row| &row.account).find(|one| !one.is_terminated()).cloned());
        let (store, groups) = ((**store).clone(), Arc::clone(&members));
        if units.len() >= 4 {
            units.join_next().await.unwrap().unwrap();
        }
        units
            .spawn(async move { put(&store, move |tx| rows.iter().try_for_each(|row| row.insert(tx, &groups))).await });
    }
    units.join_all().await;
    let accounts_span = Span(first, make.now());

    let busy = busy.expect("one of the first accounts is live");
    let (first, id) = (make.now(), busy.id);
    let credentials: Vec<_> = (0..few).map(|_| make.credential(&busy)).collect();
    let credentials_of_busy = Span(first, make.now());
    put(store, move |tx| credentials.iter().try_for_each(|credential| tx.insert_credential(credential, &[0; 96])))
        .await;

    settle(store);
    println!("  loaded {accounts} accounts in {:.0} s", started.elapsed().as_secs_f64());
    Loaded {
        reseller: ids[0],
        waning: ids[1],
        busy: id,
        group: members[0],
        accounts: accounts_span,
        credentials_of_busy,
        groups: groups_span,
        policies: policies_span,
    }
}

/// An account and what comes with it.
struct Row {
    place: usize,
    account: Account,
    credential: EabCredential,
    record: AuditRecord,
}

fn row(make: &Builders, [reseller, waning]: [ResellerId; 2], place: usize) -> Row {
    let (wanes, old) = (place % 5 == 4, place < OLDEST);
    let gone = if wanes { !old } else { place.is_multiple_of(10) };
    let mut account = Account {
        suspended: if wanes { old } else { place.is_multiple_of(3) },
        terminated_at: gone.then(|| make.now()),
        ..make.account(if wanes { waning } else { reseller })
    };
    // One address, had by 60 old accounts that are terminated.
    if gone && !wanes && place < 600 {
        account.email = EmailAddress::parse(SHARED_EMAIL).expect("it is an address");
    }
    let credential = make.root_credential(&account);
    let mut record = make.audit(Some(account.reseller), account.id);
    record.actor = format!("cli_{}", place % 7);
    if place % 5 == 1 {
        COMMON_SUBJECT.clone_into(&mut record.subject);
    }
    if place.is_multiple_of(5) && place < 300 {
        RARE.clone_into(&mut record.actor);
        RARE.clone_into(&mut record.action);
        record.outcome = Outcome::Refused;
    }
    Row { place, account, credential, record }
}

impl Row {
    fn insert(&self, tx: &mut chancery_store::Tx<'_>, groups: &[GroupId]) -> Result<(), StoreError> {
        let account = &self.account;
        assert!(tx.insert_account(account)?, "{} is there already", account.email);
        tx.insert_credential(&self.credential, &[0; 96])?;
        tx.append_audit(&self.record)?;
        if self.place % 5 != 4 {
            tx.add_member(groups[1 + self.place % (groups.len() - 1)], account.id, account.created_at)?;
            if self.place.is_multiple_of(2) {
                tx.add_member(groups[0], account.id, account.created_at)?;
            }
        }
        Ok(())
    }
}

async fn put<T: Send + 'static>(
    store: &Store,
    unit: impl FnMut(&mut chancery_store::Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    store.write(unit).await.unwrap()
}

/// What PostgreSQL's autovacuum would do in its own time. SQLite has no such thing, and is measured without.
fn settle(store: &TestStore) {
    if let Address::Postgres(url) = store.address() {
        let vacuum =
            || postgres::Client::connect(&url, postgres::NoTls).unwrap().batch_execute("VACUUM ANALYZE").unwrap();
        std::thread::scope(|scope| scope.spawn(vacuum).join().unwrap());
    }
}
