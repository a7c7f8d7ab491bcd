use chancery_domain::{Action, Name, PageRequest, Reseller, ResellerCode, ResellerId};
use serde_json::json;

use super::{Operator, reseller_by_code};
use crate::console::ShutOut;
use crate::error::{Noun, ServiceError};

impl Operator {
    pub async fn create_reseller(&self, code: ResellerCode, name: Name) -> Result<Reseller, ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let now = me.kernel.now();
                let reseller = Reseller {
                    id: ResellerId::new(now, me.kernel.entropy.as_ref()),
                    code: code.clone(),
                    name: name.clone(),
                    suspended: false,
                    created_at: now,
                    updated_at: now,
                    version: 1,
                };
                if !tx.insert_reseller(&reseller)? {
                    return Err(ServiceError::NameInUse(Noun::Reseller, code.to_string()));
                }
                let detail = json!({"code": reseller.code.as_str(), "name": reseller.name.as_str()});
                me.record(tx, Some(reseller.id), Action::ResellerCreate, reseller.id, &detail)?;
                Ok(reseller)
            })
            .await
    }

    /// Every reseller, newest first.
    pub async fn resellers(&self) -> Result<Vec<Reseller>, ServiceError> {
        self.kernel
            .store
            .read(|tx| {
                let (mut all, mut page) = (Vec::new(), PageRequest { limit: 1000, after: None });
                loop {
                    let found = tx.resellers(&page)?;
                    all.extend(found.items);
                    match found.next {
                        Some(next) => page.after = Some(next),
                        None => return Ok(all),
                    }
                }
            })
            .await
    }

    pub async fn reseller(&self, code: &str) -> Result<Reseller, ServiceError> {
        let code = code.to_owned();
        self.kernel.store.read(move |tx| reseller_by_code(tx, &code)).await
    }

    /// Suspends a reseller, or lets it go on: every node follows within seconds. The sessions of its people at the console
    /// end for good.
    pub async fn set_reseller_suspended(&self, code: &str, suspended: bool) -> Result<Reseller, ServiceError> {
        let (me, code) = (self.clone(), code.to_owned());
        let (reseller, more) = self
            .kernel
            .store
            .write(move |tx| {
                let (before, now) = (reseller_by_code(tx, &code)?, me.kernel.now());
                // When it is resumed too: a sign-in may have been under way when it was suspended.
                let shut_out = before.suspended || suspended;
                let after = before.with_suspended(suspended, now);
                tx.save_reseller(&after)?;
                tx.advance_identity_epoch()?;
                let action = if suspended { Action::ResellerSuspend } else { Action::ResellerResume };
                me.record(tx, Some(after.id), action, after.id, &json!({"code": after.code.as_str()}))?;
                let more = shut_out && ShutOut::Reseller(after.id).end_some(tx, now)?;
                Ok::<_, ServiceError>((after, more))
            })
            .await?;
        ShutOut::Reseller(reseller.id).end_rest(&self.kernel, more).await;
        Ok(reseller)
    }
}
