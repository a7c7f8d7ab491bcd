//! Takes messages to webhooks. Each webhook has a task of its own while there is something to tell it: one that is slow
//! or silent holds up nobody else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{Clock, WebhookId};
use chancery_publish::{Post, Publisher};
use chancery_service::{Message, Sent, ServiceError, Services, Signatory};
use tokio::task::{Id, JoinSet};

/// How often it is looked for something to tell.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct Courier {
    services: Services,
    publisher: Publisher,
    clock: Arc<dyn Clock>,
}

impl Courier {
    pub fn new(services: Services, publisher: Publisher, clock: Arc<dyn Clock>) -> Self {
        Self { services, publisher, clock }
    }

    /// Looks and delivers until told to stop. What is under way then is given up, and told again by whoever comes next.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut at_work = JoinSet::new();
        let mut held: HashMap<Id, WebhookId> = HashMap::new();
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                _ = look.tick() => {
                    for webhook in self.due().await {
                        if held.values().all(|other| *other != webhook) {
                            let me = self.clone();
                            let task = at_work.spawn(async move { me.serve(webhook).await });
                            held.insert(task.id(), webhook);
                        }
                    }
                }
                Some(ended) = at_work.join_next_with_id() => {
                    let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                    held.remove(&id);
                }
                () = &mut stop => break,
            }
        }
    }

    /// Tells every webhook what there is to tell now, once; for tests.
    pub async fn deliver_all(&self) {
        for webhook in self.due().await {
            self.serve(webhook).await;
        }
    }

    async fn due(&self) -> Vec<WebhookId> {
        self.services.dispatch.due().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not look for events to tell");
            Vec::new()
        })
    }

    async fn serve(&self, webhook: WebhookId) {
        if let Err(error) = self.round(webhook).await {
            // Its lease ends soon, and then it is tried again.
            tracing::warn!(%error, %webhook, "could not tell a webhook what there is to tell");
        }
    }

    async fn round(&self, webhook: WebhookId) -> Result<(), ServiceError> {
        let dispatch = &self.services.dispatch;
        while let Some(round) = dispatch.begin(webhook).await? {
            let mut go_on = !round.messages.is_empty();
            for message in &round.messages {
                let sent = self.send(message, &round.signatory).await;
                go_on = dispatch.conclude(message, sent).await?;
                if !go_on {
                    break;
                }
            }
            dispatch.end(webhook).await?;
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    /// Signs and sends a message. Those before it may have taken minutes, and receivers refuse what was signed so long ago.
    async fn send(&self, message: &Message, signatory: &Signatory) -> Sent {
        let (at, began) = (self.clock.now(), Instant::now());
        let headers = signatory.sign(message, at);
        let post = Post { url: &message.url, headers: &headers, body: &message.body };
        let answer = self.publisher.post(&post).await.map_err(|error| error.to_string());
        let took = began.elapsed();
        metrics::histogram!("chancery_webhook_seconds").record(took);
        Sent { at, took, answer }
    }
}
