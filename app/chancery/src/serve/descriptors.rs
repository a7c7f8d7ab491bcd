//! How many files this process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as the system lets us. The customary 1,024 is for programs that use `select`, which we do not.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => tracing::debug!(from = current, to = maximum, "raised the limit of open files"),
        Err(error) => tracing::warn!(%error, limit = current, "could not raise the limit of open files"),
    }
}
