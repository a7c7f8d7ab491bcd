//! The logs that certificates are shown to: whether they are there, and take what is below our roots.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_pki::{Certificate, LogId, Validity};
use chancery_publish::LogError;

use super::finding::Report;
use crate::failure::Failure;
use crate::installation::{CertificateLog, Installation};
use crate::threads::Threads;

const PATIENCE: Duration = Duration::from_secs(10);

/// `roots` are those above our CAs, where they could be read.
pub(super) fn look(installation: &Installation, roots: Option<&[Certificate]>, now: Timestamp, report: &mut Report) {
    let profiles = installation.settings.issuing.certificates.iter();
    let logged: Vec<_> = profiles
        .filter_map(|(name, look)| {
            Some((name, look.logs.as_ref()?.now(), Validity::days(now.as_secs(), look.validity_days).ok()?))
        })
        .collect();
    let needed = |log: &&CertificateLog| logged.iter().any(|(.., validity)| log.log.takes(*validity));
    let logs: Vec<_> = installation.logs.logs.iter().filter(needed).cloned().collect();
    if logs.is_empty() {
        return;
    }
    // What is wrong with the database is told elsewhere.
    let Some(ours) = roots else { return };
    let answers = match ask_all(logs) {
        Ok(answers) => answers,
        Err(failure) => return report.problem("logs", failure.to_string(), "try again"),
    };
    let mut good: Vec<LogId> = Vec::new();
    for (log, answer) in answers {
        let (name, id) = (&log.log.name, log.log.key.id());
        match answer {
            Ok(accepted) => match ours.iter().find(|root| accepted.iter().any(|other| other == root.as_der())) {
                Some(root) => {
                    good.push(id);
                    report.well("logs", format!("{name} answers, and takes what is below {:?}", root.subject_text()));
                }
                None => {
                    let what = format!("{name} takes nothing below our root, nor below one that vouches for our CAs");
                    report.problem("logs", what, "have its operator accept the root, or take the log out of [ct]");
                }
            },
            Err(why) => {
                let advice = "see that its URL is right and that it can be reached from here";
                report.problem("logs", format!("{name} cannot be asked: {why}"), advice);
            }
        }
    }
    for (profile, list, validity) in logged {
        if !list.is_enough(validity, good.iter().copied()) {
            let needed = list.scts_needed(validity);
            let what =
                format!("too few logs for the profile {profile}, which needs {needed}: nothing can be issued with it");
            report.problem("logs", what, "name more logs in [ct]");
        }
    }
}

/// Who was asked, and the roots that it accepts.
type Asked = (CertificateLog, Result<Vec<Vec<u8>>, LogError>);

/// All at once, so that those who do not answer keep nobody waiting.
fn ask_all(logs: Vec<CertificateLog>) -> Result<Vec<Asked>, Failure> {
    Ok(Threads::start()?.run(async {
        let ask = |log: CertificateLog| {
            tokio::spawn(async move {
                let late = || Err(LogError::away(format!("no answer within {PATIENCE:?}")));
                let answer = tokio::time::timeout(PATIENCE, log.client.accepted_roots()).await;
                (log, answer.unwrap_or_else(|_| late()))
            })
        };
        let mut answers = Vec::new();
        for asked in logs.into_iter().map(ask).collect::<Vec<_>>() {
            answers.extend(asked.await);
        }
        answers
    }))
}
