//! What the program has of its machine, and every request makes use of: memory, the clock, randomness, the log, traces.
//!
//! It stands apart from the rest of the program because that is wiring, which is not optimised: see `profile.release` of the
//! workspace.

mod logging;
mod memory;
mod system;
mod telemetry;

pub use logging::{Log, LogChoice, LogError, LogFormat, check_level, start_log, tell};
pub use system::{SystemClock, SystemEntropy};
pub use telemetry::{Telemetry, collector};
