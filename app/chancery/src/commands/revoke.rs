//! Revoking certificates of any reseller.

mod many;

use std::path::PathBuf;

use chancery_domain::{CertificateId, OrderId, RevocationReason};
use chancery_service::operator::CertificateRef;
use clap::Args;

use super::context::Context;
use crate::failure::Failure;
use crate::print::record;
use crate::target::Target;

#[derive(Args, Debug)]
pub struct RevokeArgs {
    #[command(flatten)]
    which: Which,
    /// Why, as RFC 5280 names or numbers it: keyCompromise also blocks the key for ever
    #[arg(long, default_value = "unspecified")]
    reason: RevocationReason,
    /// A note, which nobody but you and the reseller sees
    #[arg(long, value_parser = comment)]
    comment: Option<String>,
}

/// One of these.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Which {
    /// The certificate with this serial number, in hexadecimal, with or without colons
    #[arg(long, value_name = "HEX", value_parser = serial)]
    serial: Option<String>,
    /// The certificate with this lookup, such as cert_…
    #[arg(long, value_name = "LOOKUP")]
    certificate: Option<CertificateId>,
    /// The certificate of this order, such as ord_…
    #[arg(long, value_name = "LOOKUP")]
    order: Option<OrderId>,
    /// All certificates whose serial numbers are in this file, or in standard input where it is -: one a line, blank
    /// lines and what follows a # left out. Lines that name none are told; the others are revoked all the same
    #[arg(long, value_name = "FILE")]
    serials: Option<PathBuf>,
}

pub fn run(target: &Target, args: RevokeArgs) -> Result<(), Failure> {
    let RevokeArgs { which: Which { serial, certificate, order, serials }, reason, comment } = args;
    if let Some(file) = serials {
        return many::run(target, &file, reason, comment);
    }
    let which = serial.map(CertificateRef::Serial).or(certificate.map(CertificateRef::Certificate));
    let Some(which) = which.or(order.map(CertificateRef::Order)) else {
        return Err(Failure::usage("name the certificate by --serial, --certificate or --order, or many by --serials"));
    };
    let context = Context::open(target)?;
    let done = context.wait(context.operator.revoke(which, reason, comment))?;
    let certificate = &done.certificate;
    let issued = certificate.issued();
    let revocation = certificate.revocation();
    let names: Vec<_> = certificate.identifiers.iter().map(ToString::to_string).collect();
    let serial = issued.map(|issued| issued.serial.as_str()).unwrap_or_default();
    let (serial, what) = match &done.precertificate {
        Some(shown) => (shown.as_str(), format!("the precertificate {shown}")),
        None => (serial, serial.to_owned()),
    };
    // What is told of the certificate is not true of what only logs were shown.
    let revocation = revocation.filter(|_| done.precertificate.is_none());
    let sentence = match done.already {
        true => format!("{what} ({}) was revoked already.", names.join(", ")),
        false => format!("{what} ({}) is revoked.", names.join(", ")),
    };
    let record = record! {
        "certificate" => certificate.id.to_string(),
        "order" => certificate.order.to_string(),
        "serial_number" => serial,
        "precertificate" => done.precertificate.is_some(),
        "names" => names,
        "reason" => revocation.map(|revocation| revocation.reason.as_str()),
        "revoked_at" => revocation.map(|revocation| revocation.at.to_string()),
        "comment" => revocation.and_then(|revocation| revocation.comment.as_deref()),
        "already" => done.already,
    };
    context.printer.say(&sentence, &record)
}

/// As it is stored: lower case, without colons.
fn serial(text: &str) -> Result<String, String> {
    let digits: String = text.chars().filter(|character| *character != ':').collect();
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("a serial number is written in hexadecimal".to_owned());
    }
    Ok(digits.to_ascii_lowercase())
}

fn comment(text: &str) -> Result<String, String> {
    let fits = (1..=1000).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("a comment is 1 to 1000 characters, in one line".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_number_is_read_as_others_write_it() {
        assert_eq!(serial("4A:0b:Ff").as_deref(), Ok("4a0bff"));
        assert_eq!(serial("4a0bff").as_deref(), Ok("4a0bff"));
        for bad in ["", ":", "0x12", "12 34"] {
            assert!(serial(bad).is_err(), "{bad}");
        }
    }
}
