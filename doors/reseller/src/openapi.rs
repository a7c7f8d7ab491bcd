//! What the operations have in common in the OpenAPI document.

use std::collections::BTreeMap;

use chancery_domain::Scope;
use chancery_wire::{self as wire, ErrorCode};
use serde::Deserialize;
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{ClientCredentials, Flow, OAuth2, Scopes, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, Header, HeaderBuilder, Info, ObjectBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    Response, ResponseBuilder, Tag,
};
use utoipa::{IntoParams, IntoResponses};

use crate::openapi_finish::finish;

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
    #[param(rename = "Idempotency-Key", nullable = false, min_length = 1, max_length = 255)]
    idempotency_key: Option<String>,
}

/// Writes the responses of refusals: those with a plain string, and those with an `ErrorResponse` and its usual code.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident { $($status:tt $code:tt $description:literal,)* })*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                BTreeMap::from([$((stringify!($status).to_owned(), refusal!($status $code $description))),*])
            }
        }
    )*};
}

macro_rules! refusal {
    (401 plain $description:literal) => {
        RefOr::T(
            plain($description, "the access token is not valid: expired")
                .header("WWW-Authenticate", challenge())
                .build(),
        )
    };
    (403 plain $description:literal) => {
        RefOr::T(
            plain($description, "this operation needs the scope `write:account`, which the token does not have")
                .header("WWW-Authenticate", challenge())
                .build(),
        )
    };
    (429 $code:ident $description:literal) => {
        RefOr::T(json(429, ErrorCode::$code, $description).header("Retry-After", retry_after()).build())
    };
    (503 $code:ident $description:literal) => {
        RefOr::T(json(503, ErrorCode::$code, $description).header("Retry-After", retry_after()).build())
    };
    ($status:tt $code:ident $description:literal) => {
        RefOr::T(json($status, ErrorCode::$code, $description).build())
    };
}

refusals! {
    /// What every operation may answer.
    Refused {
        400 InvalidRequest "Something in the request is not acceptable; every problem is listed",
        401 plain "No credentials, or they are not valid",
        403 plain "The token lacks the scope, or the reseller or the account is suspended",
        429 RateLimited "Too many requests; `Retry-After` says when to come again",
        503 Unavailable "The service cannot do it at the moment; `Retry-After` says when to come again",
    }
    /// What an operation with a body may answer besides.
    BadBody {
        408 RequestTimeout "The body did not arrive in time",
        413 BodyTooLarge "The body is larger than 256 KiB",
        415 UnsupportedMediaType "The body is not declared as JSON",
    }
    /// What a creation may answer besides.
    KeyReused {
        422 IdempotencyKeyReused "The idempotency key was used for another request",
    }
    NoPolicy {
        404 PolicyNotFound "There is no such policy, or it is not yours",
    }
    NoGroup {
        404 GroupNotFound "There is no such account group, or it is not yours",
    }
    NoGroupOrPolicy {
        404 PolicyNotFound "There is no such account group or policy, or it is not yours",
    }
    NoGroupOrAccount {
        404 AccountNotFound "There is no such account group or account, or it is not yours, or the account is not a member",
    }
    NoAccount {
        404 AccountNotFound "There is no such account, or it is not yours",
    }
    NoCredential {
        404 EabCredentialNotFound "There is no such EAB credential, or it is not yours, or it is revoked already",
    }
    Conflict {
        409 AccountConflict "Another account has this e-mail address or external id",
    }
    Gone {
        410 AccountTerminated "The account is terminated, or the EAB credential that was named is revoked",
    }
    NoOrder {
        404 OrderNotFound "There is no such order, or it is not yours",
    }
    NoAuthorization {
        404 AuthorizationNotFound "There is no such authorization, or it is not yours",
    }
    NoChallenge {
        404 ChallengeNotFound "There is no such challenge, or it is not yours",
    }
    NoCertificate {
        404 CertificateNotFound "There is no such certificate, or it is not yours, or there is nothing to revoke",
    }
    NoPause {
        404 PauseNotFound "There is no such pause, or it is not yours",
    }
    OrderGone {
        410 OrderGone "The order has expired, failed or been cancelled; how it was last is in the member `order`",
    }
    AuthorizationGone {
        410 AuthorizationGone "It was tried already, or the order has ended; how it was last is in the member `challenge` or `authorization`",
    }
    CertificateGone {
        410 CertificateGone "The order ended without a certificate",
    }
    NoEvent {
        404 EventNotFound "There is no such event, or it is not yours",
    }
    NoWebhook {
        404 WebhookNotFound "There is no such webhook, or it is not yours",
    }
    NoDelivery {
        404 DeliveryNotFound "There is no such webhook or delivery, or it is not yours",
    }
    NotAcceptable {
        406 NotAcceptable "None of the media types in `Accept` is to be had",
    }
}

fn json(status: u16, code: ErrorCode, description: &str) -> ResponseBuilder {
    let example = wire::ErrorResponse {
        status,
        code,
        message: code.describe().to_owned(),
        request_id: "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f".to_owned(),
        limit: None,
        errors: Vec::new(),
        omitted_errors: 0,
        extra: serde_json::Map::new(),
    };
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ErrorResponse")))
        .example(serde_json::to_value(example).ok())
        .build();
    ResponseBuilder::new().description(description).content("application/json", content)
}

fn plain(description: &str, example: &str) -> ResponseBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    let content = ContentBuilder::new().schema(Some(text)).example(Some(example.into())).build();
    ResponseBuilder::new().description(description).content("text/plain", content)
}

fn challenge() -> Header {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    HeaderBuilder::new().schema(Some(text)).description(Some("How to authenticate (RFC 6750)")).build()
}

fn retry_after() -> Header {
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).build();
    HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds to wait")).build()
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
        ("Orders", "Certificate orders."),
        ("Authorizations", "Generation of challenge codes."),
        ("Challenges", "Choosing a challenge for verification, or giving a permission up."),
        ("Certificates", "CSR validation, listing, download and revocation."),
        ("Events", "What has happened to accounts, credentials, orders, authorizations and certificates."),
        ("Webhooks", "Where you are told of events as they happen."),
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
        .components(Some(
            ComponentsBuilder::new().schema_from::<wire::ErrorResponse>().schema_from::<ErrorCode>().build(),
        ))
        .security(Some([SecurityRequirement::new(SCHEME, [Scope::Reseller.as_str()])]))
        .build()
}

/// Adds what does not belong to one operation: the security scheme, and what the operations leave unsaid.
pub(crate) fn complete(mut document: OpenApi) -> OpenApi {
    finish(&mut document);
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
        Scope::ReadEvent => "Read events",
        Scope::ReadWebhook => "Read webhooks and what was delivered to them",
        Scope::WriteWebhook => "Create, change, test and delete webhooks",
    }
}
