//! `check-csr`: what stands against a CSR, before anything is ordered with it.

use std::path::PathBuf;

use chancery_client::wire::ResellerValidateCsrRequest;
use clap::Args;
use serde_json::json;

use super::session::Session;
use super::show::OrTrouble;
use crate::failure::{Failure, Kind};

#[derive(Args, Debug)]
pub struct CsrArgs {
    /// The CSR, in PEM
    file: PathBuf,
    /// Judge by the rules of this certificate profile [default: the service's]
    #[arg(long, value_name = "NAME")]
    cert_profile: Option<String>,
    /// Judge by the policies of this account as well, and by the CAA records of the names
    #[arg(long)]
    account: Option<String>,
}

pub async fn run(session: &Session, args: CsrArgs) -> Result<(), Failure> {
    let read = std::fs::read_to_string(&args.file);
    let csr = read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", args.file.display())))?;
    let account_lookup = match args.account {
        Some(account) => Some(super::account_lookup(session, account).await?),
        None => None,
    };
    let request = ResellerValidateCsrRequest { csr, profile: args.cert_profile, account_lookup };
    let problems = session.client.certificates().validate_csr(&request).await.or_trouble(&session.trouble)?;
    let problems: Vec<_> = problems.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()).collect();
    session.show.thing(&json!({"valid": problems.is_empty(), "problems": problems}), || match problems.as_slice() {
        [] => "The CSR would be accepted.\n".to_owned(),
        problems => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    })?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::of(Kind::Failed, "the CSR would be refused")),
    }
}
