//! How long it took to begin something: told to what stands around every router, which keeps new things waiting where that is
//! long.

use std::convert::Infallible;
use std::future::Future;
use std::time::{Duration, Instant};

use axum::response::{IntoResponseParts, ResponseParts};

/// Part of an answer that says that something was begun; found in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Begun(pub(crate) Duration);

impl Begun {
    /// Does what begins it, which must wait for nobody outside of this system.
    pub async fn by<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<(T, Self), E> {
        let since = Instant::now();
        let done = work.await?;
        Ok((done, Self(since.elapsed())))
    }
}

impl IntoResponseParts for Begun {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}
