//! What CAA records say, for those who want to know before they order.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Attempt, CaaReport, ChallengeType, Identifier, Problem};
use tokio::time::Instant;

use crate::few::few_at_a_time;

/// Names of one CSR that are asked about at a time.
const AT_ONCE: usize = 4;
/// How long whoever hands in a CSR waits for all of its names.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// What CAA records say of one name.
pub type CaaAnswer<'a> = Pin<Box<dyn Future<Output = CaaReport> + Send + 'a>>;

/// What was seen of a web server.
pub type WebAnswer<'a> = Pin<Box<dyn Future<Output = Attempt> + Send + 'a>>;

/// Somebody who can ask. The use cases themselves speak to no network.
pub trait CaaAsker: Send + Sync {
    /// Whether one of the methods would do; the records are looked up once. Whoever asks for `whose` sake waits in the
    /// line of that party.
    fn ask<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> CaaAnswer<'a>;

    /// What is seen of the web server of a name, where http-01 would look.
    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> WebAnswer<'a>;
}

/// What is to be asked.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) whose: String,
    pub(crate) names: Vec<Identifier>,
    pub(crate) account_uri: String,
    pub(crate) methods: Vec<ChallengeType>,
}

/// What CAA has against each name, whichever of the methods is used: a name that one of them is allowed for is fine.
pub(crate) async fn objections(asker: &Arc<dyn CaaAsker>, question: Question, patience: Duration) -> Vec<Problem> {
    let question = Arc::new(question);
    let ask = |place: usize| {
        let (asker, question) = (asker.clone(), question.clone());
        async move {
            let Question { whose, names, account_uri, methods } = &*question;
            asker.ask(whose, &names[place], account_uri, methods).await
        }
    };
    let answers = few_at_a_time(AT_ONCE, Instant::now() + patience, (0..question.names.len()).map(ask)).await;
    let objection = |(name, answer): (&Identifier, Option<CaaReport>)| match answer {
        Some(answer) => answer.problem.map(|problem| problem.detail),
        None => Some(format!("CAA could not be asked in time about {name}; try again")),
    };
    let objections = question.names.iter().zip(answers).filter_map(objection);
    let mut objections: Vec<_> = objections.map(|detail| Problem::new("csr", "caa", detail)).collect();
    objections.sort_by(|one, other| one.message.cmp(&other.message));
    objections
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use chancery_domain::{ProblemKind, ValidationProblem};

    use super::*;

    /// Is asked, and forbids what is called so; black holes take for ever.
    #[derive(Default)]
    struct Fake {
        asked: AtomicUsize,
        under_way: AtomicUsize,
        most: AtomicUsize,
    }

    impl CaaAsker for Fake {
        fn ask<'a>(
            &'a self,
            _: &'a str,
            identifier: &'a Identifier,
            _: &'a str,
            _: &'a [ChallengeType],
        ) -> CaaAnswer<'a> {
            Box::pin(async move {
                self.asked.fetch_add(1, Ordering::Relaxed);
                self.most.fetch_max(self.under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                if identifier.to_string().starts_with("hole") {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
                self.under_way.fetch_sub(1, Ordering::Relaxed);
                let detail = format!("{identifier}: no");
                let problem = detail.starts_with("no").then_some(ValidationProblem { kind: ProblemKind::Caa, detail });
                CaaReport { problem, ..CaaReport::default() }
            })
        }

        fn probe<'a>(&'a self, _: &'a str, _: &'a Identifier) -> WebAnswer<'a> {
            Box::pin(async { Attempt::default() })
        }
    }

    async fn ask(fake: &Arc<Fake>, names: &[String], patience: Duration) -> Vec<String> {
        let question = Question {
            whose: "demo".to_owned(),
            names: names.iter().map(|name| Identifier::parse(name).unwrap()).collect(),
            account_uri: "https://ca.test/account/1".to_owned(),
            methods: vec![ChallengeType::Http01, ChallengeType::Dns01],
        };
        let asker: Arc<dyn CaaAsker> = fake.clone();
        objections(&asker, question, patience).await.into_iter().map(|problem| problem.message).collect()
    }

    #[tokio::test]
    async fn each_name_is_asked_about_once_and_few_at_a_time() {
        let fake = Arc::new(Fake::default());
        let mut names: Vec<_> = (0..98).map(|number| format!("n{number}.test")).collect();
        names.extend(["no1.test".to_owned(), "no2.test".to_owned()]);
        let told = ask(&fake, &names, Duration::from_secs(60)).await;
        assert_eq!(told, ["no1.test: no", "no2.test: no"]);
        assert_eq!(fake.asked.load(Ordering::Relaxed), 100);
        assert_eq!(fake.most.load(Ordering::Relaxed), AT_ONCE);
    }

    #[tokio::test]
    async fn names_that_could_not_be_asked_about_in_time_are_told() {
        let fake = Arc::new(Fake::default());
        let names: Vec<_> = (0..10).map(|number| format!("hole{number}.test")).collect();
        let told = ask(&fake, &names, Duration::from_millis(50)).await;
        assert_eq!(told.len(), 10);
        assert!(told.iter().all(|message| message.contains("could not be asked in time")), "{told:?}");
        assert_eq!(fake.asked.load(Ordering::Relaxed), AT_ONCE);
    }
}
