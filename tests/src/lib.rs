//! The whole service in one process, for tests that speak to it as its users do.

mod acme;
mod copies;
mod csr;
mod flood;
mod issuing;
mod logs;
mod long;
mod making;
mod node;
mod programs;
mod tenant;
mod together;
mod world;

pub use acme::{ACME_URL, AcmeClient, csr_der, der, identifiers, path};
pub use csr::{csr, csr_by, csr_with};
pub use flood::Flood;
pub use issuing::fail_all;
pub use logs::{LogPlace, LogPlaces, all_be, start_logs};
pub use long::{LongThings, long_name};
pub use making::lookup;
pub use node::{Node, VERSION};
pub use programs::{node_script, node_script_with};
pub use tenant::{Reply, Tenant};
pub use together::{at_once, count};
pub use world::{START, World, settings, unhurried};

/// Writes each test once for SQLite and once for PostgreSQL: `sqlite::name` and `postgres::name`.
///
/// A test is `async fn name(world: World)`. Without a PostgreSQL server its half says so and passes, unless one is
/// required (as `scripts/test` does).
#[macro_export]
macro_rules! on_both_databases {
    ($($(#[$attribute:meta])* async fn $name:ident($world:ident: World) $body:block)*) => {
        $(async fn $name($world: $crate::World) $body)*

        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            $(#[$attribute])*
            async fn $name() {
                super::$name($crate::World::sqlite().await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            $(#[$attribute])*
            async fn $name() {
                if let Some(world) = $crate::World::postgres().await {
                    super::$name(world).await;
                }
            })*
        }
    };
}
