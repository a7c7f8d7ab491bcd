use std::collections::HashMap;

use chancery_domain::{Clock, PageRequest, ResellerId, Timestamp};
use chancery_machine::SystemClock;
use chancery_store::{AuditFilter, AuditRecord, Outcome};
use clap::Args;
use serde_json::Value;

use super::context::Context;
use crate::config::span;
use crate::failure::Failure;
use crate::print::{Record, record};
use crate::target::Target;

#[derive(Args, Debug)]
pub struct AuditArgs {
    /// Only this reseller's
    #[arg(long, value_name = "CODE")]
    reseller: Option<String>,
    /// Only what was done to this: a lookup such as acc_…, or a path for refusals
    #[arg(long)]
    subject: Option<String>,
    /// Only what this one did: a client id, a key id, the name of an operator
    #[arg(long)]
    actor: Option<String>,
    /// Only this action, such as account.create
    #[arg(long)]
    action: Option<String>,
    /// Only what this request did
    #[arg(long)]
    request_id: Option<String>,
    /// Only what was refused
    #[arg(long)]
    refused: bool,
    /// Only from this time on: 2026-01-31T12:00:00Z, or so long ago: 24h, 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// At most so many, newest first
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub fn run(target: &Target, args: AuditArgs) -> Result<(), Failure> {
    let context = Context::open(target)?;
    let resellers = context.wait(context.operator.resellers())?;
    let codes: HashMap<_, _> = resellers.iter().map(|reseller| (reseller.id, reseller.code.to_string())).collect();
    let reseller = match &args.reseller {
        Some(code) => Some(context.wait(context.operator.reseller(code))?.id),
        None => None,
    };
    let filter = AuditFilter {
        reseller,
        subject: args.subject,
        actor: args.actor,
        action: args.action,
        outcome: args.refused.then_some(Outcome::Refused),
        request_id: args.request_id,
        since: args.since,
        until: args.until,
    };
    let records = context.wait(context.services.audit.list(filter, PageRequest { limit: args.limit, after: None }))?;
    let records: Vec<_> = records.iter().map(|record| shown(record, &codes)).collect();
    let columns = ["at", "outcome", "reseller", "actor", "address", "action", "subject", "detail"];
    context.printer.table(&columns, &records)
}

fn shown(record: &AuditRecord, codes: &HashMap<ResellerId, String>) -> Record {
    let detail = serde_json::from_str(&record.detail).unwrap_or_else(|_| Value::from(record.detail.as_str()));
    record! {
        "id" => record.id.to_string(),
        "at" => record.at.to_string(),
        "outcome" => record.outcome.as_str(),
        "reseller" => record.reseller.map(|id| codes.get(&id).cloned().unwrap_or_else(|| id.to_string())),
        "actor_kind" => record.actor_kind,
        "actor" => record.actor,
        "address" => record.address,
        "request_id" => record.request_id,
        "action" => record.action,
        "subject" => record.subject,
        "detail" => detail,
    }
}

fn time(text: &str) -> Result<Timestamp, String> {
    match span::parse(text) {
        Ok(ago) => Ok(SystemClock.now().minus(ago)),
        Err(_) => Timestamp::parse(text)
            .ok_or_else(|| "a time is like 2026-01-31T12:00:00Z, or so long ago: 30m, 24h, 7d".to_owned()),
    }
}
