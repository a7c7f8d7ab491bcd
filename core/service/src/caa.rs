//! What CAA records say, for those who want to know before they order.

use std::pin::Pin;
use std::sync::Arc;

use chancery_domain::{CaaEvidence, ChallengeType, Identifier, Problem, ValidationProblem};
use tokio::task::JoinSet;

/// What CAA records say of one name.
pub type CaaAnswer<'a> = Pin<Box<dyn Future<Output = Result<CaaEvidence, ValidationProblem>> + Send + 'a>>;

/// Somebody who can ask. The use cases themselves speak to no network.
pub trait CaaAsker: Send + Sync {
    fn ask<'a>(&'a self, identifier: &'a Identifier, account_uri: &'a str, method: ChallengeType) -> CaaAnswer<'a>;
}

/// What CAA has against each name, whichever of the methods is used: a name that one of them is allowed for is fine.
pub(crate) async fn objections(
    asker: &Arc<dyn CaaAsker>,
    names: &[Identifier],
    account_uri: &str,
    methods: &[ChallengeType],
) -> Vec<Problem> {
    let mut asked = JoinSet::new();
    for name in names {
        let (asker, name, uri, methods) = (asker.clone(), name.clone(), account_uri.to_owned(), methods.to_vec());
        asked.spawn(async move {
            let mut objection = None;
            for method in methods {
                match asker.ask(&name, &uri, method).await {
                    Ok(_) => return None,
                    Err(problem) => objection = Some(problem),
                }
            }
            objection.map(|problem| Problem::new("csr", "caa", problem.detail))
        });
    }
    let mut objections: Vec<_> = asked.join_all().await.into_iter().flatten().collect();
    objections.sort_by(|one, other| one.message.cmp(&other.message));
    objections
}
