//! A PostgreSQL database of a test's own.
//!
//! `./scripts/test` starts a private server and names it in `CHANCERY_TEST_POSTGRES`; so does
//! `./scripts/with-postgres COMMAND`. Where there is none, a test that needs PostgreSQL says so and passes
//! without having run, unless `CI` or `CHANCERY_REQUIRE_POSTGRES` is set: then it fails.

use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread;

use postgres::{Client, NoTls};

/// Names the server that tests may create databases on.
const SERVER: &str = "CHANCERY_TEST_POSTGRES";
/// With any of these set, a missing server is a failure: nobody reads what a build server skipped.
const REQUIRED: [&str; 2] = ["CI", "CHANCERY_REQUIRE_POSTGRES"];

/// The URL of the PostgreSQL server for tests, with superuser rights, or `None` when the test is to be
/// skipped; that is printed.
///
/// # Panics
/// When there is no server although the environment asks for one.
pub fn postgres_url() -> Option<String> {
    let server = std::env::var(SERVER).ok();
    let required = REQUIRED.into_iter().find(|name| std::env::var_os(name).is_some());
    match choose(server, required) {
        Choice::Use(url) => Some(url),
        Choice::Skip => {
            eprintln!("skipped: {SERVER} is not set, so what this test says of PostgreSQL was not tested");
            None
        }
        Choice::Fail(message) => panic!("{message}"),
    }
}

/// An empty database, created for one test and dropped with this value.
///
/// Both work inside and outside of an async runtime.
pub struct TestDatabase {
    server: String,
    name: String,
    url: String,
}

impl TestDatabase {
    /// A fresh database on the server of [`postgres_url`], or `None` when the test is to be skipped.
    ///
    /// # Panics
    /// When the server cannot be reached or refuses, and where [`postgres_url`] does.
    pub fn create() -> Option<TestDatabase> {
        Some(Self::create_on(postgres_url()?))
    }

    /// A fresh database on this server, whose URL has superuser rights.
    ///
    /// # Panics
    /// When the server cannot be reached or refuses.
    pub fn create_on(server: String) -> TestDatabase {
        let name = random_name();
        // template0 accepts no connections, so no other test can be in the way of copying it.
        execute(&server, &format!(r#"CREATE DATABASE "{name}" TEMPLATE template0"#))
            .unwrap_or_else(|error| panic!("cannot create a database on the server for tests: {error}"));
        let url = with_database(&server, &name);
        TestDatabase { server, name, url }
    }

    /// Where to connect, as the server's superuser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements as the server's superuser; an error is what the server said.
    ///
    /// # Errors
    /// When the server refuses a statement; those before it are not kept either.
    pub fn execute(&self, statements: &str) -> Result<(), String> {
        execute(&self.url, statements)
    }

    /// The database's name: lower-case letters, digits and underscores.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // FORCE ends connections that a pool of the test still holds. A failure must not hide the test's own.
        if let Err(error) = execute(&self.server, &format!(r#"DROP DATABASE IF EXISTS "{}" WITH (FORCE)"#, self.name)) {
            eprintln!("the database {} stays behind: {error}", self.name);
        }
    }
}

enum Choice {
    Use(String),
    Skip,
    Fail(String),
}

/// What to do, given the server's URL and the variable that requires one, if any.
fn choose(server: Option<String>, required: Option<&str>) -> Choice {
    match (server.filter(|url| !url.is_empty()), required) {
        (Some(url), _) => Choice::Use(url),
        (None, None) => Choice::Skip,
        (None, Some(variable)) => Choice::Fail(format!(
            "this test needs PostgreSQL: {SERVER} is not set, and {variable} says it must be; \
             run ./scripts/test, or ./scripts/with-postgres COMMAND"
        )),
    }
}

/// Runs one statement on a connection of its own, on a thread of its own: the driver blocks, which it may not
/// do on a thread of an async runtime.
fn execute(server: &str, statement: &str) -> Result<(), String> {
    thread::scope(|scope| {
        let attempt = scope.spawn(|| Client::connect(server, NoTls)?.batch_execute(statement));
        attempt.join().expect("the driver reports errors and does not panic").map_err(|error| explain(&error))
    })
}

/// The driver's own text is as short as "db error"; what happened is in the error's source.
fn explain(error: &postgres::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Unique among all tests of all processes. Not drawn from a test's seeded randomness: two tests with one
/// seed must not share a database.
fn random_name() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("chancery_test_{:016x}{:016x}", random(), random())
}

/// The URL with another database in it; user, host, port and parameters stay.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = match url.split_once('?') {
        Some((address, parameters)) => (address, format!("?{parameters}")),
        None => (url, String::new()),
    };
    let authority = address.find("://").map_or(0, |at| at + "://".len());
    let end = address[authority..].find('/').map_or(address.len(), |at| authority + at);
    format!("{}/{name}{parameters}", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists(server: &str, name: &str) -> bool {
        let mut client = Client::connect(server, NoTls).unwrap();
        !client.query("SELECT 1 FROM pg_database WHERE datname = $1", &[&name]).unwrap().is_empty()
    }

    #[test]
    fn a_missing_server_fails_only_where_it_is_required() {
        assert!(matches!(choose(None, None), Choice::Skip));
        assert!(matches!(choose(Some(String::new()), None), Choice::Skip));
        assert!(matches!(choose(Some("postgres://h".into()), Some("CI")), Choice::Use(url) if url == "postgres://h"));
        match choose(None, Some("CI")) {
            Choice::Fail(message) => assert!(message.contains(SERVER) && message.contains("CI"), "{message}"),
            Choice::Use(_) | Choice::Skip => panic!("a required server that is missing was let pass"),
        }
    }

    #[test]
    fn only_the_database_of_a_url_is_replaced() {
        for (url, expected) in [
            ("postgres://u@h:1/postgres", "postgres://u@h:1/db"),
            ("postgres://u:p@h:1", "postgres://u:p@h:1/db"),
            ("postgresql://h/a?sslmode=disable", "postgresql://h/db?sslmode=disable"),
            ("postgres://h?application_name=a/b", "postgres://h/db?application_name=a/b"),
        ] {
            assert_eq!(with_database(url, "db"), expected);
        }
    }

    #[test]
    fn a_database_lives_as_long_as_its_value() {
        let Some(database) = TestDatabase::create() else { return };
        let other = TestDatabase::create().expect("the server is there");
        assert_ne!(database.name(), other.name());

        let server = database.server.clone();
        let mut client = Client::connect(database.url(), NoTls).unwrap();
        let row = client.query_one("SELECT current_database()::text", &[]).unwrap();
        assert_eq!(row.get::<_, String>(0), database.name());

        let name = database.name().to_owned();
        assert!(exists(&server, &name));
        // `client` is still connected, like a pool that outlives its test.
        drop(database);
        assert!(!exists(&server, &name));
        assert!(exists(&server, other.name()));
    }

    #[test]
    fn a_database_can_be_made_and_dropped_inside_a_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { drop(TestDatabase::create()) });
    }
}
