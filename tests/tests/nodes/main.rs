//! Several nodes on one PostgreSQL: real processes, which are killed and stopped, on a real server, which goes away.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod agent;
mod balanced;
mod cluster;
mod failover;
mod full_disk;
mod killed;
mod ledger;
mod letting_in;
mod nonces;
mod outage;
mod postgres;
mod process;
mod proxy;
mod site;
mod token;
mod upgrade;
