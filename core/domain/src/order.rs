//! A certificate order: the one machine behind both doors.

use crate::credential::Kid;
use crate::evidence::ValidationProblem;
use crate::id::{AccountId, AcmeAccountId, AuthorizationId, CertificateId, OrderId, ResellerId};
use crate::identifier::Identifier;
use crate::metadata::Metadata;
use crate::profile::ProfileName;
use crate::status::OrderStatus;
use crate::text::ExternalId;
use crate::time::Timestamp;

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub id: OrderId,
    pub reseller: ResellerId,
    pub account: AccountId,
    /// The credential it was ordered with; the account's first one where none was named.
    pub kid: Kid,
    /// Whether that credential was revoked when the order was made. Only the account's first one may be: who names the
    /// account by its id or e-mail address orders with it, whatever became of it.
    pub kid_was_revoked: bool,
    pub via: Via,
    /// Who ordered it, where that came through ACME.
    pub acme_account: Option<AcmeAccountId>,
    /// The certificate that it is to replace, as RFC 9773 names it.
    pub replaces: Option<String>,
    pub profile: ProfileName,
    /// Each name once, in order.
    pub identifiers: Vec<Identifier>,
    pub authorizations: Vec<AuthorizationId>,
    /// The certificate that is to come of it; the row exists from the beginning.
    pub certificate: CertificateId,
    /// In DER; an ACME order gets it when it is finalized.
    pub csr: Option<Vec<u8>>,
    pub not_before: Option<Timestamp>,
    pub not_after: Option<Timestamp>,
    pub external_id: Option<ExternalId>,
    pub metadata: Metadata,
    pub state: OrderState,
    pub finalized_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Through which door an order came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    Reseller,
    Acme,
}

impl Via {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reseller => "reseller",
            Self::Acme => "acme",
        }
    }
}

/// Where an order stands; whether it has expired is for the clock to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderState {
    Pending,
    Ready,
    Processing { since: Timestamp },
    Valid { at: Timestamp },
    Invalid { at: Timestamp, problem: ValidationProblem },
    Cancelled { at: Timestamp },
}

/// Whether finalizing was new. Asking twice is fine: it is the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finalization {
    Accepted(Order),
    AlreadyAccepted(Order),
}

/// Why an order cannot do this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error("the order was cancelled")]
    Cancelled,
    #[error("the order has failed: {0}")]
    Failed(ValidationProblem),
    #[error("the order expired at {0}")]
    Expired(Timestamp),
    #[error("the order is not ready: not every authorization is valid yet")]
    NotReady,
    #[error("the order is already being issued or is issued; revoke the certificate instead, once it is there")]
    NotCancellable,
}

impl Order {
    /// The status as the reseller API shows it.
    pub fn status(&self, now: Timestamp) -> OrderStatus {
        match &self.state {
            OrderState::Pending | OrderState::Ready if now >= self.expires_at => OrderStatus::Expired,
            OrderState::Pending => OrderStatus::Pending,
            OrderState::Ready => OrderStatus::Ready,
            OrderState::Processing { .. } => OrderStatus::Processing,
            OrderState::Valid { .. } => OrderStatus::Valid,
            OrderState::Invalid { .. } => OrderStatus::Invalid,
            OrderState::Cancelled { .. } => OrderStatus::Cancelled,
        }
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        match self.state {
            OrderState::Pending | OrderState::Ready => now >= self.expires_at,
            OrderState::Processing { .. }
            | OrderState::Valid { .. }
            | OrderState::Invalid { .. }
            | OrderState::Cancelled { .. } => false,
        }
    }

    /// Whether anything can still become of it.
    pub fn is_open(&self, now: Timestamp) -> bool {
        matches!(self.state, OrderState::Pending | OrderState::Ready) && now < self.expires_at
    }

    /// An open order ends no later than what it stands on.
    pub fn end_by(mut self, end: Timestamp, now: Timestamp) -> Self {
        if end < self.expires_at {
            self.expires_at = end;
            self.updated_at = now;
        }
        self
    }

    /// Every authorization is valid now.
    pub fn make_ready(mut self, now: Timestamp) -> Self {
        if self.state == OrderState::Pending {
            self.state = OrderState::Ready;
            self.updated_at = now;
        }
        self
    }

    /// That it has not ended without a certificate; otherwise how it did.
    pub fn require_alive(&self, now: Timestamp) -> Result<(), OrderError> {
        match &self.state {
            OrderState::Cancelled { .. } => Err(OrderError::Cancelled),
            OrderState::Invalid { problem, .. } => Err(OrderError::Failed(problem.clone())),
            OrderState::Pending | OrderState::Ready if now >= self.expires_at => {
                Err(OrderError::Expired(self.expires_at))
            }
            OrderState::Pending | OrderState::Ready | OrderState::Processing { .. } | OrderState::Valid { .. } => {
                Ok(())
            }
        }
    }

    /// Asks for the certificate.
    pub fn finalize(mut self, now: Timestamp) -> Result<Finalization, OrderError> {
        self.require_alive(now)?;
        match &self.state {
            OrderState::Processing { .. } | OrderState::Valid { .. } => Ok(Finalization::AlreadyAccepted(self)),
            OrderState::Pending | OrderState::Invalid { .. } | OrderState::Cancelled { .. } => {
                Err(OrderError::NotReady)
            }
            OrderState::Ready => {
                self.state = OrderState::Processing { since: now };
                self.finalized_at = Some(now);
                self.updated_at = now;
                Ok(Finalization::Accepted(self))
            }
        }
    }

    /// Ends an order that is not yet being issued.
    pub fn cancel(mut self, now: Timestamp) -> Result<Self, OrderError> {
        self.require_alive(now)?;
        match &self.state {
            OrderState::Pending | OrderState::Ready => {
                self.state = OrderState::Cancelled { at: now };
                self.updated_at = now;
                Ok(self)
            }
            OrderState::Processing { .. }
            | OrderState::Valid { .. }
            | OrderState::Invalid { .. }
            | OrderState::Cancelled { .. } => Err(OrderError::NotCancellable),
        }
    }

    /// The certificate is there.
    pub fn complete(mut self, now: Timestamp) -> Result<Self, OrderError> {
        match &self.state {
            OrderState::Processing { .. } => {
                self.state = OrderState::Valid { at: now };
                self.updated_at = now;
                Ok(self)
            }
            OrderState::Pending | OrderState::Ready | OrderState::Valid { .. } => Err(OrderError::NotReady),
            OrderState::Invalid { problem, .. } => Err(OrderError::Failed(problem.clone())),
            OrderState::Cancelled { .. } => Err(OrderError::Cancelled),
        }
    }

    /// Takes the asking back, where whoever asked may ask again later: they are suspended, say. Anything but
    /// an order that is being issued stays as it is.
    pub fn put_back(mut self, now: Timestamp) -> Self {
        match self.state {
            OrderState::Processing { .. } => {
                self.state = OrderState::Ready;
                self.finalized_at = None;
                self.updated_at = now;
            }
            OrderState::Pending
            | OrderState::Ready
            | OrderState::Valid { .. }
            | OrderState::Invalid { .. }
            | OrderState::Cancelled { .. } => {}
        }
        self
    }

    /// Nothing can become of it any more. An order that has ended stays as it ended. A problem with a long text is cut.
    pub fn fail(mut self, problem: ValidationProblem, now: Timestamp) -> Self {
        match self.state {
            OrderState::Pending | OrderState::Ready | OrderState::Processing { .. } => {
                self.state = OrderState::Invalid { at: now, problem: problem.bounded() };
                self.updated_at = now;
            }
            OrderState::Valid { .. } | OrderState::Invalid { .. } | OrderState::Cancelled { .. } => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::evidence::ProblemKind;

    const END: Timestamp = Timestamp::from_secs(1000);

    fn order(state: OrderState) -> Order {
        let nil = Uuid::nil();
        let at = Timestamp::from_secs(0);
        Order {
            id: OrderId::from_uuid(nil),
            reseller: ResellerId::from_uuid(nil),
            account: AccountId::from_uuid(nil),
            kid: Kid::from_uuid(nil),
            kid_was_revoked: false,
            via: Via::Reseller,
            acme_account: None,
            replaces: None,
            profile: ProfileName::parse("TLS-90d").unwrap(),
            identifiers: vec![Identifier::parse("example.com").unwrap()],
            authorizations: vec![AuthorizationId::from_uuid(nil)],
            certificate: CertificateId::from_uuid(nil),
            csr: None,
            not_before: None,
            not_after: None,
            external_id: None,
            metadata: Metadata::default(),
            state,
            finalized_at: None,
            expires_at: END,
            created_at: at,
            updated_at: at,
            version: 1,
        }
    }

    fn problem() -> ValidationProblem {
        ValidationProblem { kind: ProblemKind::Dns, detail: "no such name".to_owned() }
    }

    fn every_state() -> [OrderState; 6] {
        let at = Timestamp::from_secs(1);
        [
            OrderState::Pending,
            OrderState::Ready,
            OrderState::Processing { since: at },
            OrderState::Valid { at },
            OrderState::Invalid { at, problem: problem() },
            OrderState::Cancelled { at },
        ]
    }

    #[test]
    fn only_a_ready_order_is_accepted_for_issuing_and_only_once() {
        let now = Timestamp::from_secs(10);
        let outcomes = every_state().map(|state| match order(state).finalize(now) {
            Ok(Finalization::Accepted(order)) => order.status(now).to_string(),
            Ok(Finalization::AlreadyAccepted(_)) => "again".to_owned(),
            Err(error) => error.to_string(),
        });
        assert_eq!(
            outcomes,
            [
                "the order is not ready: not every authorization is valid yet",
                "processing",
                "again",
                "again",
                "the order has failed: dns: no such name",
                "the order was cancelled",
            ]
        );
    }

    #[test]
    fn an_order_expires_by_the_clock_unless_it_is_being_issued() {
        let statuses = every_state().map(|state| order(state).status(END).as_str());
        assert_eq!(statuses, ["expired", "expired", "processing", "valid", "invalid", "cancelled"]);
        assert_eq!(order(OrderState::Ready).finalize(END), Err(OrderError::Expired(END)));
    }

    #[test]
    fn what_is_being_issued_cannot_be_cancelled() {
        let now = Timestamp::from_secs(10);
        let cancelled = every_state().map(|state| order(state).cancel(now).is_ok());
        assert_eq!(cancelled, [true, true, false, false, false, false]);
    }

    #[test]
    fn only_an_order_that_is_being_issued_is_put_back_and_can_then_be_finalized_again() {
        let now = Timestamp::from_secs(10);
        let put_back = every_state().map(|state| order(state).put_back(now).status(now).as_str());
        assert_eq!(put_back, ["pending", "ready", "ready", "valid", "invalid", "cancelled"]);
        let Ok(Finalization::Accepted(accepted)) = order(OrderState::Ready).finalize(now) else { panic!("ready") };
        let again = accepted.put_back(now);
        assert_eq!(again.finalized_at, None);
        assert!(matches!(again.clone().finalize(now), Ok(Finalization::Accepted(_))));
        assert_eq!(again.finalize(END), Err(OrderError::Expired(END)));
    }

    #[test]
    fn an_order_that_has_ended_stays_as_it_ended() {
        let now = Timestamp::from_secs(10);
        let failed = every_state().map(|state| order(state).fail(problem(), now).status(now).as_str());
        assert_eq!(failed, ["invalid", "invalid", "invalid", "valid", "invalid", "cancelled"]);
        let completed = every_state().map(|state| order(state).complete(now).is_ok());
        assert_eq!(completed, [false, false, true, false, false, false]);
    }
}
