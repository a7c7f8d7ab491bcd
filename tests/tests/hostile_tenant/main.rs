//! A hostile tenant: every operation of the reseller API, every resource of ACME and every page of the console with the largest
//! permitted input, against a store that the tenant has filled to its caps and with more than one page of the longest rows.
//!
//! The tests assert what is deterministic: bytes of each response, rows of each transaction, bytes stored by refused requests, and
//! the limits that refusals name. `bench/hostile` measures memory and the latency of a well-behaved tenant. An operation or ACME
//! resource without a request fails the suite.
#![allow(clippy::unwrap_used, reason = "a test may panic on a broken assumption")]

mod acme;
#[allow(dead_code, reason = "shared with the tests of the console, which use more of it")]
#[path = "../console/browser.rs"]
mod browser;
mod console;
mod filled;
mod long;
mod measure;
mod reseller;
#[allow(dead_code, reason = "shared with the sweep, which uses more of it")]
#[path = "../sweep/table.rs"]
mod table;
#[allow(dead_code, reason = "shared with the sweep, which uses more of it")]
#[path = "../sweep/things.rs"]
mod things;

/// The longest response body of any operation.
const MAX_RESPONSE: usize = 4 * 1024 * 1024;
/// The most bytes that a refused request stores.
const MAX_REFUSAL: u64 = 16 * 1024;
/// The most rows that one transaction changes: 100 dependent rows and what goes with them, such as the resource itself, a counter,
/// an audit record and a job.
const MAX_ROWS: u64 = 105;
/// The most rows of the transaction that creates an order of 100 names: an authorization and an entry of the index of
/// certificates for each, and what goes with them.
const MAX_ROWS_OF_NEW_ORDER: u64 = 205;
