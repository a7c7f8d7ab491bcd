//! Faults on purpose: `dev` as a hostile friend of those who write clients.

use std::sync::Arc;
use std::time::Duration;

use chancery_acme::Faults;
use chancery_dcv::{CaaCheck, Check, Looks, Verified};
use chancery_domain::{Attempt, CaaEvidence, CaaReport, ChallengeType, Clock, Entropy, Identifier};
use chancery_machine::{SystemClock, SystemEntropy};
use chancery_workers::{CaaVerdict, Inspector, Seen};
use clap::Args;

#[derive(Args, Debug)]
#[command(next_help_heading = "Faults on purpose, for authors of ACME clients")]
pub struct HostileArgs {
    /// Reject as many of a hundred good nonces with badNonce [default: 0, and 5 on the listener of --pebble]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    pub reject_nonces: Option<u8>,
    /// Refuse as many of a hundred ACME requests with 429 or 503, and Retry-After in seconds or as a date
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=100))]
    pub refuse: u8,
    /// Wait so long before each look for an answer to a challenge
    #[arg(long, value_name = "SECONDS")]
    pub slow_validation: Option<u64>,
    /// Answer `processing` when an order is finalized: the certificate is there at a later look
    #[arg(long)]
    pub force_processing: bool,
    /// Check CAA records with --pebble as well, as is done without it
    #[arg(long, conflicts_with = "skip_validation")]
    pub caa: bool,
}

impl HostileArgs {
    /// The faults of an ACME listener; `usual` nonces of a hundred are rejected where nothing is said.
    pub fn faults(&self, usual: u8) -> Faults {
        Faults { reject_nonces: self.reject_nonces.unwrap_or(usual), refuse: self.refuse }
    }

    /// What was asked for, in words.
    pub fn told(&self) -> Vec<String> {
        let nonces = self.reject_nonces.map(|percent| format!("{percent} % of nonces rejected"));
        let refused = (self.refuse > 0).then(|| format!("{} % of requests refused", self.refuse));
        let slow = self.slow_validation.map(|seconds| format!("looks {seconds} s late"));
        let processing = self.force_processing.then(|| "orders are processing first".to_owned());
        [nonces, refused, slow, processing].into_iter().flatten().collect()
    }
}

/// How long to wait before a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    For(Duration),
    /// A random time, up to this.
    UpTo(Duration),
}

impl Pause {
    async fn wait(self) {
        let time = match self {
            Self::For(time) => time,
            Self::UpTo(most) => {
                let entropy: &dyn Entropy = &SystemEntropy;
                most.mul_f64(f64::from(u32::from_be_bytes(entropy.bytes::<4>())) / f64::from(u32::MAX))
            }
        };
        tokio::time::sleep(time).await;
    }
}

/// Looks later than it could, and not at CAA records where that is not wanted.
pub struct HostileInspector {
    /// None takes every name for shown.
    pub usual: Option<Arc<dyn Inspector>>,
    pub pause: Option<Pause>,
    pub caa: bool,
}

impl HostileInspector {
    fn asked(&self) -> Option<&Arc<dyn Inspector>> {
        self.usual.as_ref().filter(|_| self.caa)
    }
}

impl Inspector for HostileInspector {
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check, looks: &'a Looks) -> Seen<'a, Verified> {
        Box::pin(async move {
            if let Some(pause) = self.pause {
                pause.wait().await;
            }
            match &self.usual {
                Some(usual) => usual.verify(whose, check, looks).await,
                None => Verified::new(Vec::new(), Ok(())),
            }
        })
    }

    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, CaaVerdict> {
        match self.asked() {
            Some(usual) => usual.caa(whose, check),
            None => Box::pin(async { Ok(CaaEvidence::no_records(SystemClock.now())) }),
        }
    }

    fn caa_for_any<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> Seen<'a, CaaReport> {
        match self.asked() {
            Some(usual) => usual.caa_for_any(whose, identifier, account_uri, methods),
            None => Box::pin(async { CaaReport::default() }),
        }
    }

    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> Seen<'a, Attempt> {
        match &self.usual {
            Some(usual) => usual.probe(whose, identifier),
            None => Box::pin(async { Attempt::default() }),
        }
    }
}
