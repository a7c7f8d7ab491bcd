//! Many at once, by a file of serial numbers or of certificates.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use chancery_domain::{Comment, RevocationReason};
use chancery_pki::{Certificate, Kept};
use chancery_service::NotTaken;
use chancery_service::operator::{Fate, MANY};
use serde_json::{Value, json};

use super::serial;
use crate::commands::context::Context;
use crate::commands::recover;
use crate::failure::Failure;
use crate::print::record;
use crate::target::Target;

/// Of lines that name nothing to revoke, so many are told one by one to people; scripts get all of them.
const TOLD: usize = 100;

/// What came of everything so far.
#[derive(Default)]
struct Tally {
    revoked: u64,
    already: u64,
    unknown: u64,
    nothing_to_revoke: u64,
    malformed: u64,
    /// The lines, or the places in a file, from which nothing came, and why.
    told: Vec<(usize, String)>,
}

/// Those whose serial numbers are in a file.
pub fn by_serial(
    target: &Target,
    file: &Path,
    reason: RevocationReason,
    comment: Option<Comment>,
) -> Result<(), Failure> {
    let input: Box<dyn BufRead> = match file.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(File::open(file).map_err(|error| unreadable(file, &error))?)),
    };
    let context = Context::open(target)?;
    let mut tally = Tally::default();
    let revoked = in_batches(input, &mut tally, |serials| {
        context.wait(context.operator.revoke_many(serials, reason, comment.clone())).map_err(Failure::from)
    });
    tally.tell(&context, "line")?;
    revoked.map_err(|failure| match failure {
        Stopped::Unread(error) => unreadable(file, &error),
        Stopped::Failed(failure) => failure.advise(AGAIN),
    })?;
    tally.outcome("line", 0)
}

/// Those that are in a file themselves.
pub fn brought(
    target: &Target,
    file: &Path,
    reason: RevocationReason,
    comment: Option<Comment>,
) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let mut certificates = Vec::new();
    for (kept, place) in Kept::read(&recover::read(file)?).into_iter().zip(1..) {
        match kept {
            Ok(Kept::Certificate(certificate)) => certificates.push((place, *certificate)),
            Ok(Kept::Crl(_)) => {
                tally.malformed(place, "it is a revocation list; chancery recover repeats what it tells")
            }
            Err(error) => tally.malformed(place, &error.to_string()),
        }
    }
    let context = Context::open(target)?;
    let (mut issuers, mut cas) = (HashSet::new(), Vec::new());
    let revoked = certificates.chunks(MANY).try_for_each(|batch| {
        let brought = batch.iter().map(|(_, certificate)| certificate.clone()).collect();
        let fates = context.wait(context.operator.revoke_brought(brought, reason, comment.clone()))?;
        for ((place, certificate), fate) in batch.iter().zip(fates) {
            let serial = certificate.info().map(|info| info.serial).unwrap_or_default();
            match fate {
                Fate::Revoked | Fate::Already => drop(issuers.insert(certificate.issuer_text())),
                // Another root may vouch for one of ours.
                Fate::Ca | Fate::NotTaken(NotTaken::NotOurs) => cas.push(certificate),
                Fate::Unknown | Fate::NothingToRevoke | Fate::NotTaken(_) => {}
            }
            tally.count(*place, &serial, fate);
        }
        Ok::<_, Failure>(())
    });
    tally.tell(&context, "item")?;
    revoked.map_err(|failure| failure.advise(AGAIN))?;
    tally.outcome("item", above(issuers, cas))
}

/// How many of these are CAs above what these names have issued: a certificate often has its chain with it, and nobody means
/// to revoke that.
fn above(mut issuers: HashSet<String>, mut cas: Vec<&Certificate>) -> usize {
    let all = cas.len();
    let mut left = usize::MAX;
    while cas.len() < left {
        left = cas.len();
        cas.retain(|ca| {
            let is_above = ca.info().is_ok_and(|info| info.is_ca && issuers.contains(&info.subject));
            if is_above {
                issuers.insert(ca.issuer_text());
            }
            !is_above
        });
    }
    all - left
}

const AGAIN: &str = "run it again: what is revoked stays as it is";

/// Why the lines that were left were not looked at.
enum Stopped {
    Unread(io::Error),
    Failed(Failure),
}

/// Reads to the end, and hands over as many serial numbers at a time as one unit of work revokes.
fn in_batches(
    mut input: impl BufRead,
    tally: &mut Tally,
    mut revoke: impl FnMut(Vec<String>) -> Result<Vec<Fate>, Failure>,
) -> Result<(), Stopped> {
    let (mut batch, mut line, mut number, mut more) = (Vec::new(), Vec::new(), 0, true);
    while more {
        line.clear();
        more = input.read_until(b'\n', &mut line).map_err(Stopped::Unread)? > 0;
        number += 1;
        let text = String::from_utf8_lossy(&line);
        // Editors of some systems begin a file with a mark of its encoding.
        let text = text.trim_start_matches('\u{feff}').split('#').next().unwrap_or_default().trim();
        match (text.is_empty(), serial(text)) {
            (true, _) => {}
            (false, Ok(serial)) => batch.push((number, serial)),
            (false, Err(wrong)) => tally.malformed(number, &wrong),
        }
        if batch.len() == MANY || (!more && !batch.is_empty()) {
            let serials = batch.iter().map(|(_, serial)| serial.clone()).collect();
            let fates = revoke(serials).map_err(Stopped::Failed)?;
            batch.drain(..).zip(fates).for_each(|((number, serial), fate)| tally.count(number, &serial, fate));
        }
    }
    Ok(())
}

impl Tally {
    fn count(&mut self, line: usize, serial: &str, fate: Fate) {
        match fate {
            Fate::Revoked => self.revoked += 1,
            Fate::Already => self.already += 1,
            Fate::Unknown => {
                self.unknown += 1;
                self.told.push((line, format!("there is no certificate {serial}")));
            }
            Fate::NothingToRevoke => {
                self.nothing_to_revoke += 1;
                self.told.push((line, format!("{serial} has expired, or was never issued")));
            }
            Fate::Ca => {
                self.nothing_to_revoke += 1;
                self.told.push((line, format!("{serial} is that of a CA; use chancery ca revoke-issuer, or where it is lost, chancery recover and then --serial with a reason")));
            }
            Fate::NotTaken(why) => {
                self.unknown += 1;
                self.told.push((line, format!("{serial}: {}", recover::why_not(why))));
            }
        }
    }

    fn malformed(&mut self, line: usize, wrong: &str) {
        self.malformed += 1;
        self.told.push((line, wrong.to_owned()));
    }

    /// Of what was told, so many are no failure.
    fn outcome(&self, unit: &str, fine: usize) -> Result<(), Failure> {
        match self.told.len() - fine {
            0 => Ok(()),
            1 => Err(Failure::failed(format!("1 {unit} named nothing that could be revoked"))),
            many => Err(Failure::failed(format!("{many} {unit}s named nothing that could be revoked"))),
        }
    }

    fn tell(&mut self, context: &Context, unit: &str) -> Result<(), Failure> {
        // A line that was found wrong at once may stand behind one that was asked about later.
        self.told.sort_by_key(|(line, _)| *line);
        let mut text = format!("{} revoked, {} revoked already, {} unknown", self.revoked, self.already, self.unknown);
        for (count, what) in
            [(self.nothing_to_revoke, "expired, never issued, or of a CA"), (self.malformed, "unreadable")]
        {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text.push('.');
        for (line, wrong) in self.told.iter().take(TOLD) {
            text.push_str(&format!("\n{unit} {line}: {wrong}"));
        }
        if self.told.len() > TOLD {
            text.push_str(&format!("\nand {} more; --json has all", self.told.len() - TOLD));
        }
        let problems: Vec<Value> =
            self.told.iter().map(|(line, wrong)| json!({unit: line, "problem": wrong})).collect();
        let record = record! {
            "revoked" => self.revoked,
            "already" => self.already,
            "unknown" => self.unknown,
            "nothing_to_revoke" => self.nothing_to_revoke,
            "malformed" => self.malformed,
            "problems" => problems,
        };
        context.printer.say(&text, &record)
    }
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_handed_over_in_batches_and_wrong_ones_keep_no_other() {
        let many: String = (0..MANY + 1).map(|number| format!("{number:04x}\n")).collect();
        let text = format!("\u{feff}# incident 7\n\n{many}xyz\n  4A:0B # the last\r\n00ff");
        let (mut tally, mut batches) = (Tally::default(), Vec::new());
        let done = in_batches(text.as_bytes(), &mut tally, |serials| {
            let fates = serials.iter().map(|serial| if serial == "00ff" { Fate::Unknown } else { Fate::Revoked });
            let fates = fates.collect();
            batches.push(serials);
            Ok(fates)
        });
        assert!(done.is_ok());
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [MANY, 3]);
        assert_eq!(batches[1], ["00c8", "4a0b", "00ff"]);
        assert_eq!((tally.revoked, tally.unknown, tally.malformed), (MANY as u64 + 2, 1, 1));
        let lines: Vec<_> = tally.told.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [MANY + 4, MANY + 6]);
    }

    #[test]
    fn what_was_done_before_a_failure_is_counted() {
        let text: String = (0..2 * MANY).map(|number| format!("{number:04x}\n")).collect();
        let (mut tally, mut calls) = (Tally::default(), 0);
        let done = in_batches(text.as_bytes(), &mut tally, |serials| {
            calls += 1;
            if calls > 1 { Err(Failure::failed("gone")) } else { Ok(vec![Fate::Already; serials.len()]) }
        });
        assert!(matches!(done, Err(Stopped::Failed(_))));
        assert_eq!(tally.already, MANY as u64);
    }

    #[test]
    fn nothing_is_asked_of_an_empty_file() {
        let mut tally = Tally::default();
        assert!(in_batches(&b"\n# nothing\n"[..], &mut tally, |_| Err(Failure::failed("asked"))).is_ok());
    }
}
