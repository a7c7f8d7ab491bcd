//! Reaches out to the world on behalf of resellers: messages to their webhooks. Knows nothing of where those come from.

mod dial;
mod error;
mod post;
mod tls;

pub use error::PostError;
pub use post::{Post, Publisher, PublisherConfig};
