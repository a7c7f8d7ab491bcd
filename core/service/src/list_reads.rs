//! Reads that may visit many rows, and evaluations that take much CPU: each holds a permit of its reseller, so that a reseller that
//! starts many at once waits for itself and the others do not wait for it.

use std::sync::Arc;

use chancery_domain::{Page, ResellerId};
use chancery_overload::FairPermit;
use chancery_store::Tx;

use crate::cursor::{ListName, Listed};
use crate::error::ServiceError;
use crate::kernel::Kernel;

impl Kernel {
    /// Waits for a permit to read a list.
    pub(crate) async fn list_permit(&self, reseller: ResellerId) -> Result<FairPermit, ServiceError> {
        Ok(self.list_permits.acquire(reseller).await?)
    }

    /// Reads a page of a list.
    pub(crate) async fn read_list<T, F>(&self, list: &ListName, read: F) -> Result<Listed<T>, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<Page<T>, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        Ok(self.cursors.close(list, self.read_in_turn(list.reseller, read).await?))
    }

    /// Runs a read that may visit many rows.
    pub(crate) async fn read_in_turn<T, F>(&self, reseller: ResellerId, read: F) -> Result<T, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        let permit = Arc::new(self.list_permit(reseller).await?);
        self.read_within(&permit, reseller, read).await
    }

    /// Runs a read under a permit that the caller holds, for what it computes from the result as well.
    pub(crate) async fn read_within<T, F>(
        &self,
        permit: &Arc<FairPermit>,
        reseller: ResellerId,
        mut read: F,
    ) -> Result<T, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        // The unit shares the permit: a read in progress completes even if its client has disconnected.
        let permit = permit.clone();
        let unit = move |tx: &mut Tx<'_>| {
            let _permit = &permit;
            read(tx)
        };
        self.store_of(reseller).read(unit).await
    }
}
