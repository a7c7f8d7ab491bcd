//! Worlds with limits, and people who come from somewhere.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::{Extension, Router};
use chancery_domain::{ChallengeId, ProblemKind, ValidationProblem};
use chancery_http::PeerAddr;
use chancery_service::{Limit, LimitSettings, Rate, Report, Services, Settings};
use chancery_testkit::TestStore;
use chancery_tests::{Tenant, World, lookup, settings};
use serde_json::Value;

pub(crate) fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// So many in an hour.
pub(crate) fn hourly(count: u32) -> Rate {
    Rate::new(number(count), Duration::from_secs(3600))
}

pub(crate) fn limited(limits: &[(Limit, Rate)]) -> Settings {
    let granted = |all: LimitSettings, (limit, rate): &(Limit, Rate)| all.with(*limit, Some(*rate));
    Settings { limits: limits.iter().fold(LimitSettings::none(), granted), ..settings() }
}

/// The same test on both databases, with these settings.
pub(crate) async fn worlds(settings: &Settings) -> Vec<World> {
    let mut worlds = vec![World::over(TestStore::sqlite(), settings.clone(), Vec::new()).await];
    if let Some(store) = TestStore::postgres() {
        worlds.push(World::over(store, settings.clone(), Vec::new()).await);
    }
    worlds
}

/// A router as it is seen from an address.
pub(crate) fn from(router: &Router, address: &str) -> Router {
    let peer = SocketAddr::new(address.parse().unwrap(), 40_000);
    router.clone().layer(Extension(PeerAddr(peer)))
}

/// Orders a name, has it validated, and the validation fails.
pub(crate) async fn fail(services: &Services, tenant: &Tenant, account: &str, name: &str) -> Value {
    let order = tenant.make_order(account, &[name]).await;
    fail_order(services, tenant, &order).await;
    order
}

pub(crate) async fn fail_order(services: &Services, tenant: &Tenant, order: &Value) {
    for authorization in order["authorizations"].as_array().unwrap() {
        let codes = tenant.codes(&lookup(authorization)).await;
        let challenge = lookup(&codes[0]);
        tenant.post_empty(&format!("/v1/challenge/{challenge}")).await.expect(200);
        let problem = ValidationProblem { kind: ProblemKind::Connection, detail: "nobody answers".to_owned() };
        let report = Report { attempts: Vec::new(), outcome: Err(problem), until: None };
        services.validations.conclude(challenge.parse::<ChallengeId>().unwrap(), report).await.unwrap();
    }
}
