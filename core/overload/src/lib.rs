//! Load limits: every rule by which the service refuses or delays work to protect itself and its other tenants.
//!
//! Five mechanisms enforce them:
//!
//! - **Token buckets** ([`RateLimits`], [`LocalRateLimiter`]) bound how often something happens.
//! - **Fair permits** ([`FairPermits`]) bound how much runs at once and hand free capacity to tenants in turn.
//! - **Adaptive concurrency** ([`ConcurrencyLimit`], [`InFlight`]) sheds new work once a node has more than it finishes in time.
//! - **Caps** ([`Caps`], [`KeyedCap`]) bound how many of a thing may exist, or how large it may be.
//! - **Fair time** bounds how long one tenant occupies the database. The store implements it; this crate only names it.
//!
//! [`Limit`] lists them all. A refusal carries its `Limit` to the response (member `limit`), the access log (field `limit`) and
//! the metric `chancery_limit_refusals_total` (label `limit`). This crate decides and counts; it knows no HTTP and no SQL.

mod adaptive;
mod buckets;
mod client_network;
mod concurrency;
mod fair_permits;
mod in_flight;
mod keyed_cap;
mod limit;
mod local;
mod rate;
mod rate_limits;
mod reservation;
mod settings;
mod sync;
mod tables;

pub use client_network::{ClientNetwork, client_network};
pub use concurrency::{ConcurrencyLimit, MAX_UNSENT, RequestPermit, ResponsePermit};
pub use fair_permits::{FairPermit, FairPermits};
pub use in_flight::{InFlight, InFlightGuard, MAX_IN_FLIGHT};
pub use keyed_cap::{KeyedCap, KeyedCapGuard};
pub use limit::{Limit, Mechanism};
pub use local::LocalRateLimiter;
pub use rate::{Decision, Rate};
pub use rate_limits::RateLimits;
pub use reservation::Reservation;
pub use settings::{Caps, LimitSettings};
pub use sync::{BucketStoreError, Refill, RefillRequest, SharedBuckets};
