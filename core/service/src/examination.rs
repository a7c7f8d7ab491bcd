//! What a database holds, looked at without the service around it and without changing anything.

use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::Certificate;
use chancery_seal::Keyring;
use chancery_store::{IssuerKind, IssuerRecord, IssuerRevocation, IssuerState, Store, Tx};

use crate::ca_key::{CaKeys, KeyPlace};
use crate::chains::preferred;
use crate::error::ServiceError;
use crate::operator::Secrets;
use crate::operator::secrets::try_secrets;

/// What was found.
#[derive(Clone, Debug)]
pub struct Examination {
    pub secrets: Secrets,
    pub issuers: Vec<ExaminedIssuer>,
    pub lists: Vec<ExaminedList>,
    /// When something was last written that bears a date.
    pub last_written_at: Option<Timestamp>,
}

/// A CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExaminedIssuer {
    pub id: IssuerId,
    pub name: String,
    pub kind: IssuerKind,
    pub state: IssuerState,
    /// Since when it is revoked, and why.
    pub revocation: Option<IssuerRevocation>,
    /// The end of its certificate; none where that cannot be read.
    pub not_after: Option<Timestamp>,
    /// The end of the chain that is preferred to the one of its certificate.
    pub chain_ends: Option<Timestamp>,
    /// Where its key is; none where that does not open.
    pub place: Option<KeyPlace>,
    /// Why it cannot sign: the key does not open, is another certificate's, or is in a token that does not have it.
    pub unfit: Option<String>,
}

/// A revocation list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExaminedList {
    pub issuer: IssuerId,
    pub shard: i64,
    /// Whether there is one yet.
    pub published: bool,
    /// Whether a revocation is not on it yet.
    pub lacking: bool,
    pub this_update: Timestamp,
    pub next_update: Timestamp,
}

/// Looks at everything.
pub async fn examine(store: &Store, keyring: &Keyring, ca_keys: &CaKeys) -> Result<Examination, ServiceError> {
    let secrets = try_secrets(store, keyring).await?;
    let read = |tx: &mut Tx<'_>| Ok::<_, ServiceError>((tx.issuers()?, tx.crl_heads()?, tx.last_written_at()?));
    let (issuers, heads, last_written_at) = store.read(read).await?;
    let list = |head: chancery_store::CrlHead| ExaminedList {
        issuer: head.issuer,
        shard: head.shard,
        published: head.number > 0,
        lacking: head.lacking,
        this_update: head.this_update,
        next_update: head.next_update,
    };
    Ok(Examination {
        secrets,
        issuers: issuers.iter().map(|record| examined(record, ca_keys)).collect(),
        lists: heads.into_iter().map(list).collect(),
        last_written_at,
    })
}

fn examined(record: &IssuerRecord, ca_keys: &CaKeys) -> ExaminedIssuer {
    let certificate = Certificate::from_der(&record.certificate);
    let chain = preferred(record).ok().flatten();
    let fit = ca_keys.open(record).and_then(|issuer| Ok(issuer.check_key()?));
    ExaminedIssuer {
        id: record.id,
        name: record.name.clone(),
        kind: record.kind,
        state: record.state,
        revocation: record.revocation,
        not_after: certificate.as_ref().ok().map(|certificate| Timestamp::from_secs(certificate.not_after())),
        chain_ends: chain.map(|chain| Timestamp::from_secs(chain.not_after())),
        place: ca_keys.home(record).ok().map(|home| home.place),
        unfit: fit.err().map(|error| error.to_string()),
    }
}
