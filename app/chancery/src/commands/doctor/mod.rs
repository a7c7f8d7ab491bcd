//! `chancery doctor`: looks at a deployment and says what is wrong with it, and what to do. It changes nothing.

mod database;
mod finding;
mod logs;
mod machine;
mod network;
mod perspectives;
mod signing;

use std::path::Path;

use chancery_domain::Clock;
use chancery_machine::SystemClock;
use clap::Args;

use crate::config::ConfigError;
use crate::failure::Failure;
use crate::installation::Installation;
use crate::resolvers;
use crate::target::Target;
use finding::Report;

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Read every page of a SQLite database as well, which takes as long as reading the file does
    #[arg(long)]
    thorough: bool,
}

/// Run it as the user that the service runs as, with the same environment and limits.
pub fn run(target: &Target, args: &DoctorArgs) -> Result<(), Failure> {
    let mut report = Report::default();
    match target.find_or_tell()? {
        Ok(installation) => look(installation, args, &mut report),
        Err(ConfigError::Wrong(path, problems)) => {
            for problem in problems.0 {
                let what = format!("{}: {} {}", path.display(), problem.setting, problem.message);
                report.problem("configuration", what, "mend the setting, then look again");
            }
        }
        Err(ConfigError::Unreadable(failure)) => {
            report.problem("configuration", failure.to_string(), "name another, or let this user read it");
        }
    }
    report.tell(target.json)
}

fn look(mut installation: Installation, args: &DoctorArgs, report: &mut Report) {
    let now = SystemClock.now();
    let warnings = installation.warnings(now.as_secs());
    if warnings.is_empty() {
        report.well("configuration", format!("{} is understood", installation.place));
    }
    for warning in warnings {
        report.warn("configuration", warning, "change what it names, or leave it as it is");
    }
    let asked = installation.find_resolvers(Path::new(resolvers::SYSTEM));
    let told = database::look(&installation, args.thorough, now, report);
    machine::look(&installation, now, report);
    network::look(&installation, asked, told.as_ref().map(|told| &*told.nodes), now, report);
    perspectives::look(&installation, now, report);
    logs::look(&installation, told.as_ref().map(|told| &*told.roots), now, report);
}
