//! What a unit holds stays as it is until the unit ends: nothing is attached to what is just going away.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{AccountId, GroupId, PolicyId, ResellerId, RevocationReason};
use chancery_store::{Bar, IssuerRevocation, Tx};

use crate::common::{Database, Gate, Result};

/// Runs `attach`, which holds a thing and is stopped before it writes, and meanwhile `end`, which takes the thing
/// away: it must wait. Both must end well.
async fn ends_after(
    db: &Database,
    mut attach: impl FnMut(&mut Tx<'_>, &Gate) -> Result + Send + 'static,
    end: impl FnMut(&mut Tx<'_>) -> Result + Send + 'static,
) {
    let gate = Arc::new(Gate::default());
    let inside = Arc::clone(&gate);
    let attaching = db.write(move |tx| attach(tx, &inside));
    let ending = async {
        gate.reached().await;
        let mut ending = Box::pin(db.write(end));
        let early = tokio::time::timeout(Duration::from_millis(300), ending.as_mut()).await;
        gate.open();
        assert!(early.is_err(), "it went away while it was held");
        ending.await
    };
    let (attached, ended) = tokio::join!(attaching, ending);
    attached.unwrap();
    ended.unwrap();
}

pub(crate) async fn an_account_cannot_end_under_a_new_credential(db: Database) {
    let account = db.some_account().await;
    let (reseller, id, kid) = (account.reseller, account.id, account.kid);
    let (credential, now) = (db.make.credential(&account), db.make.now());
    let new = credential.kid;
    ends_after(
        &db,
        move |tx, gate| {
            let account = tx.hold_account(reseller, id)?.expect("it is there");
            assert!(account.require_active().is_ok());
            gate.pass();
            tx.insert_credential(&credential, b"sealed")
        },
        move |tx| {
            let account = tx.account(reseller, id)?.expect("it is there");
            tx.save_account(&account.terminate(now).expect("it is live"))?;
            tx.revoke_credentials(id, None, now, 10).map(drop)
        },
    )
    .await;
    for kid in [kid, new] {
        assert!(db.get(move |tx| tx.credential(reseller, kid)).await.unwrap().revoked_at.is_some());
    }
}

pub(crate) async fn a_credential_cannot_be_revoked_under_a_new_order(db: Database) {
    let account = db.some_account().await;
    let (reseller, kid, now) = (account.reseller, account.kid, db.make.now());
    ends_after(
        &db,
        move |tx, gate| {
            let credential = tx.hold_credential(reseller, kid)?.expect("it is there");
            gate.pass();
            assert_eq!(tx.credential(reseller, kid)?.expect("it is there"), credential);
            Ok(())
        },
        move |tx| {
            let credential = tx.credential(reseller, kid)?.expect("it is there");
            tx.save_credential(&credential.revoke(now).expect("it is not revoked"))
        },
    )
    .await;
    assert!(db.get(move |tx| tx.credential(reseller, kid)).await.unwrap().revoked_at.is_some());
}

pub(crate) async fn a_group_cannot_go_under_a_new_member(db: Database) {
    let account = db.some_account().await;
    let group = db.group(account.reseller).await.id;
    let (reseller, member, now) = (account.reseller, account.id, db.make.now());
    ends_after(
        &db,
        move |tx, gate| {
            tx.hold_group(reseller, group)?.expect("it is there");
            gate.pass();
            tx.add_member(group, member, now).map(drop)
        },
        move |tx| tx.delete_group(group),
    )
    .await;
    assert_eq!(db.get(move |tx| tx.groups_of_account(member, 9)).await, []);
    assert_eq!(db.get(move |tx| tx.group(reseller, group)).await, None);
}

pub(crate) async fn a_policy_cannot_go_under_a_new_assignment(db: Database) {
    let reseller = db.reseller().await.id;
    let (group, policy, now) = (db.group(reseller).await.id, db.policy(reseller).await.id, db.make.now());
    ends_after(
        &db,
        move |tx, gate| {
            tx.hold_policy(reseller, policy)?.expect("it is there");
            gate.pass();
            tx.assign_policy(group, policy, now).map(drop)
        },
        move |tx| tx.delete_policy(policy),
    )
    .await;
    assert_eq!(db.get(move |tx| tx.policies_of_group(group)).await, []);
    assert_eq!(db.get(move |tx| tx.policy(reseller, policy)).await, None);
}

pub(crate) async fn a_key_is_not_blocked_while_a_certificate_for_it_is_kept(db: Database) {
    let (issuer, now) = (db.make.issuer().id, db.make.now());
    ends_after(
        &db,
        move |tx, gate| {
            tx.hold_bars(b"key", issuer)?;
            assert_eq!(tx.bar_to_signing(&[b"key"], issuer)?, None);
            gate.pass();
            assert_eq!(tx.bar_to_signing(&[b"key"], issuer)?, None);
            Ok(())
        },
        move |tx| tx.block_key(b"key", "keyCompromise", now).map(drop),
    )
    .await;
    assert_eq!(db.get(move |tx| tx.bar_to_signing(&[b"key"], issuer)).await, Some(Bar::BlockedKey));
}

pub(crate) async fn a_ca_is_not_revoked_while_a_certificate_of_it_is_kept(db: Database) {
    let (issuer, now) = (db.make.issuer(), db.make.now());
    let id = issuer.id;
    db.put(move |tx| tx.insert_issuer(&issuer)).await;
    ends_after(
        &db,
        move |tx, gate| {
            tx.hold_bars(b"key", id)?;
            assert_eq!(tx.bar_to_signing(&[b"key"], id)?, None);
            gate.pass();
            assert_eq!(tx.bar_to_signing(&[b"key"], id)?, None);
            Ok(())
        },
        move |tx| {
            let revocation = IssuerRevocation { at: now, reason: RevocationReason::Superseded };
            tx.revoke_issuer(id, (id, 0), revocation).map(drop)
        },
    )
    .await;
    assert_eq!(db.get(move |tx| tx.bar_to_signing(&[b"key"], id)).await, Some(Bar::RevokedIssuer));
}

pub(crate) async fn what_is_claimed_can_neither_be_held_nor_claimed(db: Database) {
    let account = db.some_account().await;
    let (reseller, member, now) = (account.reseller, account.id, db.make.now());
    let (group, policy) = (db.group(reseller).await.id, db.policy(reseller).await.id);
    db.put(move |tx| tx.add_member(group, member, now)).await;
    type Take = fn(&mut Tx<'_>, (ResellerId, AccountId, GroupId, PolicyId)) -> Result;
    let ways: [(Take, Take); 4] = [
        (|tx, (r, _, g, _)| tx.claim_group(r, g).map(drop), |tx, (r, _, g, _)| tx.hold_group(r, g).map(drop)),
        (|tx, (r, _, g, _)| tx.claim_group(r, g).map(drop), |tx, (r, _, g, _)| tx.claim_group(r, g).map(drop)),
        (
            |tx, (_, a, _, _)| tx.claim_groups_of_account(a, 9).map(drop),
            |tx, (r, _, g, _)| tx.hold_group(r, g).map(drop),
        ),
        (|tx, (r, _, _, p)| tx.claim_policy(r, p).map(drop), |tx, (r, _, _, p)| tx.hold_policy(r, p).map(drop)),
    ];
    let these = (reseller, member, group, policy);
    for (claim, take) in ways {
        let claiming = move |tx: &mut Tx<'_>, gate: &Gate| {
            claim(tx, these)?;
            gate.pass();
            Ok(())
        };
        ends_after(&db, claiming, move |tx| take(tx, these)).await;
    }
}
