//! Setting an installation up: `init`, `migrate`, `check-config`.

use chancery_domain::Clock;
use chancery_machine::SystemClock;
use chancery_pki::CaName;
use chancery_seal::Keyring;
use chancery_service::KeyPlace;
use chancery_service::operator::{IssuerDetails, KeyAlgorithm, NewHierarchy};
use chancery_store::{IssuerKind, Options, Store, StoreError, Tx};
use clap::Args;

use super::ca;
use super::context::{Context, quiet};
use crate::config::{self, ConfigError};
use crate::dev;
use crate::failure::Failure;
use crate::installation::{Installation, Kek, Place};
use crate::print::{Printer, complain, record};
use crate::target::{ConfigTarget, Target};
use crate::threads::Threads;

#[derive(Args, Debug)]
pub struct InitArgs {
    /// The country of the CA, two capital letters
    #[arg(long, value_name = "CC")]
    country: Option<String>,
    /// The organization that runs the CA, as it will stand in every certificate
    #[arg(long)]
    organization: Option<String>,
    /// The name of the root CA [default: ORGANIZATION Root CA 1]
    #[arg(long, value_name = "NAME")]
    root_name: Option<String>,
    /// The name of the issuing CAs, to which E1, E2 and R1 are added [default: ORGANIZATION Issuing CA]
    #[arg(long, value_name = "NAME")]
    issuing_name: Option<String>,
    /// Where the keys of the CAs are made, database or token [default: the token, where keys.pkcs11 names one]
    #[arg(long, value_name = "PLACE", value_parser = ca::key_place)]
    keys: Option<KeyPlace>,
}

/// Makes what is not there yet; what is there stays as it is.
pub fn init(target: &Target, args: &InitArgs) -> Result<(), Failure> {
    let installation = match target.folder() {
        Some(folder) => dev::find_or_make(folder)?,
        None => target.find()?,
    };
    let hierarchy = hierarchy(&installation, args)?;
    if let Kek::File(path) = &installation.kek {
        // Before the database is made: without a place for its keys there is to be none.
        Keyring::place(path).map_err(Failure::usage)?;
    }
    let store = installation.open_store(&Options { migrate: true, ..quiet(&installation) })?;
    refuse_a_second_keyring(&installation, &store)?;
    let keyring = installation.keyring_or_new(SystemClock.now().as_secs())?;
    let context = Context::assemble(installation, target, store, keyring)?;
    let issuers = context.wait(context.operator.init_hierarchy(hierarchy.clone()))?;
    require_names(&issuers, &hierarchy, args)?;
    require_place(&context, args)?;
    if !context.printer.json
        && let Kek::File(path) = &context.installation.kek
    {
        let path = path.display();
        complain(&format!("The key-encryption keys are in {path}: back them up, apart from the database."));
    }
    ca::list(&context, &issuers)
}

/// Names that were asked for and that the CAs do not have: there were CAs already, and they stay as they are. Who asks for
/// the names that they have, as what runs before each upgrade does, is told nothing.
fn require_names(issuers: &[IssuerDetails], new: &NewHierarchy, args: &InitArgs) -> Result<(), Failure> {
    let named = |name: &String| issuers.iter().any(|issuer| issuer.name == *name);
    let roots: Vec<_> = issuers.iter().filter(|issuer| issuer.kind == IssuerKind::Root).collect();
    let country = roots.iter().any(|root| country(root) == new.country);
    let organization = roots.iter().any(|root| has_organization(root, &new.organization));
    let issuing = new.issuing.iter().all(|(name, _)| named(name));
    let asked = [
        ("--country", args.country.is_some(), country),
        ("--organization", args.organization.is_some(), organization),
        ("--root-name", args.root_name.is_some(), named(&new.root)),
        ("--issuing-name", args.issuing_name.is_some(), issuing),
    ];
    let ignored: Vec<_> = asked.into_iter().filter(|(_, asked, had)| *asked && !had).map(|(flag, ..)| flag).collect();
    if ignored.is_empty() {
        return Ok(());
    }
    let flags = ignored.join(", ");
    Err(Failure::failed(format!("there are CAs already; nothing was made, and they are not named as {flags} says"))
        .advise("leave that out, and see `chancery ca list`; another CA is made by `chancery ca create`"))
}

/// A place for keys that was asked for and where not all of the CAs' are: there were CAs already, and they stay there.
fn require_place(context: &Context, args: &InitArgs) -> Result<(), Failure> {
    let Some(wanted) = args.keys else { return Ok(()) };
    let homes = context.wait(context.operator.key_homes())?;
    if homes.values().all(|home| home.place == wanted) {
        return Ok(());
    }
    let what =
        format!("there are CAs already; nothing was made, and not all of their keys are in the {}", wanted.as_str());
    Err(Failure::failed(what).advise("see `chancery ca list`; `chancery ca rotate` makes a successor with a key there"))
}

/// The end of a subject, such as `CN=Example Root CA 1,O=Example,C=DE`.
fn country(issuer: &IssuerDetails) -> &str {
    issuer.info.subject.rsplit_once("C=").map_or("", |(_, country)| country)
}

fn has_organization(issuer: &IssuerDetails, organization: &str) -> bool {
    let own = CaName::beside(&issuer.certificate, &issuer.name);
    own.is_ok() && own == CaName::new(country(issuer), organization, &issuer.name)
}

/// A new keyring beside a database that has secrets would hide that the real one is missing.
fn refuse_a_second_keyring(installation: &Installation, store: &Store) -> Result<(), Failure> {
    let Kek::File(path) = &installation.kek else { return Ok(()) };
    let has_secrets = |tx: &mut Tx<'_>| Ok::<_, StoreError>(tx.service_secret("cursor")?.is_some());
    if path.exists() || !Threads::start()?.run(store.read(has_secrets))? {
        return Ok(());
    }
    let missing =
        format!("{} has secrets, and its key-encryption keys are not at {}", installation.database, path.display());
    Err(Failure::usage(missing)
        .advise("bring the keyring file from where this installation was made, or from its backup"))
}

/// Applies what the database's schema lacks.
pub fn migrate(target: &Target) -> Result<(), Failure> {
    let installation = target.find()?;
    installation.require_one_name()?;
    // Opening says more about what is wrong than migrating does.
    let applied =
        Store::migrate(&installation.database, &installation.store).map_err(|error| installation.not_opened(error))?;
    let printer = Printer { json: target.json };
    if applied.is_empty() && !printer.json {
        return printer.say("The schema is up to date.", &record! {});
    }
    let records: Vec<_> =
        applied.iter().map(|step| record! { "version" => step.version, "name" => step.name }).collect();
    printer.table(&["version", "name"], &records)
}

/// Says everything that is wrong with a configuration, or that nothing is.
pub fn check_config(target: &ConfigTarget) -> Result<(), Failure> {
    let printer = Printer { json: target.json };
    match config::load(&target.config, target.database_url.as_deref()) {
        Ok(installation) => {
            let record = record! {
                "ok" => true,
                "listen" => installation.listen.api.to_string(),
                "http_listen" => installation.listen.http.to_string(),
                "admin_listen" => installation.listen.admin.to_string(),
                "base_url" => installation.urls.base_url,
                "acme_url" => installation.urls.acme_url,
                "auth_url" => installation.urls.auth_url,
                "http_url" => installation.urls.http_url,
                "tls" => installation.tls.is_some(),
                "database" => installation.database.to_string(),
                "new_ca_keys" => match &installation.token {
                    Some(token) => format!("in the token {:?}", token.label()),
                    None => "in the database".to_owned(),
                },
                "resolvers" => installation.resolvers(),
                "perspectives" => installation.perspectives.remotes.iter().map(|remote| remote.name()).collect::<Vec<_>>(),
                "logs" => installation.logs.logs.iter().map(|log| log.log.name.as_str()).collect::<Vec<_>>(),
                "issuer" => installation.settings.issuer,
                "audience" => installation.settings.audience,
                "profiles" => installation.settings.profiles.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>(),
                "warnings" => installation.warnings(SystemClock.now().as_secs()),
            };
            printer.record(&record, Some("Nothing is wrong with this configuration."))
        }
        Err(ConfigError::Wrong(path, problems)) => {
            let records: Vec<_> = problems
                .0
                .iter()
                .map(|problem| record! { "setting" => problem.setting, "problem" => problem.message })
                .collect();
            if printer.json {
                printer.record(&record! { "ok" => false, "problems" => records }, None)?;
            } else {
                printer.whole_table(&["setting", "problem"], &records)?;
            }
            let count = match problems.0.len() {
                1 => "1 setting is wrong".to_owned(),
                count => format!("{count} settings are wrong"),
            };
            Err(Failure::usage(format!("{}: {count}", path.display())).advise("mend what is listed"))
        }
        Err(ConfigError::Unreadable(failure)) => Err(failure),
    }
}

/// What the CAs are to be, as far as flags say so.
fn hierarchy(installation: &Installation, args: &InitArgs) -> Result<NewHierarchy, Failure> {
    let usual = match &installation.place {
        Place::Folder(_) if args.organization.is_none() && args.issuing_name.is_none() => dev::hierarchy(),
        Place::Folder(_) => named("XX", "Chancery Dev", args),
        Place::Configuration(_) => named("XX", "Chancery", args),
    };
    let new = NewHierarchy {
        country: args.country.clone().unwrap_or(usual.country),
        root: args.root_name.clone().unwrap_or(usual.root),
        keys: args.keys,
        ..usual
    };
    let names: Vec<_> = [&new.root].into_iter().chain(new.issuing.iter().map(|(name, _)| name)).collect();
    for common in &names {
        CaName::new(&new.country, &new.organization, common).map_err(Failure::usage)?;
    }
    if names[1..].contains(&&new.root) {
        return Err(Failure::usage("the root and the issuing CAs need different names"));
    }
    Ok(new)
}

/// A CA for each kind of key, so that a profile can pick its issuer.
fn named(country: &str, organization: &str, args: &InitArgs) -> NewHierarchy {
    let organization = args.organization.as_deref().unwrap_or(organization);
    let stem = args.issuing_name.clone().unwrap_or_else(|| format!("{organization} Issuing CA"));
    let issuing = [("E1", KeyAlgorithm::EcP256), ("E2", KeyAlgorithm::EcP384), ("R1", KeyAlgorithm::Rsa3072)];
    NewHierarchy {
        country: country.to_owned(),
        organization: organization.to_owned(),
        root: format!("{organization} Root CA 1"),
        issuing: issuing.map(|(name, key)| (format!("{stem} {name}"), key)).into(),
        keys: None,
    }
}
