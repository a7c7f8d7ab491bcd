//! What tests share: a frozen clock, seeded randomness, servers and databases to throw away.

mod builders;
mod clock;
pub mod der;
pub mod dns;
mod entropy;
pub mod log;
mod ports;
pub mod postgres;
mod store;
pub mod tls_alpn;
pub mod tokens;
pub mod web;

pub use builders::Builders;
pub use clock::FrozenClock;
pub use entropy::SeededEntropy;
pub use ports::free_port;
pub use store::{Address, TestStore};
