//! Things as long as they may be, written behind the back of the interface.

use chancery_domain::{
    Account, Action, Attempt, AuditId, Authorization, AuthorizationId, AuthorizationState, CertificateId,
    CertificateRecord, CertificateState, Challenge, ChallengeId, ChallengeState, ChallengeType, Description,
    EabCredential, Group, Identifier, Metadata, Name, Order, OrderId, Policy, PolicyId, ProblemKind, ResellerId,
    Timestamp, ValidationProblem,
};
use chancery_store::{AuditRecord, Outcome, StoreError, Tx};
use chancery_testkit::Builders;

/// A name of 240 characters.
pub fn long_name(place: usize) -> Identifier {
    let label = "n".repeat(60);
    Identifier::parse(&format!("{place:03}.{label}.{label}.{label}.{}.example", "n".repeat(44)))
        .expect("it has the form of one")
}

/// What is kept of a failed attempt at which the other side has answered as much as it could.
fn long_attempts() -> Vec<Attempt> {
    let text = || "\"".repeat(2000);
    let attempt = Attempt {
        at: 1,
        perspective: "primary".to_owned(),
        redirects: vec![text(); 20],
        dns_answers: vec![text(); 20],
        url: Some(text()),
        expected: Some(text()),
        actual: Some(text()),
        problem: Some(ValidationProblem { kind: ProblemKind::Connection, detail: text() }),
        ..Attempt::default()
    };
    Attempt::kept(vec![attempt; 8])
}

/// Makes long things of a reseller. Those of one seed differ from those of every other seed.
pub struct LongThings {
    pub make: Builders,
    seed: u32,
    pub reseller: ResellerId,
    /// What their texts are made of.
    pub letter: &'static str,
}

impl LongThings {
    pub fn of(reseller: ResellerId, seed: u32, letter: &'static str) -> Self {
        Self { make: Builders::seeded(seed), seed, reseller, letter }
    }

    /// The name of the thing at this place, with 248 characters.
    fn name(&self, place: usize) -> Name {
        Name::parse(&format!("{:03}-{place:03}-{}", self.seed, self.text(240))).expect("it has the form of one")
    }

    fn text(&self, length: usize) -> String {
        self.letter.repeat(length)
    }

    /// Accounts with metadata of 16 pairs, all in a group.
    pub fn accounts(&self, tx: &mut Tx<'_>, group: &Group, count: usize) -> Result<(), StoreError> {
        let pairs = (0..16).map(|place| (format!("{place:02}{}", self.text(62)), self.text(512)));
        let metadata = Metadata::from_stored(pairs.collect());
        for _ in 0..count {
            // Numbers are unique among all accounts.
            let made = self.make.account(self.reseller);
            let number = tx.next_account_number()?;
            let account = Account { metadata: metadata.clone(), number, ..made };
            assert!(tx.insert_account(&account)?);
            let root = self.make.root_credential(&account);
            tx.insert_credential(&EabCredential { number, ..root }, b"sealed")?;
            tx.add_member(group.id, account.id, account.created_at)?;
        }
        Ok(())
    }

    /// Groups with long names and descriptions.
    pub fn groups(&self, tx: &mut Tx<'_>, count: usize) -> Result<Vec<Group>, StoreError> {
        let description = Description::parse(&self.text(2000)).expect("it has the form of one");
        let mut groups = Vec::with_capacity(count);
        for place in 0..count {
            let name = self.name(place);
            let group = Group { name, description: Some(description.clone()), ..self.make.group(self.reseller) };
            assert!(tx.insert_group(&group)?);
            groups.push(group);
        }
        Ok(groups)
    }

    /// Policies that are assigned to each of these groups.
    pub fn policies(&self, tx: &mut Tx<'_>, groups: &[Group], count: usize) -> Result<Vec<PolicyId>, StoreError> {
        let mut policies = Vec::with_capacity(count);
        for _ in 0..count {
            let name = self.name(policies.len());
            let policy = Policy { name, ..self.make.policy(self.reseller) };
            assert!(tx.insert_policy(&policy)?);
            for group in groups {
                assert!(tx.assign_policy(group.id, policy.id, policy.created_at)?);
            }
            policies.push(policy.id);
        }
        Ok(policies)
    }

    /// Orders like another one, for 100 long names; with authorizations and everything that was seen, or without.
    pub fn orders(
        &self,
        tx: &mut Tx<'_>,
        like: OrderId,
        count: usize,
        shown: bool,
    ) -> Result<Vec<OrderId>, StoreError> {
        let like = tx.any_order(like)?.expect("the order");
        let certificate = tx.certificate(self.reseller, like.certificate)?.expect("its certificate");
        let identifiers: Vec<_> = (0..100).map(long_name).collect();
        let mut orders = Vec::with_capacity(count);
        for _ in 0..count {
            let (now, entropy) = (self.make.now(), self.make.entropy());
            let (id, certificate_id) = (OrderId::new(now, entropy), CertificateId::new(now, entropy));
            let authorizations = Vec::new();
            let order = Order {
                id,
                identifiers: identifiers.clone(),
                certificate: certificate_id,
                authorizations,
                created_at: now,
                ..like.clone()
            };
            assert!(tx.insert_order(&order)?);
            for (place, name) in identifiers.iter().enumerate().filter(|_| shown) {
                tx.insert_authorization(
                    &self.authorization(&order, name, place),
                    u32::try_from(place).expect("a small number"),
                )?;
            }
            let state = CertificateState::Pending { until: None };
            let identifiers = identifiers.clone();
            let record = CertificateRecord { id: certificate_id, order: id, identifiers, state, ..certificate.clone() };
            tx.insert_certificate(&record, None)?;
            orders.push(id);
        }
        Ok(orders)
    }

    /// Audit records of orders that policies refused, each nearly as long as a record may be. One event is derived from each.
    pub fn refusals(&self, tx: &mut Tx<'_>, account: &str, at: Timestamp, count: usize) -> Result<(), StoreError> {
        let message = r#"\""#.repeat(3900);
        let detail = format!(r#"{{"names":["a.test"],"problems":[{{"message":"{message}"}}],"quota":false}}"#);
        for _ in 0..count {
            tx.append_audit(&AuditRecord {
                id: AuditId::new(at, self.make.entropy()),
                at,
                action: Action::OrderRefuse.as_str().to_owned(),
                outcome: Outcome::Refused,
                detail: detail.clone(),
                ..self.make.audit(Some(self.reseller), account)
            })?;
        }
        Ok(())
    }

    fn authorization(&self, order: &Order, name: &Identifier, place: usize) -> Authorization {
        let now = self.make.now();
        let id = AuthorizationId::with_challenges(now, self.make.entropy());
        let kinds = [ChallengeType::Http01, ChallengeType::Dns01, ChallengeType::TlsAlpn01];
        let challenge = |kind| Challenge {
            id: ChallengeId::of(id, kind),
            kind,
            token: format!("{place:043}"),
            state: ChallengeState::Processing { since: now },
            attempts: if kind == ChallengeType::Http01 { long_attempts() } else { Vec::new() },
            created_at: now,
            updated_at: now,
        };
        Authorization {
            id,
            reseller: order.reseller,
            account: order.account,
            acme_account: None,
            order: Some(order.id),
            identifier: name.clone(),
            namespace: None,
            state: AuthorizationState::Pending,
            challenges: kinds.map(challenge).into(),
            expires_at: order.expires_at,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}
