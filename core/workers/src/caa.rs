//! What CAA records say, for orders that are issued and for those who want to know before they order.

use std::sync::Arc;

use chancery_dcv::CaaCheck;
use chancery_domain::{ChallengeType, Identifier, OrderId};
use chancery_fair::FairPlaces;
use chancery_service::{CaaAnswer, CaaAsker, CaaAssignment, Issuance, SPANS, ServiceError, WebAnswer};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::{CaaVerdict, Inspector, Workers};

/// Names of one order that are asked about at a time.
const AT_ONCE: usize = 8;
/// Names that are asked about at a time for those who only want to know.
const FOR_THE_CURIOUS: usize = 32;

impl Workers {
    /// Asks about the names of an order, until one is refused: that ends the order.
    pub(crate) async fn ask_caa(
        &self,
        whose: &str,
        issuance: &Issuance,
        order: OrderId,
        names: Vec<CaaAssignment>,
    ) -> Result<(), ServiceError> {
        let mut names = names.into_iter();
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < AT_ONCE
                && let Some(name) = names.next()
            {
                let (me, whose) = (self.clone(), whose.to_owned());
                let span = tracing::trace_span!(target: SPANS, "issuance.caa");
                asked.spawn(async move { (name.authorization, me.caa(&whose, &name).await) }.instrument(span));
            }
            let Some(answered) = asked.join_next().await else { return Ok(()) };
            let (authorization, answer) = answered.map_err(|error| ServiceError::Internal(error.to_string()))?;
            let refused = answer.is_err();
            issuance.note_caa(order, authorization, answer).await?;
            if refused {
                return Ok(());
            }
        }
    }

    async fn caa(&self, whose: &str, name: &CaaAssignment) -> CaaVerdict {
        let CaaAssignment { identifier, account_uri, method, .. } = name;
        match &self.inspector {
            Some(inspector) => inspector.caa(whose, CaaCheck { identifier, account_uri, method: *method }).await,
            None => Ok(self.nothing_found()),
        }
    }
}

/// Looks at CAA records for the use cases.
pub struct Eyes {
    inspector: Arc<dyn Inspector>,
    places: FairPlaces,
}

impl Eyes {
    pub fn new(inspector: Arc<dyn Inspector>) -> Self {
        Self { inspector, places: FairPlaces::new(FOR_THE_CURIOUS) }
    }
}

impl CaaAsker for Eyes {
    fn ask<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> CaaAnswer<'a> {
        Box::pin(async move {
            let _place = self.places.acquire(whose).await;
            self.inspector.caa_for_any(whose, identifier, account_uri, methods).await
        })
    }

    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> WebAnswer<'a> {
        Box::pin(async move {
            let _place = self.places.acquire(whose).await;
            self.inspector.probe(whose, identifier).await
        })
    }
}
