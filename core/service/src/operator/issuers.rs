//! The life of issuing CAs: one is made, takes over from another, is retired, comes back.

use chancery_domain::{Action, IssuerId, KeyType, ProfileName, Timestamp};
use chancery_pki::{CaName, KeyAlgorithm, SubscriberProfile};
use chancery_store::{IssuerKind, IssuerRecord, IssuerState, Tx};
use serde_json::json;

use super::Operator;
use super::hierarchy::{IssuerDetails, details, settle, unmade};
use crate::ca_key::{KeyPlace, NewKey};
use crate::error::{Noun, ServiceError};
use crate::issuers::{Candidate, Family, gaps, suitable, users};
use crate::settings::Issuing;

/// A CA and the one that took over from it.
#[derive(Clone)]
pub struct RotatedIssuer {
    pub old: IssuerDetails,
    pub new: IssuerDetails,
}

/// What an issuing CA is to be.
#[derive(Clone, Debug)]
pub struct NewIssuer {
    pub key: KeyAlgorithm,
    /// The next number of its kind where nobody says.
    pub name: Option<String>,
    /// Where its key is made; the usual place where nobody says.
    pub place: Option<KeyPlace>,
    /// One that is retired issues nothing before it is activated.
    pub state: IssuerState,
}

impl From<KeyAlgorithm> for NewIssuer {
    fn from(key: KeyAlgorithm) -> Self {
        Self { key, name: None, place: None, state: IssuerState::Active }
    }
}

impl Operator {
    /// Makes an issuing CA below the newest root.
    pub async fn create_issuer(&self, new: impl Into<NewIssuer>) -> Result<IssuerDetails, ServiceError> {
        let NewIssuer { key, name, place, state } = new.into();
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        let root = records.iter().rev().find(|record| record.kind == IssuerKind::Root);
        let root = root.ok_or_else(|| ServiceError::not_found(Noun::Issuer))?;
        let name = name.unwrap_or_else(|| next_of_kind(&records, key));
        require_free(&records, &name)?;
        let (mut new, made) = self.make_below(root, &name, key, place).await?;
        new.state = state;
        let me = self.clone();
        let added = self
            .kernel
            .store
            .write(move |tx| {
                let before = tx.claim_issuers()?;
                require_vouched_for(&before, &new)?;
                let detail = json!({
                    "name": new.name, "keyType": KeyType::from(key).as_str(), "state": new.state.as_str(),
                });
                me.add(tx, &before, &new, &detail)?;
                details(&new)
            })
            .await;
        settle(vec![made], added, |_| true)
    }

    /// Makes a successor with the same kind of key below the same root; the old one is retired. Without a place its key is
    /// made in the usual one, wherever the old one's is.
    pub async fn rotate_issuer(&self, which: &str, place: Option<KeyPlace>) -> Result<RotatedIssuer, ServiceError> {
        let records = self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?;
        let old = find_issuing(&records, which)?;
        require_rotatable(old)?;
        let root = records.iter().find(|record| Some(record.id) == old.parent);
        let root = root.ok_or_else(|| ServiceError::internal("an issuing CA without a root"))?;
        let key = key_of(&details(old)?).ok_or_else(|| ServiceError::internal("a CA with a strange key"))?;
        let (new, made) = self.make_below(root, &successor(&old.name, &records), key, place).await?;
        let (me, old) = (self.clone(), old.id);
        let rotated = self
            .kernel
            .store
            .write(move |tx| {
                let before = tx.claim_issuers()?;
                before.iter().filter(|record| record.id == old).try_for_each(require_rotatable)?;
                me.add(tx, &before, &new, &json!({"name": new.name, "succeeds": old.to_string()}))?;
                let old = me.change(tx, &before, old, IssuerState::Retired, Action::IssuerRetire)?;
                Ok(RotatedIssuer { old, new: details(&new)? })
            })
            .await;
        settle(vec![made], rotated, |_| true)
    }

    /// Stops a CA from issuing. What it issued is still served, and it still signs revocations.
    pub async fn retire_issuer(&self, which: &str) -> Result<IssuerDetails, ServiceError> {
        self.move_issuer(which, IssuerState::Retired, Action::IssuerRetire).await
    }

    /// Lets a retired CA issue again.
    pub async fn activate_issuer(&self, which: &str) -> Result<IssuerDetails, ServiceError> {
        self.move_issuer(which, IssuerState::Active, Action::IssuerActivate).await
    }

    /// The profiles whose certificates a CA signs, now.
    pub fn profiles_of(&self, issuers: &[IssuerDetails], id: IssuerId) -> Vec<ProfileName> {
        users(&self.candidates(issuers), &self.kernel.settings.issuing, id)
    }

    async fn move_issuer(
        &self,
        which: &str,
        state: IssuerState,
        action: Action,
    ) -> Result<IssuerDetails, ServiceError> {
        let (me, which) = (self.clone(), which.to_owned());
        self.kernel
            .store
            .write(move |tx| {
                let before = tx.claim_issuers()?;
                let id = find_issuing(&before, &which)?.id;
                me.change(tx, &before, id, state, action)
            })
            .await
    }

    /// Changes where a CA stands, unless that leaves a profile without any. The CAs are claimed.
    fn change(
        &self,
        tx: &mut Tx<'_>,
        before: &[IssuerRecord],
        id: IssuerId,
        state: IssuerState,
        action: Action,
    ) -> Result<IssuerDetails, ServiceError> {
        let missing = || ServiceError::NotFound(Noun::Issuer, vec![id.to_string()]);
        let record = before.iter().find(|record| record.id == id).ok_or_else(missing)?;
        if record.state == state {
            return details(record);
        }
        if record.revocation.is_some() {
            return Err(refusal(format!("{} is revoked, for good; make another CA instead", record.name)));
        }
        require_vouched_for(before, &IssuerRecord { state, ..record.clone() })?;
        tx.set_issuer_state(id, state)?;
        let issuing = &self.kernel.settings.issuing;
        let known = |records: &[IssuerRecord]| records.iter().map(details).collect::<Result<Vec<_>, _>>();
        let gaps_before = gaps(&self.candidates(&known(before)?), issuing);
        let after = known(&tx.issuers()?)?;
        let mut opened = gaps(&self.candidates(&after), issuing);
        opened.retain(|gap| !gaps_before.contains(gap));
        if let Some((profile, key)) = opened.first() {
            return Err(refusal(format!(
                "no other active CA may sign {key} certificates of the profile {profile}; make or activate one that \
                 its `issuers` allow, then retire {}",
                record.name
            )));
        }
        self.record(tx, None, action, id, &json!({"name": record.name}))?;
        after.into_iter().find(|issuer| issuer.id == id).ok_or_else(missing)
    }

    /// The CAs of before are claimed.
    fn add(
        &self,
        tx: &mut Tx<'_>,
        before: &[IssuerRecord],
        made: &IssuerRecord,
        detail: &serde_json::Value,
    ) -> Result<(), ServiceError> {
        require_free(before, &made.name)?;
        if !tx.insert_issuer(made)? {
            return Err(ServiceError::NameInUse(Noun::Issuer, made.name.clone()));
        }
        self.record(tx, None, Action::IssuerCreate, made.id, detail)
    }

    async fn make_below(
        &self,
        root: &IssuerRecord,
        name: &str,
        key: KeyAlgorithm,
        place: Option<KeyPlace>,
    ) -> Result<(IssuerRecord, NewKey), ServiceError> {
        let parent = self.open_root(root).map_err(ServiceError::internal)?;
        let subject = CaName::beside(parent.issuer.certificate(), name).map_err(refusal)?;
        let key = self.generate(place, vec![(name.to_owned(), key)]).await?.remove(0);
        match self.make_issuing(&parent, name, &subject, &key) {
            Ok(made) => Ok((made, key)),
            Err(error) => {
                key.discard();
                Err(unmade(error))
            }
        }
    }

    pub(super) fn candidates<'a>(&self, issuers: &'a [IssuerDetails]) -> Vec<Recorded<'a>> {
        recorded(issuers, self.kernel.now())
    }
}

/// That no CA has this name, or one that differs in capitals alone.
fn require_free(records: &[IssuerRecord], name: &str) -> Result<(), ServiceError> {
    match records.iter().any(|record| is_same_name(&record.name, name)) {
        true => Err(ServiceError::NameInUse(Noun::Issuer, name.to_owned())),
        false => Ok(()),
    }
}

/// That a CA which is to issue has a preferred chain, where another that it would take turns with has one: customers would
/// get certificates of the one or of the other, and rely on another root each time.
fn require_vouched_for(others: &[IssuerRecord], new: &IssuerRecord) -> Result<(), ServiceError> {
    if new.state != IssuerState::Active || new.preferred.is_some() {
        return Ok(());
    }
    let family = key_of(&details(new)?).map(Family::of);
    for other in others.iter().filter(|other| other.id != new.id && issues(other) && other.preferred.is_some()) {
        if key_of(&details(other)?).map(Family::of) == family {
            return Err(refusal(format!(
                "clients of {} rely on another root, which does not vouch for {} yet; have it do so (`ca create --inactive`, \
                 `ca request`, `ca add-chain --prefer`) before it issues",
                other.name, new.name
            )));
        }
    }
    Ok(())
}

fn issues(record: &IssuerRecord) -> bool {
    record.kind == IssuerKind::Issuing && record.state == IssuerState::Active && record.revocation.is_none()
}

/// That a CA issues, and that a successor can take its place at once.
fn require_rotatable(old: &IssuerRecord) -> Result<(), ServiceError> {
    if old.revocation.is_some() || old.state == IssuerState::Retired {
        let standing = if old.revocation.is_some() { "revoked" } else { "retired already" };
        return Err(refusal(format!("{} is {standing}; make a new CA instead (`ca create`)", old.name)));
    }
    let IssuerRecord { name, preferred: Some(preferred), .. } = old else { return Ok(()) };
    Err(refusal(format!(
        "clients of {name} are given chain {}, which a successor does not have yet; make one that does not issue \
         (`ca create --inactive`), have it vouched for (`ca request`, `ca add-chain --prefer`), then activate it and retire {name}",
        preferred.number
    )))
}

/// The profiles, with the kind of key, for which no CA of these may sign, as a database has them.
pub fn unsigned(issuing: &Issuing, records: &[IssuerRecord], now: Timestamp) -> Vec<(ProfileName, KeyType)> {
    let issuers: Vec<_> = records.iter().filter_map(|record| details(record).ok()).collect();
    gaps(&recorded(&issuers, now), issuing)
}

/// The last second of the CA that lasts longest of those that may sign a profile's certificates for such keys, now; none
/// where there is no such CA.
pub(crate) fn latest_end(
    tx: &mut Tx<'_>,
    issuing: &Issuing,
    name: &ProfileName,
    keys: &[KeyType],
    now: Timestamp,
) -> Result<Option<Timestamp>, ServiceError> {
    let Some(profile) = issuing.certificates.get(name) else { return Ok(None) };
    let issuers = tx.issuers()?.iter().map(details).collect::<Result<Vec<_>, _>>()?;
    let (candidates, rules) = (recorded(&issuers, now), issuing.issuer_rules(name));
    let may_sign = keys.iter().flat_map(|key| suitable(&candidates, &rules, profile, *key));
    Ok(may_sign.map(|candidate| Timestamp::from_secs(candidate.issuer.not_after())).max())
}

fn recorded(issuers: &[IssuerDetails], now: Timestamp) -> Vec<Recorded<'_>> {
    let (now, issuing) = (now.as_secs(), issuers.iter().filter(|issuer| issuer.kind == IssuerKind::Issuing));
    issuing.filter_map(|issuer| Some(Recorded { issuer, key: key_of(issuer)?, now })).collect()
}

/// A CA as the database has it, at a point in time.
pub(super) struct Recorded<'a> {
    issuer: &'a IssuerDetails,
    key: KeyAlgorithm,
    now: i64,
}

impl Candidate for Recorded<'_> {
    fn id(&self) -> IssuerId {
        self.issuer.id
    }

    fn name(&self) -> &str {
        &self.issuer.name
    }

    fn key(&self) -> KeyAlgorithm {
        self.key
    }

    fn can_sign(&self, profile: &SubscriberProfile) -> bool {
        let ca = &self.issuer.certificate;
        let covers = ca.covers(&profile.purposes).unwrap_or(false) && ca.allows(&profile.policies).unwrap_or(false);
        let standing = self.issuer.state == IssuerState::Active && self.issuer.revocation.is_none();
        standing && self.now <= self.issuer.not_after() && covers
    }
}

fn key_of(issuer: &IssuerDetails) -> Option<KeyAlgorithm> {
    issuer.info.key_type.parse::<KeyType>().ok().and_then(|kind| KeyAlgorithm::try_from(kind).ok())
}

/// Finds an issuing CA by its id or its name; a root is refused.
pub(super) fn find_issuing<'a>(records: &'a [IssuerRecord], which: &str) -> Result<&'a IssuerRecord, ServiceError> {
    let exactly = |record: &&IssuerRecord| record.name == which || record.id.to_string() == which;
    // There may be two whose names were told apart when they were made.
    let found = records.iter().find(exactly);
    match found.or_else(|| records.iter().find(|record| is_same_name(&record.name, which))) {
        Some(record) if record.kind == IssuerKind::Issuing => Ok(record),
        Some(root) => Err(refusal(format!("{} is a root; name an issuing CA", root.name))),
        None => Err(ServiceError::NotFound(Noun::Issuer, vec![which.to_owned()])),
    }
}

/// The name of a CA with the next number.
fn successor(name: &str, records: &[IssuerRecord]) -> String {
    let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
    if stem == name { numbered(&format!("{name} "), 2, records) } else { numbered(stem, 1, records) }
}

/// E for elliptic curves and R for RSA, after the names of those there are.
fn next_of_kind(records: &[IssuerRecord], key: KeyAlgorithm) -> String {
    let letter = match key {
        KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384 => 'E',
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => 'R',
    };
    let issuing = records.iter().find(|record| record.kind == IssuerKind::Issuing);
    let stem = issuing.map_or("Issuing CA ", |record| {
        let name = record.name.trim_end_matches(|last: char| last.is_ascii_digit());
        name.strip_suffix(" E").or_else(|| name.strip_suffix(" R")).unwrap_or(name).trim_end()
    });
    numbered(&format!("{} {letter}", stem.trim_end()), 1, records)
}

/// Whether two names are one for whoever verifies (RFC 5280 section 7.1): capitals, and how many blanks there are, make no
/// difference.
pub(super) fn is_same_name(one: &str, other: &str) -> bool {
    folded(one).trim_end() == folded(other).trim_end()
}

/// A name as it is compared. What is at its end stays, for stems end with a blank.
fn folded(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for character in name.trim_start().chars().flat_map(char::to_lowercase) {
        match character.is_whitespace() {
            true if folded.ends_with(' ') => {}
            true => folded.push(' '),
            false => folded.push(character),
        }
    }
    folded
}

/// The stem with the number after the greatest one there is, at least `least`.
fn numbered(stem: &str, least: u32, records: &[IssuerRecord]) -> String {
    let of_stem = |name: &str| folded(name).strip_prefix(&folded(stem))?.trim_end().parse::<u32>().ok();
    let taken = records.iter().filter_map(|record| of_stem(&record.name));
    let next = taken.max().map_or(least, |greatest| least.max(greatest.saturating_add(1)));
    format!("{stem}{next}")
}

pub(super) fn refusal(message: impl std::fmt::Display) -> ServiceError {
    ServiceError::invalid("issuer", "issuer", message)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn issuing(names: &[&str]) -> Vec<IssuerRecord> {
        let record = |(place, name): (usize, &&str)| IssuerRecord {
            id: IssuerId::from_uuid(Uuid::from_u128(place as u128)),
            parent: None,
            name: (*name).to_owned(),
            kind: IssuerKind::Issuing,
            state: IssuerState::Active,
            certificate: Vec::new(),
            sealed: Vec::new(),
            created_at: Timestamp::from_secs(0),
            revocation: None,
            preferred: None,
        };
        names.iter().enumerate().map(record).collect()
    }

    #[test]
    fn a_successor_has_the_next_number_that_is_free() {
        let records = issuing(&["Test Issuing CA E1", "Test Issuing CA E2", "Test Issuing CA R1", "Old 9", "Plain"]);
        assert_eq!(successor("Test Issuing CA E1", &records), "Test Issuing CA E3");
        assert_eq!(successor("Test Issuing CA R1", &records), "Test Issuing CA R2");
        assert_eq!(successor("Old 9", &records), "Old 10");
        assert_eq!(successor("Plain", &records), "Plain 2");
    }

    #[test]
    fn names_that_verifiers_take_for_one_are_one() {
        let records = issuing(&["Test Issuing CA E1", "TEST  issuing ca e2", "Äußere CA"]);
        for (one, other) in
            [("test issuing CA E1", "Test Issuing CA E1"), ("Test \t Issuing CA E1 ", " test issuing ca e1")]
        {
            assert!(is_same_name(one, other), "{one:?} {other:?}");
        }
        for (one, other) in [("Test Issuing CA E1", "Test Issuing CA E11"), ("TestCA", "Test CA"), ("", "x")] {
            assert!(!is_same_name(one, other), "{one:?} {other:?}");
        }
        assert_eq!(successor("Test Issuing CA E1", &records), "Test Issuing CA E3");
        for which in ["test issuing CA  e2", "äussere CA", "ÄUßERE ca"] {
            let found = find_issuing(&records, which).map(|record| record.name.as_str()).ok();
            assert_eq!(found.is_some(), which != "äussere CA", "{which}");
        }
        // Whoever has two that differ in nothing else names each as it is written.
        let alike = issuing(&["Old CA", "OLD CA"]);
        for name in ["Old CA", "OLD CA"] {
            assert_eq!(find_issuing(&alike, name).unwrap().name, name);
        }
    }

    #[test]
    fn a_new_one_is_named_after_those_there_are() {
        let (p384, rsa) = (KeyAlgorithm::EcP384, KeyAlgorithm::Rsa3072);
        let records = issuing(&["Test Issuing CA E1", "Test Issuing CA E2"]);
        assert_eq!(next_of_kind(&records, p384), "Test Issuing CA E3");
        assert_eq!(next_of_kind(&records, rsa), "Test Issuing CA R1");
        // As installations were made before there were several.
        assert_eq!(next_of_kind(&issuing(&["Test Issuing CA 1"]), rsa), "Test Issuing CA R1");
        assert_eq!(next_of_kind(&[], rsa), "Issuing CA R1");
    }
}
