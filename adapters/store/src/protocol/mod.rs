//! PostgreSQL's protocol as the thread that owns a connection speaks it: it writes all that it asks, then reads all answers.
//!
//! The server says once that it is ready, behind the last statement, and passes over everything behind one that it refuses. A
//! driver that anybody may ask at any time has the server say so after each statement, which sends a packet and wakes a
//! thread every time, and would go on behind a refusal.

mod address;
mod error;
#[cfg(test)]
pub(crate) mod fake;
mod row;
mod session;
mod socket;
mod startup;

pub use address::{PostgresAddress, Server};
pub(crate) use error::Error;
pub(crate) use row::{Cursor, Row};
pub(crate) use session::{Answer, Session, Statement, Unsent};
