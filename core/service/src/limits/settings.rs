//! What the operator grants.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use super::{Limit, Rate};

/// The rates and the caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    rates: BTreeMap<Limit, Rate>,
    pub caps: Caps,
    /// How long a request waits for the database to say how a bucket stands.
    pub patience: Duration,
    /// A page that explains the limits, for those who meet one.
    pub help: Option<String>,
}

/// How much of a thing there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Failed validations of a name one after the other, within a day of each other, that pause it; 0 never does.
    pub failures_to_pause: u32,
    /// Orders of an account that wait to be finalized; 0 for any number.
    pub open_orders: u32,
    /// Policies of a reseller; 0 for any number.
    pub policies: u32,
    /// Lists as a whole that a reseller may have on their way at a time, on a node; 0 for any number.
    pub downloads: u32,
}

impl Default for Caps {
    fn default() -> Self {
        Self { failures_to_pause: 100, open_orders: 10_000, policies: 1000, downloads: 8 }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { rates: BTreeMap::new(), caps: Caps::default(), patience: Duration::from_millis(250), help: None }
    }
}

impl LimitSettings {
    /// No limits but the caps: for tests, and for those who ask for it.
    pub fn none() -> Self {
        Self::default()
    }

    /// What holds where nothing else is said.
    pub fn usual() -> Self {
        const fn number(number: u32) -> NonZeroU32 {
            NonZeroU32::new(number).expect("none of these numbers is zero")
        }
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        let requests = Rate::per_second(number(50), number(200));
        Self::none()
            .with(Limit::Requests, Some(requests))
            .with(Limit::Strangers, Some(requests))
            .with(Limit::NewAccountsOfAddress, Some(Rate::new(number(500), hour)))
            .with(Limit::NewAccountsOfCredential, Some(Rate::new(number(500), hour)))
            .with(Limit::NewOrdersOfAddress, Some(Rate::new(number(10_000), hour)))
            .with(Limit::NewOrdersOfAccount, Some(Rate::new(number(3000), hour)))
            .with(Limit::FailedValidations, Some(Rate::new(number(20), hour)))
            .with(Limit::TokensOfAddress, Some(Rate::new(number(120), minute)))
            .with(Limit::RefusalsOfAddress, Some(Rate::new(number(300), minute)))
            .with(Limit::Diagnoses, Some(Rate::new(number(60), minute)))
    }

    #[must_use]
    pub fn with(mut self, limit: Limit, rate: Option<Rate>) -> Self {
        match rate {
            Some(rate) => drop(self.rates.insert(limit, rate)),
            None => drop(self.rates.remove(&limit)),
        }
        self
    }

    pub fn has_rates(&self) -> bool {
        !self.rates.is_empty()
    }

    /// The rate of a limit, where there is one.
    pub fn rate(&self, limit: Limit) -> Option<Rate> {
        self.rates.get(&limit).copied()
    }
}
