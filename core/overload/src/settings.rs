//! The configured rates and caps.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::limit::Limit;
use crate::rate::Rate;

/// The rates and the caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    rates: BTreeMap<Limit, Rate>,
    pub caps: Caps,
    /// Longest time that a request waits for the shared buckets.
    pub patience: Duration,
    /// A page that explains the limits; refusals link to it.
    pub help: Option<String>,
}

/// The configurable caps; 0 turns a cap off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Failed validations of a name in a row, each within a day of the one before, that pause new orders for it.
    pub failures_to_pause: u32,
    /// Open orders of an account.
    pub open_orders: u32,
    /// Account groups of a reseller.
    pub groups: u32,
    /// Policies of a reseller.
    pub policies: u32,
    /// CSV exports of a reseller in progress on a node.
    pub downloads: u32,
}

impl Caps {
    /// The caps that are on, each with its maximum.
    pub fn configured(&self) -> Vec<(Limit, u32)> {
        let Self { failures_to_pause, open_orders, groups, policies, downloads } = *self;
        let caps = [
            (Limit::OpenOrders, open_orders),
            (Limit::Groups, groups),
            (Limit::Policies, policies),
            (Limit::PausedNames, failures_to_pause),
            (Limit::Exports, downloads),
        ];
        caps.into_iter().filter(|(_, max)| *max > 0).collect()
    }
}

impl Default for Caps {
    fn default() -> Self {
        // A group for each customer is common, so there may be as many groups as an account may have open orders.
        Self { failures_to_pause: 100, open_orders: 10_000, groups: 10_000, policies: 1000, downloads: 8 }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { rates: BTreeMap::new(), caps: Caps::default(), patience: Duration::from_millis(250), help: None }
    }
}

impl LimitSettings {
    /// The caps alone, without rates.
    pub fn none() -> Self {
        Self::default()
    }

    /// The defaults.
    pub fn usual() -> Self {
        const fn number(number: u32) -> NonZeroU32 {
            NonZeroU32::new(number).expect("none of these numbers is zero")
        }
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        let requests = Rate::per_second(number(50), number(200));
        Self::none()
            .with(Limit::Requests, Some(requests))
            .with(Limit::RequestsPerAccount, Some(requests.half()))
            .with(Limit::AnonymousRequestsPerAddress, Some(requests))
            .with(Limit::NewAccountsPerAddress, Some(Rate::new(number(500), hour)))
            .with(Limit::NewAccountsPerCredential, Some(Rate::new(number(500), hour)))
            .with(Limit::NewOrdersPerAddress, Some(Rate::new(number(10_000), hour)))
            .with(Limit::NewOrdersPerAccount, Some(Rate::new(number(10_000), hour)))
            .with(Limit::FailedValidations, Some(Rate::new(number(20), hour)))
            .with(Limit::TokenRequestsPerAddress, Some(Rate::new(number(120), minute)))
            .with(Limit::UnauthorizedPerAddress, Some(Rate::new(number(300), minute)))
            .with(Limit::Diagnoses, Some(Rate::new(number(60), minute)))
    }

    /// Sets or removes a rate.
    #[must_use]
    pub fn with(mut self, limit: Limit, rate: Option<Rate>) -> Self {
        match rate {
            Some(rate) => drop(self.rates.insert(limit, rate)),
            None => drop(self.rates.remove(&limit)),
        }
        self
    }

    /// Whether any rate is configured.
    pub fn has_rates(&self) -> bool {
        !self.rates.is_empty()
    }

    /// The configured rate of a limit.
    pub fn rate(&self, limit: Limit) -> Option<Rate> {
        self.rates.get(&limit).copied()
    }
}
