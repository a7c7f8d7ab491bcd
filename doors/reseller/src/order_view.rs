//! Orders, authorizations and challenges as they are shown.

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{
    Attempt, Authorization, AuthorizationState, Challenge, ChallengeState, ChallengeType, Identifier, OrderState,
    Timestamp, ValidationProblem,
};
use chancery_service::OrderDetails;
use chancery_wire as wire;
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use serde_json::Value;

use crate::account::time;
use crate::progress::progress;

pub(crate) fn json(order: &wire::Order) -> Value {
    serde_json::to_value(order).expect("wire types are texts, numbers, lists and maps of texts")
}

pub(crate) fn view(details: &OrderDetails, now: Timestamp) -> wire::Order {
    let OrderDetails { order, authorizations, thumbprint, waits_for_logs } = details;
    wire::Order {
        lookup: order.id.to_string(),
        status: order.status(now).to_string(),
        profile: order.profile.to_string(),
        account_lookup: order.account.to_string(),
        eab_kid: order.kid.to_string(),
        identifiers: order.identifiers.iter().map(identifier).collect(),
        authorizations: authorizations.iter().map(|each| authorization(each, thumbprint.as_deref(), now)).collect(),
        certificate_lookup: order.certificate.to_string(),
        expires_at: order.expires_at.to_string(),
        not_before: time(order.not_before),
        not_after: time(order.not_after),
        finalized_at: time(order.finalized_at),
        error: match &order.state {
            OrderState::Invalid { problem, .. } => Some(problem_view(problem)),
            OrderState::Pending
            | OrderState::Ready
            | OrderState::Processing { .. }
            | OrderState::Valid { .. }
            | OrderState::Cancelled { .. } => None,
        },
        progress: progress(order, authorizations, *waits_for_logs),
        external_id: order.external_id.as_ref().map(ToString::to_string),
        metadata: order.metadata.pairs().clone(),
        requested_via: order.via.as_str().to_owned(),
        created_at: order.created_at.to_string(),
        updated_at: order.updated_at.to_string(),
    }
}

pub(crate) fn authorization(
    authorization: &Authorization,
    thumbprint: Option<&str>,
    now: Timestamp,
) -> wire::Authorization {
    let (base, wildcard) = match &authorization.identifier {
        Identifier::Dns(name) => {
            (wire::TypedIdentifier { kind: "dns".to_owned(), value: name.base().to_owned() }, name.is_wildcard())
        }
        Identifier::Ip(_) => (identifier(&authorization.identifier), false),
    };
    wire::Authorization {
        lookup: authorization.id.to_string(),
        status: authorization.status(now).to_string(),
        identifier: base,
        wildcard,
        expires_at: authorization.expires_at.to_string(),
        challenges: authorization.challenges.iter().map(|each| challenge(each, authorization, thumbprint)).collect(),
        order: authorization.order.map(|order| order.to_string()),
        created_at: authorization.created_at.to_string(),
        updated_at: authorization.updated_at.to_string(),
    }
}

pub(crate) fn challenge(challenge: &Challenge, of: &Authorization, thumbprint: Option<&str>) -> wire::Challenge {
    let key_authorization = thumbprint.map(|thumbprint| format!("{}.{thumbprint}", challenge.token));
    // A reused permission was shown with codes of another order: there is nothing to publish for it.
    let publishable = match &of.state {
        AuthorizationState::Valid(validation) => validation.source == of.id,
        AuthorizationState::Pending
        | AuthorizationState::Invalid { .. }
        | AuthorizationState::Deactivated { .. }
        | AuthorizationState::Revoked { .. } => true,
    };
    let key_authorization = key_authorization.filter(|_| publishable);
    let (validated_at, error) = match &challenge.state {
        ChallengeState::Pending | ChallengeState::Processing { .. } => (None, None),
        ChallengeState::Valid { at } => (Some(*at), None),
        ChallengeState::Invalid { problem, .. } => (None, Some(problem_view(problem))),
    };
    wire::Challenge {
        lookup: challenge.id.to_string(),
        kind: challenge.kind.as_str().to_owned(),
        status: challenge.state.as_str().to_owned(),
        token: challenge.token.clone(),
        instructions: key_authorization.as_deref().map(|key| instructions(challenge, &of.shown_at(), key)),
        key_authorization,
        attempts: challenge.attempts.iter().map(attempt).collect(),
        validated_at: time(validated_at),
        error,
        created_at: challenge.created_at.to_string(),
        updated_at: challenge.updated_at.to_string(),
    }
}

fn instructions(challenge: &Challenge, name: &Identifier, key_authorization: &str) -> wire::Instructions {
    let host = match name {
        Identifier::Dns(name) => name.base().to_owned(),
        Identifier::Ip(address) => address.to_string(),
    };
    // RFC 3986 section 3.2.2: in URLs, and nowhere else, an IPv6 address has brackets.
    let host_of_url = match name {
        Identifier::Ip(address) if address.is_ipv6() => format!("[{address}]"),
        Identifier::Ip(_) | Identifier::Dns(_) => host.clone(),
    };
    let record_name = challenge.kind.record_label().map(|label| format!("{label}.{host}"));
    let some = |text: String| Some(text);
    match challenge.kind {
        ChallengeType::Http01 => wire::Instructions {
            url: some(format!("http://{host_of_url}/.well-known/acme-challenge/{}", challenge.token)),
            body: some(key_authorization.to_owned()),
            ..wire::Instructions::default()
        },
        // RFC 8555 section 8.4.
        ChallengeType::Dns01 => wire::Instructions {
            record_name,
            record_type: some("TXT".to_owned()),
            record_value: some(BASE64URL_NOPAD.encode(digest(&SHA256, key_authorization.as_bytes()).as_ref())),
            ..wire::Instructions::default()
        },
        // The place has a label of the ACME account, which its client knows.
        ChallengeType::DnsAccount01 => wire::Instructions {
            record_type: some("TXT".to_owned()),
            record_value: some(BASE64URL_NOPAD.encode(digest(&SHA256, key_authorization.as_bytes()).as_ref())),
            ..wire::Instructions::default()
        },
        // What the record says of the ACME account is for its client to know.
        ChallengeType::DnsPersist01 => {
            wire::Instructions { record_name, record_type: some("TXT".to_owned()), ..wire::Instructions::default() }
        }
        // RFC 8737 section 3: an OCTET STRING of 32 octets.
        ChallengeType::TlsAlpn01 => wire::Instructions {
            subject_alternative_name: some(host),
            acme_identifier: some(format!(
                "0420{}",
                HEXLOWER.encode(digest(&SHA256, key_authorization.as_bytes()).as_ref())
            )),
            ..wire::Instructions::default()
        },
    }
}

fn attempt(attempt: &Attempt) -> wire::Attempt {
    wire::Attempt {
        at: Timestamp::from_millis(attempt.at).to_string(),
        perspective: attempt.perspective.clone(),
        addresses_resolved: attempt.addresses_resolved.clone(),
        address_used: attempt.address_used.clone(),
        url: attempt.url.clone(),
        redirects: attempt.redirects.clone(),
        http_status: attempt.http_status,
        dns_answers: attempt.dns_answers.clone(),
        dnssec: attempt.dnssec.clone(),
        expected: attempt.expected.clone(),
        actual: attempt.actual.clone(),
        error: attempt.problem.as_ref().map(problem_view),
    }
}

pub(crate) fn identifier(identifier: &Identifier) -> wire::TypedIdentifier {
    let kind = match identifier {
        Identifier::Dns(_) => "dns",
        Identifier::Ip(_) => "ip",
    };
    wire::TypedIdentifier { kind: kind.to_owned(), value: identifier.to_string() }
}

pub(crate) fn problem_view(problem: &ValidationProblem) -> wire::Problem {
    wire::Problem { kind: problem.kind.as_str().to_owned(), detail: problem.detail.clone() }
}
