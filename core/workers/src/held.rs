//! The jobs that this process has, at work or waiting for a place.

use std::collections::HashMap;
use std::sync::Arc;

use chancery_service::{Job, JobKind};
use parking_lot::Mutex;

type Key = (JobKind, String);

#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<HashMap<Key, Entry>>>);

struct Entry {
    job: Job,
    /// It came again meanwhile: its subject may have changed since it was looked at.
    again: Option<Job>,
}

impl Held {
    /// Takes a job in hand and gives it back to be done, unless it is in hand already: then it is noted.
    pub(crate) fn take(&self, job: Job) -> Option<Job> {
        let mut held = self.0.lock();
        if let Some(entry) = held.get_mut(&key(&job)) {
            entry.again = Some(job);
            return None;
        }
        held.insert(key(&job), Entry { job: job.clone(), again: None });
        Some(job)
    }

    /// Lets go of a job that has been done; or gives it back, if it came again meanwhile.
    pub(crate) fn release(&self, job: &Job) -> Option<Job> {
        let mut held = self.0.lock();
        let again = held.get_mut(&key(job)).and_then(|entry| entry.again.take());
        if again.is_none() {
            held.remove(&key(job));
        }
        again
    }

    /// Lets go of a job whose work panics: its lease ends, and it is tried again.
    pub(crate) fn guard(&self, job: &Job) -> Guard {
        Guard { held: self.clone(), key: key(job) }
    }

    /// Every job in hand.
    pub(crate) fn all(&self) -> Vec<Job> {
        self.0.lock().values().map(|entry| entry.job.clone()).collect()
    }
}

pub(crate) struct Guard {
    held: Held,
    key: Key,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.held.0.lock().remove(&self.key);
        }
    }
}

fn key(job: &Job) -> Key {
    (job.kind, job.subject.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(subject: &str, attempts: i64) -> Job {
        Job { kind: JobKind::Validate, subject: subject.to_owned(), attempts, reseller: None }
    }

    #[test]
    fn a_job_that_panics_is_let_go() {
        let held = Held::default();
        let job = held.take(job("a", 1)).unwrap();
        let guard = held.guard(&job);
        let panicked = std::thread::spawn(move || {
            let _guard = guard;
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert_eq!(held.all(), []);
        drop(held.guard(&job));
    }

    #[test]
    fn a_job_is_in_hand_once_and_is_done_again_if_it_came_again() {
        let held = Held::default();
        assert_eq!(held.take(job("a", 1)), Some(job("a", 1)));
        assert_eq!(held.take(job("b", 1)), Some(job("b", 1)));
        assert_eq!(held.take(job("a", 2)), None);
        assert_eq!(held.take(job("a", 3)), None);
        assert_eq!(held.all().len(), 2);
        assert_eq!(held.release(&job("a", 1)), Some(job("a", 3)));
        assert_eq!(held.release(&job("a", 3)), None);
        assert_eq!(held.all(), [job("b", 1)]);
        assert_eq!(held.take(job("a", 1)), Some(job("a", 1)));
    }
}
