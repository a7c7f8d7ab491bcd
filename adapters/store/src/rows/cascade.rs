//! Cascades: changes that reach more rows than one transaction may, and are applied in batches. The change itself is one
//! transaction, which also adds a job; the job is there until the last batch is done.
//!
//! A page of rows is found by an index alone, whatever else there is, so a batch takes the same time at any size.

use std::time::Duration;

use chancery_domain::{
    AccountId, AcmeAccountId, AuthorizationId, DnsName, GroupId, Identifier, OrderId, PolicyId, Timestamp,
};

use super::{END, NEWEST_FIRST};
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::{Value, params};

/// A cascade that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CascadeRow {
    /// What is left to do, in words of the service.
    pub detail: String,
    /// When the change was made that it follows.
    pub since: Timestamp,
}

/// Whose orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrdersOf {
    Account(AccountId),
    /// An ACME account, and the customer that it belongs to.
    AcmeAccount(AccountId, AcmeAccountId),
}

/// What an ACME account has given up: every permission that it had earned for one name, or for all names below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenUp {
    Name(Identifier),
    Below(DnsName),
}

impl GivenUp {
    /// The subject of the cascade. `GIVEN_UP_AT` makes the same text.
    pub fn subject(&self, acme_account: AcmeAccountId) -> String {
        match self {
            Self::Name(name) => format!("{acme_account} name {name}"),
            Self::Below(name) => format!("{acme_account} below {name}"),
        }
    }

    fn column(&self) -> (&'static str, String) {
        match self {
            Self::Name(name) => ("identifier", name.to_string()),
            Self::Below(name) => ("namespace", name.as_str().to_owned()),
        }
    }
}

/// When an authorization was given up that a cascade has not reached yet; otherwise nothing. What was earned after that is not
/// concerned.
pub(super) const GIVEN_UP_AT: &str =
    "CASE WHEN authorizations.state = 'valid' AND authorizations.acme_account_id IS NOT NULL THEN COALESCE(
        (SELECT jobs.created_at FROM jobs WHERE jobs.kind = 'cascade'
            AND jobs.subject = authorizations.acme_account_id || ' name ' || authorizations.identifier
            AND jobs.created_at >= authorizations.state_at),
        (SELECT jobs.created_at FROM jobs WHERE jobs.kind = 'cascade'
            AND jobs.subject = authorizations.acme_account_id || ' below ' || authorizations.namespace
            AND jobs.created_at >= authorizations.state_at)) END AS given_up_at";

/// An authorization that is to be deactivated, and the order that ends with it, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub id: AuthorizationId,
    pub name: Identifier,
    pub open_order: Option<OrderId>,
}

/// A page that was gone through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    pub rows: u32,
    /// Where the next one begins, if there may be one.
    pub next: Option<String>,
}

impl Tx<'_> {
    /// Adds the job of a cascade, which `node` begins at once. If its subject has one already, that one goes on with this
    /// detail, for what was there until the later of the two times.
    pub fn enqueue_cascade(
        &mut self,
        subject: &str,
        row: &CascadeRow,
        node: &str,
        now: Timestamp,
        lease: Duration,
    ) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO jobs (kind, subject, run_at, attempts, lease, created_at, detail)
             VALUES ('cascade', ?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT (kind, subject) DO UPDATE SET detail = excluded.detail,
             created_at = CASE WHEN jobs.created_at > excluded.created_at THEN jobs.created_at ELSE excluded.created_at END",
            params![subject, now.plus(lease), node, row.since, row.detail.as_str()],
        )
    }

    pub fn cascade(&mut self, subject: &str) -> Result<Option<CascadeRow>, StoreError> {
        let sql = "SELECT detail, created_at FROM jobs WHERE kind = 'cascade' AND subject = ?1";
        self.query_one(sql, params![subject], |row| {
            Ok(CascadeRow { detail: row.text_or_none()?.unwrap_or_default(), since: row.time()? })
        })
    }

    /// Locks a cascade until the unit of work ends; `false` if it is done, or has changed since it was read. Orders and
    /// groups are locked before it.
    pub fn lock_cascade(&mut self, subject: &str, seen: &CascadeRow) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM jobs WHERE kind = 'cascade' AND subject = ?1 AND created_at = ?2 AND detail = ?3";
        let params = params![subject, seen.since, seen.detail.as_str()];
        Ok(!self.query_claimed(sql, params, |_| Ok(()))?.is_empty())
    }

    /// Says what is left of a cascade.
    pub fn save_cascade(&mut self, subject: &str, detail: &str) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET detail = ?2 WHERE kind = 'cascade' AND subject = ?1";
        self.update("cascade", subject, &format!("{sql} AND detail IS NOT NULL"), params![subject, detail])
    }

    /// Whether an ACME account has given something up that a cascade is still under way for.
    pub fn gives_up(&mut self, acme_account: AcmeAccountId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM jobs WHERE kind = 'cascade' AND subject > ?1 AND subject < ?2 LIMIT 1";
        let (from, until) = (format!("{acme_account} "), format!("{acme_account}!"));
        Ok(self.query_one(sql, params![from, until], |_| Ok(()))?.is_some())
    }

    /// Up to `most` permissions that were given up and earned until `since`.
    pub fn reached_by_giving_up(
        &mut self,
        account: AccountId,
        acme_account: AcmeAccountId,
        given_up: &GivenUp,
        since: Timestamp,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<Reached>, StoreError> {
        let (column, name) = given_up.column();
        let sql = format!(
            "SELECT authorizations.id, authorizations.identifier, (SELECT orders.id FROM orders
                 WHERE orders.id = authorizations.order_id AND orders.state IN ('pending', 'ready')
                 AND orders.expires_at > ?5 AND orders.finalized_at IS NULL)
             FROM authorizations WHERE account_id = ?1 AND {column} = ?2 AND acme_account_id = ?3 AND state = 'valid'
             AND state_at <= ?4 LIMIT ?6"
        );
        self.query(&sql, params![account, name, acme_account, since, now, most], |row| {
            Ok(Reached {
                id: row.parsed()?,
                name: row.through(Identifier::from_stored)?,
                open_order: row.through_or_none(str::parse::<OrderId>)?,
            })
        })
    }

    /// Deactivates an authorization that is valid since `since` or longer.
    pub fn deactivate_authorization(
        &mut self,
        id: AuthorizationId,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE authorizations SET state = 'deactivated', state_at = ?3, validation = NULL, updated_at = ?3,
                   version = version + 1 WHERE id = ?1 AND state = 'valid' AND state_at <= ?2";
        self.put(sql, params![id, since, now])
    }

    /// Up to `most` orders that can still become something, each with how many names it has.
    pub fn open_orders(
        &mut self,
        whose: OrdersOf,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<(OrderId, i64)>, StoreError> {
        let (account, acme_account) = match whose {
            OrdersOf::Account(account) => (account, None),
            OrdersOf::AcmeAccount(account, acme_account) => (account, Some(acme_account)),
        };
        let mut params = vec![account.into(), now.into(), most.into()];
        let owner = match acme_account {
            Some(acme_account) => {
                params.push(Value::from(acme_account));
                "AND acme_account_id = ?4"
            }
            None => "",
        };
        let sql = format!(
            "SELECT id, (SELECT COUNT(*) FROM authorizations WHERE order_id = orders.id) FROM orders
             WHERE account_id = ?1 AND state IN ('pending', 'ready') AND expires_at > ?2 AND finalized_at IS NULL {owner}
             LIMIT ?3"
        );
        self.query(&sql, &params, |row| Ok((row.parsed()?, row.int()?)))
    }

    /// Revokes the first credential of an account, by which it is known.
    pub fn revoke_root_credential(&mut self, account: AccountId, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE eab_credentials SET revoked_at = ?2, updated_at = ?2, version = version + 1
                   WHERE account_id = ?1 AND is_root = 1 AND revoked_at IS NULL";
        self.put(sql, params![account, now])
    }

    /// Revokes those of the next `most` credentials of an account that are not revoked.
    pub fn revoke_credentials(
        &mut self,
        account: AccountId,
        after: Option<&str>,
        now: Timestamp,
        most: u32,
    ) -> Result<Turned, StoreError> {
        let sql = "UPDATE eab_credentials SET revoked_at = ?2, updated_at = ?2, version = version + 1
                   WHERE id = ?1 AND revoked_at IS NULL";
        self.change_page("eab_credentials", sql, account, after, now, most)
    }

    /// Revokes those of the next `most` ACME accounts of a customer that are active.
    pub fn revoke_acme_accounts(
        &mut self,
        account: AccountId,
        after: Option<&str>,
        now: Timestamp,
        most: u32,
    ) -> Result<Turned, StoreError> {
        let sql = "UPDATE acme_accounts SET state = 'revoked', state_at = ?2, updated_at = ?2, version = version + 1
                   WHERE id = ?1 AND state = 'active'";
        self.change_page("acme_accounts", sql, account, after, now, most)
    }

    fn change_page(
        &mut self,
        table: &str,
        change: &str,
        account: AccountId,
        after: Option<&str>,
        now: Timestamp,
        most: u32,
    ) -> Result<Turned, StoreError> {
        let page =
            format!("SELECT id FROM {table} WHERE account_id = ?1 AND id < ?2 ORDER BY id {NEWEST_FIRST} LIMIT ?3");
        let page = self.query(&page, params![account, after.unwrap_or(END), most], |row| row.text())?;
        for id in &page {
            self.put(change, params![id.as_str(), now])?;
        }
        let rows = u32::try_from(page.len()).unwrap_or(most);
        Ok(Turned { rows, next: page.last().filter(|_| rows == most).cloned() })
    }

    /// Deletes up to `most` memberships of a group that is gone; gives how many there were.
    pub fn delete_members(&mut self, group: GroupId, most: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM group_members WHERE group_id = ?1 AND account_id IN (
                   SELECT account_id FROM group_members WHERE group_id = ?1 LIMIT ?2)";
        self.execute(sql, params![group, most])
    }

    /// Takes a policy that is gone off up to `most` groups; gives how many there were.
    pub fn delete_assignments(&mut self, policy: PolicyId, most: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM group_policies WHERE policy_id = ?1 AND group_id IN (
                   SELECT group_id FROM group_policies WHERE policy_id = ?1 LIMIT ?2)";
        self.execute(sql, params![policy, most])
    }
}
