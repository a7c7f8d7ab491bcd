//! `account`: the customers of a reseller.

use std::collections::BTreeMap;

use chancery_client::AccountQuery;
use chancery_client::wire::{Account, AccountWithGroups, ResellerAccountRequest, ResellerUpdateAccountRequest};
use clap::Subcommand;

use super::ask;
use super::credentials::flag;
use super::named::group_lookup;
use super::recipes;
use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, details, room, table};
use crate::failure::Failure;

#[derive(Subcommand, Debug)]
pub enum AccountCommand {
    /// Create an account for a customer, and show the key of its first EAB credential, once
    Create {
        /// The customer's e-mail address
        email: String,
        /// Put it into this group, by lookup or name; several times for several
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,
        /// Your own reference, unique among your accounts
        #[arg(long, value_name = "ID")]
        external_id: Option<String>,
        /// A pair of your own; several times for several
        #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
        metadata: Vec<(String, String)>,
    },
    /// List accounts
    List {
        /// Only the one with this e-mail address
        #[arg(long)]
        email: Option<String>,
        /// Only those that are suspended
        #[arg(long, conflicts_with = "active")]
        suspended: bool,
        /// Only those that are not suspended
        #[arg(long)]
        active: bool,
        /// Terminated ones, too
        #[arg(long)]
        include_terminated: bool,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show an account with its EAB credentials and groups
    Show {
        /// By lookup, number, key id or e-mail address
        account: String,
    },
    /// Change the e-mail address, the reference or the pairs of an account
    #[command(arg_required_else_help = true)]
    Update {
        /// By lookup, number, key id or e-mail address
        account: String,
        /// Another e-mail address
        #[arg(long)]
        email: Option<String>,
        /// Another reference of your own
        #[arg(long, value_name = "ID")]
        external_id: Option<String>,
        /// Replaces all pairs; several times for several
        #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
        metadata: Vec<(String, String)>,
    },
    /// Stop all ordering and issuing for an account, until it is resumed
    Suspend {
        /// By lookup, number, key id or e-mail address
        account: String,
    },
    /// Let a suspended account go on
    Resume {
        /// By lookup, number, key id or e-mail address
        account: String,
    },
    /// End an account for good: its credentials stop working, its e-mail address becomes free
    Terminate {
        /// By lookup, number, key id or e-mail address
        account: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

pub async fn run(session: &Session, command: AccountCommand) -> Result<(), Failure> {
    let accounts = session.client.accounts();
    match command {
        AccountCommand::Create { email, groups, external_id, metadata } => {
            let mut lookups = Vec::new();
            for group in &groups {
                lookups.push(group_lookup(session, group).await?);
            }
            let request = ResellerAccountRequest {
                customer_email: email,
                account_groups: Some(lookups).filter(|lookups| !lookups.is_empty()),
                external_id,
                metadata: pairs(metadata)?,
            };
            let account = accounts.create(&request).await.or_trouble(&session.trouble)?;
            session.show.thing(&account, || created(&account))?;
            let another = recipes::command("chancery my eab create", &account.email, &flag(&session.trouble.profile));
            let told = format!("\nThe HMAC key is shown only now. For another one, with commands to paste: {another}");
            session.show.note(&told);
            Ok(())
        }
        AccountCommand::List { email, suspended, active, include_terminated, list } => {
            let query = AccountQuery {
                customer_email: email,
                is_suspended: (suspended || active).then_some(suspended),
                include_deleted: include_terminated.then_some(true),
                limit: None,
                cursor: list.cursor.clone(),
            };
            let listed = list.fetch(accounts.list_all(query)).await.or_trouble(&session.trouble)?;
            session.show.list(&listed, &COLUMNS, row)
        }
        AccountCommand::Show { account } => {
            let account = accounts.get(account).await.or_trouble(&session.trouble)?;
            session.show.thing(&account, || shown(&account))
        }
        AccountCommand::Update { account, email, external_id, metadata } => {
            let (customer_email, metadata) = (email, pairs(metadata)?);
            let request = ResellerUpdateAccountRequest { customer_email, suspended: None, external_id, metadata };
            if request == ResellerUpdateAccountRequest::default() {
                return Err(Failure::usage("nothing to change was named").advise("--help lists what can be changed"));
            }
            let done = accounts.update(account, &request).await.or_trouble(&session.trouble)?;
            session.show.done(&done.message)
        }
        AccountCommand::Suspend { account } => set_suspended(session, &account, true).await,
        AccountCommand::Resume { account } => set_suspended(session, &account, false).await,
        AccountCommand::Terminate { account, yes } => {
            let found = accounts.get(&account).await.or_trouble(&session.trouble)?.account;
            ask::confirm(&format!("end the account of {} ({}) for good", found.email, found.lookup), yes)?;
            let done = accounts.delete(&found.lookup).await.or_trouble(&session.trouble)?;
            session.show.done(&done.message)
        }
    }
}

pub const COLUMNS: [Column; 5] = [
    Column::Whole("lookup"),
    Column::Text("e-mail"),
    Column::Whole("status"),
    Column::Text("reference"),
    Column::Whole("created"),
];

pub fn row(account: &Account) -> Vec<Cell> {
    vec![
        account.lookup.as_str().into(),
        account.email.as_str().into(),
        Cell::status(&account.status),
        Cell::maybe(account.external_id.as_ref()),
        Cell::time(&account.created_at),
    ]
}

async fn set_suspended(session: &Session, account: &str, suspended: bool) -> Result<(), Failure> {
    let request = ResellerUpdateAccountRequest { suspended: Some(suspended), ..Default::default() };
    session.client.accounts().update(account, &request).await.or_trouble(&session.trouble)?;
    session.show.done(&match suspended {
        true => format!("{account} is suspended: nothing is ordered or issued for it."),
        false => format!("{account} goes on where it stood."),
    })
}

fn created(account: &Account) -> String {
    details(&[
        ("account", account.lookup.as_str().into()),
        ("e-mail", account.email.as_str().into()),
        ("reference", Cell::maybe(account.external_id.as_ref())),
        ("EAB key id", account.kid.as_str().into()),
        ("EAB HMAC key", Cell::maybe(account.hmac_key.as_ref())),
    ])
}

fn shown(whole: &AccountWithGroups) -> String {
    let account = &whole.account;
    let metadata = account.metadata.iter().map(|(name, value)| format!("{name}={value}"));
    let mut text = details(&[
        ("account", account.lookup.as_str().into()),
        ("number", account.id.to_string().into()),
        ("e-mail", account.email.as_str().into()),
        ("status", Cell::status(&account.status)),
        ("reference", Cell::maybe(account.external_id.as_ref())),
        ("metadata", Cell::list(metadata)),
        ("groups", Cell::list(whole.groups.iter().map(|group| &group.name))),
        ("created", account.created_at.as_str().into()),
        ("changed", account.updated_at.as_str().into()),
    ]);
    let credentials: Vec<_> = whole.eab_credentials.iter().map(super::eab::row).collect();
    text.push('\n');
    text.push_str(&table(&super::eab::COLUMNS, &credentials, room()));
    text
}

/// None where nothing was said of it; a name that comes twice is not taken with either value.
fn pairs(pairs: Vec<(String, String)>) -> Result<Option<BTreeMap<String, String>>, Failure> {
    let mut all = BTreeMap::new();
    for (name, value) in pairs {
        if all.contains_key(&name) {
            return Err(Failure::usage(format!("--metadata {name}=… is there twice")).advise("name each but once"));
        }
        all.insert(name, value);
    }
    Ok(Some(all).filter(|all| !all.is_empty()))
}

pub fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a pair is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
