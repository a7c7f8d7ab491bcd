//! Looks whether control of a name is shown.

use std::convert::Infallible;
use std::time::Instant;

use async_trait::async_trait;
use chancery_dcv::{CaaCheck, Check, Looks, Verified};
use chancery_domain::{ChallengeId, ResellerId};
use chancery_service::{Assignment, Job, Looker, Report, SPANS, ServiceError, Validations};
use tracing::Instrument;

use crate::{MOST_ATTEMPTS, Workers, gave_up};

impl Workers {
    pub(crate) async fn validate(&self, whose: &str, job: &Job) -> Result<(), ServiceError> {
        let Ok(id) = job.subject.parse::<ChallengeId>() else { return self.services.jobs.drop_unreadable(job).await };
        let validations = &self.services.validations.for_reseller(job.reseller);
        let begun = self.persistently(job, || validations.begin(id)).await?;
        let Some(assignment) = begun else {
            return match job.attempts > MOST_ATTEMPTS {
                true => self.persistently(job, || validations.forget(id)).await,
                false => Ok(()),
            };
        };
        let report = match job.attempts > MOST_ATTEMPTS {
            true => Report::new(Err(gave_up())),
            false => self.look_for(whose, validations, &assignment).await,
        };
        // What was seen is kept until it can be written: applicants are not asked anew for our sake.
        self.persistently(job, || validations.conclude(id, report.clone())).await
    }

    async fn look_for(&self, whose: &str, validations: &Validations, assignment: &Assignment) -> Report {
        let Some(inspector) = &self.inspector else {
            return Report::new(Ok(self.nothing_found()));
        };
        let Assignment { identifier, place, kind, token, key_authorization, account_uri, .. } = assignment;
        let check = Check {
            identifier: place.clone(),
            kind: *kind,
            token: token.clone(),
            key_authorization: key_authorization.clone(),
            account_uri: account_uri.clone(),
        };
        let began = Instant::now();
        let span = tracing::trace_span!(target: SPANS, "validation.look", method = kind.as_str());
        let looks = Looks::default();
        let Verified { attempts, outcome, until, agreed } = tokio::select! {
            verified = inspector.verify(whose, &check, &looks).instrument(span) => verified,
            never = note_looks(validations, assignment.challenge, &looks) => match never {},
        };
        metrics::histogram!("chancery_validation_seconds", "method" => kind.as_str()).record(began.elapsed());
        let outcome = match outcome {
            Ok(()) => {
                let span = tracing::trace_span!(target: SPANS, "validation.caa");
                inspector.caa(whose, CaaCheck { identifier, account_uri, method: *kind }).instrument(span).await
            }
            Err(problem) => Err(problem),
        };
        Report { attempts, outcome, until, agreed }
    }
}

/// Has those who wonder see what was seen so far, for ever. Without it nothing is lost but that.
async fn note_looks(validations: &Validations, challenge: ChallengeId, looks: &Looks) -> Infallible {
    loop {
        let so_far = looks.next().await;
        if let Err(error) = validations.note_looks(challenge, so_far).await {
            tracing::debug!(%error, %challenge, "could not note the looks so far");
        }
    }
}

#[async_trait]
impl Looker for Workers {
    async fn look(&self, whose: ResellerId, assignment: &Assignment) -> Report {
        let validations = self.services.validations.for_reseller(Some(whose));
        let whose = whose.to_string();
        let _place = self.places.validating.acquire(&whose).await;
        self.look_for(&whose, &validations, assignment).await
    }

    fn hold(&self, job: &Job) {
        self.held.take(job.clone());
    }

    fn let_go(&self, job: &Job) {
        // Where it came again meanwhile there is nothing more to do: it has its verdict.
        while self.held.release(job).is_some() {}
    }
}
