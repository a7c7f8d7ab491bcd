//! The log: readable in a terminal, JSON elsewhere, always on standard error. And traces, where somebody collects them.

mod keep;

use std::io::IsTerminal;

use chancery_service::Troubles;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

use self::keep::Keep;
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

/// Whether it is a level, or levels of parts of the program, as `RUST_LOG` has them.
pub fn check_level(text: &str) -> Result<(), String> {
    text.parse::<Targets>().map(drop).map_err(|error| error.to_string())
}

/// Starts logging as it was chosen, for this version of the program; `RUST_LOG` goes over the level. A second call does nothing.
pub fn start_log(choice: &LogChoice, telemetry: Option<&Telemetry>, version: &'static str) -> Result<Log, LogError> {
    let wanted =
        std::env::var("RUST_LOG").ok().filter(|wanted| !wanted.is_empty()).and_then(|wanted| wanted.parse().ok());
    let chosen = || format!("{QUIET},{}", choice.level).parse();
    let filter: Targets = wanted.map_or_else(chosen, Ok).unwrap_or_else(|_| Targets::new().with_default(Level::INFO));
    let terminal = std::io::stderr().is_terminal();
    let human = match choice.format {
        LogFormat::Auto => terminal,
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let colours = human && terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let troubles = Troubles::default();
    let lines = lines(human, colours).and_then(Keep(troubles.clone()));
    // Whoever started it first keeps it: there is one log a process.
    let Some(telemetry) = telemetry else {
        // The filter is the whole registry's: what nobody logs is not even made.
        let _ = registry().with(lines).with(filter).try_init();
        return Ok(Log { troubles, _sending: None });
    };
    let (traces, sending) = telemetry::start(telemetry, version)?;
    let _ = registry().with(lines.with_filter(filter)).with(traces).try_init();
    Ok(Log { troubles, _sending: Some(sending) })
}

fn lines<S>(human: bool, colours: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = fmt::layer().with_writer(std::io::stderr);
    match human {
        true => lines.with_ansi(colours).with_target(false).boxed(),
        false => lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed(),
    }
}
