//! The log: readable in a terminal, JSON elsewhere, always on standard error. And traces, where somebody collects them.

mod keep;
mod stderr;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal;
use std::panic::PanicHookInfo;

use chancery_service::Troubles;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

use self::keep::Keep;
use self::stderr::Stderr;
pub use self::stderr::tell;
use crate::telemetry::{self, Sending, Telemetry};

/// The DNS library warns of each answer that it does not like, in full, and whoever orders a certificate can send those;
/// what was wrong is in the challenge's attempts.
const QUIET: &str = "hickory_net=off,hickory_proto=off";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogChoice {
    pub format: LogFormat,
    pub level: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people in a terminal, JSON elsewhere.
    Auto,
    Human,
    Json,
}

/// Why there is no log.
#[derive(Debug)]
pub enum LogError {
    /// There can be no collector under the URL that was given.
    Collector(String),
    Threads(std::io::Error),
}

/// The log of this process.
pub struct Log {
    /// Its newest warnings and errors.
    pub troubles: Troubles,
    /// Traces are sent until this is dropped.
    _sending: Option<Sending>,
}

/// Whether it is a level, or levels of parts of the program (`info,chancery_store=debug`).
pub fn check_level(text: &str) -> Result<(), String> {
    read_levels(text).map(drop)
}

/// A word alone is a level here. To the library it may also be a part of the program, and the only one that is heard:
/// then whoever mistypes a level has no log.
fn read_levels(text: &str) -> Result<Targets, String> {
    for word in text.split(',').filter(|word| !word.contains('=')) {
        // An empty one counts as a level, too.
        if word.trim().is_empty() || word.trim().parse::<LevelFilter>().is_err() {
            return Err(format!("{word:?} is not a level; use error, warn, info, debug, trace or off"));
        }
    }
    text.parse().map_err(|error: ParseError| error.to_string())
}

/// Starts logging as it was chosen, for this version of the program; `RUST_LOG` goes over the level. A second call does nothing.
pub fn start_log(choice: &LogChoice, telemetry: Option<&Telemetry>, version: &'static str) -> Result<Log, LogError> {
    let wanted = std::env::var("RUST_LOG").ok().filter(|wanted| !wanted.is_empty());
    let wanted = wanted.map(|wanted| read_levels(&wanted).map_err(|error| format!("RUST_LOG is left aside: {error}")));
    let (wanted, misheard) = match wanted.transpose() {
        Ok(wanted) => (wanted, None),
        Err(error) => (None, Some(error)),
    };
    let chosen = || read_levels(&format!("{QUIET},{}", choice.level));
    let filter = wanted.map_or_else(chosen, Ok).unwrap_or_else(|_| Targets::new().with_default(Level::INFO));
    let terminal = std::io::stderr().is_terminal();
    let human = match choice.format {
        LogFormat::Auto => terminal,
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let colours = human && terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let troubles = Troubles::default();
    let lines = lines(human, colours).and_then(Keep(troubles.clone()));
    std::panic::set_hook(Box::new(tell_of_panic));
    // Whoever started it first keeps it: there is one log a process.
    let sending = match telemetry {
        // The filter is the whole registry's: what nobody logs is not even made.
        None => {
            let _ = registry().with(lines).with(filter).try_init();
            None
        }
        Some(telemetry) => {
            let (traces, sending) = telemetry::start(telemetry, version)?;
            let _ = registry().with(lines.with_filter(filter)).with(traces).try_init();
            Some(sending)
        }
    };
    if let Some(misheard) = misheard {
        tracing::warn!("{misheard}");
    }
    Ok(Log { troubles, _sending: sending })
}

/// A panic is a fault of the program, wherever it is caught: it stands in the log, with what was being done.
fn tell_of_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string);
    // Only where RUST_BACKTRACE asks for it.
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    tracing::error!(location, backtrace, "panicked: {}", panic.payload_as_str().unwrap_or("without a word"));
}

fn lines<S>(human: bool, colours: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = fmt::layer().with_writer(Stderr::new(!human));
    match human {
        true => lines.with_ansi(colours).with_target(false).boxed(),
        false => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_alone_is_a_level() {
        for good in ["info", "WARN", "off", "info,chancery_store=debug", "chancery_store=debug", "info, hyper=off"] {
            assert_eq!(check_level(good), Ok(()), "{good}");
        }
        for bad in ["", "warning", "loud", "inf o", "info,", "chancery_store", "chancery=loud", "garbage[["] {
            assert!(check_level(bad).is_err(), "{bad}");
        }
        assert_eq!(
            check_level("warning").unwrap_err(),
            "\"warning\" is not a level; use error, warn, info, debug, trace or off"
        );
    }
}
