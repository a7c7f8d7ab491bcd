use std::sync::LazyLock;

use chancery_domain::{
    AccountId, AcmeAccountId, AuthorizationId, ExternalId, Metadata, Order, OrderId, OrderState, OrderStatus, Page,
    PageRequest, ProfileName, ResellerId, Timestamp, Via,
};

use super::evidence::{read_identifiers, read_problem, write_identifiers, write_problem};
use super::job::{CONCLUDE, HELD, JobKind, conclusion};
use super::walk::{self, Narrowed, Walk};
use super::{NEWEST_FIRST, OWN, bounds};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::{Value, params};

/// Which orders of a reseller to list. `now` tells the expired from the open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFilter {
    pub account: Option<AccountId>,
    pub status: Option<OrderStatus>,
    pub external_id: Option<String>,
    pub now: Timestamp,
}

const COLUMNS: &str = "id, reseller_id, account_id, kid, kid_was_revoked, via, profile, identifiers, certificate_id, csr, not_before,
    not_after, external_id, metadata, state, state_at, problem, finalized_at, expires_at, created_at, updated_at, version,
    acme_account_id, replaces";

/// The ids of its authorizations, in the order of its names: read with the order, after its columns.
const AUTHORIZATIONS: &str = "(SELECT string_agg(authorizations.id, ',' ORDER BY authorizations.position)
    FROM authorizations WHERE authorizations.order_id = orders.id)";

/// The problem of an order, of which nothing is read if it is longer than this version writes. Earlier versions listed all that
/// policies had against an order.
const PROBLEM: &str = r#"CASE WHEN octet_length(problem) <= 16384 THEN problem WHEN problem IS NOT NULL THEN
    '{"kind":"rejectedIdentifier","detail":"policies refuse it; the list of what they refuse is too long to be shown"}'
    END AS problem"#;

/// The columns as they are read.
static SELECTED: LazyLock<String> = LazyLock::new(|| COLUMNS.replace(" problem,", &format!(" {PROBLEM},")));

static SELECT: LazyLock<String> = LazyLock::new(|| format!("SELECT {}, {AUTHORIZATIONS} FROM orders", *SELECTED));

impl Tx<'_> {
    /// How many orders of an account wait to be finalized, counted up to so many.
    pub fn open_orders_up_to(&mut self, account: AccountId, most: u32, now: Timestamp) -> Result<i64, StoreError> {
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE account_id = ?1 AND state IN ('pending', 'ready')
                   AND expires_at > ?2 AND finalized_at IS NULL LIMIT ?3) AS counted";
        Ok(self.query_one(sql, params![account, now, most], |row| row.int())?.unwrap_or(0))
    }

    /// Adds an order; `false` when its external id is taken. Its authorizations are added by themselves.
    pub fn insert_order(&mut self, order: &Order) -> Result<bool, StoreError> {
        let (state, state_at, problem) = write_state(&order.state);
        let insert = format!(
            "INSERT INTO orders ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
             ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)"
        );
        let params = params![
            order.id,
            order.reseller,
            order.account,
            order.kid,
            order.kid_was_revoked,
            order.via.as_str(),
            order.profile.as_str(),
            write_identifiers(&order.identifiers),
            order.certificate,
            order.csr.as_deref(),
            order.not_before,
            order.not_after,
            order.external_id.as_ref().map(ExternalId::as_str),
            serde_json::to_string(order.metadata.pairs()).expect("a map of texts is JSON"),
            state,
            state_at.unwrap_or(order.created_at),
            problem,
            order.finalized_at,
            order.expires_at,
            order.created_at,
            order.updated_at,
            order.version,
            order.acme_account,
            order.replaces.as_deref(),
        ];
        match order.external_id {
            Some(_) => Ok(self.execute(&format!("{insert} ON CONFLICT DO NOTHING"), params)? == 1),
            None => self.put(&insert, params).map(|()| true),
        }
    }

    pub fn order(&mut self, reseller: ResellerId, id: OrderId) -> Result<Option<Order>, StoreError> {
        let sql = format!("{} WHERE {OWN}", *SELECT);
        self.query_one(&sql, params![id, reseller], read)
    }

    /// For the service itself, which works for every reseller.
    pub fn any_order(&mut self, id: OrderId) -> Result<Option<Order>, StoreError> {
        self.query_one(&format!("{} WHERE id = ?1", *SELECT), params![id], read)
    }

    /// The order, for this unit of work alone until it ends: others wait.
    pub fn lock_order(&mut self, id: OrderId) -> Result<Option<Order>, StoreError> {
        Ok(self.query_claimed(&format!("{} WHERE id = ?1", *SELECT), params![id], read)?.pop())
    }

    /// The order, for this unit of work alone until it ends, and whether its job was this node's, which it is no more.
    pub fn lock_order_and_conclude(&mut self, id: OrderId, node: &str) -> Result<(Option<Order>, bool), StoreError> {
        let held = self.locking(HELD, "FOR UPDATE").into_owned();
        let job = conclusion(JobKind::Issue, id, node);
        self.foresee(|tx| drop(tx.query_one(&held, &job, |_| Ok(()))));
        let order = self.lock_order(id)?;
        let ours = self.query_one(&held, &job, |_| Ok(()))?;
        if ours.is_some() {
            self.put(CONCLUDE, &job)?;
        }
        Ok((order, ours.is_some()))
    }

    /// The order of an authorization, likewise; none where it has none.
    pub fn lock_order_of(&mut self, authorization: AuthorizationId) -> Result<Option<Order>, StoreError> {
        let sql = format!("{} WHERE id = (SELECT order_id FROM authorizations WHERE id = ?1)", *SELECT);
        Ok(self.query_claimed(&sql, params![authorization], read)?.pop())
    }

    /// A page of a reseller's orders, newest first.
    pub fn orders(
        &mut self,
        reseller: ResellerId,
        filter: &OrderFilter,
        page: &PageRequest,
    ) -> Result<Page<Order>, StoreError> {
        self.in_parts(page, |tx, part| tx.some_orders(reseller, filter, part))
    }

    fn some_orders(
        &mut self,
        reseller: ResellerId,
        filter: &OrderFilter,
        page: &PageRequest,
    ) -> Result<Page<Order>, StoreError> {
        let (after, limit) = bounds(page);
        // One condition is left to an index; `|| ''` and `+` keep the others from theirs.
        let (state, lapses) = match filter.status {
            None => (None, None),
            Some(OrderStatus::Expired) => (None, Some("state || '' IN ('pending', 'ready') AND +expires_at <=")),
            Some(open @ (OrderStatus::Pending | OrderStatus::Ready)) => (Some(open.as_str()), Some("+expires_at >")),
            Some(
                ended @ (OrderStatus::Processing | OrderStatus::Valid | OrderStatus::Invalid | OrderStatus::Cancelled),
            ) => (Some(ended.as_str()), None),
        };
        let by = match (filter.account, state) {
            (Some(account), _) => Some(("account_id", Value::from(account))),
            (None, Some(state)) => Some(("state", Value::from(state))),
            (None, None) => None,
        };
        let of_reseller = filter.account.is_none();
        let walk = Walk { table: "orders", columns: &SELECTED, key: "id", by, of_reseller, order: NEWEST_FIRST };
        // No two orders of a reseller have the same external id.
        let looks = filter.external_id.is_none() && (lapses.is_some() || (state.is_some() && filter.account.is_some()));
        let walk = looks.then_some(walk);
        let by_reseller = if filter.account.is_some() { "reseller_id || ''" } else { "reseller_id" };
        let mut params = vec![reseller.into(), after.into(), limit.into()];
        let rows = walk.as_ref().map(|walk| format!("({}) AS orders", walk.rows(&mut params)));
        let from = rows.as_deref().unwrap_or("orders");
        let columns = &*SELECTED;
        let sql = format!("SELECT {columns}, {AUTHORIZATIONS} FROM {from} WHERE {by_reseller} = ?1 AND id < ?2");
        let mut query = Narrowed { sql, params };
        query.by("account_id =", filter.account.map(Value::from));
        query.by("external_id =", filter.external_id.as_deref().map(Value::from));
        query.by(if filter.account.is_some() { "state || '' =" } else { "state =" }, state.map(Value::from));
        if let Some(lapses) = lapses {
            query.by(lapses, Some(filter.now.into()));
        }
        query.sql.push_str(&format!(" ORDER BY id {NEWEST_FIRST} LIMIT ?3"));
        let rows = self.query(&query.sql, &query.params, read)?;
        walk::page(self, walk.as_ref(), reseller, page, rows, |order| order.id.to_string())
    }

    /// A page of the orders of an ACME account that have not come to nothing, newest first.
    pub fn orders_of_acme_account(
        &mut self,
        account: AcmeAccountId,
        now: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<OrderId>, StoreError> {
        let sql = format!(
            "SELECT id FROM orders WHERE acme_account_id = ?1 AND id < ?2 AND (state IN ('processing', 'valid')
             OR (state IN ('pending', 'ready') AND expires_at > ?4)) ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        let rows =
            |tx: &mut Self, after, limit| tx.query(&sql, params![account, after, limit, now], |row| row.parsed());
        self.page(page, rows, OrderId::to_string)
    }

    /// The order that replaces a certificate, or is going to; those that came to nothing do not count.
    pub fn replacement(&mut self, certificate: &str, now: Timestamp) -> Result<Option<OrderId>, StoreError> {
        let sql = "SELECT id FROM orders WHERE replaces = ?1 AND (state IN ('processing', 'valid')
                   OR (state IN ('pending', 'ready') AND expires_at > ?2)) LIMIT 1";
        self.query_one(sql, params![certificate, now], |row| row.parsed())
    }

    /// This ACME account's order that replaces a certificate, or is going to; those that came to nothing do not count.
    pub fn own_replacement(
        &mut self,
        certificate: &str,
        account: AcmeAccountId,
        now: Timestamp,
    ) -> Result<Option<OrderId>, StoreError> {
        let sql =
            "SELECT id FROM orders WHERE replaces = ?1 AND acme_account_id = ?3 AND (state IN ('processing', 'valid')
                   OR (state IN ('pending', 'ready') AND expires_at > ?2)) LIMIT 1";
        self.query_one(sql, params![certificate, now, account], |row| row.parsed())
    }

    pub fn save_order(&mut self, order: &Order) -> Result<(), StoreError> {
        let (state, state_at, problem) = write_state(&order.state);
        self.update(
            "order",
            order.id,
            "UPDATE orders SET csr = ?3, state = ?4, state_at = ?5, problem = ?6, finalized_at = ?7, expires_at = ?8,
             updated_at = ?9, version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                order.id,
                order.version,
                order.csr.as_deref(),
                state,
                state_at.unwrap_or(order.updated_at),
                problem,
                order.finalized_at,
                order.expires_at,
                order.updated_at,
            ],
        )
    }
}

fn write_state(state: &OrderState) -> (&'static str, Option<Timestamp>, Option<String>) {
    match state {
        OrderState::Pending => ("pending", None, None),
        OrderState::Ready => ("ready", None, None),
        OrderState::Processing { since } => ("processing", Some(*since), None),
        OrderState::Valid { at } => ("valid", Some(*at), None),
        OrderState::Invalid { at, problem } => ("invalid", Some(*at), Some(write_problem(problem))),
        OrderState::Cancelled { at } => ("cancelled", Some(*at), None),
    }
}

fn read_state(state: &str, at: Timestamp, problem: Option<String>) -> Result<OrderState, StoreError> {
    Ok(match (state, problem) {
        ("pending", None) => OrderState::Pending,
        ("ready", None) => OrderState::Ready,
        ("processing", None) => OrderState::Processing { since: at },
        ("valid", None) => OrderState::Valid { at },
        ("invalid", Some(problem)) => OrderState::Invalid { at, problem: read_problem(&problem)? },
        ("cancelled", None) => OrderState::Cancelled { at },
        _ => return Err(StoreError::corrupt("orders.state")),
    })
}

pub(super) fn read_via(text: &str) -> Result<Via, StoreError> {
    match text {
        "reseller" => Ok(Via::Reseller),
        "acme" => Ok(Via::Acme),
        other => Err(StoreError::corrupt(format!("via {other}"))),
    }
}

fn read(row: &mut Columns<'_>) -> Result<Order, StoreError> {
    Ok(Order {
        id: row.parsed()?,
        reseller: row.parsed()?,
        account: row.parsed()?,
        kid: row.parsed()?,
        kid_was_revoked: row.flag()?,
        via: row.through(read_via)?,
        profile: row.through(ProfileName::parse)?,
        identifiers: row.through(read_identifiers)?,
        certificate: row.parsed()?,
        csr: row.bytes_or_none()?,
        not_before: row.time_or_none()?,
        not_after: row.time_or_none()?,
        external_id: row.through_or_none(ExternalId::parse)?,
        metadata: Metadata::from_stored(row.through(|text| serde_json::from_str(text))?),
        state: read_state(&row.text()?, row.time()?, row.text_or_none()?)?,
        finalized_at: row.time_or_none()?,
        expires_at: row.time()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
        acme_account: row.through_or_none(str::parse::<AcmeAccountId>)?,
        replaces: row.text_or_none()?,
        authorizations: row.text_or_none()?.map_or(Ok(Vec::new()), |ids| read_ids(&ids))?,
    })
}

fn read_ids(text: &str) -> Result<Vec<AuthorizationId>, StoreError> {
    text.split(',').map(|id| id.parse().map_err(|_| StoreError::corrupt("authorizations.id"))).collect()
}
