//! Worlds with limits, and people who come from somewhere.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::{Extension, Router};
use chancery_http::PeerAddr;
use chancery_overload::{Limit, LimitSettings, Rate};
use chancery_service::Settings;
use chancery_testkit::TestStore;
use chancery_tests::{World, settings};

pub(crate) fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// So many in an hour.
pub(crate) fn hourly(count: u32) -> Rate {
    Rate::new(number(count), Duration::from_secs(3600))
}

/// The database is waited for, however slow it is: who gives up waiting for it may grant more.
pub(crate) fn limited(limits: &[(Limit, Rate)]) -> Settings {
    let granted = |all: LimitSettings, (limit, rate): &(Limit, Rate)| all.with(*limit, Some(*rate));
    let mut granted = limits.iter().fold(LimitSettings::none(), granted);
    granted.patience = Duration::from_secs(30);
    Settings { limits: granted, ..settings() }
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
