//! Keeps the warnings and errors of the log for the console: what the log shows, and nothing that it does not.

use std::fmt;

use chancery_domain::Clock;
use chancery_service::{Severity, Trouble, Troubles};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::system::SystemClock;

/// Stands behind the filter of the log.
pub(super) struct Keep(pub(super) Troubles);

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let severity = match *event.metadata().level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warning,
            _ => return,
        };
        let mut said = Said::default();
        event.record(&mut said);
        let Said { message, fields } = said;
        let place = event.metadata().target().to_owned();
        self.0.note(Trouble { at: SystemClock.now(), severity, place, message, fields });
    }
}

/// What a line says.
#[derive(Default)]
struct Said {
    message: String,
    fields: Vec<(String, String)>,
}

impl Said {
    fn note(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            name => self.fields.push((name.to_owned(), value)),
        }
    }
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.note(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.note(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::registry;

    use super::*;

    #[test]
    fn warnings_and_errors_that_the_log_shows_are_kept() {
        let troubles = Troubles::default();
        let filter: Targets = "quiet=off,info".parse().unwrap();
        let subscriber = registry().with(Keep(troubles.clone())).with(filter);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("all is well");
            tracing::error!(target: "quiet", "what the log does not show");
            tracing::warn!(target: "dns", name = "a.test", tries = 3, error = %"no answer", "could not {}", "look");
            tracing::error!(target: "disk", "full");
        });
        let kept = troubles.list();
        let shown = |trouble: &Trouble| (trouble.severity, trouble.place.clone(), trouble.message.clone());
        let [full, look] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!(shown(full), (Severity::Error, "disk".to_owned(), "full".to_owned()));
        assert_eq!(shown(look), (Severity::Warning, "dns".to_owned(), "could not look".to_owned()));
        let fields = [("name", "a.test"), ("tries", "3"), ("error", "no answer")];
        assert_eq!(look.fields, fields.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(SystemClock.now().since(look.at).as_secs() < 60);
    }
}
