//! Checking signatures in the DNS from a key that we know down to the answer (RFC 4035).

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hickory_net::dnssec::DnssecDnsHandle;
use hickory_net::xfer::{DnsHandle, FirstAnswer};
use hickory_net::{DnsError, NetError};
use hickory_proto::dnssec::{Proof, TrustAnchors};
use hickory_proto::op::{DnsRequestOptions, Message, Query};
use hickory_proto::rr::{Name, Record, RecordType};

use crate::answer::Security;
use crate::config::ConfigError;
use crate::exchange::Exchange;
use crate::lookup_error::Failure;
use crate::renamed::has_no_other;
use crate::wildcard::nothing_is_closer;

/// Asks and checks.
pub(crate) struct Validating(DnssecDnsHandle<Exchange>);

impl Validating {
    pub(crate) fn new(exchange: Exchange, anchors: Option<&str>) -> Result<Self, ConfigError> {
        let anchors = match anchors {
            None => TrustAnchors::default(),
            Some(text) => TrustAnchors::from_str(text).map_err(|error| ConfigError::TrustAnchors(error.to_string()))?,
        };
        // Its cache goes by a hash that is not secret: no verdict is ever taken from it.
        let never = Duration::ZERO..=Duration::ZERO;
        let handle = DnssecDnsHandle::with_trust_anchor(exchange, Arc::new(anchors))
            .validation_cache_size(1)
            .negative_validation_ttl(never.clone())
            .positive_validation_ttl(never);
        Ok(Self(handle))
    }

    pub(crate) async fn ask(&self, name: &Name, kind: RecordType) -> Result<(Message, Security), Failure> {
        let mut options = DnsRequestOptions::default();
        options.recursion_desired = true;
        options.edns_set_dnssec_ok = true;
        let answer = self.0.lookup(Query::query(name.clone(), kind), options).first_answer().await;
        match answer {
            Ok(answer) => {
                let message = answer.into_message();
                let security = judge(&message)?;
                Ok((message, security))
            }
            // A denial that would cost too much to check (RFC 9276 section 3.2); what is beside it still counts.
            Err(NetError::Dns(DnsError::Nsec { response, proof: Proof::Insecure, .. })) => {
                let message = response.into_message();
                let security = judge(&message)?.min(Security::Insecure);
                Ok((message, security))
            }
            Err(NetError::Dns(DnsError::Nsec { response, .. }))
                if nothing_is_closer(&response, name) || has_no_other(&response, name, kind) =>
            {
                let message = response.into_message();
                let security = judge(&message)?;
                Ok((message, security))
            }
            Err(NetError::Dns(DnsError::Nsec { .. } | DnsError::DnssecBogus)) => Err(Failure::Bogus),
            Err(NetError::Dns(DnsError::ResponseCode(code))) => Err(Failure::Code(code)),
            Err(error) => Err(Failure::Unproven(error.to_string())),
        }
    }
}

/// The weakest proof of all records that matter: the answers, or else those that say that there are none. All of them
/// are about the question: see [`pertinent`](crate::pertinent).
fn judge(message: &Message) -> Result<Security, Failure> {
    let negative = message.answers.is_empty();
    let matter = if negative { &message.authorities } else { &message.answers };
    let mut security = Security::Secure;
    for record in matter.iter().filter(|record| record.record_type() != RecordType::RRSIG) {
        security = security.min(proven(record)?);
    }
    let denies = |record: &Record| matches!(record.record_type(), RecordType::NSEC | RecordType::NSEC3);
    // Without a signed denial the library has found that there cannot be one, because the zone is not signed.
    if negative && !matter.iter().any(denies) { Ok(Security::Insecure) } else { Ok(security) }
}

fn proven(record: &Record) -> Result<Security, Failure> {
    match record.proof {
        Proof::Secure => Ok(Security::Secure),
        Proof::Insecure => Ok(Security::Insecure),
        Proof::Bogus => Err(Failure::Bogus),
        Proof::Indeterminate => Err(Failure::Unproven(format!("no proof for {}", record.name.to_lowercase()))),
    }
}
