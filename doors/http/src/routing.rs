//! Routes as axum has them, of handlers that all have one type: around each handler axum puts a dozen layers, which would be
//! compiled anew with every one.

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use futures_util::future::BoxFuture;

/// Any handler.
#[derive(Clone)]
struct Handled<S>(Arc<dyn Fn(Request, S) -> BoxFuture<'static, Response> + Send + Sync>);

impl<S: Clone + 'static> Handler<(), S> for Handled<S> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: S) -> Self::Future {
        (self.0)(request, state)
    }
}

/// A handler that is a function; another would answer with a future that is in no box yet.
fn handled<T, S>(handler: impl Handler<T, S, Future = BoxFuture<'static, Response>>) -> Handled<S> {
    Handled(Arc::new(move |request, state| handler.clone().call(request, state)))
}

macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident)*) => {$(
        $(#[$doc])*
        pub fn $method<T, S: Clone + Send + Sync + 'static>(
            handler: impl Handler<T, S, Future = BoxFuture<'static, Response>>,
        ) -> MethodRouter<S> {
            routing::$method(handled(handler))
        }
    )*};
}

methods! {
    /// As [`axum::routing::get`].
    get
    /// As [`axum::routing::post`].
    post
    /// As [`axum::routing::any`].
    any
}
