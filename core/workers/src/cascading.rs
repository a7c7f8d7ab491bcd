//! Applies cascades: changes that reach more rows than one transaction may.

use std::time::Instant;

use chancery_fair::Place;
use chancery_service::{Job, ServiceError};

use crate::Workers;

impl Workers {
    /// Applies a cascade. It holds a place for one batch only, and none while it waits for the database to take more work: so
    /// resellers with long cascades do not keep others from theirs.
    pub(crate) async fn cascade(&self, whose: &str, job: &Job, mut place: Option<Place>) -> Result<(), ServiceError> {
        let mut run = self.services.cascades.run(&job.subject, job.reseller);
        let mut began = Instant::now();
        loop {
            let applied = run.apply_batch().await;
            let had_place = place.take().is_some();
            match applied {
                Ok(true) => return Ok(()),
                Ok(false) => began = Instant::now(),
                Err(error) if self.may_try_again(job, began, &error).await => {}
                Err(error) => {
                    if !error.is_transient()
                        && let Err(error) = self.services.jobs.back_off(job).await
                    {
                        tracing::warn!(%error, subject = job.subject, "failed to put off a cascade that fails");
                    }
                    return Err(error);
                }
            }
            if had_place {
                place = Some(self.places.cascading.acquire(whose).await);
            }
        }
    }
}
