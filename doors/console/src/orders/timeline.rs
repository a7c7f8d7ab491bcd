//! The steps of an order, one below the other.

use chancery_domain::{Authorization, AuthorizationState, AuthorizationStatus, Order, OrderState, Timestamp};
use maud::{Markup, html};

use super::attempts;
use crate::parts::pill;
use crate::text::{exact, moment};

/// How far a step is.
#[derive(Clone, Copy)]
enum Mark {
    Done,
    Failed,
    Waiting,
    Open,
}

impl Mark {
    const fn class(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Open => "open",
        }
    }

    /// For those who do not see the colour.
    const fn words(self) -> &'static str {
        match self {
            Self::Done => "Done: ",
            Self::Failed => "Failed: ",
            Self::Waiting => "Under way: ",
            Self::Open => "To come: ",
        }
    }
}

/// The page shows the attempts of further names no more once it has as many bytes of them.
const ATTEMPTS: usize = 2 * 1024 * 1024;

pub(super) fn timeline(order: &Order, authorizations: &[Authorization], now: Timestamp) -> Markup {
    let finalized = order.finalized_at;
    let mut length = 0;
    let steps = authorizations.iter().map(|authorization| {
        let step = of_name(authorization, length < ATTEMPTS, now);
        length += step.0.len();
        step
    });
    let steps: Vec<_> = steps.collect();
    html! {
        ol.timeline {
            (step(Mark::Done, "Ordered", Some(order.created_at), now, html! {
                "Through " (order.via.as_str()) " with the key " span.mono { (order.kid) } ". Policies had nothing against it."
            }))
            @for step in &steps { (step) }
            @match (finalized, &order.state) {
                (Some(at), _) => (step(Mark::Done, "Certificate asked for", Some(at), now, html! {})),
                (None, OrderState::Ready) => (step(Mark::Waiting, "Waits to be finalized", None, now, html! { "Every name is shown." })),
                (None, OrderState::Pending) => (step(Mark::Open, "Certificate asked for", None, now, html! {})),
                (None, OrderState::Processing { .. } | OrderState::Valid { .. } | OrderState::Invalid { .. } | OrderState::Cancelled { .. }) => {}
            }
            @match &order.state {
                OrderState::Pending | OrderState::Ready if order.is_expired(now) => {
                    (step(Mark::Failed, "Expired", Some(order.expires_at), now, html! { "It was not finished in time." }))
                }
                OrderState::Pending | OrderState::Ready => (step(Mark::Open, "Issued", None, now, html! { "Until " (exact(order.expires_at)) " at the latest." })),
                OrderState::Processing { since } => (step(Mark::Waiting, "Being issued", Some(*since), now, html! { "Checked, linted and signed." })),
                OrderState::Valid { at } => {
                    (step(Mark::Done, "Issued", Some(*at), now, html! {
                        "Linted, signed and kept. " a href={ "/console/certificates/" (order.certificate) } { "To the certificate" }
                    }))
                }
                OrderState::Invalid { at, problem } => (step(Mark::Failed, "Failed", Some(*at), now, html! { strong { (problem.kind.as_str()) } ": " (problem.detail) })),
                OrderState::Cancelled { at } => (step(Mark::Failed, "Cancelled", Some(*at), now, html! {})),
            }
        }
    }
}

fn step(mark: Mark, title: &str, at: Option<Timestamp>, now: Timestamp, body: Markup) -> Markup {
    html! {
        li class=(mark.class()) {
            div.row {
                h3 { span.hidden { (mark.words()) } (title) }
                @if let Some(at) = at { span.when { (moment(at, now)) } }
            }
            div.break { (body) }
        }
    }
}

/// One name: whether control was shown, how, and every attempt if they are to be shown.
fn of_name(authorization: &Authorization, with_attempts: bool, now: Timestamp) -> Markup {
    let tried = authorization.tried();
    let (mark, at) = match &authorization.state {
        AuthorizationState::Valid(validation) => (Mark::Done, Some(validation.at)),
        AuthorizationState::Pending if tried.is_some() => (Mark::Waiting, None),
        AuthorizationState::Pending => (Mark::Open, None),
        AuthorizationState::Invalid { at }
        | AuthorizationState::Deactivated { at }
        | AuthorizationState::Revoked { at } => (Mark::Failed, Some(*at)),
    };
    let title = format!("Control of {}", authorization.identifier);
    step(
        mark,
        &title,
        at,
        now,
        html! {
            p {
                (pill(authorization.status(now).as_str()))
                @match authorization.validation() {
                    Some(validation) => {
                        " by " (validation.method)
                        @if validation.source != authorization.id { ", shown for an earlier order" }
                        @if validation.caa.was_asked() {
                            ". CAA: " @match &validation.caa.found_at {
                                Some(name) => { "allowed by the records of " (name) }
                                None => "no records"
                            }
                        }
                    }
                    None => {
                        @if tried.is_none() && authorization.status(now) == AuthorizationStatus::Pending { " No challenge was chosen yet." }
                    }
                }
            }
            @if with_attempts {
                @for challenge in authorization.challenges.iter().filter(|challenge| challenge.was_tried()) {
                    (attempts::of(challenge, now))
                }
            } @else if tried.is_some() {
                p.muted { "What was seen is not shown on this page, which would be too long. The API shows it." }
            }
        },
    )
}
