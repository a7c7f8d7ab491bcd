//! instant-acme.

use std::fs;
use std::time::Duration;

use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeType, Error, ExternalAccountKey, Identifier,
    NewAccount, NewOrder, OrderStatus, RetryPolicy, RevocationReason, RevocationRequest,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::Setting;

pub async fn run(setting: &Setting) {
    let eab = ExternalAccountKey::new(setting.kid.clone(), &setting.hmac_key);
    let wanted = NewAccount {
        contact: &["mailto:instant@example.com"],
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let builder = || Account::builder_with_root(&setting.ca_bundle).unwrap();
    let (mut account, _) = builder().create(&wanted, setting.directory.clone(), Some(&eab)).await.unwrap();
    assert!(account.profiles().any(|profile| profile.name == "TLS-90d"));

    let one = names(&["a.instant.test"]);
    let first = setting.obtain(&account, "one", NewOrder::new(&one), ChallengeType::Http01).await;
    let hundred: Vec<_> = (1..=100).map(|number| Identifier::Dns(format!("n{number}.instant.test"))).collect();
    setting.obtain(&account, "hundred", NewOrder::new(&hundred), ChallengeType::Http01).await;
    let wild = names(&["*.w.instant.test", "w.instant.test"]);
    setting.obtain(&account, "wild", NewOrder::new(&wild), ChallengeType::Dns01).await;

    let first = CertificateDer::from_pem_slice(first.as_bytes()).unwrap();
    let id = CertificateIdentifier::try_from(&first).unwrap();
    let (info, again) = account.renewal_info(&id).await.unwrap();
    assert!(info.suggested_window.start < info.suggested_window.end && again > Duration::from_secs(60));
    let renewal = || NewOrder::new(&one).replaces(id.clone()).profile("TLS-90d");
    setting.obtain(&account, "renewed", renewal(), ChallengeType::Http01).await;
    assert_refused(account.new_order(&renewal()).await.err(), "alreadyReplaced");

    let request = || RevocationRequest { certificate: &first, reason: Some(RevocationReason::Superseded) };
    account.revoke(&request()).await.unwrap();
    assert_refused(account.revoke(&request()).await.err(), "alreadyRevoked");

    account.update_contacts(&["mailto:other@example.com"]).await.unwrap();
    let credentials = account.update_key().await.unwrap();
    let credentials = || serde_json::from_value(serde_json::to_value(&credentials).unwrap()).unwrap();
    let account = builder().from_credentials(credentials()).await.unwrap();
    account.new_order(&NewOrder::new(&one)).await.unwrap();
    account.deactivate().await.unwrap();
    let account = builder().from_credentials(credentials()).await.unwrap();
    assert_refused(account.new_order(&NewOrder::new(&one)).await.err(), "unauthorized");
}

impl Setting {
    async fn obtain(&self, account: &Account, file: &str, order: NewOrder<'_>, challenge: ChallengeType) -> String {
        let patient = RetryPolicy::default().timeout(Duration::from_secs(60));
        let mut order = account.new_order(&order).await.unwrap();
        let mut left = Vec::new();
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization.unwrap();
            if authorization.status == AuthorizationStatus::Valid {
                continue;
            }
            let mut challenge = authorization.challenge(challenge.clone()).unwrap();
            let answer = challenge.key_authorization();
            if challenge.r#type == ChallengeType::Http01 {
                let file = self.answers.join("web").join(&challenge.token);
                fs::write(&file, answer.as_str()).unwrap();
                left.push(file);
            } else {
                let Identifier::Dns(name) = challenge.identifier().identifier else { panic!("not a name") };
                let file = self.answers.join("txt").join(format!("_acme-challenge.{name}"));
                let before = fs::read_to_string(&file).unwrap_or_default();
                fs::write(&file, format!("{before}{}\n", answer.dns_value())).unwrap();
                left.push(file);
            }
            challenge.set_ready().await.unwrap();
        }
        if !left.is_empty() {
            assert_eq!(order.poll_ready(&patient).await.unwrap(), OrderStatus::Ready);
        }
        order.finalize().await.unwrap();
        let chain = order.poll_certificate(&patient).await.unwrap();
        fs::write(self.out.join(format!("{file}.pem")), &chain).unwrap();
        left.sort();
        left.dedup();
        left.iter().for_each(|file| fs::remove_file(file).unwrap());
        chain
    }
}

fn names(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| Identifier::Dns((*name).to_owned())).collect()
}

fn assert_refused(error: Option<Error>, kind: &str) {
    let Some(Error::Api(problem)) = error else { panic!("{error:?}, and not {kind}") };
    assert_eq!(problem.r#type, Some(format!("urn:ietf:params:acme:error:{kind}")), "{problem}");
}
