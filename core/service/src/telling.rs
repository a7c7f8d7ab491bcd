//! What becomes of orders, told where the operator looks: counted, and a line in the log for whatever goes wrong, with
//! the order it belongs to. Told once the unit of work has ended, since a unit may run twice.

use chancery_domain::{
    AuthorizationId, Identifier, Order, OrderId, ProblemKind, ResellerCode, ResellerId, ValidationProblem, messages,
};
use chancery_store::Tx;

use crate::acme::AcmeError;
use crate::audit::discreet;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Names of an order that stand in one line of the log.
const MOST_NAMES: usize = 10;

/// What a line of the log is about.
#[derive(Clone, Copy)]
pub(crate) enum About {
    Order(OrderId),
    Authorization(AuthorizationId),
    /// What was asked for was never made.
    Nothing,
}

/// Counts a new order.
pub(crate) fn created(order: &Order) {
    metrics::counter!("chancery_orders_created_total", "via" => order.via.as_str()).increment(1);
}

/// Counts an order that has its certificate.
pub(crate) fn issued(order: &Order) {
    ended("valid");
    let profile = order.profile.as_str().to_owned();
    metrics::counter!("chancery_certificates_issued_total", "profile" => profile).increment(1);
}

/// Counts orders that were cancelled, and tells of each.
pub(crate) fn cancelled<'a>(by: &Caller, orders: impl IntoIterator<Item = &'a Order>, because: &str) {
    for order in orders {
        ended("cancelled");
        let line = Line { order: Some(order.id), names: listed(&order.identifiers), ..Line::of(by.code.as_str()) };
        line.log("order cancelled", "cancellation", "cancelled", because);
    }
}

impl Kernel {
    /// Counts an order that has failed, and tells why. `step` is where, unless the problem says it better.
    pub(crate) async fn tell_failed(&self, order: OrderId, step: &'static str, problem: &ValidationProblem) {
        let step = match problem.kind {
            ProblemKind::Caa => "caa",
            ProblemKind::RejectedIdentifier => "policy",
            ProblemKind::Connection
            | ProblemKind::Dns
            | ProblemKind::IncorrectResponse
            | ProblemKind::Malformed
            | ProblemKind::Tls
            | ProblemKind::Unauthorized
            | ProblemKind::BadCsr
            | ProblemKind::ServerInternal => step,
        };
        ended(problem.kind.as_str());
        let line = self.line(About::Order(order), None).await;
        line.log("order failed", step, problem.kind.as_str(), &problem.detail);
    }

    /// Tells why control of a name was not shown. `of_order` says whether its order has
    /// failed with it.
    pub(crate) async fn tell_not_shown(
        &self,
        authorization: AuthorizationId,
        of_order: bool,
        problem: &ValidationProblem,
    ) {
        if of_order {
            ended(problem.kind.as_str());
        }
        let line = self.line(About::Authorization(authorization), None).await;
        let step = if problem.kind == ProblemKind::Caa { "caa" } else { "validation" };
        let what = if of_order { "order failed" } else { "authorization failed" };
        line.log(what, step, problem.kind.as_str(), &problem.detail);
    }

    /// Tells that an order waits again for being finalized.
    pub(crate) async fn tell_put_back(&self, order: OrderId, because: &ServiceError) {
        let line = self.line(About::Order(order), None).await;
        line.log("order put back", "issuance", problem_of(because).unwrap_or_default(), &sentence(because));
    }

    /// Tells of a request about an order that was refused; the order stays as it is. Gives the error back.
    pub(crate) async fn tell_refused(
        &self,
        by: &Caller,
        about: About,
        step: &'static str,
        error: ServiceError,
    ) -> ServiceError {
        if let Some(problem) = problem_of(&error) {
            let line = self.line(about, Some(by)).await;
            line.log("order refused", step, problem, &discreet(&sentence(&error)));
        }
        error
    }

    /// Looks up what a line says of an order. What cannot be looked up is left out.
    async fn line(&self, about: About, by: Option<&Caller>) -> Line {
        // Where only warnings are logged, few of these are: nothing is looked up for them.
        if !tracing::enabled!(tracing::Level::INFO) {
            return Line::about(about);
        }
        let code = by.map(|caller| caller.code.clone());
        let known = Line { reseller: code.as_ref().map(ToString::to_string), ..Line::about(about) };
        if let About::Nothing = about {
            return known;
        }
        let read = move |tx: &mut Tx<'_>| look_up(tx, about, code.clone());
        self.store_of(by.map(|caller| caller.reseller)).peek(read).await.ok().flatten().unwrap_or(known)
    }
}

/// What is known of an order, for the log.
#[derive(Default)]
struct Line {
    order: Option<OrderId>,
    authorization: Option<AuthorizationId>,
    reseller: Option<String>,
    names: Option<String>,
}

impl Line {
    fn of(reseller: &str) -> Self {
        Self { reseller: Some(reseller.to_owned()), ..Self::default() }
    }

    fn about(about: About) -> Self {
        match about {
            About::Order(order) => Self { order: Some(order), ..Self::default() },
            About::Authorization(authorization) => Self { authorization: Some(authorization), ..Self::default() },
            About::Nothing => Self::default(),
        }
    }

    /// What strangers have a say in is given as text, which every format of the log quotes.
    fn log(&self, what: &str, step: &str, problem: &str, detail: &str) {
        let order = self.order.as_ref().map(tracing::field::display);
        let authorization = self.authorization.as_ref().map(tracing::field::display);
        let (reseller, name) = (self.reseller.as_deref(), self.names.as_deref());
        if problem == ProblemKind::ServerInternal.as_str() {
            tracing::warn!(order, authorization, reseller, name, step, problem, detail, "{what}");
        } else {
            tracing::info!(order, authorization, reseller, name, step, problem, detail, "{what}");
        }
    }
}

fn look_up(tx: &mut Tx<'_>, about: About, code: Option<ResellerCode>) -> Result<Option<Line>, ServiceError> {
    let (line, reseller) = match about {
        About::Nothing => return Ok(None),
        About::Order(id) => {
            let Some(order) = tx.any_order(id)? else { return Ok(None) };
            (Line { names: listed(&order.identifiers), ..Line::about(about) }, order.reseller)
        }
        About::Authorization(id) => {
            let Some(found) = tx.any_authorization(id)? else { return Ok(None) };
            let names = Some(found.identifier.to_string());
            (Line { order: found.order, names, ..Line::about(about) }, found.reseller)
        }
    };
    let code = code.map_or_else(|| code_of(tx, reseller), |code| Ok(Some(code)))?;
    Ok(Some(Line { reseller: code.map(|code| code.to_string()), ..line }))
}

fn code_of(tx: &mut Tx<'_>, reseller: ResellerId) -> Result<Option<ResellerCode>, ServiceError> {
    Ok(tx.reseller(reseller)?.map(|reseller| reseller.code))
}

fn listed(names: &[Identifier]) -> Option<String> {
    let shown: Vec<_> = names.iter().take(MOST_NAMES).map(ToString::to_string).collect();
    let more = if names.len() > MOST_NAMES { " …" } else { "" };
    Some(format!("{}{more}", shown.join(" ")))
}

fn ended(outcome: &'static str) {
    metrics::counter!("chancery_orders_ended_total", "outcome" => outcome).increment(1);
}

/// The kind of a problem that speaks of an order; none where there is nothing that the caller could see, or where it
/// is only told again what it knows.
fn problem_of(error: &ServiceError) -> Option<&'static str> {
    Some(match error {
        ServiceError::MissingScope(_)
        | ServiceError::NotFound(..)
        | ServiceError::NothingToRevoke(_)
        | ServiceError::AlreadyTried(_)
        | ServiceError::IdempotencyKeyReused
        | ServiceError::BadCursor => return None,
        ServiceError::Account(_) | ServiceError::AcmeAccount(_) | ServiceError::CredentialRevoked(_) => {
            ProblemKind::Unauthorized.as_str()
        }
        ServiceError::Acme(AcmeError::BadCsr(_)) => ProblemKind::BadCsr.as_str(),
        ServiceError::Acme(AcmeError::Rejected(..)) | ServiceError::PolicyViolation(_) => {
            ProblemKind::RejectedIdentifier.as_str()
        }
        ServiceError::Acme(
            AcmeError::BadNonce(_)
            | AcmeError::AccountDoesNotExist(_)
            | AcmeError::Unauthorized(_)
            | AcmeError::NotFound(_)
            | AcmeError::ExternalAccountRequired
            | AcmeError::TermsNotAgreed(_)
            | AcmeError::BadPublicKey(_)
            | AcmeError::KeyInUse(_),
        ) => ProblemKind::Unauthorized.as_str(),
        ServiceError::Acme(
            AcmeError::Malformed(_)
            | AcmeError::AlreadyReplaced(_)
            | AcmeError::AlreadyRevoked
            | AcmeError::BadRevocationReason(_),
        )
        | ServiceError::Invalid(_)
        | ServiceError::NameInUse(..)
        | ServiceError::AccountInUse { .. }
        | ServiceError::OrderExternalIdInUse(_) => ProblemKind::Malformed.as_str(),
        ServiceError::Acme(AcmeError::OtherCsr)
        | ServiceError::Order(_)
        | ServiceError::Authorization(_)
        | ServiceError::OrderNotReady(_) => "orderNotReady",
        ServiceError::QuotaExceeded { .. }
        | ServiceError::RateLimited(_)
        | ServiceError::Failing { .. }
        | ServiceError::TooMany(..) => "rateLimited",
        ServiceError::Overloaded(_) => "busy",
        ServiceError::Paused(_) => "paused",
        ServiceError::Unissuable(problem) => problem.kind.as_str(),
        ServiceError::Overtaken(_)
        | ServiceError::Store(_)
        | ServiceError::Signer(_)
        | ServiceError::Logs(_)
        | ServiceError::Internal(_) => ProblemKind::ServerInternal.as_str(),
    })
}

/// All that is wrong, where an error has a list of it.
fn sentence(error: &ServiceError) -> String {
    if let ServiceError::PolicyViolation(violations) = error {
        return violations.messages();
    }
    if let ServiceError::OrderNotReady(problems) = error {
        return messages(problems);
    }
    error.to_string()
}
