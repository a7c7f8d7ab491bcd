//! Reaches out to the world: messages to the webhooks of resellers, and certificates to public logs. Knows nothing of where
//! those come from.

mod dial;
mod error;
mod log;
mod post;
mod tls;

pub use dial::Resolver;
pub use error::PostError;
pub use log::{LogAnswer, LogClient, LogError};
pub use post::{Post, Publisher, PublisherConfig};
