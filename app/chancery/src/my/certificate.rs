//! `certificate`: what was issued.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use chancery_client::wire::{CertificateMetadata, CertificateWithChain, Order};
use chancery_client::{CertificateForm, CertificateQuery, Downloaded, Fetched};
use clap::{Subcommand, ValueEnum};

use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, details};
use super::whose::Whose;
use crate::failure::{Failure, Kind};
use crate::files;

#[derive(Subcommand, Debug)]
pub enum CertificateCommand {
    /// List certificates
    List {
        /// Only those of this account, by lookup, key id or e-mail address
        #[arg(long)]
        account: Option<String>,
        /// Only those with this status: pending, issued, cancelled, revoked, expired; several with commas between
        #[arg(long, value_delimiter = ',')]
        status: Vec<String>,
        /// Only those for this name
        #[arg(long)]
        name: Option<String>,
        /// Only those of this certificate profile
        #[arg(long, value_name = "NAME")]
        cert_profile: Option<String>,
        /// Only the one with this serial number, in hexadecimal
        #[arg(long, value_name = "HEX")]
        serial: Option<String>,
        /// Only those that end before this time, such as 2027-01-31T00:00:00Z
        #[arg(long, value_name = "TIME")]
        expires_before: Option<String>,
        /// Only those that end at this time or later
        #[arg(long, value_name = "TIME")]
        expires_after: Option<String>,
        /// Only those of the order with this reference of yours
        #[arg(long, value_name = "ID")]
        external_id: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show what is known of a certificate
    Show {
        /// By lookup, its own or that of its order
        certificate: String,
    },
    /// Download a certificate, in the form that is asked for
    Download {
        /// By lookup, its own or that of its order
        certificate: String,
        /// In which form
        #[arg(long, value_name = "FORM", default_value = "pem")]
        format: Format,
        /// With another chain above it, by its number
        #[arg(long, value_name = "NUMBER")]
        chain: Option<u32>,
        /// Write it to this file [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// The forms of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The certificate and the chain above it, in PEM, as servers want it
    Pem,
    /// The certificate alone, in PEM
    Leaf,
    /// The chain above the certificate alone, in PEM
    Chain,
    /// The certificate alone, in DER
    Der,
    /// The certificate and the chain above it, as PKCS #7 in DER
    Pkcs7,
    /// What is known of it, with certificate and chain in PEM
    Json,
}

pub async fn run(session: &Session, command: CertificateCommand) -> Result<(), Failure> {
    let certificates = session.client.certificates();
    match command {
        CertificateCommand::List {
            account,
            status,
            name,
            cert_profile,
            serial,
            expires_before,
            expires_after,
            external_id,
            list,
        } => {
            let whose = account.as_deref().map(Whose::of);
            let (account_lookup, customer_email, eab_kid) = match whose {
                Some(whose) => (whose.account_lookup, whose.customer_email, whose.eab_kid),
                None => (None, None, None),
            };
            let query = CertificateQuery {
                customer_email,
                account_lookup,
                eab_kid,
                certificate_status: Some(status.join(",")).filter(|status| !status.is_empty()),
                name,
                profile: cert_profile,
                serial,
                expires_before,
                expires_after,
                external_id,
                limit: None,
                cursor: list.cursor.clone(),
            };
            let listed = list.fetch(certificates.list_all(query)).await.or_trouble(&session.trouble)?;
            session.show.list(&listed, &COLUMNS, row)
        }
        CertificateCommand::Show { certificate } => {
            let lookup = own_lookup(session, certificate).await?;
            match certificates.get(lookup).await.or_trouble(&session.trouble)? {
                Fetched::Issued(found) => session.show.thing(&found, || shown(&found.metadata)),
                Fetched::Pending(order) => Err(not_yet(&order)),
            }
        }
        CertificateCommand::Download { certificate, format, chain, out } => {
            let lookup = own_lookup(session, certificate).await?;
            let bytes = download(session, &lookup, format, chain).await?;
            save(session, &bytes, format, out)
        }
    }
}

/// People have the lookup of the order at hand as well.
pub async fn own_lookup(session: &Session, text: String) -> Result<String, Failure> {
    if !text.starts_with("ord_") {
        return Ok(text);
    }
    Ok(session.client.orders().get(text).await.or_trouble(&session.trouble)?.certificate_lookup)
}

async fn download(session: &Session, lookup: &str, format: Format, chain: Option<u32>) -> Result<Vec<u8>, Failure> {
    let form = match format {
        Format::Pem => CertificateForm::Pem,
        Format::Der => CertificateForm::Der,
        Format::Pkcs7 => CertificateForm::Pkcs7,
        Format::Leaf | Format::Chain | Format::Json => CertificateForm::Json,
    };
    let downloaded = session.client.certificates().download(lookup, form, chain).await.or_trouble(&session.trouble)?;
    let bytes = match downloaded {
        Downloaded::Issued(bytes) => bytes,
        Downloaded::Pending(order) => return Err(not_yet(&order)),
    };
    let parsed = || serde_json::from_slice::<CertificateWithChain>(&bytes).map_err(Failure::failed);
    Ok(match format {
        Format::Leaf => parsed()?.certificate.into_bytes(),
        Format::Chain => parsed()?.chain.into_bytes(),
        Format::Json => {
            format!("{}\n", serde_json::to_string_pretty(&parsed()?).map_err(Failure::failed)?).into_bytes()
        }
        Format::Pem | Format::Der | Format::Pkcs7 => bytes.to_vec(),
    })
}

fn save(session: &Session, bytes: &[u8], format: Format, out: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(path) = out {
        files::write_bytes(&path, bytes, 0o644)?;
        let told = serde_json::json!({"file": path});
        return session.show.thing(&told, || format!("Written to {}\n", path.display()));
    }
    let mut stdout = std::io::stdout().lock();
    if matches!(format, Format::Der | Format::Pkcs7) && stdout.is_terminal() {
        return Err(Failure::usage("this form is not for a terminal").advise("name a file with --out"));
    }
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(Failure::failed)
}

fn not_yet(order: &Order) -> Failure {
    Failure::of(Kind::Waiting, format!("it is not issued yet: its order is {}", order.status))
        .advise(format!("chancery my order show {} tells what it waits for", order.lookup))
}

const COLUMNS: [Column; 5] = [
    Column::Whole("lookup"),
    Column::Whole("status"),
    Column::Text("names"),
    Column::Text("e-mail"),
    Column::Whole("until"),
];

fn row(certificate: &CertificateMetadata) -> Vec<Cell> {
    vec![
        certificate.lookup.as_str().into(),
        Cell::status(&certificate.status),
        Cell::list(&certificate.names),
        certificate.customer_email.as_str().into(),
        certificate.not_after.as_deref().map_or_else(Cell::default, Cell::time),
    ]
}

fn shown(certificate: &CertificateMetadata) -> String {
    details(&[
        ("certificate", certificate.lookup.as_str().into()),
        ("status", Cell::status(&certificate.status)),
        ("names", Cell::list(&certificate.names)),
        ("valid from", Cell::maybe(certificate.not_before.as_ref())),
        ("valid until", Cell::maybe(certificate.not_after.as_ref())),
        ("issuer", Cell::maybe(certificate.issuer.as_ref())),
        ("serial number", Cell::maybe(certificate.serial_number.as_ref())),
        ("key type", Cell::maybe(certificate.key_type.as_ref())),
        ("SHA-256", Cell::maybe(certificate.sha256_fingerprint.as_ref())),
        ("certificate profile", certificate.profile.as_str().into()),
        ("customer", certificate.customer_email.as_str().into()),
        ("account", certificate.account_lookup.as_str().into()),
        ("order", certificate.order_lookup.as_str().into()),
        ("revoked", Cell::maybe(certificate.revoked_at.as_ref())),
        ("reason", Cell::maybe(certificate.revocation_reason.as_ref())),
        ("requested by", certificate.requested_via.as_str().into()),
    ])
}
