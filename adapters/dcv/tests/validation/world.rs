//! What the tests share: a resolver on loopback, and a validator that asks it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Check, Dnssec, Timeouts, Validator, ValidatorConfig, Verified};
use chancery_domain::{Attempt, ChallengeType, Identifier, ProblemKind};
use chancery_testkit::dns::TestDns;
use chancery_testkit::{FrozenClock, SeededEntropy};

pub(crate) const TOKEN: &str = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";
pub(crate) const KEY_AUTHORIZATION: &str =
    "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI";
/// Of the key authorization: SHA-256 in base64url.
pub(crate) const DIGEST: &str = "LPsIwTo7o8BoG0-vjCyGQGBWSVIPxI-i_X336eUOQZo";
/// The URL of the ACME account whose key it is.
pub(crate) const ACCOUNT_URI: &str = "https://example.com/acme/acct/ExampleAccount";
pub(crate) const PATH: &str = "/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";

/// Any port of loopback.
pub(crate) const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

pub(crate) struct World {
    pub(crate) dns: TestDns,
    /// Change it before the first validator is made.
    pub(crate) config: ValidatorConfig,
}

impl World {
    /// Looks once, and lets itself be led to loopback.
    pub(crate) async fn new() -> Self {
        let dns = TestDns::start().await;
        let config = ValidatorConfig {
            resolvers: vec![dns.address()],
            dnssec: Dnssec::Unchecked,
            allow_special_addresses: true,
            retry_window: Duration::ZERO,
            timeouts: Timeouts {
                // No test waits for these, however busy the machine is.
                look: Duration::from_secs(20),
                connect: Duration::from_secs(10),
                dns: Duration::from_secs(8),
                caa: Duration::from_secs(20),
            },
            ca_domains: vec!["ca.test".to_owned()],
            ..ValidatorConfig::default()
        };
        Self { dns, config }
    }

    pub(crate) fn validator(&self) -> Validator {
        validator(self.config.clone())
    }

    pub(crate) async fn verify(&self, identifier: &str, kind: ChallengeType) -> Verified {
        self.validator().verify("", &check(identifier, kind)).await
    }
}

pub(crate) fn validator(config: ValidatorConfig) -> Validator {
    let clock = Arc::new(FrozenClock::default());
    Validator::new(config, clock, Arc::new(SeededEntropy::new(1))).expect("the configuration works")
}

pub(crate) fn check(identifier: &str, kind: ChallengeType) -> Check {
    Check {
        identifier: Identifier::parse(identifier).unwrap(),
        kind,
        token: TOKEN.to_owned(),
        key_authorization: KEY_AUTHORIZATION.to_owned(),
        account_uri: ACCOUNT_URI.to_owned(),
    }
}

/// The one attempt of a verification that went well.
pub(crate) fn shown(verified: Verified) -> Attempt {
    assert_eq!(verified.outcome, Ok(()), "{:#?}", verified.attempts);
    only_attempt(verified)
}

/// The one attempt of a verification that failed for such a problem.
pub(crate) fn refused(verified: Verified, kind: ProblemKind) -> (Attempt, String) {
    let problem = verified.outcome.clone().expect_err("it is refused");
    assert_eq!(problem.kind, kind, "{problem}");
    let attempt = only_attempt(verified);
    assert_eq!(attempt.problem, Some(problem.clone()));
    (attempt, problem.detail)
}

fn only_attempt(mut verified: Verified) -> Attempt {
    assert_eq!(verified.attempts.len(), 1, "{:#?}", verified.attempts);
    verified.attempts.remove(0)
}
