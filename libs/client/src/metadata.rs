//! `/.well-known/oauth-authorization-server`: what a client can find out about its token endpoint (RFC 8414).

use serde::Deserialize;

use crate::client::Client;
use crate::error::Error;
use crate::path::route;
use crate::request::RawRequest;

/// What a service tells those who want a token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServiceMetadata {
    /// Where tokens are had.
    pub token_endpoint: String,
    /// What to ask for as `audience`; only our own service tells.
    pub chancery_audience: Option<String>,
}

impl Client {
    /// How to get a token here. Needs none and fetches none.
    pub async fn metadata(&self) -> Result<ServiceMetadata, Error> {
        let path = route!("/.well-known/oauth-authorization-server");
        self.call(RawRequest::get(path).without_token()).await?.json()
    }
}
