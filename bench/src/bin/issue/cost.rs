//! What a server has used up so far: CPU by thread, and what its own metrics say.

use std::fs;

use chancery_bench::Server;

/// Seconds since the server started, or between two looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) cpu: f64,
    /// Of the threads that speak to the database.
    pub(crate) store_cpu: f64,
    /// Judging CSRs, linting, signing and checking signatures: all of it CPU.
    pub(crate) crypto: f64,
    /// Units of work from their beginning to their end, waiting for the disk included.
    pub(crate) store_wait: f64,
    /// Looks at names, waiting for the other side included.
    pub(crate) validation: f64,
}

impl Cost {
    pub(crate) async fn of(server: &Server) -> Self {
        let metrics = server.admin.request(http::Method::GET, "/metrics", None).await.unwrap();
        let metrics = metrics.text();
        let total = |name: &str| -> f64 {
            let lines = metrics.lines().filter(|line| line.starts_with(&format!("{name}_seconds_sum")));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        let threads = threads(server.id());
        let cpu_of =
            |wanted: &dyn Fn(&str) -> bool| threads.iter().filter(|(name, _)| wanted(name)).map(|(_, cpu)| cpu).sum();
        Self {
            cpu: cpu_of(&|_| true),
            store_cpu: cpu_of(&|name| name.starts_with("store-")),
            crypto: total("chancery_crypto"),
            store_wait: total("chancery_store_unit"),
            validation: total("chancery_validation"),
        }
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            cpu: self.cpu - before.cpu,
            store_cpu: self.store_cpu - before.store_cpu,
            crypto: self.crypto - before.crypto,
            store_wait: self.store_wait - before.store_wait,
            validation: self.validation - before.validation,
        }
    }
}

/// The threads of a process by name, with the CPU seconds each has used.
fn threads(process: u32) -> Vec<(String, f64)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let read = |task: std::io::Result<fs::DirEntry>| -> Option<(String, f64)> {
        let stat = fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let name = head.split_once('(')?.1.to_owned();
        // After the name: the 12th and 13th fields are user and system time in hundredths of a second.
        let mut times = tail.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
        Some((name, (times.next()? + times.next()?) / 100.0))
    };
    tasks.filter_map(read).collect()
}
