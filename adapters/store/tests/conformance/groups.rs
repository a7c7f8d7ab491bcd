use chancery_domain::{Description, Group, GroupId, Name, ResellerId};
use chancery_store::StoreError;

use crate::common::Database;

async fn read(db: &Database, reseller: ResellerId, id: GroupId) -> Group {
    db.get(move |tx| tx.group(reseller, id)).await.expect("the group is there")
}

pub(crate) async fn keeps_every_field(db: Database) {
    let reseller = db.reseller().await.id;
    let full = Group {
        name: Name::parse("Kunden – Größe 😀").unwrap(),
        description: Some(Description::parse("one\n\ttwo").unwrap()),
        member_count: 5,
        updated_at: db.make.now(),
        version: 2,
        ..db.make.group(reseller)
    };
    let empty = Group { description: Some(Description::parse("").unwrap()), ..db.make.group(reseller) };
    for group in [full, empty, db.make.group(reseller)] {
        let stored = group.clone();
        assert!(db.put(move |tx| tx.insert_group(&stored)).await);
        let wanted = group.clone();
        let found = db
            .put(move |tx| {
                Ok([
                    tx.group(reseller, wanted.id)?,
                    tx.hold_group(reseller, wanted.id)?,
                    tx.claim_group(reseller, wanted.id)?,
                    tx.group_by_name(reseller, &wanted.name)?,
                ])
            })
            .await;
        assert_eq!(found, [(); 4].map(|()| Some(group.clone())));
    }
    let unknown = db.make.group(reseller);
    assert_eq!(db.get(move |tx| tx.group(reseller, unknown.id)).await, None);
    assert_eq!(db.get(move |tx| tx.group_by_name(reseller, &unknown.name)).await, None);
}

pub(crate) async fn a_name_is_taken_once_within_a_reseller(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let first = db.group(reseller).await;
    let second = Group { name: first.name.clone(), ..db.make.group(reseller) };
    assert!(!db.put(move |tx| tx.insert_group(&second)).await);
    let elsewhere = Group { name: first.name.clone(), ..db.make.group(other) };
    assert!(db.put(move |tx| tx.insert_group(&elsewhere)).await);

    let renamed = Group { name: first.name.clone(), ..db.group(reseller).await };
    let saved = db.write(move |tx| tx.save_group(&renamed)).await;
    assert!(matches!(saved, Err(StoreError::Database(_))), "{saved:?}");
    let (id, again) = (first.id, Group { name: first.name, ..db.make.group(reseller) });
    db.put(move |tx| tx.delete_group(id)).await;
    assert!(db.put(move |tx| tx.insert_group(&again)).await);
}

pub(crate) async fn saving_changes_what_may_change_and_nothing_else(db: Database) {
    let before = db.group(db.reseller().await.id).await;
    let another = db.reseller().await.id;
    let wanted = Group {
        id: before.id,
        version: before.version,
        description: Some(Description::parse("new").unwrap()),
        member_count: 77,
        ..db.make.group(another)
    };
    let saved = wanted.clone();
    db.put(move |tx| tx.save_group(&saved)).await;
    let expected = Group {
        name: wanted.name,
        description: wanted.description,
        updated_at: wanted.updated_at,
        version: before.version + 1,
        ..before
    };
    assert_eq!(read(&db, expected.reseller, expected.id).await, expected);
}

pub(crate) async fn a_stale_copy_cannot_be_saved(db: Database) {
    let made = db.group(db.reseller().await.id).await;
    let read = || read(&db, made.reseller, made.id);
    let (first, second) = (read().await, read().await);
    let first = Group { name: db.make.name("first"), ..first };
    let (name, second) = (first.name.clone(), Group { name: db.make.name("second"), ..second });
    db.put(move |tx| tx.save_group(&first)).await;
    let late = db.write(move |tx| tx.save_group(&second)).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "account group", .. })), "{late:?}");
    assert_eq!(read().await.name, name);
}

pub(crate) async fn an_account_is_in_a_group_once(db: Database) {
    let account = db.some_account().await;
    let group = db.group(account.reseller).await;
    let (id, member, now) = (group.id, account.id, db.make.now());
    assert!(db.put(move |tx| tx.add_member(id, member, now)).await);
    assert!(!db.put(move |tx| tx.add_member(id, member, now)).await);
    db.put(move |tx| tx.change_member_count(id, 1, now)).await;
    let counted = read(&db, group.reseller, id).await;
    assert_eq!((counted.member_count, counted.updated_at, counted.version), (1, now, group.version + 1));

    assert!(db.put(move |tx| tx.remove_member(id, member)).await);
    assert!(!db.put(move |tx| tx.remove_member(id, member)).await);
    assert_eq!(db.get(move |tx| tx.groups_of_account(member, 9)).await, []);
}

pub(crate) async fn deleting_a_group_leaves_its_accounts_and_policies(db: Database) {
    let account = db.some_account().await;
    let reseller = account.reseller;
    let (gone, kept, policy) = (db.group(reseller).await, db.group(reseller).await, db.policy(reseller).await);
    let (member, now) = (account.id, db.make.now());
    let (gone_id, kept_id, policy_id) = (gone.id, kept.id, policy.id);
    db.put(move |tx| {
        for group in [gone_id, kept_id] {
            tx.add_member(group, member, now)?;
            tx.assign_policy(group, policy_id, now)?;
        }
        tx.delete_group(gone_id)
    })
    .await;
    assert_eq!(db.get(move |tx| tx.group(reseller, gone_id)).await, None);
    assert_eq!(db.stored(&account).await, account);
    assert_eq!(db.get(move |tx| tx.policy(reseller, policy_id)).await, Some(policy));
    assert_eq!(db.get(move |tx| tx.groups_of_account(member, 9)).await, std::slice::from_ref(&kept));
    assert_eq!(db.get(move |tx| tx.groups_of_policy(policy_id, 9)).await, [(kept.id, kept.name)]);
    assert_eq!(db.get(move |tx| tx.policies_of_group(gone_id)).await, []);
}

pub(crate) async fn the_groups_of_an_account_come_by_name(db: Database) {
    let account = db.some_account().await;
    // Capitals before small letters and both before accents: bytes decide, on every database and in every locale.
    for name in ["b", "Ä", "B", "a"] {
        let group = Group { name: Name::parse(name).unwrap(), ..db.make.group(account.reseller) };
        let (member, now) = (account.id, db.make.now());
        db.put(move |tx| {
            tx.insert_group(&group)?;
            tx.add_member(group.id, member, now)
        })
        .await;
    }
    let found = db.get(move |tx| tx.groups_of_account(account.id, 9)).await;
    assert_eq!(found.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["B", "a", "b", "Ä"]);
}

/// The memberships of a deleted group are deleted in batches. Until then nothing shows them.
pub(crate) async fn memberships_of_a_deleted_group_count_for_nothing(db: Database) {
    let reseller = db.reseller().await.id;
    let (gone, kept, policy) = (db.group(reseller).await.id, db.group(reseller).await, db.policy(reseller).await.id);
    let mut members = Vec::new();
    for _ in 0..5 {
        members.push(db.account(db.make.account(reseller)).await.id);
    }
    let (first, now, kept_id, others) = (members[0], db.make.now(), kept.id, members.clone());
    db.put(move |tx| {
        for member in &members {
            tx.add_member(gone, *member, now)?;
        }
        tx.add_member(kept_id, members[0], now)?;
        tx.assign_policy(gone, policy, now)?;
        tx.delete_group(gone)
    })
    .await;
    assert_eq!(db.get(move |tx| tx.groups_of_account_up_to(first, 9)).await, 1);
    assert_eq!(db.get(move |tx| tx.groups_of_account(first, 9)).await, std::slice::from_ref(&kept));
    assert_eq!(db.get(move |tx| tx.policy_versions(first)).await, []);
    let claimed = db.put(move |tx| tx.claim_groups_of_account(first, 9)).await;
    assert_eq!(claimed, [kept]);
    for deleted in [2, 2, 1, 0] {
        assert_eq!(db.put(move |tx| tx.delete_members(gone, 2)).await, deleted);
    }
    assert!(db.get(move |tx| tx.is_member(kept_id, first)).await);
    for member in others {
        assert!(!db.get(move |tx| tx.is_member(gone, member)).await);
    }
}
