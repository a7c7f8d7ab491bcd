//! Lists of certificates, by whichever conditions were asked for.

use chancery_domain::{AccountId, CertificateRecord, CertificateStatus, Kid, Page, PageRequest, ResellerId, Timestamp};

use super::certificate::{SELECT, read};
use super::walk::{self, LOOKED_THROUGH, Narrowed, Walk};
use super::{NEWEST_FIRST, bounds};
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::Value;

/// Which certificates of a reseller to list. `now` tells the expired from the issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFilter {
    pub account: Option<AccountId>,
    /// Of every account that has or had this e-mail address when it ended.
    pub email_key: Option<String>,
    pub kid: Option<Kid>,
    pub statuses: Vec<CertificateStatus>,
    pub name: Option<String>,
    pub profile: Option<String>,
    pub serial: Option<String>,
    pub expires_before: Option<Timestamp>,
    /// At this time or later, so that every certificate ends on one side of a time.
    pub expires_after: Option<Timestamp>,
    pub external_id: Option<String>,
    pub now: Timestamp,
}

impl Tx<'_> {
    /// A page of a reseller's certificates, newest first.
    pub fn certificates(
        &mut self,
        reseller: ResellerId,
        filter: &CertificateFilter,
        page: &PageRequest,
    ) -> Result<Page<CertificateRecord>, StoreError> {
        self.in_parts(page, |tx, part| tx.some_certificates(reseller, filter, part))
    }

    fn some_certificates(
        &mut self,
        reseller: ResellerId,
        filter: &CertificateFilter,
        page: &PageRequest,
    ) -> Result<Page<CertificateRecord>, StoreError> {
        let (after, limit) = bounds(page);
        let driver = Driver::of(filter);
        let owners = match (driver, &filter.email_key) {
            (Driver::Email, Some(email)) => self.owners(reseller, email)?,
            _ => Vec::new(),
        };
        if let (Driver::Email, [] | [_]) = (driver, owners.as_slice()) {
            let Some(only) = owners.first() else { return Ok(Page::empty(None)) };
            let filter = CertificateFilter { account: Some(*only), email_key: None, ..filter.clone() };
            return self.some_certificates(reseller, &filter, page);
        }
        let end = self.end_of_owners(&owners, &after)?;
        let walk = driver.walk(filter);
        let mut params = vec![reseller.into(), after.into(), limit.into()];
        let sql = match &walk {
            Some(walk) if driver != Driver::Name => {
                SELECT.replace(" FROM certificates ", &format!(" FROM ({}) AS certificates ", walk.rows(&mut params)))
            }
            _ => SELECT.to_owned(),
        };
        let mut query = Narrowed { sql: sql + " WHERE certificates.id < ?2 AND ", params };
        // One condition is left to an index; `|| ''` and `+` keep the others from theirs.
        let left_to_index = |this: Driver, column: &str| match driver == this {
            true => format!("{column} ="),
            false => format!("{column} || '' ="),
        };
        let by_reseller = if driver.leads_with_reseller() { "=" } else { "|| '' =" };
        query.sql.push_str(&format!("certificates.reseller_id {by_reseller} ?1"));
        query.by(&left_to_index(Driver::Account, "account_id"), filter.account.map(Value::from));
        query.by(&left_to_index(Driver::Kid, "certificates.kid"), filter.kid.map(Value::from));
        query.by(&left_to_index(Driver::Profile, "profile"), filter.profile.as_deref().map(Value::from));
        query.by("serial =", filter.serial.as_deref().map(Value::from));
        query.by("certificates.external_id =", filter.external_id.as_deref().map(Value::from));
        query.by("+not_after <", filter.expires_before.map(Value::from));
        query.by("+not_after >=", filter.expires_after.map(Value::from));
        if driver == Driver::Email {
            query.by_owners(&owners);
            query.by("certificates.id >=", end.as_deref().map(Value::from));
        } else if let Some(email) = filter.email_key.as_deref() {
            query.params.push(Value::from(email));
            let place = query.params.len();
            query.sql.push_str(&format!(
                " AND account_id IN (SELECT id FROM accounts WHERE reseller_id = ?1 AND email_key = ?{place})"
            ));
        }
        if let Some(name) = filter.name.as_deref() {
            query.params.push(Value::from(name));
            let place = query.params.len();
            // One that is found by itself is not walked to, and may lie further back.
            let most = match driver {
                Driver::One => String::new(),
                _ => format!(" ORDER BY certificate_id DESC LIMIT {LOOKED_THROUGH}"),
            };
            query.sql.push_str(&format!(
                " AND certificates.id IN (SELECT certificate_id FROM certificate_names
                   WHERE reseller_id = ?1 AND name = ?{place} AND certificate_id < ?2{most})"
            ));
        }
        let state = if driver == Driver::State { "state" } else { "state || ''" };
        query.by_status(state, &filter.statuses, filter.now);
        query.sql.push_str(&format!(" ORDER BY certificates.id {NEWEST_FIRST} LIMIT ?3"));
        let rows = self.query(&query.sql, &query.params, read)?;
        let mut found =
            walk::page(self, walk.as_ref(), reseller, page, rows, |certificate| certificate.id.to_string())?;
        found.next = found.next.or(end);
        Ok(found)
    }

    /// The accounts that have or had an e-mail address, the newest of them.
    fn owners(&mut self, reseller: ResellerId, email: &str) -> Result<Vec<AccountId>, StoreError> {
        let sql = format!(
            "SELECT id FROM accounts WHERE reseller_id = ?1 AND email_key = ?2 ORDER BY id {NEWEST_FIRST} LIMIT ?3"
        );
        self.query(&sql, &[reseller.into(), email.into(), MOST_OWNERS.into()], |row| row.parsed())
    }

    /// The key at which a page of several accounts ends: below it one of them has more than its part of the rows that a
    /// page looks through.
    fn end_of_owners(&mut self, owners: &[AccountId], after: &str) -> Result<Option<String>, StoreError> {
        let each = LOOKED_THROUGH / i64::try_from(owners.len()).unwrap_or(1).max(1);
        let sql = format!(
            "SELECT id FROM certificates WHERE account_id = ?1 AND id < ?2 ORDER BY id {NEWEST_FIRST} LIMIT 1 OFFSET ?3"
        );
        let mut end = None;
        for owner in owners {
            let params = [(*owner).into(), after.into(), (each - 1).into()];
            end = end.max(self.query_one(&sql, &params, |row| row.text())?);
        }
        Ok(end)
    }
}

/// Accounts with the same e-mail address that are looked at: one is live, the others were terminated.
const MOST_OWNERS: i64 = 100;

/// The condition that an index serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Driver {
    /// A serial number or an external id: there is one at most.
    One,
    Name,
    Account,
    Kid,
    /// The accounts with an e-mail address, each by its own index.
    Email,
    State,
    Profile,
    Reseller,
}

impl Driver {
    fn of(filter: &CertificateFilter) -> Self {
        match filter {
            CertificateFilter { serial: Some(_), .. } | CertificateFilter { external_id: Some(_), .. } => Self::One,
            CertificateFilter { name: Some(_), .. } => Self::Name,
            CertificateFilter { account: Some(_), .. } => Self::Account,
            CertificateFilter { kid: Some(_), .. } => Self::Kid,
            CertificateFilter { email_key: Some(_), .. } => Self::Email,
            filter if state_of(&filter.statuses).is_some() => Self::State,
            CertificateFilter { profile: Some(_), .. } => Self::Profile,
            _ => Self::Reseller,
        }
    }

    fn leads_with_reseller(self) -> bool {
        match self {
            Self::State | Self::Profile | Self::Reseller => true,
            Self::One | Self::Name | Self::Account | Self::Kid | Self::Email => false,
        }
    }

    /// How the list is walked, where it has to be bounded.
    fn walk(self, filter: &CertificateFilter) -> Option<Walk> {
        let (table, key) = ("certificates", "id");
        let (by, served) = match self {
            Self::One | Self::Email => return None,
            Self::Name => {
                let by = Some(("name", Value::from(filter.name.as_deref()?)));
                let (table, key) = ("certificate_names", "certificate_id");
                return Some(Walk { table, columns: "*", key, by, of_reseller: true, order: "DESC" });
            }
            Self::Account => (Some(("account_id", Value::from(filter.account?))), 1),
            Self::Kid => (Some(("kid", Value::from(filter.kid?))), 1),
            // What the clock says of a state no index knows.
            Self::State => {
                let revoked = filter.statuses.contains(&CertificateStatus::Revoked);
                (Some(("state", Value::from(state_of(&filter.statuses)?))), u32::from(revoked))
            }
            Self::Profile => (Some(("profile", Value::from(filter.profile.as_deref()?))), 1),
            Self::Reseller => (None, 0),
        };
        let asked = [
            filter.account.is_some(),
            filter.kid.is_some(),
            filter.email_key.is_some(),
            !filter.statuses.is_empty(),
            filter.profile.is_some(),
            filter.expires_before.is_some(),
            filter.expires_after.is_some(),
        ];
        let asked: u32 = asked.into_iter().map(u32::from).sum();
        let of_reseller = self.leads_with_reseller();
        (asked > served).then_some(Walk { table, columns: "*", key, by, of_reseller, order: NEWEST_FIRST })
    }
}

/// The one state that certificates with these statuses are in, if it is one.
fn state_of(statuses: &[CertificateStatus]) -> Option<&'static str> {
    let state = |status: &CertificateStatus| match status {
        CertificateStatus::Pending => Some("pending"),
        CertificateStatus::Issued | CertificateStatus::Expired => Some("issued"),
        CertificateStatus::Revoked => Some("revoked"),
        // Or pending, and too old.
        CertificateStatus::Cancelled => None,
    };
    let first = state(statuses.first()?)?;
    statuses.iter().all(|status| state(status) == Some(first)).then_some(first)
}

/// Each once and in one order, however they are asked for: every other text would be one more to prepare.
const STATUSES: [CertificateStatus; 5] = [
    CertificateStatus::Pending,
    CertificateStatus::Issued,
    CertificateStatus::Cancelled,
    CertificateStatus::Revoked,
    CertificateStatus::Expired,
];

impl Narrowed {
    fn by_owners(&mut self, owners: &[AccountId]) {
        let first = self.params.len() + 1;
        self.params.extend(owners.iter().map(|owner| Value::from(*owner)));
        let places: Vec<_> = (first..=self.params.len()).map(|place| format!("?{place}")).collect();
        self.sql.push_str(&format!(" AND account_id IN ({})", places.join(", ")));
    }

    /// Any of the statuses; an issued certificate is expired by the clock alone.
    fn by_status(&mut self, state: &str, statuses: &[CertificateStatus], now: Timestamp) {
        if statuses.is_empty() {
            return;
        }
        // Only where a condition asks for it: PostgreSQL could not tell the type of a parameter that nothing uses.
        if statuses.iter().any(|status| *status != CertificateStatus::Revoked) {
            self.params.push(now.into());
        }
        let now = self.params.len();
        let conditions: Vec<_> = STATUSES
            .iter()
            .filter(|status| statuses.contains(status))
            .map(|status| match status {
                CertificateStatus::Pending => {
                    format!("({state} = 'pending' AND (pending_until IS NULL OR pending_until > ?{now}))")
                }
                CertificateStatus::Cancelled => {
                    format!("({state} = 'cancelled' OR ({state} = 'pending' AND pending_until <= ?{now}))")
                }
                CertificateStatus::Revoked => format!("{state} = 'revoked'"),
                CertificateStatus::Issued => format!("({state} = 'issued' AND +not_after >= ?{now})"),
                CertificateStatus::Expired => format!("({state} = 'issued' AND +not_after < ?{now})"),
            })
            .collect();
        // Said plainly where it is one, so that an index on it fits.
        if let (Some(only), "state") = (state_of(statuses), state) {
            self.sql.push_str(&format!(" AND state = '{only}'"));
        }
        self.sql.push_str(&format!(" AND ({})", conditions.join(" OR ")));
    }
}
