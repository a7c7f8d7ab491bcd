//! `order resume`: an order that was left, by its lookup.

use std::path::PathBuf;

use chancery_domain::Identifier;
use clap::Args;

use super::files::{Files, certificate_path};
use super::follow::{Follow, FollowArgs};
use super::journal::Journal;
use super::name;
use crate::failure::Failure;
use crate::my::session::Session;
use crate::my::show::OrTrouble;

#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// By lookup
    order: String,
    /// Put the certificate, and the key that was made for it, into this folder [default: as when it was ordered]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    follow: FollowArgs,
}

pub async fn run(session: &Session, mut args: ResumeArgs) -> Result<(), Failure> {
    let journal = Journal::find(&args.order)?;
    if let Some(journal) = &journal
        && journal.url != session.login.url
    {
        return Err(Failure::usage(format!("the order is one of {}, not of {}", journal.url, session.login.url))
            .advise("name the profile of that service with --profile"));
    }
    let order = session.client.orders().get(&args.order).await.or_trouble(&session.trouble)?;
    let to_show = order.authorizations.iter().filter(|one| one.status == "pending");
    let to_show = to_show.filter_map(|one| Identifier::parse(&name(one)).ok());
    args.follow.require_fit(&to_show.collect::<Vec<_>>())?;
    let out = args.out.as_ref().map(std::path::absolute).transpose().map_err(Failure::usage)?;
    let first = order.identifiers.first().map_or("certificate", |name| name.value.as_str());
    let files = match (journal, out) {
        (Some(journal), out) => {
            let as_before = journal.challenge.as_ref().and_then(|kind| kind.parse().ok());
            args.follow.challenge = args.follow.challenge.or(as_before);
            args.follow.webroot = args.follow.webroot.or(journal.webroot.clone());
            match out {
                Some(out) if !out.is_dir() => {
                    return Err(Failure::usage(format!("{} is not a folder", out.display())).advise("make it first"));
                }
                Some(out) => {
                    let files = journal.files.moved_to(&out, first);
                    let journal =
                        Journal { files, challenge: args.follow.challenge.map(|kind| kind.to_string()), ..journal };
                    journal.save(&args.order)?;
                    journal.files
                }
                None => journal.files,
            }
        }
        (None, out) => {
            session.show.note("The order was not begun here: its key is elsewhere, and only the certificate is saved.");
            let here = std::path::absolute(".").map_err(Failure::usage)?;
            Files { key: None, certificate: certificate_path(&out.unwrap_or(here), first) }
        }
    };
    Follow { session, args: args.follow, files }.run(order).await
}
