//! The reader of token requests, without the answering: for the fuzz targets.

use axum::response::IntoResponse;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use crate::token::Refused;
use crate::token_request::{Asked, understand};

/// What a client asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenRequest {
    pub grant_type: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub audience: Option<String>,
    pub scope: Option<String>,
}

/// Reads the body and, where there is one, the Authorization header; else the status of the answer.
pub fn token_request(media_type: &str, authorization: Option<&[u8]>, body: &[u8]) -> Result<TokenRequest, u16> {
    let mut headers = HeaderMap::new();
    let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).map_err(|_| 400_u16);
    headers.insert(CONTENT_TYPE, value(media_type.as_bytes())?);
    if let Some(authorization) = authorization {
        headers.insert(AUTHORIZATION, value(authorization)?);
    }
    let refused = |refusal| Refused::of_nobody(refusal).into_response().status().as_u16();
    let mut asked: Asked = understand(&headers, body).map_err(refused)?;
    let client_secret = asked.take_secret().map(|secret| secret.reveal().to_owned());
    let Asked { grant_type, client_id, audience, scope, .. } = asked;
    Ok(TokenRequest { grant_type, client_id, client_secret, audience, scope })
}
