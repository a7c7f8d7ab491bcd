//! Which database, and whether the way to it is safe.

use chancery_store::{DatabaseUrl, Options, Server};

use super::{Check, url};
use crate::config::types;
use crate::files::{behind_links, folder_of};

pub(super) fn settle(database: &types::Database, check: &mut Check<'_>) -> Option<(DatabaseUrl, Options)> {
    let connections = check.number("database.connections", database.connections, 1_usize, 1000);
    let url = check.problems.take("database.url", database.url.parse::<DatabaseUrl>());
    let url = match url? {
        DatabaseUrl::Sqlite(path) => {
            // By one name everywhere: what holds it, and what is made beside it, must not depend on what it is called.
            let path = behind_links(&check.base.join(path));
            let folder = folder_of(&path);
            let message = format!("is in {}, which is not a folder; make it, or choose another", folder.display());
            check.problems.require(folder.is_dir(), "database.url", message);
            DatabaseUrl::Sqlite(path)
        }
        DatabaseUrl::Postgres(address) => {
            let private = address.requires_tls() || !address.servers().iter().any(is_remote);
            let message = "goes to another machine without being sure of TLS; add ?sslmode=require, or set \
                           database.allow_unencrypted = true where the network is safe";
            check.problems.require(private || database.allow_unencrypted, "database.url", message);
            DatabaseUrl::Postgres(address)
        }
    };
    let ca_file = database.ca_file.as_ref().map(|path| check.path(path));
    if let Some(path) = &ca_file {
        let readable = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
        check.problems.take("database.ca_file", readable);
    }
    let options =
        Options { connections: connections?, migrate: database.migrate, postgres_ca: ca_file, ..Options::default() };
    Some((url, options))
}

/// An address beside the name is what is really spoken to.
fn is_remote(server: &Server) -> bool {
    server.name.as_ref().is_some_and(|name| !url::loopback_host(name))
        || server.address.is_some_and(|address| !address.to_canonical().is_loopback())
}
