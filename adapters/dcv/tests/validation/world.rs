//! What the tests share: a resolver on loopback, and a validator that asks it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Check, Timeouts, Validator, ValidatorConfig, Verified};
use chancery_domain::{Attempt, ChallengeType, Identifier, ProblemKind};
use chancery_testkit::dns::TestDns;
use chancery_testkit::{FrozenClock, SeededEntropy};

pub const TOKEN: &str = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";
pub const KEY_AUTHORIZATION: &str =
    "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI";
/// Of the key authorization: SHA-256 in base64url.
pub const DIGEST: &str = "9Uybf0JHj_1Gc5z9hJyuFOUVrADg4sGpgO1l3bH21Ds";
pub const PATH: &str = "/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";

/// Any port of loopback.
pub const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

pub struct World {
    pub dns: TestDns,
    /// Change it before the first validator is made.
    pub config: ValidatorConfig,
}

impl World {
    /// Looks once, and lets itself be led to loopback.
    pub async fn new() -> Self {
        let dns = TestDns::start().await;
        let config = ValidatorConfig {
            resolvers: vec![dns.address()],
            allow_special_addresses: true,
            retry_window: Duration::ZERO,
            timeouts: Timeouts {
                look: Duration::from_secs(5),
                connect: Duration::from_millis(500),
                dns: Duration::from_millis(500),
                caa: Duration::from_secs(5),
            },
            ca_domains: vec!["ca.test".to_owned()],
            ..ValidatorConfig::default()
        };
        Self { dns, config }
    }

    pub fn validator(&self) -> Validator {
        validator(self.config.clone())
    }

    pub async fn verify(&self, identifier: &str, kind: ChallengeType) -> Verified {
        self.validator().verify(&check(identifier, kind)).await
    }
}

pub fn validator(config: ValidatorConfig) -> Validator {
    let clock = Arc::new(FrozenClock::default());
    Validator::new(config, clock, Arc::new(SeededEntropy::new(1))).expect("the configuration works")
}

pub fn check(identifier: &str, kind: ChallengeType) -> Check {
    Check {
        identifier: Identifier::parse(identifier).unwrap(),
        kind,
        token: TOKEN.to_owned(),
        key_authorization: KEY_AUTHORIZATION.to_owned(),
    }
}

/// The one attempt of a verification that went well.
pub fn shown(verified: Verified) -> Attempt {
    assert_eq!(verified.outcome, Ok(()), "{:#?}", verified.attempts);
    only_attempt(verified)
}

/// The one attempt of a verification that failed for such a problem.
pub fn refused(verified: Verified, kind: ProblemKind) -> (Attempt, String) {
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

/// A port of loopback that nobody listens on.
pub async fn closed_port() -> u16 {
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(ANY)).await.unwrap();
    listener.local_addr().unwrap().port()
}
