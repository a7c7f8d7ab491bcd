//! `authorization`: the permission to have a name in certificates, one step at a time.

use chancery_client::wire::{Authorization, Challenge};
use clap::Subcommand;

use super::order::{authorizations, name};
use super::session::Session;
use super::show::{Listed, OrTrouble};
use super::table::{Cell, Column, details, room, table};
use crate::failure::{Failure, Kind};

#[derive(Subcommand, Debug)]
pub enum AuthorizationCommand {
    /// List the authorizations of an order
    List {
        /// The order, by lookup
        order: String,
    },
    /// Show an authorization and what was seen of its challenges
    Show {
        /// By lookup
        authorization: String,
    },
    /// Get the codes of an authorization: what could be published
    Challenges {
        /// By lookup
        authorization: String,
    },
    /// Have a challenge looked at: it is published
    Verify {
        /// The challenge, by lookup
        challenge: String,
    },
    /// Give up an authorization; its order is cancelled
    Deactivate {
        /// By lookup
        authorization: String,
    },
}

pub async fn run(session: &Session, command: AuthorizationCommand) -> Result<(), Failure> {
    let (orders, trouble) = (session.client.orders(), &session.trouble);
    match command {
        AuthorizationCommand::List { order } => {
            let order = orders.get(order).await.or_trouble(trouble)?;
            let listed = Listed { items: order.authorizations, next_cursor: None };
            session.show.thing(&listed, || authorizations(&listed.items))
        }
        AuthorizationCommand::Show { authorization } => {
            let authorization = orders.authorization(authorization).await.or_trouble(trouble)?;
            session.show.thing(&authorization, || shown(&authorization))
        }
        AuthorizationCommand::Challenges { authorization } => {
            let codes = orders.challenges(authorization).await.or_trouble(trouble)?;
            session.show.thing(&codes, || codes.challenges.iter().map(published).collect::<Vec<_>>().join("\n"))
        }
        AuthorizationCommand::Verify { challenge } => {
            let challenge = orders.choose(challenge).await.or_trouble(trouble)?;
            session.show.thing(&challenge, || format!("{} is {}.\n", challenge.lookup, challenge.status))
        }
        AuthorizationCommand::Deactivate { authorization } => {
            // The API does it by one of its challenges, which are there once codes were asked for.
            let codes = orders.challenges(&authorization).await.or_trouble(trouble)?;
            let challenge = codes.challenges.first().ok_or_else(|| {
                Failure::of(Kind::Failed, "the authorization has no challenges to deactivate it by")
                    .advise("cancel its order instead: chancery my order cancel ORDER")
            })?;
            let ended = orders.deactivate(&challenge.lookup).await.or_trouble(trouble)?;
            session.show.thing(&ended, || format!("{} is {}.\n", ended.lookup, ended.status))
        }
    }
}

fn shown(authorization: &Authorization) -> String {
    let mut text = details(&[
        ("authorization", authorization.lookup.as_str().into()),
        ("name", name(authorization).into()),
        ("status", Cell::status(&authorization.status)),
        ("order", Cell::maybe(authorization.order.as_ref())),
        ("ends", authorization.expires_at.as_str().into()),
    ]);
    if authorization.challenges.is_empty() {
        return text;
    }
    let columns = [Column::Whole("challenge"), Column::Whole("type"), Column::Whole("status"), Column::Text("error")];
    let row = |challenge: &Challenge| {
        let error = challenge.error.as_ref().map_or_else(Cell::default, |error| error.detail.as_str().into());
        vec![challenge.lookup.as_str().into(), challenge.kind.as_str().into(), Cell::status(&challenge.status), error]
    };
    text.push('\n');
    text.push_str(&table(&columns, &authorization.challenges.iter().map(row).collect::<Vec<_>>(), room()));
    text
}

fn published(challenge: &Challenge) -> String {
    let told = challenge.instructions.clone().unwrap_or_default();
    details(&[
        ("challenge", challenge.lookup.as_str().into()),
        ("type", challenge.kind.as_str().into()),
        ("status", Cell::status(&challenge.status)),
        ("page", Cell::maybe(told.url.as_ref())),
        ("text", Cell::maybe(told.body.as_ref())),
        ("record", Cell::maybe(told.record_name.as_ref())),
        ("record type", Cell::maybe(told.record_type.as_ref())),
        ("value", Cell::maybe(told.record_value.as_ref())),
        ("name", Cell::maybe(told.subject_alternative_name.as_ref())),
        ("extension", Cell::maybe(told.acme_identifier.as_ref())),
    ])
}
