//! Revoking certificates of any reseller.

mod many;

use std::path::PathBuf;

use chancery_domain::{CertificateId, CertificateRecord, Comment, OrderId, Revocation, RevocationReason};
use chancery_service::operator::{CertificateRef, RevokedWhat};
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
    #[arg(long, value_parser = Comment::parse)]
    comment: Option<Comment>,
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
    /// All certificates in this file, as PEM or DER, or in standard input where it is -. The database need not know them: that
    /// a CA of this installation has signed one is enough
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub fn run(target: &Target, args: RevokeArgs) -> Result<(), Failure> {
    let RevokeArgs { which: Which { serial, certificate, order, serials, file }, reason, comment } = args;
    if let Some(serials) = serials {
        return many::by_serial(target, &serials, reason, comment);
    }
    if let Some(file) = file {
        return many::brought(target, &file, reason, comment);
    }
    let which = serial.map(CertificateRef::Serial).or(certificate.map(CertificateRef::Certificate));
    let Some(which) = which.or(order.map(CertificateRef::Order)) else {
        let how = "name the certificate by --serial, --certificate or --order, or many by --serials or --file";
        return Err(Failure::usage(how));
    };
    let context = Context::open(target)?;
    let done = context.wait(context.operator.revoke(which, reason, comment))?;
    let told = Told::of(&done.what);
    let sentence = match done.already {
        true => format!("{} was revoked already.", told.sentence),
        false => format!("{} is revoked.", told.sentence),
    };
    let certificate = told.certificate;
    let revocation = told.revocation;
    let record = record! {
        "certificate" => certificate.map(|certificate| certificate.id.to_string()),
        "order" => certificate.map(|certificate| certificate.order.to_string()),
        "serial_number" => told.serial,
        "precertificate" => matches!(done.what, RevokedWhat::Precertificate { .. }),
        "recovered" => matches!(done.what, RevokedWhat::Recovered { .. }),
        "names" => told.names,
        "reason" => revocation.map(|revocation| revocation.reason.as_str()),
        "revoked_at" => revocation.map(|revocation| revocation.at.to_string()),
        "comment" => revocation.and_then(|revocation| revocation.comment.as_deref()),
        "already" => done.already,
    };
    context.printer.say(&sentence, &record)
}

/// What is told of that which was revoked.
struct Told<'a> {
    sentence: String,
    serial: &'a str,
    names: Vec<String>,
    certificate: Option<&'a CertificateRecord>,
    /// None of a precertificate: that of the certificate beside it would not be true of it.
    revocation: Option<&'a Revocation>,
}

impl<'a> Told<'a> {
    fn of(what: &'a RevokedWhat) -> Self {
        let names = |certificate: &CertificateRecord| certificate.identifiers.iter().map(ToString::to_string).collect();
        let told = |what: &str, serial, names: Vec<String>, certificate, revocation| {
            let of = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            Told { sentence: format!("{what}{serial}{of}"), serial, names, certificate, revocation }
        };
        match what {
            RevokedWhat::Certificate(certificate) => {
                let serial = certificate.issued().map_or("", |issued| issued.serial.as_str());
                told("", serial, names(certificate), Some(certificate), certificate.revocation())
            }
            RevokedWhat::Precertificate { serial, certificate } => {
                let certificate = certificate.as_ref();
                told("the precertificate ", serial, certificate.map(names).unwrap_or_default(), certificate, None)
            }
            RevokedWhat::Recovered { serial, names, revocation } => {
                told("", serial, names.clone(), None, revocation.as_ref())
            }
        }
    }
}

/// As it is stored: lower case, without colons.
fn serial(text: &str) -> Result<String, String> {
    let digits: String = text.chars().filter(|character| *character != ':').collect();
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("a serial number is written in hexadecimal".to_owned());
    }
    Ok(digits.to_ascii_lowercase())
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
