//! Threads that speak with a token and do nothing else, each in a session of its own. A module may take its time, or never come
//! back: whoever asks waits for so long and not longer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parking_lot::Mutex;

use super::session::KeptSession;
use crate::error::KeyError;

/// How many there are at most; tokens allow a number of sessions, and sign one after the other anyway.
const MOST: usize = 16;
/// How many questions may wait for one of them.
const QUEUE: usize = 1024;
/// How often somebody who waits looks whether another thread is needed: one that has just begun counts as idle for a moment.
const LOOK: Duration = Duration::from_millis(100);
/// How long nobody waits for a token that has not answered, unless it answers meanwhile: who needs several signatures, or comes
/// with many others, does not wait for each.
const SILENCE: Duration = Duration::from_secs(30);
/// How long they have to close their sessions when nobody needs them any more.
const FAREWELL: Duration = Duration::from_secs(1);

type Question = Box<dyn FnOnce(&mut Option<KeptSession>) + Send>;

/// The threads of one token. They end with this value.
pub(super) struct TokenThreads {
    /// There until the end.
    ask: Option<Sender<Question>>,
    asked: Receiver<Question>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    idle: Arc<AtomicUsize>,
    /// Since when the token does not answer.
    silent: Arc<Mutex<Option<Instant>>>,
}

impl Default for TokenThreads {
    fn default() -> Self {
        let (ask, asked) = bounded(QUEUE);
        Self { ask: Some(ask), asked, threads: Mutex::default(), idle: Arc::default(), silent: Arc::default() }
    }
}

impl TokenThreads {
    /// Has one of them do something, and waits for what comes of it. What nobody waits for any more is not begun.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut Option<KeptSession>) -> Result<T, KeyError> + Send + 'static,
    ) -> Result<T, KeyError> {
        self.ask_or_undo(patience, work, drop)
    }

    /// Has one of them do something, and waits for what comes of it; what comes too late is undone.
    pub(super) fn ask_or_undo<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&mut Option<KeptSession>) -> Result<T, KeyError> + Send + 'static,
        undo: impl FnOnce(T) + Send + 'static,
    ) -> Result<T, KeyError> {
        if self.silent.lock().is_some_and(|since| since.elapsed() < SILENCE) {
            return Err(KeyError::Token("the token did not answer a moment ago".to_owned()));
        }
        let (tell, told) = bounded(1);
        let waiting = Arc::new(());
        let (waited_for, silent) = (Arc::downgrade(&waiting), self.silent.clone());
        let question: Question = Box::new(move |session| {
            if waited_for.upgrade().is_none() {
                return;
            }
            let answer = work(session);
            *silent.lock() = None;
            if let Err(late) = tell.send(answer)
                && let Ok(done) = late.into_inner()
            {
                undo(done);
            }
        });
        let busy = || KeyError::Token("too many wait for the token already".to_owned());
        self.ask.as_ref().ok_or_else(busy)?.try_send(question).map_err(|_| busy())?;
        let began = Instant::now();
        loop {
            self.start_one_if_needed()?;
            match told.recv_timeout(LOOK.min(patience)) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if began.elapsed() < patience => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(KeyError::Token("the module of the token broke down".to_owned()));
                }
            }
        }
        *self.silent.lock() = Some(Instant::now());
        let seconds = patience.as_secs();
        Err(KeyError::Token(match self.idle.load(Ordering::SeqCst) == 0 && self.threads.lock().len() >= MOST {
            true => {
                format!("the token does not answer within {seconds} s, and {MOST} calls hang: restart when it is back")
            }
            false => format!("the token does not answer within {seconds} s"),
        }))
    }

    fn start_one_if_needed(&self) -> Result<(), KeyError> {
        let mut threads = self.threads.lock();
        // One that a broken module took along.
        threads.retain(|thread| !thread.is_finished());
        // In this order: who is not idle any more has taken a question away before.
        let idle = self.idle.load(Ordering::SeqCst);
        if self.asked.len() <= idle || threads.len() >= MOST {
            return Ok(());
        }
        let (asked, idle) = (self.asked.clone(), self.idle.clone());
        match thread::Builder::new().name("token".to_owned()).spawn(move || attend(&asked, &idle)) {
            Ok(thread) => threads.push(thread),
            Err(error) if threads.is_empty() => {
                return Err(KeyError::Token(format!("cannot start a thread: {error}")));
            }
            // There are others.
            Err(_) => {}
        }
        Ok(())
    }
}

impl Drop for TokenThreads {
    /// Where a process ends its modules end too, and do not survive being spoken with meanwhile. A call that hangs is left.
    fn drop(&mut self) {
        self.ask = None;
        let began = Instant::now();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            while !thread.is_finished() && began.elapsed() < FAREWELL {
                thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

fn attend(asked: &Receiver<Question>, idle: &AtomicUsize) {
    let mut session = None;
    loop {
        idle.fetch_add(1, Ordering::SeqCst);
        let question = asked.recv();
        idle.fetch_sub(1, Ordering::SeqCst);
        match question {
            Ok(question) => question(&mut session),
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

    /// As if that was long ago.
    fn forget_silence(threads: &TokenThreads) {
        *threads.silent.lock() = None;
    }

    fn why(answer: Result<(), KeyError>) -> String {
        answer.unwrap_err().to_string()
    }

    #[test]
    fn who_hangs_keeps_nobody_waiting_for_long() {
        let threads = TokenThreads::default();
        let (let_go, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for number in 1..=MOST {
            let said = loop {
                let (held, (begun, begins)) = (held.clone(), mpsc::channel());
                let said = threads.ask(SOON, move |_| {
                    begun.send(()).unwrap();
                    let _ = held.lock().recv();
                    Ok(())
                });
                // On a busy machine a thread may come to it too late, and not begin it.
                if begins.recv().is_ok() {
                    break why(said);
                }
                forget_silence(&threads);
            };
            assert!(said.contains("does not answer") && (number == MOST || !said.contains("restart")), "{said}");
            assert!(why(threads.ask(LATE, |_| Ok(()))).contains("a moment ago"), "others are told at once");
            forget_silence(&threads);
        }
        let (begun, beginning) = mpsc::channel();
        let said = threads.ask(SOON, move |_| {
            begun.send(()).unwrap();
            Ok(())
        });
        assert!(why(said).contains("restart when it is back"));
        drop(let_go);
        // Who answers is asked again.
        let began = Instant::now();
        while threads.ask(LATE, |_| Ok(7)) != Ok(7) {
            assert!(began.elapsed() < LATE);
        }
        assert!(beginning.try_recv().is_err(), "what nobody waits for is not begun");
        assert_eq!(threads.threads.lock().len(), MOST);
    }

    #[test]
    fn one_is_enough_for_one_after_the_other() {
        let threads = TokenThreads::default();
        for number in 0..100 {
            assert_eq!(threads.ask(LATE, move |_| Ok(number)), Ok(number));
            while threads.idle.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
        }
        assert_eq!(threads.threads.lock().len(), 1);
    }

    #[test]
    fn what_came_too_late_is_undone() {
        let threads = TokenThreads::default();
        let (let_go, held) = mpsc::channel::<()>();
        let (undone, undoing) = mpsc::channel();
        let work = move |_: &mut Option<KeptSession>| {
            let _ = held.recv();
            Ok(7)
        };
        let said = threads.ask_or_undo(SOON, work, move |made| undone.send(made).unwrap());
        assert!(said.is_err());
        drop(let_go);
        assert_eq!(undoing.recv_timeout(LATE), Ok(7));
    }

    #[test]
    fn a_module_that_breaks_down_is_told_at_once_and_takes_no_thread_along() {
        let threads = TokenThreads::default();
        for _ in 0..2 * MOST {
            let began = Instant::now();
            let said = threads.ask(LATE, |_| -> Result<(), _> { panic!("as libraries do") });
            assert!(why(said).contains("broke down"));
            assert!(began.elapsed() < LATE / 2);
            // Its thread is still ending.
            while threads.threads.lock().iter().any(|thread| !thread.is_finished()) {
                thread::yield_now();
            }
        }
        assert_eq!(threads.ask(LATE, |_| Ok(7)), Ok(7));
    }
}
