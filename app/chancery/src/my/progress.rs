//! A line that tells what is being waited for: moving on a terminal, written once for each change elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(200);
const FRAMES: [char; 4] = ['|', '/', '-', '\\'];

pub struct Progress {
    moving: bool,
    silent: bool,
    began: Instant,
    last: String,
    frame: usize,
}

impl Progress {
    /// Silent where a script listens.
    pub fn begin(silent: bool) -> Self {
        let moving = io::stderr().is_terminal() && !silent;
        Self { moving, silent, began: Instant::now(), last: String::new(), frame: 0 }
    }

    /// Waits, and shows that it does.
    pub async fn pause(&mut self, pause: Duration, text: &str) {
        let end = Instant::now() + pause;
        loop {
            self.tell(text);
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(TICK)).await;
        }
    }

    pub fn tell(&mut self, text: &str) {
        let text: String = text.chars().filter(|letter| !letter.is_control()).take(100).collect();
        if self.moving {
            self.frame = (self.frame + 1) % FRAMES.len();
            let (frame, seconds) = (FRAMES[self.frame], self.began.elapsed().as_secs());
            write(&format!("\r\x1b[K{frame} {text} ({seconds} s)"));
        } else if !self.silent && text != self.last {
            write(&format!("{text}\n"));
        }
        self.last = text;
    }
}

/// The line is gone when nothing is waited for any more.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.moving {
            write("\r\x1b[K");
        }
    }
}

/// Nobody to tell it to where standard error is closed.
fn write(text: &str) {
    let mut stderr = io::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
