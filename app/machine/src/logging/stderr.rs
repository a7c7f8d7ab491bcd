//! Standard error as the log writes to it: whoever reads it may stop doing so, and must not stop the service with that.
//!
//! A pipe, a socket or a terminal that nobody reads takes no more at some time, and then whoever writes to it waits. So it is
//! asked before whether it has room; lines that it has none for are counted and left out, and the next that fits says how many.

use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tracing_subscriber::fmt::MakeWriter;

/// How long the first line that finds no room is waited with. The others are not, until it has gone well for a while.
const PATIENCE: Duration = Duration::from_secs(1);
const A_WHILE: Duration = Duration::from_secs(10);
/// A pipe that has room has it for so much (`PIPE_BUF`, pipe(7)).
const AT_ONCE: usize = 4096;

/// All lines go through one: between asking and writing nobody else of us takes the room.
pub(super) struct Stderr {
    state: Mutex<State>,
    /// Whether lines are JSON.
    json: bool,
}

struct State {
    /// Lines that were left out since the last that was not.
    lost: u64,
    /// Whether a line was begun and could not be ended.
    broken: bool,
    /// Until when there is no patience.
    hurried: Option<Instant>,
}

impl Stderr {
    pub(super) const fn new(json: bool) -> Self {
        Self { state: Mutex::new(State { lost: 0, broken: false, hurried: None }), json }
    }

    fn line(&self, line: &[u8]) {
        let state = &mut *self.state.lock();
        if state.hurried.is_some_and(|until| Instant::now() >= until) {
            state.hurried = None;
        }
        if state.lost > 0 {
            let gap = self.gap(state);
            if state.write(gap.as_bytes()).is_err() {
                state.lost += 1;
                return;
            }
            state.lost = 0;
        }
        if state.write(line).is_err() {
            state.lost += 1;
        }
    }

    fn gap(&self, state: &State) -> String {
        let message = format!("{} lines of the log were left out: nobody read it", state.lost);
        match self.json {
            true => {
                format!("{}\n", serde_json::json!({"level": "WARN", "message": message, "target": "chancery_machine"}))
            }
            false => format!(" WARN {message}\n"),
        }
    }
}

impl State {
    /// Writes all of it, as long as there is room. What is broken for good is no reason to wait: it takes whatever comes.
    fn write(&mut self, line: &[u8]) -> Result<(), Full> {
        let began = Instant::now();
        let written = self.write_parts(line);
        // Whoever reads slowly must not hold everybody up again and again either.
        if written.is_err() || began.elapsed() > PATIENCE / 10 {
            self.hurried = Some(Instant::now() + A_WHILE);
        }
        written
    }

    fn write_parts(&mut self, line: &[u8]) -> Result<(), Full> {
        if self.broken {
            put(b"\n", Duration::ZERO)?;
            self.broken = false;
        }
        for (place, part) in line.chunks(AT_ONCE).enumerate() {
            let patience = if self.hurried.is_some() { Duration::ZERO } else { PATIENCE };
            put(part, patience).inspect_err(|Full| self.broken = place > 0)?;
        }
        Ok(())
    }
}

/// Writes a line for somebody at a terminal or in a log, unless nobody takes it.
pub fn tell(line: &str) {
    let _ = format!("{line}\n").as_bytes().chunks(AT_ONCE).try_for_each(|part| put(part, PATIENCE));
}

/// There is no room for it.
struct Full;

fn put(part: &[u8], patience: Duration) -> Result<(), Full> {
    let stderr = io::stderr();
    if !has_room(&stderr, patience) {
        return Err(Full);
    }
    match stderr.lock().write_all(part) {
        // It is one that never waits.
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Full),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn has_room(stderr: &io::Stderr, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().try_into().unwrap_or(1), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(stderr, PollFlags::OUT)], Some(&left)) {
            // A signal came.
            Err(Errno::INTR) => {}
            Ok(0) => return false,
            // Where it cannot be asked, and where it was closed, writing says so at once.
            Ok(_) | Err(_) => return true,
        }
    }
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
