//! What a change costs, and what it costs others.

use std::fmt;
use std::time::{Duration, Instant};

use chancery_service::JobKind;

use crate::stage::Stage;

/// How long a transaction may keep the writer of SQLite.
const MOST: Duration = Duration::from_millis(250);
/// How often somebody else writes a row meanwhile.
const OTHERS: Duration = Duration::from_millis(10);

pub(crate) const HEADER: &str = "\
| change | answered after | done after | most rows | longest transaction | others wait, p99 | others wait, longest | |
|---|---:|---:|---:|---:|---:|---:|---|";

pub(crate) struct Figures {
    answered: Duration,
    done: Duration,
    rows: u64,
    longest: Duration,
    waits: Vec<Duration>,
}

/// Makes a change, and writes a row again and again until all that follows from it is done.
pub(crate) async fn figures(stage: &Stage<'_>, change: impl Future<Output = ()>) -> Figures {
    let store = &stage.world.store;
    // What was added before is copied into the file before that.
    store.empty_log().unwrap();
    store.take_write_peaks();
    let (began, mut answered, mut waits) = (Instant::now(), Duration::ZERO, Vec::new());
    let writing = async {
        loop {
            let (sent, now) = (Instant::now(), stage.world.services.now());
            store.write(move |tx| tx.probe("bench", now)).await.unwrap();
            waits.push(sent.elapsed());
            tokio::time::sleep(OTHERS).await;
        }
    };
    let ending = async {
        change.await;
        answered = began.elapsed();
        while under_way(stage).await {
            tokio::time::sleep(OTHERS).await;
        }
    };
    tokio::select! {
        () = writing => {}
        () = ending => {}
    }
    let (done, peaks) = (began.elapsed(), store.take_write_peaks());
    waits.sort();
    Figures { answered, done, rows: peaks.rows, longest: peaks.time, waits }
}

async fn under_way(stage: &Stage<'_>) -> bool {
    let queues = stage.world.services.jobs.backlog().await.unwrap();
    queues.iter().any(|queue| queue.kind == JobKind::Cascade && queue.jobs > 0)
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
        let percentile = self.waits.get(self.waits.len() * 99 / 100).or(self.waits.last()).copied();
        let longest = self.waits.last().copied().unwrap_or_default();
        let verdict = if self.longest > MOST { "**too long**" } else { "" };
        write!(
            f,
            "| {} | {:.1} s | {} | {} | {} | {} | {verdict} |",
            millis(self.answered),
            self.done.as_secs_f64(),
            self.rows,
            millis(self.longest),
            millis(percentile.unwrap_or_default()),
            millis(longest),
        )
    }
}
