//! The keys by which people sign in to the console as the operator.

use chancery_domain::{Action, Name, OperatorKey, OperatorKeyId, Secret};
use chancery_store::SessionHolder;
use serde_json::json;

use super::Operator;
use crate::error::{Noun, ServiceError};
use crate::identity::{hash_secret, operator_key_text};

/// An operator key and its only showing.
#[derive(Clone)]
pub struct NewOperatorKey {
    pub key: OperatorKey,
    pub text: Secret,
}

impl Operator {
    pub async fn create_operator_key(&self, name: Name) -> Result<NewOperatorKey, ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let now = me.kernel.now();
                let id = OperatorKeyId::new(now, me.kernel.entropy.as_ref());
                let text = operator_key_text(id, me.kernel.entropy.as_ref());
                let hash = hash_secret(text.reveal());
                let key = OperatorKey { id, name: name.clone(), hash, revoked_at: None, created_at: now };
                tx.insert_operator_key(&key)?;
                me.record(tx, None, Action::OperatorKeyCreate, id, &json!({"name": key.name.as_str()}))?;
                Ok(NewOperatorKey { key, text })
            })
            .await
    }

    /// All of them, newest first, revoked ones included.
    pub async fn operator_keys(&self) -> Result<Vec<OperatorKey>, ServiceError> {
        self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.operator_keys()?)).await
    }

    /// Revokes a key, and ends the sessions that were begun with it.
    pub async fn revoke_operator_key(&self, id: OperatorKeyId) -> Result<(), ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let missing = || ServiceError::NotFound(Noun::OperatorKey, vec![id.to_string()]);
                let key = tx.operator_key(id)?.ok_or_else(missing)?;
                if !tx.revoke_operator_key(id, me.kernel.now())? {
                    return Err(missing());
                }
                let ended = tx.delete_console_sessions(SessionHolder::Operator(id), u32::MAX)?;
                let detail = json!({"name": key.name.as_str(), "sessions": ended});
                me.record(tx, None, Action::OperatorKeyRevoke, id, &detail)
            })
            .await
    }
}
