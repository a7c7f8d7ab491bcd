//! Which events cost a token of which rate limit. Front ends report events here and word the refusal; they know no rates.

use std::sync::Arc;

use chancery_domain::{AccountId, ResellerId};
use chancery_overload::{Decision, Limit, RateLimits, Reservation, client_network};
use parking_lot::Mutex;

use crate::caller::Origin;
use crate::error::ServiceError;

/// The rate rules of the front ends; clones share the buckets.
#[derive(Clone)]
pub struct RateRules {
    limits: RateLimits,
}

impl RateRules {
    pub(crate) fn new(limits: RateLimits) -> Self {
        Self { limits }
    }

    /// An authenticated request of a reseller or of one of its customers. The decision is for the response headers.
    pub async fn request(&self, reseller: ResellerId) -> Result<Option<Decision>, ServiceError> {
        self.take(Limit::Requests, &reseller.to_string()).await
    }

    /// An authenticated ACME request. A customer account beyond its own rate does not use up the rate of its reseller.
    pub async fn customer_request(
        &self,
        reseller: ResellerId,
        account: AccountId,
    ) -> Result<Option<Decision>, ServiceError> {
        self.take(Limit::RequestsPerAccount, &account.to_string()).await?;
        self.request(reseller).await
    }

    /// An ACME request that brings its key. Tokens that are set aside for other requests do not pay for it.
    pub fn take_anonymous(&self, origin: &Origin) -> Result<(), ServiceError> {
        // Dropping a reservation takes its token.
        self.reserve_anonymous(origin).map(drop)
    }

    /// Sets a token of an address aside for an ACME request whose sender is not known yet.
    pub fn reserve_anonymous(&self, origin: &Origin) -> Result<Option<Reservation>, ServiceError> {
        let network = client_network(&origin.address);
        let reservation = self.limits.reserve(Limit::AnonymousRequestsPerAddress, &network);
        reservation.map_err(ServiceError::RateLimited)
    }

    /// An ACME request that turned out not to be signed by an active account.
    pub fn charge_anonymous(&self, origin: &Origin) {
        self.limits.charge(Limit::AnonymousRequestsPerAddress, &client_network(&origin.address));
    }

    /// The state of an address's bucket, for the headers of a response that its rate did not refuse.
    pub fn anonymous_state(&self, origin: &Origin) -> Option<Decision> {
        let decision = self.limits.peek(Limit::AnonymousRequestsPerAddress, &client_network(&origin.address))?;
        Some(Decision { retry_after: None, ..decision })
    }

    /// A request to the token endpoint, before its secret is checked.
    pub async fn token_request(&self, origin: &Origin) -> Result<(), ServiceError> {
        self.take(Limit::TokenRequestsPerAddress, &client_network(&origin.address)).await.map(drop)
    }

    /// Refuses an address that has sent too many invalid credentials; takes nothing.
    pub fn check_unauthorized(&self, origin: &Origin) -> Result<(), ServiceError> {
        match self.limits.refusal(Limit::UnauthorizedPerAddress, &client_network(&origin.address)) {
            Some(refusal) => Err(ServiceError::RateLimited(refusal)),
            None => Ok(()),
        }
    }

    /// A request with invalid credentials.
    pub fn charge_unauthorized(&self, origin: &Origin) {
        self.limits.charge(Limit::UnauthorizedPerAddress, &client_network(&origin.address));
    }

    /// An ACME newAccount request whose key has no account yet.
    pub async fn new_acme_account(&self, origin: &Origin) -> Result<(), ServiceError> {
        self.take(Limit::NewAccountsPerAddress, &client_network(&origin.address)).await.map(drop)
    }

    /// An ACME newOrder or newAuthz request for a customer account.
    pub(crate) async fn new_acme_order(&self, origin: &Origin, account: AccountId) -> Result<(), ServiceError> {
        self.take(Limit::NewOrdersPerAddress, &client_network(&origin.address)).await?;
        self.take(Limit::NewOrdersPerAccount, &account.to_string()).await.map(drop)
    }

    /// Sets a token of an account aside for an order through the reseller API, or refuses the order.
    pub(crate) fn reserve_new_order(&self, account: AccountId, token: &OrderToken) -> Result<(), ServiceError> {
        token.release();
        let reserved = self.limits.reserve(Limit::NewOrdersPerAccount, &account.to_string());
        *token.0.lock() = reserved.map_err(ServiceError::RateLimited)?;
        Ok(())
    }

    async fn take(&self, limit: Limit, key: &str) -> Result<Option<Decision>, ServiceError> {
        match self.limits.take(limit, key).await {
            Some(decision) if !decision.allowed() => Err(ServiceError::RateLimited(decision)),
            decision => Ok(decision),
        }
    }
}

/// The token of an order that is being created, by a transaction that may run more than once. If the client hangs up, the token
/// is taken when the transaction has ended.
#[derive(Clone, Default)]
pub(crate) struct OrderToken(Arc<Mutex<Option<Reservation>>>);

impl OrderToken {
    /// Takes the token: the order was created.
    pub(crate) fn spend(&self) {
        drop(self.0.lock().take());
    }

    /// Returns the token: the order was refused, or its transaction runs again.
    pub(crate) fn release(&self) {
        if let Some(token) = self.0.lock().take() {
            token.release();
        }
    }
}
