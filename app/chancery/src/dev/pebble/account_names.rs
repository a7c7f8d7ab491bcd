//! On Pebble's listener an account has another URL than on the service's own. CAA records (RFC 8657 `accounturi`) may name
//! it by any of them, and so may the records of dns-account-01 and dns-persist-01.

use std::sync::Arc;

use chancery_dcv::{CaaCheck, Check, Looks, Verified};
use chancery_domain::{Attempt, CaaReport, ChallengeType, Identifier, ProblemKind, ValidationProblem};
use chancery_workers::{CaaVerdict, Inspector, Seen};
use tokio::task::JoinSet;

/// Where accounts are, up to their id.
#[derive(Clone, Debug, Default)]
pub struct AccountNames {
    /// What the use cases say.
    pub usual: String,
    pub others: Vec<String>,
}

impl AccountNames {
    /// All names of the account that has this one, which comes first.
    fn of(&self, uri: &str) -> Vec<String> {
        let id = uri.strip_prefix(self.usual.as_str());
        let others = id.into_iter().flat_map(|id| self.others.iter().map(move |other| format!("{other}{id}")));
        std::iter::once(uri.to_owned()).chain(others).collect()
    }
}

/// Looks at records once more where they do not name the account as usual.
pub struct Renaming {
    pub inspector: Arc<dyn Inspector>,
    pub names: AccountNames,
}

impl Renaming {
    /// The first answer that is not a refusal; else that to the usual name.
    async fn ask<'a, T>(
        &'a self,
        account_uri: &'a str,
        ask: impl Fn(String) -> Seen<'a, T>,
        problem: impl Fn(&T) -> Option<&ValidationProblem>,
    ) -> T {
        let mut first = None;
        for uri in self.names.of(account_uri) {
            let answer = ask(uri).await;
            match problem(&answer) {
                Some(problem) if problem.kind == ProblemKind::Caa => first = first.or(Some(answer)),
                Some(_) | None => return answer,
            }
        }
        first.expect("an account has a name")
    }
}

impl Renaming {
    /// The first look that finds what it looks for; else that under the usual name. Only some records have the name of the
    /// account in them.
    async fn look(&self, whose: &str, check: &Check, looks: &Looks) -> Verified {
        let named = matches!(check.kind, ChallengeType::DnsAccount01 | ChallengeType::DnsPersist01);
        if !named {
            return self.inspector.verify(whose, check, looks).await;
        }
        // Side by side: each look goes on for a while where nothing is found.
        let mut found = JoinSet::new();
        for account_uri in self.names.of(&check.account_uri) {
            let usual = account_uri == check.account_uri;
            let (inspector, whose) = (self.inspector.clone(), whose.to_owned());
            let check = Check { account_uri, ..check.clone() };
            // Nobody is told of them as they come: they would be told of in turns.
            found.spawn(async move { (usual, inspector.verify(&whose, &check, &Looks::default()).await) });
        }
        let mut usual = None;
        while let Some(Ok((is_usual, seen))) = found.join_next().await {
            if seen.outcome.is_ok() {
                return seen;
            }
            usual = usual.or(is_usual.then_some(seen));
        }
        match usual {
            Some(seen) => seen,
            None => self.inspector.verify(whose, check, looks).await,
        }
    }
}

impl Inspector for Renaming {
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check, looks: &'a Looks) -> Seen<'a, Verified> {
        Box::pin(self.look(whose, check, looks))
    }

    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, CaaVerdict> {
        let ask = move |uri: String| -> Seen<'a, CaaVerdict> {
            Box::pin(async move { self.inspector.caa(whose, CaaCheck { account_uri: &uri, ..check }).await })
        };
        Box::pin(self.ask(check.account_uri, ask, |verdict: &CaaVerdict| verdict.as_ref().err()))
    }

    fn caa_for_any<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> Seen<'a, CaaReport> {
        let ask = move |uri: String| -> Seen<'a, CaaReport> {
            Box::pin(async move { self.inspector.caa_for_any(whose, identifier, &uri, methods).await })
        };
        Box::pin(self.ask(account_uri, ask, |report: &CaaReport| report.problem.as_ref()))
    }

    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> Seen<'a, Attempt> {
        self.inspector.probe(whose, identifier)
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::{CaaEvidence, Timestamp};

    use super::*;

    /// Lets one account have certificates.
    struct Only(&'static str);

    impl Only {
        fn judge(&self, uri: &str) -> CaaVerdict {
            let detail = format!("not to {uri}");
            match uri == self.0 {
                true => Ok(CaaEvidence::no_records(Timestamp::from_secs(0))),
                false => Err(ValidationProblem { kind: ProblemKind::Caa, detail }),
            }
        }
    }

    impl Inspector for Only {
        fn verify<'a>(&'a self, _: &'a str, check: &'a Check, _: &'a Looks) -> Seen<'a, Verified> {
            let outcome = self.judge(&check.account_uri).map(drop);
            Box::pin(async { Verified::new(Vec::new(), outcome) })
        }

        fn caa<'a>(&'a self, _: &'a str, check: CaaCheck<'a>) -> Seen<'a, CaaVerdict> {
            Box::pin(async move { self.judge(check.account_uri) })
        }

        fn caa_for_any<'a>(
            &'a self,
            _: &'a str,
            _: &'a Identifier,
            uri: &'a str,
            _: &'a [ChallengeType],
        ) -> Seen<'a, CaaReport> {
            Box::pin(async { CaaReport { problem: self.judge(uri).err(), ..CaaReport::default() } })
        }

        fn probe<'a>(&'a self, _: &'a str, _: &'a Identifier) -> Seen<'a, Attempt> {
            Box::pin(async { Attempt::default() })
        }
    }

    #[tokio::test]
    async fn an_account_is_let_in_by_any_of_its_names() {
        let name = Identifier::parse("a.test").unwrap();
        let ask = async |only| {
            let names = AccountNames {
                usual: "https://ca.test/acme/account/".to_owned(),
                others: vec!["https://a/my-account/".to_owned(), "https://b/my-account/".to_owned()],
            };
            let renaming = Renaming { inspector: Arc::new(Only(only)), names };
            let uri = "https://ca.test/acme/account/7";
            let check = CaaCheck { identifier: &name, account_uri: uri, method: ChallengeType::Http01 };
            let one = renaming.caa("", check).await;
            let any = renaming.caa_for_any("", &name, uri, &[ChallengeType::Http01]).await;
            assert_eq!(one.as_ref().err(), any.problem.as_ref());
            let check = |kind| Check {
                identifier: name.clone(),
                kind,
                token: String::new(),
                key_authorization: String::new(),
                account_uri: uri.to_owned(),
            };
            for kind in [ChallengeType::DnsAccount01, ChallengeType::DnsPersist01] {
                assert_eq!(renaming.verify("", &check(kind), &Looks::default()).await.outcome, one.clone().map(drop));
            }
            assert_eq!(
                renaming.verify("", &check(ChallengeType::Dns01), &Looks::default()).await.outcome.is_ok(),
                only == uri
            );
            one.map_err(|problem| problem.detail)
        };
        for known in ["https://ca.test/acme/account/7", "https://a/my-account/7", "https://b/my-account/7"] {
            assert!(ask(known).await.is_ok(), "{known}");
        }
        let refused = ask("https://b/my-account/8").await;
        assert_eq!(refused.unwrap_err(), "not to https://ca.test/acme/account/7");
    }
}
