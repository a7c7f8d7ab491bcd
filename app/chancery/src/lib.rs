//! All of the `chancery` binary: command line, configuration, and the wiring of everything else. It is a library so that it can be
//! compiled while the doors still are; a binary has to wait until they are done.

#![allow(unreachable_pub, reason = "nothing but `main` can be reached from outside; `pub` is for the rest of it")]

mod assembly;
mod cli;
mod commands;
mod config;
mod dev;
mod failure;
mod files;
mod installation;
mod my;
mod perspective;
mod print;
mod resolvers;
mod serve;
mod target;
mod threads;
mod version;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
use failure::Failure;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let (outcome, json) = match Cli::try_parse() {
        Ok(Cli { command: Command::My(args) }) => {
            let json = args.json();
            (my::run(*args), json)
        }
        Ok(cli) => (dispatch(cli.command), false),
        Err(error) => (explain(&error), asks_for_json()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print::complain(&match json {
                true => failure.to_json().to_string(),
                false => format!("chancery: {failure}"),
            });
            failure.exit_code()
        }
    }
}

/// Whether a script waits for the answer of a reseller's command that could not be understood.
fn asks_for_json() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|first| first == "my") && arguments.any(|argument| argument == "--json")
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Dev(args) => dev::run(&args),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Serve(args) => serve::start(&args),
        Command::Perspective(args) => perspective::run(&args),
        Command::Init(at) => commands::setup::init(&at.target, &at.args),
        Command::Reseller(noun) => commands::reseller::run(&noun.target, noun.command),
        Command::Client(noun) => commands::client::run(&noun.target, noun.command),
        Command::Pause(noun) => commands::pause::run(&noun.target, noun.command),
        Command::ApiKey(noun) => commands::api_key::run(&noun.target, noun.command),
        Command::OperatorKey(noun) => commands::operator_key::run(&noun.target, noun.command),
        Command::Profile(noun) => commands::profile::run(&noun.target, noun.command),
        Command::Ca(noun) => commands::ca::run(&noun.target, noun.command),
        Command::Revoke(at) => commands::revoke::run(&at.target, at.args),
        Command::Kek(noun) => commands::kek::run(&noun.target, noun.command),
        Command::Audit(at) => commands::audit::run(&at.target, at.args),
        Command::Backup(at) => commands::backup::run(&at.target, &at.args),
        Command::Restore(at) => commands::restore::run(&at.target, &at.args),
        Command::Recover(at) => commands::recover::run(&at.target, &at.args),
        Command::Migrate(at) => commands::setup::migrate(&at.target),
        Command::CheckConfig(target) => commands::setup::check_config(&target),
        Command::Doctor(at) => commands::doctor::run(&at.target, &at.args),
        Command::Bench(command) => commands::bench::run(command),
        Command::My(args) => my::run(*args),
        Command::Man { dir } => commands::man::run(&dir),
        Command::Openapi => commands::openapi::run(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "chancery", &mut script);
            print::out(&String::from_utf8_lossy(&script))
        }
    }
}

/// Help and version go out as clap writes them; a mistake becomes one line.
fn explain(error: &clap::Error) -> Result<(), Failure> {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print::out(&text.ansi().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage("a command is missing").advise("see `chancery --help`, or add --help to what you wrote"))
        }
        _ => {
            let text = text.to_string();
            let said = text.split("Usage:").next().unwrap_or_default();
            let lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more"));
            let said = lines.map(|line| line.trim_start_matches("error: ")).collect::<Vec<_>>().join(" ");
            Err(Failure::usage(said).advise("--help explains the command"))
        }
    }
}
