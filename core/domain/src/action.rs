//! What the audit trail says was done.

use std::str::FromStr;

use crate::documented::documented;

documented! {
    /// A change that is written down. Refused requests are named by method and route instead.
    Action {
        ResellerCreate = "reseller.create": "A reseller was created.";
        ResellerSuspend = "reseller.suspend": "A reseller was suspended.";
        ResellerResume = "reseller.resume": "A suspended reseller was resumed.";
        ClientCreate = "client.create": "An API client was created.";
        ClientRotate = "client.rotate": "A second secret was created for a client.";
        ClientFinishRotation = "client.finish_rotation": "The first secret of a client was removed.";
        ClientDisable = "client.disable": "A client was disabled by the operator.";
        ClientEnable = "client.enable": "A disabled client was enabled.";
        ClientRevoke = "client.revoke": "A client was revoked by its reseller in the console.";
        ApiKeyCreate = "api_key.create": "An API key was created.";
        ApiKeyRevoke = "api_key.revoke": "An API key was revoked.";
        OperatorKeyCreate = "operator_key.create": "An operator key was created.";
        OperatorKeyRevoke = "operator_key.revoke": "An operator key was revoked.";
        ConsoleSignIn = "console.sign_in": "A user signed in to the console.";
        ConsoleSignOut = "console.sign_out": "A console session ended with a sign-out, or with a new sign-in in the same browser.";
        ConsoleSignOutEverywhere = "console.sign_out_everywhere": "A user ended all their console sessions.";
        AccountCreate = "account.create": "An account was created, with its first EAB credential.";
        AccountChange = "account.change": "An account was changed, suspended or resumed.";
        AccountTerminate = "account.terminate": "An account was terminated.";
        EabCredentialCreate = "eab_credential.create": "An additional EAB credential was created.";
        EabCredentialRevoke = "eab_credential.revoke": "An EAB credential was revoked.";
        AccountGroupCreate = "account_group.create": "An account group was created.";
        AccountGroupReplace = "account_group.replace": "The name or description of an account group was changed.";
        AccountGroupDelete = "account_group.delete": "An account group was deleted.";
        AccountGroupAddMembers = "account_group.add_members": "Accounts were added to a group.";
        AccountGroupRemoveMembers = "account_group.remove_members": "Accounts were removed from a group.";
        AccountGroupMoveMembers = "account_group.move_members": "Accounts were moved from one group to another.";
        AccountGroupAssignPolicy = "account_group.assign_policy": "A policy was assigned to a group.";
        AccountGroupUnassignPolicy = "account_group.unassign_policy": "A policy was unassigned from a group.";
        PolicyCreate = "policy.create": "A policy was created.";
        PolicyReplace = "policy.replace": "A policy was replaced.";
        PolicyDelete = "policy.delete": "A policy was deleted.";
        AcmeAccountCreate = "acme_account.create": "An ACME account was created and bound to an account.";
        AcmeAccountChange = "acme_account.change": "An ACME account changed its contacts.";
        AcmeAccountChangeKey = "acme_account.change_key": "An ACME account changed its key.";
        AcmeAccountDeactivate = "acme_account.deactivate": "An ACME account was deactivated.";
        OrderCreate = "order.create": "An order was created.";
        OrderRefuse = "order.refuse": "A policy or quota refused a request; `detail` has the violations.";
        OrderFinalize = "order.finalize": "An order was finalized.";
        OrderCancel = "order.cancel": "An order was cancelled.";
        OrderFail = "order.fail": "An order failed.";
        OrderPutBack = "order.put_back": "An order returned from processing to ready.";
        AuthorizationCreate = "authorization.create": "An authorization was created before an order (ACME newAuthz).";
        AuthorizationGenerateChallenges = "authorization.generate_challenges": "The challenges of an authorization were created.";
        AuthorizationDeactivate = "authorization.deactivate": "An authorization was deactivated through ACME.";
        ChallengeChoose = "challenge.choose": "A client responded to a challenge; its validation was started.";
        ChallengeValidate = "challenge.validate": "A challenge was validated, or its validation failed.";
        ChallengeDeactivate = "challenge.deactivate": "A challenge was deactivated together with its authorization.";
        CertificateIssue = "certificate.issue": "A certificate was issued.";
        CertificateRevoke = "certificate.revoke": "A certificate was revoked.";
        CertificateBlockKey = "certificate.block_key": "The key of a certificate was blocked as compromised.";
        CertificateExpireSoon = "certificate.expire_soon": "A certificate expires soon and has no replacement.";
        CertificateRecover = "certificate.recover": "A certificate missing from the database was recovered.";
        RecoveredRevoke = "recovered.revoke": "A certificate that was recovered, or is not in the database, was revoked.";
        PrecertificateSign = "precertificate.sign": "A precertificate was signed for submission to CT logs.";
        PrecertificateLog = "precertificate.log": "SCTs for a precertificate were received.";
        PrecertificateRevoke = "precertificate.revoke": "A precertificate without a certificate was revoked.";
        PauseBegin = "pause.begin": "New orders for a name were paused after too many failed validations.";
        PauseLift = "pause.lift": "A pause was lifted.";
        WebhookCreate = "webhook.create": "A webhook was created.";
        WebhookChange = "webhook.change": "A webhook was changed.";
        WebhookDelete = "webhook.delete": "A webhook was deleted.";
        WebhookRotateSecret = "webhook.rotate_secret": "A new secret was created for a webhook.";
        WebhookRedeliver = "webhook.redeliver": "Redelivery of an event to a webhook was requested.";
        WebhookTest = "webhook.test": "A test of a webhook was requested.";
        WebhookDisable = "webhook.disable": "A webhook was disabled because it failed for three days or responded 410.";
        IssuerCreate = "issuer.create": "A CA was created.";
        IssuerRetire = "issuer.retire": "A CA was retired and no longer issues certificates.";
        IssuerActivate = "issuer.activate": "A CA was activated.";
        IssuerRevoke = "issuer.revoke": "A CA was revoked.";
        IssuerRequest = "issuer.request": "A certificate signing request for a CA was created, for signing by another CA.";
        IssuerAddChain = "issuer.add_chain": "A chain was added to a CA.";
        IssuerRemoveChain = "issuer.remove_chain": "A chain was removed from a CA.";
        IssuerPreferChain = "issuer.prefer_chain": "The default chain of a CA was changed.";
        OcspDelegate = "ocsp.delegate": "A CA issued a certificate for an OCSP responder key.";
        KekPrepare = "kek.prepare": "A new key-encryption key was created and is not in use yet.";
        KekReseal = "kek.reseal": "Secrets were re-encrypted with the current key-encryption key.";
        KekPrune = "kek.prune": "Key-encryption keys that are no longer in use were removed.";
        BackupCreate = "backup.create": "A backup of the database was created.";
        DatabaseRestore = "database.restore": "The database was restored from a backup.";
        RetentionDelete = "retention.delete": "Rows older than their retention period were deleted.";
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| format!("{text:?} is no action of the audit trail"))
    }
}
