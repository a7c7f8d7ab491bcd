//! Sends messages to webhooks.
//!
//! Each webhook that has work is a task of its own, so a slow or silent server delays no other webhook. A task waits for a
//! permit before it loads a message, and has at most one message in flight; permits are shared fairly among resellers. So
//! 128 permits and 4 rounds that read events at the same time bound the memory of all tasks together: 16 MiB.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::Clock;
use chancery_fair::FairPlaces;
use chancery_publish::{Post, PostError, Publisher};
use chancery_service::{DueWebhook, Message, Round, Sent, ServiceError, Services};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

/// How often to look for events that are to be delivered.
const LOOK: Duration = Duration::from_millis(500);
/// Messages in flight.
const IN_FLIGHT: usize = 128;
/// Rounds that read new events at the same time.
const BEGINNING: usize = 4;
/// A task that waited this long for a permit renews its lease first: much less than a lease lasts.
const LONG: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub struct Courier {
    services: Services,
    publisher: Publisher,
    clock: Arc<dyn Clock>,
    in_flight: FairPlaces,
    beginning: FairPlaces,
}

impl Courier {
    pub fn new(services: Services, publisher: Publisher, clock: Arc<dyn Clock>) -> Self {
        let in_flight = FairPlaces::with_share_of_free(IN_FLIGHT);
        Self { services, publisher, clock, in_flight, beginning: FairPlaces::new(BEGINNING) }
    }

    /// Looks and delivers until told to stop. What is under way then is given up, and told again by whoever comes next,
    /// at once: no webhook is held any more when this returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        if let Err(error) = self.services.dispatch.recover().await {
            tracing::warn!(%error, "could not take back webhooks of a process before: their leases end soon");
        }
        let (halt, halted) = watch::channel(false);
        let mut at_work = JoinSet::new();
        let (mut tasks, mut held) = (HashMap::<Id, DueWebhook>::new(), HashSet::new());
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

    /// Sends every webhook all that is due now; for tests.
    pub async fn deliver_all(&self) {
        let (_halt, mut halted) = watch::channel(false);
        for webhook in self.due().await {
            self.serve(webhook, &mut halted).await;
        }
    }

    async fn due(&self) -> Vec<DueWebhook> {
        self.services.dispatch.due().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to look for webhooks that have work");
            Vec::new()
        })
    }

    async fn serve(&self, webhook: DueWebhook, halted: &mut watch::Receiver<bool>) {
        if let Err(error) = self.rounds(webhook, halted).await {
            tracing::warn!(%error, webhook = %webhook.id, "webhook delivery failed; retrying when the lease expires");
        }
    }

    /// Runs rounds until the webhook has no work left, the process stops, or the webhook is no longer leased to this node.
    async fn rounds(&self, webhook: DueWebhook, halted: &mut watch::Receiver<bool>) -> Result<(), ServiceError> {
        while let Some(round) = self.begin(webhook).await? {
            let is_complete = self.send_round(&round, halted).await?;
            self.services.dispatch.end(webhook).await?;
            if !is_complete || (round.messages == 0 && !round.has_more) {
                break;
            }
        }
        Ok(())
    }

    async fn begin(&self, webhook: DueWebhook) -> Result<Option<Round>, ServiceError> {
        let _permit = self.beginning.acquire(&webhook.reseller.to_string()).await;
        self.services.dispatch.begin(webhook).await
    }

    /// Sends the messages of a round. It ends early if the webhook has changed, and another round may follow then; the
    /// result is `false` if none may, because the process stops or the webhook is not to be sent to any more.
    async fn send_round(&self, round: &Round, halted: &mut watch::Receiver<bool>) -> Result<bool, ServiceError> {
        for _ in 0..round.messages {
            let sent = tokio::select! {
                biased;
                () = raised(halted) => None,
                sent = self.send_next(round) => sent?,
            };
            let Some((message, sent)) = sent else { return Ok(false) };
            if !self.services.dispatch.conclude(&message, sent).await? {
                break;
            }
        }
        Ok(true)
    }

    /// Sends the next message when this reseller has a permit; nothing if the webhook is another node's by then or has no
    /// message left.
    async fn send_next(&self, round: &Round) -> Result<Option<(Message, Sent)>, ServiceError> {
        let (dispatch, asked) = (&self.services.dispatch, Instant::now());
        let _permit = self.in_flight.acquire(&round.webhook.reseller.to_string()).await;
        if asked.elapsed() > LONG && !dispatch.keep(round.webhook).await? {
            return Ok(None);
        }
        let Some(message) = dispatch.next_message(round.webhook).await? else { return Ok(None) };
        // Boxed, so that a task is small while it waits for its permit.
        let sent = Box::pin(self.send(&message)).await;
        Ok(Some((message, sent)))
    }

    /// Signs and sends a message. Those before it may have taken minutes, and receivers refuse what was signed so long ago.
    async fn send(&self, message: &Message) -> Sent {
        let (at, began) = (self.clock.now(), Instant::now());
        let headers = message.sign(at);
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
