use chancery_domain::{Name, Reseller, ResellerCode};
use clap::Subcommand;

use super::context::Context;
use crate::failure::Failure;
use crate::print::{Record, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum ResellerCommand {
    /// Create a reseller
    Create {
        /// Its short name, as it stands in answers and tokens: capitals, digits, - and _, such as ACME2
        #[arg(long, value_parser = ResellerCode::parse)]
        code: ResellerCode,
        /// Its name for people
        #[arg(long, value_parser = Name::parse)]
        name: Name,
    },
    /// List all resellers, newest first
    List,
    /// Show a reseller with its clients and API keys
    Show {
        /// The reseller's code
        code: String,
    },
    /// Suspend a reseller: within seconds it gets 403 everywhere, and its customers' ACME is refused
    Suspend {
        /// The reseller's code
        code: String,
    },
    /// Let a suspended reseller go on
    Resume {
        /// The reseller's code
        code: String,
    },
}

pub fn run(target: &Target, command: ResellerCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    match command {
        ResellerCommand::Create { code, name } => {
            let reseller = context.wait(context.operator.create_reseller(code, name))?;
            let note = format!("Next: chancery client create --reseller {}", reseller.code);
            context.printer.record(&shown(&reseller), Some(&note))
        }
        ResellerCommand::List => {
            let resellers = context.wait(context.operator.resellers())?;
            let records: Vec<_> = resellers.iter().map(shown).collect();
            context.printer.table(&["code", "name", "status", "created_at"], &records)
        }
        ResellerCommand::Show { code } => show(&context, &code),
        ResellerCommand::Suspend { code } => change(&context, &code, true),
        ResellerCommand::Resume { code } => change(&context, &code, false),
    }
}

fn show(context: &Context, code: &str) -> Result<(), Failure> {
    let reseller = context.wait(context.operator.reseller(code))?;
    let clients = context.wait(context.operator.clients(code))?;
    let keys = context.wait(context.operator.api_keys(code))?;
    let mut record = shown(&reseller);
    let clients: Vec<_> = clients.iter().map(|client| client.id.to_string()).collect();
    let keys: Vec<_> = keys.iter().filter(|key| key.revoked_at.is_none()).map(|key| key.id.to_string()).collect();
    record.0.extend(record! { "clients" => clients, "api_keys" => keys }.0);
    context.printer.record(&record, None)
}

fn change(context: &Context, code: &str, suspended: bool) -> Result<(), Failure> {
    let reseller = context.wait(context.operator.set_reseller_suspended(code, suspended))?;
    let sentence = match suspended {
        true => format!("{} is suspended; every node follows within seconds.", reseller.code),
        false => format!("{} may go on; every node follows within seconds.", reseller.code),
    };
    context.printer.say(&sentence, &shown(&reseller))
}

fn shown(reseller: &Reseller) -> Record {
    record! {
        "code" => reseller.code.as_str(),
        "name" => reseller.name.as_str(),
        "status" => if reseller.suspended { "suspended" } else { "active" },
        "id" => reseller.id.to_string(),
        "created_at" => reseller.created_at.to_string(),
        "updated_at" => reseller.updated_at.to_string(),
    }
}
