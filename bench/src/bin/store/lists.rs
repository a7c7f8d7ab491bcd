//! Lists at two sizes, in turns: a page must not cost more because there is more behind it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_bench::{Samples, micros, print_table, ratio};
use chancery_domain::{
    AccountId, AuditId, EabId, Entropy, GroupId, Page, PageRequest, PolicyId, ResellerId, Timestamp,
};
use chancery_store::{AccountFilter, AuditFilter, Outcome, Store, StoreError, Tx};
use chancery_testkit::{Builders, SeededEntropy, TestStore};

use crate::Plan;
use crate::load::{COMMON_SUBJECT, Loaded, RARE, SHARED_EMAIL, Span, load};

const SMALL: usize = 1000;
/// At the small size, half a list still fills a page of this length.
const LIMIT: u32 = 50;
/// What a list may cost at the large size, in terms of the small one.
const MOST: f64 = 1.5;

type Ask = Arc<dyn Fn(&mut Tx<'_>, &PageRequest) -> Result<usize, StoreError> + Send + Sync>;

/// Gives a key that this share of a list lies before.
type Key = Box<dyn Fn(f64, &dyn Entropy) -> String>;

/// A list, and how to make a key in the middle of it; some are too short to have a middle.
struct List {
    name: &'static str,
    ask: Ask,
    key: Option<Key>,
}

pub(crate) async fn measure(database: &str, plan: Plan, small: TestStore, large: TestStore) {
    println!("{database}, a page of {LIMIT}: microseconds at {SMALL} and at {} accounts", plan.accounts);
    let small = (&*small, lists(&load(&small, Arc::new(Builders::seeded(1)), SMALL).await));
    let large = (&*large, lists(&load(&large, Arc::new(Builders::seeded(2)), plan.accounts).await));
    let mut rows = Vec::new();
    for (few, many) in small.1.iter().zip(&large.1) {
        rows.push(compare(plan, (small.0, few), (large.0, many), false).await);
        if few.key.is_some() {
            rows.push(compare(plan, (small.0, few), (large.0, many), true).await);
        }
    }
    print_table(&["list", "page", "rows", "p50", "p99", "p50", "p99", "p50 ratio", "p99 ratio", ""], &rows);
}

async fn compare(plan: Plan, small: (&Store, &List), large: (&Store, &List), middle: bool) -> Vec<String> {
    let entropy = SeededEntropy::new(1);
    let turns = if plan.quick { 200 } else { 3000 };
    let mut samples = [Samples::default(), Samples::default()];
    let mut shown = [0, 0];
    for turn in 0..turns + 20 {
        for (place, (store, list)) in [small, large].into_iter().enumerate() {
            let share = 0.4 + 0.2 * (entropy.number() as f64 / u64::MAX as f64);
            let key = list.key.as_ref().filter(|_| middle).map(|key| key(share, &entropy));
            let (rows, took) = ask(store, list, PageRequest { limit: LIMIT, after: key }).await;
            shown[place] = rows;
            // The first few warm caches up.
            if turn >= 20 {
                samples[place].push(took);
            }
        }
    }
    let [p50, p99] = [0.5, 0.99].map(|share| samples.each_mut().map(|samples| samples.quantile(share)));
    let grown = |of: [Duration; 2]| of[1].as_secs_f64() / of[0].as_secs_f64();
    let verdict = match (shown[0] == shown[1], grown(p50) < MOST, grown(p99) < MOST) {
        (false, ..) => format!("shows {}", shown[1]),
        (true, false, _) => "grows".to_owned(),
        // The slowest of a hundred is slow because of something else on the machine, unless it is so every time.
        (true, true, false) => "p99".to_owned(),
        (true, true, true) => String::new(),
    };
    vec![
        small.1.name.to_owned(),
        if middle { "middle" } else { "first" }.to_owned(),
        shown[0].to_string(),
        micros(p50[0]),
        micros(p99[0]),
        micros(p50[1]),
        micros(p99[1]),
        ratio(p50[1].as_secs_f64(), p50[0].as_secs_f64()),
        ratio(p99[1].as_secs_f64(), p99[0].as_secs_f64()),
        verdict,
    ]
}

/// How many rows came, and how long the database took: without the way to its thread and back, which never grows.
async fn ask(store: &Store, list: &List, page: PageRequest) -> (usize, Duration) {
    let ask = Arc::clone(&list.ask);
    let answer = store.read(move |tx| {
        let started = Instant::now();
        Ok::<_, StoreError>((ask(tx, &page)?, started.elapsed()))
    });
    answer.await.unwrap()
}

fn lists(loaded: &Loaded) -> Vec<List> {
    let Loaded { reseller, waning, busy, group, accounts, credentials_of_busy, groups, policies } = *loaded;
    let all = AccountFilter { include_deleted: true, ..AccountFilter::default() };
    let live = AccountFilter::default();
    let suspended = |suspended, of: &AccountFilter| AccountFilter { suspended: Some(suspended), ..of.clone() };
    let email = |of: &AccountFilter| AccountFilter { email_key: Some(SHARED_EMAIL.to_owned()), ..of.clone() };
    let any = AuditFilter::default;
    let rare = || Some(RARE.to_owned());
    vec![
        of_accounts("accounts", reseller, live.clone(), Some(accounts)),
        of_accounts("accounts, also terminated", reseller, all.clone(), Some(accounts)),
        of_accounts("accounts, suspended", reseller, suspended(true, &live), Some(accounts)),
        of_accounts("accounts, not suspended", reseller, suspended(false, &live), Some(accounts)),
        of_accounts("accounts, suspended, also terminated", reseller, suspended(true, &all), Some(accounts)),
        of_accounts("accounts, one address", reseller, email(&live), None),
        of_accounts("accounts, one address, also terminated", reseller, email(&all), None),
        of_accounts("accounts, one address, suspended, also term.", reseller, suspended(true, &email(&all)), None),
        of_accounts("accounts, behind many terminated", waning, live.clone(), None),
        of_accounts("accounts, few suspended", waning, suspended(true, &live), None),
        of_accounts("accounts, few suspended, also terminated", waning, suspended(true, &all), None),
        list("credentials of an account", move |tx, page| Ok(len(tx.credentials_of_account(busy, page)?)))
            .within(credentials_of_busy, |at, entropy| EabId::new(at, entropy).to_string()),
        list("credentials of a reseller", move |tx, page| Ok(len(tx.credentials_of_reseller(reseller, page)?)))
            .within(accounts, |at, entropy| EabId::new(at, entropy).to_string()),
        list("groups", move |tx, page| Ok(len(tx.groups(reseller, page)?)))
            .within(groups, |at, entropy| GroupId::new(at, entropy).to_string()),
        list("members of a group", move |tx, page| Ok(len(tx.members(reseller, group, page)?)))
            .within(accounts, |at, entropy| AccountId::new(at, entropy).to_string()),
        list("policies", move |tx, page| Ok(len(tx.policies(reseller, page)?)))
            .within(policies, |at, entropy| PolicyId::new(at, entropy).to_string()),
        of_audit("audit", any(), Some(accounts)),
        of_audit("audit of a reseller", AuditFilter { reseller: Some(reseller), ..any() }, Some(accounts)),
        of_audit(
            "audit of a subject",
            AuditFilter { subject: Some(COMMON_SUBJECT.to_owned()), ..any() },
            Some(accounts),
        ),
        of_audit("audit, a common actor", AuditFilter { actor: Some("cli_3".to_owned()), ..any() }, Some(accounts)),
        of_audit("audit, a rare actor", AuditFilter { actor: rare(), ..any() }, None),
        of_audit("audit, a rare action", AuditFilter { action: rare(), ..any() }, None),
        of_audit("audit, refused", AuditFilter { outcome: Some(Outcome::Refused), ..any() }, None),
        of_audit("audit, one request", AuditFilter { request_id: Some("request-0-0".to_owned()), ..any() }, None),
        of_audit("audit, until an early time", AuditFilter { until: Some(early(accounts)), ..any() }, None),
    ]
}

/// When about 80 lines of the trail had been written, at every size.
fn early(accounts: Span) -> Timestamp {
    Timestamp::from_millis(accounts.at(0.0).as_millis() + 400)
}

fn of_accounts(name: &'static str, reseller: ResellerId, filter: AccountFilter, span: Option<Span>) -> List {
    let list = list(name, move |tx, page| Ok(len(tx.accounts(reseller, &filter, page)?)));
    match span {
        Some(span) => list.within(span, |at, entropy| AccountId::new(at, entropy).to_string()),
        None => list,
    }
}

fn of_audit(name: &'static str, filter: AuditFilter, span: Option<Span>) -> List {
    let list = list(name, move |tx, page| Ok(len(tx.audit(&filter, page)?)));
    match span {
        Some(span) => list.within(span, |at, entropy| AuditId::new(at, entropy).to_string()),
        None => list,
    }
}

fn list(
    name: &'static str,
    ask: impl Fn(&mut Tx<'_>, &PageRequest) -> Result<usize, StoreError> + Send + Sync + 'static,
) -> List {
    List { name, ask: Arc::new(ask), key: None }
}

impl List {
    /// Its things were made in this span: an id of a time within it is a key in the middle.
    fn within(self, span: Span, id: impl Fn(Timestamp, &dyn Entropy) -> String + 'static) -> Self {
        Self { key: Some(Box::new(move |share, entropy| id(span.at(share), entropy))), ..self }
    }
}

fn len<T>(page: Page<T>) -> usize {
    page.items.len()
}
