//! How many orders of an account wait to be finalized. Counting them with every order would cost a question each: it is
//! done once in a tenth of what is allowed, so that an account may come to have that much more on each node.

use std::collections::HashMap;

use chancery_domain::AccountId;
use chancery_store::Tx;
use parking_lot::Mutex;

use crate::error::{Cap, ServiceError};
use crate::kernel::Kernel;

/// Accounts that are kept in mind; when there are more, all are forgotten.
const MOST_ACCOUNTS: usize = 50_000;

/// Orders of accounts since they were counted.
#[derive(Default)]
pub(crate) struct OpenOrders(Mutex<HashMap<AccountId, u32>>);

impl OpenOrders {
    /// Whether it is time to count the orders of an account, which has one more.
    fn is_due(&self, account: AccountId, most: u32) -> bool {
        let mut since = self.0.lock();
        if since.len() > MOST_ACCOUNTS {
            since.clear();
        }
        let since = since.entry(account).or_default();
        *since += 1;
        let due = *since >= (most / 10).max(1);
        if due {
            *since = 0;
        }
        due
    }

    /// Has the orders of an account counted again next time.
    fn look_again(&self, account: AccountId, most: u32) {
        self.0.lock().insert(account, most);
    }
}

/// That an account may have one more order.
pub(crate) fn require_room(kernel: &Kernel, tx: &mut Tx<'_>, account: AccountId) -> Result<(), ServiceError> {
    let most = kernel.limits.settings().caps.open_orders;
    if most == 0 || !kernel.open_orders.is_due(account, most) {
        return Ok(());
    }
    if tx.open_orders_up_to(account, most, kernel.now())? < i64::from(most) {
        return Ok(());
    }
    kernel.open_orders.look_again(account, most);
    Err(ServiceError::TooMany(Cap::OpenOrders, most))
}
