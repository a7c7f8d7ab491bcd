//! One perspective, as it is asked from here.

use std::sync::Arc;
use std::time::Duration;

use chancery_client::{BuildError, Client, Error, Method, RawRequest, Response, StatusCode, TransportError};
use chancery_dcv::{CaaCheck, Check, Verified};
use chancery_domain::{CaaEvidence, Secret, ValidationProblem};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use crate::wire::{CAA, CaaAnswer, CaaQuestion, DESCRIPTION, VERIFY, VerifyAnswer, VerifyQuestion};

/// For one answer: a perspective looks again for what is missing, and may have to wait its turn.
const PATIENCE: Duration = Duration::from_secs(25);
const CONNECTING: Duration = Duration::from_secs(3);
/// Far more than what is told of looks takes.
const LARGEST_ANSWER: usize = 256 * 1024;
/// One that cannot be reached is tried again after this, and then after twice as long each time, up to a limit.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// One that is away is looked for after this, and then after twice as long each time, up to a limit.
const FIRST_WATCH: Duration = Duration::from_secs(1);
const LONGEST_WATCH: Duration = Duration::from_secs(15);
/// How often it is told in the log, at most, whether one can be reached.
const TELLING: Duration = Duration::from_secs(60);
/// Characters of a refusal that are told.
const MOST_TOLD: usize = 300;

/// Where a perspective is, and what is shared with it.
pub struct Place<'a> {
    /// What it is called in what was seen.
    pub name: &'a str,
    /// `https`, or `http` on this machine.
    pub url: &'a str,
    pub secret: &'a Secret,
    /// Certificates in PEM that vouch for it; the system's without.
    pub ca_pem: Option<Vec<u8>>,
    /// How long it is tried to reach it where it is away.
    pub trying: Duration,
}

/// A validator elsewhere. Connections to it are kept.
#[derive(Clone, Debug)]
pub struct Remote {
    name: String,
    client: Client,
    /// By which names applicants' records know us.
    ca_domains: Vec<String>,
    trying: Duration,
    state: Arc<Mutex<State>>,
}

/// What is known of whether it can be reached.
#[derive(Debug, Default)]
struct State {
    /// It could not be when it was last tried.
    is_away: bool,
    /// Somebody waits for it to come back.
    is_watched: bool,
    /// What the log says, and since when.
    told: Option<(bool, Instant)>,
}

/// What a perspective tells of itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct Description {
    pub version: String,
    /// What its clock shows, in milliseconds since 1970.
    pub time: i64,
}

/// Why there is no answer. It says nothing of the applicant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

impl Remote {
    pub fn new(place: Place<'_>, ca_domains: &[String]) -> Result<Self, BuildError> {
        // A connection for each question: they neither queue up behind each other nor end together.
        let builder = Client::builder(place.url).token(place.secret.reveal()).http1_only();
        let builder = builder.timeout(PATIENCE).connect_timeout(CONNECTING).largest_body(LARGEST_ANSWER);
        let builder = match place.ca_pem {
            Some(pem) => builder.ca_pem(pem),
            None => builder,
        };
        let (name, client, ca_domains) = (place.name.to_owned(), builder.build()?, ca_domains.to_vec());
        Ok(Self { name, client, ca_domains, trying: place.trying, state: Arc::default() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it could not be reached when it was last tried.
    pub fn is_away(&self) -> bool {
        self.state.lock().is_away
    }

    /// Whether the challenge is met, as seen from there.
    pub async fn verify(&self, whose: &str, check: &Check) -> Result<Verified, Unreachable> {
        let question = VerifyQuestion::new(whose, check, &self.ca_domains);
        let answer: VerifyAnswer = self.ask(RawRequest::new(Method::POST, VERIFY).json(&question)).await?;
        Ok(answer.seen_from(&self.name))
    }

    /// Whether CAA records let us issue, as seen from there.
    pub async fn caa(
        &self,
        whose: &str,
        check: CaaCheck<'_>,
    ) -> Result<Result<CaaEvidence, ValidationProblem>, Unreachable> {
        let question = CaaQuestion::new(whose, check, &self.ca_domains);
        let answer: CaaAnswer = self.ask(RawRequest::new(Method::POST, CAA).json(&question)).await?;
        Ok(answer.into())
    }

    /// What it tells of itself; to see that it is there and lets us ask.
    pub async fn describe(&self) -> Result<Description, Unreachable> {
        read(self.client.raw(RawRequest::new(Method::GET, DESCRIPTION)).await)
    }

    /// Asks, and asks again where nobody was there: one that is started anew is away for a moment.
    async fn ask<T: DeserializeOwned>(&self, request: RawRequest) -> Result<T, Unreachable> {
        let end = Instant::now() + self.trying;
        let mut pause = FIRST_PAUSE;
        loop {
            let answer = self.client.raw(request.clone()).await;
            let may_be_there_soon = may_be_there_soon(&answer);
            let read = read(answer);
            self.note(read.as_ref().err());
            if !may_be_there_soon || Instant::now() + pause > end {
                return read;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// It seems to hang.
    pub fn suspect(&self) {
        self.note(Some(&Unreachable("it does not answer in time".to_owned())));
    }

    /// Asks again and again until it is back: while it counts as away nobody waits for its answers, so they cannot tell.
    async fn watch(self) {
        let mut pause = FIRST_WATCH;
        loop {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_WATCH);
            if timeout(CONNECTING, self.describe()).await.is_ok_and(|answer| answer.is_ok()) {
                self.state.lock().is_watched = false;
                self.note(None);
                return;
            }
        }
    }

    /// Tells in the log what has changed, but not every time where it goes to and fro.
    fn note(&self, failed: Option<&Unreachable>) {
        let mut state = self.state.lock();
        state.is_away = failed.is_some();
        if state.is_away && !state.is_watched {
            state.is_watched = true;
            tokio::spawn(self.clone().watch());
        }
        let (told_away, due) = match state.told {
            Some((away, at)) => (away, at.elapsed() >= TELLING),
            None => (false, true),
        };
        if told_away == state.is_away || !due {
            return;
        }
        state.told = Some((state.is_away, Instant::now()));
        match failed {
            Some(why) => tracing::warn!(perspective = self.name, %why, "a perspective cannot be asked"),
            None => tracing::info!(perspective = self.name, "a perspective can be asked again"),
        }
    }
}

/// Whether somebody is there who may answer in a moment.
fn may_be_there_soon(answer: &Result<Response, Error>) -> bool {
    match answer {
        Ok(response) => matches!(
            response.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE
        ),
        Err(error) => matches!(error, Error::Transport(TransportError::Connect(_) | TransportError::Exchange(_))),
    }
}

fn read<T: DeserializeOwned>(answer: Result<Response, Error>) -> Result<T, Unreachable> {
    let response = answer.map_err(|error| Unreachable(error.to_string()))?;
    match response.status {
        StatusCode::OK => serde_json::from_slice(&response.body)
            .map_err(|error| Unreachable(format!("its answer is not understood: {error}"))),
        StatusCode::UNAUTHORIZED => Err(Unreachable("it does not take our secret".to_owned())),
        status => {
            let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
            let said: String = response.text().chars().take(MOST_TOLD).map(one_line).collect();
            Err(Unreachable(format!("it answers with {status}: {said}")))
        }
    }
}
