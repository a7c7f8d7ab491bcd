use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use chancery_domain::{Account, AcmeAccount, AcmeAccountId, EabCredential, Reseller, Timestamp};

use super::known_parties::Version;
use super::{account, acme_account, credential, qualified, reseller};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// Everybody who has to be in good standing for an ACME account to get anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub acme_account: AcmeAccount,
    /// The customer that it belongs to.
    pub account: Account,
    /// The credential that bound it.
    pub credential: EabCredential,
    pub reseller: Reseller,
}

/// A nonce that an ACME account wants to use up.
#[derive(Clone, Debug)]
pub struct NonceClaim {
    pub nonce: String,
    pub expires_at: Timestamp,
    /// The generation that it was issued in.
    pub generation: i64,
    pub account: AcmeAccountId,
}

/// What became of a claim.
#[derive(Clone, Debug)]
pub enum Redeemed {
    /// It was used up, by whoever there is under that id.
    By(Result<Option<Party>, StoreError>),
    /// It had been used up before, by whichever node.
    Before,
    /// It was issued in another generation than the current one, if there is one.
    Outdated(Option<i64>),
}

const JOINED: &str = "acme_accounts
    JOIN accounts ON accounts.id = acme_accounts.account_id
    JOIN eab_credentials ON eab_credentials.kid = acme_accounts.kid";

const WITH_RESELLER: &str = "JOIN resellers ON resellers.id = acme_accounts.reseller_id";

/// What is selected, and from where: one statement for all of them.
static SELECTED: LazyLock<String> = LazyLock::new(|| {
    let [acme, credential, reseller] = [
        ("acme_accounts", acme_account::COLUMNS),
        ("eab_credentials", credential::COLUMNS),
        ("resellers", reseller::COLUMNS),
    ]
    .map(|(table, columns)| qualified(table, columns));
    let account = account::COLUMNS;
    format!("{acme}, {account}, {credential}, {reseller} FROM {JOINED} {WITH_RESELLER} WHERE acme_accounts.id = ?1")
});
static ON_SQLITE: LazyLock<String> = LazyLock::new(|| format!("SELECT {}", *SELECTED));
static ON_POSTGRES: LazyLock<String> = LazyLock::new(|| format!("SELECT {HELD}, {RESELLER}, {}", *SELECTED));

/// Where the rows of PostgreSQL are, and which transactions put them there: rows that differ never have both in common. The last is
/// the root credential, of which customers tell whether it is revoked.
const HELD: &str = "CONCAT(acme_accounts.xmin, acme_accounts.ctid, accounts.xmin, accounts.ctid,
    eab_credentials.xmin, eab_credentials.ctid,
    (SELECT CONCAT(root.xmin, root.ctid) FROM eab_credentials AS root
     WHERE root.account_id = accounts.id AND root.is_root = 1))";
const RESELLER: &str = "CONCAT(resellers.xmin, resellers.ctid)";

static HELD_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {HELD} FROM {JOINED} WHERE acme_accounts.id = ?1"));
static RESELLER_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {RESELLER} FROM resellers WHERE id = (SELECT reseller_id FROM acme_accounts WHERE id = ?1)")
});

/// Of many. The limit keeps PostgreSQL from planning for all of them together, which may be to read whole tables.
static VERSIONS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT found.* FROM unnest(string_to_array(?1, ',')) AS wanted (id) CROSS JOIN LATERAL (
             SELECT acme_accounts.id, {HELD} AS held, {RESELLER} AS reseller FROM {JOINED} {WITH_RESELLER}
             WHERE acme_accounts.id = wanted.id LIMIT 1) AS found"
    )
});

/// The disk is not waited for: after a crash, which may lose what was redeemed last, no nonce of this generation is redeemed.
const REDEEM: &str = "WITH soon AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    INSERT INTO acme_nonces (nonce, expires_at)
    SELECT claimed.nonce, claimed.expires_at::bigint
    FROM soon, unnest(string_to_array(?1, ','), string_to_array(?2, ','), string_to_array(?3, ','))
        AS claimed (nonce, expires_at, generation)
    WHERE claimed.generation::bigint = (SELECT generation FROM acme_nonce_generation)
    ON CONFLICT DO NOTHING RETURNING nonce";

impl Tx<'_> {
    pub fn party(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        // Before them: where there is no transaction around both, they may be newer than it says, and are read once more.
        let version = match self.is_postgres() {
            true => self.query_one(&VERSIONS, params![id], read_version)?.map(|(_, version)| version),
            false => Some(Version::Epoch(self.epoch("parties")?)),
        };
        version.map_or(Ok(None), |version| self.party_at(id, &version))
    }

    /// The party of an ACME account, which stays as it is until the unit of work ends, as do customer and credential.
    pub fn hold_party(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        self.hold("accounts, acme_accounts, eab_credentials", id)
    }

    /// The party of an ACME account, of which only that and the credential stay as they are until the unit of work
    /// ends: for units that claim one of them, which comes after customers are held.
    pub fn hold_speaker(&mut self, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        self.hold("acme_accounts, eab_credentials", id)
    }

    /// Whoever waits for rows to hold finds those as they are then, and all others as they were before. The reseller is
    /// not held, since every unit of work of all their customers would write on that row; so they are asked for afterwards.
    fn hold(&mut self, tables: &str, id: AcmeAccountId) -> Result<Option<Party>, StoreError> {
        if !self.is_postgres() {
            return self.party(id);
        }
        let held = self.locking(&HELD_VERSION, &format!("FOR SHARE OF {tables}"));
        self.foresee(|tx| drop(tx.query_one(&RESELLER_VERSION, params![id], |row| row.text())));
        let held = self.query_one(&held, params![id], |row| row.text())?;
        let reseller = self.query_one(&RESELLER_VERSION, params![id], |row| row.text())?;
        let version = held.zip(reseller).map(|(held, reseller)| Version::Rows { held, reseller });
        version.map_or(Ok(None), |version| self.party_at(id, &version))
    }

    /// Uses nonces up, and reads who wants to use them: without a transaction around it, on one way to the database where they
    /// are known. One of them who cannot be read is nobody else's trouble. For PostgreSQL, where several nodes may share the
    /// database.
    pub fn redeem_and_find(&mut self, claims: &[NonceClaim]) -> Result<Vec<Redeemed>, StoreError> {
        // Of two who claim several of the same nonces, each in another order, each would wait for the other.
        let mut ordered: Vec<_> = claims.iter().collect();
        ordered.sort_unstable_by(|one, other| one.nonce.cmp(&other.nonce));
        let nonces = list(ordered.iter().map(|claim| claim.nonce.clone()));
        let ends = list(ordered.iter().map(|claim| claim.expires_at.as_millis().to_string()));
        let generations = list(ordered.iter().map(|claim| claim.generation.to_string()));
        let ids = list(claims.iter().map(|claim| claim.account.to_string()));
        self.foresee(|tx| drop(tx.query(&VERSIONS, params![ids.as_str()], read_version)));
        let taken = self.query(REDEEM, params![nonces, ends, generations], |row| row.text())?;
        let mut taken: HashSet<_> = taken.into_iter().collect();
        let versions = self.query(&VERSIONS, params![ids.as_str()], read_version)?;
        let versions: HashMap<_, _> = versions.into_iter().collect();
        self.foresee(|tx| versions.iter().for_each(|(id, version)| drop(tx.party_at(*id, version))));
        let current = if taken.len() < claims.len() { self.nonce_generation()? } else { None };
        let found = claims.iter().map(|claim| match (taken.remove(&claim.nonce), versions.get(&claim.account)) {
            (false, _) if current == Some(claim.generation) => Redeemed::Before,
            (false, _) => Redeemed::Outdated(current),
            (true, None) => Redeemed::By(Ok(None)),
            (true, Some(version)) => Redeemed::By(self.party_at(claim.account, version)),
        });
        Ok(found.collect())
    }

    /// The party as it is, which need not be read where it is known to have this version.
    fn party_at(&mut self, id: AcmeAccountId, version: &Version) -> Result<Option<Party>, StoreError> {
        let known = self.known();
        if let Some(party) = known.and_then(|known| known.parties.get(id, version)) {
            return Ok(Some(party));
        }
        let found = match self.is_postgres() {
            true => self.query_one(&ON_POSTGRES, params![id], |row| {
                let version = Version::Rows { held: row.text()?, reseller: row.text()? };
                Ok((version, read(row)?))
            })?,
            false => self.query_one(&ON_SQLITE, params![id], read)?.map(|party| (version.clone(), party)),
        };
        if let (Some((version, party)), Some(known)) = (&found, known.filter(|known| known.keeps)) {
            known.parties.keep(id, version, party);
        }
        Ok(found.map(|(_, party)| party))
    }
}

fn list(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(",")
}

fn read_version(row: &mut Columns<'_>) -> Result<(AcmeAccountId, Version), StoreError> {
    Ok((row.parsed()?, Version::Rows { held: row.text()?, reseller: row.text()? }))
}

fn read(row: &mut Columns<'_>) -> Result<Party, StoreError> {
    Ok(Party {
        acme_account: acme_account::read(row)?,
        account: account::read(row)?,
        credential: credential::read(row)?,
        reseller: reseller::read(row)?,
    })
}
