//! Looks up the hosts of webhooks with the project's own DNS client.

use std::net::IpAddr;

use async_trait::async_trait;
use chancery_dcv::HostResolver;
use chancery_publish::Resolver;

/// A [`HostResolver`] for a [`Publisher`](chancery_publish::Publisher): neither of their crates knows the other.
pub struct WebhookHosts(pub HostResolver);

#[async_trait]
impl Resolver for WebhookHosts {
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.addresses(host).await
    }
}
