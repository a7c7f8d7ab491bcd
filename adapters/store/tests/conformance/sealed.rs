use std::collections::BTreeSet;

use chancery_store::{SEALED_COLUMNS, SealedColumn};
use chancery_testkit::Address;

use crate::common::Database;

fn column(table: &str) -> SealedColumn {
    *SEALED_COLUMNS.iter().find(|column| column.table == table).unwrap()
}

pub(crate) async fn every_sealed_column_of_the_schema_is_listed(db: Database) {
    let found = db.raw_texts(match db.address() {
        Address::Sqlite(_) => {
            "SELECT tables.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
             WHERE tables.type = 'table' AND columns.name = 'sealed'"
        }
        Address::Postgres(_) => {
            "SELECT table_name::text FROM information_schema.columns
             WHERE table_schema = 'public' AND column_name = 'sealed'"
        }
    });
    let mut listed: BTreeSet<_> = SEALED_COLUMNS.iter().map(|column| column.table.to_owned()).collect();
    // Answers live for a day: forgotten, not sealed anew.
    listed.insert("idempotency".to_owned());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), listed);
    // And each can be walked.
    for &column in SEALED_COLUMNS {
        assert!(db.get(move |tx| tx.sealed_values(column, "", 1)).await.is_empty());
    }
}

pub(crate) async fn values_are_walked_in_the_order_of_their_ids(db: Database) {
    let keys = [(); 5].map(|()| db.make.token_key());
    let expected: Vec<_> = keys.iter().map(|key| (key.id.to_string(), key.sealed.clone())).collect();
    db.put(move |tx| keys.iter().try_for_each(|key| tx.insert_token_key(key))).await;
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let from = after.clone();
        let values = db.get(move |tx| tx.sealed_values(column("token_keys"), &from, 2)).await;
        let Some(last) = values.last() else { break };
        assert!(values.len() <= 2);
        after = last.id.clone();
        found.extend(values.into_iter().map(|value| (value.id, value.sealed)));
    }
    assert_eq!(found, expected);
}

pub(crate) async fn a_value_is_replaced_unless_it_has_changed(db: Database) {
    let account = db.some_account().await;
    let secrets = column("service_secrets");
    let now = db.make.now();
    db.put(move |tx| tx.settle_service_secret("s", b"old", now)).await;
    assert!(db.put(move |tx| tx.replace_sealed(secrets, "s", b"old", b"new")).await);
    assert!(!db.put(move |tx| tx.replace_sealed(secrets, "s", b"old", b"newer")).await);
    assert!(!db.put(move |tx| tx.replace_sealed(secrets, "t", b"old", b"new")).await);
    assert_eq!(db.get(|tx| tx.service_secret("s")).await, Some(b"new".to_vec()));

    let credentials = column("eab_credentials");
    let found = db.get(move |tx| tx.sealed_values(credentials, "", 10)).await;
    let [value] = found.as_slice() else { panic!("{} has one credential", account.id) };
    assert_eq!(value.sealed, b"sealed");
    let id = value.id.clone();
    assert!(db.put(move |tx| tx.replace_sealed(credentials, &id, b"sealed", b"anew")).await);
    assert_eq!(db.get(move |tx| tx.sealed_values(credentials, "", 10)).await[0].sealed, b"anew");
}
