//! One certificate.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::{CertificateId, Comment, RevocationReason, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{Caller, CertificateDetails, Download, Noun, ServiceError};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use maud::{Markup, html};

use super::customer;
use super::list::status;
use crate::layout::Context;
use crate::parts::{Complaints, Field, confirmed, copyable, fact, trail};
use crate::refused::Refused;
use crate::session::{Change, SignedIn, see_other};
use crate::text::{ago, exact, moment};

/// The forms that a certificate can be had in: file, media type, words.
const FORMS: &[(&str, &str, &str)] = &[
    ("fullchain.pem", "application/pem-certificate-chain", "With its chain, PEM"),
    ("cert.pem", "application/pem-certificate-chain", "Alone, PEM"),
    ("chain.pem", "application/pem-certificate-chain", "The chain, PEM"),
    ("cert.cer", "application/pkix-cert", "Alone, DER"),
    ("cert.p7b", "application/pkcs7-mime; smime-type=certs-only", "PKCS #7"),
];

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Path(id): Path<String>) -> Result<Response, Refused> {
    let id = read_id(&id)?;
    let now = door.services.now();
    match door.services.certificates.download(&who.caller, id).await? {
        // It has nothing to show yet, and its order has.
        Download::NotYet(order) => Ok(see_other(&format!("/console/orders/{}", order.order.id))),
        Download::Never(details) => {
            Ok(who.context.page("Certificate", body(&who.context, &who.caller, &details, None, now)))
        }
        Download::Issued { details, certificate, .. } => {
            let pem = certificate.to_pem();
            Ok(who.context.page("Certificate", body(&who.context, &who.caller, &details, Some(&pem), now)))
        }
    }
}

pub(crate) async fn download(
    State(door): State<Door>,
    who: SignedIn,
    Path((id, file)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let id = read_id(&id)?;
    let missing = || Refused::not_found("There is no such file.");
    let (name, kind, _) = FORMS.iter().find(|(name, ..)| *name == file).ok_or_else(missing)?;
    let Download::Issued { certificate, signing, .. } = door.services.certificates.download(&who.caller, id).await?
    else {
        return Err(missing());
    };
    let chain = signing.chains.get(None, door.services.now()).ok_or_else(missing)?;
    let bytes = match *name {
        "fullchain.pem" => (certificate.to_pem() + &chain.pem()).into_bytes(),
        "cert.pem" => certificate.to_pem().into_bytes(),
        "chain.pem" => chain.pem().into_bytes(),
        "cert.cer" => certificate.as_der().to_vec(),
        _ => chain.pkcs7(&certificate)?,
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(([(CONTENT_TYPE, (*kind).to_owned()), (CONTENT_DISPOSITION, disposition)], bytes).into_response())
}

pub(crate) async fn revoke(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let id = read_id(&id)?;
    let Download::Issued { details, .. } = door.services.certificates.download(&change.caller, id).await? else {
        return Err(ServiceError::not_found(Noun::Certificate).into());
    };
    let reason: Result<RevocationReason, String> = change.form.text("reason").parse();
    let reason = reason.map_err(Refused::incomplete)?;
    if change.form.text("sure") != "yes" {
        return Err(Refused::incomplete("Tick the box to revoke the certificate."));
    }
    let comment = change.form.filled("comment").map(Comment::parse).transpose();
    let comment = comment.map_err(|error| Refused::incomplete(format!("The note {error}.")))?;
    door.services.certificates.revoke(&change.caller, details.certificate.order, reason, comment).await?;
    Ok(see_other(&format!("/console/certificates/{id}?done=revoked")))
}

fn read_id(id: &str) -> Result<CertificateId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Certificate))
}

fn body(context: &Context, caller: &Caller, details: &CertificateDetails, pem: Option<&str>, now: Timestamp) -> Markup {
    let CertificateDetails { certificate, issuer } = details;
    let first = certificate.identifiers.first().map(ToString::to_string).unwrap_or_default();
    let issued = certificate.issued();
    html! {
        (trail("/console/certificates", "Certificates"))
        div.title { h1 { (first) } (status(certificate, now)) }
        @if let Some(revocation) = certificate.revocation() {
            p.caution {
                "Revoked " (moment(revocation.at, now)) ": " (revocation.reason.as_str())
                @if let Some(comment) = &revocation.comment { ". " (comment) }
            }
        }
        section.card {
            dl.facts {
                (fact("Names", html! { ul.tags { @for name in &certificate.identifiers { li.tag { (name) } } } }))
                (fact("Customer", customer(certificate, caller)))
                (fact("Order", html! { a.mono href={ "/console/orders/" (certificate.order) } { (certificate.order) } }))
                (fact("Profile", html! { (certificate.profile) }))
                @if let Some(issued) = issued {
                    (fact("Valid from", html! { (exact(issued.not_before)) }))
                    (fact("Valid until", html! { (exact(issued.not_after)) span.sub { (ago(issued.not_after, now)) } }))
                    (fact("Issuer", html! { (issuer.as_deref().unwrap_or("–")) }))
                    (fact("Key", html! { (issued.key_type) }))
                    (fact("Serial number", html! { span.mono { (issued.serial) } }))
                    (fact("SHA-256 fingerprint", html! { span.mono { (issued.fingerprint) } }))
                }
                (fact("Lookup", html! { span.mono { (certificate.id) } }))
                (fact("Ordered", html! { (moment(certificate.created_at, now)) " through " (certificate.via.as_str()) }))
            }
        }
        @if let Some(pem) = pem {
            section.card {
                h2 { "Download" }
                div.row {
                    @for (file, _, words) in FORMS {
                        a.button href={ "/console/certificates/" (certificate.id) "/" (file) } download { (words) }
                    }
                }
                details { summary { "Show the PEM" } (copyable("the certificate", pem)) }
            }
        }
        @if issued.is_some_and(|issued| issued.not_after >= now) && certificate.revocation().is_none()
            && caller.scopes.contains(Scope::WriteCertificate) {
            section.card { h2 { "Revoke" } (revocation(context, certificate.id)) }
        }
    }
}

fn revocation(context: &Context, id: CertificateId) -> Markup {
    let nothing = Complaints::default();
    let words = |reason: &RevocationReason| match reason {
        RevocationReason::Unspecified => "No reason to give",
        RevocationReason::KeyCompromise => "The private key is no longer secret",
        RevocationReason::AffiliationChanged => "The names are somebody else's now",
        RevocationReason::Superseded => "It was replaced by another one",
        RevocationReason::CessationOfOperation => "The site is gone",
        RevocationReason::PrivilegeWithdrawn => "It should not have been issued to them",
    };
    let reasons: Vec<_> =
        RevocationReason::ALL.iter().map(|reason| (reason.as_str().to_owned(), words(reason).to_owned())).collect();
    html! {
        p.muted { "Whoever checks it will no longer trust it. This cannot be undone; a key that is no longer secret is never certified again." }
        (confirmed("Revoke…", html! {
            form method="post" action={ "/console/certificates/" (id) "/revoke" } {
                (context.token())
                (Field { name: "reason", label: "Why", hint: "", value: "unspecified", complaints: &nothing }.choice(&reasons))
                (Field { name: "comment", label: "Note", hint: "For you; it stays here.", value: "", complaints: &nothing }.line("text", false))
                div.check { input #sure type="checkbox" name="sure" value="yes" required; label for="sure" { "Yes, revoke it" } }
                button.bad type="submit" { "Revoke the certificate" }
            }
        }))
    }
}
