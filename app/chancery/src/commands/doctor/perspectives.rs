//! Those who look from elsewhere: whether they are there, let us ask, and have the time.

use std::time::Duration;

use chancery_domain::{Standing, Timestamp};
use chancery_perspective::{Description, Remote, Unreachable};

use super::finding::Report;
use crate::config::span::roughly;
use crate::failure::Failure;
use crate::installation::{Installation, Perspectives};
use crate::threads::Threads;

const PATIENCE: Duration = Duration::from_secs(5);
/// When something was seen is told by the clock of whoever saw it.
const OUT_OF_STEP: Duration = Duration::from_secs(60);

pub(super) fn look(installation: &Installation, now: Timestamp, report: &mut Report) {
    let Perspectives { remotes, quorum } = &installation.perspectives;
    if remotes.is_empty() {
        return;
    }
    let answers = match ask_all(remotes.clone()) {
        Ok(answers) => answers,
        Err(failure) => return report.problem("perspectives", failure.to_string(), "try again"),
    };
    let there: Vec<_> = answers.iter().map(|(_, answer)| Some(answer.is_ok())).collect();
    for (name, answer) in answers {
        match answer {
            Ok(Description { version, time, .. }) => {
                let time = Timestamp::from_millis(time);
                let apart = time.since(now).max(now.since(time));
                if apart > OUT_OF_STEP {
                    let what = format!("the clock of {name} is {} off ours", roughly(apart));
                    report.warn("perspectives", what, "set both by NTP");
                }
                report.well("perspectives", format!("{name} answers: {version}"));
            }
            Err(Unreachable(why)) => {
                let advice = "see that it runs there, can be reached from here, and has the same secret and settings";
                report.problem("perspectives", format!("{name} cannot be asked: {why}"), advice);
            }
        }
    }
    if quorum.standing(&there) == Standing::Missed {
        let regions = if quorum.regions() > 1 { ", in two regions" } else { "" };
        let (needed, all) = (quorum.needed(), quorum.perspectives());
        let what = format!("{needed} of {all} have to agree{regions}: no name can be validated");
        report.problem("perspectives", what, "bring one back, or take it out of dcv.perspectives");
    }
}

/// Who was asked, and what he said.
type Asked = (String, Result<Description, Unreachable>);

/// All at once, so that those who do not answer keep nobody waiting.
fn ask_all(remotes: Vec<Remote>) -> Result<Vec<Asked>, Failure> {
    Ok(Threads::start()?.run(async {
        let ask = |remote: Remote| {
            tokio::spawn(async move {
                let late = || Err(Unreachable(format!("no answer within {PATIENCE:?}")));
                let answer = tokio::time::timeout(PATIENCE, remote.describe()).await.unwrap_or_else(|_| late());
                (remote.name().to_owned(), answer)
            })
        };
        let mut answers = Vec::new();
        for asked in remotes.into_iter().map(ask).collect::<Vec<_>>() {
            answers.extend(asked.await);
        }
        answers
    }))
}
