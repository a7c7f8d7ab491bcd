//! Bringing back what the database does not know: certificates that its CAs have signed, and revocations that it has
//! forgotten.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use chancery_pki::{Certificate, Kept, KeptCrl};
use chancery_service::NotTaken;
use chancery_service::operator::{Brought, BroughtList, MANY};
use clap::Args;
use serde_json::{Value, json};

use super::context::Context;
use crate::failure::Failure;
use crate::print::record;
use crate::target::Target;

/// Of what was not taken, so many are told one by one to people; scripts get all of them.
const TOLD: usize = 100;

#[derive(Args, Debug)]
pub struct RecoverArgs {
    /// Certificates and revocation lists of this installation's CAs, as PEM, many in a file if need be, or DER; - is standard
    /// input. Certificates are answered for from then on, and what lists tell is repeated
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// What came of everything so far.
#[derive(Default)]
struct Tally {
    recovered: u64,
    known: u64,
    expired: u64,
    /// Certificates of OCSP responders, which stand beside others in what people keep.
    passed_over: u64,
    lists: Vec<(Place, BroughtList)>,
    /// What was not taken, and why.
    told: Vec<(Place, String)>,
}

/// Where something was found.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    /// From one on.
    item: usize,
}

impl Place {
    fn new(file: &Path, item: usize) -> Self {
        Self { file: file.display().to_string(), item }
    }
}

pub fn run(target: &Target, args: &RecoverArgs) -> Result<(), Failure> {
    let files = args.files.iter().map(|file| Ok((file, read(file)?))).collect::<Result<Vec<_>, Failure>>()?;
    let context = Context::open(target)?;
    let mut tally = Tally::default();
    let done = files.iter().try_for_each(|(file, bytes)| tally.take(&context, file, bytes));
    tally.tell(&context)?;
    done.map_err(|failure| failure.advise("run it again: what is known stays as it is"))?;
    match tally.told.len() + tally.lists.iter().map(|(_, list)| list.failed.len()).sum::<usize>() {
        0 => Ok(()),
        1 => Err(Failure::failed("1 was not taken")),
        many => Err(Failure::failed(format!("{many} were not taken"))),
    }
}

/// A file, or standard input.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = match file.to_str() {
        Some("-") => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
        _ => fs::read(file),
    };
    read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))
}

/// Why a certificate is none to answer for.
pub(super) fn why_not(why: NotTaken) -> &'static str {
    match why {
        NotTaken::NotOurs => "no CA of this installation has signed it",
        NotTaken::Responder => "it is that of an OCSP responder",
        NotTaken::StrangeSerial => {
            "it has a serial number that was never drawn here, or that another certificate has, so somebody else has used the \
             key of its CA; revoke that CA (chancery ca revoke-issuer)"
        }
    }
}

impl Tally {
    fn take(&mut self, context: &Context, file: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let mut batch = Vec::new();
        for (kept, item) in Kept::read(bytes).into_iter().zip(1..) {
            match kept {
                Ok(Kept::Certificate(certificate)) => batch.push((item, *certificate)),
                Ok(Kept::Crl(list)) => self.take_list(context, file, item, list)?,
                Err(error) => self.note(file, item, format!("cannot be read: {error}")),
            }
            if batch.len() == MANY {
                self.take_batch(context, file, &mut batch)?;
            }
        }
        self.take_batch(context, file, &mut batch)
    }

    fn take_batch(
        &mut self,
        context: &Context,
        file: &Path,
        batch: &mut Vec<(usize, Certificate)>,
    ) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        let certificates = batch.iter().map(|(_, certificate)| certificate.clone()).collect();
        let fates = context.wait(context.operator.recover(certificates))?;
        for ((item, certificate), fate) in batch.drain(..).zip(fates) {
            match fate {
                Brought::Recovered => self.recovered += 1,
                Brought::Known => self.known += 1,
                Brought::Expired => self.expired += 1,
                Brought::NotTaken(NotTaken::Responder) => self.passed_over += 1,
                Brought::NotTaken(why) => self.note(file, item, format!("{}: {}", named(&certificate), why_not(why))),
            }
        }
        Ok(())
    }

    fn take_list(&mut self, context: &Context, file: &Path, item: usize, list: KeptCrl) -> Result<(), Failure> {
        let issuer = list.issuer_text();
        match context.wait(context.operator.recover_list(list))? {
            Some(brought) => self.lists.push((Place::new(file, item), brought)),
            None => self.note(file, item, format!("the list of {issuer}: no CA of this installation has signed it")),
        }
        Ok(())
    }

    fn note(&mut self, file: &Path, item: usize, why: String) {
        self.told.push((Place::new(file, item), why));
    }

    fn tell(&mut self, context: &Context) -> Result<(), Failure> {
        let mut lines = Vec::new();
        if self.recovered + self.known + self.expired + self.passed_over > 0 {
            lines.push(format!(
                "Certificates: {} unknown before, and answered for from now on; {} known; {} expired.",
                self.recovered, self.known, self.expired
            ));
        }
        lines.extend(self.lists.iter().map(|(Place { file, .. }, list)| format!("{file}: {}", sentence(list))));
        // A batch is asked about later than a list that stands behind it.
        self.told.sort();
        lines.extend(self.told.iter().take(TOLD).map(|(Place { file, item }, why)| format!("{file}, {item}: {why}")));
        if self.told.len() > TOLD {
            lines.push(format!("and {} more; --json has all", self.told.len() - TOLD));
        }
        let problem = |(Place { file, item }, why): &_| json!({"file": file, "item": item, "problem": why});
        let record = record! {
            "recovered" => self.recovered,
            "known" => self.known,
            "expired" => self.expired,
            "passed_over" => self.passed_over,
            "lists" => self.lists.iter().map(list_record).collect::<Vec<_>>(),
            "problems" => self.told.iter().map(problem).collect::<Vec<_>>(),
        };
        context.printer.say(&lines.join("\n"), &record)
    }
}

fn sentence(list: &BroughtList) -> String {
    let BroughtList { issuer, revoked, recovered, already, expired, strange, is_newer, failed } = list;
    let mut text = format!(
        "list of {issuer}: {revoked} revoked that were good here, {recovered} revoked that were unknown, {already} revoked \
         already, {expired} expired."
    );
    if *strange > 0 {
        text.push_str(&format!(
            " Left out: {strange} with serial numbers that were never drawn here, or that others have."
        ));
    }
    for why in failed {
        text.push_str(&format!(" Not revoked: {why}."));
    }
    if *is_newer {
        text.push_str(" It is newer than the last that was known; the next gets a greater number.");
    }
    text
}

fn list_record((Place { file, item }, list): &(Place, BroughtList)) -> Value {
    let BroughtList { issuer, revoked, recovered, already, expired, strange, is_newer, failed } = list;
    json!({
        "file": file, "item": item, "issuer": issuer, "revoked": revoked, "recovered": recovered, "already": already,
        "expired": expired, "strange": strange, "newer": is_newer, "failed": failed,
    })
}

fn named(certificate: &Certificate) -> String {
    let serial = certificate.info().map(|info| info.serial).unwrap_or_default();
    format!("{serial} ({})", certificate.subject_text())
}
