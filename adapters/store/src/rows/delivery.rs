//! What is told to webhooks: one row for each event and webhook, however often it is tried.

use std::time::Duration;

use chancery_domain::{Attempted, Delivery, DeliveryId, DeliveryState, Page, PageRequest, Timestamp, WebhookId};

use super::NEWEST_FIRST;
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str = "id, webhook_id, reseller_id, event_id, event_type, state, attempts, due_at, tried_at, answered,
    failure, took, created_at";

impl Tx<'_> {
    /// Adds a delivery, once for each event and webhook.
    pub fn insert_delivery(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO deliveries (id, webhook_id, reseller_id, event_id, event_type, state, attempts, due_at, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
            params![
                delivery.id,
                delivery.webhook,
                delivery.reseller,
                delivery.event.to_string(),
                delivery.kind.as_str(),
                delivery.state.as_str(),
                delivery.attempts,
                delivery.due_at,
                delivery.created_at,
            ],
        )?;
        Ok(())
    }

    /// How many deliveries of a webhook are due, counted up to a limit.
    pub fn count_due_deliveries(
        &mut self,
        webhook: WebhookId,
        now: Timestamp,
        limit: u32,
    ) -> Result<usize, StoreError> {
        let sql = "SELECT 1 FROM deliveries WHERE webhook_id = ?1 AND state = 'pending' AND due_at <= ?2 LIMIT ?3";
        Ok(self.query(sql, params![webhook, now, limit], |_| Ok(()))?.len())
    }

    /// The delivery of a webhook that has been due for longest.
    pub fn next_delivery(&mut self, webhook: WebhookId, now: Timestamp) -> Result<Option<Delivery>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE webhook_id = ?1 AND state = 'pending' AND due_at <= ?2
             ORDER BY due_at, id LIMIT 1"
        );
        self.query_one(&sql, params![webhook, now], read)
    }

    /// The delivery, which nobody else can change until the unit of work ends: what came of a try and a request to tell
    /// it once more each find it as the other has left it.
    pub fn claim_delivery(&mut self, webhook: WebhookId, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM deliveries WHERE id = ?1 AND webhook_id = ?2");
        Ok(self.query_claimed(&sql, params![id, webhook], read)?.pop())
    }

    /// A page of what was told to a webhook, newest first.
    pub fn deliveries(&mut self, webhook: WebhookId, page: &PageRequest) -> Result<Page<Delivery>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM deliveries WHERE webhook_id = ?1 AND id < ?2 ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows = |tx: &mut Self, after, limit| tx.query(&sql, params![webhook, after, limit], read);
        self.page(page, rows, |delivery| delivery.id.to_string())
    }

    pub fn save_delivery(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        let last = delivery.last.as_ref();
        self.execute(
            "UPDATE deliveries SET state = ?2, attempts = ?3, due_at = ?4, tried_at = ?5, answered = ?6, failure = ?7,
             took = ?8 WHERE id = ?1",
            params![
                delivery.id,
                delivery.state.as_str(),
                delivery.attempts,
                delivery.due_at,
                last.map(|last| last.at),
                last.and_then(|last| last.answered).map(u32::from),
                last.and_then(|last| last.failure.as_deref()),
                last.map(|last| i64::try_from(last.took.as_millis()).unwrap_or(i64::MAX)),
            ],
        )
        .map(drop)
    }

    /// The ids of up to `limit` deliveries after an id that were created before a time and are not pending, oldest first.
    pub fn finished_deliveries(
        &mut self,
        after: Option<DeliveryId>,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<DeliveryId>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        // An id begins with the time of its creation.
        let end = super::audit::first_id(before).to_string().replace("aud_", "dlv_");
        let sql = "SELECT id FROM deliveries WHERE id > ?1 AND id < ?2 AND state <> 'pending' ORDER BY id LIMIT ?3";
        self.query(sql, params![after, end, limit], |row| row.parsed())
    }

    /// Removes these deliveries, except those that are pending because they were requested again in the meantime.
    pub fn forget_deliveries(&mut self, ids: &[DeliveryId]) -> Result<(), StoreError> {
        ids.iter()
            .try_for_each(|id| self.put("DELETE FROM deliveries WHERE id = ?1 AND state <> 'pending'", params![*id]))
    }
}

fn read(row: &mut Columns<'_>) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        id: row.parsed()?,
        webhook: row.parsed()?,
        reseller: row.parsed()?,
        event: row.parsed()?,
        kind: row.parsed()?,
        state: row.parsed::<DeliveryState>()?,
        attempts: row.int()?,
        due_at: row.time()?,
        last: read_last(row)?,
        created_at: row.time()?,
    })
}

fn read_last(row: &mut Columns<'_>) -> Result<Option<Attempted>, StoreError> {
    let (at, answered) = (row.time_or_none()?, row.int_or_none()?);
    let (failure, took) = (row.text_or_none()?, row.int_or_none()?);
    Ok(at.map(|at| Attempted {
        at,
        took: Duration::from_millis(took.and_then(|took| u64::try_from(took).ok()).unwrap_or(0)),
        answered: answered.and_then(|status| u16::try_from(status).ok()),
        failure,
    }))
}
