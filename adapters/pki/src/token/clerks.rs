//! Who speaks with a token: threads that do nothing else, each in a session of its own. A module may take its time, or never
//! come back; whoever asks waits for so long and not longer, and a process that ends waits for none of them.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::seat::Seat;
use crate::error::KeyError;

/// How many there are at most; tokens allow a number of sessions, and sign one after the other anyway.
const MOST: usize = 16;
/// How many questions may wait for one of them.
const QUEUE: usize = 1024;
/// How often somebody who waits looks whether another one is needed: who has just begun counts as idle for a moment.
const LOOK: Duration = Duration::from_millis(100);
/// How long they have to close their sessions when nobody needs them any more.
const FAREWELL: Duration = Duration::from_secs(1);

type Question = Box<dyn FnOnce(&mut Option<Seat>) + Send>;

/// The threads of one token. They end with this value.
pub(super) struct Clerks {
    /// There until the end.
    ask: Option<Sender<Question>>,
    asked: Receiver<Question>,
    hired: Mutex<Vec<JoinHandle<()>>>,
    idle: Arc<AtomicUsize>,
}

impl Default for Clerks {
    fn default() -> Self {
        let (ask, asked) = bounded(QUEUE);
        Self { ask: Some(ask), asked, hired: Mutex::default(), idle: Arc::default() }
    }
}

impl Clerks {
    /// Has one of them do something, and waits for what comes of it. What nobody waits for any more is not begun.
    pub(super) fn have<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut Option<Seat>) -> Result<T, KeyError> + Send + 'static,
    ) -> Result<T, KeyError> {
        let (tell, told) = bounded(1);
        let waiting = Arc::new(());
        let waited_for = Arc::downgrade(&waiting);
        let question: Question = Box::new(move |seat| {
            if waited_for.upgrade().is_some() {
                // Nobody listens where it took too long.
                let _ = tell.send(work(seat));
            }
        });
        let busy = || KeyError::Token("too many wait for the token already".to_owned());
        let ask = self.ask.as_ref().ok_or_else(busy)?;
        ask.try_send(question).map_err(|_| busy())?;
        let began = Instant::now();
        loop {
            self.hire_if_all_are_busy()?;
            match told.recv_timeout(LOOK.min(patience)) {
                Ok(answer) => return answer,
                Err(_) if began.elapsed() < patience => {}
                Err(_) => break,
            }
        }
        Err(KeyError::Token(format!("the token does not answer within {} s", patience.as_secs())))
    }

    fn hire_if_all_are_busy(&self) -> Result<(), KeyError> {
        let mut hired = self.hired.lock().unwrap_or_else(PoisonError::into_inner);
        // In this order: who is not idle any more has taken a question away before.
        let idle = self.idle.load(Ordering::SeqCst);
        if self.asked.len() <= idle || hired.len() >= MOST {
            return Ok(());
        }
        let (asked, idle) = (self.asked.clone(), self.idle.clone());
        let one = thread::Builder::new().name("token".to_owned()).spawn(move || attend(&asked, &idle));
        hired.push(one.map_err(|error| KeyError::Token(format!("cannot start a thread: {error}")))?);
        Ok(())
    }
}

impl Drop for Clerks {
    /// Where a process ends, its modules end too, and do not survive being spoken with meanwhile. One that hangs is left.
    fn drop(&mut self) {
        self.ask = None;
        let began = Instant::now();
        let hired = std::mem::take(&mut *self.hired.lock().unwrap_or_else(PoisonError::into_inner));
        while !hired.iter().all(JoinHandle::is_finished) && began.elapsed() < FAREWELL {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn attend(asked: &Receiver<Question>, idle: &AtomicUsize) {
    let mut seat = None;
    loop {
        idle.fetch_add(1, Ordering::SeqCst);
        let question = asked.recv();
        idle.fetch_sub(1, Ordering::SeqCst);
        match question {
            Ok(question) => question(&mut seat),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);
    const LATE: Duration = Duration::from_secs(30);

    #[test]
    fn who_hangs_keeps_nobody_waiting_for_long() {
        let clerks = Clerks::default();
        let (let_go, held) = mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        for _ in 0..MOST {
            let held = held.clone();
            let said = clerks.have(SOON, move |_| {
                let _ = held.lock().unwrap().recv();
                Ok(())
            });
            assert!(said.unwrap_err().to_string().contains("does not answer"));
        }
        // All of them hang.
        let (begun, beginning) = mpsc::channel();
        let said = clerks.have(SOON, move |_| {
            begun.send(()).unwrap();
            Ok(())
        });
        assert!(said.unwrap_err().to_string().contains("does not answer"));
        drop(let_go);
        assert_eq!(clerks.have(LATE, |_| Ok(7)), Ok(7));
        assert!(beginning.try_recv().is_err(), "what nobody waits for is not begun");
        assert_eq!(clerks.hired.lock().unwrap().len(), MOST);
    }

    #[test]
    fn one_is_enough_for_one_after_the_other() {
        let clerks = Clerks::default();
        for number in 0..100 {
            assert_eq!(clerks.have(LATE, move |_| Ok(number)), Ok(number));
            while clerks.idle.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
        }
        assert_eq!(clerks.hired.lock().unwrap().len(), 1);
    }
}
