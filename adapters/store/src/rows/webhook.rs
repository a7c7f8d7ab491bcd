//! Where resellers want to be told of events, the secrets that messages are signed with, and whose turn it is.
//!
//! A webhook can have millions of deliveries, so it is deleted in steps: [`Tx::delete_webhook`] marks it, and from then on
//! it is not found any more. [`Tx::purge_webhook`] removes its deliveries, some at a time, and at last its row.

use std::time::Duration;

use chancery_domain::{
    Description, EventType, Page, PageRequest, ResellerId, Timestamp, Webhook, WebhookId, WebhookSecretId,
    WebhookState, WebhookUrl,
};

use super::event::Place;
use super::{NEWEST_FIRST, OWN};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str = "id, reseller_id, url, description, types, state, failing_since, created_at, updated_at, version";

/// Selects webhooks that are not deleted. A deleted one has this state until its deliveries are removed; the domain does
/// not know it.
const LIVE: &str = "state <> 'deleted'";

/// A secret of a webhook, sealed.
pub struct WebhookSecret {
    pub id: WebhookSecretId,
    pub sealed: Vec<u8>,
}

impl Tx<'_> {
    /// Adds a webhook that is told of all that comes after a place.
    pub fn insert_webhook(&mut self, webhook: &Webhook, after: &Place) -> Result<(), StoreError> {
        self.execute(
            &format!(
                "INSERT INTO webhooks ({COLUMNS}, position, after_id, lease, leased_until)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, '', 0)"
            ),
            params![
                webhook.id,
                webhook.reseller,
                webhook.url.as_str(),
                webhook.description.as_ref().map(Description::as_str),
                write_types(&webhook.types),
                webhook.state.as_str(),
                webhook.failing_since,
                webhook.created_at,
                webhook.updated_at,
                webhook.version,
                after.position,
                after.id.as_str(),
            ],
        )?;
        Ok(())
    }

    pub fn webhook(&mut self, reseller: ResellerId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE {OWN} AND {LIVE}");
        self.query_one(&sql, params![id, reseller], read)
    }

    /// The same, and no other transaction changes or deletes it, or adds a delivery, until this one ends.
    pub fn claim_webhook(&mut self, reseller: ResellerId, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE {OWN} AND {LIVE}");
        Ok(self.query_claimed(&sql, params![id, reseller], read)?.pop())
    }

    /// A page of a reseller's webhooks, newest first.
    pub fn webhooks(&mut self, reseller: ResellerId, page: &PageRequest) -> Result<Page<Webhook>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM webhooks WHERE reseller_id = ?1 AND id < ?2 AND {LIVE}
             ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![reseller, after, limit], read);
        self.page(page, rows, |webhook| webhook.id.to_string())
    }

    /// How many a reseller has, so that no other unit can add one meanwhile.
    pub fn count_webhooks_alone(&mut self, reseller: ResellerId) -> Result<usize, StoreError> {
        self.query_claimed("SELECT 1 FROM resellers WHERE id = ?1", params![reseller], |_| Ok(()))?;
        let sql = format!("SELECT id FROM webhooks WHERE reseller_id = ?1 AND {LIVE} LIMIT 1000");
        Ok(self.query(&sql, params![reseller], |_| Ok(()))?.len())
    }

    pub fn save_webhook(&mut self, webhook: &Webhook) -> Result<(), StoreError> {
        self.update(
            "webhook",
            webhook.id,
            "UPDATE webhooks SET url = ?3, description = ?4, types = ?5, state = ?6, failing_since = ?7, updated_at = ?8,
             version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                webhook.id,
                webhook.version,
                webhook.url.as_str(),
                webhook.description.as_ref().map(Description::as_str),
                write_types(&webhook.types),
                webhook.state.as_str(),
                webhook.failing_since,
                webhook.updated_at,
            ],
        )
    }

    /// Marks a webhook as deleted and removes its secrets. Its deliveries are left to [`Tx::purge_webhook`].
    pub fn delete_webhook(&mut self, id: WebhookId) -> Result<(), StoreError> {
        self.execute(
            "UPDATE webhooks SET state = 'deleted', lease = '', leased_until = 0, version = version + 1 WHERE id = ?1",
            params![id],
        )?;
        self.execute("DELETE FROM webhook_secrets WHERE webhook_id = ?1", params![id]).map(drop)
    }

    /// Webhooks that are deleted and not purged yet.
    pub fn deleted_webhooks(&mut self, limit: u32) -> Result<Vec<WebhookId>, StoreError> {
        let sql = "SELECT id FROM webhooks WHERE state = 'deleted' LIMIT ?1";
        self.query(sql, params![limit], |row| row.parsed())
    }

    /// Removes up to `limit` deliveries of a deleted webhook and returns how many it removed. If they are fewer than the
    /// limit, none is left and the webhook itself is removed too.
    pub fn purge_webhook(&mut self, id: WebhookId, limit: u32) -> Result<u64, StoreError> {
        let sql = "SELECT version FROM webhooks WHERE id = ?1 AND state = 'deleted'";
        if self.query_claimed(sql, params![id], |row| row.int())?.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE webhook_id = ?1
             ORDER BY id {NEWEST_FIRST} LIMIT ?2)"
        );
        let removed = self.execute(&sql, params![id, limit])?;
        if removed < u64::from(limit) {
            self.execute("DELETE FROM webhooks WHERE id = ?1", params![id])?;
        }
        Ok(removed)
    }

    /// Adds a secret; the one before it ends then, and those before that one end at once. Save the webhook first: of two
    /// who add one at the same instant, the second then finds what the first has left.
    pub fn insert_webhook_secret(
        &mut self,
        webhook: WebhookId,
        secret: &WebhookSecret,
        before_ends: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // Only the newest has no end.
        let sql = "DELETE FROM webhook_secrets WHERE webhook_id = ?1 AND ends_at IS NOT NULL";
        self.execute(sql, params![webhook])?;
        self.execute(
            "UPDATE webhook_secrets SET ends_at = ?2 WHERE webhook_id = ?1 AND ends_at IS NULL",
            params![webhook, before_ends],
        )?;
        self.execute(
            "INSERT INTO webhook_secrets (id, webhook_id, sealed, ends_at, created_at) VALUES (?1, ?2, ?3, NULL, ?4)",
            params![secret.id, webhook, secret.sealed.as_slice(), now],
        )?;
        Ok(())
    }

    /// The secrets that messages are signed with, the newest first.
    pub fn webhook_secrets(&mut self, webhook: WebhookId, now: Timestamp) -> Result<Vec<WebhookSecret>, StoreError> {
        let sql = "SELECT id, sealed FROM webhook_secrets WHERE webhook_id = ?1 AND (ends_at IS NULL OR ends_at > ?2)
                   ORDER BY id DESC";
        let read = |row: &mut Columns<'_>| Ok(WebhookSecret { id: row.parsed()?, sealed: row.bytes()? });
        self.query(sql, params![webhook, now], read)
    }

    /// Webhooks that nobody is at work for and that there is something to tell: a record below the horizon, or a
    /// delivery whose time has come. No lease reaches far beyond now: one that does is from a clock that was ahead.
    pub fn webhooks_with_work(
        &mut self,
        now: Timestamp,
        lease: Duration,
        below: i64,
        most: u32,
    ) -> Result<Vec<(WebhookId, ResellerId)>, StoreError> {
        let sql = "SELECT id, reseller_id FROM webhooks WHERE state = 'active' AND (leased_until <= ?1 OR leased_until > ?2) AND (
            EXISTS (SELECT 1 FROM audit WHERE audit.reseller_id = webhooks.reseller_id AND audit.position < ?3
                AND audit.position >= webhooks.position
                AND (audit.position > webhooks.position OR audit.id > webhooks.after_id))
            OR EXISTS (SELECT 1 FROM deliveries WHERE deliveries.webhook_id = webhooks.id
                AND deliveries.state = 'pending' AND deliveries.due_at <= ?1)) ORDER BY leased_until LIMIT ?4";
        self.query(sql, params![now, now.plus(lease).plus(lease), below, most], |row| {
            Ok((row.parsed()?, row.parsed()?))
        })
    }

    /// Takes a webhook for a while, with the place up to which it has been told; nothing where another has it.
    pub fn lease_webhook(
        &mut self,
        id: WebhookId,
        node: &str,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<(Webhook, Place)>, StoreError> {
        let taken = self.execute(
            "UPDATE webhooks SET lease = ?2, leased_until = ?3
             WHERE id = ?1 AND state = 'active' AND (leased_until <= ?4 OR leased_until > ?5)",
            params![id, node, now.plus(lease), now, now.plus(lease).plus(lease)],
        )?;
        if taken == 0 {
            return Ok(None);
        }
        let sql = format!("SELECT position, after_id, {COLUMNS} FROM webhooks WHERE id = ?1");
        self.query_one(&sql, params![id], |row| {
            let place = Place { position: row.int()?, id: row.text()? };
            Ok((read(row)?, place))
        })
    }

    /// A webhook that is leased to this node and is to be sent to.
    pub fn leased_webhook(&mut self, id: WebhookId, node: &str) -> Result<Option<Webhook>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE id = ?1 AND lease = ?2 AND state = 'active'");
        self.query_one(&sql, params![id, node], read)
    }

    /// Holds on to a webhook; nothing where it is another's by now, or is gone, or is not to be sent to any more.
    pub fn renew_webhook(
        &mut self,
        id: WebhookId,
        node: &str,
        until: Timestamp,
    ) -> Result<Option<Webhook>, StoreError> {
        let held = self.execute(
            "UPDATE webhooks SET leased_until = ?3 WHERE id = ?1 AND lease = ?2 AND state = 'active'",
            params![id, node, until],
        )?;
        if held == 0 {
            return Ok(None);
        }
        self.query_one(&format!("SELECT {COLUMNS} FROM webhooks WHERE id = ?1"), params![id], read)
    }

    /// Notes up to where a webhook has been told.
    pub fn advance_webhook(&mut self, id: WebhookId, to: &Place) -> Result<(), StoreError> {
        let sql = "UPDATE webhooks SET position = ?2, after_id = ?3 WHERE id = ?1";
        self.execute(sql, params![id, to.position, to.id.as_str()]).map(drop)
    }

    /// Lets a webhook go, for whoever comes next.
    pub fn release_webhook(&mut self, id: WebhookId, node: &str) -> Result<(), StoreError> {
        let sql = "UPDATE webhooks SET leased_until = 0, lease = '' WHERE id = ?1 AND lease = ?2";
        self.execute(sql, params![id, node]).map(drop)
    }

    /// Releases up to `limit` webhooks that are leased to a node, or to any node; returns how many.
    pub fn release_webhooks(&mut self, node: Option<&str>, limit: u32) -> Result<u64, StoreError> {
        let sql = "UPDATE webhooks SET leased_until = 0, lease = '' WHERE id IN (SELECT id FROM webhooks
             WHERE lease <> '' AND (?1 = '' OR lease = ?1) LIMIT ?2)";
        self.execute(sql, params![node.unwrap_or_default(), limit])
    }

    /// Notes since when nothing gets through; none when something did.
    pub fn set_failing(&mut self, id: WebhookId, since: Option<Timestamp>) -> Result<(), StoreError> {
        self.execute("UPDATE webhooks SET failing_since = ?2 WHERE id = ?1", params![id, since]).map(drop)
    }
}

fn write_types(types: &[EventType]) -> String {
    types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" ")
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<Webhook, StoreError> {
    Ok(Webhook {
        id: row.parsed()?,
        reseller: row.parsed()?,
        url: WebhookUrl::from_stored(row.text()?),
        description: row.through_or_none(Description::parse)?,
        types: row
            .through(|text| text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<EventType>, _>>())?,
        state: row.parsed::<WebhookState>()?,
        failing_since: row.time_or_none()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
    })
}
