//! Root accounts: the customers of a reseller.

use std::collections::BTreeSet;
use std::sync::Arc;

use chancery_domain::{
    Account, AccountChange, AccountId, Action, EabCredential, EabTerms, EmailAddress, ExternalId, Group, GroupId, Kid,
    Metadata, Order, Page, PageRequest, Scope, Secret,
};
use chancery_store::{AccountFilter, Tx};
use serde_json::{Value, json};

use crate::account_lookup::AccountLookup;
use crate::caller::Caller;
use crate::cascades::{self, Cascade};
use crate::credentials::{CredentialDetails, Minted, details_of_account, mint};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Noun, ServiceError};
use crate::kernel::Kernel;
use crate::members::MOST_GROUPS;
use crate::once::{Once, Outcome};

/// Groups that are shown of an account, which may be in a few more than [`MOST_GROUPS`].
const SHOWN_GROUPS: u32 = 2 * MOST_GROUPS;

/// What a new account is to be.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub email: EmailAddress,
    pub groups: Vec<String>,
    pub external_id: Option<ExternalId>,
    pub metadata: Metadata,
}

/// A new account, and the only showing of its first HMAC key.
#[derive(Clone)]
pub struct CreatedAccount {
    pub account: Account,
    pub hmac_key: Secret,
}

/// How an account ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Whether its certificates end with it, rather than live on until they expire.
    pub revoke_certificates: bool,
}

/// An account with the first of its credentials and all of its groups.
#[derive(Clone, Debug)]
pub struct AccountDetails {
    pub account: Account,
    pub credentials: Listed<CredentialDetails>,
    pub groups: Vec<Group>,
}

#[derive(Clone)]
pub struct Accounts {
    kernel: Arc<Kernel>,
}

impl Accounts {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Creates a root account with its first credential, in the groups that are named.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewAccount,
        once: Option<Once<CreatedAccount>>,
    ) -> Result<Outcome<CreatedAccount>, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let unit = move |tx: &mut Tx<'_>| create(&kernel, tx, &by, &new);
        self.kernel.write_once(caller, once, unit).await
    }

    /// The account that goes by this name.
    pub async fn find(&self, caller: &Caller, lookup: AccountLookup) -> Result<Account, ServiceError> {
        caller.require_either(Scope::ReadAccount, Scope::WriteAccount)?;
        let reseller = caller.reseller;
        self.kernel.store_of(reseller).read(move |tx| lookup.find(tx, reseller)).await
    }

    /// The account that goes by this name, to be changed or added to: one that was terminated is not there any more.
    pub async fn find_live(&self, caller: &Caller, lookup: AccountLookup) -> Result<Account, ServiceError> {
        let found = self.find(caller, lookup).await?;
        if found.is_terminated() { Err(ServiceError::not_found(Noun::Account)) } else { Ok(found) }
    }

    /// The account that goes by this name, where there is one.
    pub async fn find_any(&self, caller: &Caller, lookup: AccountLookup) -> Result<Option<Account>, ServiceError> {
        caller.require_either(Scope::ReadAccount, Scope::WriteAccount)?;
        let reseller = caller.reseller;
        self.kernel.store_of(reseller).read(move |tx| lookup.find_any(tx, reseller)).await
    }

    /// The account with its credentials and groups.
    pub async fn show(&self, caller: &Caller, lookup: AccountLookup) -> Result<AccountDetails, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let (kernel, reseller) = (self.kernel.clone(), caller.reseller);
        let read = move |tx: &mut Tx<'_>| {
            let account = lookup.find(tx, reseller)?;
            let page = tx.credentials_of_account(account.id, &PageRequest::default())?;
            let list = ListName::new("account/eab-credential", reseller, &account.id);
            let credentials = kernel.cursors.close(&list, details_of_account(tx, page, &account)?);
            let groups = tx.groups_of_account(account.id, SHOWN_GROUPS)?;
            Ok(AccountDetails { account, credentials, groups })
        };
        self.kernel.read_in_turn(reseller, read).await
    }

    /// A page of the reseller's accounts, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: AccountFilter,
        request: &ListRequest,
    ) -> Result<Listed<Account>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let reseller = caller.reseller;
        let list = ListName::new("account", reseller, &filter);
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| Ok::<Page<_>, ServiceError>(tx.accounts(reseller, &filter, &page)?);
        self.kernel.read_list(&list, read).await
    }

    /// The accounts that a text may mean: the one that goes by this name, or those whose e-mail address begins so. And whether
    /// there are more of them.
    pub async fn search(&self, caller: &Caller, text: &str, most: u32) -> Result<(Vec<Account>, bool), ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let (reseller, lookup, prefix) = (caller.reseller, AccountLookup::parse(text), text.to_lowercase());
        let external = ExternalId::parse(text).ok();
        let read = move |tx: &mut Tx<'_>| {
            let found = match (lookup.find_any(tx, reseller)?, &external) {
                (None, Some(external)) => tx.account_by_external_id(reseller, external.as_str())?,
                (found, _) => found,
            };
            let page = tx.accounts_by_email_prefix(reseller, &prefix, most)?;
            let (mut accounts, more) = (page.items, page.next.is_some());
            if let Some(found) = found.filter(|found| accounts.iter().all(|other| other.id != found.id)) {
                accounts.insert(0, found);
            }
            Ok((accounts, more))
        };
        self.kernel.read_in_turn(reseller, read).await
    }

    /// Changes what the change names and leaves the rest.
    pub async fn change(&self, caller: &Caller, id: AccountId, change: AccountChange) -> Result<Account, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let before = claim_live(tx, &caller, id)?;
                let after = before.clone().change(change.clone(), kernel.now())?;
                refuse_conflict(tx, &after)?;
                tx.save_account(&after)?;
                let (before, described) = (describe(&before), describe(&after));
                let updated =
                    ["email", "externalId", "metadata"].iter().any(|member| before[member] != described[member]);
                let detail = json!({"before": before, "after": described, "updated": updated});
                kernel.audit(tx, &caller, Action::AccountChange, id, &detail)?;
                Ok(after)
            })
            .await
    }

    /// Terminates the account. From then on nothing more can be had for it, and its groups, open orders and credentials end
    /// with it, in batches: most are done by the time this returns.
    pub async fn terminate(&self, caller: &Caller, id: AccountId, ending: Ending) -> Result<(), ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let terminate = move |tx: &mut Tx<'_>| {
            let now = kernel.now();
            let before = claim_live(tx, &by, id)?;
            let after = before.clone().terminate(now)?;
            tx.save_account(&after)?;
            tx.revoke_root_credential(id, now)?;
            let detail = json!({
                "before": describe(&before),
                "after": describe(&after),
                "revokeCertificates": ending.revoke_certificates,
            });
            kernel.audit(tx, &by, Action::AccountTerminate, id, &detail)?;
            let revoke_certificates = ending.revoke_certificates;
            let cascade = Cascade::TerminateAccount { account: id, revoke_certificates };
            kernel.enqueue_cascade(tx, &by, &cascade, now)
        };
        let cascade = self.kernel.store_of(caller.reseller).write(terminate).await?;
        cascades::begin(&self.kernel, caller.reseller, vec![cascade]).await;
        Ok(())
    }
}

/// An account that has not been terminated; one that has is not there to be changed.
pub(crate) fn claim_live(tx: &mut Tx<'_>, caller: &Caller, id: AccountId) -> Result<Account, ServiceError> {
    let account = tx.claim_account(caller.reseller, id)?.filter(|account| !account.is_terminated());
    account.ok_or_else(|| ServiceError::not_found(Noun::Account))
}

fn create(kernel: &Kernel, tx: &mut Tx<'_>, caller: &Caller, new: &NewAccount) -> Result<CreatedAccount, ServiceError> {
    let now = kernel.now();
    if new.groups.len() > MOST_GROUPS as usize {
        let message = format!("must name at most {MOST_GROUPS} groups");
        return Err(ServiceError::invalid("account_groups", "too_many", message));
    }
    let groups = claim_groups(tx, caller, &new.groups)?;
    let id = AccountId::new(now, kernel.entropy.as_ref());
    let Minted { credential, sealed, hmac_key } = mint(kernel, tx, caller, id, EabTerms::default(), true)?;
    let account = Account {
        id,
        number: credential.number,
        reseller: caller.reseller,
        kid: credential.kid,
        root_revoked: false,
        email: new.email.clone(),
        external_id: new.external_id.clone(),
        metadata: new.metadata.clone(),
        suspended: false,
        terminated_at: None,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    refuse_conflict(tx, &account)?;
    if !tx.insert_account(&account)? {
        // Somebody else's came in between the question and the insertion: now it is there to be seen.
        refuse_conflict(tx, &account)?;
        return Err(ServiceError::AccountInUse { email: Some(account.email.to_string()), external_id: None });
    }
    tx.insert_credential(&credential, &sealed)?;
    for group in &groups {
        if tx.add_member(*group, id, now)? {
            tx.change_member_count(*group, 1, now)?;
        }
    }
    let detail = json!({"after": describe(&account), "groups": new.groups});
    kernel.audit(tx, caller, Action::AccountCreate, id, &detail)?;
    Ok(CreatedAccount { account, hmac_key })
}

/// Every group that is named, for this unit of work alone, or the names of all that are missing.
fn claim_groups(tx: &mut Tx<'_>, caller: &Caller, names: &[String]) -> Result<BTreeSet<GroupId>, ServiceError> {
    // Sorted, so that all units claim groups in one order.
    let ids: BTreeSet<GroupId> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let mut found = BTreeSet::new();
    for id in ids {
        found.extend(tx.claim_group(caller.reseller, id)?.map(|group| group.id));
    }
    let known = |name: &&String| name.parse().is_ok_and(|id| found.contains(&id));
    let missing: BTreeSet<_> = names.iter().filter(|name| !known(name)).cloned().collect();
    if missing.is_empty() { Ok(found) } else { Err(ServiceError::NotFound(Noun::Group, missing.into_iter().collect())) }
}

fn refuse_conflict(tx: &mut Tx<'_>, account: &Account) -> Result<(), ServiceError> {
    let others = |found: Option<Account>| found.filter(|other| other.id != account.id && !other.is_terminated());
    let email = others(tx.account_by_email(account.reseller, account.email.key())?).map(|_| account.email.to_string());
    let external_id = match &account.external_id {
        Some(wanted) => {
            others(tx.account_by_external_id(account.reseller, wanted.as_str())?).map(|_| wanted.to_string())
        }
        None => None,
    };
    match (&email, &external_id) {
        (None, None) => Ok(()),
        _ => Err(ServiceError::AccountInUse { email, external_id }),
    }
}

fn describe(account: &Account) -> Value {
    json!({
        "email": account.email.as_str(),
        "status": account.status().as_str(),
        "externalId": account.external_id.as_ref().map(ExternalId::as_str),
        "metadata": account.metadata.pairs(),
        "kid": account.kid.to_string(),
    })
}

/// A credential with its account, for those who only know the kid.
pub(crate) fn credential_with_account(
    tx: &mut Tx<'_>,
    caller: &Caller,
    kid: Kid,
) -> Result<(EabCredential, Account), ServiceError> {
    let credential = tx.credential(caller.reseller, kid)?.ok_or_else(|| ServiceError::not_found(Noun::Credential))?;
    let account = tx.account(caller.reseller, credential.account)?;
    let account = account.ok_or_else(|| ServiceError::internal("a credential without its account"))?;
    Ok((credential, account))
}

/// An account that can have something new: not terminated, and held so until the unit of work ends.
pub(crate) fn hold_live(tx: &mut Tx<'_>, caller: &Caller, id: AccountId) -> Result<Account, ServiceError> {
    let account = tx.hold_account(caller.reseller, id)?.ok_or_else(|| ServiceError::not_found(Noun::Account))?;
    if account.is_terminated() { Err(ServiceError::not_found(Noun::Account)) } else { Ok(account) }
}

/// The account of an order: it is there as long as the order is.
pub(crate) fn standing_account(tx: &mut Tx<'_>, order: &Order) -> Result<Account, ServiceError> {
    let account = tx.hold_account(order.reseller, order.account)?;
    account.ok_or_else(|| ServiceError::internal("an order without its account"))
}

/// Who orders: the account, and the credential that is ordered with.
pub(crate) struct Orderer {
    pub(crate) account: Account,
    pub(crate) credential: EabCredential,
}

/// The account that is ordered for and the credential that is ordered with, both held: the one that was named, or else
/// the account's first, which may be revoked.
pub(crate) fn account_for_order(
    tx: &mut Tx<'_>,
    caller: &Caller,
    lookup: &AccountLookup,
) -> Result<Orderer, ServiceError> {
    let account = lookup.find(tx, caller.reseller)?;
    let (kid, named) = match lookup {
        AccountLookup::Credential(kid) => (*kid, true),
        AccountLookup::Id(_)
        | AccountLookup::Number(_)
        | AccountLookup::Kid(_)
        | AccountLookup::Email(_)
        | AccountLookup::NoCredential
        | AccountLookup::Nothing(_) => (account.kid, false),
    };
    let account = tx.hold_account(caller.reseller, account.id)?;
    let account = account.ok_or_else(|| ServiceError::not_found(Noun::Account))?;
    let credential = tx.hold_credential(caller.reseller, kid)?;
    let credential = credential.ok_or_else(|| ServiceError::not_found(Noun::Credential))?;
    // Asked again now that nobody can revoke it in between.
    if named && credential.revoked_at.is_some() && !account.is_terminated() {
        return Err(ServiceError::CredentialRevoked(kid));
    }
    Ok(Orderer { account, credential })
}
