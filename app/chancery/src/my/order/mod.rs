//! `order`: from names to a certificate in a file.

mod create;
mod files;
mod follow;
mod journal;
mod publish;
mod resume;

use chancery_client::OrderQuery;
use chancery_client::wire::{Authorization, Order};
use clap::Subcommand;

use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, details, room, table};
use crate::failure::Failure;

#[derive(Subcommand, Debug)]
pub enum OrderCommand {
    /// Order a certificate, and go with it to the end: key, proof of control, chain
    Create(Box<create::CreateArgs>),
    /// Go on with an order where it stands
    Resume(resume::ResumeArgs),
    /// List orders
    List {
        /// Only those of this account, by lookup
        #[arg(long)]
        account: Option<String>,
        /// Only those with this status: pending, ready, processing, valid, invalid, cancelled, expired
        #[arg(long)]
        status: Option<String>,
        /// Only the one with this reference of yours
        #[arg(long, value_name = "ID")]
        external_id: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show an order: how far it has come, and why it stands still
    Show {
        /// By lookup
        order: String,
    },
    /// Cancel an order that is not issued yet, and deactivate its authorizations
    Cancel {
        /// By lookup
        order: String,
    },
}

pub async fn run(session: &Session, command: OrderCommand) -> Result<(), Failure> {
    let orders = session.client.orders();
    match command {
        OrderCommand::Create(args) => create::run(session, *args).await,
        OrderCommand::Resume(args) => resume::run(session, args).await,
        OrderCommand::List { account, status, external_id, list } => {
            let account_lookup = match account {
                Some(account) => Some(super::account_lookup(session, account).await?),
                None => None,
            };
            let query = OrderQuery { account_lookup, status, external_id, limit: None, cursor: list.cursor.clone() };
            let listed = list.fetch(orders.list_all(query)).await.or_trouble(&session.trouble)?;
            session.show.list(&listed, &COLUMNS, row)
        }
        OrderCommand::Show { order } => {
            let order = orders.get(order).await.or_trouble(&session.trouble)?;
            session.show.thing(&order, || shown(&order))
        }
        OrderCommand::Cancel { order } => {
            let order = orders.cancel(order).await.or_trouble(&session.trouble)?;
            journal::Journal::give_up(&order.lookup)?;
            session.show.thing(&order, || format!("{} is {}.\n", order.lookup, order.status))
        }
    }
}

const COLUMNS: [Column; 5] = [
    Column::Whole("lookup"),
    Column::Whole("status"),
    Column::Text("names"),
    Column::Text("reference"),
    Column::Whole("created"),
];

fn row(order: &Order) -> Vec<Cell> {
    vec![
        order.lookup.as_str().into(),
        Cell::status(&order.status),
        Cell::list(order.identifiers.iter().map(|name| &name.value)),
        Cell::maybe(order.external_id.as_ref()),
        Cell::time(&order.created_at),
    ]
}

fn shown(order: &Order) -> String {
    let mut text = details(&[
        ("order", order.lookup.as_str().into()),
        ("status", Cell::status(&order.status)),
        ("names", Cell::list(order.identifiers.iter().map(|name| &name.value))),
        ("account", order.account_lookup.as_str().into()),
        ("certificate profile", order.profile.as_str().into()),
        ("certificate", order.certificate_lookup.as_str().into()),
        ("reference", Cell::maybe(order.external_id.as_ref())),
        ("error", order.error.as_ref().map_or_else(Cell::default, |error| error.detail.as_str().into())),
        ("requested by", order.requested_via.as_str().into()),
        ("created", order.created_at.as_str().into()),
        ("ends", order.expires_at.as_str().into()),
    ]);
    text.push('\n');
    text.push_str(&authorizations(&order.authorizations));
    text.push('\n');
    let columns = [Column::Whole("step"), Column::Whole("status"), Column::Whole("at"), Column::Text("detail")];
    let steps: Vec<Vec<Cell>> = order
        .progress
        .iter()
        .map(|step| {
            let at = step.at.as_deref().map_or_else(Cell::default, Cell::time);
            vec![step.step.as_str().into(), Cell::status(&step.status), at, Cell::maybe(step.detail.as_ref())]
        })
        .collect();
    text.push_str(&table(&columns, &steps, room()));
    text
}

/// One line for each name.
pub fn authorizations(all: &[Authorization]) -> String {
    let columns = [Column::Whole("authorization"), Column::Text("name"), Column::Whole("status"), Column::Text("by")];
    let rows: Vec<Vec<Cell>> = all
        .iter()
        .map(|one| {
            let tried = one.challenges.iter().filter(|challenge| challenge.status != "pending");
            let tried = tried.map(|challenge| match &challenge.error {
                Some(error) => format!("{}: {}", challenge.kind, error.detail),
                None => challenge.kind.clone(),
            });
            vec![one.lookup.as_str().into(), name(one).into(), Cell::status(&one.status), Cell::list(tried)]
        })
        .collect();
    table(&columns, &rows, room())
}

/// The name as it was ordered.
pub fn name(authorization: &Authorization) -> String {
    let wildcard = if authorization.wildcard { "*." } else { "" };
    format!("{wildcard}{}", authorization.identifier.value)
}
