//! Reads that may visit many rows: each holds a permit of its reseller, so that a reseller that reads many lists at once waits for
//! itself and the others do not wait for it.

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
    pub(crate) async fn read_in_turn<T, F>(&self, reseller: ResellerId, mut read: F) -> Result<T, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        let permit = self.list_permit(reseller).await?;
        // The permit moves into the unit: a read in progress completes even if its client has disconnected.
        let unit = move |tx: &mut Tx<'_>| {
            let _permit = &permit;
            read(tx)
        };
        self.store.read(unit).await
    }
}
