use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use chancery_domain::{Clock, IssuerId, KeyType, RevocationReason, Timestamp};
use chancery_machine::SystemClock;
use chancery_pki::{CaName, Certificate};
use chancery_service::operator::{ChainDetails, IssuerDetails, KeyAlgorithm, NewIssuer};
use chancery_service::{KeyHome, KeyPlace, Noun, ServiceError};
use chancery_store::IssuerState;
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
        #[arg(long, value_parser = ca_name)]
        name: Option<String>,
        /// Where its key is made, database or token [default: the token, where keys.pkcs11 names one]
        #[arg(long, value_name = "PLACE", value_parser = key_place)]
        keys: Option<KeyPlace>,
        /// Let it issue nothing before it is activated: another root may have to vouch for it first
        #[arg(long)]
        inactive: bool,
    },
    /// Make a successor with the same kind of key, and retire the old one
    Rotate {
        /// The id or the name of the CA to retire
        ca: String,
        /// Where the key of its successor is made, database or token [default: the token, where keys.pkcs11 names one]
        #[arg(long, value_name = "PLACE", value_parser = key_place)]
        keys: Option<KeyPlace>,
    },
    /// Stop an issuing CA from issuing; what it issued is still served by CRL and OCSP
    Retire {
        /// Its id or its name
        ca: String,
    },
    /// Revoke the certificate of an issuing CA: the root's list tells, and it never issues again
    RevokeIssuer {
        /// Its id or its name
        ca: String,
        /// Why, as RFC 5280 names or numbers it, but not unspecified; keyCompromise is told as cACompromise
        #[arg(long)]
        reason: RevocationReason,
        /// Do it without asking
        #[arg(long)]
        yes: bool,
    },
    /// Let a retired CA issue again
    Activate {
        /// Its id or its name
        ca: String,
    },
    /// Print a request (PKCS #10) for another CA to vouch for an issuing CA
    Request {
        /// The id or the name of the issuing CA
        ca: String,
    },
    /// Offer clients a further chain above an issuing CA, for which another root vouches
    AddChain {
        /// The id or the name of the issuing CA
        ca: String,
        /// PEM: the CA's certificate as the other signed it, then each one's issuer, up to the root
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
        /// Give it to whoever asks for none; no certificate outlasts it then
        #[arg(long)]
        prefer: bool,
    },
    /// Give clients that ask for none another chain than before; no certificate outlasts it then
    PreferChain {
        /// The id or the name of the issuing CA
        ca: String,
        /// The number of the chain, as `ca show` lists them; 0 for that of the CA's own certificate
        number: u32,
    },
    /// Offer a further chain no more
    RemoveChain {
        /// The id or the name of the issuing CA
        ca: String,
        /// The number of the chain, as `ca show` lists them
        number: u32,
    },
}

pub fn run(target: &Target, command: CaCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    let (operator, printer) = (&context.operator, context.printer);
    match command {
        CaCommand::List => {
            let issuers = context.wait(operator.issuers())?;
            list(&context, &issuers)
        }
        CaCommand::Show { ca, pem } => show(&context, &ca, pem),
        CaCommand::Create { kind, name, keys, inactive } => {
            let state = if inactive { IssuerState::Retired } else { IssuerState::Active };
            let made = context.wait(operator.create_issuer(NewIssuer { key: kind, name, place: keys, state }))?;
            let sentence = match inactive {
                true => "It issues nothing before `chancery ca activate`.",
                false => "It may issue now; every node follows within seconds.",
            };
            printer.record(&with_key(&context, &made), Some(sentence))
        }
        CaCommand::Rotate { ca, keys } => {
            let rotated = context.wait(operator.rotate_issuer(&ca, keys))?;
            let sentence = format!(
                "{} ({}) takes over from {}, which still answers for what it issued; every node follows within seconds.",
                rotated.new.name, rotated.new.id, rotated.old.name
            );
            printer.say(
                &sentence,
                &record! { "new" => with_key(&context, &rotated.new), "old" => with_key(&context, &rotated.old) },
            )
        }
        CaCommand::Retire { ca } => {
            let retired = context.wait(operator.retire_issuer(&ca))?;
            let sentence = format!("{} issues no more; every node follows within seconds.", retired.name);
            printer.say(&sentence, &with_key(&context, &retired))
        }
        CaCommand::RevokeIssuer { ca, reason, yes } => revoke(&context, &ca, reason, yes),
        CaCommand::Activate { ca } => {
            let active = context.wait(operator.activate_issuer(&ca))?;
            let sentence = format!("{} may issue; every node follows within seconds.", active.name);
            printer.say(&sentence, &with_key(&context, &active))
        }
        CaCommand::Request { ca } => {
            let request = context.wait(operator.request_chain(&ca))?;
            match printer.json {
                true => printer.record(&record! { "request" => request }, None),
                false => out(&request),
            }
        }
        CaCommand::AddChain { ca, file, prefer } => {
            let text = fs::read_to_string(&file)
                .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
            let (added, offered) = match prefer {
                true => (context.wait(operator.add_preferred_chain(&ca, &text))?, "given"),
                false => (context.wait(operator.add_chain(&ca, &text))?, "offered"),
            };
            let sentence = format!(
                "Clients of {ca} are {offered} chain {}, up to {}, until {}; every node follows within seconds.",
                added.number,
                added.root(),
                Timestamp::from_secs(added.chain.not_after())
            );
            printer.say(&sentence, &shown_chain(&added))
        }
        CaCommand::PreferChain { ca, number } => {
            let preferred = context.wait(operator.prefer_chain(&ca, (number > 0).then_some(number)))?;
            let root = match &preferred {
                Some(chain) => format!("chain {number}, up to {}", chain.root()),
                None => "the chain of its own certificate".to_owned(),
            };
            let sentence =
                format!("Clients of {ca} that ask for none are given {root}; every node follows within seconds.");
            printer.say(&sentence, &preferred.as_ref().map_or_else(|| record! { "number" => 0 }, shown_chain))
        }
        CaCommand::RemoveChain { ca, number } => {
            let removed = context.wait(operator.remove_chain(&ca, number))?;
            let sentence = format!(
                "Clients of {ca} are not offered chain {number}, up to {}, any more; every node follows within seconds.",
                removed.root()
            );
            printer.say(&sentence, &shown_chain(&removed))
        }
    }
}

fn revoke(context: &Context, ca: &str, reason: RevocationReason, yes: bool) -> Result<(), Failure> {
    if !yes {
        let message = "all certificates that a revoked CA has issued are worthless, and it cannot be undone";
        return Err(Failure::usage(message).advise("say --yes to do it"));
    }
    let revoked = context.wait(context.operator.revoke_issuer(ca, reason))?;
    let name = &revoked.issuer.name;
    let mut sentence = match (revoked.already, revoked.replaced) {
        (true, _) => format!("{name} was revoked already."),
        (false, None) => format!("{name} is revoked; the root's list says so within seconds where the service runs."),
        (false, Some(before)) => format!(
            "{name} was revoked as {before}, and is so as {reason} now; the root's list says so within seconds where the \
             service runs."
        ),
    };
    if let Some(why) = &revoked.unlisted {
        sentence.push_str(&format!("\nThe list cannot be made at the moment, and follows when it can: {why}."));
    }
    let now = SystemClock.now();
    // It is revoked, whatever becomes of the rest.
    let chains = context.wait(context.operator.chains_of(revoked.issuer.id)).unwrap_or_default();
    let others = |chain: &&ChainDetails| {
        chain.is_offered(now) && chain.chain.served().first() != Some(&revoked.issuer.certificate)
    };
    for chain in chains.iter().filter(others) {
        let vouching = chain.chain.served().first().map(Certificate::issuer_text).unwrap_or_default();
        sentence.push_str(&format!(
            "\n{vouching} vouches for it as well (chain {}): have what was signed there revoked there.",
            chain.number
        ));
    }
    for (profile, key) in &revoked.gaps {
        sentence.push_str(&format!(
            "\nNo active CA may sign {key} certificates of the profile {profile}: see `ca create`."
        ));
    }
    context.printer.say(&sentence, &with_key(context, &revoked.issuer))
}

/// The CAs, one a line.
pub fn list(context: &Context, issuers: &[IssuerDetails]) -> Result<(), Failure> {
    let homes = context.wait(context.operator.key_homes())?;
    let records: Vec<_> = issuers.iter().map(|issuer| with_home(&homes, issuer)).collect();
    context.printer.table(&["id", "name", "kind", "state", "key_type", "key_in", "not_after"], &records)
}

/// A CA, and where its key is, as far as that can be told: what was done to it is done, whatever becomes of the rest.
fn with_key(context: &Context, issuer: &IssuerDetails) -> Record {
    with_home(&context.wait(context.operator.key_homes()).unwrap_or_default(), issuer)
}

/// A CA, and where its key is.
fn with_home(homes: &HashMap<IssuerId, KeyHome>, issuer: &IssuerDetails) -> Record {
    let (home, mut record) = (homes.get(&issuer.id), shown(issuer));
    record.0.push(("key_in", home.map(|home| home.place.as_str()).into()));
    if let Some(id) = home.and_then(|home| home.id.as_deref()) {
        record.0.push(("key_id", id.into()));
    }
    record
}

fn shown(issuer: &IssuerDetails) -> Record {
    let info = &issuer.info;
    record! {
        "id" => issuer.id.to_string(),
        "name" => issuer.name,
        "kind" => issuer.kind.as_str(),
        "state" => issuer.standing(),
        "parent" => issuer.parent.map(|parent| parent.to_string()),
        "subject" => info.subject,
        "issuer" => info.issuer,
        "serial_number" => info.serial,
        "key_type" => info.key_type,
        "not_before" => Timestamp::from_secs(info.not_before).to_string(),
        "not_after" => Timestamp::from_secs(info.not_after).to_string(),
        "sha256_fingerprint" => info.sha256,
        "created_at" => issuer.created_at.to_string(),
        "revoked_at" => issuer.revocation.map(|revocation| revocation.at.to_string()),
        "revocation_reason" => issuer.revocation.map(|revocation| revocation.reason.as_str()),
        "preferred_chain" => preferred_number(issuer),
    }
}

fn show(context: &Context, ca: &str, pem: bool) -> Result<(), Failure> {
    let issuers = context.wait(context.operator.issuers())?;
    let found = issuers.iter().find(|issuer| issuer.id.to_string() == ca || issuer.name == ca);
    let Some(issuer) = found else {
        return Err(ServiceError::NotFound(Noun::Issuer, vec![ca.to_owned()]).into());
    };
    if pem {
        return out(&issuer.certificate.to_pem());
    }
    let mut record = with_home(&context.wait(context.operator.key_homes())?, issuer);
    let profiles: Vec<_> =
        context.operator.profiles_of(&issuers, issuer.id).iter().map(|name| name.to_string()).collect();
    record.0.push(("profiles", profiles.into()));
    let chains = context.wait(context.operator.chains_of(issuer.id))?;
    if context.printer.json {
        record.0.push(("certificate", issuer.certificate.to_pem().into()));
        record.0.push(("chains", serde_json::json!(chains.iter().map(shown_chain).collect::<Vec<_>>())));
    } else if !chains.is_empty() {
        let line = |chain| chain_line(chain, preferred_number(issuer) == Some(chain.number));
        record.0.push(("chains", chains.iter().map(line).collect::<Vec<_>>().into()));
    }
    context.printer.record(&record, None)
}

fn shown_chain(chain: &ChainDetails) -> Record {
    record! {
        "number" => chain.number,
        "root" => chain.root(),
        "not_after" => Timestamp::from_secs(chain.chain.not_after()).to_string(),
        "offered" => chain.is_offered(SystemClock.now()),
        "added_at" => chain.added_at.to_string(),
        "certificates" => chain.chain.to_pem(),
    }
}

fn preferred_number(issuer: &IssuerDetails) -> Option<u32> {
    issuer.preferred.as_ref().map(|preferred| preferred.number)
}

fn chain_line(chain: &ChainDetails, preferred: bool) -> String {
    let ends = Timestamp::from_secs(chain.chain.not_after());
    let verb = if chain.is_offered(SystemClock.now()) { "until" } else { "expired" };
    let preferred = if preferred { ", preferred" } else { "" };
    format!("{}: up to {} ({verb} {ends}{preferred})", chain.number, chain.root())
}

/// What cannot stand in a certificate is a wrong argument, whatever the rest of the name is.
fn ca_name(text: &str) -> Result<String, String> {
    let checked = CaName::new("XX", "Organization", text);
    checked.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn key_algorithm(text: &str) -> Result<KeyAlgorithm, String> {
    let kinds = || KeyAlgorithm::ALL.map(|kind| KeyType::from(kind).as_str()).join(", ");
    let kind = text.parse::<KeyType>().ok().and_then(|kind| KeyAlgorithm::try_from(kind).ok());
    kind.ok_or_else(|| format!("a CA's key is one of {}", kinds()))
}

pub fn key_place(text: &str) -> Result<KeyPlace, String> {
    let place = KeyPlace::ALL.into_iter().find(|place| place.as_str() == text);
    place.ok_or_else(|| format!("a key is made in one of {}", KeyPlace::ALL.map(KeyPlace::as_str).join(", ")))
}
