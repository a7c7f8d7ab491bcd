//! `usage`, `limits`, `diagnose` and `pause`: how much there was, how much there may be, and what stands in the way.

use chancery_client::wire::{Diagnosis, DiagnosisRequest, IdentifierInput, PauseRecord, UsageItem};
use chancery_client::{PageQuery, UsageQuery};
use clap::{Args, Subcommand};

use super::session::Session;
use super::show::{ListArgs, OrTrouble};
use super::table::{Cell, Column, room, table};
use crate::failure::{Failure, Kind};

#[derive(Args, Debug)]
pub struct UsageArgs {
    /// The first day, such as 2026-11-01 [default: the service's]
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// The last day, which counts too
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Count by some of day, account, group and profile, with commas between
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Only those of this account
    #[arg(long)]
    account: Option<String>,
    /// Only those of this certificate profile
    #[arg(long, value_name = "NAME")]
    cert_profile: Option<String>,
}

pub async fn usage(session: &Session, args: UsageArgs) -> Result<(), Failure> {
    let account = match args.account {
        Some(account) => Some(super::account_lookup(session, account).await?),
        None => None,
    };
    let query = UsageQuery { from: args.from, to: args.to, by: args.by, account, profile: args.cert_profile };
    let report = session.client.usage(&query).await.or_trouble(&session.trouble)?;
    let columns = [
        Column::Whole("day"),
        Column::Whole("account"),
        Column::Whole("group"),
        Column::Whole("profile"),
        Column::Whole("issued"),
    ];
    let row = |item: &UsageItem| {
        let parts = [&item.day, &item.account, &item.group, &item.profile].map(|part| Cell::maybe(part.as_ref()));
        parts.into_iter().chain([item.issued.to_string().into()]).collect::<Vec<_>>()
    };
    session.show.thing(&report, || {
        let rows: Vec<_> = report.items.iter().map(row).collect();
        // What was not asked for has nothing in its column.
        let kept: Vec<_> =
            (0..columns.len()).filter(|&at| at == 4 || rows.iter().any(|row| !row[at].is_empty())).collect();
        let columns: Vec<_> = kept.iter().map(|&at| columns[at]).collect();
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| kept.iter().map(|&at| row[at].clone()).collect()).collect();
        format!("From {} to {}:\n{}", report.from, report.to, table(&columns, &rows, room()))
    })
}

pub async fn limits(session: &Session) -> Result<(), Failure> {
    let limits = session.client.limits().await.or_trouble(&session.trouble)?;
    session.show.thing(&limits, || {
        let columns = [Column::Text("limit"), Column::Text("for each"), Column::Whole("most"), Column::Whole("left")];
        let rates = limits.rates.iter().map(|rate| {
            let left = rate.remaining.map_or_else(Cell::default, |left| left.to_string().into());
            let most = format!("{} at once, {} in {} s", rate.burst, rate.count, rate.seconds);
            vec![rate.what.as_str().into(), rate.per.as_str().into(), most.into(), left]
        });
        let caps = limits.caps.iter().map(|cap| {
            vec![
                cap.name.replace('-', " ").into(),
                Cell::default(),
                format!("{} at a time", cap.most).into(),
                Cell::default(),
            ]
        });
        table(&columns, &rates.chain(caps).collect::<Vec<_>>(), room())
    })
}

#[derive(Args, Debug)]
pub struct DiagnoseArgs {
    /// The names of a certificate that would be ordered
    #[arg(required = true)]
    names: Vec<String>,
    /// Ask the policies of this account as well
    #[arg(long)]
    account: Option<String>,
    /// The certificate profile [default: the service's]
    #[arg(long, value_name = "NAME")]
    cert_profile: Option<String>,
}

pub async fn diagnose(session: &Session, args: DiagnoseArgs) -> Result<(), Failure> {
    let account_lookup = match args.account {
        Some(account) => Some(super::account_lookup(session, account).await?),
        None => None,
    };
    let identifiers = args.names.into_iter().map(IdentifierInput::Text).collect();
    let request = DiagnosisRequest { identifiers, account_lookup, profile: args.cert_profile };
    let report = session.client.diagnose(&request).await.or_trouble(&session.trouble)?;
    session.show.thing(&report, || report.items.iter().map(told).collect::<Vec<_>>().join(""))?;
    match report.items.iter().all(|item| item.clear) {
        true => Ok(()),
        false => Err(Failure::of(Kind::Failed, "something stands in the way of an order")),
    }
}

fn told(found: &Diagnosis) -> String {
    let mut text =
        format!("{}: {}\n", found.name, if found.clear { "nothing stands in the way" } else { "would fail" });
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<8} {value}\n"));
    for problem in &found.violations {
        line("policy", &problem.message);
    }
    if found.omitted_violations > 0 {
        line("policy", &format!("and {} more", found.omitted_violations));
    }
    if let Some(caa) = &found.caa {
        line(
            "CAA",
            caa.problem.as_deref().unwrap_or(if caa.records.is_empty() { "no records" } else { "lets us issue" }),
        );
    }
    if let Some(http) = &found.http {
        line("http-01", http.problem.as_deref().unwrap_or("the web server is reached"));
    }
    if let Some(dnssec) = &found.dnssec {
        line("DNSSEC", dnssec);
    }
    if found.out_of_time {
        line("", "there was no time to look; ask again with fewer names");
    }
    text
}

#[derive(Subcommand, Debug)]
pub enum PauseCommand {
    /// List the names that get no new orders because their validation failed too often
    List {
        #[command(flatten)]
        list: ListArgs,
    },
    /// Lift a pause: new orders for the name are taken again
    Lift {
        /// By lookup
        pause: String,
    },
}

pub async fn pause(session: &Session, command: PauseCommand) -> Result<(), Failure> {
    let pauses = session.client.pauses();
    match command {
        PauseCommand::List { list } => {
            let page = PageQuery { limit: None, cursor: list.cursor.clone() };
            let listed = list.fetch(pauses.list_all(page)).await.or_trouble(&session.trouble)?;
            let columns = [
                Column::Whole("lookup"),
                Column::Text("name"),
                Column::Whole("failures"),
                Column::Whole("paused"),
                Column::Text("why"),
            ];
            session.show.list(&listed, &columns, |pause: &PauseRecord| {
                vec![
                    pause.lookup.as_str().into(),
                    pause.name.as_str().into(),
                    pause.failures.to_string().into(),
                    Cell::time(&pause.paused_at),
                    pause.problem.as_str().into(),
                ]
            })
        }
        PauseCommand::Lift { pause } => {
            let done = pauses.lift(pause).await.or_trouble(&session.trouble)?;
            session.show.done(&done.message)
        }
    }
}
