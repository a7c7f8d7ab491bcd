use chancery_domain::{ApiKey, ApiKeyId, Name, ScopeSet};
use clap::Subcommand;

use super::{context::Context, revoked, scopes};
use crate::failure::Failure;
use crate::print::{Record, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum ApiKeyCommand {
    /// Create an API key of a reseller and show it, once
    Create {
        /// The reseller's code
        #[arg(long, value_name = "CODE")]
        reseller: String,
        /// A name for people
        #[arg(long, value_parser = Name::parse, default_value = "key")]
        name: Name,
        /// What it may do, such as "reseller read:account" [default: everything]
        #[arg(long, value_parser = scopes)]
        scope: Option<ScopeSet>,
    },
    /// List the API keys of a reseller, revoked ones included
    List {
        /// The reseller's code
        #[arg(long, value_name = "CODE")]
        reseller: String,
    },
    /// Revoke an API key: it stops working within seconds
    Revoke {
        /// The key's id, such as key_…; not the key itself
        key_id: ApiKeyId,
    },
}

pub fn run(target: &Target, command: ApiKeyCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    match command {
        ApiKeyCommand::Create { reseller, name, scope } => {
            let scopes = scope.unwrap_or_else(ScopeSet::all);
            let made = context.wait(context.operator.create_api_key(&reseller, name, scopes))?;
            let mut record = record! { "key_id" => made.key.id.to_string(), "api_key" => made.text.reveal() };
            record.0.extend(shown(&made.key, &reseller).0.into_iter().filter(|(name, _)| *name != "key_id"));
            let note = match context.installation.settings.api_keys {
                true => "The key is shown only now: keep it safe.",
                false => "The key is shown only now. It is not taken yet: identity.api_keys is false.",
            };
            let id = made.key.id;
            let lost = format!("the key {id} was made, but nobody has it: chancery api-key revoke {id}");
            context.printer.secret(&record, note, lost)
        }
        ApiKeyCommand::List { reseller } => {
            let keys = context.wait(context.operator.api_keys(&reseller))?;
            let records: Vec<_> = keys.iter().map(|key| shown(key, &reseller)).collect();
            context.printer.table(&["key_id", "reseller", "name", "status", "created_at", "revoked_at"], &records)
        }
        ApiKeyCommand::Revoke { key_id } => {
            let revoked = context.wait(context.operator.revoke_api_key(key_id));
            let so = "; it stops working within seconds on every node.";
            revoked::say(&context, key_id, revoked, move |tx| tx.api_key(key_id), so)
        }
    }
}

fn shown(key: &ApiKey, reseller: &str) -> Record {
    record! {
        "key_id" => key.id.to_string(),
        "reseller" => reseller,
        "name" => key.name.as_str(),
        "scope" => key.scopes.to_string(),
        "status" => if key.revoked_at.is_some() { "revoked" } else { "active" },
        "created_at" => key.created_at.to_string(),
        "revoked_at" => key.revoked_at.map(|at| at.to_string()),
    }
}
