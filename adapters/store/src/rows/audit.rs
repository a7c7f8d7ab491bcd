use std::borrow::Cow;
use std::sync::LazyLock;

use chancery_domain::{AuditId, Page, PageRequest, ResellerId, Timestamp};
use uuid::Uuid;

use super::audit_detail::{self, HEAD, WHOLE_BYTES};
use super::event::NEXT_POSITION;
use super::walk::LOOKED_THROUGH;
use super::{NEWEST_FIRST, bounds};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::{Value, params};

/// One line of the audit trail: who did, or was refused, what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Made at the time of the record: the trail is in the order of ids, and is cut by time by them.
    pub id: AuditId,
    pub at: Timestamp,
    pub reseller: Option<ResellerId>,
    /// `client`, `api_key`, `external`, `operator`, `anonymous`.
    pub actor_kind: String,
    pub actor: String,
    pub address: String,
    pub request_id: String,
    /// Such as `account.create`.
    pub action: String,
    /// The lookup of what was touched, or a path where nothing was.
    pub subject: String,
    pub outcome: Outcome,
    /// JSON: before and after, or the reason of a refusal. Never a secret. One of more than 8 KiB is cut when it is written,
    /// and says so by its member `truncated`.
    pub detail: String,
}

/// Whether it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Refused,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
        }
    }
}

/// Which lines to show.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub reseller: Option<ResellerId>,
    pub subject: Option<String>,
    pub actor: Option<String>,
    pub action: Option<String>,
    pub outcome: Option<Outcome>,
    pub request_id: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Whose lines are walked, where no index has both the reseller and what else is asked for. What has one subject or
    /// request is little, and one actor is of one reseller.
    fn walked(&self) -> Option<ResellerId> {
        let Self { reseller, subject, actor, action, outcome, request_id, since, .. } = self;
        let narrow = [subject, actor, request_id].into_iter().any(Option::is_some) || since.is_some();
        let wide = action.is_some() || *outcome == Some(Outcome::Refused);
        reseller.filter(|_| wide && !narrow)
    }

    /// Whether an index leads to what is asked for; else the trail is read from its end.
    fn is_indexed(&self) -> bool {
        let refused = self.outcome == Some(Outcome::Refused);
        let named = [&self.subject, &self.actor, &self.action, &self.request_id].into_iter().any(Option::is_some);
        refused || named || self.reseller.is_some()
    }
}

const COLUMNS: &str = "id, at, reseller_id, actor_kind, actor, address, request_id, action, subject, outcome, detail";

/// Bytes of each text but the detail.
const TEXT: usize = 1024;

/// The columns as they are read: none of a detail that is too long to be read whole, and its length.
pub(super) static SELECTED: LazyLock<String> = LazyLock::new(|| {
    let whole = format!("CASE WHEN octet_length(detail) <= {WHOLE_BYTES} THEN detail END AS detail");
    format!("{}, CAST(octet_length(detail) AS BIGINT) AS length", COLUMNS.replace("detail", &whole))
});

/// With a position, and without.
static APPEND: LazyLock<[String; 2]> = LazyLock::new(|| {
    [(", position", format!(", ({NEXT_POSITION})")), ("", String::new())].map(|(column, position)| {
        format!(
            "INSERT INTO audit ({COLUMNS}{column})
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11{position})"
        )
    })
});

impl Tx<'_> {
    /// Adds a line. Callers may have put anything into its texts: it is written all the same, with U+FFFD for a zero byte, which
    /// PostgreSQL cannot keep, and cut if a text is too long.
    pub fn append_audit(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        let printable = |text: &str| match text.contains('\0') {
            true => text.replace('\0', "\u{fffd}"),
            false => text.to_owned(),
        };
        let text = |text: &str| printable(&text[..text.floor_char_boundary(TEXT)]);
        let [with_position, without] = &*APPEND;
        // PostgreSQL gives the position by itself.
        self.put(
            if self.is_postgres() { without } else { with_position },
            params![
                record.id,
                record.at,
                record.reseller,
                text(&record.actor_kind),
                text(&record.actor),
                text(&record.address),
                text(&record.request_id),
                text(&record.action),
                text(&record.subject),
                record.outcome.as_str(),
                printable(&audit_detail::bounded(&record.detail)),
            ],
        )?;
        Ok(())
    }

    /// A page of the trail, newest first.
    pub fn audit(&mut self, filter: &AuditFilter, page: &PageRequest) -> Result<Page<AuditRecord>, StoreError> {
        self.in_parts(page, |tx, part| tx.some_audit(filter, part))
    }

    fn some_audit(&mut self, filter: &AuditFilter, page: &PageRequest) -> Result<Page<AuditRecord>, StoreError> {
        let (after, limit) = bounds(page);
        // The id of a line begins with its time, and ids are what the trail is ordered by. One bound above and one below:
        // of two above, SQLite would take the first and read its way to the other.
        let [since, until] = [filter.since, filter.until].map(|at| at.map(|at| first_id(at).to_string()));
        let below = until.filter(|until| *until < after).unwrap_or(after);
        let order = if filter.is_indexed() { NEWEST_FIRST } else { "DESC" };
        let walked = filter.walked();
        let (from, end) = match walked {
            None => ("audit".to_owned(), None),
            Some(reseller) => {
                let (rows, end) = self.walk_of(reseller, &below, order)?;
                (format!("({rows}) AS audit"), end)
            }
        };
        // The rows that are looked through come with their columns as they are read.
        let columns = if walked.is_some() { "*" } else { SELECTED.as_str() };
        let mut sql = format!("SELECT {columns} FROM {from} WHERE id < ?1");
        let mut params = vec![Value::from(below), Value::from(limit)];
        params.extend(walked.map(Value::from));
        let mut narrow = |condition: &str, value: Option<Value>| {
            if let Some(value) = value {
                params.push(value);
                sql.push_str(&format!(" AND {condition} ?{}", params.len()));
            }
        };
        narrow("reseller_id =", filter.reseller.filter(|_| walked.is_none()).map(Value::from));
        narrow("subject =", filter.subject.as_deref().map(Value::from));
        narrow("actor =", filter.actor.as_deref().map(Value::from));
        narrow("action =", filter.action.as_deref().map(Value::from));
        narrow("request_id =", filter.request_id.as_deref().map(Value::from));
        narrow("id >=", since.map(Value::from));
        if let Some(outcome) = filter.outcome {
            // Spelled out, because an index on some rows only serves a condition that is known beforehand.
            sql.push_str(&format!(" AND outcome = '{}'", outcome.as_str()));
        }
        sql.push_str(&format!(" ORDER BY id {order} LIMIT ?2"));
        let rows = self.audit_rows(&sql, &params)?;
        let mut found = Page::from_rows(rows, page.limit, |record| record.id.to_string());
        found.next = found.next.or(end);
        Ok(found)
    }

    /// The lines that are looked through for a page, so many and not more as [`walk`](super::walk) does, with the reseller
    /// as third parameter; and the id at which they end if there are more. Nobody is shown ids of others.
    fn walk_of(
        &mut self,
        reseller: ResellerId,
        below: &str,
        order: &str,
    ) -> Result<(String, Option<String>), StoreError> {
        let rows = format!("FROM audit WHERE id < ?1 AND reseller_id = ?3 ORDER BY id {order}");
        let params = params![below, LOOKED_THROUGH - 1, reseller];
        let end = self.query_one(&format!("SELECT id {rows} LIMIT 1 OFFSET ?2"), params, |row| row.text())?;
        Ok((format!("SELECT {} {rows} LIMIT {LOOKED_THROUGH}", *SELECTED), end))
    }

    /// Reads lines by a statement that selects [`SELECTED`].
    pub(super) fn audit_rows(&mut self, sql: &str, params: &[Value]) -> Result<Vec<AuditRecord>, StoreError> {
        let rows = self.query(sql, params, read)?;
        rows.into_iter().map(|row| row.complete(self)).collect()
    }
}

/// What no id of this moment is smaller than: its milliseconds, in the 48 bits where a UUIDv7 has them, and zeros.
pub(super) fn first_id(at: Timestamp) -> AuditId {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0).min((1 << 48) - 1);
    AuditId::from_uuid(Uuid::from_u128(u128::from(millis) << 80))
}

/// A line as it was read.
pub(super) struct Row {
    record: AuditRecord,
    /// The length of a detail that is too long to be read whole; the record has none.
    unread: Option<usize>,
}

impl Row {
    /// The line, with its detail cut to what anybody may see.
    pub(super) fn complete(self, tx: &mut Tx<'_>) -> Result<AuditRecord, StoreError> {
        let Self { mut record, unread } = self;
        match unread {
            None => {
                if let Cow::Owned(cut) = audit_detail::bounded(&record.detail) {
                    record.detail = cut;
                }
            }
            Some(length) => {
                let head = tx.beginning_of("audit", "detail", &record.id.to_string(), HEAD)?;
                record.detail = audit_detail::of_head(&head, length);
            }
        }
        Ok(record)
    }
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<Row, StoreError> {
    let mut record = AuditRecord {
        id: row.parsed()?,
        at: row.time()?,
        reseller: row.through_or_none(str::parse::<ResellerId>)?,
        actor_kind: row.text()?,
        actor: row.text()?,
        address: row.text()?,
        request_id: row.text()?,
        action: row.text()?,
        subject: row.text()?,
        outcome: match row.text()?.as_str() {
            "done" => Outcome::Done,
            "refused" => Outcome::Refused,
            other => return Err(StoreError::corrupt(format!("audit.outcome {other}"))),
        },
        detail: String::new(),
    };
    let (detail, length) = (row.text_or_none()?, row.int()?);
    let unread = match detail {
        Some(detail) => {
            record.detail = detail;
            None
        }
        None => Some(usize::try_from(length).map_err(StoreError::corrupt)?),
    };
    Ok(Row { record, unread })
}
