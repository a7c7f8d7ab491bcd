//! A CA is revoked by its parent: it issues no more, and stands on the parent's list for good.

use chancery_domain::{Action, KeyType, ProfileName, RevocationReason, Timestamp};
use chancery_store::{IssuerKind, IssuerRecord, IssuerRevocation};
use serde_json::json;

use super::Operator;
use super::hierarchy::{IssuerDetails, details};
use super::issuers::{find_issuing, refusal};
use crate::error::ServiceError;
use crate::issuers::gaps;
use crate::publication::CrlName;

/// A CA that is revoked.
#[derive(Clone)]
pub struct RevokedIssuer {
    pub issuer: IssuerDetails,
    /// Whether it was so before, and still is as it was.
    pub already: bool,
    /// The reason it was revoked for before its key was found compromised.
    pub replaced: Option<RevocationReason>,
    /// What nobody may sign now.
    pub gaps: Vec<(ProfileName, KeyType)>,
    /// Why the list of its parent cannot be made at the moment.
    pub unlisted: Option<String>,
}

impl Operator {
    /// Revokes an issuing CA, even if nobody else may sign what it signs: whoever has its key does not wait. The list of
    /// its parent is made anew by the next node that looks, within a second. That its key is compromised replaces another
    /// reason, and the time stays.
    pub async fn revoke_issuer(&self, which: &str, reason: RevocationReason) -> Result<RevokedIssuer, ServiceError> {
        self.revoke_issuer_at(which, reason, self.kernel.now()).await
    }

    /// Revokes an issuing CA as of `at`, which may be in the past, even if nobody else may sign what it signs.
    pub(super) async fn revoke_issuer_at(
        &self,
        which: &str,
        reason: RevocationReason,
        at: Timestamp,
    ) -> Result<RevokedIssuer, ServiceError> {
        require_reason(reason)?;
        let (me, which) = (self.clone(), which.to_owned());
        let revoked = self
            .kernel
            .store
            .write(move |tx| {
                let before = tx.claim_issuers()?;
                let record = find_issuing(&before, &which)?;
                let parent =
                    before.iter().find(|parent| parent.kind == IssuerKind::Root && Some(parent.id) == record.parent);
                let parent = parent.ok_or_else(|| ServiceError::internal("an issuing CA without a root"))?;
                // Without the parent's key there will be no list, and better it is said now.
                let root = me.open_root(parent).map_err(ServiceError::internal)?;
                let revocation = IssuerRevocation { at, reason };
                let revoked = tx.revoke_issuer(record.id, (parent.id, CrlName::Root.column()), revocation)?;
                let after = tx.issuers()?.iter().map(details).collect::<Result<Vec<_>, _>>()?;
                let missing = || ServiceError::internal("a CA that was there a moment ago");
                let issuer = after.iter().find(|issuer| issuer.id == record.id).cloned().ok_or_else(missing)?;
                let replaced = record.revocation.filter(|_| revoked).map(|before| before.reason);
                if revoked {
                    let IssuerRecord { id, name, .. } = record;
                    let mut detail = json!({"name": name, "reason": reason.as_str(), "serial": issuer.info.serial});
                    if let Some(replaced) = replaced {
                        detail["replaced"] = replaced.as_str().into();
                    }
                    me.record(tx, None, Action::IssuerRevoke, *id, &detail)?;
                }
                let gaps = gaps(&me.candidates(&after), &me.kernel.settings.issuing);
                let revoked = RevokedIssuer { issuer, already: !revoked, replaced, gaps, unlisted: None };
                Ok::<_, ServiceError>((revoked, root.issuer))
            })
            .await;
        let (mut revoked, root) = revoked?;
        // A token may be away. The CA signs no more all the same, and the list follows.
        let unlisted =
            tokio::task::spawn_blocking(move || root.check_key().err()).await.map_err(ServiceError::internal)?;
        revoked.unlisted = unlisted.map(|why| why.to_string());
        Ok(revoked)
    }
}

/// The list has to say why a CA is revoked (Baseline Requirements section 7.2.2), and `unspecified` is left out of lists.
pub(super) fn require_reason(reason: RevocationReason) -> Result<(), ServiceError> {
    if reason != RevocationReason::Unspecified {
        return Ok(());
    }
    let known = RevocationReason::ALL.iter().filter(|known| **known != reason).map(|known| known.as_str());
    let known = known.collect::<Vec<_>>().join(", ");
    Err(refusal(format!("a CA is not revoked for no reason; choose one of {known}")))
}
