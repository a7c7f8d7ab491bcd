//! The OCSP responders of this process: made when they are first needed, and anew before they end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{Action, IssuerId, Timestamp};
use chancery_pki::{
    CaName, Issuer, KeyAlgorithm, PrivateKey, Responder, ResponderCertificate, Serial, Signer, Validity,
};
use chancery_pki::{PkiError, responder_certificate};
use parking_lot::RwLock;
use serde_json::json;

use crate::authority::{Authority, Signing};
use crate::ca_key::unsigned;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Nobody can revoke a responder's certificate (it says id-pkix-ocsp-nocheck), so it is short.
const LIFE: i64 = 7 * 86_400;
/// Renewed when less is left: more than any answer stands.
const RENEWAL: i64 = 3 * 86_400;
/// For relying parties whose clocks are behind.
const BACKDATE: i64 = 3600;

/// How long a token that was away is not asked again: others ask for answers meanwhile, and each would make a key first.
const UNABLE: Duration = Duration::from_secs(5);

type All = Arc<BTreeMap<IssuerId, Responder>>;

#[derive(Clone)]
pub(crate) struct Responders {
    kernel: Arc<Kernel>,
    authority: Arc<Authority>,
    all: Arc<RwLock<All>>,
    /// Held by who makes new ones. Inside are the issuers whose token was away, and since when.
    renewing: Arc<tokio::sync::Mutex<BTreeMap<IssuerId, (Instant, ServiceError)>>>,
}

impl Responders {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        Self { kernel, authority, all: Arc::default(), renewing: Arc::default() }
    }

    /// One for each issuer that is not over, and why one is missing, if one is. An RSA key may take a second: who has what
    /// they need waits for no other's.
    pub(crate) async fn all(&self, is_needed: impl Fn(&Responder) -> bool) -> (All, Option<ServiceError>) {
        let mut missing = None;
        if !self.lacking().is_empty() {
            let mut one_at_a_time = match self.known().values().any(is_needed) {
                true => self.renewing.try_lock().ok(),
                false => Some(self.renewing.lock().await),
            };
            // Another may have made them meanwhile.
            let lacking = if one_at_a_time.is_some() { self.lacking() } else { Vec::new() };
            for signing in lacking {
                let unable = one_at_a_time.as_ref().and_then(|unable| unable.get(&signing.id));
                let made = match unable.filter(|(since, _)| since.elapsed() < UNABLE) {
                    Some((_, why)) => Err(why.clone()),
                    None => self.delegate(&signing).await.inspect_err(|error| {
                        tracing::warn!(%error, issuer = %signing.id, "an OCSP responder could not be made");
                    }),
                };
                match made {
                    Ok(responder) => {
                        let mut all = self.all.write();
                        Arc::make_mut(&mut all).insert(signing.id, responder);
                    }
                    Err(error) => {
                        if let (ServiceError::Signer(_), Some(unable)) = (&error, &mut one_at_a_time) {
                            unable.retain(|_, (since, _)| since.elapsed() < UNABLE);
                            unable.entry(signing.id).or_insert_with(|| (Instant::now(), error.clone()));
                        }
                        // The one there is will do for a while.
                        missing = if self.left(signing.id) > 0 { missing } else { Some(error) };
                    }
                }
            }
        }
        (self.known(), missing)
    }

    /// Until when the responder of an issuer can answer, where there is one that still can.
    pub(crate) fn good_until(&self, issuer: IssuerId) -> Option<Timestamp> {
        let ends = self.known().get(&issuer).map(|responder| responder.certificate().not_after());
        ends.filter(|_| self.left(issuer) > 0).map(Timestamp::from_secs)
    }

    fn known(&self) -> All {
        self.all.read().clone()
    }

    /// The issuers that need a new one. Near the end of an issuer it cannot be longer.
    fn lacking(&self) -> Vec<Arc<Signing>> {
        let now = self.kernel.now().as_secs();
        let mut issuers = self.authority.all();
        issuers.retain(|signing| {
            let ends = signing.issuer.certificate().not_after();
            ends > now && self.left(signing.id) < RENEWAL.min(ends - now)
        });
        issuers
    }

    fn left(&self, issuer: IssuerId) -> i64 {
        self.known().get(&issuer).map_or(0, |responder| left(responder, self.kernel.now().as_secs()))
    }

    async fn delegate(&self, signing: &Signing) -> Result<Responder, ServiceError> {
        let serial = Serial::draw(self.kernel.entropy.as_ref());
        let algorithm = like(signing.issuer.algorithm());
        let (now, ca) = (self.kernel.now().as_secs(), signing.issuer.clone());
        let make = move || make(&ca, serial, PrivateKey::generate(algorithm)?, now);
        let responder = tokio::task::spawn_blocking(make).await.map_err(ServiceError::internal)?;
        let responder = responder.map_err(unsigned)?;
        let (kernel, issuer) = (self.kernel.clone(), signing.id);
        let ends = Timestamp::from_secs(responder.certificate().not_after());
        let detail = json!({"serial": serial.to_string(), "notAfter": ends.to_string()});
        let record =
            move |tx: &mut chancery_store::Tx<'_>| kernel.audit_own(tx, None, Action::OcspDelegate, issuer, &detail);
        self.kernel.store.write(record).await?;
        tracing::info!(%issuer, %serial, "delegated OCSP to a new key");
        Ok(responder)
    }
}

/// A responder for which the issuer vouches from now on.
fn make(issuer: &Issuer, serial: Serial, key: PrivateKey, now: i64) -> Result<Responder, PkiError> {
    let begins = (now - BACKDATE).max(issuer.certificate().not_before());
    let ends = (now + LIFE).min(issuer.certificate().not_after());
    let certificate = ResponderCertificate {
        subject: &CaName::beside(issuer.certificate(), &format!("OCSP Responder {}", &serial.to_string()[..8]))?,
        spki: key.spki(),
        validity: Validity::lasting(begins, ends - begins + 1)?,
        serial,
    };
    let certificate = responder_certificate(issuer, &certificate)?;
    Responder::new(issuer.certificate(), certificate, Arc::new(key))
}

/// The key of a responder is of its issuer's kind: who verifies the certificates can verify the answers (RFC 6960 section
/// 4.4.7.2). A longer RSA key would cost ten times as much with every answer, and this one ends within days.
fn like(issuer: KeyAlgorithm) -> KeyAlgorithm {
    match issuer {
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => KeyAlgorithm::Rsa2048,
        curve @ (KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384) => curve,
    }
}

/// How many seconds a responder has left; none if it was made under a clock that was wrong, and has not begun or ends
/// later than one could that is made now. What it is dated back allows for a clock that is put right by a little.
pub(crate) fn left(responder: &Responder, now: i64) -> i64 {
    let certificate = responder.certificate();
    let left = certificate.not_after() - now;
    if certificate.not_before() <= now && left <= LIFE + BACKDATE { left } else { 0 }
}
