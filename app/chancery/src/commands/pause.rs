use chancery_domain::{Pause, PauseId};
use clap::Subcommand;

use super::context::Context;
use crate::failure::Failure;
use crate::print::{Record, record};
use crate::target::Target;

#[derive(Subcommand, Debug)]
pub enum PauseCommand {
    /// List the names that are paused for the customers of a reseller, the newest first
    List {
        /// The reseller's code
        #[arg(long, value_name = "CODE")]
        reseller: String,
        /// Most pauses to show
        #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Lift a pause: new orders for the name are taken again within seconds
    Lift {
        /// The pause, such as pau_…
        pause: PauseId,
    },
}

pub fn run(target: &Target, command: PauseCommand) -> Result<(), Failure> {
    let context = Context::open(target)?;
    match command {
        PauseCommand::List { reseller, limit } => {
            let pauses = context.wait(context.operator.pauses(&reseller, limit))?;
            let records: Vec<_> = pauses.iter().map(shown).collect();
            context.printer.table(&["pause", "account", "name", "failures", "paused_at", "problem"], &records)
        }
        PauseCommand::Lift { pause } => {
            let lifted = context.wait(context.operator.lift_pause(pause))?;
            let sentence = format!("New orders of {} for {} are taken again.", lifted.account, lifted.name);
            context.printer.say(&sentence, &shown(&lifted))
        }
    }
}

fn shown(pause: &Pause) -> Record {
    record! {
        "pause" => pause.id.to_string(),
        "account" => pause.account.to_string(),
        "name" => pause.name.to_string(),
        "failures" => pause.failures,
        "problem" => pause.problem.as_str(),
        "last_failed_at" => pause.last_failed_at.to_string(),
        "paused_at" => pause.paused_at.to_string(),
    }
}
