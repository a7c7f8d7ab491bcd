//! Takes messages to webhooks. Each webhook has a task of its own while there is something to tell it: one that is slow
//! or silent holds up no other. So many messages are on their way at a time, and resellers have them sent by turns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{Clock, WebhookId};
use chancery_fair::FairPlaces;
use chancery_publish::{Post, PostError, Publisher};
use chancery_service::{Message, Round, Sent, ServiceError, Services, Signatory};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

/// How often to look for events that are to be delivered.
const LOOK: Duration = Duration::from_millis(500);
/// Messages that are on their way at a time.
const AT_ONCE: usize = 128;
/// Who has waited so long for a turn makes sure that the webhook is still theirs: much less than a lease lasts.
const LONG: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub struct Courier {
    services: Services,
    publisher: Publisher,
    clock: Arc<dyn Clock>,
    places: FairPlaces,
}

impl Courier {
    pub fn new(services: Services, publisher: Publisher, clock: Arc<dyn Clock>) -> Self {
        Self { services, publisher, clock, places: FairPlaces::new(AT_ONCE) }
    }

    /// Looks and delivers until told to stop. What is under way then is given up, and told again by whoever comes next,
    /// at once: no webhook is held any more when this returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        if let Err(error) = self.services.dispatch.recover().await {
            tracing::warn!(%error, "could not take back webhooks of a process before: their leases end soon");
        }
        let (halt, halted) = watch::channel(false);
        let mut at_work = JoinSet::new();
        let (mut tasks, mut held) = (HashMap::<Id, WebhookId>::new(), HashSet::new());
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(ended) = at_work.join_next_with_id() => {
                    let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                    if let Some(webhook) = tasks.remove(&id) {
                        held.remove(&webhook);
                    }
                }
                _ = look.tick() => {
                    for webhook in self.due().await {
                        if held.insert(webhook) {
                            let (me, mut halted) = (self.clone(), halted.clone());
                            let task = at_work.spawn(async move { me.serve(webhook, &mut halted).await });
                            tasks.insert(task.id(), webhook);
                        }
                    }
                }
            }
        }
        halt.send_replace(true);
        // Not aborted: a lease that is being written would be there after all are given back.
        while at_work.join_next().await.is_some() {}
        if let Err(error) = self.services.dispatch.end_all().await {
            tracing::warn!(%error, "could not let go of webhooks: they are told again when their leases end");
        }
    }

    /// Tells every webhook what there is to tell now, once; for tests.
    pub async fn deliver_all(&self) {
        let (_halt, mut halted) = watch::channel(false);
        for webhook in self.due().await {
            self.serve(webhook, &mut halted).await;
        }
    }

    async fn due(&self) -> Vec<WebhookId> {
        self.services.dispatch.due().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not look for events to tell");
            Vec::new()
        })
    }

    async fn serve(&self, webhook: WebhookId, halted: &mut watch::Receiver<bool>) {
        if let Err(error) = self.rounds(webhook, halted).await {
            // Its lease ends soon, and then it is tried again.
            tracing::warn!(%error, %webhook, "could not tell a webhook what there is to tell");
        }
    }

    /// Round after round, as long as there is something to tell. A round that ends early is followed by another, with the
    /// webhook as it is then; where it is not to be sent to any more, there is none.
    async fn rounds(&self, webhook: WebhookId, halted: &mut watch::Receiver<bool>) -> Result<(), ServiceError> {
        let dispatch = &self.services.dispatch;
        while let Some(round) = dispatch.begin(webhook).await? {
            let mut go_on = !round.messages.is_empty();
            for message in &round.messages {
                let Some(sent) = self.send_unless(halted, message, &round).await? else {
                    go_on = false;
                    break;
                };
                if !dispatch.conclude(message, sent).await? {
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

    /// Sends a message when it is its turn; nothing is known of it where the process stops before there is an answer, or the
    /// webhook became another's.
    async fn send_unless(
        &self,
        halted: &mut watch::Receiver<bool>,
        message: &Message,
        round: &Round,
    ) -> Result<Option<Sent>, ServiceError> {
        tokio::select! {
            biased;
            () = raised(halted) => Ok(None),
            sent = self.send_in_turn(message, round) => sent,
        }
    }

    async fn send_in_turn(&self, message: &Message, round: &Round) -> Result<Option<Sent>, ServiceError> {
        let asked = Instant::now();
        let _place = self.places.acquire(&round.reseller.to_string()).await;
        if asked.elapsed() > LONG && !self.services.dispatch.keep(round.webhook).await? {
            return Ok(None);
        }
        Ok(Some(self.send(message, &round.signatory).await))
    }

    /// Signs and sends a message. Those before it may have taken minutes, and receivers refuse what was signed so long ago.
    async fn send(&self, message: &Message, signatory: &Signatory) -> Sent {
        let (at, began) = (self.clock.now(), Instant::now());
        let headers = signatory.sign(message, at);
        let post = Post { url: &message.url, headers: &headers, body: &message.body };
        let answer = self.publisher.post(&post).await;
        let took = began.elapsed();
        if let Err(PostError::Withheld(why)) = &answer {
            tracing::debug!(%why, webhook = %message.delivery.webhook, "there is nothing that may be spoken to");
        }
        let answer = answer.map_err(|error| error.to_string());
        metrics::histogram!("chancery_webhook_seconds").record(took);
        Sent { at, took, answer }
    }
}

/// Completes once the flag is raised.
async fn raised(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|raised| *raised).await;
}
