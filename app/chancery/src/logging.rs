//! The log: readable in a terminal, JSON elsewhere, always on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::installation::{LogChoice, LogFormat};

/// The DNS library warns of each answer that it does not like, in full, and whoever orders a certificate can send those;
/// what was wrong is in the challenge's attempts.
const QUIET: &str = "hickory_net=off,hickory_proto=off";

/// Starts logging as it was chosen; `RUST_LOG` goes over the level. A second call does nothing.
pub fn start(choice: &LogChoice) {
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new(format!("{QUIET},{}", choice.level)));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let terminal = std::io::stderr().is_terminal();
    let human = match choice.format {
        LogFormat::Auto => terminal,
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Whoever started it first keeps it: there is one log a process.
    let _ = if human {
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        builder.with_ansi(colours).with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init()
    };
}
