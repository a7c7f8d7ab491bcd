//! What is seen from here is believed only where it is seen from elsewhere as well: whoever can lead our own traffic astray
//! cannot do so everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chancery_dcv::{CaaCheck, Check, Looks, Verified};
use chancery_domain::{
    Attempt, CaaReport, ChallengeType, Identifier, ProblemKind, Quorum, Standing, ValidationProblem,
};
use chancery_perspective::{Remote, Unreachable};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, timeout_at};

use crate::inspector::{CaaVerdict, Inspector, Seen};

/// How long the others are waited for once it is decided: what they saw is worth keeping, but nobody is to wait for one that
/// hangs.
const GRACE: Duration = Duration::from_millis(500);
/// Whoever is late so often in a row is told of in the log.
const LATE: u32 = 10;

/// What is asked, and what comes of it.
const ABOUT: [&str; 2] = ["validation", "caa"];
const OUTCOMES: [&str; 4] = ["agreed", "disagreed", "unreachable", "late"];

/// Looks from elsewhere.
pub trait Witness: Send + Sync {
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check) -> Seen<'a, Result<Verified, Unreachable>>;

    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, Result<CaaVerdict, Unreachable>>;

    /// Whether it could not be reached when it was last tried.
    fn is_away(&self) -> bool;

    /// It seems to hang: it is away until it answers again.
    fn suspect(&self);
}

impl Witness for Remote {
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check) -> Seen<'a, Result<Verified, Unreachable>> {
        Box::pin(Remote::verify(self, whose, check))
    }

    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, Result<CaaVerdict, Unreachable>> {
        Box::pin(Remote::caa(self, whose, check))
    }

    fn is_away(&self) -> bool {
        Remote::is_away(self)
    }

    fn suspect(&self) {
        Remote::suspect(self);
    }
}

/// A perspective besides our own.
pub struct Elsewhere {
    name: String,
    witness: Arc<dyn Witness>,
    /// How often in a row it was decided without it.
    late: AtomicU32,
}

impl Elsewhere {
    pub fn new(name: impl Into<String>, witness: Arc<dyn Witness>) -> Self {
        Self { name: name.into(), witness, late: AtomicU32::new(0) }
    }

    /// A perspective that is always late never changes a verdict: unless this tells of it, nobody would notice.
    fn note(&self, is_late: bool) {
        if !is_late {
            self.late.store(0, Ordering::Relaxed);
        } else if self.late.fetch_add(1, Ordering::Relaxed) + 1 == LATE {
            tracing::warn!(perspective = self.name, "a perspective was too late {LATE} times in a row");
            self.witness.suspect();
        }
    }

    /// What is recorded of a perspective that gave no answer.
    fn not_seen(&self, at: i64, why: &str) -> Attempt {
        let problem = ValidationProblem { kind: ProblemKind::ServerInternal, detail: why.to_owned() };
        Attempt { at, perspective: self.name.clone(), problem: Some(problem), ..Attempt::default() }
    }

    fn count(&self, about: &'static str, outcome: &'static str, answers: u64) {
        let labels = [("perspective", self.name.clone()), ("about", about.into()), ("outcome", outcome.into())];
        metrics::counter!("chancery_perspective_answers_total", &labels).increment(answers);
    }
}

/// Looks from here, and then from elsewhere at what was seen.
pub struct Corroborated {
    primary: Arc<dyn Inspector>,
    others: Vec<Elsewhere>,
    quorum: Quorum,
}

/// What another perspective answered; none where it was decided without it.
type Heard<T> = Option<Result<T, Unreachable>>;

impl Corroborated {
    /// The quorum is that of the others, in this order.
    pub fn new(primary: Arc<dyn Inspector>, others: Vec<Elsewhere>, quorum: Quorum) -> Self {
        for other in &others {
            // Counters begin at zero, so that those who watch can tell "none" from "no data".
            for (about, outcome) in ABOUT.iter().flat_map(|about| OUTCOMES.iter().map(move |outcome| (about, outcome)))
            {
                other.count(about, outcome, 0);
            }
        }
        Self { primary, others, quorum }
    }

    /// Asks all of them at once, until it is decided; what each answered, and whether enough agree.
    async fn hear<'a, T>(
        &'a self,
        about: &'static str,
        ask: impl Fn(&'a dyn Witness) -> Seen<'a, Result<T, Unreachable>>,
        refusal: fn(&T) -> Option<&ValidationProblem>,
    ) -> (Vec<Heard<T>>, bool) {
        let asked = self.others.iter().enumerate().map(|(place, other)| {
            let answer = ask(&*other.witness);
            async move { (place, answer.await) }
        });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let mut heard: Vec<Heard<T>> = self.others.iter().map(|_| None).collect();
        let mut votes = vec![None; self.others.len()];
        let mut end = None;
        loop {
            let next = match end {
                None => asked.next().await,
                Some(end) => timeout_at(end, asked.next()).await.unwrap_or(None),
            };
            let Some((place, answer)) = next else { break };
            votes[place] = Some(answer.as_ref().is_ok_and(|seen| refusal(seen).is_none()));
            heard[place] = Some(answer);
            if self.quorum.standing(&votes) == Standing::Open {
                continue;
            }
            let end = *end.get_or_insert_with(|| Instant::now() + GRACE);
            let missing = self.others.iter().zip(&heard).filter(|(_, answer)| answer.is_none());
            if Instant::now() >= end || missing.into_iter().all(|(other, _)| other.witness.is_away()) {
                break;
            }
        }
        for (other, answer) in self.others.iter().zip(&heard) {
            let outcome = match answer {
                None if !other.witness.is_away() => "late",
                None | Some(Err(_)) => "unreachable",
                Some(Ok(seen)) if refusal(seen).is_some() => "disagreed",
                Some(Ok(_)) => "agreed",
            };
            other.note(outcome == "late");
            other.count(about, outcome, 1);
        }
        (heard, self.quorum.standing(&votes) == Standing::Met)
    }

    /// Why what was seen from here is not believed.
    fn objection<T>(
        &self,
        what: &str,
        heard: &[Heard<T>],
        refusal: fn(&T) -> Option<&ValidationProblem>,
    ) -> ValidationProblem {
        let answers = || self.others.iter().zip(heard);
        let dissent = answers().filter_map(|(other, answer)| {
            let seen = answer.as_ref()?.as_ref().ok()?;
            Some((other.name.as_str(), refusal(seen)?))
        });
        let dissent: Vec<_> = dissent.collect();
        let away = answers().filter(|(_, answer)| matches!(answer, Some(Err(_))));
        let away: Vec<_> = away.map(|(other, _)| other.name.as_str()).collect();
        // At best: had everybody agreed who did not answer.
        let at_best = heard.iter().map(|answer| Some(!matches!(answer, Some(Ok(seen)) if refusal(seen).is_some())));
        let ours = self.quorum.standing(&at_best.collect::<Vec<_>>()) == Standing::Met;
        let (Some((first, problem)), false) = (dissent.first(), ours) else {
            let detail = format!("we could not ask {} whether {what} from there, too", away.join(", "));
            return ValidationProblem { kind: ProblemKind::ServerInternal, detail };
        };
        let names: Vec<_> = dissent.iter().map(|(name, _)| *name).collect();
        let needed = match dissent.len() > self.quorum.may_fail() {
            true => format!("{} of {} other places must agree", self.quorum.needed(), self.quorum.perspectives()),
            false => "those who agree must be in two regions".to_owned(),
        };
        let detail =
            format!("{what} from here, and not from {}; {needed}; {first}: {}", names.join(", "), problem.detail);
        ValidationProblem { kind: problem.kind, detail }
    }
}

impl Inspector for Corroborated {
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check, looks: &'a Looks) -> Seen<'a, Verified> {
        Box::pin(async move {
            let mut verified = self.primary.verify(whose, check, looks).await;
            if verified.outcome.is_err() {
                return verified;
            }
            let (heard, enough) = self.hear("validation", |other| other.verify(whose, check), not_met).await;
            if !enough {
                let problem = self.objection("control is seen", &heard, not_met);
                tracing::info!(name = %check.identifier, %problem, "what was seen from here is not believed");
                verified.outcome = Err(problem);
            }
            let now = verified.attempts.last().map_or(0, |last| last.at);
            for (other, answer) in self.others.iter().zip(heard) {
                match answer {
                    None => {
                        verified.attempts.push(other.not_seen(now, "it was decided before this perspective answered"))
                    }
                    Some(Ok(seen)) => {
                        if seen.outcome.is_ok() {
                            verified.agreed.push(other.name.clone());
                            // It counts no longer than for anybody who saw it.
                            verified.until = verified.until.into_iter().chain(seen.until).min();
                        }
                        verified.attempts.extend(seen.attempts);
                    }
                    Some(Err(_)) => verified.attempts.push(other.not_seen(now, "this perspective could not be asked")),
                }
            }
            verified
        })
    }

    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, CaaVerdict> {
        Box::pin(async move {
            let mut evidence = self.primary.caa(whose, check).await?;
            // An address has no CAA records anywhere.
            if let Identifier::Ip(_) = check.identifier {
                return Ok(evidence);
            }
            let ask = |other: &'a dyn Witness| other.caa(whose, check);
            let (heard, enough) = self.hear("caa", ask, forbidden).await;
            if !enough {
                let problem = self.objection("CAA records are seen to allow it", &heard, forbidden);
                tracing::info!(name = %check.identifier, %problem, "what CAA records said here is not believed");
                return Err(problem);
            }
            let agreed = self.others.iter().zip(&heard).filter(|(_, answer)| matches!(answer, Some(Ok(Ok(_)))));
            evidence.agreed = agreed.map(|(other, _)| other.name.clone()).collect();
            Ok(evidence)
        })
    }

    /// From here alone: it is no ground for issuing.
    fn caa_for_any<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> Seen<'a, CaaReport> {
        self.primary.caa_for_any(whose, identifier, account_uri, methods)
    }

    /// From here alone.
    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> Seen<'a, Attempt> {
        self.primary.probe(whose, identifier)
    }
}

fn not_met(seen: &Verified) -> Option<&ValidationProblem> {
    seen.outcome.as_ref().err()
}

fn forbidden(seen: &CaaVerdict) -> Option<&ValidationProblem> {
    seen.as_ref().err()
}

#[cfg(test)]
mod tests {
    use chancery_domain::{CaaEvidence, Timestamp};

    use super::*;

    /// Says what it is told to, after some time.
    #[derive(Clone)]
    enum Plays {
        Agrees,
        Refuses,
        IsAway,
        Hangs,
    }

    use Plays::{Agrees, Hangs, IsAway, Refuses};

    fn problem() -> ValidationProblem {
        ValidationProblem { kind: ProblemKind::Connection, detail: "nobody there".to_owned() }
    }

    impl Plays {
        fn answer<T>(&self, good: T) -> Seen<'_, Result<Result<T, ValidationProblem>, Unreachable>>
        where
            T: Send + 'static,
        {
            Box::pin(async move {
                match self {
                    Agrees => Ok(Ok(good)),
                    Refuses => Ok(Err(problem())),
                    IsAway => Err(Unreachable("out to lunch".to_owned())),
                    Hangs => std::future::pending().await,
                }
            })
        }
    }

    fn seen(by: &str, outcome: Result<(), ValidationProblem>) -> Verified {
        let attempt =
            Attempt { perspective: by.to_owned(), problem: outcome.as_ref().err().cloned(), ..Attempt::default() };
        Verified::new(vec![attempt], outcome)
    }

    impl Witness for Plays {
        fn verify<'a>(&'a self, _: &'a str, _: &'a Check) -> Seen<'a, Result<Verified, Unreachable>> {
            Box::pin(async { self.answer(()).await.map(|outcome| seen("other", outcome)) })
        }

        fn caa<'a>(&'a self, _: &'a str, _: CaaCheck<'a>) -> Seen<'a, Result<CaaVerdict, Unreachable>> {
            self.answer(CaaEvidence::no_records(Timestamp::from_secs(2)))
        }

        fn is_away(&self) -> bool {
            matches!(self, IsAway)
        }

        fn suspect(&self) {}
    }

    impl Inspector for Plays {
        fn verify<'a>(&'a self, _: &'a str, _: &'a Check, _: &'a Looks) -> Seen<'a, Verified> {
            Box::pin(async { seen("primary", self.answer(()).await.unwrap()) })
        }

        fn caa<'a>(&'a self, _: &'a str, _: CaaCheck<'a>) -> Seen<'a, CaaVerdict> {
            Box::pin(async { self.answer(CaaEvidence::no_records(Timestamp::from_secs(1))).await.unwrap() })
        }

        fn caa_for_any<'a>(
            &'a self,
            _: &'a str,
            _: &'a Identifier,
            _: &'a str,
            _: &'a [ChallengeType],
        ) -> Seen<'a, CaaReport> {
            unreachable!("nobody asks")
        }

        fn probe<'a>(&'a self, _: &'a str, _: &'a Identifier) -> Seen<'a, Attempt> {
            unreachable!("nobody asks")
        }
    }

    fn with(primary: Plays, others: &[Plays]) -> Corroborated {
        let named = others.iter().zip(["north", "east", "south", "west"]);
        let others: Vec<_> = named.map(|(other, name)| Elsewhere::new(name, Arc::new(other.clone()))).collect();
        let quorum = Quorum::new(others.iter().map(|other| (other.name.clone(), None)).collect(), 1);
        Corroborated::new(Arc::new(primary), others, quorum)
    }

    async fn verify(primary: Plays, others: &[Plays]) -> Verified {
        let check = Check {
            identifier: Identifier::parse("a.test").unwrap(),
            kind: ChallengeType::Http01,
            token: "t".to_owned(),
            key_authorization: "t.k".to_owned(),
            account_uri: String::new(),
        };
        with(primary, others).verify("r", &check, &Looks::default()).await
    }

    async fn caa(name: &str, primary: Plays, others: &[Plays]) -> CaaVerdict {
        let name = Identifier::parse(name).unwrap();
        let check = CaaCheck { identifier: &name, account_uri: "uri", method: ChallengeType::Http01 };
        with(primary, others).caa("r", check).await
    }

    #[tokio::test]
    async fn one_of_three_may_see_it_otherwise_be_away_or_hang() {
        for odd in [Agrees, Refuses, IsAway, Hangs] {
            for place in 0..3 {
                let mut others = [Agrees, Agrees, Agrees];
                others[place] = odd.clone();
                assert_eq!(verify(Agrees, &others).await.outcome, Ok(()));
                assert!(caa("a.test", Agrees, &others).await.is_ok());
            }
        }
    }

    #[tokio::test]
    async fn two_of_three_may_not() {
        for (odd, other, kind) in [
            (Refuses, Refuses, ProblemKind::Connection),
            // One could have been borne, had we been able to ask the other.
            (IsAway, Refuses, ProblemKind::ServerInternal),
            (IsAway, IsAway, ProblemKind::ServerInternal),
        ] {
            let others = [Agrees, odd, other];
            assert_eq!(verify(Agrees, &others).await.outcome.unwrap_err().kind, kind);
            assert_eq!(caa("a.test", Agrees, &others).await.unwrap_err().kind, kind);
        }
    }

    #[tokio::test]
    async fn what_is_not_seen_from_here_is_asked_of_nobody() {
        let verified = verify(Refuses, &[Agrees, Agrees, Agrees]).await;
        assert_eq!((verified.outcome, verified.attempts.len()), (Err(problem()), 1));
        assert_eq!(caa("a.test", Refuses, &[Agrees, Agrees, Agrees]).await, Err(problem()));
    }

    #[tokio::test]
    async fn everything_that_was_seen_is_told_and_from_where() {
        let verified = verify(Agrees, &[Agrees, Refuses, IsAway, Refuses]).await;
        let from: Vec<_> = verified.attempts.iter().map(|attempt| attempt.perspective.as_str()).collect();
        assert_eq!(from, ["primary", "other", "other", "south", "other"]);
        assert_eq!(
            verified.outcome.unwrap_err().detail,
            "control is seen from here, and not from east, west; 3 of 4 other places must agree; east: nobody there"
        );
        assert_eq!(verify(Agrees, &[Agrees, Refuses, Agrees]).await.agreed, ["north", "south"]);
        let evidence = caa("a.test", Agrees, &[Agrees, Refuses, Agrees]).await.unwrap();
        assert_eq!(
            (evidence.checked_at, evidence.agreed),
            (Timestamp::from_secs(1), vec!["north".into(), "south".into()])
        );
    }

    #[tokio::test]
    async fn nobody_is_asked_for_records_that_an_address_cannot_have() {
        assert!(caa("192.0.2.1", Agrees, &[Refuses, Refuses, Refuses]).await.is_ok());
    }
}
