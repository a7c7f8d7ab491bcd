use chancery_domain::{Account, ExternalId, PageRequest};
use chancery_store::{AccountFilter, AuditFilter};

use crate::common::Database;

pub(crate) async fn another_resellers_account_is_not_found(db: Database) {
    let (owner, stranger) = (db.reseller().await.id, db.reseller().await.id);
    let external = ExternalId::parse("x").unwrap();
    let account = db.account(Account { external_id: Some(external), ..db.make.account(owner) }).await;
    let found = db
        .put(move |tx| {
            Ok([
                tx.account(stranger, account.id)?,
                tx.hold_account(stranger, account.id)?,
                tx.account_by_number(stranger, account.number.0)?,
                tx.account_by_kid(stranger, account.kid)?,
                tx.account_by_email(stranger, account.email.key())?,
                tx.account_by_external_id(stranger, "x")?,
            ])
        })
        .await;
    assert_eq!(found, [const { None }; 6]);
}

pub(crate) async fn another_resellers_credential_is_not_found(db: Database) {
    let (account, stranger) = (db.some_account().await, db.reseller().await.id);
    assert_eq!(db.get(move |tx| tx.credential(stranger, account.kid)).await, None);
}

pub(crate) async fn another_resellers_group_and_policy_are_not_found(db: Database) {
    let (owner, stranger) = (db.reseller().await.id, db.reseller().await.id);
    let (group, policy) = (db.group(owner).await, db.policy(owner).await);
    let (groups, policies) = db
        .put(move |tx| {
            let groups = [
                tx.group(stranger, group.id)?,
                tx.hold_group(stranger, group.id)?,
                tx.claim_group(stranger, group.id)?,
                tx.group_by_name(stranger, &group.name)?,
            ];
            let policies = [
                tx.policy(stranger, policy.id)?,
                tx.hold_policy(stranger, policy.id)?,
                tx.claim_policy(stranger, policy.id)?,
                tx.policy_by_name(stranger, &policy.name)?,
            ];
            Ok((groups, policies))
        })
        .await;
    assert_eq!((groups, policies), ([const { None }; 4], [const { None }; 4]));
}

pub(crate) async fn lists_hold_nothing_of_another_reseller(db: Database) {
    let (account, stranger) = (db.some_account().await, db.reseller().await.id);
    let (group, policy) = (db.group(account.reseller).await, db.policy(account.reseller).await);
    let (client, key) = (db.make.client(account.reseller), db.make.api_key(account.reseller));
    let (record, now) = (db.make.audit(Some(account.reseller), account.id), db.make.now());
    let (group_id, member) = (group.id, account.id);
    db.put(move |tx| {
        tx.add_member(group_id, member, now)?;
        tx.assign_policy(group_id, policy.id, now)?;
        tx.insert_client(&client)?;
        tx.insert_api_key(&key)?;
        tx.append_audit(&record)
    })
    .await;
    let count = |reseller| {
        db.get(move |tx| {
            let page = PageRequest::default();
            let everything = AccountFilter { include_deleted: true, ..AccountFilter::default() };
            Ok([
                tx.accounts(reseller, &everything, &page)?.items.len(),
                tx.credentials_of_reseller(reseller, &page)?.items.len(),
                tx.groups(reseller, &page)?.items.len(),
                tx.members(reseller, group_id, &page)?.items.len(),
                tx.policies(reseller, &page)?.items.len(),
                tx.clients(reseller)?.len(),
                tx.api_keys(reseller)?.len(),
                tx.audit(&AuditFilter { reseller: Some(reseller), ..AuditFilter::default() }, &page)?.items.len(),
            ])
        })
    };
    assert_eq!(count(account.reseller).await, [1; 8]);
    assert_eq!(count(stranger).await, [0; 8]);
}
