//! One perspective, as it is asked from here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chancery_client::{BuildError, Client, Error, Method, RawRequest, Response, StatusCode, TransportError};
use chancery_dcv::{CaaCheck, Check, Strictness, Verified};
use chancery_domain::{CaaEvidence, Entropy, Secret, ValidationProblem};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use crate::envelope::{Answer, Question, QuestionId, Settings};
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

/// The service that asks.
#[derive(Clone)]
pub struct Asker {
    /// By which names applicants' records know it.
    pub ca_domains: Vec<String>,
    /// How strictly it validates itself. Answers of a perspective that is laxer do not count.
    pub strictness: Strictness,
    /// The source of the ids of questions.
    pub entropy: Arc<dyn Entropy>,
}

/// A validator elsewhere. Connections to it are kept.
#[derive(Clone)]
pub struct Remote {
    name: String,
    client: Client,
    asker: Asker,
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
    pub settings: Settings,
}

/// Why there is no answer. It says nothing of the applicant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).field("client", &self.client).finish_non_exhaustive()
    }
}

impl Remote {
    pub fn new(place: Place<'_>, asker: Asker) -> Result<Self, BuildError> {
        // A connection for each question: they neither queue up behind each other nor end together.
        let builder = Client::builder(place.url).token(place.secret.reveal()).http1_only();
        let builder = builder.timeout(PATIENCE).connect_timeout(CONNECTING).largest_body(LARGEST_ANSWER);
        let builder = match place.ca_pem {
            Some(pem) => builder.ca_pem(pem),
            None => builder,
        };
        let (name, client) = (place.name.to_owned(), builder.build()?);
        Ok(Self { name, client, asker, trying: place.trying, state: Arc::default() })
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
        let question = VerifyQuestion::new(whose, check, &self.asker.ca_domains);
        let answer: VerifyAnswer = self.ask(VERIFY, &question).await?;
        Ok(answer.seen_from(&self.name))
    }

    /// Whether CAA records let us issue, as seen from there.
    pub async fn caa(
        &self,
        whose: &str,
        check: CaaCheck<'_>,
    ) -> Result<Result<CaaEvidence, ValidationProblem>, Unreachable> {
        let question = CaaQuestion::new(whose, check, &self.asker.ca_domains);
        let answer: CaaAnswer = self.ask(CAA, &question).await?;
        Ok(answer.into())
    }

    /// What it tells of itself; to see that it is there, lets us ask, and is strict enough.
    pub async fn describe(&self) -> Result<Description, Unreachable> {
        let description: Description = read(self.client.raw(RawRequest::new(Method::GET, DESCRIPTION)).await)?;
        description.settings.require(&self.asker.strictness)?;
        Ok(description)
    }

    /// Asks, and asks again if it could not be reached: one that is restarted is away for a moment.
    async fn ask<A: DeserializeOwned>(&self, path: &str, question: &impl Serialize) -> Result<A, Unreachable> {
        let end = Instant::now() + self.trying;
        let mut pause = FIRST_PAUSE;
        loop {
            let id = QuestionId::random(&self.asker.entropy);
            let request = RawRequest::new(Method::POST, path).json(&Question { id, question });
            let response = self.client.raw(request).await;
            let may_be_there_soon = may_be_there_soon(&response);
            let answer = read(response).and_then(|answer: Answer<A>| answer.open(id, &self.asker.strictness));
            self.note(answer.as_ref().err());
            if !may_be_there_soon || Instant::now() + pause > end {
                return answer;
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
