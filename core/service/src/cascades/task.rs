//! A cascade as its job stores it: the remaining change, and the caller for the audit log.

use chancery_domain::{Action, DnsName, Entropy, Identifier, ResellerId, ScopeSet};
use chancery_store::{CascadeRow, GivenUp, Tx};
use serde_json::{Value, json};

use super::{Cascade, MemberChange};
use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;

/// A cascade in progress.
pub(super) struct Task {
    pub(super) subject: String,
    pub(super) row: CascadeRow,
    pub(super) cascade: Cascade,
    pub(super) by: Caller,
}

impl Task {
    /// The stored task; none if the cascade has finished.
    pub(super) fn read(tx: &mut Tx<'_>, subject: &str) -> Result<Option<Self>, ServiceError> {
        let Some(row) = tx.cascade(subject)? else { return Ok(None) };
        let unreadable = || ServiceError::internal(format!("the cascade {subject} cannot be read: {}", row.detail));
        let detail: Value = serde_json::from_str(&row.detail).map_err(|_| unreadable())?;
        let cascade = read(&detail).ok_or_else(unreadable)?;
        let by = read_caller(tx, &detail["by"])?.ok_or_else(unreadable)?;
        Ok(Some(Self { subject: subject.to_owned(), row, cascade, by }))
    }

    /// Locks the job; `false` if it has changed since it was read, and the batch must change nothing.
    pub(super) fn lock(&self, tx: &mut Tx<'_>) -> Result<bool, ServiceError> {
        Ok(tx.lock_cascade(&self.subject, &self.row)?)
    }
}

/// The reseller of a job, as its row stores it.
pub(crate) fn reseller(row: &CascadeRow) -> Option<ResellerId> {
    let detail: Value = serde_json::from_str(&row.detail).ok()?;
    detail["by"]["reseller"].as_str()?.parse().ok()
}

/// The subject that identifies the job of a cascade. A subject has one cascade; member changes have unique subjects.
pub(super) fn subject(cascade: &Cascade, entropy: &dyn Entropy) -> String {
    match cascade {
        Cascade::GiveUp { acme_account, given_up, .. } => given_up.subject(*acme_account),
        Cascade::TerminateAccount { account, .. } => account.to_string(),
        Cascade::DeactivateAcmeAccount { acme_account, .. } => acme_account.to_string(),
        Cascade::DeleteGroup(group) => group.to_string(),
        Cascade::DeletePolicy(policy) => policy.to_string(),
        Cascade::ChangeMembers(_) => format!("members {}", entropy.uuid_v4()),
    }
}

pub(super) fn write(cascade: &Cascade, by: &Caller) -> Value {
    let mut detail = match cascade {
        Cascade::GiveUp { account, acme_account, given_up } => {
            let (member, name) = match given_up {
                GivenUp::Name(name) => ("name", name.to_string()),
                GivenUp::Below(name) => ("below", name.as_str().to_owned()),
            };
            json!({"do": "give_up", "account": account.to_string(), "acmeAccount": acme_account.to_string(), member: name})
        }
        Cascade::TerminateAccount { account, revoke_certificates } => {
            json!({"do": "terminate_account", "account": account.to_string(), "revokeCertificates": revoke_certificates})
        }
        Cascade::DeactivateAcmeAccount { account, acme_account } => {
            let acme_account = acme_account.to_string();
            json!({"do": "deactivate_acme_account", "account": account.to_string(), "acmeAccount": acme_account})
        }
        Cascade::DeleteGroup(group) => json!({"do": "delete_group", "group": group.to_string()}),
        Cascade::DeletePolicy(policy) => json!({"do": "delete_policy", "policy": policy.to_string()}),
        Cascade::ChangeMembers(MemberChange { action, from, to, accounts }) => json!({
            "do": "change_members",
            "action": action.as_str(),
            "from": from.map(|group| group.to_string()),
            "to": to.map(|group| group.to_string()),
            "accounts": accounts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
    };
    detail["by"] = json!({
        "reseller": by.reseller.to_string(),
        "kind": by.actor.kind(),
        "actor": by.actor.name(),
        "address": by.origin.address,
        "requestId": by.origin.request_id,
    });
    detail
}

fn read(detail: &Value) -> Option<Cascade> {
    let text = |member: &str| detail[member].as_str();
    Some(match text("do")? {
        "give_up" => Cascade::GiveUp {
            account: text("account")?.parse().ok()?,
            acme_account: text("acmeAccount")?.parse().ok()?,
            given_up: match (text("name"), text("below")) {
                (Some(name), _) => GivenUp::Name(Identifier::from_stored(name).ok()?),
                (None, Some(name)) => GivenUp::Below(DnsName::from_stored(name).ok()?),
                (None, None) => return None,
            },
        },
        "terminate_account" => Cascade::TerminateAccount {
            account: text("account")?.parse().ok()?,
            revoke_certificates: detail["revokeCertificates"].as_bool()?,
        },
        "deactivate_acme_account" => Cascade::DeactivateAcmeAccount {
            account: text("account")?.parse().ok()?,
            acme_account: text("acmeAccount")?.parse().ok()?,
        },
        "delete_group" => Cascade::DeleteGroup(text("group")?.parse().ok()?),
        "delete_policy" => Cascade::DeletePolicy(text("policy")?.parse().ok()?),
        "change_members" => Cascade::ChangeMembers(MemberChange {
            action: text("action")?.parse::<Action>().ok()?,
            from: text("from").map(str::parse).transpose().ok()?,
            to: text("to").map(str::parse).transpose().ok()?,
            accounts: detail["accounts"]
                .as_array()?
                .iter()
                .map(|id| id.as_str()?.parse().ok())
                .collect::<Option<_>>()?,
        }),
        _ => return None,
    })
}

/// The caller of the change, without scopes: it is for audit records only.
fn read_caller(tx: &mut Tx<'_>, by: &Value) -> Result<Option<Caller>, ServiceError> {
    let text = |member: &str| by[member].as_str().map(str::to_owned);
    let id = text("reseller").and_then(|id| id.parse().ok());
    let actor = text("kind").zip(text("actor")).and_then(|(kind, name)| Actor::of(&kind, name));
    let origin = text("address").zip(text("requestId"));
    let (Some(id), Some(actor), Some((address, request_id))) = (id, actor, origin) else { return Ok(None) };
    let reseller = tx.reseller(id)?;
    let origin = Origin { address, request_id };
    Ok(reseller.map(|reseller| Caller::of_reseller(&reseller, actor, ScopeSet::default(), origin)))
}

#[cfg(test)]
mod tests {
    use chancery_domain::{AccountId, AcmeAccountId, GroupId, PolicyId, ResellerCode};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_cascade_is_read_as_it_was_written() {
        let uuid = Uuid::from_u128(7);
        let (account, acme_account) = (AccountId::from_uuid(uuid), AcmeAccountId::from_uuid(uuid));
        let (group, policy) = (GroupId::from_uuid(uuid), PolicyId::from_uuid(uuid));
        let give_up = |given_up| Cascade::GiveUp { account, acme_account, given_up };
        let change = |from, to| {
            let (action, accounts) = (Action::AccountGroupMoveMembers, vec![account]);
            Cascade::ChangeMembers(MemberChange { action, from, to, accounts })
        };
        let by = Caller {
            reseller: ResellerId::from_uuid(uuid),
            code: ResellerCode::parse("DEMO").unwrap(),
            actor: Actor::Anonymous,
            scopes: ScopeSet::default(),
            acme_account: None,
            acme_key: None,
            origin: Origin::default(),
        };
        for cascade in [
            give_up(GivenUp::Name(Identifier::from_stored("*.a.test").unwrap())),
            give_up(GivenUp::Name(Identifier::from_stored("2001:db8::1").unwrap())),
            give_up(GivenUp::Below(DnsName::from_stored("a.test").unwrap())),
            Cascade::TerminateAccount { account, revoke_certificates: true },
            Cascade::DeactivateAcmeAccount { account, acme_account },
            Cascade::DeleteGroup(group),
            Cascade::DeletePolicy(policy),
            change(Some(group), None),
            change(None, Some(group)),
            change(Some(group), Some(group)),
        ] {
            let detail = write(&cascade, &by).to_string();
            assert_eq!(read(&serde_json::from_str(&detail).unwrap()), Some(cascade));
            assert_eq!(
                reseller(&CascadeRow { detail, since: chancery_domain::Timestamp::from_millis(0) }),
                Some(by.reseller)
            );
        }
        assert_eq!(read(&json!({"do": "something newer"})), None);
    }
}
