//! Domain values to begin a test with. Change what the test is about and leave the rest:
//!
//! ```
//! use chancery_domain::Account;
//! use chancery_testkit::Builders;
//!
//! let make = Builders::seeded(1);
//! let reseller = make.reseller();
//! let suspended = Account { suspended: true, ..make.account(reseller.id) };
//! ```

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chancery_domain::{
    Account, AccountId, AccountNumber, ApiKey, ApiKeyId, AuditId, Client, ClientId, ClientSecret, EabCredential, EabId,
    EabTerms, EmailAddress, Entropy, Group, GroupId, IssuerId, Kid, Metadata, Name, Policy, PolicyId, PolicyRules,
    Reseller, ResellerCode, ResellerId, ScopeSet, SecretHash, Timestamp, TokenKeyId,
};
use chancery_store::{AuditRecord, IssuerKind, IssuerRecord, IssuerState, Outcome, TokenKey};

use crate::clock::FrozenClock;
use crate::entropy::SeededEntropy;

/// Makes values that differ from each other, and from those of every other seed, in all that must be unique.
///
/// A millisecond passes with each value, so what is made later has the greater id. Ids are the one thing that the seed
/// does not decide: within a process no two are alike, whoever draws them.
pub struct Builders {
    seed: u32,
    clock: FrozenClock,
    entropy: SeededEntropy,
    made: AtomicI64,
}

impl Builders {
    pub fn seeded(seed: u32) -> Self {
        Self {
            seed,
            clock: FrozenClock::default(),
            entropy: SeededEntropy::new(u64::from(seed)),
            made: AtomicI64::new(0),
        }
    }

    /// The next millisecond.
    pub fn now(&self) -> Timestamp {
        self.clock.advance(Duration::from_millis(1))
    }

    pub fn entropy(&self) -> &dyn Entropy {
        &self.entropy
    }

    /// A number that was not given out before by these builders; it goes up.
    pub fn number(&self) -> AccountNumber {
        AccountNumber(self.made.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A name that nothing else has.
    pub fn name(&self, of: &str) -> Name {
        Name::parse(&self.unique(of)).expect("a short word and two numbers are a name")
    }

    /// An address that nobody else has.
    pub fn email(&self) -> EmailAddress {
        EmailAddress::parse(&format!("{}@example.com", self.unique("customer"))).expect("it has the shape of one")
    }

    pub fn kid(&self) -> Kid {
        Kid::from_uuid(self.entropy().uuid_v4())
    }

    pub fn hash(&self) -> SecretHash {
        SecretHash(self.entropy().bytes())
    }

    pub fn reseller(&self) -> Reseller {
        let now = self.now();
        let code = self.unique("R").to_uppercase();
        Reseller {
            id: ResellerId::new(now, self.entropy()),
            code: ResellerCode::parse(&code).expect("a letter and two short numbers are a code"),
            name: self.name("Reseller"),
            suspended: false,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// A client with one secret and every scope.
    pub fn client(&self, reseller: ResellerId) -> Client {
        let now = self.now();
        Client {
            id: ClientId::new(now, self.entropy()),
            reseller,
            name: self.name("Client"),
            scopes: ScopeSet::all(),
            secrets: vec![ClientSecret { hash: self.hash(), created_at: now }],
            disabled: false,
            expires_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    pub fn api_key(&self, reseller: ResellerId) -> ApiKey {
        let now = self.now();
        ApiKey {
            id: ApiKeyId::new(now, self.entropy()),
            reseller,
            name: self.name("Key"),
            scopes: ScopeSet::all(),
            hash: self.hash(),
            revoked_at: None,
            created_at: now,
        }
    }

    /// A live account without any of what is optional. Its number is unique among these builders' only: draw from
    /// the store where that is not enough.
    pub fn account(&self, reseller: ResellerId) -> Account {
        let now = self.now();
        Account {
            id: AccountId::new(now, self.entropy()),
            number: self.number(),
            reseller,
            kid: self.kid(),
            root_revoked: false,
            email: self.email(),
            external_id: None,
            metadata: Metadata::default(),
            suspended: false,
            terminated_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// The credential that is made together with an account: both have one key id.
    pub fn root_credential(&self, account: &Account) -> EabCredential {
        EabCredential { kid: account.kid, is_root: true, ..self.credential(account) }
    }

    /// A further credential of an account, unused and without an end.
    pub fn credential(&self, account: &Account) -> EabCredential {
        let now = self.now();
        EabCredential {
            id: EabId::new(now, self.entropy()),
            number: self.number(),
            reseller: account.reseller,
            account: account.id,
            kid: self.kid(),
            is_root: false,
            terms: EabTerms::default(),
            bindings: 0,
            last_used_at: None,
            revoked_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    pub fn group(&self, reseller: ResellerId) -> Group {
        let now = self.now();
        Group {
            id: GroupId::new(now, self.entropy()),
            reseller,
            name: self.name("Group"),
            description: None,
            member_count: 0,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// A policy that permits everything.
    pub fn policy(&self, reseller: ResellerId) -> Policy {
        let now = self.now();
        Policy {
            id: PolicyId::new(now, self.entropy()),
            reseller,
            name: self.name("Policy"),
            description: None,
            rules: PolicyRules::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// A line that says that an operator made a thing.
    pub fn audit(&self, reseller: Option<ResellerId>, subject: impl ToString) -> AuditRecord {
        let now = self.now();
        AuditRecord {
            id: AuditId::new(now, self.entropy()),
            at: now,
            reseller,
            actor_kind: "operator".to_owned(),
            actor: "root".to_owned(),
            address: "127.0.0.1".to_owned(),
            request_id: self.unique("request"),
            action: "account.create".to_owned(),
            subject: subject.to_string(),
            outcome: Outcome::Done,
            detail: "{}".to_owned(),
        }
    }

    /// A root without a parent. Its certificate and key are bytes that nobody could parse.
    pub fn issuer(&self) -> IssuerRecord {
        let now = self.now();
        IssuerRecord {
            id: IssuerId::new(now, self.entropy()),
            parent: None,
            name: self.unique("issuer"),
            kind: IssuerKind::Root,
            state: IssuerState::Active,
            certificate: self.entropy().bytes::<64>().into(),
            sealed: self.entropy().bytes::<64>().into(),
            created_at: now,
            revocation: None,
            preferred: None,
        }
    }

    /// A key that may sign at once. Its halves are bytes that nobody could use.
    pub fn token_key(&self) -> TokenKey {
        let now = self.now();
        TokenKey {
            id: TokenKeyId::new(now, self.entropy()),
            sealed: self.entropy().bytes::<64>().into(),
            public_key: format!(r#"{{"kty":"EC","kid":"{}"}}"#, self.unique("key")),
            created_at: now,
            active_from: now,
        }
    }

    fn unique(&self, of: &str) -> String {
        format!("{of}-{:x}-{:x}", self.seed, self.number().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_values() {
        let make = || {
            let make = Builders::seeded(3);
            let reseller = make.reseller();
            let account = make.account(reseller.id);
            (reseller.code, account.email, account.kid, account.number, account.created_at)
        };
        assert_eq!(make(), make());
    }

    #[test]
    fn what_is_made_later_sorts_later_and_shares_nothing() {
        let make = Builders::seeded(3);
        let reseller = make.reseller().id;
        let (early, late) = (make.account(reseller), make.account(reseller));
        assert!(early.id < late.id && early.number < late.number && early.created_at < late.created_at);
        assert_ne!(early.email, late.email);
        assert_ne!(early.kid, late.kid);
    }

    #[test]
    fn other_seeds_make_other_values() {
        let (one, other) = (Builders::seeded(u32::MAX).reseller(), Builders::seeded(2).reseller());
        assert_ne!(one.id, other.id);
        assert_ne!(one.code, other.code);
    }
}
