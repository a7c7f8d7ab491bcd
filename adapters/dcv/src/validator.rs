//! Looks, and looks again.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{
    Attempt, CaaEvidence, CaaReport, ChallengeType, Clock, DnsName, Entropy, Identifier, ProblemKind, Timestamp,
    ValidationProblem, set_aside,
};
use chancery_fair::FairPlaces;
use http::HeaderValue;
use tokio::time::{Instant, sleep, timeout};

use crate::caa::{self, Found};
use crate::caa_rules::Applicant;
use crate::check::{Check, Looks, Verified};
use crate::config::{ConfigError, ValidatorConfig};
use crate::dial::Dialer;
use crate::dns_persist01;
use crate::dns01;
use crate::http01::Http01;
use crate::refusal::Refusal;
use crate::resolver::Resolver;
use crate::strictness::Strictness;
use crate::tls::WebTls;
use crate::tls_alpn01::{ACME_TLS, TlsAlpn01};

/// What is missing is looked for again after this, and then after twice as long each time, up to a limit.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// What a look is for that is not for a challenge.
const PROBE: &str = "chancery-diagnosis";

/// Checks control of names, and their CAA records. Share one: it bounds how much is under way at once.
///
/// No call panics or hangs, whatever the other side does: a look ends after [`Timeouts::look`](crate::Timeouts), a
/// verification at most that long after the end of the retry window, besides waiting its turn.
#[derive(Clone)]
pub struct Validator {
    eyes: Arc<Eyes>,
    /// The names that mean the CA in a record of an applicant's.
    ca_domains: Arc<[String]>,
}

/// What looking takes, whoever it is for.
struct Eyes {
    config: ValidatorConfig,
    clock: Arc<dyn Clock>,
    dialer: Dialer,
    http01: Http01,
    tls_alpn01: TlsAlpn01,
    room: FairPlaces,
    /// Apart, so that no crowd of validations keeps certificates from being issued.
    caa_room: FairPlaces,
}

impl Validator {
    /// The clock only stamps what was seen; waiting goes by the time that passes.
    pub fn new(config: ValidatorConfig, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Result<Self, ConfigError> {
        if config.max_in_flight == 0 {
            return Err(ConfigError::NoRoom);
        }
        let user_agent =
            HeaderValue::from_str(&config.user_agent).map_err(|_| ConfigError::UserAgent(config.user_agent.clone()))?;
        let dialer = Dialer {
            resolver: Resolver::new(&config, entropy)?,
            set_aside: if config.allow_special_addresses { |_| None } else { set_aside },
            connect_timeout: config.timeouts.connect,
        };
        let http01 = Http01 {
            port: config.http01_port,
            https_port: config.https_port,
            user_agent,
            tls: WebTls::offering(b"http/1.1")?,
        };
        let tls_alpn01 = TlsAlpn01 { port: config.tls_alpn01_port, tls: WebTls::offering(ACME_TLS)? };
        let (room, caa_room) = (FairPlaces::new(config.max_in_flight), FairPlaces::new(config.max_in_flight / 4));
        let ca_domains = config.ca_domains.as_slice().into();
        Ok(Self { eyes: Arc::new(Eyes { config, clock, dialer, http01, tls_alpn01, room, caa_room }), ca_domains })
    }

    /// A validator for a CA that records know by other names. It shares its room with this one.
    #[must_use]
    pub fn known_as(&self, ca_domains: &[String]) -> Self {
        Self { eyes: self.eyes.clone(), ca_domains: ca_domains.into() }
    }

    /// The settings that decide what its results are worth.
    pub fn strictness(&self) -> Strictness {
        self.eyes.config.strictness()
    }

    /// Looks whether the challenge is met. What is merely missing, or does not answer, is looked for again within the
    /// retry window; what is wrong fails at once. Each look is one attempt.
    ///
    /// Room is shared fairly between those `whose` looks these are.
    pub async fn verify(&self, whose: &str, request: &Check) -> Verified {
        self.verify_telling(whose, request, &Looks::default()).await
    }

    /// As [`verify`](Self::verify), and tells of each look after which it looks again.
    pub async fn verify_telling(&self, whose: &str, request: &Check, looks: &Looks) -> Verified {
        if let Err(problem) = request.is_possible() {
            return Verified::new(Vec::new(), Err(problem));
        }
        let mut attempts = Vec::new();
        let mut pause = FIRST_PAUSE;
        let mut end = None;
        loop {
            // Nothing is held while we pause.
            let turn = self.eyes.room.acquire(whose).await;
            let end = *end.get_or_insert_with(|| Instant::now() + self.eyes.config.retry_window);
            let (attempt, outcome) = self.look(request).await;
            drop(turn);
            attempts.push(attempt);
            match outcome {
                Ok(until) => return Verified { until, ..Verified::new(attempts, Ok(())) },
                Err(refusal) if !refusal.look_again || Instant::now() + pause > end => {
                    return Verified::new(attempts, Err(refusal.problem));
                }
                Err(_) => {
                    looks.tell(&attempts);
                    sleep(pause).await;
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Asks the CAA records of a name whether we may issue, for this account (as RFC 8657 names it) and after this
    /// validation. An address has none. The evidence holds what decided; a problem names the record, where it was
    /// found and what it says. Where they cannot be seen, they are looked for again within the retry window.
    pub async fn caa(
        &self,
        whose: &str,
        identifier: &Identifier,
        account_uri: Option<&str>,
        method: ChallengeType,
    ) -> Result<CaaEvidence, ValidationProblem> {
        let mut pause = FIRST_PAUSE;
        let mut end = None;
        loop {
            let turn = self.eyes.caa_room.acquire(whose).await;
            let end = *end.get_or_insert_with(|| Instant::now() + self.eyes.config.retry_window);
            let answer = self.caa_now(identifier, account_uri, method).await;
            drop(turn);
            match answer {
                Ok(evidence) => return Ok(evidence),
                Err(refusal) if !refusal.look_again || Instant::now() + pause > end => return Err(refusal.problem),
                Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Looks once at the web server of a name, where http-01 would, for a page that is not there: what is worth knowing
    /// is whether anybody answers, and from where.
    pub async fn probe(&self, whose: &str, identifier: &Identifier) -> Attempt {
        let check = Check {
            identifier: identifier.clone(),
            kind: ChallengeType::Http01,
            token: PROBE.to_owned(),
            key_authorization: format!("{PROBE}.nobody"),
            account_uri: String::new(),
        };
        let _turn = self.eyes.room.acquire(whose).await;
        let (attempt, _) = self.look(&check).await;
        Attempt { expected: None, ..attempt }
    }

    /// Asks once whether we might issue after any of these validations, and tells what was seen in any case.
    pub async fn caa_for_any(
        &self,
        whose: &str,
        identifier: &Identifier,
        account_uri: Option<&str>,
        methods: &[ChallengeType],
    ) -> CaaReport {
        let Identifier::Dns(name) = identifier else { return CaaReport::default() };
        let _turn = self.eyes.caa_room.acquire(whose).await;
        match self.find_caa(name).await {
            Ok(found) => CaaReport {
                found_at: found.at(),
                records: found.records(),
                dnssec: Some(found.security.as_str().to_owned()),
                problem: self.judge_caa(&found, name, account_uri, methods).err(),
            },
            Err((refusal, dnssec)) => CaaReport { dnssec, problem: Some(refusal.problem), ..CaaReport::default() },
        }
    }

    /// Asks once whether we may issue.
    async fn caa_now(
        &self,
        identifier: &Identifier,
        account_uri: Option<&str>,
        method: ChallengeType,
    ) -> Result<CaaEvidence, Refusal> {
        let checked_at = self.eyes.clock.now();
        let Identifier::Dns(name) = identifier else {
            return Ok(CaaEvidence::no_records(checked_at));
        };
        let found = self.find_caa(name).await.map_err(|(refusal, _)| refusal)?;
        match self.judge_caa(&found, name, account_uri, &[method]) {
            Ok(()) => {
                let (found_at, records) = (found.at(), found.records());
                Ok(CaaEvidence { checked_at, found_at, records, agreed: Vec::new() })
            }
            Err(problem) => Err(Refusal { problem, look_again: false }),
        }
    }

    /// The records that decide; or why they cannot be seen, with what there is to say of DNSSEC.
    async fn find_caa(&self, name: &DnsName) -> Result<Found, (Refusal, Option<String>)> {
        let patience = self.eyes.config.timeouts.caa;
        match timeout(patience, caa::find(&self.eyes.dialer.resolver, name.base())).await {
            Ok(found) => found.map_err(|error| {
                let dnssec = error.dnssec();
                (caa::unasked(name.base(), error), dnssec)
            }),
            Err(_) => {
                let detail = format!("CAA could not be checked for {name}: no answer within {patience:?}");
                Err((Refusal::missing(ProblemKind::Caa, detail), None))
            }
        }
    }

    /// The records are the same whatever the method, only what they say differs: one of them will do.
    fn judge_caa(
        &self,
        found: &Found,
        name: &DnsName,
        account_uri: Option<&str>,
        methods: &[ChallengeType],
    ) -> Result<(), ValidationProblem> {
        let (ca_domains, wildcard) = (&self.ca_domains, name.is_wildcard());
        let mut verdict = Ok(());
        for method in methods {
            let applicant = Applicant { ca_domains, account_uri, method: *method, wildcard };
            verdict = caa::judge(found, name.base(), &applicant);
            if verdict.is_ok() {
                break;
            }
        }
        verdict
    }

    /// Looks once. What is found may say until when it counts.
    async fn look(&self, request: &Check) -> (Attempt, Result<Option<Timestamp>, Refusal>) {
        let mut attempt = Attempt {
            at: self.eyes.clock.now().as_millis(),
            perspective: self.eyes.config.perspective.clone(),
            ..Attempt::default()
        };
        let patience = self.eyes.config.timeouts.look;
        let seen = async {
            match request.kind {
                ChallengeType::Http01 => {
                    self.eyes.http01.look(&self.eyes.dialer, request, &mut attempt).await.map(|()| None)
                }
                ChallengeType::Dns01 | ChallengeType::DnsAccount01 => {
                    dns01::look(&self.eyes.dialer.resolver, request, &mut attempt).await.map(|()| None)
                }
                ChallengeType::DnsPersist01 => {
                    let ours = &self.ca_domains;
                    dns_persist01::look(&self.eyes.dialer.resolver, request, ours, self.eyes.clock.now(), &mut attempt)
                        .await
                }
                ChallengeType::TlsAlpn01 => {
                    self.eyes.tls_alpn01.look(&self.eyes.dialer, request, &mut attempt).await.map(|()| None)
                }
            }
        };
        let outcome = timeout(patience, seen).await;
        let outcome = outcome.unwrap_or_else(|_| Err(out_of_time(&attempt, patience)));
        attempt.problem = outcome.as_ref().err().map(|refusal| refusal.problem.clone());
        (attempt, outcome)
    }
}

fn out_of_time(attempt: &Attempt, patience: Duration) -> Refusal {
    match &attempt.address_used {
        Some(address) => {
            Refusal::missing(ProblemKind::Connection, format!("{address} did not answer in full within {patience:?}"))
        }
        None => Refusal::missing(ProblemKind::Dns, format!("the name was not resolved within {patience:?}")),
    }
}
