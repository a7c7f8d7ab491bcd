//! `chancery my`: what a reseller does with its own things, at a service somewhere, by its own credentials. The other
//! commands work on an installation's own files, on its own machine.

mod account;
mod ask;
mod authorization;
mod certificate;
mod credentials;
mod csr;
mod eab;
mod group;
mod insight;
mod login;
mod named;
mod order;
mod places;
mod policy;
mod policy_rules;
mod progress;
mod recipes;
mod revoke;
mod session;
mod show;
mod table;
mod token_cache;
mod trouble;
mod whoami;
mod whose;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::threads::Threads;
use session::{Session, SessionArgs};
use show::OrTrouble;

#[derive(Args)]
pub struct MyArgs {
    #[command(subcommand)]
    command: MyCommand,
    #[command(flatten)]
    session: SessionArgs,
}

impl MyArgs {
    /// Whether a script reads the answer.
    pub fn json(&self) -> bool {
        self.session.json
    }
}

#[derive(Subcommand)]
enum MyCommand {
    /// Log in to a service with your client id and secret, and remember it under a profile
    Login(login::LoginArgs),
    /// Forget a login, its secret and its token
    Logout(login::LogoutArgs),
    /// List the logins there are, and choose the usual one
    Profiles(login::ProfilesArgs),
    #[command(flatten)]
    Work(Work),
}

/// What needs a login.
#[derive(Subcommand)]
enum Work {
    /// Show which login is used, whether it works, and what it may do
    Whoami,
    /// Create, list, show, change, suspend, resume and terminate the accounts of your customers
    #[command(subcommand, alias = "accounts")]
    Account(account::AccountCommand),
    /// Create, list, show and revoke the EAB credentials of ACME clients
    #[command(subcommand)]
    Eab(eab::EabCommand),
    /// Create, list, show, change and delete groups of accounts, and say who is in them
    #[command(subcommand, alias = "groups")]
    Group(group::GroupCommand),
    /// Create, list, show, change, delete, assign and try issuance policies
    #[command(subcommand, alias = "policies")]
    Policy(policy::PolicyCommand),
    /// Order certificates, go on with orders, list, show and cancel them
    #[command(subcommand, alias = "orders")]
    Order(order::OrderCommand),
    /// List, show, verify and deactivate the authorizations of an order, step by step
    #[command(subcommand, alias = "authorizations", alias = "authz")]
    Authorization(authorization::AuthorizationCommand),
    /// List, show and download certificates
    #[command(subcommand, alias = "certificates", alias = "cert")]
    Certificate(certificate::CertificateCommand),
    /// Revoke a certificate
    Revoke(revoke::RevokeArgs),
    /// Tell what stands against a CSR, without ordering
    CheckCsr(csr::CsrArgs),
    /// Tell what would happen to names: policies, CAA, DNSSEC, the web server
    Diagnose(insight::DiagnoseArgs),
    /// List the names that are paused because their validation failed too often, and lift pauses
    #[command(subcommand, alias = "pauses")]
    Pause(insight::PauseCommand),
    /// Count the certificates that were issued
    Usage(insight::UsageArgs),
    /// Show how much you may do, and what is left of it
    Limits,
}

pub fn run(args: MyArgs) -> Result<(), Failure> {
    let threads = Threads::start()?;
    let done = threads.run(perform(args.session, args.command));
    // Somebody may be asked something still that Ctrl-C has answered.
    threads.abandon();
    done
}

async fn perform(args: SessionArgs, command: MyCommand) -> Result<(), Failure> {
    match command {
        MyCommand::Login(wanted) => login::login(&args, wanted).await,
        MyCommand::Logout(wanted) => login::logout(&args, &wanted),
        MyCommand::Profiles(wanted) => login::profiles(&args, wanted),
        MyCommand::Work(work) => {
            let session = Session::open(&args)?;
            let done = work.perform(&session).await;
            session.close().await;
            done
        }
    }
}

impl Work {
    async fn perform(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Whoami => whoami::run(session).await,
            Self::Account(command) => account::run(session, command).await,
            Self::Eab(command) => eab::run(session, command).await,
            Self::Group(command) => group::run(session, command).await,
            Self::Policy(command) => policy::run(session, command).await,
            Self::Order(command) => order::run(session, command).await,
            Self::Authorization(command) => authorization::run(session, command).await,
            Self::Certificate(command) => certificate::run(session, command).await,
            Self::Revoke(args) => revoke::run(session, args).await,
            Self::CheckCsr(args) => csr::run(session, args).await,
            Self::Diagnose(args) => insight::diagnose(session, args).await,
            Self::Pause(command) => insight::pause(session, command).await,
            Self::Usage(args) => insight::usage(session, args).await,
            Self::Limits => insight::limits(session).await,
        }
    }
}

/// The lookup of an account that people name by its e-mail address; some calls of the API take nothing else.
async fn account_lookup(session: &Session, text: String) -> Result<String, Failure> {
    if text.starts_with("acc_") {
        return Ok(text);
    }
    Ok(session.client.accounts().get(text).await.or_trouble(&session.trouble)?.account.lookup)
}
