//! Pebble's management listener: the CAs with their private keys, and the status of certificates. It is for tests alone,
//! and nothing but `dev --pebble` can serve it.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use chancery_domain::{CertificateRecord, ProfileName};
use chancery_pki::Certificate;
use chancery_service::operator::IssuerDetails;
use chancery_service::{Kernel, Operator, ServiceError};
use chancery_store::{IssuerState, SEALED_COLUMNS};
use der::pem::LineEnding;
use http::StatusCode;
use http::header::{CONTENT_TYPE, LINK};
use serde_json::{Value, json};

use super::listener::authority;

/// What it knows.
#[derive(Clone)]
pub struct Management {
    pub kernel: Arc<Kernel>,
    pub operator: Operator,
    /// The profile of Pebble's directory.
    pub profile: ProfileName,
    /// Vouches for the HTTPS listeners; in PEM.
    pub tls_ca: String,
}

pub fn router(management: Management) -> Router {
    Router::new()
        .route("/roots/{place}", get(root))
        .route("/root-keys/{place}", get(root_key))
        .route("/intermediates/{place}", get(intermediate))
        .route("/intermediate-keys/{place}", get(intermediate_key))
        .route("/cert-status-by-serial/{serial}", get(status))
        .route("/https-ca", get(https_ca))
        .with_state(management)
}

const CERTIFICATE: &str = "application/pem-certificate-chain; charset=utf-8";
const KEY: &str = "application/x-pem-file; charset=utf-8";

async fn root(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    management.give("roots", &place, request, |chain| Ok((CERTIFICATE, chain.root.certificate.to_pem()))).await
}

async fn intermediate(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    management
        .give("intermediates", &place, request, |chain| Ok((CERTIFICATE, chain.issuing.certificate.to_pem())))
        .await
}

async fn root_key(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    let (chains, keys) = (management.clone(), management.keys().await?);
    chains.give("root-keys", &place, request, |chain| Ok((KEY, keys.pem(&chain.root)?))).await
}

async fn intermediate_key(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    let (chains, keys) = (management.clone(), management.keys().await?);
    chains.give("intermediate-keys", &place, request, |chain| Ok((KEY, keys.pem(&chain.issuing)?))).await
}

async fn https_ca(State(management): State<Management>) -> Response {
    ([(CONTENT_TYPE, CERTIFICATE)], management.tls_ca).into_response()
}

async fn status(State(management): State<Management>, Path(serial): Path<String>) -> Answer {
    let serial = octets(&serial).ok_or(Refused(StatusCode::BAD_REQUEST))?;
    let found = management.kernel.store.read(move |tx| {
        let Some(record) = tx.certificate_by_serial(&serial)? else { return Ok(None) };
        let der = tx.certificate_der(record.id)?;
        Ok::<_, ServiceError>(der.map(|der| (record, der)))
    });
    let (record, der) = found.await.map_err(Refused::internal)?.ok_or(Refused(StatusCode::NOT_FOUND))?;
    let certificate = Certificate::from_der(&der).map_err(Refused::internal)?;
    Ok(Json(describe(&record, &certificate)).into_response())
}

/// With the names that Pebble has for it.
fn describe(record: &CertificateRecord, certificate: &Certificate) -> Value {
    let serial = record.issued().map(|issued| issued.serial.trim_start_matches('0')).unwrap_or_default();
    let mut shown = json!({"Status": "Valid", "Serial": serial, "Certificate": certificate.to_pem()});
    if let Some(revocation) = record.revocation() {
        shown["Status"] = "Revoked".into();
        shown["Reason"] = revocation.reason.code().into();
        shown["RevokedAt"] = revocation.at.to_string().into();
    }
    shown
}

/// A serial number as we keep it: lower-case digits of whole octets, without leading ones that are zero.
fn octets(text: &str) -> Option<String> {
    if text.is_empty() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let digits = text.trim_start_matches('0').to_ascii_lowercase();
    Some(if digits.len().is_multiple_of(2) { digits } else { format!("0{digits}") })
}

type Answer = Result<Response, Refused>;

/// Pebble's refusals say nothing either.
struct Refused(StatusCode);

impl Refused {
    fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "the management listener could not answer");
        Self(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// An issuing CA of the profile, and the root above it.
struct Chain {
    issuing: IssuerDetails,
    root: IssuerDetails,
}

impl Management {
    /// One thing of the chain at this place, with links to the same of the others.
    async fn give(
        &self,
        what: &str,
        place: &str,
        request: Request,
        thing: impl Fn(&Chain) -> Result<(&'static str, String), Refused>,
    ) -> Answer {
        let chains = self.chains().await?;
        let missing = || Refused(StatusCode::NOT_FOUND);
        let place: usize = place.parse().map_err(|_| missing())?;
        let (media_type, pem) = thing(chains.get(place).ok_or_else(missing)?)?;
        let mut response = ([(CONTENT_TYPE, media_type)], pem).into_response();
        let host = authority(&request.into_parts().0).map(|host| host.to_string()).unwrap_or_default();
        for other in (0..chains.len()).filter(|other| *other != place) {
            let link = format!("<https://{host}/{what}/{other}>;rel=\"alternate\"").parse();
            response.headers_mut().append(LINK, link.map_err(Refused::internal)?);
        }
        Ok(response)
    }

    async fn chains(&self) -> Result<Vec<Chain>, Refused> {
        let all = self.operator.issuers().await.map_err(Refused::internal)?;
        let signs = |issuer: &&IssuerDetails| {
            issuer.state == IssuerState::Active
                && issuer.parent.is_some()
                && self.operator.profiles_of(&all, issuer.id).contains(&self.profile)
        };
        let chain = |issuing: &IssuerDetails| {
            let root = all.iter().find(|issuer| Some(issuer.id) == issuing.parent)?;
            Some(Chain { issuing: issuing.clone(), root: root.clone() })
        };
        Ok(all.iter().filter(signs).filter_map(chain).collect())
    }

    async fn keys(self) -> Result<Keys, Refused> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await;
        let sealed = records.map_err(Refused::internal)?.into_iter().map(|record| (record.id, record.sealed)).collect();
        Ok(Keys { kernel: self.kernel, sealed })
    }
}

/// The private keys of the CAs.
struct Keys {
    kernel: Arc<Kernel>,
    sealed: Vec<(chancery_domain::IssuerId, Vec<u8>)>,
}

impl Keys {
    /// In PKCS #8.
    fn pem(&self, issuer: &IssuerDetails) -> Result<String, Refused> {
        let column = SEALED_COLUMNS.iter().find(|column| column.table == "issuers");
        let sealed = self.sealed.iter().find(|(id, _)| *id == issuer.id).map(|(_, sealed)| sealed);
        let (column, sealed) = column.zip(sealed).ok_or(Refused(StatusCode::NOT_FOUND))?;
        let der = self.kernel.keyring.open(&column.context(issuer.id), sealed).map_err(Refused::internal)?;
        der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der).map_err(Refused::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_number_is_found_in_any_spelling() {
        for text in ["ccd09e", "CCD09E", "00ccd09e", "0ccd09e"] {
            assert_eq!(octets(text).as_deref(), Some("ccd09e"), "{text}");
        }
        assert_eq!(octets("cd09e").as_deref(), Some("0cd09e"));
        for bad in ["", "0x12", "zz", "12 ", "é"] {
            assert_eq!(octets(bad), None, "{bad}");
        }
    }
}
