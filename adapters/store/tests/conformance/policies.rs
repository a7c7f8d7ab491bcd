use chancery_domain::policy::DomainPattern;
use chancery_domain::{
    ChallengeType, Description, KeyType, Name, Policy, PolicyId, PolicyRules, ProfileName, ResellerId,
};
use chancery_store::StoreError;

use crate::common::Database;

async fn read(db: &Database, reseller: ResellerId, id: PolicyId) -> Policy {
    db.get(move |tx| tx.policy(reseller, id)).await.expect("the policy is there")
}

fn every_rule() -> PolicyRules {
    let patterns = |texts: &[&str]| Some(texts.iter().map(|text| DomainPattern::parse(text).unwrap()).collect());
    PolicyRules {
        allowed_domains: patterns(&["**", "example.com", "*.bücher.example"]),
        denied_domains: patterns(&["*.internal.example"]),
        allow_wildcards: Some(false),
        allow_ip_addresses: Some(true),
        allowed_profiles: Some(vec![ProfileName::parse("TLS-90d").unwrap()]),
        allowed_key_types: Some(KeyType::ALL.to_vec()),
        allowed_challenge_types: Some(ChallengeType::ALL.to_vec()),
        max_names: Some(1),
        max_validity_days: Some(u32::MAX),
        max_certificates_per_day: Some(0),
        max_certificates_per_week: Some(3),
        max_active_certificates: Some(4),
        issuance_enabled: Some(false),
    }
}

pub(crate) async fn keeps_every_rule(db: Database) {
    let reseller = db.reseller().await.id;
    let full = Policy {
        name: Name::parse("Kunden – Größe 😀").unwrap(),
        description: Some(Description::parse("one\ntwo").unwrap()),
        rules: every_rule(),
        updated_at: db.make.now(),
        version: 3,
        ..db.make.policy(reseller)
    };
    // An empty list permits nothing and an absent one everything: they must not become each other.
    let none = PolicyRules { allowed_domains: Some(vec![]), allowed_key_types: Some(vec![]), ..PolicyRules::default() };
    let empty = Policy { rules: none, ..db.make.policy(reseller) };
    for policy in [full, empty] {
        let stored = policy.clone();
        assert!(db.put(move |tx| tx.insert_policy(&stored)).await);
        let wanted = policy.clone();
        let found = db
            .put(move |tx| {
                Ok([
                    tx.policy(reseller, wanted.id)?,
                    tx.hold_policy(reseller, wanted.id)?,
                    tx.claim_policy(reseller, wanted.id)?,
                    tx.policy_by_name(reseller, &wanted.name)?,
                ])
            })
            .await;
        assert_eq!(found, [(); 4].map(|()| Some(policy.clone())));
    }
}

pub(crate) async fn a_policy_without_rules_comes_back(db: Database) {
    let reseller = db.reseller().await.id;
    let policy = db.policy(reseller).await;
    assert_eq!(read(&db, reseller, policy.id).await, policy);
    let unknown = db.make.policy(reseller);
    assert_eq!(db.get(move |tx| tx.policy(reseller, unknown.id)).await, None);
    assert_eq!(db.get(move |tx| tx.policy_by_name(reseller, &unknown.name)).await, None);
}

pub(crate) async fn a_name_is_taken_once_within_a_reseller(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let first = db.policy(reseller).await;
    let second = Policy { name: first.name.clone(), ..db.make.policy(reseller) };
    assert!(!db.put(move |tx| tx.insert_policy(&second)).await);
    let elsewhere = Policy { name: first.name.clone(), ..db.make.policy(other) };
    assert!(db.put(move |tx| tx.insert_policy(&elsewhere)).await);

    let renamed = Policy { name: first.name.clone(), ..db.policy(reseller).await };
    let saved = db.write(move |tx| tx.save_policy(&renamed)).await;
    assert!(matches!(saved, Err(StoreError::Database(_))), "{saved:?}");
}

pub(crate) async fn saving_changes_what_may_change_and_nothing_else(db: Database) {
    let before = db.policy(db.reseller().await.id).await;
    let another = db.reseller().await.id;
    let wanted = Policy {
        id: before.id,
        version: before.version,
        description: Some(Description::parse("new").unwrap()),
        rules: every_rule(),
        ..db.make.policy(another)
    };
    let saved = wanted.clone();
    db.put(move |tx| tx.save_policy(&saved)).await;
    let expected = Policy {
        name: wanted.name,
        description: wanted.description,
        rules: wanted.rules,
        updated_at: wanted.updated_at,
        version: before.version + 1,
        ..before
    };
    assert_eq!(read(&db, expected.reseller, expected.id).await, expected);
}

pub(crate) async fn a_stale_copy_cannot_be_saved(db: Database) {
    let made = db.policy(db.reseller().await.id).await;
    let read = || read(&db, made.reseller, made.id);
    let (first, second) = (read().await, read().await);
    let first = Policy { rules: every_rule(), ..first };
    db.put(move |tx| tx.save_policy(&first)).await;
    let late = db.write(move |tx| tx.save_policy(&second)).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "policy", .. })), "{late:?}");
    assert_eq!(read().await.rules, every_rule());
}

pub(crate) async fn is_assigned_to_a_group_once(db: Database) {
    let reseller = db.reseller().await.id;
    let (group, policy, now) = (db.group(reseller).await, db.policy(reseller).await, db.make.now());
    let (group_id, policy_id) = (group.id, policy.id);
    assert!(db.put(move |tx| tx.assign_policy(group_id, policy_id, now)).await);
    assert!(!db.put(move |tx| tx.assign_policy(group_id, policy_id, now)).await);
    assert_eq!(db.get(move |tx| tx.policies_of_group(group_id)).await, [(policy.id, policy.name)]);
    let groups = db.get(move |tx| tx.groups_of_policy(policy_id, 9)).await;
    assert_eq!(groups, [(group.id, group.name)]);
    assert_eq!(db.get(move |tx| tx.groups_of_policy(policy_id, 0)).await, []);
    assert!(db.put(move |tx| tx.unassign_policy(group_id, policy_id)).await);
    assert!(!db.put(move |tx| tx.unassign_policy(group_id, policy_id)).await);
    assert_eq!(db.get(move |tx| tx.policies_of_group(group_id)).await, []);
}

pub(crate) async fn an_account_has_the_version_of_each_policy_of_its_groups_once(db: Database) {
    let account = db.some_account().await;
    let reseller = account.reseller;
    let groups = [db.group(reseller).await.id, db.group(reseller).await.id];
    let strange = db.group(reseller).await.id;
    let [b, a, foreign] =
        ["b", "a", "c"].map(|name| Policy { name: Name::parse(name).unwrap(), ..db.make.policy(reseller) });
    let (member, now) = (account.id, db.make.now());
    let (first, second) = (a.clone(), b.clone());
    db.put(move |tx| {
        for policy in [&first, &second, &foreign] {
            tx.insert_policy(policy)?;
        }
        for group in groups {
            tx.add_member(group, member, now)?;
            tx.assign_policy(group, second.id, now)?;
        }
        tx.assign_policy(groups[1], first.id, now)?;
        tx.assign_policy(strange, foreign.id, now)
    })
    .await;
    let mut versions = [a.policy_version(), b.policy_version()];
    versions.sort();
    assert_eq!(db.get(move |tx| tx.policy_versions(member)).await, versions);
    db.put(move |tx| {
        tx.save_policy(&Policy { rules: PolicyRules { max_names: Some(1), ..a.rules.clone() }, ..a.clone() })
    })
    .await;
    let changed = db.get(move |tx| tx.policy_versions(member)).await;
    let differ: Vec<_> = changed.iter().zip(&versions).map(|(now, before)| now.version - before.version).collect();
    assert_eq!(differ.iter().sum::<i64>(), 1, "the change of one policy changes its version alone");
}

pub(crate) async fn deleting_a_policy_takes_it_off_its_groups(db: Database) {
    let reseller = db.reseller().await.id;
    let (group, gone, kept) = (db.group(reseller).await, db.policy(reseller).await, db.policy(reseller).await);
    let (group_id, gone_id, kept_id, now) = (group.id, gone.id, kept.id, db.make.now());
    db.put(move |tx| {
        tx.assign_policy(group_id, gone_id, now)?;
        tx.assign_policy(group_id, kept_id, now)?;
        tx.delete_policy(gone_id)
    })
    .await;
    assert_eq!(db.get(move |tx| tx.policy(reseller, gone_id)).await, None);
    assert_eq!(db.get(move |tx| tx.policies_of_group(group_id)).await, [(kept.id, kept.name)]);
    assert_eq!(db.get(move |tx| tx.group(reseller, group_id)).await, Some(group));
}

/// The assignments of a deleted policy are deleted in batches. Until then nothing shows them.
pub(crate) async fn assignments_of_a_deleted_policy_count_for_nothing(db: Database) {
    let account = db.some_account().await;
    let (reseller, member) = (account.reseller, account.id);
    let (gone, kept, now) = (db.policy(reseller).await.id, db.policy(reseller).await, db.make.now());
    let mut groups = Vec::new();
    for _ in 0..3 {
        groups.push(db.group(reseller).await.id);
    }
    let (first, kept_id) = (groups[0], kept.id);
    db.put(move |tx| {
        for group in &groups {
            tx.assign_policy(*group, gone, now)?;
            tx.assign_policy(*group, kept_id, now)?;
            tx.add_member(*group, member, now)?;
        }
        tx.delete_policy(gone)
    })
    .await;
    assert_eq!(db.get(move |tx| tx.policies_of_group_up_to(first, 9)).await, 1);
    assert_eq!(db.get(move |tx| tx.policies_of_group(first)).await, [(kept.id, kept.name.clone())]);
    let versions = db.get(move |tx| tx.policy_versions(member)).await;
    assert_eq!(versions.iter().map(|version| version.id).collect::<Vec<_>>(), [kept.id]);
    for deleted in [2, 1, 0] {
        assert_eq!(db.put(move |tx| tx.delete_assignments(gone, 2)).await, deleted);
    }
    assert_eq!(db.get(move |tx| tx.policies_of_group_up_to(first, 9)).await, 1);
}
