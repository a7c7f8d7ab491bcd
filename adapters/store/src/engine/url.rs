//! Which database: `sqlite://path/to/file`, `postgres://user:password@host/name`, or
//! `postgres://user@%2Frun%2Fpostgresql/name` for the socket of a server on the same machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::StoreError;
use crate::protocol::{PostgresAddress, Server};

/// The address of a database. Shown without its password.
#[derive(Clone)]
pub enum DatabaseUrl {
    Sqlite(PathBuf),
    Postgres(Box<PostgresAddress>),
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
            let not_like = "the database URL is not like postgres://user:password@host:5432/name";
            let address = text.parse().map_err(|why| StoreError::Url(format!("{not_like}: {why}")))?;
            return Ok(Self::Postgres(Box::new(address)));
        }
        Err(StoreError::Url("the database URL must begin with sqlite:// or postgres://".to_owned()))
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres(address) => {
                let hosts = address.servers().iter().map(|server| match server {
                    Server { folder: Some(folder), .. } => folder.display().to_string(),
                    Server { name: Some(name), port, .. } => format!("{name}:{port}"),
                    Server { address: Some(address), port, .. } => SocketAddr::new(*address, *port).to_string(),
                    Server { address: None, .. } => String::new(),
                });
                let hosts = hosts.collect::<Vec<_>>().join(",");
                write!(f, "postgres://{hosts}/{}", address.database().unwrap_or_default())
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
        assert_eq!(format!("{url} {url:?}"), "postgres://db.internal:5432/ca postgres://db.internal:5432/ca");
        let error = "postgres://me:hunter2@host:port/ca".parse::<DatabaseUrl>().unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn names_a_file_or_a_server() {
        assert_eq!("sqlite:///var/lib/x.db".parse::<DatabaseUrl>().unwrap().to_string(), "sqlite:///var/lib/x.db");
        assert!("mysql://x".parse::<DatabaseUrl>().is_err());
        assert!("sqlite://".parse::<DatabaseUrl>().is_err());
    }
}
