//! ACME accounts: registered, changed, given another key, ended.

use chancery_domain::{AcmeAccount, AcmeAccountId, Action, Contact, EabCredential, Kid, OrderId, Page, Timestamp};
use chancery_jose::{Jwk, Jws};
use chancery_overload::Limit;
use chancery_pki::{KeyProblem, SubscriberKey};
use chancery_store::Tx;
use serde_json::{Value, json};

use super::admission::{AcmeCaller, no_such_account, require_reseller, require_still, standing};
use super::{Acme, AcmeError, binding};
use crate::caller::{Actor, Origin};
use crate::cascades::{self, Cascade};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::known_keys;
use crate::to_the_end::to_the_end;

/// What a new account is to be.
#[derive(Clone, Debug)]
pub struct NewAcmeAccount {
    pub key: Jwk,
    pub contacts: Vec<Contact>,
    pub terms_agreed: bool,
    /// The terms that have to be agreed to where it was asked for, if there are any.
    pub terms_of_service: Option<String>,
    pub binding: Option<Jws>,
    /// Where it was asked for; the binding must say the same.
    pub url: String,
}

/// What is to be changed; `None` leaves a thing as it is.
#[derive(Clone, Debug, Default)]
pub struct AccountUpdate {
    pub contacts: Option<Vec<Contact>>,
    pub terms_agreed: bool,
}

/// Whether an account is new.
#[derive(Clone, Debug)]
pub enum Registered {
    Created(AcmeAccount),
    Existing(AcmeAccount),
}

impl Acme {
    /// The account that has this key and may speak.
    pub async fn account_with(&self, key: &Jwk, origin: &Origin) -> Result<AcmeAccount, ServiceError> {
        let (thumbprint, origin) = (key.thumbprint(), origin.clone());
        let found = self.kernel.anonymous_store().peek(move |tx| registered(tx, &thumbprint, &origin)).await?;
        Ok(found.ok_or_else(no_such_account)?)
    }

    /// Registers a key, or finds the account that has it by now.
    pub async fn register(&self, new: NewAcmeAccount, origin: Origin) -> Result<Registered, ServiceError> {
        let kernel = self.kernel.clone();
        // Nobody can use up what is another's: it is taken by those who have shown the credential's key.
        let kid = new.binding.as_ref().and_then(|binding| binding.header().kid.as_deref()).unwrap_or_default();
        // In one spelling: each other one would have a bucket of its own.
        let kid = kid.parse::<Kid>().map_or_else(|_| kid.to_owned(), |kid| kid.to_string());
        if let Some(refusal) = kernel.limits.refusal(Limit::NewAccountsPerCredential, &kid) {
            return Err(ServiceError::RateLimited(refusal));
        }
        // Whoever hangs up gets the account all the same, and it is counted.
        let whole = async move {
            let unit = kernel.clone();
            let registered = kernel.anonymous_store().write(move |tx| register(&unit, tx, &new, &origin)).await?;
            if let Registered::Created(_) = &registered {
                kernel.limits.charge(Limit::NewAccountsPerCredential, &kid);
                metrics::counter!("chancery_acme_accounts_total").increment(1);
            }
            Ok(registered)
        };
        to_the_end(whole).await
    }

    /// Changes contacts, or notes that the terms are agreed to.
    pub async fn update_account(&self, by: &AcmeCaller, update: AccountUpdate) -> Result<AcmeAccount, ServiceError> {
        by.require_active()?;
        let (kernel, id, caller) = (self.kernel.clone(), by.account.id, by.caller.clone());
        self.kernel
            .store_of(by.caller.reseller)
            .write(move |tx| {
                let before = claim(tx, id)?;
                require_still(tx, &caller)?;
                let mut after = before.clone();
                after.contacts = update.contacts.clone().unwrap_or(after.contacts);
                if update.terms_agreed && after.terms_agreed_at.is_none() {
                    after.terms_agreed_at = Some(kernel.now());
                }
                if after == before {
                    return Ok(after);
                }
                after.updated_at = kernel.now();
                tx.save_acme_account(&after)?;
                let detail = json!({"before": describe(&before), "after": describe(&after)});
                kernel.audit(tx, &caller, Action::AcmeAccountChange, after.id, &detail)?;
                Ok(after)
            })
            .await
    }

    /// Ends the account: it cannot be used again, and its open orders are cancelled (RFC 8555 section 7.3.6), in batches: most
    /// are done by the time this returns.
    pub async fn deactivate_account(&self, by: &AcmeCaller) -> Result<AcmeAccount, ServiceError> {
        by.require_active()?;
        let (kernel, id, caller) = (self.kernel.clone(), by.account.id, by.caller.clone());
        let deactivate = move |tx: &mut Tx<'_>| {
            let (now, account) = (kernel.now(), claim(tx, id)?);
            require_still(tx, &caller)?;
            let account = account.deactivate(now)?;
            tx.save_acme_account(&account)?;
            kernel.audit(tx, &caller, Action::AcmeAccountDeactivate, id, &json!({}))?;
            let cascade = Cascade::DeactivateAcmeAccount { account: account.account, acme_account: id };
            let cascade = kernel.enqueue_cascade(tx, &caller, &cascade, now)?;
            Ok::<_, ServiceError>((account, cascade))
        };
        let (account, cascade) = self.kernel.store_of(by.caller.reseller).write(deactivate).await?;
        cascades::begin(&self.kernel, by.caller.reseller, vec![cascade]).await;
        Ok(account)
    }

    /// Puts another key in the place of the account's (RFC 8555 section 7.3.5). `old` is what the client believes the
    /// account's key to be.
    pub async fn change_key(&self, by: &AcmeCaller, old: &Jwk, new: &Jwk) -> Result<AcmeAccount, ServiceError> {
        by.require_active()?;
        require_good_key(new)?;
        let (kernel, id, caller) = (self.kernel.clone(), by.account.id, by.caller.clone());
        let (old, new) = (old.thumbprint(), new.clone());
        self.kernel
            .store_of(by.caller.reseller)
            .write(move |tx| {
                let account = claim(tx, id)?;
                require_still(tx, &caller)?;
                if account.thumbprint != old {
                    let message = "`oldKey` is not the key of the account";
                    return Err(AcmeError::Malformed(message.to_owned()).into());
                }
                require_uncompromised(tx, &new)?;
                let thumbprint = new.thumbprint();
                if let Some(other) = tx.acme_account_by_key(&thumbprint)? {
                    return Err(AcmeError::KeyInUse(other.id).into());
                }
                let detail = json!({"before": account.thumbprint, "after": thumbprint});
                let account = account.roll_over(new.to_canonical_json(), thumbprint, kernel.now())?;
                tx.save_acme_account(&account)?;
                kernel.audit(tx, &caller, Action::AcmeAccountChangeKey, account.id, &detail)?;
                Ok(account)
            })
            .await
    }

    /// A page of the account's orders that have not come to nothing, newest first.
    pub async fn orders(&self, by: &AcmeCaller, request: &ListRequest) -> Result<Listed<OrderId>, ServiceError> {
        let list = ListName::new("acme/orders", by.account.reseller, &by.account.id);
        let (id, now) = (by.account.id, self.kernel.now());
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| Ok::<Page<_>, ServiceError>(tx.orders_of_acme_account(id, now, &page)?);
        self.kernel.read_list(&list, read).await
    }
}

fn register(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    new: &NewAcmeAccount,
    origin: &Origin,
) -> Result<Registered, ServiceError> {
    let thumbprint = new.key.thumbprint();
    if let Some(known) = registered(tx, &thumbprint, origin)? {
        return Ok(Registered::Existing(known));
    }
    require_good_key(&new.key)?;
    require_uncompromised(tx, &new.key)?;
    if let Some(terms) = &new.terms_of_service
        && !new.terms_agreed
    {
        return Err(AcmeError::TermsNotAgreed(terms.clone()).into());
    }
    let binding = new.binding.as_ref().ok_or(AcmeError::ExternalAccountRequired)?;
    let credential = binding::verify(kernel, tx, binding, &new.key, &new.url)?;
    let now = kernel.now();
    require_customer(tx, &credential)?;
    let account = AcmeAccount {
        id: AcmeAccountId::new(now, kernel.entropy.as_ref()),
        reseller: credential.reseller,
        account: credential.account,
        kid: credential.kid,
        jwk: new.key.to_canonical_json(),
        thumbprint,
        contacts: new.contacts.clone(),
        terms_agreed_at: new.terms_agreed.then_some(now),
        state: chancery_domain::AcmeAccountState::Active,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    let bindings = credential.bindings + 1;
    tx.save_credential(&EabCredential { bindings, last_used_at: Some(now), updated_at: now, ..credential })?;
    tx.insert_acme_account(&account)?;
    let actor = Actor::Acme(account.id.to_string());
    let detail = json!({"after": describe(&account), "firstUse": bindings == 1});
    let reseller = Some(account.reseller);
    kernel.audit_as(tx, reseller, &actor, origin, Action::AcmeAccountCreate, account.id.to_string(), &detail)?;
    Ok(Registered::Created(account))
}

/// The account with this key; refused where it may not speak any more.
fn registered(tx: &mut Tx<'_>, thumbprint: &str, origin: &Origin) -> Result<Option<AcmeAccount>, ServiceError> {
    let Some(known) = tx.acme_account_by_key(thumbprint)? else { return Ok(None) };
    let party = tx.party(known.id)?.ok_or_else(no_such_account)?;
    standing(party, origin).map(|known| Some(known.account))
}

/// That the customer and the reseller of a credential may have new accounts. The customer is held as it is.
fn require_customer(tx: &mut Tx<'_>, credential: &EabCredential) -> Result<(), ServiceError> {
    let customer = tx.hold_account(credential.reseller, credential.account)?;
    customer.ok_or_else(|| ServiceError::internal("a credential without its account"))?.require_active()?;
    let reseller = tx.reseller(credential.reseller)?;
    require_reseller(&reseller.ok_or_else(|| ServiceError::internal("a credential without its reseller"))?)
}

/// Nobody may sign with a key that others can find out.
fn require_good_key(key: &Jwk) -> Result<(), ServiceError> {
    // Kinds that cannot be certified, such as P-521, are fine for accounts.
    let Ok(key) = SubscriberKey::from_spki(&key.to_spki()) else { return Ok(()) };
    let weak = |problem: &&KeyProblem| !matches!(problem, KeyProblem::OddSize(_));
    key.weaknesses().iter().find(weak).map_or(Ok(()), |problem| Err(unacceptable(problem)))
}

/// Nobody may sign with a key that others are known to have.
fn require_uncompromised(tx: &mut Tx<'_>, key: &Jwk) -> Result<(), ServiceError> {
    match SubscriberKey::from_spki(&key.to_spki()) {
        Ok(key) if known_keys::is_blocked(tx, &key)? => Err(unacceptable(&KeyProblem::Compromised)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn unacceptable(problem: &KeyProblem) -> ServiceError {
    AcmeError::BadPublicKey(format!("the account key is not acceptable: {problem}")).into()
}

fn claim(tx: &mut Tx<'_>, id: AcmeAccountId) -> Result<AcmeAccount, ServiceError> {
    let account = tx.claim_acme_account(id)?.ok_or_else(no_such_account)?;
    account.require_active()?;
    Ok(account)
}

fn describe(account: &AcmeAccount) -> Value {
    let contacts: Vec<_> = account.contacts.iter().map(ToString::to_string).collect();
    json!({
        "account": account.account.to_string(),
        "kid": account.kid.to_string(),
        "status": account.status(),
        "contacts": contacts,
        "termsAgreedAt": account.terms_agreed_at.map(|at: Timestamp| at.to_string()),
        "thumbprint": account.thumbprint,
    })
}
