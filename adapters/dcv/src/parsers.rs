//! The readers of what strangers answer, without the asking: for the fuzz targets, which have bytes and no network.

use chancery_domain::{ChallengeType, Identifier, Timestamp};
use hickory_proto::dnssec::Proof;
use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

use crate::answer::{Answer, Security};
use crate::caa_rules::{Applicant as Permitted, Property, permits};
use crate::caa_value::IssueValue;
use crate::dns_persist01::Applicant;
use crate::exchange::{genuine, is_referral};
use crate::fetch::{self, Page};
use crate::pertinent::pertinent;
use crate::renamed::has_no_other;
use crate::wildcard::nothing_is_closer;
use crate::{acme_certificate, dns01, redirect};

/// What a resolver's answer comes to, as far as it was meant for the question.
pub struct DnsAnswer {
    pub message: Message,
    /// What of it would be handed to the DNSSEC library.
    pub pertinent: Message,
    /// What of that would be.
    pub pertinent_again: Message,
    pub is_referral: bool,
    /// Where the records are, and through which aliases; none if there are too many of those.
    pub found: Option<Found>,
}

pub struct Found {
    pub owner: Name,
    pub data: Vec<RData>,
    pub aliases: Vec<(Name, Name)>,
    /// What dns-01 compares, where TXT was asked for.
    pub texts: Vec<Vec<u8>>,
    /// Whether the last of it is here, and nothing more is to be asked.
    pub complete: bool,
}

/// Reads a datagram as the answer to a question with the id that it has itself.
pub fn dns_answer(received: &[u8], name: &Name, kind: RecordType) -> Option<DnsAnswer> {
    let id = u16::from_be_bytes(*received.first_chunk()?);
    let mut question = Message::new(id, MessageType::Query, OpCode::Query);
    let query = Query::query(name.clone(), kind);
    question.add_query(query.clone());
    let message = genuine(received, &question).ok()??;
    let pertinent = pertinent(message.clone(), &query);
    let pertinent_again = crate::pertinent::pertinent(pertinent.clone(), &query);
    // As if every signature were right: the rules for denials look at nothing else.
    let mut proven = pertinent.clone();
    for record in proven.answers.iter_mut().chain(&mut proven.authorities) {
        record.proof = Proof::Secure;
    }
    let _ = (nothing_is_closer(&proven, name), has_no_other(&proven, name, kind));
    let mut answer = Answer::nothing_yet(name.clone());
    let taken = answer.take(&message, kind, Security::Unchecked);
    let _ = answer.aliases_shown().count();
    let texts = answer.data.iter().filter_map(dns01::joined).collect();
    let Answer { owner, data, aliases, .. } = answer;
    let found = taken.ok().map(|complete| Found { owner, data, aliases, texts, complete });
    Some(DnsAnswer { is_referral: is_referral(&message), message, pertinent, pertinent_again, found })
}

/// The issuer and the parameters of an `issue` property.
pub fn caa_value(value: &[u8]) -> Option<(String, Vec<(String, String)>)> {
    let IssueValue { issuer, parameters } = IssueValue::parse(value)?;
    let owned = parameters.into_iter().map(|(tag, value)| (tag.to_owned(), value.to_owned()));
    Some((issuer.to_owned(), owned.collect()))
}

/// Whether CAA records, each with flags, tag and value, let one of these CAs issue; else the objections, as told.
pub fn caa_permits(
    records: &[(u8, String, Vec<u8>)],
    ca_domains: &[String],
    account_uri: Option<&str>,
    method: ChallengeType,
    wildcard: bool,
) -> Result<(), Vec<String>> {
    let property = |(flags, tag, value): &(u8, String, Vec<u8>)| Property {
        flags: *flags,
        tag: tag.clone(),
        value: value.clone(),
    };
    let properties: Vec<_> = records.iter().map(property).collect();
    permits(&properties, &Permitted { ca_domains, account_uri, method, wildcard })
        .map_err(|objections| objections.iter().map(|each| format!("{}: {}", each.property, each.why)).collect())
}

/// Until when a record of dns-persist-01 lets an account have a name, where it says so; else why it does not.
pub fn persistent_record(
    record: &[u8],
    our: &[String],
    account_uri: &str,
    wildcard: bool,
    now: Timestamp,
) -> Result<Option<Timestamp>, String> {
    Applicant { our, account_uri, wildcard, now }.judge(record).map_err(|objection| objection.to_string())
}

/// Whether a certificate answers tls-alpn-01; else why not.
pub fn acme_certificate(der: &[u8], identifier: &Identifier, digest: &[u8]) -> Result<(), String> {
    acme_certificate::check(der, identifier, digest).map_err(|wrong| wrong.why)
}

/// Where a redirect from a page may lead.
pub fn redirect(from: &Url, location: &[u8]) -> Result<Url, String> {
    redirect::target(from, Some(location), &[]).map_err(|refusal| refusal.problem.detail)
}

/// What a web server answered.
pub struct WebPage {
    pub status: u16,
    pub location: Option<Vec<u8>>,
    pub body: Vec<u8>,
}

/// Reads what a web server answered; all of it is there at once.
pub fn page(received: &[u8], url: &Url) -> Result<WebPage, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    let (ours, mut theirs) = tokio::io::duplex(fetch::MAX_BODY);
    let server = async move {
        // Nothing that comes before the question is taken for an answer.
        if theirs.read(&mut [0; 1024]).await.is_ok() {
            let _ = theirs.write_all(received).await;
        }
    };
    let agent = http::HeaderValue::from_static("fuzz");
    let (page, ()) = runtime.block_on(async { tokio::join!(fetch::get(ours, url, &agent), server) });
    let Page { status, location, body } = page.map_err(|refusal| refusal.problem.detail)?;
    Ok(WebPage { status: status.as_u16(), location, body })
}
