//! Many things like one that was made through the interface, for tests of what reaches very many rows.

use std::sync::Arc;

use chancery_domain::{
    Account, Authorization, AuthorizationId, CertificateId, CertificateRecord, CertificateState, Challenge,
    ChallengeId, Entropy, Group, GroupId, Issued, Order, OrderId, ResellerId, Timestamp,
};
use chancery_store::{DraftRow, StoreError, Tx};
use chancery_testkit::{Builders, SeededEntropy};

use crate::world::World;

/// Orders, accounts or groups that one transaction adds.
const AT_A_TIME: usize = 200;

impl World {
    /// Adds this many account groups directly to the database. Lists have them after all other groups.
    pub async fn fill_reseller_with_groups(&self, reseller: ResellerId, count: usize) {
        let make = Arc::new(Builders::seeded(97));
        for first in (0..count).step_by(AT_A_TIME) {
            let (make, batch) = (make.clone(), AT_A_TIME.min(count - first));
            let add = move |tx: &mut Tx<'_>| {
                for _ in 0..batch {
                    let id = GroupId::new(Timestamp::from_secs(1_600_000_000), make.entropy());
                    assert!(tx.insert_group(&Group { id, ..make.group(reseller) })?, "the group is new");
                }
                Ok::<_, StoreError>(())
            };
            self.store.write(add).await.expect("groups of a reseller");
        }
    }

    /// Adds this many new accounts to a group, straight in the database.
    pub async fn fill_group(&self, reseller: ResellerId, group: GroupId, count: usize) {
        let make = Arc::new(Builders::seeded(98));
        for first in (0..count).step_by(AT_A_TIME) {
            let (make, batch) = (make.clone(), AT_A_TIME.min(count - first));
            let add = move |tx: &mut Tx<'_>| {
                for _ in 0..batch {
                    let account = Account { number: tx.next_account_number()?, ..make.account(reseller) };
                    assert!(tx.insert_account(&account)? && tx.add_member(group, account.id, make.now())?);
                }
                tx.change_member_count(group, batch as i64, make.now())
            };
            self.store.write(add).await.expect("members of a group");
        }
    }

    /// Copies an order with its authorizations and its certificate, issued or still to come. What the copies stand on was shown
    /// for the original.
    pub async fn copy_order(&self, original: OrderId, times: usize) -> Vec<OrderId> {
        let (now, mut copies) = (self.services.now(), Vec::with_capacity(times));
        let entropy = Arc::new(SeededEntropy::new(4711));
        while copies.len() < times {
            let (entropy, count) = (entropy.clone(), AT_A_TIME.min(times - copies.len()));
            let copy_some = move |tx: &mut Tx<'_>| {
                let original = Original::read(tx, original)?;
                (0..count).map(|_| original.copy(tx, entropy.as_ref(), now)).collect::<Result<Vec<_>, _>>()
            };
            copies.extend(self.store.write(copy_some).await.expect("copies of an order"));
        }
        copies
    }
}

struct Original {
    order: Order,
    authorizations: Vec<Authorization>,
    certificate: CertificateRecord,
    der: Option<Vec<u8>>,
}

impl Original {
    fn read(tx: &mut Tx<'_>, id: OrderId) -> Result<Self, StoreError> {
        let order = tx.any_order(id)?.expect("an order");
        let authorizations = tx.authorizations(id)?;
        let certificate = tx.certificate_of_order(id)?.expect("the certificate of an order");
        let der = tx.certificate_der(certificate.id)?;
        Ok(Self { order, authorizations, certificate, der })
    }

    fn copy(&self, tx: &mut Tx<'_>, entropy: &dyn Entropy, now: Timestamp) -> Result<OrderId, StoreError> {
        let order = Order {
            id: OrderId::new(now, entropy),
            certificate: CertificateId::new(now, entropy),
            external_id: None,
            version: 1,
            ..self.order.clone()
        };
        assert!(tx.insert_order(&order)?, "the order is new");
        for (place, original) in self.authorizations.iter().enumerate() {
            let id = AuthorizationId::with_challenges(now, entropy);
            let challenge =
                |challenge: &Challenge| Challenge { id: ChallengeId::of(id, challenge.kind), ..challenge.clone() };
            let challenges = original.challenges.iter().map(challenge).collect();
            let copy = Authorization { id, order: Some(order.id), challenges, version: 1, ..original.clone() };
            tx.insert_authorization(&copy, u32::try_from(place).expect("a few names"))?;
        }
        let state = CertificateState::Pending { until: Some(order.expires_at) };
        let (id, version) = (order.certificate, 1);
        let certificate = CertificateRecord { id, order: order.id, state, version, ..self.certificate.clone() };
        tx.insert_certificate(&certificate, None)?;
        if let (Some(issued), Some(der)) = (self.certificate.issued(), &self.der) {
            let serial = entropy.uuid_v4().simple().to_string();
            let draft = DraftRow { issuer: issued.issuer, serial: serial.clone(), tbs: Vec::new() };
            tx.store_draft(id, &draft, now)?;
            tx.store_issued(id, &Issued { serial, ..issued.clone() }, der, b"copied", 0)?;
        }
        Ok(order.id)
    }
}
