//! `group`: named groups of accounts, who is in them, and which policies they have.

use chancery_client::PageQuery;
use chancery_client::wire::{AccountGroupRecord, ResellerAccountGroupRequest};
use clap::Subcommand;

use super::account;
use super::ask;
use super::named::group_lookup;
use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, details};
use crate::failure::Failure;

#[derive(Subcommand, Debug)]
pub enum GroupCommand {
    /// Create a group
    Create {
        /// Unique among your groups
        name: String,
        /// Free text
        #[arg(long)]
        description: Option<String>,
    },
    /// List groups
    List {
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show a group and its policies
    Show {
        /// By lookup or name
        group: String,
    },
    /// Change the name or the description of a group
    #[command(arg_required_else_help = true)]
    Update {
        /// By lookup or name
        group: String,
        /// Another name
        #[arg(long)]
        name: Option<String>,
        /// Another description
        #[arg(long)]
        description: Option<String>,
    },
    /// Delete a group; its accounts and policies stay
    Delete {
        /// By lookup or name
        group: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// List the accounts in a group
    Members {
        /// By lookup or name
        group: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Put accounts into a group: all of them or none
    Add {
        /// By lookup or name
        group: String,
        /// By lookup, number, key id or e-mail address
        #[arg(required = true)]
        accounts: Vec<String>,
    },
    /// Take accounts out of a group: all of them or none
    Remove {
        /// By lookup or name
        group: String,
        /// By lookup, number, key id or e-mail address
        #[arg(required = true)]
        accounts: Vec<String>,
    },
    /// Move accounts from one group to another: all of them or none
    Move {
        /// The group they are in, by lookup or name
        from: String,
        /// The group they go to, by lookup or name
        to: String,
        /// By lookup, number, key id or e-mail address
        #[arg(required = true)]
        accounts: Vec<String>,
    },
}

pub async fn run(session: &Session, command: GroupCommand) -> Result<(), Failure> {
    let (groups, trouble) = (session.client.groups(), &session.trouble);
    match command {
        GroupCommand::Create { name, description } => {
            let request = ResellerAccountGroupRequest { name, description };
            let group = groups.create(&request).await.or_trouble(trouble)?;
            session.show.thing(&group, || shown(&group))
        }
        GroupCommand::List { list } => {
            let page = PageQuery { limit: None, cursor: list.cursor.clone() };
            let listed = list.fetch(groups.list_all(page)).await.or_trouble(trouble)?;
            session.show.list(&listed, &COLUMNS, row)
        }
        GroupCommand::Show { group } => {
            let group = groups.get(group_lookup(session, &group).await?).await.or_trouble(trouble)?;
            session.show.thing(&group, || shown(&group))
        }
        GroupCommand::Update { group, name, description } => {
            let lookup = group_lookup(session, &group).await?;
            let now = groups.get(&lookup).await.or_trouble(trouble)?;
            let (name, description) = (name.unwrap_or(now.name), description.or(now.description));
            let request = ResellerAccountGroupRequest { name, description };
            let group = groups.update(&lookup, &request).await.or_trouble(trouble)?;
            session.show.thing(&group, || shown(&group))
        }
        GroupCommand::Delete { group, yes } => {
            let lookup = group_lookup(session, &group).await?;
            ask::confirm(&format!("delete the group {group}"), yes)?;
            let done = groups.delete(lookup).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
        GroupCommand::Members { group, list } => {
            let page = PageQuery { limit: None, cursor: list.cursor.clone() };
            let pages = groups.list_all_members(group_lookup(session, &group).await?, page);
            let listed = list.fetch(pages).await.or_trouble(trouble)?;
            session.show.list(&listed, &account::COLUMNS, account::row)
        }
        GroupCommand::Add { group, accounts } => {
            let done = groups.add_members(group_lookup(session, &group).await?, accounts).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
        GroupCommand::Remove { group, accounts } => {
            let done =
                groups.remove_members(group_lookup(session, &group).await?, accounts).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
        GroupCommand::Move { from, to, accounts } => {
            let (from, to) = (group_lookup(session, &from).await?, group_lookup(session, &to).await?);
            let done = groups.move_members(from, to, accounts).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
    }
}

const COLUMNS: [Column; 4] =
    [Column::Whole("lookup"), Column::Text("name"), Column::Whole("members"), Column::Text("policies")];

fn row(group: &AccountGroupRecord) -> Vec<Cell> {
    vec![
        group.lookup.as_str().into(),
        group.name.as_str().into(),
        group.member_count.to_string().into(),
        Cell::list(group.policies.iter().map(|policy| &policy.name)),
    ]
}

fn shown(group: &AccountGroupRecord) -> String {
    details(&[
        ("group", group.lookup.as_str().into()),
        ("name", group.name.as_str().into()),
        ("description", Cell::maybe(group.description.as_ref())),
        ("members", group.member_count.to_string().into()),
        ("policies", Cell::list(group.policies.iter().map(|policy| format!("{} ({})", policy.name, policy.lookup)))),
        ("created", group.created_at.as_str().into()),
    ])
}
