//! `order create`: a key and a CSR where none is given, and the order itself.

use std::path::{Path, PathBuf};

use chancery_client::Error;
use chancery_client::wire::{Order, ResellerOrderRequest};
use chancery_domain::{Entropy, Identifier};
use chancery_machine::SystemEntropy;
use chancery_pki::{CertificateRequest, PrivateKey, make_request};
use clap::Args;
use data_encoding::{BASE64, HEXLOWER};

use super::files::{Files, KeyType, NewKey, certificate_path, keep_key, read_key};
use super::follow::{Follow, FollowArgs};
use super::journal::Journal;
use super::publish::require_webroot;
use crate::failure::Failure;
use crate::my::account::pair;
use crate::my::credentials::flag;
use crate::my::session::Session;
use crate::my::whose::Whose;

/// How often an order is sent whose answer was lost: the service makes one of them all.
const ATTEMPTS: usize = 3;

#[derive(Args, Debug)]
pub struct CreateArgs {
    /// The names of the certificate, such as www.example.com, *.example.com or 192.0.2.1; the first names the files
    #[arg(required_unless_present = "csr", conflicts_with = "csr")]
    names: Vec<String>,
    /// The account it is for, by lookup, key id or e-mail address
    #[arg(long)]
    account: String,
    /// The certificate profile [default: the service's]
    #[arg(long, value_name = "NAME")]
    cert_profile: Option<String>,
    /// Make a key of this type
    #[arg(long, value_name = "TYPE", default_value = "ec-p256", conflicts_with_all = ["csr", "key"])]
    key_type: KeyType,
    /// Use this key (PEM, PKCS #8) instead of a new one
    #[arg(long, value_name = "FILE", conflicts_with = "csr")]
    key: Option<PathBuf>,
    /// Use this CSR (PEM), whose key you keep
    #[arg(long, value_name = "FILE")]
    csr: Option<PathBuf>,
    /// Put key and certificate into this folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Replace the key that is there, once the new certificate is
    #[arg(long)]
    force: bool,
    /// Your own reference, unique among your orders
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// A pair of your own; several times for several
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    metadata: Vec<(String, String)>,
    /// When the certificate shall end, such as 2027-01-31T00:00:00Z [default: as late as profile and policies allow]
    #[arg(long, value_name = "TIME")]
    not_after: Option<String>,
    /// Only order, and tell what has to be published
    #[arg(long, conflicts_with_all = ["published", "webroot"])]
    no_wait: bool,
    #[command(flatten)]
    follow: FollowArgs,
}

pub async fn run(session: &Session, args: CreateArgs) -> Result<(), Failure> {
    if let Some(webroot) = &args.follow.webroot {
        require_webroot(webroot)?;
    }
    let out = std::path::absolute(&args.out).map_err(Failure::usage)?;
    let (csr, key) = prepared(&args, &out, &flag(&session.trouble.profile))?;
    let order = match place(session, &args, csr).await {
        Ok(order) => order,
        Err(error) => {
            // Nothing was ordered with the new key; where that is not sure, it stays.
            if let (false, Some(key)) = (matches!(error, Error::Transport(_)), &key) {
                key.give_up()?;
            }
            return Err(session.trouble.explain(error));
        }
    };
    let first = args.names.first().or(order.identifiers.first().map(|name| &name.value));
    let certificate = certificate_path(&out, first.map_or("certificate", String::as_str));
    let files = Files { key, certificate };
    let journal = Journal {
        url: session.login.url.clone(),
        files: files.clone(),
        challenge: args.follow.challenge.map(|kind| kind.to_string()),
        webroot: args.follow.webroot.clone().map(std::path::absolute).transpose().map_err(Failure::usage)?,
    };
    journal.save(&order.lookup)?;
    session.show.note(&format!("The order is {}.\n", order.lookup));
    let follow = Follow { session, args: args.follow, files };
    if args.no_wait {
        let publications = follow.publications(&order).await?;
        return follow.show_what_to_publish(&order, &publications);
    }
    follow.run(order).await
}

/// The CSR, and the key that was made for it.
fn prepared(args: &CreateArgs, out: &Path, profile: &str) -> Result<(String, Option<NewKey>), Failure> {
    if let Some(path) = &args.csr {
        let read = std::fs::read_to_string(path);
        let csr = read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        // What is wrong with one that cannot be read, the service tells.
        if let Ok(request) = CertificateRequest::parse(&csr) {
            args.follow.require_fit(&request.with_common_names().identifiers())?;
        }
        return Ok((csr, None));
    }
    let names = args.names.iter().map(|name| Identifier::parse(name).map_err(Failure::usage));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    args.follow.require_fit(&names)?;
    if !out.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", out.display())).advise("make it first"));
    }
    let (key, kept) = match &args.key {
        Some(path) => (read_key(path)?, None),
        None => {
            let key = PrivateKey::generate(args.key_type.into()).map_err(Failure::failed)?;
            let kept = keep_key(out, &args.names[0], &key, args.force, profile)?;
            (key, Some(kept))
        }
    };
    let csr = make_request(&key, &names).map_err(Failure::failed)?;
    Ok((BASE64.encode(&csr), kept))
}

/// Orders once, also where the answer is lost on its way.
async fn place(session: &Session, args: &CreateArgs, csr: String) -> Result<Order, Error> {
    let Whose { account_lookup, customer_email, eab_kid } = Whose::of(&args.account);
    let request = ResellerOrderRequest {
        account_lookup,
        customer_email,
        eab_kid,
        profile: args.cert_profile.clone(),
        csr,
        identifiers: None,
        not_before: None,
        not_after: args.not_after.clone(),
        external_id: args.external_id.clone(),
        metadata: Some(args.metadata.iter().cloned().collect()).filter(|_| !args.metadata.is_empty()),
    };
    let mut random = [0; 16];
    SystemEntropy.fill(&mut random);
    let key = HEXLOWER.encode(&random);
    let mut attempt = 1;
    loop {
        match session.client.orders().create_once(&request, &key).await {
            Ok(made) => return Ok(made.value),
            Err(Error::Transport(_)) if attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}
