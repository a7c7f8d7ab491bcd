use chancery_domain::{Name, OperatorKey, OperatorKeyId};
use clap::Subcommand;

use super::{context::Context, revoked};
use crate::failure::Failure;
use crate::print::{Record, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum OperatorKeyCommand {
    /// Create an operator key and show it, once
    Create {
        /// Who is to have it; stands in the audit trail
        #[arg(long, value_parser = Name::parse)]
        name: Name,
    },
    /// List the operator keys, revoked ones included
    List,
    /// Revoke an operator key: its sessions end at once
    Revoke {
        /// The key's id, such as opk_…; not the key itself
        key_id: OperatorKeyId,
    },
}

pub fn run(target: &Target, command: OperatorKeyCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    match command {
        OperatorKeyCommand::Create { name } => {
            let made = context.wait(context.operator.create_operator_key(name))?;
            let mut record = record! { "key_id" => made.key.id.to_string(), "operator_key" => made.text.reveal() };
            record.0.extend(shown(&made.key).0.into_iter().filter(|(name, _)| *name != "key_id"));
            let at = format!("{}{}", context.installation.urls.base_url, chancery_console::PATH);
            let note = format!("The key is shown only now: keep it safe. It signs in at {at}.");
            let id = made.key.id;
            let lost = format!("the key {id} was made, but nobody has it: chancery operator-key revoke {id}");
            context.printer.secret(&record, &note, lost)
        }
        OperatorKeyCommand::List => {
            let keys = context.wait(context.operator.operator_keys())?;
            let records: Vec<_> = keys.iter().map(shown).collect();
            context.printer.table(&["key_id", "name", "status", "created_at", "revoked_at"], &records)
        }
        OperatorKeyCommand::Revoke { key_id } => {
            let revoked = context.wait(context.operator.revoke_operator_key(key_id));
            revoked::say(&context, key_id, revoked, move |tx| tx.operator_key(key_id), ", and its sessions have ended.")
        }
    }
}

fn shown(key: &OperatorKey) -> Record {
    record! {
        "key_id" => key.id.to_string(),
        "name" => key.name.as_str(),
        "status" => if key.revoked_at.is_some() { "revoked" } else { "active" },
        "created_at" => key.created_at.to_string(),
        "revoked_at" => key.revoked_at.map(|at| at.to_string()),
    }
}
