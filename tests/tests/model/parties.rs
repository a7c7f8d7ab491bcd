//! Accounts, credentials, groups, policies and ACME accounts: what is answered, and what becomes of it.

use std::collections::BTreeSet;

use crate::calls::Rule;
use crate::state::{Account, Client, Credential, Group, Model, Permission, Policy, State, Thing};

/// The statuses of answers.
pub(crate) type Status = u16;

impl Model {
    pub(crate) fn create_account(&mut self, tenant: usize, email: usize) -> Status {
        let taken = |account: &Account| account.tenant == tenant && account.email == email && !account.terminated;
        if self.accounts.iter().any(taken) {
            return 409;
        }
        let (account, root) = (self.accounts.len(), self.credentials.len());
        self.accounts.push(Account {
            tenant,
            email,
            suspended: false,
            terminated: false,
            root,
            groups: BTreeSet::new(),
        });
        self.credentials.push(Credential { account, revoked: false, bound: 0 });
        self.note("account.create", Thing::Account(account));
        201
    }

    /// An account that can be changed.
    fn is_live(&self, by: usize, account: usize) -> bool {
        self.accounts[account].tenant == by && !self.accounts[account].terminated
    }

    pub(crate) fn suspend(&mut self, by: usize, account: usize, suspended: bool) -> Status {
        if !self.is_live(by, account) {
            return 404;
        }
        self.accounts[account].suspended = suspended;
        self.note("account.change", Thing::Account(account));
        200
    }

    pub(crate) fn terminate(&mut self, by: usize, account: usize, revoke: bool) -> Status {
        if !self.is_live(by, account) {
            return 404;
        }
        self.accounts[account].terminated = true;
        self.accounts[account].groups.clear();
        for credential in self.credentials.iter_mut().filter(|credential| credential.account == account) {
            credential.revoked = true;
        }
        for client in self.clients.iter_mut().filter(|client| client.account == account) {
            client.deactivated = true;
        }
        for order in 0..self.orders.len() {
            if self.orders[order].account != account {
                continue;
            }
            if self.orders[order].is_open(self.now) {
                self.cancel_open(order);
                self.note("order.cancel", Thing::Order(order));
            }
            if revoke && self.orders[order].certificate_status(self.now) == "issued" {
                self.orders[order].revoked = true;
                self.note("certificate.revoke", Thing::Certificate(order));
            }
        }
        self.note("account.terminate", Thing::Account(account));
        200
    }

    /// An order that is open ends, and what permissions it has with it.
    pub(crate) fn cancel_open(&mut self, order: usize) {
        self.orders[order].state = State::Cancelled;
        for place in self.orders[order].authorizations.clone() {
            let authorization = &mut self.authorizations[place];
            match authorization.state {
                Permission::Pending | Permission::Valid { .. } => authorization.state = Permission::Deactivated,
                Permission::Invalid | Permission::Deactivated => {}
            }
        }
    }

    pub(crate) fn create_credential(&mut self, by: usize, account: usize) -> Status {
        if !self.is_live(by, account) {
            return 404;
        }
        self.credentials.push(Credential { account, revoked: false, bound: 0 });
        self.note("eab_credential.create", Thing::Credential(self.credentials.len() - 1));
        201
    }

    pub(crate) fn revoke_credential(&mut self, by: usize, credential: usize) -> Status {
        let Credential { account, revoked, .. } = self.credentials[credential];
        if self.accounts[account].tenant != by || revoked {
            return 404;
        }
        self.credentials[credential].revoked = true;
        self.note("eab_credential.revoke", Thing::Credential(credential));
        200
    }

    pub(crate) fn create_group(&mut self, tenant: usize, name: usize) -> Status {
        if self.groups.iter().any(|group| group.tenant == tenant && group.name == name && !group.deleted) {
            return 400;
        }
        self.groups.push(Group { tenant, name, deleted: false, policies: BTreeSet::new() });
        self.note("account_group.create", Thing::Group(self.groups.len() - 1));
        200
    }

    fn has_group(&self, by: usize, group: usize) -> bool {
        self.groups[group].tenant == by && !self.groups[group].deleted
    }

    pub(crate) fn delete_group(&mut self, by: usize, group: usize) -> Status {
        if !self.has_group(by, group) {
            return 404;
        }
        self.groups[group].deleted = true;
        for account in &mut self.accounts {
            account.groups.remove(&group);
        }
        self.note("account_group.delete", Thing::Group(group));
        200
    }

    pub(crate) fn create_policy(&mut self, tenant: usize, name: usize, rule: Rule) -> Status {
        if self.policies.iter().any(|policy| policy.tenant == tenant && policy.name == name && !policy.deleted) {
            return 400;
        }
        self.policies.push(Policy { tenant, name, deleted: false, rule });
        self.note("policy.create", Thing::Policy(self.policies.len() - 1));
        200
    }

    fn has_policy(&self, by: usize, policy: usize) -> bool {
        self.policies[policy].tenant == by && !self.policies[policy].deleted
    }

    pub(crate) fn delete_policy(&mut self, by: usize, policy: usize) -> Status {
        if !self.has_policy(by, policy) {
            return 404;
        }
        self.policies[policy].deleted = true;
        for group in &mut self.groups {
            group.policies.remove(&policy);
        }
        self.note("policy.delete", Thing::Policy(policy));
        200
    }

    pub(crate) fn assign(&mut self, by: usize, group: usize, policy: usize) -> Status {
        if !self.has_group(by, group) || !self.has_policy(by, policy) {
            return 404;
        }
        // Doing it twice is fine, and changes nothing.
        if self.groups[group].policies.insert(policy) {
            self.note("account_group.assign_policy", Thing::Group(group));
        }
        200
    }

    pub(crate) fn unassign(&mut self, by: usize, group: usize, policy: usize) -> Status {
        if !self.has_group(by, group) || !self.has_policy(by, policy) || !self.groups[group].policies.remove(&policy) {
            return 404;
        }
        self.note("account_group.unassign_policy", Thing::Group(group));
        200
    }

    pub(crate) fn add_member(&mut self, by: usize, group: usize, account: usize) -> Status {
        if !self.has_group(by, group) || !self.is_live(by, account) {
            return 404;
        }
        if self.accounts[account].groups.insert(group) {
            self.note("account_group.add_members", Thing::Group(group));
        }
        200
    }

    pub(crate) fn remove_member(&mut self, by: usize, group: usize, account: usize) -> Status {
        if !self.has_group(by, group) || !self.is_live(by, account) || !self.accounts[account].groups.remove(&group) {
            return 404;
        }
        self.note("account_group.remove_members", Thing::Group(group));
        200
    }

    /// Registers a new key with a credential, by the right HMAC key or another.
    pub(crate) fn register(&mut self, credential: usize, right: bool) -> Status {
        let Credential { account, revoked, .. } = self.credentials[credential];
        if !right || revoked || !self.accounts[account].is_active() {
            return 403;
        }
        self.clients.push(Client { credential, account, deactivated: false });
        self.credentials[credential].bound += 1;
        self.note("acme_account.create", Thing::Client(self.clients.len() - 1));
        201
    }

    /// What an ACME account is told that may not speak any more.
    pub(crate) fn admit(&self, client: usize) -> Result<(), Status> {
        let client = &self.clients[client];
        if self.accounts[client.account].terminated {
            return Err(403);
        }
        if client.deactivated {
            return Err(401);
        }
        if self.credentials[client.credential].revoked { Err(403) } else { Ok(()) }
    }

    /// The same for what a suspended customer may not do either.
    pub(crate) fn admit_active(&self, client: usize) -> Result<(), Status> {
        self.admit(client)?;
        if self.accounts[self.clients[client].account].suspended { Err(403) } else { Ok(()) }
    }

    pub(crate) fn register_again(&self, client: usize) -> Status {
        self.admit(client).err().unwrap_or(200)
    }

    pub(crate) fn change_key(&mut self, client: usize, taken: bool) -> Status {
        if let Err(refused) = self.admit_active(client) {
            return refused;
        }
        if taken {
            return 409;
        }
        self.note("acme_account.change_key", Thing::Client(client));
        200
    }

    pub(crate) fn deactivate_client(&mut self, client: usize) -> Status {
        if let Err(refused) = self.admit_active(client) {
            return refused;
        }
        self.clients[client].deactivated = true;
        for order in 0..self.orders.len() {
            if self.orders[order].client == Some(client) && self.orders[order].is_open(self.now) {
                self.cancel_open(order);
                self.note("order.cancel", Thing::Order(order));
            }
        }
        self.note("acme_account.deactivate", Thing::Client(client));
        200
    }
}
