//! Standard error as the log writes to it: whoever reads it may stop doing so, and must not stop the service with that.
//!
//! A pipe, a terminal or a socket that nobody reads takes no more at some time, and then whoever writes to it waits. So it is
//! asked before whether it has room; lines that it has none for are counted and left out, and the next that fits says how many.

use std::io::{self, Write};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing_subscriber::fmt::MakeWriter;

/// How long the first line that finds no room is waited with. As long as it stays so, no other is.
const PATIENCE: Duration = Duration::from_secs(1);
/// A pipe that has room has it for so much (`PIPE_BUF`, pipe(7)).
const AT_ONCE: usize = 4096;

/// All lines go through one: between asking and writing nobody else takes the room.
pub(super) struct Stderr {
    lost: Mutex<u64>,
    /// Whether lines are JSON.
    json: bool,
}

impl Stderr {
    pub(super) const fn new(json: bool) -> Self {
        Self { lost: Mutex::new(0), json }
    }

    fn line(&self, line: &[u8]) {
        let mut lost = self.lost.lock();
        let stderr = io::stderr();
        let patience = if *lost == 0 { PATIENCE } else { Duration::ZERO };
        if *lost > 0 && has_room(&stderr, Duration::ZERO) {
            if write(&stderr, self.gap(*lost).as_bytes(), PATIENCE).is_err() {
                *lost += 1;
                return;
            }
            *lost = 0;
        }
        if write(&stderr, line, patience).is_err() {
            *lost += 1;
        }
    }

    fn gap(&self, lost: u64) -> String {
        let message = format!("{lost} lines of the log were left out: nobody read it");
        match self.json {
            true => {
                format!("{}\n", serde_json::json!({"level": "WARN", "message": message, "target": "chancery_machine"}))
            }
            false => format!(" WARN {message}\n"),
        }
    }
}

/// Writes all of it, as long as there is room. What is broken for good is no reason to wait: it takes whatever comes.
fn write(stderr: &io::Stderr, line: &[u8], patience: Duration) -> Result<(), Full> {
    for (place, part) in line.chunks(AT_ONCE).enumerate() {
        // A line that was begun is worth waiting for: half of one is no use.
        let patience = if place == 0 { patience } else { PATIENCE };
        if !has_room(stderr, patience) {
            return Err(Full);
        }
        let _ = stderr.lock().write_all(part);
    }
    Ok(())
}

/// There is no room for it.
struct Full;

fn has_room(stderr: &io::Stderr, patience: Duration) -> bool {
    let mut asked = [PollFd::new(stderr, PollFlags::OUT)];
    let timeout =
        Timespec { tv_sec: patience.as_secs().try_into().unwrap_or(1), tv_nsec: patience.subsec_nanos().into() };
    // Where it cannot be asked, and where it was closed, writing says so at once.
    !matches!(poll(&mut asked, Some(&timeout)), Ok(0))
}

/// One line, which comes in one piece.
pub(super) struct Line<'a>(&'a Stderr);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}
