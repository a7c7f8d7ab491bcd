use chancery_domain::{KeyType, Timestamp};
use chancery_service::operator::{IssuerDetails, KeyAlgorithm};
use clap::Subcommand;

use super::context::Context;
use crate::failure::Failure;
use crate::print::{Record, out, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum CaCommand {
    /// List the certificate authorities, roots first
    List,
    /// Show a certificate authority, and the profiles whose certificates it signs
    Show {
        /// Its id, such as iss_…, or its name
        ca: String,
        /// Print its certificate in PEM and nothing else
        #[arg(long, conflicts_with = "json")]
        pem: bool,
    },
    /// Make an issuing CA below the newest root; it issues at once, where profiles allow it
    Create {
        /// Its key: ec-p256, ec-p384, rsa-2048, rsa-3072 or rsa-4096
        #[arg(long, value_name = "KEY", value_parser = key_algorithm)]
        kind: KeyAlgorithm,
        /// Its name [default: that of its siblings with the next number]
        #[arg(long)]
        name: Option<String>,
    },
    /// Make a successor with the same kind of key, and retire the old one
    Rotate {
        /// The id or the name of the CA to retire
        ca: String,
    },
    /// Stop an issuing CA from issuing; what it issued is still served by CRL and OCSP
    Retire {
        /// Its id or its name
        ca: String,
    },
    /// Let a retired CA issue again
    Activate {
        /// Its id or its name
        ca: String,
    },
}

pub fn run(target: &Target, command: CaCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    let (operator, printer) = (&context.operator, context.printer);
    match command {
        CaCommand::List => {
            let issuers = context.wait(operator.issuers())?;
            let records: Vec<_> = issuers.iter().map(shown).collect();
            printer.table(&["id", "name", "kind", "state", "key_type", "not_after"], &records)
        }
        CaCommand::Show { ca, pem } => show(&context, &ca, pem),
        CaCommand::Create { kind, name } => {
            let made = context.wait(operator.create_issuer(kind, name))?;
            printer.record(&shown(&made), Some("It may issue now; every node follows within seconds."))
        }
        CaCommand::Rotate { ca } => {
            let rotated = context.wait(operator.rotate_issuer(&ca)).map_err(unknown)?;
            let sentence = format!(
                "{} ({}) takes over from {}, which still answers for what it issued; every node follows within seconds.",
                rotated.new.name, rotated.new.id, rotated.old.name
            );
            printer.say(&sentence, &record! { "new" => shown(&rotated.new), "old" => shown(&rotated.old) })
        }
        CaCommand::Retire { ca } => {
            let retired = context.wait(operator.retire_issuer(&ca)).map_err(unknown)?;
            let sentence = format!("{} issues no more; every node follows within seconds.", retired.name);
            printer.say(&sentence, &shown(&retired))
        }
        CaCommand::Activate { ca } => {
            let active = context.wait(operator.activate_issuer(&ca)).map_err(unknown)?;
            let sentence = format!("{} may issue; every node follows within seconds.", active.name);
            printer.say(&sentence, &shown(&active))
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

fn show(context: &Context, ca: &str, pem: bool) -> Result<(), Failure> {
    let issuers = context.wait(context.operator.issuers())?;
    let found = issuers.iter().find(|issuer| issuer.id.to_string() == ca || issuer.name == ca);
    let Some(issuer) = found else {
        return Err(Failure::failed(format!("there is no CA {ca}")).advise(SEE_LIST));
    };
    if pem {
        return out(&issuer.certificate.to_pem());
    }
    let mut record = shown(issuer);
    let profiles: Vec<_> =
        context.operator.profiles_of(&issuers, issuer.id).iter().map(|name| name.to_string()).collect();
    record.0.push(("profiles", profiles.into()));
    if context.printer.json {
        record.0.push(("certificate", issuer.certificate.to_pem().into()));
    }
    context.printer.record(&record, None)
}

const SEE_LIST: &str = "see `chancery ca list`";

fn unknown(error: chancery_service::ServiceError) -> Failure {
    match error {
        chancery_service::ServiceError::NotFound(..) => Failure::from(error).advise(SEE_LIST),
        other => other.into(),
    }
}

fn key_algorithm(text: &str) -> Result<KeyAlgorithm, String> {
    let kinds = || KeyAlgorithm::ALL.map(|kind| KeyType::from(kind).as_str()).join(", ");
    let kind = text.parse::<KeyType>().ok().and_then(|kind| KeyAlgorithm::try_from(kind).ok());
    kind.ok_or_else(|| format!("a CA's key is one of {}", kinds()))
}
