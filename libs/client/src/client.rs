//! The client: what every operation goes through.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};
use serde_json::Value;

use crate::account::Accounts;
use crate::authorization::Authorization;
use crate::base_url::BaseUrl;
use crate::builder::ClientBuilder;
use crate::certificate::Certificates;
use crate::eab::EabCredentials;
use crate::error::{Error, TransportError};
use crate::event::Events;
use crate::group::AccountGroups;
use crate::order::Orders;
use crate::pause::Pauses;
use crate::policy::Policies;
use crate::request::RawRequest;
use crate::response::Response;
use crate::token::AccessToken;
use crate::transport::Transport;
use crate::webhook::Webhooks;

/// Speaks to one service as one reseller. Clones share connections and token.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    base: BaseUrl,
    transport: Transport,
    authorization: Authorization,
    timeout: Duration,
}

/// The nouns of the API.
impl Client {
    /// Root accounts of customers.
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts { client: self }
    }

    /// EAB credentials for ACME clients.
    pub fn eab(&self) -> EabCredentials<'_> {
        EabCredentials { client: self }
    }

    /// Account groups, who is in them, and which policies they have.
    pub fn groups(&self) -> AccountGroups<'_> {
        AccountGroups { client: self }
    }

    /// Names that are paused, because their validation failed too often.
    pub fn pauses(&self) -> Pauses<'_> {
        Pauses { client: self }
    }

    /// Certificate orders, their authorizations and challenges.
    pub fn orders(&self) -> Orders<'_> {
        Orders { client: self }
    }

    /// Certificates: listed, fetched, revoked.
    pub fn certificates(&self) -> Certificates<'_> {
        Certificates { client: self }
    }

    /// What has happened.
    pub fn events(&self) -> Events<'_> {
        Events { client: self }
    }

    /// Where you are told of what happens.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks { client: self }
    }

    /// Issuance policies.
    pub fn policies(&self) -> Policies<'_> {
        Policies { client: self }
    }
}

impl Client {
    /// Begins a client for the service at this URL: `https`, or `http` on this machine.
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(base_url.into())
    }

    /// Sends a request with the client's token and, where given, a JSON body, and brings the answer whatever its
    /// status. As [`raw`](Self::raw).
    pub async fn request(
        &self,
        method: Method,
        target: impl Into<String>,
        body: Option<Value>,
    ) -> Result<Response, Error> {
        let request = RawRequest::new(method, target);
        self.raw(match &body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    /// Sends a request as it is written, exactly once, and brings the answer whatever its status. A token is fetched
    /// before where one is needed; a 401 is an answer like any other.
    pub async fn raw(&self, request: RawRequest) -> Result<Response, Error> {
        self.in_time(async {
            let authorization = self.authorization_for(&request).await?;
            self.exchange(&request, authorization.as_ref()).await
        })
        .await
    }

    /// What the client sends as `Authorization` now, fetched where need be; nothing for a client without credentials.
    pub async fn authorization(&self) -> Result<Option<HeaderValue>, Error> {
        self.in_time(self.shared.authorization.current(&self.shared.transport)).await
    }

    /// The access token that was fetched, for a later client to begin with; nothing is fetched for this.
    pub async fn access_token(&self) -> Option<AccessToken> {
        self.shared.authorization.known().await
    }

    /// Sends the request of a typed operation, after a 401 once more with another token, and brings an answer of 2xx.
    pub(crate) async fn call(&self, request: RawRequest) -> Result<Response, Error> {
        self.in_time(async {
            let authorization = self.authorization_for(&request).await?;
            let response = self.exchange(&request, authorization.as_ref()).await?;
            if response.status != StatusCode::UNAUTHORIZED {
                return response.success();
            }
            let Shared { authorization: source, transport, .. } = &*self.shared;
            match source.instead_of(authorization.as_ref(), transport).await? {
                // Who is not known to the server has changed nothing there, so that any request may be repeated.
                Some(other) => self.exchange(&request, Some(&other)).await?.success(),
                None => response.success(),
            }
        })
        .await
    }

    pub(crate) fn new(base: BaseUrl, transport: Transport, authorization: Authorization, timeout: Duration) -> Self {
        Self { shared: Arc::new(Shared { base, transport, authorization, timeout }) }
    }

    async fn authorization_for(&self, request: &RawRequest) -> Result<Option<HeaderValue>, Error> {
        if let Some(fault) = &request.fault {
            return Err(Error::Unsendable(fault.clone()));
        }
        if !request.authorized || request.headers.contains_key(header::AUTHORIZATION) {
            return Ok(None);
        }
        self.shared.authorization.current(&self.shared.transport).await
    }

    async fn exchange(&self, request: &RawRequest, authorization: Option<&HeaderValue>) -> Result<Response, Error> {
        let uri = self.shared.base.join(&request.target)?;
        let mut headers = request.headers.clone();
        if let Some(value) = authorization {
            headers.insert(header::AUTHORIZATION, value.clone());
        }
        self.shared.transport.send(request.method.clone(), uri, headers, request.body.clone()).await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let limit = self.shared.timeout;
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(TransportError::Timeout(limit).into()))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.shared.base.as_str()).finish_non_exhaustive()
    }
}
