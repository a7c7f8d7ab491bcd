//! How far an order has come, so that nobody has to guess why it stands still.

use chancery_domain::{
    Authorization, AuthorizationState, Challenge, ChallengeState, Order, OrderState, ProblemKind, Timestamp,
};
use chancery_wire as wire;

use crate::account::time;

/// The steps in their order. Steps that an ended order never came to are left out.
pub(crate) fn progress(
    order: &Order,
    authorizations: &[Authorization],
    waits_for_logs: bool,
) -> Vec<wire::ProgressStep> {
    let shown: Vec<_> = authorizations.iter().filter_map(Authorization::validation).collect();
    let all_shown = shown.len() == order.identifiers.len();
    let (open, issued, failed) = match &order.state {
        OrderState::Pending | OrderState::Ready | OrderState::Processing { .. } => (true, None, None),
        OrderState::Valid { at } => (false, Some(*at), None),
        OrderState::Invalid { at, problem } => {
            (false, None, Some((failed_step(problem.kind, all_shown), *at, problem)))
        }
        OrderState::Cancelled { .. } => (false, None, None),
    };
    let last = |times: Vec<Timestamp>| times.into_iter().max().filter(|_| all_shown);
    let all_asked = shown.iter().all(|shown| shown.caa.was_asked());
    let reached = [
        ("policy", Some(order.created_at)),
        ("validation", last(shown.iter().map(|shown| shown.at).collect())),
        ("caa", last(shown.iter().map(|shown| shown.caa.checked_at).collect()).filter(|_| all_asked)),
        ("sign", issued),
        ("lint", issued),
        ("publish", issued),
    ];
    let step = |step: &str, status: &str, at: Option<Timestamp>, detail: Option<String>| wire::ProgressStep {
        step: step.to_owned(),
        status: status.to_owned(),
        at: time(at),
        detail,
    };
    let told = |(name, done): (&str, Option<Timestamp>)| match (&failed, done) {
        // It is asked when an order is made, and again in the end.
        (Some((failed, ..)), Some(at)) if *failed == name && name == "policy" => {
            Some(step(name, "done", Some(at), None))
        }
        (Some((failed, ..)), _) if *failed == name => None,
        (_, Some(at)) => Some(step(name, "done", Some(at), None)),
        (_, None) if !open => None,
        (_, None) if name == "validation" => {
            let mut detail = format!("{} of {} names are shown", shown.len(), order.identifiers.len());
            match authorizations.iter().filter(|each| is_verified_now(each)).count() {
                0 => {}
                1 => detail.push_str("; 1 is being verified"),
                many => detail.push_str(&format!("; {many} are being verified")),
            }
            Some(step(name, "waiting", None, Some(detail)))
        }
        (_, None) if name == "sign" && waits_for_logs => {
            let detail = "certificate logs are shown it; too few have promised to publish it so far".to_owned();
            Some(step(name, "waiting", None, Some(detail)))
        }
        (_, None) if name == "sign" && order.state == OrderState::Ready => {
            // Whether it was put back is not written with it.
            let detail = "the order waits to be finalized; if it was before, its events say why it was put back";
            Some(step(name, "waiting", None, Some(detail.to_owned())))
        }
        (_, None) => Some(step(name, "waiting", None, None)),
    };
    let failure = failed.as_ref().map(|(name, at, why)| step(name, "failed", Some(*at), Some(why.to_string())));
    reached.into_iter().filter_map(told).chain(failure).collect()
}

fn is_verified_now(authorization: &Authorization) -> bool {
    let under_way = |challenge: &Challenge| matches!(challenge.state, ChallengeState::Processing { .. });
    authorization.state == AuthorizationState::Pending && authorization.challenges.iter().any(under_way)
}

/// Where an order failed.
fn failed_step(kind: ProblemKind, all_shown: bool) -> &'static str {
    match kind {
        ProblemKind::Caa => "caa",
        ProblemKind::Connection
        | ProblemKind::Dns
        | ProblemKind::IncorrectResponse
        | ProblemKind::Malformed
        | ProblemKind::Tls
        | ProblemKind::Unauthorized
        | ProblemKind::RejectedIdentifier
        | ProblemKind::BadCsr
        | ProblemKind::ServerInternal
            if !all_shown =>
        {
            "validation"
        }
        ProblemKind::BadCsr | ProblemKind::ServerInternal => "sign",
        // The account, its credential or a policy stood against it in the end.
        ProblemKind::Connection
        | ProblemKind::Dns
        | ProblemKind::IncorrectResponse
        | ProblemKind::Malformed
        | ProblemKind::Tls
        | ProblemKind::Unauthorized
        | ProblemKind::RejectedIdentifier => "policy",
    }
}
