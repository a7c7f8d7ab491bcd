//! The command line: what can be asked, and how it is explained.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::{
    api_key::ApiKeyCommand, audit::AuditArgs, backup::BackupArgs, bench::BenchCommand, ca::CaCommand,
    client::ClientCommand, demo::DemoArgs, doctor::DoctorArgs, kek::KekCommand, operator_key::OperatorKeyCommand,
    pause::PauseCommand, profile::ProfileCommand, recover::RecoverArgs, reseller::ResellerCommand,
    restore::RestoreArgs, revoke::RevokeArgs, setup::InitArgs,
};
use crate::dev::DevArgs;
use crate::my::MyArgs;
use crate::perspective::PerspectiveArgs;
use crate::serve::ServeArgs;
use crate::target::{ConfigTarget, Target};
use crate::version::VERSION;

/// A certificate authority for resellers: one binary, a JSON API, and ACME.
///
/// Try it:      chancery dev
/// Run it:      chancery init --config chancery.toml, then chancery serve --config chancery.toml
/// Operate it:  chancery reseller create, chancery client create, chancery audit, …
/// Use it:      chancery my login, then chancery my order create, … (for resellers, from anywhere)
#[derive(Parser)]
#[command(name = "chancery", version = VERSION, verbatim_doc_comment, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Start a server to try things out, with a database, a CA and a demo reseller of its own
    Dev(DevArgs),
    /// Get a certificate from a running `chancery dev`, step by step, to see how it goes
    Demo(DemoArgs),
    /// Start the service as a configuration file says
    Serve(ServeArgs),
    /// Look at names from here, for a service elsewhere that wants to see them from several places
    Perspective(Box<PerspectiveArgs>),
    /// Make what a new installation needs: key-encryption key, database schema, root and issuing CAs
    Init(At<InitArgs>),
    /// Create, list, show, suspend and resume resellers
    Reseller(Noun<ResellerCommand>),
    /// Create, list, rotate, disable and enable the OAuth clients of resellers
    Client(Noun<ClientCommand>),
    /// Create, list and revoke API keys, where `identity.api_keys` allows them
    ApiKey(Noun<ApiKeyCommand>),
    /// Create, list and revoke the keys by which people sign in to the console as the operator
    OperatorKey(Noun<OperatorKeyCommand>),
    /// Show the certificate profiles
    Profile(Noun<ProfileCommand>),
    /// Show, create, rotate, retire and activate the certificate authorities, and give them further chains
    Ca(Noun<CaCommand>),
    /// Revoke certificates of any reseller, one or many
    Revoke(At<RevokeArgs>),
    /// List and lift pauses: names whose validation failed too often
    Pause(Noun<PauseCommand>),
    /// List, rotate and prune the key-encryption keys
    Kek(Noun<KekCommand>),
    /// Read the audit trail: who did, or was refused, what
    Audit(At<AuditArgs>),
    /// Copy the database, while it is in use, into a new file
    Backup(At<BackupArgs>),
    /// Put a backup in the place of the database, and make it fit for service
    Restore(At<RestoreArgs>),
    /// Bring back certificates and revocations that the database has lost, from files that others kept
    Recover(At<RecoverArgs>),
    /// Bring the database's schema up to date
    Migrate(At<Nothing>),
    /// Check a configuration file, and the environment over it, without starting anything
    CheckConfig(ConfigTarget),
    /// Look at a deployment, changing nothing, and say what is wrong with it and what to do
    Doctor(At<DoctorArgs>),
    /// Bring load to an ACME server, and tell how it held
    #[command(subcommand)]
    Bench(BenchCommand),
    /// As a reseller, at a service somewhere: accounts, EAB credentials, policies, orders, certificates
    ///
    /// These commands speak to a service over the network, with a reseller's own client id and secret. All others work on
    /// an installation, on its own machine.
    My(Box<MyArgs>),
    /// Print the OpenAPI document of the reseller API
    Openapi,
    /// Write the manual pages of all commands
    Man {
        /// The folder for them, such as /usr/local/share/man/man1
        #[arg(long, value_name = "DIR")]
        dir: PathBuf,
    },
    /// Print a completion script for a shell
    Completions {
        /// Such as: chancery completions bash > /etc/bash_completion.d/chancery
        shell: Shell,
    },
}

/// A noun with its verbs, and the installation they work on.
#[derive(Args)]
pub struct Noun<C: Subcommand> {
    #[command(subcommand)]
    pub command: C,
    #[command(flatten)]
    pub target: Target,
}

/// A command of one word, and the installation it works on.
#[derive(Args)]
pub struct At<A: Args> {
    #[command(flatten)]
    pub args: A,
    #[command(flatten)]
    pub target: Target,
}

/// No arguments of its own.
#[derive(Args)]
pub struct Nothing {}
