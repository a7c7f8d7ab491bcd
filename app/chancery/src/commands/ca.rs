use chancery_domain::Timestamp;
use chancery_service::operator::IssuerDetails;
use clap::Subcommand;

use super::context::Context;
use crate::failure::Failure;
use crate::print::{Record, out, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum CaCommand {
    /// List the certificate authorities, roots first
    List,
    /// Show a certificate authority
    Show {
        /// Its id, such as iss_…, or its name
        ca: String,
        /// Print its certificate in PEM and nothing else
        #[arg(long, conflicts_with = "json")]
        pem: bool,
    },
}

pub fn run(target: &Target, command: CaCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    let issuers = context.wait(context.operator.issuers())?;
    match command {
        CaCommand::List => {
            let records: Vec<_> = issuers.iter().map(shown).collect();
            context.printer.table(&["id", "name", "kind", "state", "key_type", "not_after"], &records)
        }
        CaCommand::Show { ca, pem } => {
            let found = issuers.iter().find(|issuer| issuer.id.to_string() == ca || issuer.name == ca);
            let Some(issuer) = found else {
                return Err(Failure::failed(format!("there is no CA {ca}")).advise("see `chancery ca list`"));
            };
            if pem {
                return out(&issuer.certificate.to_pem());
            }
            let mut record = shown(issuer);
            if context.printer.json {
                record.0.push(("certificate", issuer.certificate.to_pem().into()));
            }
            context.printer.record(&record, None)
        }
    }
}

pub fn shown(issuer: &IssuerDetails) -> Record {
    let info = &issuer.info;
    record! {
        "id" => issuer.id.to_string(),
        "name" => issuer.name,
        "kind" => issuer.kind.as_str(),
        "state" => issuer.state.as_str(),
        "parent" => issuer.parent.map(|parent| parent.to_string()),
        "subject" => info.subject,
        "issuer" => info.issuer,
        "serial_number" => info.serial,
        "key_type" => info.key_type,
        "not_before" => Timestamp::from_secs(info.not_before).to_string(),
        "not_after" => Timestamp::from_secs(info.not_after).to_string(),
        "sha256_fingerprint" => info.sha256,
        "created_at" => issuer.created_at.to_string(),
    }
}
