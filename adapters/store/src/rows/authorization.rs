use std::sync::LazyLock;

use chancery_domain::{
    AccountId, AcmeAccountId, Authorization, AuthorizationId, AuthorizationState, CLOCK_SKEW, DnsName, Identifier,
    OrderId, ResellerId, Timestamp,
};

use super::OWN;
use super::cascade::GIVEN_UP_AT;
use super::evidence::{read_challenges, read_validation, write_challenges, write_validation};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str = "id, reseller_id, account_id, order_id, identifier, state, state_at, validation, challenges,
    expires_at, created_at, updated_at, version, acme_account_id, namespace";

/// What `read` reads: one that was given up is deactivated, even before that is written in its row.
static SELECTED: LazyLock<String> = LazyLock::new(|| format!("{COLUMNS}, {GIVEN_UP_AT}"));

impl Tx<'_> {
    /// Adds an authorization at its place in its order.
    pub fn insert_authorization(&mut self, authorization: &Authorization, position: u32) -> Result<(), StoreError> {
        let (state, state_at, validation) = write_state(&authorization.state);
        self.put(
            &format!(
                "INSERT INTO authorizations ({COLUMNS}, position)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
            ),
            params![
                authorization.id,
                authorization.reseller,
                authorization.account,
                authorization.order,
                authorization.identifier.to_string(),
                state,
                state_at.unwrap_or(authorization.created_at),
                validation,
                write_challenges(&authorization.challenges),
                authorization.expires_at,
                authorization.created_at,
                authorization.updated_at,
                authorization.version,
                authorization.acme_account,
                authorization.namespace.as_ref().map(DnsName::as_str),
                position,
            ],
        )?;
        Ok(())
    }

    pub fn authorization(
        &mut self,
        reseller: ResellerId,
        id: AuthorizationId,
    ) -> Result<Option<Authorization>, StoreError> {
        let sql = format!("SELECT {} FROM authorizations WHERE {OWN}", *SELECTED);
        self.query_one(&sql, params![id, reseller], read)
    }

    /// For the service itself, which works for every reseller.
    pub fn any_authorization(&mut self, id: AuthorizationId) -> Result<Option<Authorization>, StoreError> {
        self.query_one(&format!("SELECT {} FROM authorizations WHERE id = ?1", *SELECTED), params![id], read)
    }

    /// The authorizations of an order, in the order of its names.
    pub fn authorizations(&mut self, order: OrderId) -> Result<Vec<Authorization>, StoreError> {
        let sql = format!("SELECT {} FROM authorizations WHERE order_id = ?1 ORDER BY position", *SELECTED);
        self.query(&sql, params![order], read)
    }

    /// The earned permissions of an account that hold longest beyond `until`: for a name and for all names below others, each where
    /// there is one, in this order. What an ACME account has earned is its own, and what it has not is none of its.
    pub fn valid_authorizations(
        &mut self,
        account: AccountId,
        acme_account: Option<AcmeAccountId>,
        identifier: Option<&Identifier>,
        namespaces: &[DnsName],
        until: Timestamp,
    ) -> Result<Vec<Authorization>, StoreError> {
        let names = identifier.map(|identifier| ("identifier", identifier.to_string())).into_iter();
        let names = names.chain(namespaces.iter().map(|namespace| ("namespace", namespace.as_str().to_owned())));
        // What a clock that was ahead has dated proves nothing, and is not to stand before what does.
        let mut params = params![account, until, until.plus(CLOCK_SKEW)].to_vec();
        let owner = match acme_account {
            Some(id) => {
                params.push(id.into());
                "= ?4"
            }
            None => "IS NULL",
        };
        let mut longest = Vec::new();
        for (place, (column, name)) in names.enumerate() {
            params.push(name.into());
            longest.push(format!(
                "SELECT CAST({place} AS BIGINT) AS place, {} FROM authorizations
                 WHERE account_id = ?1 AND {column} = ?{} AND acme_account_id {owner} AND state = 'valid'
                 AND expires_at > ?2 AND state_at <= ?3 ORDER BY expires_at DESC LIMIT 1",
                *SELECTED,
                params.len()
            ));
        }
        let sql = match longest.as_slice() {
            [] => return Ok(Vec::new()),
            // By far the most: SQLite would make a table of it within another.
            [one] => one.clone(),
            several => {
                let each = several.iter().enumerate();
                let each: Vec<_> =
                    each.map(|(place, sql)| format!("SELECT * FROM ({sql}) AS longest_{place}")).collect();
                format!("{} ORDER BY place", each.join(" UNION ALL "))
            }
        };
        self.query(&sql, &params, |row| row.int().and_then(|_| read(row)))
    }

    pub fn save_authorization(&mut self, authorization: &Authorization) -> Result<(), StoreError> {
        let (state, state_at, validation) = write_state(&authorization.state);
        self.update(
            "authorization",
            authorization.id,
            "UPDATE authorizations SET state = ?3, state_at = ?4, validation = ?5, challenges = ?6, expires_at = ?7,
             updated_at = ?8, version = version + 1 WHERE id = ?1 AND version = ?2",
            params![
                authorization.id,
                authorization.version,
                state,
                state_at.unwrap_or(authorization.updated_at),
                validation,
                write_challenges(&authorization.challenges),
                authorization.expires_at,
                authorization.updated_at,
            ],
        )
    }
}

fn write_state(state: &AuthorizationState) -> (&'static str, Option<Timestamp>, Option<String>) {
    match state {
        AuthorizationState::Pending => ("pending", None, None),
        AuthorizationState::Valid(validation) => ("valid", Some(validation.at), Some(write_validation(validation))),
        AuthorizationState::Invalid { at } => ("invalid", Some(*at), None),
        AuthorizationState::Deactivated { at } => ("deactivated", Some(*at), None),
        AuthorizationState::Revoked { at } => ("revoked", Some(*at), None),
    }
}

fn read_state(state: &str, at: Timestamp, validation: Option<String>) -> Result<AuthorizationState, StoreError> {
    Ok(match (state, validation) {
        ("pending", None) => AuthorizationState::Pending,
        ("valid", Some(validation)) => AuthorizationState::Valid(read_validation(&validation)?),
        ("invalid", None) => AuthorizationState::Invalid { at },
        ("deactivated", None) => AuthorizationState::Deactivated { at },
        ("revoked", None) => AuthorizationState::Revoked { at },
        _ => return Err(StoreError::corrupt("authorizations.state")),
    })
}

fn read(row: &mut Columns<'_>) -> Result<Authorization, StoreError> {
    let mut authorization = Authorization {
        id: row.parsed()?,
        reseller: row.parsed()?,
        account: row.parsed()?,
        order: row.through_or_none(str::parse::<OrderId>)?,
        identifier: row.through(Identifier::from_stored)?,
        state: read_state(&row.text()?, row.time()?, row.text_or_none()?)?,
        challenges: row.through(read_challenges)?,
        expires_at: row.time()?,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
        acme_account: row.through_or_none(str::parse::<AcmeAccountId>)?,
        namespace: row.through_or_none(DnsName::from_stored)?,
    };
    if let Some(at) = row.time_or_none()? {
        authorization.state = AuthorizationState::Deactivated { at };
    }
    Ok(authorization)
}
