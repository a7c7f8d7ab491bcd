use chancery_domain::{Client, ClientId, Clock, Name, ScopeSet};
use chancery_machine::SystemClock;
use chancery_service::identity::{NewClient, NewSecret};
use clap::Subcommand;

use super::{context::Context, scopes};
use crate::failure::Failure;
use crate::print::{Record, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum ClientCommand {
    /// Create a client of a reseller and show its secret, once
    Create {
        /// The reseller's code
        #[arg(long, value_name = "CODE")]
        reseller: String,
        /// A name for people
        #[arg(long, value_parser = Name::parse, default_value = "client")]
        name: Name,
        /// What it may do, such as "reseller read:account" [default: everything]
        #[arg(long, value_parser = scopes)]
        scope: Option<ScopeSet>,
        /// Let it end by itself after so many days
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=i64::from(Client::MAX_DAYS)))]
        expires_in_days: Option<u32>,
    },
    /// List the clients of one reseller, or of all
    List {
        /// The reseller's code
        #[arg(long, value_name = "CODE")]
        reseller: Option<String>,
    },
    /// Add a second secret and show it, once; the first works on until --finish
    Rotate {
        /// The client's id
        client_id: ClientId,
        /// End the rotation: drop the first secret
        #[arg(long)]
        finish: bool,
    },
    /// Disable a client: its tokens stop working within seconds
    Disable {
        /// The client's id
        client_id: ClientId,
    },
    /// Enable a disabled client again
    Enable {
        /// The client's id
        client_id: ClientId,
    },
}

pub fn run(target: &Target, command: ClientCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    match command {
        ClientCommand::Create { reseller, name, scope, expires_in_days } => {
            let scopes = scope.unwrap_or_else(ScopeSet::all);
            let new = NewClient { name, scopes, expires_in_days };
            let made = context.wait(context.operator.create_client(&reseller, new))?;
            let id = made.client.id;
            let lost = format!("the client {id} was made, but nobody has its secret: chancery client disable {id}");
            let note = "The secret is shown only now: keep it safe.";
            context.printer.secret(&revealed(&context, &reseller, &made), note, lost)
        }
        ClientCommand::List { reseller } => list(&context, reseller),
        ClientCommand::Rotate { client_id, finish: false } => {
            let made = context.wait(context.operator.begin_rotation(client_id))?;
            // The secret is to be shown, whatever becomes of the rest.
            let reseller = code(&context, &made.client).unwrap_or_default();
            let works = match (made.client.is_live(SystemClock.now()), made.client.disabled) {
                (true, _) => "Both secrets work now",
                (false, true) => "Neither secret works now, for the client is disabled",
                (false, false) => "Neither secret works now, for the client has expired",
            };
            let note = format!(
                "{works}, and this one is shown only now. When it is in use everywhere: \
                 chancery client rotate {client_id} --finish"
            );
            let lost = format!(
                "nobody has the second secret of {client_id}, and the first stays as it is: do not finish this rotation, but \
                 make another client"
            );
            context.printer.secret(&revealed(&context, &reseller, &made), &note, lost)
        }
        ClientCommand::Rotate { client_id, finish: true } => {
            let client = context.wait(context.operator.finish_rotation(client_id))?;
            let record = shown(&client, &code(&context, &client)?);
            context.printer.say(&format!("{client_id} has only its new secret now."), &record)
        }
        ClientCommand::Disable { client_id } => change(&context, client_id, true),
        ClientCommand::Enable { client_id } => change(&context, client_id, false),
    }
}

fn list(context: &Context, reseller: Option<String>) -> Result<(), Failure> {
    let codes = match reseller {
        Some(code) => vec![code],
        None => {
            let resellers = context.wait(context.operator.resellers())?;
            resellers.into_iter().map(|reseller| reseller.code.to_string()).collect()
        }
    };
    let mut records = Vec::new();
    for code in codes {
        for listed in context.wait(context.operator.clients(&code))? {
            // The list leaves the secrets out, which are counted here.
            let whole = context.wait(context.kernel.store.read(move |tx| tx.client(listed.id)))?;
            records.extend(whole.iter().map(|client| shown(client, &code)));
        }
    }
    let columns = ["client_id", "reseller", "name", "status", "secrets", "expires_at", "created_at"];
    context.printer.table(&columns, &records)
}

fn change(context: &Context, id: ClientId, disabled: bool) -> Result<(), Failure> {
    let client = context.wait(context.operator.set_client_disabled(id, disabled))?;
    let sentence = match disabled {
        true => format!("{id} is disabled; its tokens stop working within seconds on every node."),
        false => format!("{id} is enabled."),
    };
    context.printer.say(&sentence, &shown(&client, &code(context, &client)?))
}

/// The code of a client's reseller.
fn code(context: &Context, client: &Client) -> Result<String, Failure> {
    let resellers = context.wait(context.operator.resellers())?;
    let found = resellers.into_iter().find(|reseller| reseller.id == client.reseller);
    Ok(found.map(|reseller| reseller.code.to_string()).unwrap_or_default())
}

/// With its secret: only where that was just made.
fn revealed(context: &Context, reseller: &str, made: &NewSecret) -> Record {
    let settings = &context.installation.settings;
    let mut record = record! {
        "client_id" => made.client.id.to_string(),
        "client_secret" => made.secret.reveal(),
        "audience" => settings.audience,
        "scope" => made.client.scopes.to_string(),
    };
    let seen = ["client_id", "scope"];
    record.0.extend(shown(&made.client, reseller).0.into_iter().filter(|(name, _)| !seen.contains(name)));
    record
}

fn shown(client: &Client, reseller: &str) -> Record {
    record! {
        "client_id" => client.id.to_string(),
        "reseller" => reseller,
        "name" => client.name.as_str(),
        "scope" => client.scopes.to_string(),
        "status" => if client.disabled { "disabled" } else { "active" },
        "secrets" => client.secrets.len(),
        "expires_at" => client.expires_at.map(|end| end.to_string()),
        "created_at" => client.created_at.to_string(),
        "updated_at" => client.updated_at.to_string(),
    }
}
