//! What the operations have in common in the OpenAPI document.

use chancery_wire as wire;
use serde::Deserialize;
use utoipa::openapi::security::{ClientCredentials, Flow, OAuth2, Scopes, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder, Tag};
use utoipa::{IntoParams, IntoResponses, ToSchema};

use chancery_domain::Scope;

/// The parameters of every list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Most results: 1 to 1000, 100 where it is left out.
    #[param(example = "100")]
    pub(crate) limit: Option<String>,
    /// The `nextCursor` of the page before.
    pub(crate) cursor: Option<String>,
}

/// The header of every creation.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it only describes: RequestKey reads the header")]
pub(crate) struct IdempotencyKey {
    /// The same key and request within 24 hours get the first answer again, with `Idempotency-Replayed: true`.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255)]
    idempotency_key: Option<String>,
}

/// A refusal whose body is a plain string.
#[derive(ToSchema)]
#[schema(value_type = String, example = "no credentials: send `Authorization: Bearer <access token>`")]
#[allow(dead_code, reason = "it only describes")]
pub(crate) struct PlainText(String);

/// What every operation may answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "they only describe")]
pub(crate) enum Refused {
    /// The request is not acceptable; every problem is listed
    #[response(status = 400)]
    BadRequest(wire::ErrorResponse),
    /// No credentials, or they are not valid
    #[response(status = 401, content_type = "text/plain")]
    Unauthorized(String),
    /// The token lacks the scope, or the reseller or account is suspended
    #[response(status = 403, content_type = "text/plain")]
    Forbidden(String),
    /// The body did not arrive in time
    #[response(status = 408)]
    Timeout(wire::ErrorResponse),
    /// The body is too large
    #[response(status = 413)]
    TooLarge(wire::ErrorResponse),
    /// The body is not JSON by its media type
    #[response(status = 415)]
    NotJson(wire::ErrorResponse),
    /// The idempotency key was used for another request
    #[response(status = 422)]
    KeyReused(wire::ErrorResponse),
    /// Too many requests
    #[response(status = 429)]
    TooMany(wire::ErrorResponse),
    /// The service cannot do it at the moment
    #[response(status = 503)]
    Unavailable(wire::ErrorResponse),
}

/// What every list may answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "they only describe")]
pub(crate) enum ListErrors {
    /// A parameter is not acceptable
    #[response(status = 400)]
    BadRequest(wire::ErrorResponse),
    /// No credentials, or they are not valid
    #[response(status = 401, content_type = "text/plain")]
    Unauthorized(String),
    /// The token lacks the scope, or the reseller is suspended
    #[response(status = 403, content_type = "text/plain")]
    Forbidden(String),
    /// Too many requests
    #[response(status = 429)]
    TooMany(wire::ErrorResponse),
    /// The service cannot do it at the moment
    #[response(status = 503)]
    Unavailable(wire::ErrorResponse),
}

#[derive(IntoResponses)]
#[allow(dead_code, reason = "it only describes")]
pub(crate) enum Missing {
    /// There is no such resource, or it is not yours
    #[response(status = 404)]
    NotFound(wire::ErrorResponse),
}

#[derive(IntoResponses)]
#[allow(dead_code, reason = "it only describes")]
pub(crate) enum Conflict {
    /// Another account has this e-mail address or external id
    #[response(status = 409)]
    Conflict(wire::ErrorResponse),
}

#[derive(IntoResponses)]
#[allow(dead_code, reason = "it only describes")]
pub(crate) enum Gone {
    /// The account is terminated
    #[response(status = 410)]
    Gone(wire::ErrorResponse),
}

const SCHEME: &str = "OAuth2Reseller";

const DESCRIPTION: &str = "Resellers manage the creation and verification of certificates on behalf of customer \
accounts. Get an access token at `/oauth/token` with your client id, client secret and audience, and send it as \
`Authorization: Bearer …`. This document describes what this server does; it follows version 1.0.155 of the reseller \
interface, and marks nothing as done that is not.";

/// The document without its operations.
pub(crate) fn base() -> OpenApi {
    let mut info = Info::new("Chancery reseller API", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.to_owned());
    let tags = [
        ("Policy", "Reseller issuance policies."),
        ("Account Group", "Named groups of accounts, their members, and the policies assigned to them."),
        ("Account", "Root customer accounts, identified by a customer e-mail address."),
        ("EAB Credential", "External-account-binding credentials, also called ACME accounts, of a root account."),
        ("Service", "The service itself."),
    ];
    let tag = |(name, description): (&str, &str)| {
        let mut tag = Tag::new(name);
        tag.description = Some(description.to_owned());
        tag
    };
    OpenApiBuilder::new()
        .info(info)
        .tags(Some(tags.map(tag)))
        .security(Some([SecurityRequirement::new(SCHEME, [Scope::Reseller.as_str()])]))
        .build()
}

/// Adds what does not belong to one operation: the security scheme.
pub(crate) fn complete(mut document: OpenApi) -> OpenApi {
    let scopes = Scopes::from_iter(Scope::ALL.iter().map(|scope| (scope.as_str(), describe(*scope))));
    let flow = Flow::ClientCredentials(ClientCredentials::new("/oauth/token", scopes));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(SCHEME, SecurityScheme::OAuth2(OAuth2::new([flow])));
    document
}

fn describe(scope: Scope) -> &'static str {
    match scope {
        Scope::Reseller => "Needed by every operation",
        Scope::ReadOrder => "Read orders",
        Scope::WriteOrder => "Create, finalize and cancel orders",
        Scope::ReadAuthorization => "Read authorizations",
        Scope::WriteAuthorization => "Generate challenge codes",
        Scope::ReadCertificate => "List, read and download certificates, validate CSRs",
        Scope::WriteCertificate => "Revoke certificates",
        Scope::ReadChallenge => "Read challenges",
        Scope::WriteChallenge => "Choose and deactivate challenges",
        Scope::ReadAccount => "Read accounts, EAB credentials, account groups and policies",
        Scope::WriteAccount => "Change accounts, EAB credentials, account groups and policies",
    }
}
