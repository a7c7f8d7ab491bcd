//! What a database holds, looked at without the service around it and without changing anything.

use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::Certificate;
use chancery_seal::Keyring;
use chancery_store::{IssuerKind, IssuerRecord, IssuerRevocation, IssuerState, Store, Tx};

use crate::ca_key::open_issuer;
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
    /// Why it cannot sign: the key does not open, or is another certificate's.
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
pub async fn examine(store: &Store, keyring: &Keyring) -> Result<Examination, ServiceError> {
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
        issuers: issuers.iter().map(|record| examined(record, keyring)).collect(),
        lists: heads.into_iter().map(list).collect(),
        last_written_at,
    })
}

fn examined(record: &IssuerRecord, keyring: &Keyring) -> ExaminedIssuer {
    let certificate = Certificate::from_der(&record.certificate);
    ExaminedIssuer {
        id: record.id,
        name: record.name.clone(),
        kind: record.kind,
        state: record.state,
        revocation: record.revocation,
        not_after: certificate.as_ref().ok().map(|certificate| Timestamp::from_secs(certificate.not_after())),
        unfit: open_issuer(keyring, record).err().map(|error| error.to_string()),
    }
}
