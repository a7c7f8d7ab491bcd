//! What the audit trail says was done.

use std::str::FromStr;

use crate::documented::documented;

documented! {
    /// A change that is written down. Refused requests are named by method and route instead.
    Action {
        ResellerCreate = "reseller.create": "A reseller was created.";
        ResellerSuspend = "reseller.suspend": "A reseller was suspended.";
        ResellerResume = "reseller.resume": "A suspended reseller was let go on.";
        ClientCreate = "client.create": "An API client was created.";
        ClientRotate = "client.rotate": "A client got a second secret.";
        ClientFinishRotation = "client.finish_rotation": "The first secret of a client was dropped.";
        ClientDisable = "client.disable": "A client was disabled by the operator.";
        ClientEnable = "client.enable": "A client was enabled again.";
        ClientRevoke = "client.revoke": "A client was ended by its reseller, in the console.";
        ApiKeyCreate = "api_key.create": "An API key was created.";
        ApiKeyRevoke = "api_key.revoke": "An API key was revoked.";
        OperatorKeyCreate = "operator_key.create": "A key for the operator's console was created.";
        OperatorKeyRevoke = "operator_key.revoke": "A key for the operator's console was revoked.";
        ConsoleSignIn = "console.sign_in": "Somebody signed in to the console.";
        ConsoleSignOut = "console.sign_out": "A session at the console ended: by signing out, or by signing in anew in the same browser.";
        ConsoleSignOutEverywhere = "console.sign_out_everywhere": "Somebody ended all their sessions at the console.";
        AccountCreate = "account.create": "An account was created, with its first EAB credential.";
        AccountChange = "account.change": "An account was changed, suspended or let go on.";
        AccountTerminate = "account.terminate": "An account was terminated.";
        EabCredentialCreate = "eab_credential.create": "A further EAB credential was created.";
        EabCredentialRevoke = "eab_credential.revoke": "An EAB credential was revoked.";
        AccountGroupCreate = "account_group.create": "An account group was created.";
        AccountGroupReplace = "account_group.replace": "An account group got another name or description.";
        AccountGroupDelete = "account_group.delete": "An account group was deleted.";
        AccountGroupAddMembers = "account_group.add_members": "Accounts were added to a group.";
        AccountGroupRemoveMembers = "account_group.remove_members": "Accounts were taken out of a group.";
        AccountGroupMoveMembers = "account_group.move_members": "Accounts were moved from one group to another.";
        AccountGroupAssignPolicy = "account_group.assign_policy": "A policy was assigned to a group.";
        AccountGroupUnassignPolicy = "account_group.unassign_policy": "A policy was taken off a group.";
        PolicyCreate = "policy.create": "A policy was created.";
        PolicyReplace = "policy.replace": "A policy was replaced.";
        PolicyDelete = "policy.delete": "A policy was deleted.";
        AcmeAccountCreate = "acme_account.create": "An ACME account was bound to a customer.";
        AcmeAccountChange = "acme_account.change": "An ACME account changed its contacts.";
        AcmeAccountChangeKey = "acme_account.change_key": "An ACME account changed its key.";
        AcmeAccountDeactivate = "acme_account.deactivate": "An ACME account was deactivated.";
        OrderCreate = "order.create": "An order was created.";
        OrderRefuse = "order.refuse": "A policy or a quota refused something: `detail` says what.";
        OrderFinalize = "order.finalize": "An order was finalized.";
        OrderCancel = "order.cancel": "An order was cancelled.";
        OrderFail = "order.fail": "An order failed.";
        OrderPutBack = "order.put_back": "An order that was being issued can be finalized again.";
        AuthorizationCreate = "authorization.create": "An authorization was asked for ahead of an order.";
        AuthorizationGenerateChallenges = "authorization.generate_challenges": "The challenges of an authorization were made.";
        AuthorizationDeactivate = "authorization.deactivate": "An authorization was given up, through ACME.";
        ChallengeChoose = "challenge.choose": "A challenge was chosen to be verified.";
        ChallengeValidate = "challenge.validate": "A challenge was verified, or could not be.";
        ChallengeDeactivate = "challenge.deactivate": "A challenge was given up, and its authorization with it.";
        CertificateIssue = "certificate.issue": "A certificate was issued.";
        CertificateRevoke = "certificate.revoke": "A certificate was revoked.";
        CertificateBlockKey = "certificate.block_key": "The key of a certificate is known to be compromised.";
        CertificateExpireSoon = "certificate.expire_soon": "A certificate ends soon, and nothing replaces it.";
        CertificateRecover = "certificate.recover": "A certificate that the database had lost was brought back.";
        RecoveredRevoke = "recovered.revoke": "A certificate that was brought back, or that the database does not know, was revoked.";
        PrecertificateSign = "precertificate.sign": "A precertificate was signed, to be shown to logs.";
        PrecertificateLog = "precertificate.log": "Logs have promised to show a precertificate.";
        PrecertificateRevoke = "precertificate.revoke": "A precertificate was revoked: no certificate came of it.";
        PauseBegin = "pause.begin": "New orders for a name are paused: validation failed too often.";
        PauseLift = "pause.lift": "A pause was lifted.";
        WebhookCreate = "webhook.create": "A webhook was created.";
        WebhookChange = "webhook.change": "A webhook was changed.";
        WebhookDelete = "webhook.delete": "A webhook was deleted.";
        WebhookRotateSecret = "webhook.rotate_secret": "A webhook got a new secret.";
        WebhookRedeliver = "webhook.redeliver": "A message to a webhook is to be sent again.";
        WebhookTest = "webhook.test": "A test of a webhook was asked for.";
        WebhookDisable = "webhook.disable": "A webhook failed for so long, or answered 410, that nothing is sent to it any more.";
        IssuerCreate = "issuer.create": "A CA was made.";
        IssuerRetire = "issuer.retire": "A CA was retired: it issues nothing more.";
        IssuerActivate = "issuer.activate": "A CA issues again, or for the first time.";
        IssuerRevoke = "issuer.revoke": "A CA was revoked.";
        IssuerRequest = "issuer.request": "A request was made for a certificate of a CA by another.";
        IssuerAddChain = "issuer.add_chain": "A CA got a further chain.";
        IssuerRemoveChain = "issuer.remove_chain": "A chain of a CA was removed.";
        IssuerPreferChain = "issuer.prefer_chain": "Which chain of a CA clients are given was changed.";
        OcspDelegate = "ocsp.delegate": "A CA vouched for a key that signs OCSP answers.";
        KekPrepare = "kek.prepare": "A new key that seals secrets was made, and is used by nobody yet.";
        KekReseal = "kek.reseal": "Secrets were sealed anew with the current key.";
        KekPrune = "kek.prune": "Keys that seal nothing any more were removed.";
        BackupCreate = "backup.create": "A copy of the database was made.";
        DatabaseRestore = "database.restore": "The database was restored from a copy.";
        RetentionDelete = "retention.delete": "What is older than is kept was deleted.";
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| format!("{text:?} is no action of the audit trail"))
    }
}
