//! One file for each target: what it states is what must hold.

mod acme_payload;
mod acme_request;
mod caa;
mod certificate;
pub mod chain;
mod csr;
mod cursor;
mod dns;
mod eab;
mod form;
mod forwarded;
mod http_response;
mod identifier;
mod json_body;
mod jwk;
mod jws;
mod jwt;
mod lookup;
mod ocsp;
mod pattern;
mod persist;
mod policy;
mod private_key;
mod proxied;
mod public_key;
mod query;
mod redirect;
mod renewal;
mod sealed;
mod text;
mod tls_alpn;
mod token_request;
mod webhook_url;

use crate::Target;

/// Every target there is.
pub const TARGETS: &[Target] = &[
    acme_payload::TARGET,
    acme_request::TARGET,
    caa::TARGET,
    certificate::TARGET,
    chain::TARGET,
    csr::TARGET,
    cursor::TARGET,
    dns::TARGET,
    eab::TARGET,
    form::TARGET,
    forwarded::TARGET,
    http_response::TARGET,
    identifier::TARGET,
    json_body::TARGET,
    jwk::TARGET,
    jws::TARGET,
    jwt::TARGET,
    lookup::TARGET,
    ocsp::TARGET,
    pattern::TARGET,
    persist::TARGET,
    policy::TARGET,
    private_key::TARGET,
    proxied::TARGET,
    public_key::TARGET,
    query::TARGET,
    redirect::TARGET,
    renewal::TARGET,
    sealed::TARGET,
    text::TARGET,
    tls_alpn::TARGET,
    token_request::TARGET,
    webhook_url::TARGET,
];

/// The target of that name. Panics if there is none.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no target {name:?}"))
}
