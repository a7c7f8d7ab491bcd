//! `policy`: what a reseller lets its accounts have.

use chancery_client::PageQuery;
use chancery_client::wire::{
    IdentifierInput, IssuancePolicy, IssuancePolicyRecord, PolicyEvaluation, PolicyEvaluationRequest,
};
use clap::Subcommand;

use super::ask;
use super::named::{group_lookup, policy_lookup};
use super::policy_rules::{RuleArgs, read, request, shown};
use super::recipes;
use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, details};
use super::whose::Whose;
use crate::failure::{Failure, Kind};

#[derive(Subcommand, Debug)]
pub enum PolicyCommand {
    /// Create a policy, from a file or from flags
    Create {
        /// Unique among your policies; a file may have it as well
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        #[command(flatten)]
        rules: Box<RuleArgs>,
    },
    /// List policies
    List {
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show a policy with its rules
    Show {
        /// By lookup or name
        policy: String,
    },
    /// Change the rules that flags name, or replace all of them with --file
    #[command(arg_required_else_help = true)]
    Update {
        /// By lookup or name
        policy: String,
        /// Another name
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        rules: Box<RuleArgs>,
    },
    /// Delete a policy and take it off its groups
    Delete {
        /// By lookup or name
        policy: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Apply a policy to the accounts of a group
    Assign {
        /// By lookup or name
        policy: String,
        /// By lookup or name
        #[arg(long)]
        group: String,
    },
    /// Take a policy off a group
    Unassign {
        /// By lookup or name
        policy: String,
        /// By lookup or name
        #[arg(long)]
        group: String,
    },
    /// Tell what would happen to an order, without ordering; exit code 1 where it would be refused
    Try {
        /// The names or addresses of the certificate
        #[arg(required = true)]
        names: Vec<String>,
        /// The account, by lookup, key id or e-mail address
        #[arg(long)]
        account: String,
        /// The certificate profile [default: the service's]
        #[arg(long, value_name = "NAME")]
        cert_profile: Option<String>,
        /// With a key of this type
        #[arg(long, value_name = "TYPE")]
        key_type: Option<String>,
        /// With this challenge
        #[arg(long, value_name = "TYPE")]
        challenge: Option<String>,
        /// Valid for so long
        #[arg(long, value_name = "DAYS")]
        validity_days: Option<u32>,
    },
}

pub async fn run(session: &Session, command: PolicyCommand) -> Result<(), Failure> {
    let (policies, trouble) = (session.client.policies(), &session.trouble);
    match command {
        PolicyCommand::Create { name, rules } => {
            let mut policy = rules.file.as_deref().map(read).transpose()?.unwrap_or_default();
            policy.name = name.unwrap_or(policy.name);
            let made = policies.create(&rules.over(policy)).await.or_trouble(trouble)?;
            session.show.thing(&made, || shown(&made))?;
            let assign = recipes::command("chancery my policy assign", &made.name, " --group GROUP");
            session.show.note(&format!("\nIt applies once it is assigned: {assign}"));
            Ok(())
        }
        PolicyCommand::List { list } => {
            let page = PageQuery { limit: None, cursor: list.cursor.clone() };
            let listed = list.fetch(policies.list_all(page)).await.or_trouble(trouble)?;
            session.show.list(&listed, &COLUMNS, row)
        }
        PolicyCommand::Show { policy } => {
            let policy = policies.get(policy_lookup(session, &policy).await?).await.or_trouble(trouble)?;
            session.show.thing(&policy, || shown(&policy))
        }
        PolicyCommand::Update { policy, name, rules } => {
            let lookup = policy_lookup(session, &policy).await?;
            let now = request(policies.get(&lookup).await.or_trouble(trouble)?);
            let base = match rules.file.as_deref() {
                Some(path) => read(path)?,
                None => now.clone(),
            };
            let name = name.unwrap_or(if base.name.is_empty() { now.name } else { base.name.clone() });
            let changed = rules.over(IssuancePolicy { name, ..base });
            let changed = policies.update(&lookup, &changed).await.or_trouble(trouble)?;
            session.show.thing(&changed, || shown(&changed))
        }
        PolicyCommand::Delete { policy, yes } => {
            let lookup = policy_lookup(session, &policy).await?;
            ask::confirm(&format!("delete the policy {policy}, and take it off its groups"), yes)?;
            let done = policies.delete(lookup).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
        PolicyCommand::Assign { policy, group } => {
            let (policy, group) = (policy_lookup(session, &policy).await?, group_lookup(session, &group).await?);
            let done = session.client.groups().assign_policy(group, policy).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
        PolicyCommand::Unassign { policy, group } => {
            let (policy, group) = (policy_lookup(session, &policy).await?, group_lookup(session, &group).await?);
            let done = session.client.groups().unassign_policy(group, policy).await.or_trouble(trouble)?;
            session.show.done(&done.message)
        }
        PolicyCommand::Try { names, account, cert_profile, key_type, challenge, validity_days } => {
            let Whose { account_lookup, customer_email, eab_kid } = Whose::of(&account);
            let request = PolicyEvaluationRequest {
                account_lookup,
                customer_email,
                eab_kid,
                profile: cert_profile,
                identifiers: names.into_iter().map(IdentifierInput::Text).collect(),
                key_type,
                challenge_type: challenge,
                validity_days,
            };
            let judged = policies.evaluate(&request).await.or_trouble(trouble)?;
            session.show.thing(&judged, || told(&judged))?;
            match judged.allowed {
                true => Ok(()),
                false => Err(Failure::of(Kind::Failed, "the order would be refused")),
            }
        }
    }
}

const COLUMNS: [Column; 4] =
    [Column::Whole("lookup"), Column::Text("name"), Column::Text("description"), Column::Text("groups")];

fn row(policy: &IssuancePolicyRecord) -> Vec<Cell> {
    vec![
        policy.lookup.as_str().into(),
        policy.name.as_str().into(),
        Cell::maybe(policy.description.as_ref()),
        Cell::list(policy.assigned_groups.iter().map(|group| &group.name)),
    ]
}

fn told(judged: &PolicyEvaluation) -> String {
    let answer = if judged.allowed { "the policies allow it" } else { "it would be refused" };
    let mut text = details(&[
        ("answer", answer.into()),
        ("certificate profile", judged.profile.as_str().into()),
        ("valid for", format!("{} days", judged.validity_days).into()),
        ("policies asked", Cell::list(judged.policies.iter().map(|policy| &policy.name))),
    ]);
    for problem in &judged.violations {
        text.push_str(&format!("  {}\n", problem.message));
    }
    if judged.omitted_violations > 0 {
        text.push_str(&format!("  and {} more\n", judged.omitted_violations));
    }
    text
}
