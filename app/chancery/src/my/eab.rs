//! `eab`: the credentials that customers' ACME clients bind their accounts with.

use chancery_client::PageQuery;
use chancery_client::wire::{Account, EabAuthorization, EabCredentialRequest};
use chancery_domain::{EabTerms, Identifier};
use clap::Subcommand;

use super::ask;
use super::recipes;
use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, details};
use crate::failure::Failure;

#[derive(Subcommand, Debug)]
pub enum EabCommand {
    /// Create a credential of an account, and show its key, once, with commands to paste
    Create {
        /// The account, by lookup, number, key id or e-mail address
        account: String,
        /// A note, such as the name of the machine it is for
        #[arg(long)]
        label: Option<String>,
        /// Let it bind nothing new after so many days
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=i64::from(EabTerms::MAX_DAYS)))]
        expires_in_days: Option<u32>,
        /// Let it bind at most so many ACME accounts
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(EabTerms::MAX_BINDINGS)))]
        max_bindings: Option<u32>,
        /// The certificate profile in the commands to paste [default: the service's]
        #[arg(long, value_name = "NAME")]
        cert_profile: Option<String>,
        /// The name in the commands to paste
        #[arg(long, value_name = "NAME", default_value = "www.customer.example", value_parser = name)]
        domain: String,
    },
    /// List credentials: all, or those of an account
    List {
        /// By lookup, number, key id or e-mail address
        #[arg(long)]
        account: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show a credential and what it bound
    Show {
        /// The key id
        kid: String,
    },
    /// Revoke a credential: it binds nothing more, and the ACME accounts it bound stop working
    Revoke {
        /// The key id
        kid: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

pub async fn run(session: &Session, command: EabCommand) -> Result<(), Failure> {
    let eab = session.client.eab();
    match command {
        EabCommand::Create { account, label, expires_in_days, max_bindings, cert_profile, domain } => {
            let request = EabCredentialRequest { label, expires_in_days, max_bindings };
            let made = eab.create_with(account, &request).await.or_trouble(&session.trouble)?;
            if let Some(name) = &cert_profile
                && !made.acme_directories.contains_key(name)
            {
                return Err(give_up(session, made, name).await);
            }
            session.show.thing(&made, || created(session, &made, cert_profile.as_deref(), &domain))
        }
        EabCommand::List { account, list } => {
            let page = PageQuery { limit: None, cursor: list.cursor.clone() };
            let pages = match account {
                Some(account) => eab.list_all_of_account(account, page),
                None => eab.list_all(page),
            };
            let listed = list.fetch(pages).await.or_trouble(&session.trouble)?;
            session.show.list(&listed, &COLUMNS, row)
        }
        EabCommand::Show { kid } => {
            let credential = eab.get(kid).await.or_trouble(&session.trouble)?;
            session.show.thing(&credential, || shown(&credential))
        }
        EabCommand::Revoke { kid, yes } => {
            ask::confirm(&format!("revoke {kid}, and stop the ACME accounts it bound"), yes)?;
            let done = eab.delete(kid).await.or_trouble(&session.trouble)?;
            session.show.done(&done.message)
        }
    }
}

/// A name as certificates have them.
fn name(text: &str) -> Result<String, String> {
    Identifier::parse(text).map(|name| name.to_string()).map_err(|wrong| wrong.to_string())
}

/// Takes back what nobody can use as it was asked for: which profiles an account may use is told with a credential alone.
async fn give_up(session: &Session, made: EabAuthorization, profile: &str) -> Failure {
    let known = made.acme_directories.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "none".to_owned() } else { known };
    let kid = made.account.kid;
    if let Err(error) = session.client.eab().delete(&*kid).await.or_trouble(&session.trouble) {
        return error.advise(format!(
            "the account may not use the certificate profile {profile} (it may use: {known}), and the credential {kid} \
             that was made could not be revoked"
        ));
    }
    Failure::usage(format!("the account may not use the certificate profile {profile}; it may use: {known}"))
        .advise(format!("nothing was kept: the credential {kid} is revoked"))
}

pub const COLUMNS: [Column; 6] = [
    Column::Whole("EAB key id"),
    Column::Whole("status"),
    Column::Text("e-mail"),
    Column::Text("label"),
    Column::Whole("bound"),
    Column::Whole("last used"),
];

pub fn row(credential: &Account) -> Vec<Cell> {
    vec![
        credential.kid.as_str().into(),
        Cell::status(status(credential)),
        credential.email.as_str().into(),
        Cell::maybe(credential.label.as_ref()),
        bound(credential).len().to_string().into(),
        credential.last_used_at.as_deref().map_or_else(Cell::default, Cell::time),
    ]
}

fn bound(credential: &Account) -> &[String] {
    credential.bound_accounts.as_deref().unwrap_or_default()
}

/// Of the credential: the status of a root account is that of the account.
fn status(credential: &Account) -> &str {
    match (&credential.parent, credential.revoked, bound(credential).is_empty()) {
        (Some(_), ..) => &credential.status,
        (None, true, _) => "revoked",
        (None, false, true) => "unused",
        (None, false, false) => "bound",
    }
}

fn created(session: &Session, made: &EabAuthorization, profile: Option<&str>, domain: &str) -> String {
    let account = &made.account;
    let mut text = details(&[
        ("EAB key id", account.kid.as_str().into()),
        ("HMAC key", made.hmac_key_url.as_str().into()),
        ("account", Cell::maybe(account.parent.as_ref())),
        ("e-mail", account.email.as_str().into()),
        ("label", Cell::maybe(account.label.as_ref())),
        ("binds until", Cell::maybe(account.expires_at.as_ref())),
        ("may bind", account.max_bindings.map_or_else(Cell::default, |most| most.to_string().into())),
    ]);
    text.push_str("\nThe HMAC key is shown only now.\n\n");
    text.push_str(&recipes::told(made, session.login.ca_file.as_deref(), profile, domain));
    text
}

fn shown(credential: &Account) -> String {
    let bound = bound(credential);
    let mut text = details(&[
        ("EAB key id", credential.kid.as_str().into()),
        ("status", Cell::status(status(credential))),
        ("account", credential.parent.as_ref().unwrap_or(&credential.lookup).as_str().into()),
        ("e-mail", credential.email.as_str().into()),
        ("label", Cell::maybe(credential.label.as_ref())),
        ("binds until", Cell::maybe(credential.expires_at.as_ref())),
        ("may bind", credential.max_bindings.map_or_else(Cell::default, |most| most.to_string().into())),
        ("last used", Cell::maybe(credential.last_used_at.as_ref())),
        ("created", credential.created_at.as_str().into()),
    ]);
    for url in bound {
        text.push_str(&format!("\nbound by  {url}"));
    }
    if !bound.is_empty() {
        text.push('\n');
    }
    text
}
