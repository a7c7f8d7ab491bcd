//! EAB credentials: what a customer's ACME client is let in with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chancery_domain::{
    Account, AccountId, AcmeAccountId, Action, EabCredential, EabId, EabTerms, Entropy, Kid, Label, Page, ProfileName,
    Scope, Secret,
};
use chancery_store::Tx;
use data_encoding::BASE64;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::account_lookup::AccountLookup;
use crate::accounts::{credential_with_account, hold_live};
use crate::caller::Caller;
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::{Noun, ServiceError};
use crate::kernel::{Kernel, sealed_column};
use crate::once::{Once, Outcome};
use crate::policies::{Decision, PolicyEvaluation};

/// A new credential, and the only showing of its HMAC key.
#[derive(Clone)]
pub struct CreatedCredential {
    pub credential: EabCredential,
    pub account: Account,
    pub hmac_key: Secret,
    /// The profiles that the account may use.
    pub profiles: Vec<ProfileName>,
}

/// Why a credential that binds one ACME account may not be made to bind more.
pub const ONE_BINDING: &str = "must be 1: credentials here bind one ACME account";

/// A credential and the account it belongs to.
#[derive(Clone, Debug)]
pub struct CredentialDetails {
    pub credential: EabCredential,
    pub account: Arc<Account>,
    /// The newest of the ACME accounts that it has bound.
    pub bound: Vec<AcmeAccountId>,
}

/// As many bound accounts are shown of one credential.
const MOST_BOUND: u32 = 100;

#[derive(Clone)]
pub struct Credentials {
    kernel: Arc<Kernel>,
}

impl Credentials {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Creates a further credential under an account that is not terminated.
    pub async fn create(
        &self,
        caller: &Caller,
        account: AccountId,
        terms: EabTerms,
        once: Option<Once<CreatedCredential>>,
    ) -> Result<Outcome<CreatedCredential>, ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, by) = (self.kernel.clone(), caller.clone());
        let create = move |tx: &mut Tx<'_>, decision: &Decision<()>| {
            let account = hold_live(tx, &by, account)?;
            // Whatever else it said, it would bind one.
            if kernel.settings.acme.single_use && terms.max_bindings.is_some_and(|most| most > 1) {
                return Err(ServiceError::invalid("max_bindings", "out_of_range", ONE_BINDING));
            }
            let Minted { credential, sealed, hmac_key } = mint(&kernel, tx, &by, account.id, terms.clone(), false)?;
            tx.insert_credential(&credential, &sealed)?;
            let detail = json!({"account": account.id.to_string(), "after": describe(&credential)});
            kernel.audit(tx, &by, Action::EabCredentialCreate, credential.kid, &detail)?;
            let policies = decision.policies(tx, account.reseller, account.id)?;
            let profiles = policies.usable_profiles(&kernel.settings);
            Ok(CreatedCredential { credential, account, hmac_key, profiles })
        };
        let (kernel, reseller) = (self.kernel.clone(), caller.reseller);
        let unit = move |tx: &mut Tx<'_>, decision: &Decision<()>| {
            kernel.do_once(tx, reseller, once.as_ref(), |tx| create(tx, decision))
        };
        self.kernel.write_decided(caller.reseller, &PolicyEvaluation::none(), unit).await
    }

    pub async fn show(&self, caller: &Caller, kid: Kid) -> Result<CredentialDetails, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let (reseller, caller) = (caller.reseller, caller.clone());
        let read = move |tx: &mut Tx<'_>| {
            let (credential, account) = credential_with_account(tx, &caller, kid)?;
            detail(tx, credential, account.into())
        };
        self.kernel.store_of(reseller).read(read).await
    }

    /// A page of the credentials of one account, newest first, its first one included.
    pub async fn list_of_account(
        &self,
        caller: &Caller,
        lookup: AccountLookup,
        request: &ListRequest,
    ) -> Result<Listed<CredentialDetails>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let (kernel, reseller, request) = (self.kernel.clone(), caller.reseller, request.clone());
        let read = move |tx: &mut Tx<'_>| {
            let account = lookup.find(tx, reseller)?;
            let list = ListName::new("account/eab-credential", reseller, &account.id);
            let page = tx.credentials_of_account(account.id, &kernel.cursors.open(&list, &request)?)?;
            Ok(kernel.cursors.close(&list, details_of_account(tx, page, &account)?))
        };
        self.kernel.read_in_turn(reseller, read).await
    }

    /// A page of all credentials of the reseller, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        request: &ListRequest,
    ) -> Result<Listed<CredentialDetails>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let list = ListName::new("eab-credential", caller.reseller, &());
        let (caller, page) = (caller.clone(), self.kernel.cursors.open(&list, request)?);
        let read = move |tx: &mut Tx<'_>| {
            let credentials = tx.credentials_of_reseller(caller.reseller, &page)?;
            // Its account may have 50 KiB of metadata.
            let weight = |_: &EabCredential| 5;
            tx.complete(credentials, weight, |tx, credentials| {
                let ids: BTreeSet<_> = credentials.iter().map(|credential| credential.account).collect();
                let accounts = tx.ask_each(&Vec::from_iter(ids), |tx, id| tx.account(caller.reseller, *id))?;
                let accounts = accounts.into_iter().flatten().map(|account| (account.id, Arc::new(account)));
                let accounts: BTreeMap<_, _> = accounts.collect();
                tx.ask_each(&credentials, |tx, credential| {
                    let account = accounts.get(&credential.account).cloned();
                    let account = account.ok_or_else(|| ServiceError::internal("a credential without its account"))?;
                    detail(tx, credential.clone(), account)
                })
            })
        };
        self.kernel.read_list(&list, read).await
    }

    /// Revokes a credential: it binds nothing more, and what it bound stops working. Doing it twice is not found.
    pub async fn revoke(&self, caller: &Caller, kid: Kid) -> Result<(), ServiceError> {
        caller.require(Scope::WriteAccount)?;
        let (kernel, caller) = (self.kernel.clone(), caller.clone());
        self.kernel
            .store_of(caller.reseller)
            .write(move |tx| {
                let (before, account) = credential_with_account(tx, &caller, kid)?;
                let now = kernel.now();
                let after = before.clone().revoke(now);
                let after = after.ok_or_else(|| ServiceError::not_found(Noun::Credential))?;
                let id = account.id.to_string();
                if before.is_root {
                    // The account shows it, and whoever asks what has changed is to find it.
                    tx.save_account(&Account { updated_at: now, ..account })?;
                }
                tx.save_credential(&after)?;
                let detail = json!({"account": id, "before": describe(&before), "after": describe(&after)});
                kernel.audit(tx, &caller, Action::EabCredentialRevoke, kid, &detail)
            })
            .await
    }
}

/// A page of the credentials of one account, with what they have bound.
pub(crate) fn details_of_account(
    tx: &mut Tx<'_>,
    page: Page<EabCredential>,
    account: &Account,
) -> Result<Page<CredentialDetails>, ServiceError> {
    let account = Arc::new(account.clone());
    let weight = |_: &EabCredential| 1;
    tx.complete(page, weight, |tx, credentials| {
        tx.ask_each(&credentials, |tx, credential| detail(tx, credential.clone(), account.clone()))
    })
}

fn detail(
    tx: &mut Tx<'_>,
    credential: EabCredential,
    account: Arc<Account>,
) -> Result<CredentialDetails, ServiceError> {
    let bound = match credential.bindings {
        0 => Vec::new(),
        _ => tx.bound_acme_accounts(credential.kid, MOST_BOUND)?,
    };
    Ok(CredentialDetails { credential, account, bound })
}

/// A credential that is about to be stored.
pub(crate) struct Minted {
    pub(crate) credential: EabCredential,
    pub(crate) sealed: Vec<u8>,
    pub(crate) hmac_key: Secret,
}

/// Draws a kid and a key for a new credential of an account.
pub(crate) fn mint(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    caller: &Caller,
    account: AccountId,
    terms: EabTerms,
    is_root: bool,
) -> Result<Minted, ServiceError> {
    let now = kernel.now();
    let credential = EabCredential {
        id: EabId::new(now, kernel.entropy.as_ref()),
        number: tx.next_account_number()?,
        reseller: caller.reseller,
        account,
        kid: Kid::from_uuid(kernel.entropy.uuid_v4()),
        is_root,
        terms,
        bindings: 0,
        last_used_at: None,
        revoked_at: None,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    let (key, text) = draw_hmac_key(kernel.entropy.as_ref());
    let sealed = kernel.keyring.seal(&sealed_column("eab_credentials").context(credential.id), key.as_slice());
    Ok(Minted { credential, sealed, hmac_key: Secret::new(text) })
}

/// 48 random bytes whose base64 text is base64url as well: no client needs to convert it. About one draw in eight
/// has neither `+` nor `/`, and what is left of 384 bits is still more than any HMAC here can use.
fn draw_hmac_key(entropy: &dyn Entropy) -> (Zeroizing<[u8; 48]>, String) {
    loop {
        let key = Zeroizing::new(entropy.bytes::<48>());
        let text = BASE64.encode(key.as_slice());
        if !text.contains(['+', '/', '=']) {
            return (key, text);
        }
    }
}

fn describe(credential: &EabCredential) -> Value {
    json!({
        "status": credential.status().as_str(),
        "label": credential.terms.label.as_ref().map(Label::as_str),
        "expiresAt": credential.terms.expires_at.map(|at| at.to_string()),
        "maxBindings": credential.terms.max_bindings,
    })
}
