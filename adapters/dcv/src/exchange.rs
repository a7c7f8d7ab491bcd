//! One question to one of our resolvers, and its answer: UDP first, TCP where that is not enough.
//!
//! Against forged answers each question has a socket (and so a port) of its own, a random id and a name in random
//! case (“0x20”): an answer must repeat all three.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::Entropy;
use futures_util::{Stream, stream};
use hickory_net::NetError;
use hickory_net::runtime::TokioRuntimeProvider;
use hickory_net::xfer::DnsHandle;
use hickory_proto::op::{DnsRequest, DnsResponse, Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::config::ValidatorConfig;
use crate::lookup_error::Failure;
use crate::pertinent::pertinent;

/// What passes through every network without being cut into fragments.
const UDP_PAYLOAD: u16 = 1232;
/// How often each resolver is asked before we give up.
const ROUNDS: usize = 2;
/// How often the same datagram is sent while we wait for its answer: some get lost.
const SENDINGS: u32 = 4;
/// Some send more than they were told to.
const BUFFER: usize = 4096;

/// Asks our resolvers. Keeps nothing between two questions.
#[derive(Clone)]
pub(crate) struct Exchange(Arc<Inner>);

struct Inner {
    servers: Vec<SocketAddr>,
    patience: Duration,
    plain_case: bool,
    entropy: Arc<dyn Entropy>,
}

impl Exchange {
    pub(crate) fn new(config: &ValidatorConfig, entropy: Arc<dyn Entropy>) -> Self {
        Self(Arc::new(Inner {
            servers: config.resolvers.clone(),
            patience: config.timeouts.dns,
            plain_case: config.plain_case,
            entropy,
        }))
    }

    pub(crate) fn has_servers(&self) -> bool {
        !self.0.servers.is_empty()
    }

    /// The first answer that says what there is or that there is nothing. With `signatures`, those are asked for as
    /// well, and the resolver is told to leave judging them to us.
    pub(crate) async fn ask(&self, name: &Name, kind: RecordType, signatures: bool) -> Result<Message, Failure> {
        let mut failure = Failure::NoResolver;
        for server in std::iter::repeat_n(&self.0.servers, ROUNDS).flatten() {
            failure = match self.ask_server(*server, name, kind, signatures).await {
                Ok(answer) => match answer.metadata.response_code {
                    ResponseCode::NoError if is_referral(&answer) => Failure::Referral,
                    ResponseCode::NoError | ResponseCode::NXDomain => return Ok(answer),
                    code => Failure::Code(code),
                },
                Err(error) => error,
            };
            tracing::debug!(%server, %name, %kind, error = %failure, "DNS query failed");
        }
        Err(failure)
    }

    async fn ask_server(
        &self,
        server: SocketAddr,
        name: &Name,
        kind: RecordType,
        signatures: bool,
    ) -> Result<Message, Failure> {
        let question = self.question(name, kind, signatures)?;
        let patience = self.0.patience;
        let out_of_time = |_| Failure::Timeout { after: patience };
        if let Some(answer) =
            timeout(patience, over_udp(server, &question, patience / SENDINGS)).await.map_err(out_of_time)??
        {
            return Ok(answer);
        }
        timeout(patience, over_tcp(server, &question)).await.map_err(out_of_time)?
    }

    fn question(&self, name: &Name, kind: RecordType, signatures: bool) -> Result<Message, Failure> {
        let entropy = &*self.0.entropy;
        let mut question = Message::new(u16::from_be_bytes(entropy.bytes()), MessageType::Query, OpCode::Query);
        question.metadata.recursion_desired = true;
        question.metadata.checking_disabled = signatures;
        let name = if self.0.plain_case { name.to_lowercase() } else { mixed_case(name, entropy)? };
        question.add_query(Query::query(name, kind));
        let mut edns = Edns::new();
        edns.set_max_payload(UDP_PAYLOAD).set_version(0).set_dnssec_ok(signatures);
        question.set_edns(edns);
        Ok(question)
    }
}

/// For the DNSSEC validator, which needs to ask for keys itself.
impl DnsHandle for Exchange {
    type Response = Pin<Box<dyn Stream<Item = Result<DnsResponse, NetError>> + Send>>;
    type Runtime = TokioRuntimeProvider;

    fn send(&self, request: DnsRequest) -> Self::Response {
        let exchange = self.clone();
        Box::pin(stream::once(async move {
            let query = request.queries.first().ok_or(NetError::Message("a request without a question"))?;
            let answer = exchange.ask(&query.name, query.query_type, true).await?;
            Ok(DnsResponse::from_message(pertinent(answer, query))?)
        }))
    }
}

/// The answer; none if it must be asked for again over TCP.
async fn over_udp(server: SocketAddr, question: &Message, resend: Duration) -> Result<Option<Message>, Failure> {
    let failed = |error: std::io::Error| Failure::Network { reason: error.to_string() };
    let bytes = encode(question)?;
    let any: SocketAddr =
        if server.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any).await.map_err(failed)?;
    // A connected socket takes nothing from others.
    socket.connect(server).await.map_err(failed)?;
    let mut buffer = vec![0; BUFFER];
    loop {
        socket.send(&bytes).await.map_err(failed)?;
        let waiting = async {
            loop {
                let received = socket.recv(&mut buffer).await.map_err(failed)?;
                if let Some(answer) = genuine(&buffer[..received], question)? {
                    return Ok(answer);
                }
            }
        };
        if let Ok(answer) = timeout(resend, waiting).await {
            let answer: Message = answer?;
            // Some servers do not keep the case; over TCP nobody can forge and it does not matter.
            return Ok((!answer.metadata.truncation && keeps_case(&answer, question)).then_some(answer));
        }
    }
}

/// The answer, unless it was not meant for us: then it does not matter how broken it is.
pub(crate) fn genuine(received: &[u8], question: &Message) -> Result<Option<Message>, Failure> {
    if received.get(..2) != Some(&question.metadata.id.to_be_bytes()) {
        return Ok(None);
    }
    let answer = decode(received)?;
    Ok(answers(&answer, question).then_some(answer))
}

async fn over_tcp(server: SocketAddr, question: &Message) -> Result<Message, Failure> {
    let failed = |error: std::io::Error| Failure::Network { reason: error.to_string() };
    let bytes = encode(question)?;
    let length = u16::try_from(bytes.len()).expect("a question is far shorter than 64 KiB");
    let mut stream = TcpStream::connect(server).await.map_err(failed)?;
    stream.write_all(&[&length.to_be_bytes(), &*bytes].concat()).await.map_err(failed)?;
    let length = stream.read_u16().await.map_err(failed)?;
    let mut received = vec![0; length.into()];
    stream.read_exact(&mut received).await.map_err(failed)?;
    let answer = decode(&received)?;
    let malformed = |reason: &str| Err(Failure::Malformed { reason: reason.to_owned() });
    if answer.metadata.id != question.metadata.id || !answers(&answer, question) {
        return malformed("it answers another question");
    }
    // The record that was cut off may be the one that forbids.
    if answer.metadata.truncation { malformed("it is cut, even over TCP") } else { Ok(answer) }
}

fn encode(question: &Message) -> Result<Vec<u8>, Failure> {
    question.to_vec().map_err(|error| Failure::Name(error.to_string()))
}

fn decode(bytes: &[u8]) -> Result<Message, Failure> {
    Message::from_vec(bytes).map_err(|error| Failure::Malformed { reason: error.to_string() })
}

fn answers(answer: &Message, question: &Message) -> bool {
    answer.metadata.message_type == MessageType::Response
        && answer.metadata.op_code == OpCode::Query
        && answer.queries == question.queries
        && answer.queries.iter().all(|query| query.query_class == DNSClass::IN)
}

/// Whether somebody who does not look names up tells us whom to ask instead: that is no empty answer.
pub(crate) fn is_referral(answer: &Message) -> bool {
    let has = |kind| answer.authorities.iter().any(|record| record.record_type() == kind);
    !answer.metadata.authoritative && answer.answers.is_empty() && has(RecordType::NS) && !has(RecordType::SOA)
}

fn keeps_case(answer: &Message, question: &Message) -> bool {
    answer.queries.iter().zip(&question.queries).all(|(answer, question)| answer.name.eq_case(&question.name))
}

fn mixed_case(name: &Name, entropy: &dyn Entropy) -> Result<Name, Failure> {
    // A name has at most 255 octets: a bit for each.
    let coins: [u8; 32] = entropy.bytes();
    let mut coins = (0..256).map(|index: usize| coins[index / 8] >> (index % 8) & 1 == 1);
    let labels: Vec<Vec<u8>> = name
        .iter()
        .map(|label| {
            let toss = |byte: &u8| {
                if coins.next() == Some(true) { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
            };
            label.iter().map(toss).collect()
        })
        .collect();
    let mut name =
        Name::from_labels(labels.iter().map(Vec::as_slice)).map_err(|error| Failure::Name(error.to_string()))?;
    name.set_fqdn(true);
    Ok(name)
}
