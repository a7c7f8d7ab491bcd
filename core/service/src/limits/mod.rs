//! Rate limits: a bucket of tokens for each limit and whom it holds.
//!
//! On SQLite there is one node, and the buckets are in its memory. On PostgreSQL the nodes share them: each has tokens in
//! its pocket that it has taken from the shared bucket beforehand, and settles with it behind the requests' backs, many
//! keys by one statement. A request waits for that only where the pocket is empty and the bucket was last seen less than
//! half full. While the database does not answer, each node goes by its share of the limit.

mod buckets;
mod rate;
mod settings;
mod settling;
mod tables;

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{Clock, Timestamp};
use chancery_store::Store;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use buckets::{Buckets, Taken};
pub use rate::{Decision, Rate};
pub use settings::{Caps, LimitSettings};
use tables::Tables;

/// What is limited, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Requests of a reseller and its customers, at whichever door.
    Requests,
    /// Requests to ACME by those who have not shown an account, by address.
    Strangers,
    NewAccountsOfAddress,
    NewAccountsOfCredential,
    NewOrdersOfAddress,
    NewOrdersOfAccount,
    /// Failed validations of a name for a customer.
    FailedValidations,
    /// Requests for a token, by address.
    TokensOfAddress,
    /// Requests without good credentials, by address.
    RefusalsOfAddress,
    /// Names that a reseller has looked at.
    Diagnoses,
}

impl Limit {
    pub const ALL: [Self; 10] = [
        Self::Requests,
        Self::Strangers,
        Self::NewAccountsOfAddress,
        Self::NewAccountsOfCredential,
        Self::NewOrdersOfAddress,
        Self::NewOrdersOfAccount,
        Self::FailedValidations,
        Self::TokensOfAddress,
        Self::RefusalsOfAddress,
        Self::Diagnoses,
    ];

    /// Its name in headers, answers and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "default",
            Self::Strangers => "requests-per-address",
            Self::NewAccountsOfAddress => "new-accounts-per-address",
            Self::NewAccountsOfCredential => "new-accounts-per-credential",
            Self::NewOrdersOfAddress => "new-orders-per-address",
            Self::NewOrdersOfAccount => "new-orders-per-account",
            Self::FailedValidations => "failed-validations",
            Self::TokensOfAddress => "tokens-per-address",
            Self::RefusalsOfAddress => "unauthorized-per-address",
            Self::Diagnoses => "diagnoses",
        }
    }

    /// What there are too many of, for people.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Requests | Self::Strangers => "requests",
            Self::NewAccountsOfAddress => "new accounts from this address",
            Self::NewAccountsOfCredential => "new accounts with this credential",
            Self::NewOrdersOfAddress => "new orders from this address",
            Self::NewOrdersOfAccount => "new orders of this account",
            Self::FailedValidations => "failed validations of this name",
            Self::TokensOfAddress => "requests for a token from this address",
            Self::RefusalsOfAddress => "requests without good credentials from this address",
            Self::Diagnoses => "names to look at",
        }
    }

    /// Whom a bucket of it belongs to.
    pub const fn of(self) -> &'static str {
        match self {
            Self::Requests | Self::Diagnoses => "reseller",
            Self::Strangers
            | Self::NewAccountsOfAddress
            | Self::NewOrdersOfAddress
            | Self::TokensOfAddress
            | Self::RefusalsOfAddress => "address",
            Self::NewAccountsOfCredential => "credential",
            Self::NewOrdersOfAccount => "acme account",
            Self::FailedValidations => "account and name",
        }
    }
}

/// The buckets; clones share them.
#[derive(Clone)]
pub struct Limits {
    inner: Arc<Inner>,
}

struct Inner {
    settings: LimitSettings,
    tables: Tables,
    clock: Arc<dyn Clock>,
    /// Where several nodes share the buckets.
    shared: Option<(Store, String)>,
    /// Tells whoever settles that somebody waits for it.
    urgent: Notify,
    /// Counts settlements, for those who wait.
    settled: watch::Sender<u64>,
}

impl Limits {
    pub(crate) fn new(settings: LimitSettings, store: &Store, clock: Arc<dyn Clock>, node: &str) -> Self {
        let shared = store.is_shared().then(|| (store.clone(), node.to_owned()));
        let tables = Tables::new(shared.is_some());
        let (urgent, settled) = (Notify::new(), watch::Sender::new(0));
        Self { inner: Arc::new(Inner { settings, tables, clock, shared, urgent, settled }) }
    }

    /// Takes a token from a bucket, if there is one; nothing where there is no such limit.
    pub async fn take(&self, limit: Limit, whom: &str) -> Option<Decision> {
        self.take_many(limit, whom, 1).await
    }

    /// Takes several at once, or none. More than a whole bucket are never there.
    pub async fn take_many(&self, limit: Limit, whom: &str, count: u32) -> Option<Decision> {
        let rate = self.inner.settings.rate(limit)?;
        let (buckets, key) = (self.inner.tables.of(limit), key(limit, whom));
        let end = Instant::now() + self.inner.settings.patience;
        let mut settled = self.inner.settled.subscribe();
        loop {
            settled.mark_unchanged();
            let patient = Instant::now() < end;
            let (remaining, retry_after) = match buckets.take(key, count, &rate, self.now(), patient) {
                Taken::Allowed { remaining } => (remaining, None),
                Taken::Refused { wait } => {
                    (buckets.peek(key, &rate, self.now()).0.min(count.saturating_sub(1)), Some(wait))
                }
                Taken::Unsure => {
                    let _waits = buckets.wait(key, count);
                    self.inner.urgent.notify_one();
                    // In vain or not: the next try says.
                    let _ = timeout_at(end, settled.changed()).await;
                    continue;
                }
            };
            if retry_after.is_some() {
                metrics::counter!("chancery_http_rate_limited_total", "limit" => limit.as_str()).increment(1);
            }
            return Some(Decision { limit, rate, remaining, retry_after });
        }
    }

    /// How a bucket stands, as far as this node knows; nothing is taken.
    pub fn peek(&self, limit: Limit, whom: &str) -> Option<Decision> {
        let rate = self.inner.settings.rate(limit)?;
        let (remaining, wait) = self.inner.tables.of(limit).peek(key(limit, whom), &rate, self.now());
        Some(Decision { limit, rate, remaining, retry_after: (remaining == 0).then_some(wait) })
    }

    /// Takes a token for what has happened already.
    pub fn charge(&self, limit: Limit, whom: &str) {
        if let Some(rate) = self.inner.settings.rate(limit) {
            // Whether it was there matters to whoever comes next.
            self.inner.tables.of(limit).charge(key(limit, whom), &rate, self.now());
        }
    }

    pub fn settings(&self) -> &LimitSettings {
        &self.inner.settings
    }

    /// In microseconds.
    fn now(&self) -> i64 {
        self.inner.clock.now().as_millis().saturating_mul(1000)
    }
}

/// The part of an address that stands for one client: of IPv6 the network, since one host has all of a /64.
pub fn client_network(address: &str) -> String {
    match address.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V6(address)) => {
            format!("{}/64", Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        Ok(IpAddr::V4(address)) => address.to_string(),
        Err(_) => address.to_owned(),
    }
}

/// A rate that each node holds for itself, and that nobody sets.
pub(crate) struct OwnRate {
    name: &'static str,
    rate: Rate,
    buckets: Buckets,
}

impl OwnRate {
    pub(crate) fn new(name: &'static str, rate: Rate) -> Self {
        Self { name, rate, buckets: Buckets::new(false, 0) }
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&self, whom: &str, now: Timestamp) -> bool {
        let now = now.as_millis().saturating_mul(1000);
        match self.buckets.take(named_key(self.name, whom), 1, &self.rate, now, false) {
            Taken::Allowed { .. } => true,
            Taken::Refused { .. } | Taken::Unsure => false,
        }
    }
}

type Key = [u8; 16];

/// A hash: all are of one length, and none tells whose it is.
fn key(limit: Limit, whom: &str) -> Key {
    named_key(limit.as_str(), whom)
}

fn named_key(name: &str, whom: &str) -> Key {
    let whole = digest(&SHA256, format!("{name}\0{whom}").as_bytes());
    let mut key = Key::default();
    key.copy_from_slice(&whole.as_ref()[..16]);
    key
}
