//! Orders, authorizations and certificates at the reseller's door.

use crate::calls::{Name, Names, Reason};
use crate::parties::Status;
use crate::state::{Authorization, Model, ORDER_LIFE, Order, Permission, REUSE, State, Thing};

impl Model {
    pub(crate) fn order(
        &mut self,
        by: usize,
        account: usize,
        credential: Option<usize>,
        names: Names,
        key: usize,
    ) -> Status {
        let ordered_for = &self.accounts[account];
        if ordered_for.tenant != by {
            return 404;
        }
        if ordered_for.terminated || credential.is_some_and(|credential| self.credentials[credential].revoked) {
            return 410;
        }
        if ordered_for.suspended {
            return 403;
        }
        if self.blocked.contains(&key) || !self.permits(account, names.list()) {
            return 400;
        }
        let credential = credential.unwrap_or(ordered_for.root);
        self.make_order(account, credential, None, names, Some(key));
        201
    }

    /// An order, with its permissions: earned earlier, or to be earned.
    pub(crate) fn make_order(
        &mut self,
        account: usize,
        credential: usize,
        client: Option<usize>,
        names: Names,
        key: Option<usize>,
    ) {
        let order = self.orders.len();
        let mut expires = self.now + ORDER_LIFE;
        let end = expires;
        let mut authorizations = Vec::new();
        for name in names.list() {
            let authorization = self.make_authorization(account, client, Some(order), *name, end);
            expires = expires.min(self.authorizations[authorization].expires);
            authorizations.push(authorization);
        }
        let ready = authorizations.iter().all(|place| self.authorizations[*place].is_valid());
        self.orders.push(Order {
            account,
            credential,
            was_revoked: self.credentials[credential].revoked,
            client,
            names,
            key,
            state: if ready { State::Ready } else { State::Pending },
            expires,
            authorizations,
            issued_until: None,
            revoked: false,
            compromised: false,
        });
        self.note("order.create", Thing::Order(order));
    }

    pub(crate) fn make_authorization(
        &mut self,
        account: usize,
        client: Option<usize>,
        order: Option<usize>,
        name: Name,
        end: i64,
    ) -> usize {
        let earned = self.earned(account, client, name);
        let (state, expires) = match earned {
            Some(earlier) => (self.authorizations[earlier].state, self.authorizations[earlier].expires),
            None => (Permission::Pending, end),
        };
        let has_codes = client.is_some() || earned.is_some();
        let tried = earned.is_some();
        self.authorizations.push(Authorization { account, client, order, name, state, expires, has_codes, tried });
        self.authorizations.len() - 1
    }

    /// A permission of the same applicant for the same name that can be used again. Of several the one that holds longest.
    fn earned(&self, account: usize, client: Option<usize>, name: Name) -> Option<usize> {
        let usable = |place: &usize| {
            let each = &self.authorizations[*place];
            let Permission::Valid { at, source } = each.state else { return false };
            (each.account, each.client, each.name) == (account, client, name)
                && self.now < each.expires
                && self.now < at + REUSE
                && self.authorizations[source].is_valid()
        };
        (0..self.authorizations.len()).filter(usable).max_by_key(|place| self.authorizations[*place].expires)
    }

    /// Nothing is told of a permission that was given up, nor of one whose order was cancelled or has expired.
    pub(crate) fn codes(&mut self, by: usize, place: usize) -> Status {
        if self.tenant_of_authorization(place) != by {
            return 404;
        }
        let Some(order) = self.authorizations[place].order else { return 200 };
        let gone = self.authorizations[place].state == Permission::Deactivated;
        match self.orders[order].status(self.now) {
            "cancelled" | "expired" => return 410,
            _ if gone => return 410,
            "invalid" => return 200,
            _ => {}
        }
        if !self.authorizations[place].has_codes {
            self.authorizations[place].has_codes = true;
            self.note("authorization.generate_challenges", Thing::Authorization(place));
        }
        200
    }

    pub(crate) fn choose(&mut self, by: usize, place: usize) -> Status {
        let authorization = &self.authorizations[place];
        if self.tenant_of_authorization(place) != by || !authorization.has_codes {
            return 404;
        }
        match self.accounts[authorization.account].status() {
            "suspended" => return 403,
            "terminated" => return 410,
            _ => {}
        }
        if !self.can_be_tried(place) {
            return 410;
        }
        self.authorizations[place].tried = true;
        self.note("challenge.choose", Thing::Challenge(place));
        200
    }

    pub(crate) fn can_be_tried(&self, place: usize) -> bool {
        let authorization = &self.authorizations[place];
        let open = authorization.order.is_none_or(|order| self.orders[order].is_open(self.now));
        authorization.status(self.now) == "pending" && !authorization.tried && open
    }

    pub(crate) fn delete_challenge(&mut self, by: usize, place: usize) -> Status {
        let authorization = &self.authorizations[place];
        if self.tenant_of_authorization(place) != by || !authorization.has_codes {
            return 404;
        }
        let live = matches!(authorization.status(self.now), "pending" | "valid");
        if self.accounts[authorization.account].terminated || !live {
            return 410;
        }
        match authorization.order.filter(|order| self.orders[*order].is_open(self.now)) {
            Some(order) => self.cancel_open(order),
            None => self.authorizations[place].state = Permission::Deactivated,
        }
        self.note("challenge.deactivate", Thing::Challenge(place));
        200
    }

    pub(crate) fn finalize(&mut self, by: usize, order: usize) -> Status {
        if self.tenant_of_order(order) != by {
            return 404;
        }
        let suspended = self.accounts[self.orders[order].account].suspended;
        match self.orders[order].status(self.now) {
            "processing" | "valid" => return 208,
            "cancelled" | "invalid" | "expired" => return 410,
            _ if suspended => return 403,
            "pending" => return 400,
            _ => {}
        }
        // One that came through ACME gets its CSR there.
        if self.orders[order].key.is_none() {
            return 400;
        }
        self.orders[order].state = State::Processing;
        self.note("order.finalize", Thing::Order(order));
        202
    }

    pub(crate) fn cancel(&mut self, by: usize, order: usize) -> Status {
        if self.tenant_of_order(order) != by {
            return 404;
        }
        if self.accounts[self.orders[order].account].terminated {
            return 410;
        }
        match self.orders[order].status(self.now) {
            "pending" | "ready" => {
                self.cancel_open(order);
                self.note("order.cancel", Thing::Order(order));
                200
            }
            "processing" | "valid" => 400,
            _ => 410,
        }
    }

    pub(crate) fn show(&self, by: usize, order: usize) -> Status {
        match self.orders[order].status(self.now) {
            _ if self.tenant_of_order(order) != by => 404,
            "expired" => 410,
            _ => 200,
        }
    }

    pub(crate) fn download(&self, by: usize, order: usize) -> Status {
        match self.orders[order].certificate_status(self.now) {
            _ if self.tenant_of_order(order) != by => 404,
            "pending" => 202,
            "cancelled" => 410,
            _ => 200,
        }
    }

    pub(crate) fn revoke(&mut self, by: usize, order: usize, reason: Reason) -> Status {
        match self.orders[order].certificate_status(self.now) {
            _ if self.tenant_of_order(order) != by => 404,
            "revoked" => {
                self.revoke_for_more(order, reason);
                208
            }
            "issued" => {
                self.revoke_issued(order, reason);
                202
            }
            _ => {
                self.block_key(order, reason);
                404
            }
        }
    }

    pub(crate) fn revoke_issued(&mut self, order: usize, reason: Reason) {
        self.orders[order].revoked = true;
        if reason == Reason::KeyCompromise {
            self.orders[order].compromised = true;
            self.blocked.extend(self.orders[order].key);
        }
        self.note("certificate.revoke", Thing::Certificate(order));
    }

    /// That a key is compromised is believed even where there is nothing left to revoke.
    pub(crate) fn block_key(&mut self, order: usize, reason: Reason) {
        let Order { key, issued_until, .. } = self.orders[order];
        let compromised = key.filter(|_| issued_until.is_some() && reason == Reason::KeyCompromise);
        if compromised.is_some_and(|key| self.blocked.insert(key)) {
            self.note("certificate.block_key", Thing::Certificate(order));
        }
    }

    /// That a key is compromised is news even where the certificate was revoked for something else.
    pub(crate) fn revoke_for_more(&mut self, order: usize, reason: Reason) -> bool {
        let Order { revoked, compromised, issued_until, .. } = self.orders[order];
        let lives = issued_until.is_some_and(|end| self.now <= end);
        let news = revoked && lives && !compromised && reason == Reason::KeyCompromise;
        match news {
            true => self.revoke_issued(order, reason),
            false => self.block_key(order, reason),
        }
        news
    }
}
