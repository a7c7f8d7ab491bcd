//! Lists are walked by key: complete, newest first, each thing once, whatever is added meanwhile.

use std::fmt::Display;

use chancery_domain::{Account, EmailAddress, Metadata, PAGE_BYTES, Page, PageRequest, ResellerId, Timestamp};
use chancery_store::{AccountFilter, AuditFilter, StoreError, Tx};

use crate::common::{Database, Result};

/// Walks a list two at a time, and adds to it before each further page; what was there at first must come, newest
/// first, and nothing else.
async fn walk<T, K>(
    db: &Database,
    mut before: Vec<K>,
    mut add: impl AsyncFnMut() -> K,
    page: impl Fn(&mut Tx<'_>, &PageRequest) -> Result<Page<T>> + Clone + Send + 'static,
    key: impl Fn(&T) -> K,
) where
    T: Send + 'static,
    K: Display + PartialEq + std::fmt::Debug,
{
    before.reverse();
    assert!(before.len() > 4, "a list of several pages");
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (page, request) = (page.clone(), PageRequest { limit: 2, after });
        let page = db.get(move |tx| page(tx, &request)).await;
        assert!(!page.items.is_empty() && page.items.len() <= 2);
        found.extend(page.items.iter().map(&key));
        after = page.next;
        if after.is_none() {
            break;
        }
        assert_eq!(after, found.last().map(ToString::to_string), "the next page begins after the last of this");
        add().await;
    }
    assert_eq!(found, before);
}

/// Makes some things, one after the other.
async fn some<K>(mut add: impl AsyncFnMut() -> K) -> Vec<K> {
    let mut keys = Vec::new();
    for _ in 0..7 {
        keys.push(add().await);
    }
    keys
}

pub(crate) async fn resellers_are_walked_without_gap_or_repetition(db: Database) {
    let add = async || db.reseller().await.id;
    walk(&db, some(add).await, add, |tx, page| tx.resellers(page), |one| one.id).await;
}

pub(crate) async fn accounts_are_walked_without_gap_or_repetition(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let add = async || {
        db.account(db.make.account(other)).await;
        db.account(db.make.account(reseller)).await.id
    };
    let page = move |tx: &mut Tx<'_>, page: &PageRequest| tx.accounts(reseller, &AccountFilter::default(), page);
    walk(&db, some(add).await, add, page, |one| one.id).await;
}

pub(crate) async fn accounts_are_filtered_by_every_combination(db: Database) {
    let reseller = db.reseller().await.id;
    let mut accounts = Vec::new();
    // One address is had by many that were terminated and by one that is live; each kind comes several times.
    for (place, &suspended) in [true, false].iter().cycle().take(16).enumerate() {
        let shared = EmailAddress::parse("shared@example.com").unwrap();
        let terminated_at = (place % 4 < 2).then(|| db.make.now());
        let email = if place == 6 || (terminated_at.is_some() && place > 7) { shared } else { db.make.email() };
        accounts.push(db.account(Account { email, suspended, terminated_at, ..db.make.account(reseller) }).await);
    }
    accounts.reverse();
    for email in [None, Some("shared@example.com"), Some("nobody@example.com")] {
        for suspended in [None, Some(true), Some(false)] {
            for include_deleted in [false, true] {
                let filter = AccountFilter { email_key: email.map(str::to_owned), suspended, include_deleted };
                let expected = accounts.iter().filter(|account| {
                    email.is_none_or(|key| account.email.key() == key)
                        && suspended.is_none_or(|wanted| account.suspended == wanted)
                        && (include_deleted || !account.is_terminated())
                });
                assert_eq!(
                    all(&db, reseller, filter.clone()).await,
                    expected.cloned().collect::<Vec<_>>(),
                    "{filter:?}"
                );
            }
        }
    }
}

async fn all(db: &Database, reseller: ResellerId, filter: AccountFilter) -> Vec<Account> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (filter, request) = (filter.clone(), PageRequest { limit: 3, after });
        let page = db.get(move |tx| tx.accounts(reseller, &filter, &request)).await;
        found.extend(page.items);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

pub(crate) async fn credentials_of_an_account_are_walked_without_gap_or_repetition(db: Database) {
    let account = db.some_account().await;
    let root = db.get(move |tx| tx.credential(account.reseller, account.kid)).await.unwrap().id;
    let other = db.account(db.make.account(account.reseller)).await;
    let id = account.id;
    let add = async || {
        let (credential, apart) = (db.make.credential(&account), db.make.credential(&other));
        let id = credential.id;
        db.put(move |tx| {
            tx.insert_credential(&apart, b"sealed")?;
            tx.insert_credential(&credential, b"sealed")
        })
        .await;
        id
    };
    let before = [vec![root], some(add).await].concat();
    walk(&db, before, add, move |tx, page| tx.credentials_of_account(id, page), |one| one.id).await;
}

pub(crate) async fn credentials_of_a_reseller_are_walked_without_gap_or_repetition(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let add = async || {
        db.account(db.make.account(other)).await;
        let account = db.account(db.make.account(reseller)).await;
        db.get(move |tx| tx.credential(reseller, account.kid)).await.unwrap().id
    };
    let page = move |tx: &mut Tx<'_>, page: &PageRequest| tx.credentials_of_reseller(reseller, page);
    walk(&db, some(add).await, add, page, |one| one.id).await;
}

pub(crate) async fn groups_are_walked_without_gap_or_repetition(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let add = async || {
        db.group(other).await;
        db.group(reseller).await.id
    };
    walk(&db, some(add).await, add, move |tx, page| tx.groups(reseller, page), |one| one.id).await;
}

pub(crate) async fn members_are_walked_without_gap_or_repetition(db: Database) {
    let reseller = db.reseller().await.id;
    let (group, other) = (db.group(reseller).await.id, db.group(reseller).await.id);
    let add = async || {
        let (member, apart) = (db.make.account(reseller), db.make.account(reseller));
        let (member, apart) = (db.account(member).await.id, db.account(apart).await.id);
        let now = db.make.now();
        db.put(move |tx| {
            tx.add_member(group, member, now)?;
            tx.add_member(other, apart, now)
        })
        .await;
        member
    };
    walk(&db, some(add).await, add, move |tx, page| tx.members(reseller, group, page), |one| one.id).await;
    // The same accounts as everywhere, whole.
    let page = db.get(move |tx| tx.members(reseller, group, &PageRequest { limit: 1, after: None })).await;
    assert_eq!(db.stored(&page.items[0]).await, page.items[0]);
}

pub(crate) async fn policies_are_walked_without_gap_or_repetition(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let add = async || {
        db.policy(other).await;
        db.policy(reseller).await.id
    };
    walk(&db, some(add).await, add, move |tx, page| tx.policies(reseller, page), |one| one.id).await;
}

pub(crate) async fn the_trail_is_walked_without_gap_or_repetition(db: Database) {
    let reseller = db.make.reseller().id;
    let add = async || {
        let (record, other) = (db.make.audit(Some(reseller), "s"), db.make.audit(None, "t"));
        let id = record.id;
        db.put(move |tx| {
            tx.append_audit(&other)?;
            tx.append_audit(&record)
        })
        .await;
        id
    };
    let filters = [
        AuditFilter { reseller: Some(reseller), ..AuditFilter::default() },
        AuditFilter { subject: Some("s".to_owned()), ..AuditFilter::default() },
        AuditFilter {
            reseller: Some(reseller),
            since: Some(Timestamp::from_secs(0)),
            until: Some(Timestamp::from_secs(1 << 33)),
            ..AuditFilter::default()
        },
    ];
    let mut before = some(add).await;
    for filter in filters {
        let page = move |tx: &mut Tx<'_>, page: &PageRequest| tx.audit(&filter, page);
        let mut added = Vec::new();
        let add = async || {
            let id = add().await;
            added.push(id);
            id
        };
        walk(&db, before.clone(), add, page, |one| one.id).await;
        before.extend(added);
    }
}

pub(crate) async fn a_list_that_just_fits_has_no_next_page(db: Database) {
    let reseller = db.reseller().await.id;
    for _ in 0..3 {
        db.group(reseller).await;
    }
    for (limit, shown, more) in [(1, 1, true), (2, 2, true), (3, 3, false), (1000, 3, false)] {
        let page = db.get(move |tx| tx.groups(reseller, &PageRequest { limit, after: None })).await;
        assert_eq!((page.items.len(), page.next.is_some()), (shown, more), "{limit}");
    }
    let nobody = db.reseller().await.id;
    let page = db.get(move |tx| tx.groups(nobody, &PageRequest::default())).await;
    assert_eq!((page.items.len(), page.next), (0, None));
}

/// So many accounts with about 36 KiB of metadata each.
async fn long_accounts(db: &Database, count: usize) -> ResellerId {
    let reseller = db.reseller().await.id;
    let pairs = (0..16).map(|place| (format!("{place:02}{}", "😀".repeat(62)), "😀".repeat(512)));
    let metadata = Metadata::from_stored(pairs.collect());
    let accounts: Vec<_> =
        (0..count).map(|_| Account { metadata: metadata.clone(), ..db.make.account(reseller) }).collect();
    db.put(move |tx| accounts.iter().try_for_each(|account| tx.insert_account(account).map(drop))).await;
    reseller
}

pub(crate) async fn a_page_ends_once_it_has_read_as_much_as_a_page_may(db: Database) {
    const COUNT: usize = 350;
    let reseller = long_accounts(&db, COUNT).await;
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let request = PageRequest { limit: 1000, after };
        let read = move |tx: &mut Tx<'_>| {
            let page = tx.accounts(reseller, &AccountFilter::default(), &request)?;
            // At most a part more than a page may have.
            assert!(tx.bytes_read() < PAGE_BYTES as u64 + 100 * 40_000, "{} bytes were read", tx.bytes_read());
            Ok(page)
        };
        let page = db.get(read).await;
        assert!(!page.items.is_empty());
        found.extend(page.items.iter().map(|account| account.id));
        (after, pages) = (page.next, pages + 1);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages, 2, "12 MiB are read as two pages of two parts");
    found.dedup();
    assert_eq!(found.len(), COUNT);
    assert!(found.is_sorted_by(|one, other| one > other));
}

pub(crate) async fn a_page_ends_once_what_belongs_to_its_items_is_too_much(db: Database) {
    let reseller = db.reseller().await.id;
    for _ in 0..10 {
        db.group(reseller).await;
    }
    let long = long_accounts(&db, 100).await;
    let read = move |tx: &mut Tx<'_>| {
        let groups = tx.groups(reseller, &PageRequest::default())?;
        let keys: Vec<_> = groups.items.iter().map(|group| group.id.to_string()).collect();
        // 250 fit into a part, so two of these are completed at a time, with 3.6 MiB each time.
        let page = tx.complete(
            groups,
            |_| 250,
            |tx, groups| {
                tx.accounts(long, &AccountFilter::default(), &PageRequest::default())?;
                Ok::<_, StoreError>(groups.into_iter().map(|group| group.name).collect())
            },
        )?;
        assert_eq!((page.items.len(), page.next), (4, Some(keys[3].clone())));
        // The first come in any case.
        let groups = tx.groups(reseller, &PageRequest::default())?;
        let page = tx.complete(
            groups,
            |_| 1000,
            |tx, groups| {
                for _ in 0..2 {
                    tx.accounts(long, &AccountFilter::default(), &PageRequest::default())?;
                }
                Ok::<_, StoreError>(groups)
            },
        )?;
        assert_eq!((page.items.len(), page.next), (1, Some(keys[0].clone())));
        Ok(())
    };
    db.get(read).await;
}
