//! How control of names is checked, and how long it counts.

use std::net::SocketAddr;
use std::time::Duration;

use chancery_dcv::{Dnssec, Strictness, ValidatorConfig};
use chancery_domain::Identifier;
use chancery_http::PublicUrls;
use chancery_service::Issuing;

use super::{Check, days, minutes, url};
use crate::config::types;
use crate::resolvers;

pub(super) struct Validation {
    pub(super) validator: ValidatorConfig,
    order_lifetime: Duration,
    reuse: Duration,
}

/// What the Baseline Requirements allow at most (section 4.2.1). They allow less from 2027-03-15 on, and then less is
/// done for public certificates whatever stands here.
const MAX_REUSE_DAYS: u64 = 200;

pub(super) fn settle(dcv: &types::Dcv, urls: Option<&PublicUrls>, check: &mut Check<'_>) -> Option<Validation> {
    let resolvers = settle_resolvers(&dcv.resolvers, check);
    let dnssec = match dcv.dnssec.as_str() {
        "validate" => Ok(Dnssec::Validated { anchors: None }),
        "off" => Ok(Dnssec::Unchecked),
        other => Err(format!("must be \"validate\" or \"off\", not {other:?}")),
    };
    let dnssec = check.problems.take("dcv.dnssec", dnssec);
    let anywhere = dcv.allow_special_addresses;
    let http01_port = settle_port("http01_port", dcv.http01_port, 80, anywhere, check);
    let tls_alpn01_port = settle_port("tls_alpn01_port", dcv.tls_alpn01_port, 443, anywhere, check);
    let ca_domains = settle_identities(&dcv.caa_identities, urls, check);
    let retry_window = check.span("dcv.retry_window", &dcv.retry_window, Duration::ZERO, minutes(5));
    let reuse_days = check.number("dcv.reuse_days", dcv.reuse_days, 0, MAX_REUSE_DAYS);
    let max_in_flight = check.number("dcv.max_in_flight", dcv.max_in_flight, 1_usize, 100_000);
    let order_lifetime = check.span("dcv.order_lifetime", &dcv.order_lifetime, minutes(10), days(30));
    Some(Validation {
        validator: ValidatorConfig {
            resolvers: resolvers?,
            dnssec: dnssec?,
            http01_port: http01_port?,
            https_port: tls_alpn01_port?,
            tls_alpn01_port: tls_alpn01_port?,
            allow_special_addresses: anywhere,
            retry_window: retry_window?,
            max_in_flight: max_in_flight?,
            ca_domains: ca_domains?,
            ..ValidatorConfig::default()
        },
        order_lifetime: order_lifetime?,
        reuse: days(reuse_days?),
    })
}

impl Validation {
    /// The settings of issuing with what was said here: how long orders last and authorizations are used again, and
    /// whether public certificates may rest on what is validated here.
    pub(super) fn said_of(&self, issuing: Issuing) -> Issuing {
        let fit_for_public = self.validator.strictness().laxer_than(&Strictness::PUBLIC).is_empty();
        Issuing { order_lifetime: self.order_lifetime, reuse: self.reuse, fit_for_public, ..issuing }
    }
}

fn settle_resolvers(list: &[String], check: &mut Check<'_>) -> Option<Vec<SocketAddr>> {
    list.iter().map(|text| check.problems.take("dcv.resolvers", resolvers::parse(text))).collect()
}

/// The world is looked at where everybody else looks (RFC 8555 section 8.3, RFC 8737 section 3).
fn settle_port(setting: &str, value: i64, usual: u16, anywhere: bool, check: &mut Check<'_>) -> Option<u16> {
    let setting = format!("dcv.{setting}");
    let port = check.number(&setting, value, 1, u16::MAX)?;
    let message = format!(
        "must be {usual}: elsewhere, whoever may open a port on a machine could get certificates for its names; only \
         an internal network can have its own (dcv.allow_special_addresses)"
    );
    check.problems.require(port == usual || anywhere, setting, message);
    Some(port)
}

fn settle_identities(list: &[String], urls: Option<&PublicUrls>, check: &mut Check<'_>) -> Option<Vec<String>> {
    if list.is_empty() {
        // An address cannot stand in a CAA record: then every record forbids.
        return Some(urls.into_iter().filter_map(|urls| name(&url::host(&urls.base_url)).ok()).collect());
    }
    list.iter().map(|text| check.problems.take("dcv.caa_identities", name(text))).collect()
}

fn name(text: &str) -> Result<String, String> {
    match Identifier::parse(text) {
        Ok(Identifier::Dns(name)) if !name.is_wildcard() => Ok(name.to_string()),
        Ok(_) => Err(format!("must be domain names such as ca.example.com, not {text:?}")),
        Err(error) => Err(format!("{text:?}: {error}")),
    }
}
