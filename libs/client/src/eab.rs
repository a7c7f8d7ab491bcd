//! `/v1/eab-credential` and `/v1/account/{lookup}/eab-credential`: credentials for ACME clients.

use std::fmt::Display;

use chancery_wire::{Account, EabAuthorization, EabCredentialList, EabCredentialRequest, SuccessResponse};

use crate::client::Client;
use crate::error::Error;
use crate::page::{PageQuery, Pages};
use crate::path::route;
use crate::request::RawRequest;
use crate::response::Replayable;

/// EAB credentials. An account is named by any of its lookups, a credential by its `kid`.
#[derive(Debug, Clone, Copy)]
pub struct EabCredentials<'a> {
    pub(crate) client: &'a Client,
}

impl EabCredentials<'_> {
    /// Creates a further credential of an account. The answer alone has its HMAC key.
    pub async fn create(&self, account: impl Display) -> Result<EabAuthorization, Error> {
        self.client.call(RawRequest::post(route!("/v1/account/{}/eab-credential", account))).await?.json()
    }

    /// As [`create`](Self::create), with a label or limits.
    pub async fn create_with(
        &self,
        account: impl Display,
        request: &EabCredentialRequest,
    ) -> Result<EabAuthorization, Error> {
        let path = route!("/v1/account/{}/eab-credential", account);
        self.client.call(RawRequest::post(path).json(request)).await?.json()
    }

    /// As [`create_with`](Self::create_with), but the same request with the same key makes one credential.
    pub async fn create_once(
        &self,
        account: impl Display,
        request: &EabCredentialRequest,
        key: &str,
    ) -> Result<Replayable<EabAuthorization>, Error> {
        let path = route!("/v1/account/{}/eab-credential", account);
        self.client.call(RawRequest::post(path).json(request).idempotency_key(key)).await?.replayable()
    }

    /// A credential, also a revoked one.
    pub async fn get(&self, kid: impl Display) -> Result<Account, Error> {
        self.client.call(RawRequest::get(route!("/v1/eab-credential/{}", kid))).await?.json()
    }

    /// One page of the credentials of all accounts, newest first.
    pub async fn list(&self, page: PageQuery) -> Result<EabCredentialList, Error> {
        self.client.call(RawRequest::get(route!("/v1/eab-credential")).query(&page.into())).await?.json()
    }

    /// All credentials of all accounts.
    pub fn list_all(&self, page: PageQuery) -> Pages<Account> {
        Pages::new(self.client, route!("/v1/eab-credential"), page)
    }

    /// One page of the credentials of an account, newest first, its first one included.
    pub async fn list_of_account(&self, account: impl Display, page: PageQuery) -> Result<EabCredentialList, Error> {
        let path = route!("/v1/account/{}/eab-credential", account);
        self.client.call(RawRequest::get(path).query(&page.into())).await?.json()
    }

    /// All credentials of an account.
    pub fn list_all_of_account(&self, account: impl Display, page: PageQuery) -> Pages<Account> {
        Pages::new(self.client, route!("/v1/account/{}/eab-credential", account), page)
    }

    /// Revokes a credential: it binds nothing more, and the ACME accounts it bound stop working.
    pub async fn delete(&self, kid: impl Display) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::delete(route!("/v1/eab-credential/{}", kid))).await?.json()
    }
}
