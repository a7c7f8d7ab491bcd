//! A log of certificates, as it is asked to take one (RFC 6962 section 4; the logs of static-ct-api take them the same way).

use std::fmt;
use std::time::Duration;

use chancery_client::{BuildError, Client, Error, Method, RawRequest, Response, StatusCode};
use data_encoding::BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Logs write before they promise, which takes some of them a second.
const PATIENCE: Duration = Duration::from_secs(10);
const CONNECTING: Duration = Duration::from_secs(3);
/// A promise takes some hundred bytes.
const LARGEST_PROMISE: usize = 64 * 1024;
/// Of extensions only the place of the entry is in use: eight bytes. They stand in every certificate.
const LARGEST_EXTENSIONS: usize = 256;
/// The roots that the large logs accept are some megabytes.
const LARGEST_ROOTS: usize = 32 * 1024 * 1024;
/// Characters of a refusal that are told.
const MOST_TOLD: usize = 300;
const ADD_PRE_CHAIN: &str = "/ct/v1/add-pre-chain";
const GET_ROOTS: &str = "/ct/v1/get-roots";

/// Asks one log. Connections to it are kept.
#[derive(Clone, Debug)]
pub struct LogClient {
    client: Client,
    /// Asks for the roots that the log accepts, which take more room than a promise.
    for_roots: Client,
}

/// What a log promises, as it says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogAnswer {
    /// Which log it takes itself for.
    pub id: [u8; 32],
    /// In milliseconds since 1970.
    pub timestamp: u64,
    pub extensions: Vec<u8>,
    pub signature: Vec<u8>,
}

/// Why there is no promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It does not take what it was shown.
    #[error("{0}")]
    Refused(String),
    /// It could not be asked, or cannot now.
    #[error("{why}")]
    Away {
        why: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
}

impl LogError {
    pub fn away(why: impl Into<String>) -> Self {
        Self::Away { why: why.into(), retry_after: None }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(_) => None,
            Self::Away { retry_after, .. } => *retry_after,
        }
    }
}

#[derive(Serialize)]
struct Chain {
    chain: Vec<String>,
}

#[derive(Deserialize)]
struct Promise {
    sct_version: u8,
    id: String,
    timestamp: u64,
    #[serde(default)]
    extensions: String,
    signature: String,
}

#[derive(Deserialize)]
struct Roots {
    certificates: Vec<String>,
}

impl LogClient {
    /// `url` is what the log's paths begin with: `https`, or `http` on this machine. `ca_pem` has certificates that vouch for
    /// its server; the system's without.
    pub fn new(url: &str, ca_pem: Option<Vec<u8>>) -> Result<Self, BuildError> {
        let build = |largest: usize| {
            // A connection for each question: they neither queue up behind each other nor end together.
            let builder = Client::builder(url).http1_only();
            let builder = builder.timeout(PATIENCE).connect_timeout(CONNECTING).largest_body(largest);
            match ca_pem.clone() {
                Some(pem) => builder.ca_pem(pem).build(),
                None => builder.build(),
            }
        };
        Ok(Self { client: build(LARGEST_PROMISE)?, for_roots: build(LARGEST_ROOTS)? })
    }

    /// Shows it a precertificate with the CAs above it, in DER.
    pub async fn add_pre_chain(&self, chain: &[Vec<u8>]) -> Result<LogAnswer, LogError> {
        let body = Chain { chain: chain.iter().map(|certificate| BASE64.encode(certificate)).collect() };
        let request = RawRequest::new(Method::POST, ADD_PRE_CHAIN).json(&body);
        let promise: Promise = read(self.client.raw(request).await)?;
        if promise.sct_version != 0 {
            return Err(misunderstood("its version is not 1"));
        }
        let bytes = |text: &str| BASE64.decode(text.as_bytes()).map_err(|_| misunderstood("not base64"));
        let id = bytes(&promise.id)?.try_into().map_err(|_| misunderstood("its id is not 32 bytes"))?;
        let (extensions, signature) = (bytes(&promise.extensions)?, bytes(&promise.signature)?);
        if extensions.len() > LARGEST_EXTENSIONS {
            return Err(misunderstood("its extensions are longer than any"));
        }
        Ok(LogAnswer { id, timestamp: promise.timestamp, extensions, signature })
    }

    /// The roots below which it takes certificates, in DER.
    pub async fn accepted_roots(&self) -> Result<Vec<Vec<u8>>, LogError> {
        let roots: Roots = read(self.for_roots.raw(RawRequest::new(Method::GET, GET_ROOTS)).await)?;
        let decode = |text: &String| BASE64.decode(text.as_bytes());
        let decoded = roots.certificates.iter().map(decode).collect::<Result<_, _>>();
        decoded.map_err(|_| misunderstood("not base64"))
    }
}

fn misunderstood(what: impl fmt::Display) -> LogError {
    LogError::away(format!("its answer is not understood: {what}"))
}

fn read<T: DeserializeOwned>(answer: Result<Response, Error>) -> Result<T, LogError> {
    let response = answer.map_err(|error| LogError::away(error.to_string()))?;
    if response.status == StatusCode::OK {
        return serde_json::from_slice(&response.body).map_err(misunderstood);
    }
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    let said: String = response.text().chars().take(MOST_TOLD).map(one_line).collect();
    let why = format!("it answers with {}: {}", response.status, said.trim());
    match response.status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            Err(LogError::Away { why, retry_after: response.retry_after() })
        }
        status if status.is_client_error() => Err(LogError::Refused(why)),
        _ => Err(LogError::Away { why, retry_after: response.retry_after() }),
    }
}
