//! Two folders of migrations, one schema: what a query may rely on is there on both databases. Except for what only one of
//! them needs: the table `sequences` of SQLite, and `acme_nonce_generation` of PostgreSQL.

use std::collections::BTreeSet;
use std::path::Path;

use chancery_testkit::TestStore;

use crate::common::raw_texts;

#[test]
fn both_folders_have_the_same_files_and_each_is_applied() {
    let names = |of: &str| -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(of);
        folder.read_dir().unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    let listed = chancery_store::migrations().iter().map(|step| format!("{}.sql", step.name)).collect();
    assert_eq!(names("sqlite"), names("postgres"));
    assert_eq!(names("sqlite"), listed);
    for (place, step) in chancery_store::migrations().iter().enumerate() {
        assert_eq!(step.version, place as i64 + 1);
        assert!(step.name.starts_with(&format!("{:04}_", step.version)), "{}", step.name);
    }
}

#[test]
fn both_databases_have_the_same_columns() {
    same(
        "SELECT tables.name || '.' || columns.name || ' ' ||
            CASE columns.type WHEN 'BLOB' THEN 'bytea' ELSE lower(columns.type) END ||
            CASE columns.\"notnull\" WHEN 1 THEN '' ELSE ' or nothing' END
         FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.type = 'table' AND tables.name <> 'sequences'",
        "SELECT table_name || '.' || column_name || ' ' || data_type ||
            CASE is_nullable WHEN 'NO' THEN '' ELSE ' or nothing' END
         FROM information_schema.columns WHERE table_schema = 'public'
            AND table_name <> 'acme_nonce_generation'",
    );
}

/// Those that keep keys unique included, whatever their names.
#[test]
fn both_databases_have_the_same_indexes() {
    same(
        "SELECT tables.name || CASE indexes.\"unique\" WHEN 1 THEN ' unique (' ELSE ' (' END ||
            (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(indexes.name) ORDER BY seqno)) ||
            ')' || CASE indexes.partial WHEN 1 THEN
                substr(texts.sql, instr(texts.sql, ' WHERE ')) ELSE '' END
         FROM sqlite_master AS tables, pragma_index_list(tables.name) AS indexes
         LEFT JOIN sqlite_master AS texts ON texts.name = indexes.name
         WHERE tables.type = 'table' AND tables.name <> 'sequences' AND tables.name <> 'schema_migrations'",
        "SELECT tables.relname || CASE WHEN indisunique THEN ' unique (' ELSE ' (' END ||
            (SELECT string_agg(attname, ', ' ORDER BY place) FROM unnest(indkey) WITH ORDINALITY AS keys (key, place)
             JOIN pg_attribute ON attrelid = indrelid AND attnum = key) || ')' ||
            COALESCE(' WHERE ' || regexp_replace(replace(translate(pg_get_expr(indpred, indrelid), '()', ''), '::text',
                ''), '= ANY ARRAY\\[(.*)\\]', 'IN (\\1)'), '')
         FROM pg_index JOIN pg_class AS tables ON tables.oid = indrelid
         WHERE relnamespace = 'public'::regnamespace AND tables.relname NOT IN ('schema_migrations',
            'acme_nonce_generation')",
    );
}

#[test]
fn both_databases_have_the_same_named_indexes() {
    same(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
        "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%\\_pkey'
            AND indexname NOT LIKE '%\\_key'",
    );
}

#[test]
fn both_databases_have_the_same_foreign_keys() {
    same(
        "SELECT tables.name || '.' || keys.\"from\" || ' ' || keys.\"table\" || '.' || keys.\"to\"
         FROM sqlite_master AS tables, pragma_foreign_key_list(tables.name) AS keys WHERE tables.type = 'table'",
        "SELECT conrelid::regclass || '.' || mine.attname || ' ' || confrelid::regclass || '.' || theirs.attname
         FROM pg_constraint JOIN pg_attribute AS mine ON mine.attrelid = conrelid AND mine.attnum = conkey[1]
         JOIN pg_attribute AS theirs ON theirs.attrelid = confrelid AND theirs.attnum = confkey[1]
         WHERE contype = 'f'",
    );
}

/// Keys and names sort by their bytes: pages and lists must not depend on the locale of a server.
#[test]
fn every_text_sorts_by_its_bytes() {
    let Some(postgres) = TestStore::postgres() else { return };
    let others = raw_texts(
        &postgres.address(),
        "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public'
            AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C' AND table_name <> 'schema_migrations'",
    );
    assert_eq!(others, Vec::<String>::new());
}

/// What the two questions find, each on its database, must be the same, and something.
fn same(on_sqlite: &str, on_postgres: &str) {
    let Some(postgres) = TestStore::postgres() else { return };
    let sqlite = TestStore::sqlite();
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let found = sorted(raw_texts(&sqlite.address(), on_sqlite));
    assert!(found.len() > 10, "{found:?}");
    assert_eq!(found, sorted(raw_texts(&postgres.address(), on_postgres)));
}
