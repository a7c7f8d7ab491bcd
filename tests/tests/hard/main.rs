//! Hard times: restored databases, full and failing disks, wrong clocks, too little of everything.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod clock;
mod disk;
mod ending;
mod restoring;
mod retention;
mod scarcity;
mod server;
