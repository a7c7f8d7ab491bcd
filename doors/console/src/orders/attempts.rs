//! What was seen when control of a name was looked for.

use chancery_domain::{Attempt, Challenge, ChallengeState, Timestamp};
use maud::{Markup, html};

use crate::parts::{fact, pill};
use crate::text::moment;

pub(super) fn of(challenge: &Challenge, now: Timestamp) -> Markup {
    let count = challenge.attempts.len();
    let failed = matches!(challenge.state, ChallengeState::Invalid { .. });
    html! {
        // The last look says the same.
        @if let (0, ChallengeState::Invalid { problem, .. }) = (count, &challenge.state) {
            p.break { strong { (problem.kind.as_str()) } ": " (problem.detail) }
        }
        @if count > 0 {
            details open[failed] {
                summary { "What was seen (" (challenge.kind) ", " (crate::text::plural(count as i64, "look")) ")" }
                div.stack { @for attempt in &challenge.attempts { (look(attempt, now)) } }
            }
        }
    }
}

fn look(attempt: &Attempt, now: Timestamp) -> Markup {
    let line = |name: &str, value: &Option<String>| {
        html! {
            @if let Some(value) = value { (fact(name, html! { span.mono { (value) } })) }
        }
    };
    let list = |name: &str, values: &[String]| {
        html! {
            @if !values.is_empty() { (fact(name, html! { @for value in values { span.mono { (value) } br; } })) }
        }
    };
    html! {
        div.attempt {
            div.row {
                (pill(if attempt.problem.is_some() { "failed" } else { "done" }))
                strong { "from " (attempt.perspective) }
                @if attempt.at > 0 { span.muted { (moment(Timestamp::from_millis(attempt.at), now)) } }
            }
            @if let Some(problem) = &attempt.problem { p.break { strong { (problem.kind.as_str()) } ": " (problem.detail) } }
            dl.facts {
                (line("Asked for", &attempt.url))
                (list("Led on to", &attempt.redirects))
                (list("Addresses", &attempt.addresses_resolved))
                (line("Spoken to", &attempt.address_used))
                @if let Some(status) = attempt.http_status { (fact("HTTP status", html! { (status) })) }
                (list("DNS answers", &attempt.dns_answers))
                (line("DNSSEC", &attempt.dnssec))
                (line("Expected", &attempt.expected))
                (line("Found", &attempt.actual))
            }
        }
    }
}
