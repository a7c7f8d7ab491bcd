//! Rate limits, pauses, caps and usage, as those who meet them see them.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod addresses;
mod anonymous;
mod bytes;
mod caps;
mod common;
mod diagnosing;
mod failing;
mod fair_time;
mod lists;
mod nodes;
mod orders;
mod pauses;
mod turns;
mod usage;
mod written;
