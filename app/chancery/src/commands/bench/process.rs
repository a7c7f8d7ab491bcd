//! What a process of this machine has used so far, as Linux tells it.

use std::fs;
use std::time::Duration;

use crate::failure::Failure;

/// A process, by its number.
pub struct Process(u32);

/// CPU time since its start, and the memory that is in use now.
pub struct Used {
    pub cpu: Duration,
    /// Resident, in bytes.
    pub memory: u64,
}

impl Process {
    pub fn of(number: u32) -> Self {
        Self(number)
    }

    pub fn used(&self) -> Result<Used, Failure> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.0)).ok();
        let used = read("stat").zip(read("status")).and_then(|(stat, status)| used(&stat, &status));
        used.ok_or_else(|| Failure::usage(format!("there is no process {} to look at", self.0)))
    }
}

fn used(stat: &str, status: &str) -> Option<Used> {
    // After the name in brackets, the 12th and 13th fields are user and system time in hundredths of a second.
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(2);
    let hundredths: u64 = fields.map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = resident.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Used { cpu: Duration::from_millis(hundredths * 10), memory: kibibytes * 1024 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_and_memory_are_read_past_a_name_with_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 5 0 100 0 0";
        let status = "Name:\ta) b\nVmPeak:\t  99 kB\nVmRSS:\t  2048 kB\nThreads:\t5\n";
        let used = used(stat, status).unwrap();
        assert_eq!((used.cpu, used.memory), (Duration::from_secs(2), 2 * 1024 * 1024));
    }
}
