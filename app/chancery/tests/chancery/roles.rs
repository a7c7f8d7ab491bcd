//! PostgreSQL with a role for the service that does not own the tables, as docs/operations.md says.

use chancery_testkit::postgres::TestDatabase;
use serde_json::json;

use crate::ordering::text;
use crate::support::*;

const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

/// The statements of the section about roles, for roles of this test.
fn statements(database: &TestDatabase) -> Vec<String> {
    let (_, section) = OPERATIONS.split_once("### A role for the service alone").unwrap();
    let (section, _) = section.split_once("\n### ").unwrap();
    let blocks = section.split("```sql\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    blocks
        .map(|block| block.replace("TO chancery;", "TO $;").replace("FROM chancery;", "FROM $;"))
        .map(|block| block.replace('$', &service(database)))
        .collect()
}

fn owner(database: &TestDatabase) -> String {
    format!("{}_owner", database.name())
}

fn service(database: &TestDatabase) -> String {
    format!("{}_service", database.name())
}

fn url_of(role: &str, database: &TestDatabase) -> String {
    let (_, server) = database.url().split_once('@').unwrap();
    format!("postgres://{role}@{server}")
}

/// Runs statements as a role that cannot become another.
fn run_as(role: &str, database: &TestDatabase, sql: &str) -> Result<(), String> {
    database.execute(&format!("SET SESSION AUTHORIZATION {role}; {sql}"))
}

#[test]
fn a_service_with_a_role_of_its_own_cannot_remove_what_was_written() {
    let Some(database) = TestDatabase::create() else { return };
    let (owner, service) = (owner(&database), service(&database));
    let made = format!(
        "CREATE ROLE {owner} LOGIN; CREATE ROLE {service} LOGIN; ALTER DATABASE {0} OWNER TO {owner}",
        database.name()
    );
    database.execute(&made).unwrap();
    let configured = Configured::new(&format!(
        "database.url = '{}'\ndatabase.migrate = false\nretention.audit = '0d'\nretention.refusals = '0d'",
        url_of(&service, &database)
    ));
    let made = configured.run(&["init", "--json", "--database-url", &url_of(&owner, &database)]);
    assert_eq!(made.json().as_array().unwrap().len(), 4);
    let [grant, delete] = &statements(&database)[..] else { panic!("two blocks of statements") };
    run_as(&owner, &database, grant).unwrap();

    // The service and the operator's commands need no more.
    let mut serving = configured.serve();
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
    let reseller = configured.run(&["reseller", "create", "--code", "ACME2", "--name", "Second", "--json"]).json();
    assert_eq!(reseller["code"], "ACME2");
    let client = configured.run(&["client", "create", "--reseller", "ACME2", "--json"]).json();
    let form = format!("client_id={}&client_secret={}", text(&client["client_id"]), text(&client["client_secret"]));
    let given = curl(&[
        "-d",
        &format!("{form}&grant_type=client_credentials&audience=http://localhost:8443"),
        &format!("http://{}/oauth/token", serving.api),
    ]);
    let authorization = format!("Authorization: Bearer {}", text(&given.json()["access_token"]));
    let account = json!({"customer_email": "a@example.com"}).to_string();
    let json = "Content-Type: application/json";
    let made = curl(&["-H", &authorization, "-H", json, "-d", &account, &format!("http://{}/v1/account", serving.api)]);
    assert_eq!(made.status, 201, "{made:?}");
    let written = || configured.run(&["audit", "--json"]).json();
    let before = written();
    assert!(before.as_array().unwrap().iter().any(|line| line["action"] == "account.create"), "{before}");

    // What whoever takes it over would try.
    for (attempt, refusal) in [
        ("UPDATE epochs SET value = 9000000000000000; DELETE FROM audit", "permission denied for table audit"),
        ("UPDATE audit SET detail = ''", "permission denied for table audit"),
        ("TRUNCATE audit", "permission denied for table audit"),
        ("ALTER TABLE audit DISABLE TRIGGER ALL", "must be owner of table audit"),
        ("DROP TRIGGER audit_is_kept ON audit", "must be owner of relation audit"),
        (
            "CREATE OR REPLACE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
            "permission denied for schema public",
        ),
        ("DROP TABLE audit", "must be owner of table audit"),
    ] {
        let refused = run_as(&service, &database, attempt).expect_err(attempt);
        assert!(refused.contains(refusal), "{attempt}: {refused}");
    }
    // The owner may delete what is old enough, which nothing is.
    run_as(&owner, &database, delete).unwrap();
    assert_eq!(written(), before);
    serving.process.stop();
    let log = serving.process.log();
    assert!(!log.contains("permission denied"), "{log}");
}
