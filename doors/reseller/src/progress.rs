//! How far an order has come, so that nobody has to guess why it stands still.

use chancery_domain::{Authorization, Order, OrderState, ProblemKind, Timestamp};
use chancery_wire::ProgressStep;

/// The steps in their order: those that are done, and then either the one that failed or all that are still to come.
pub(crate) fn progress(order: &Order, authorizations: &[Authorization]) -> Vec<ProgressStep> {
    let shown: Vec<_> = authorizations.iter().filter_map(Authorization::validation).collect();
    let all_shown = shown.len() == order.identifiers.len();
    let validated = shown.iter().map(|validation| validation.at).max().filter(|_| all_shown);
    let caa = shown.iter().map(|validation| validation.caa.checked_at).max().filter(|_| all_shown);
    let detail = (!all_shown).then(|| format!("{} of {} names are shown", shown.len(), order.identifiers.len()));
    let mut steps = vec![done("policy", order.created_at)];
    match &order.state {
        OrderState::Pending | OrderState::Ready | OrderState::Processing { .. } => {
            steps.push(validated.map_or_else(|| waiting("validation", detail), |at| done("validation", at)));
            steps.push(caa.map_or_else(|| waiting("caa", None), |at| done("caa", at)));
            steps.extend(["lint", "sign", "publish"].map(|name| waiting(name, None)));
        }
        OrderState::Valid { at } => {
            steps.extend(validated.map(|at| done("validation", at)));
            steps.extend(caa.map(|at| done("caa", at)));
            steps.extend(["lint", "sign", "publish"].map(|name| done(name, *at)));
        }
        OrderState::Invalid { at, problem } => {
            let name = match (all_shown, problem.kind == ProblemKind::Caa) {
                (_, true) => "caa",
                (false, false) => "validation",
                (true, false) => "sign",
            };
            let before = [("validation", validated), ("caa", caa)].into_iter().take_while(|(step, _)| *step != name);
            steps.extend(before.filter_map(|(step, at)| at.map(|at| done(step, at))));
            let (status, at) = ("failed".to_owned(), Some(at.to_string()));
            steps.push(ProgressStep { step: name.to_owned(), status, at, detail: Some(problem.detail.clone()) });
        }
        // Whatever had been shown was given up with it.
        OrderState::Cancelled { .. } => {}
    }
    steps
}

fn done(step: &str, at: Timestamp) -> ProgressStep {
    ProgressStep { step: step.to_owned(), status: "done".to_owned(), at: Some(at.to_string()), detail: None }
}

fn waiting(step: &str, detail: Option<String>) -> ProgressStep {
    ProgressStep { step: step.to_owned(), status: "waiting".to_owned(), at: None, detail }
}
