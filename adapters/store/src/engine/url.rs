//! Which database: `sqlite://path/to/file`, `postgres://user:password@host/name`, or
//! `postgres://user@%2Frun%2Fpostgresql/name` for the socket of a server on the same machine.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::config::{Host, SslMode};

use crate::error::StoreError;

/// The address of a database. Shown without its password.
#[derive(Clone)]
pub enum DatabaseUrl {
    Sqlite(PathBuf),
    Postgres(Box<tokio_postgres::Config>),
}

impl FromStr for DatabaseUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(path) = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")) {
            if path.is_empty() {
                return Err(StoreError::Url("the database URL names no file: sqlite://path/to/chancery.db".to_owned()));
            }
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            // TLS is always verified here, so the stricter words mean what `require` does.
            let text =
                text.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require");
            // The driver's message can quote the password: keep it to ourselves.
            let mut config: tokio_postgres::Config = text.parse().map_err(|_| {
                StoreError::Url("the database URL is not like postgres://user:password@host:5432/name".to_owned())
            })?;
            // Nobody listens in between on a socket in the file system, and PostgreSQL has no TLS there.
            if !config.get_hosts().is_empty() && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_))) {
                config.ssl_mode(SslMode::Disable);
            }
            return Ok(Self::Postgres(Box::new(config)));
        }
        Err(StoreError::Url("the database URL must begin with sqlite:// or postgres://".to_owned()))
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres(config) => {
                let host = config.get_hosts().iter().map(|host| match host {
                    Host::Tcp(name) => name.clone(),
                    Host::Unix(path) => path.display().to_string(),
                });
                let host = host.collect::<Vec<_>>().join(",");
                write!(f, "postgres://{host}/{}", config.get_dbname().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_shows_a_password() {
        let url: DatabaseUrl = "postgres://me:hunter2@db.internal:5432/ca".parse().unwrap();
        assert_eq!(format!("{url} {url:?}"), "postgres://db.internal/ca postgres://db.internal/ca");
        let error = "postgres://me:hunter2@host:port/ca".parse::<DatabaseUrl>().unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn names_a_file_or_a_server() {
        assert_eq!("sqlite:///var/lib/x.db".parse::<DatabaseUrl>().unwrap().to_string(), "sqlite:///var/lib/x.db");
        assert!("mysql://x".parse::<DatabaseUrl>().is_err());
        assert!("sqlite://".parse::<DatabaseUrl>().is_err());
        for mode in ["require", "verify-ca", "verify-full"] {
            let DatabaseUrl::Postgres(config) = format!("postgres://u@db/ca?sslmode={mode}").parse().unwrap() else {
                panic!("{mode}")
            };
            assert_eq!(config.get_ssl_mode(), tokio_postgres::config::SslMode::Require, "{mode}");
        }
    }
}
