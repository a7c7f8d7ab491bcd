//! Groups and policies by the names that people gave them; the API itself knows them by their lookups.

use chancery_client::PageQuery;

use super::session::Session;
use super::show::OrTrouble;
use crate::failure::{Failure, Kind};

/// The lookup of a group that is named by it, or by its name.
pub async fn group_lookup(session: &Session, text: &str) -> Result<String, Failure> {
    if text.starts_with("grp_") {
        return Ok(text.to_owned());
    }
    let mut groups = session.client.groups().list_all(PageQuery::default());
    while let Some(group) = groups.next().await.or_trouble(&session.trouble)? {
        if group.name == text {
            return Ok(group.lookup);
        }
    }
    Err(missing("group", text))
}

/// The lookup of a policy that is named by it, or by its name.
pub async fn policy_lookup(session: &Session, text: &str) -> Result<String, Failure> {
    if text.starts_with("pol_") {
        return Ok(text.to_owned());
    }
    let mut policies = session.client.policies().list_all(PageQuery::default());
    while let Some(policy) = policies.next().await.or_trouble(&session.trouble)? {
        if policy.name == text {
            return Ok(policy.lookup);
        }
    }
    Err(missing("policy", text))
}

fn missing(noun: &str, name: &str) -> Failure {
    Failure::of(Kind::Missing, format!("there is no {noun} named {name}"))
        .advise(format!("see `chancery my {noun} list`"))
}
