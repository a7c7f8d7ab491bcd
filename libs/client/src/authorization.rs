//! What a request shows of who sends it.

use http::HeaderValue;

use crate::error::Error;
use crate::token::{AccessToken, Tokens};
use crate::transport::Transport;

/// Where the `Authorization` header comes from.
pub(crate) enum Authorization {
    /// Nowhere: requests have none.
    Anonymous,
    /// From the caller: a token or an API key.
    Fixed(HeaderValue),
    /// From the token endpoint.
    Fetched(Box<Tokens>),
}

impl Authorization {
    /// What to send now.
    pub(crate) async fn current(&self, transport: &Transport) -> Result<Option<HeaderValue>, Error> {
        match self {
            Self::Anonymous => Ok(None),
            Self::Fixed(value) => Ok(Some(value.clone())),
            Self::Fetched(tokens) => tokens.current(transport).await.map(Some),
        }
    }

    /// The fetched token, where there is one; none is fetched.
    pub(crate) async fn known(&self) -> Option<AccessToken> {
        match self {
            Self::Anonymous | Self::Fixed(_) => None,
            Self::Fetched(tokens) => tokens.known().await,
        }
    }

    /// What else to try after a 401; nothing, where there is nothing else.
    pub(crate) async fn instead_of(
        &self,
        refused: Option<&HeaderValue>,
        transport: &Transport,
    ) -> Result<Option<HeaderValue>, Error> {
        match (self, refused) {
            (Self::Fetched(tokens), Some(refused)) => tokens.instead_of(refused, transport).await.map(Some),
            (Self::Fetched(_), None) | (Self::Anonymous | Self::Fixed(_), _) => Ok(None),
        }
    }
}
