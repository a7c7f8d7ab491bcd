//! Pebble's management listener: the CAs with their private keys, the status of certificates, and when they are to be
//! renewed. It is for tests alone, and nothing but `dev --pebble` can serve it.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chancery_acme::RenewalAnswers;
use chancery_domain::{CertificateRecord, IssuerId, ProfileName};
use chancery_pki::Certificate;
use chancery_service::operator::{ChainDetails, IssuerDetails};
use chancery_service::{Kernel, Operator, ServiceError};
use chancery_store::{IssuerState, SEALED_COLUMNS};
use der::pem::LineEnding;
use http::StatusCode;
use http::header::{CONTENT_TYPE, LINK};
use serde_json::{Value, json};

use super::listener::authority;
use super::renewal;

/// What it knows.
#[derive(Clone)]
pub struct Management {
    pub kernel: Arc<Kernel>,
    pub operator: Operator,
    /// The profile of Pebble's directory.
    pub profile: ProfileName,
    /// What the ACME listener says of when to renew.
    pub renewal_answers: RenewalAnswers,
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
        .route("/set-renewal-info/", post(renewal::set))
        .route("/https-ca", get(https_ca))
        .with_state(management)
}

const CERTIFICATE: &str = "application/pem-certificate-chain; charset=utf-8";
const KEY: &str = "application/x-pem-file; charset=utf-8";

async fn root(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    management.give("roots", &place, request, |chain| Ok((CERTIFICATE, chain.root.to_pem()))).await
}

async fn intermediate(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    management.give("intermediates", &place, request, |chain| Ok((CERTIFICATE, chain.issuing.to_pem()))).await
}

async fn root_key(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    let (chains, keys) = (management.clone(), management.keys().await?);
    chains.give("root-keys", &place, request, |chain| Ok((KEY, keys.pem(chain.root_key.ok_or_else(missing)?)?))).await
}

async fn intermediate_key(State(management): State<Management>, place: Path<String>, request: Request) -> Answer {
    let (chains, keys) = (management.clone(), management.keys().await?);
    chains.give("intermediate-keys", &place, request, |chain| Ok((KEY, keys.pem(chain.issuing_key)?))).await
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
    let (record, der) = found.await.map_err(Refused::internal)?.ok_or_else(missing)?;
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
pub struct Refused(pub StatusCode);

fn missing() -> Refused {
    Refused(StatusCode::NOT_FOUND)
}

impl Refused {
    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "the management listener could not answer");
        Self(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// An issuing CA of the profile as one root vouches for it.
struct Chain {
    issuing: Certificate,
    issuing_key: IssuerId,
    root: Certificate,
    /// None where nobody has kept it.
    root_key: Option<IssuerId>,
}

impl Chain {
    fn own(issuing: &IssuerDetails, all: &[IssuerDetails]) -> Option<Self> {
        let root = all.iter().find(|issuer| Some(issuer.id) == issuing.parent)?;
        Some(Self {
            issuing: issuing.certificate.clone(),
            issuing_key: issuing.id,
            root: root.certificate.clone(),
            root_key: Some(root.id),
        })
    }

    /// Up to another root; the issuing CA has the same key there.
    fn further(details: &ChainDetails) -> Option<Self> {
        let (issuing, root) = details.chain.served().first().zip(details.chain.root())?;
        Some(Self { issuing: issuing.clone(), issuing_key: details.issuer, root: root.clone(), root_key: None })
    }
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
        let place: usize = place.parse().map_err(|_| missing())?;
        let (media_type, pem) = thing(chains.get(place).ok_or_else(missing)?)?;
        let mut response = ([(CONTENT_TYPE, media_type)], pem).into_response();
        let host = authority(&request.into_parts().0).map(|host| host.to_string()).unwrap_or_default();
        let others = chains.iter().enumerate().filter(|(other, chain)| *other != place && thing(chain).is_ok());
        for (other, _) in others {
            let link = format!("<https://{host}/{what}/{other}>;rel=\"alternate\"").parse();
            response.headers_mut().append(LINK, link.map_err(Refused::internal)?);
        }
        Ok(response)
    }

    /// Those of the CAs themselves, then those up to further roots, as certificates offer them.
    async fn chains(&self) -> Result<Vec<Chain>, Refused> {
        let all = self.operator.issuers().await.map_err(Refused::internal)?;
        let signs = |issuer: &&IssuerDetails| {
            issuer.state == IssuerState::Active
                && issuer.parent.is_some()
                && self.operator.profiles_of(&all, issuer.id).contains(&self.profile)
        };
        let signing: Vec<_> = all.iter().filter(signs).collect();
        let mut chains: Vec<_> = signing.iter().filter_map(|issuing| Chain::own(issuing, &all)).collect();
        let now = self.kernel.clock.now();
        for issuing in signing {
            let further = self.operator.chains_of(issuing.id).await.map_err(Refused::internal)?;
            chains.extend(further.iter().filter(|chain| chain.is_offered(now)).filter_map(Chain::further));
        }
        Ok(chains)
    }

    async fn keys(self) -> Result<Keys, Refused> {
        let records = self.kernel.store.read(|tx| tx.issuers()).await;
        let sealed = records.map_err(Refused::internal)?.into_iter().map(|record| (record.id, record.sealed)).collect();
        Ok(Keys { kernel: self.kernel, sealed })
    }
}

/// The private keys of the CAs.
struct Keys {
    kernel: Arc<Kernel>,
    sealed: Vec<(IssuerId, Vec<u8>)>,
}

impl Keys {
    /// In PKCS #8.
    fn pem(&self, issuer: IssuerId) -> Result<String, Refused> {
        let column = SEALED_COLUMNS.iter().find(|column| column.table == "issuers");
        let sealed = self.sealed.iter().find(|(id, _)| *id == issuer).map(|(_, sealed)| sealed);
        let (column, sealed) = column.zip(sealed).ok_or_else(missing)?;
        let der = self.kernel.keyring.open(&column.context(issuer), sealed).map_err(Refused::internal)?;
        der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der).map_err(Refused::internal)
    }
}

#[cfg(test)]
pub mod tests {
    use chancery_domain::Timestamp;
    use chancery_pki::{
        CaName, IssuerChain, KeyAlgorithm, PrivateKey, Serial, Validity, chain_to_pem, root as make_root,
    };

    use super::*;
    use chancery_machine::SystemEntropy;

    /// Some certificate.
    pub fn certificate(name: &str) -> Certificate {
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        let (name, validity) = (CaName::new("DE", "Test", name).unwrap(), Validity::days(0, 10).unwrap());
        make_root(&key, &name, validity, Serial::draw(&SystemEntropy)).unwrap()
    }

    #[test]
    fn a_further_root_is_shown_and_its_key_is_nobodys() {
        let (issuing, root) = (certificate("E1"), certificate("Root X2"));
        let pem = chain_to_pem(&[issuing.clone(), root.clone()]);
        let issuer: IssuerId = "iss_00000000000000000000000000".parse().unwrap();
        let chain = IssuerChain::from_pem(&pem).unwrap();
        let details = ChainDetails { issuer, number: 1, chain, added_at: Timestamp::from_secs(0) };
        let shown = Chain::further(&details).unwrap();
        assert_eq!((shown.issuing, shown.root), (issuing, root));
        assert_eq!((shown.issuing_key, shown.root_key), (issuer, None));
    }

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
