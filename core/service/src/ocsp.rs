//! OCSP: what the store knows of a serial number, signed by a responder that the issuer delegates to (RFC 6960).
//!
//! Every process has a key and a short-lived certificate of its own for each issuer. The certificate travels in every
//! answer, so nodes need not agree on one; no key is stored, sealed or copied, and a node that is gone takes its key
//! with it. What was delegated is in the audit trail.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest;
use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::{CertificateStatus, OcspFailure, OcspRequest, OcspTimes, Responder, Serial};
use chancery_store::{Standing, StoreError};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::authority::Authority;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::ocsp_responder::{Responders, left};

/// How long an answer stands: at least eight hours, ten days at most (Baseline Requirements section 4.9.10).
const LIFE: Duration = Duration::from_secs(86_400);
/// How often the responders are looked after.
const LOOK: Duration = Duration::from_secs(60);
/// How long an answer is given again without asking the store.
const MEMORY: Duration = Duration::from_secs(3);
/// Answers that are remembered; when there are more, all are forgotten.
const MOST_REMEMBERED: usize = 8192;
/// Questions that may wait for the store; more are told to try later, so that others get to it too.
const AT_ONCE: usize = 256;

/// An answer, good or bad, in DER.
#[derive(Clone)]
pub struct OcspAnswer {
    pub der: Arc<[u8]>,
    /// Where caches may keep it; not so for failures, and for answers to somebody's nonce.
    pub cacheable: Option<CacheableAnswer>,
}

/// What a cache needs to know of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheableAnswer {
    pub this_update: Timestamp,
    pub next_update: Timestamp,
    pub etag: String,
}

/// An answer, and when it was given by a clock that nobody sets.
struct Remembered {
    answer: OcspAnswer,
    since: Instant,
}

#[derive(Clone)]
pub struct Ocsp {
    kernel: Arc<Kernel>,
    responders: Responders,
    recent: Arc<Mutex<HashMap<[u8; 32], Remembered>>>,
    places: Arc<Semaphore>,
    /// An RSA signature takes a millisecond: strangers have half of the cores for them, and no more.
    signing: Arc<Semaphore>,
}

impl Ocsp {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        let responders = Responders::new(kernel.clone(), authority);
        let half = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
        Self {
            kernel,
            responders,
            recent: Arc::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            signing: Arc::new(Semaphore::new(half)),
        }
    }

    /// Answers the body of a POST.
    pub async fn answer_post(&self, body: &[u8]) -> OcspAnswer {
        self.answer("POST", body, OcspRequest::parse).await
    }

    /// Answers the part of a GET's path behind the address of the responder.
    pub async fn answer_get(&self, path: &str) -> OcspAnswer {
        self.answer("GET", path.as_bytes(), |_| OcspRequest::from_path(path)).await
    }

    /// Until when this process can answer for an issuer; not at all where it has no responder for it.
    pub fn good_until(&self, issuer: IssuerId) -> Option<Timestamp> {
        self.responders.good_until(issuer)
    }

    /// Renews the responders before they are too old to answer with, for ever.
    pub async fn watch(&self) {
        loop {
            self.responders.all(|_| false).await;
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn answer(
        &self,
        method: &str,
        asked: &[u8],
        read: impl FnOnce(&[u8]) -> Result<OcspRequest, OcspFailure>,
    ) -> OcspAnswer {
        // What is a request in a path is none in a body, so what is remembered of the one says nothing of the other.
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(method.as_bytes());
        context.update(asked);
        let key: [u8; 32] = context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes");
        if let Some(known) = self.recall(&key) {
            return count("remembered", known);
        }
        let request = match read(asked) {
            Ok(request) => request,
            Err(failure) => return failed(failure),
        };
        let Ok(_place) = self.places.try_acquire() else { return failed(OcspFailure::TryLater) };
        match self.ask(&request).await {
            Ok(Some(answer)) => {
                self.remember(key, &answer);
                count("signed", answer)
            }
            Ok(None) => failed(OcspFailure::Unauthorized),
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "an OCSP request could not be answered now");
                failed(OcspFailure::TryLater)
            }
            // Said where a responder was to be made.
            Err(ServiceError::Signer(_)) => failed(OcspFailure::TryLater),
            Err(error) => {
                tracing::error!(%error, "an OCSP request could not be answered");
                failed(OcspFailure::InternalError)
            }
        }
    }

    /// None unless all certificates that are asked about are of one issuer of ours: an answer has one signer.
    async fn ask(&self, request: &OcspRequest) -> Result<Option<OcspAnswer>, ServiceError> {
        let now = Timestamp::from_secs(self.kernel.now().as_secs());
        let ours = |responder: &Responder| left(responder, now.as_secs()) > 0 && responder.answers(request);
        let (responders, missing) = self.responders.all(ours).await;
        let Some((issuer, responder)) = responders.iter().find(|(_, responder)| ours(responder)) else {
            // It may be the one that is missing.
            return missing.map_or(Ok(None), Err);
        };
        let known = self.standings(*issuer, responder.asked_about(request)).await?;
        let ends = Timestamp::from_secs(responder.certificate().not_after());
        let next_update = now.plus(LIFE).min(ends);
        let (at, until) = (now.as_secs(), next_update.as_secs());
        let times = OcspTimes { produced_at: at, this_update: at, next_update: until };
        let status = |serial: &Serial| {
            let (said, status) = match known.get(serial.as_bytes()) {
                Some(Standing::Issued) => ("good", CertificateStatus::Good),
                Some(Standing::Revoked { at, reason }) => {
                    ("revoked", CertificateStatus::Revoked { at: at.as_secs(), reason: *reason })
                }
                Some(Standing::NotIssued) | None => ("unknown", CertificateStatus::Unknown),
            };
            metrics::counter!("chancery_ocsp_statuses_total", "status" => said).increment(1);
            status
        };
        let der = {
            let _turn = self.signing.acquire().await.map_err(ServiceError::internal)?;
            responder.respond(request, times, status).map_err(ServiceError::internal)?
        };
        let hash = digest::digest(&digest::SHA256, &der);
        let cacheable = CacheableAnswer {
            this_update: now,
            next_update,
            etag: data_encoding::HEXLOWER.encode(&hash.as_ref()[..16]),
        };
        Ok(Some(OcspAnswer { der: der.into(), cacheable: request.nonce.is_none().then_some(cacheable) }))
    }

    async fn standings(
        &self,
        issuer: IssuerId,
        serials: Vec<Serial>,
    ) -> Result<HashMap<Vec<u8>, Standing>, ServiceError> {
        let read = move |tx: &mut chancery_store::Tx<'_>| {
            let standings = tx.ask_each(&serials, |tx, serial| tx.standing(issuer, &serial.to_string()))?;
            Ok::<_, StoreError>(serials.iter().map(|serial| serial.as_bytes().to_vec()).zip(standings).collect())
        };
        Ok(self.kernel.anonymous_store().read(read).await?)
    }

    fn recall(&self, key: &[u8; 32]) -> Option<OcspAnswer> {
        let now = self.kernel.now();
        let recent = self.recent.lock();
        let known = recent.get(key)?;
        let given = known.answer.cacheable.as_ref()?.this_update;
        // By both clocks: the one that answers are dated by may step, and then what it says of their age is wrong.
        let is_fresh = known.since.elapsed() < MEMORY && given <= now && given > now.minus(MEMORY);
        is_fresh.then(|| known.answer.clone())
    }

    fn remember(&self, key: [u8; 32], answer: &OcspAnswer) {
        if answer.cacheable.is_some() {
            let mut recent = self.recent.lock();
            if recent.len() >= MOST_REMEMBERED {
                recent.clear();
            }
            recent.insert(key, Remembered { answer: answer.clone(), since: Instant::now() });
        }
    }
}

fn failed(failure: OcspFailure) -> OcspAnswer {
    let outcome = match failure {
        OcspFailure::MalformedRequest => "malformed",
        OcspFailure::InternalError => "internal_error",
        OcspFailure::TryLater => "try_later",
        OcspFailure::Unauthorized => "unauthorized",
    };
    count(outcome, OcspAnswer { der: failure.to_der().into(), cacheable: None })
}

fn count(outcome: &'static str, answer: OcspAnswer) -> OcspAnswer {
    metrics::counter!("chancery_ocsp_answers_total", "outcome" => outcome).increment(1);
    answer
}
