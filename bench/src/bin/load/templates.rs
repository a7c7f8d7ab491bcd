//! One order of each kind, made as customers make them: what is stored beforehand is copied from these.

use chancery_bench::Server;
use chancery_client::wire::{ResellerAccountRequest, ResellerOrderRequest, ResellerRevokeCertificateRequest};
use chancery_client::{Client, Fetched};
use chancery_domain::Identifier;
use chancery_load::{Account, Credential, Responder};
use chancery_pki::{KeyAlgorithm, PrivateKey, make_request};
use data_encoding::BASE64;
use tokio::time::{Duration, sleep};

/// A kind of order, and how many of a hundred are of it.
pub(crate) struct Kind {
    /// Stands for the order in every name, and nowhere else.
    pub(crate) label: &'static str,
    pub(crate) percent: usize,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Acme,
    Reseller,
    Revoked,
    Pending,
    Cancelled,
    Invalid,
}

pub(crate) const KINDS: [Kind; 6] = [
    Kind { label: "xacme", percent: 74, how: How::Acme },
    Kind { label: "xreseller", percent: 16, how: How::Reseller },
    Kind { label: "xrevoked", percent: 2, how: How::Revoked },
    Kind { label: "xpending", percent: 3, how: How::Pending },
    Kind { label: "xcancelled", percent: 3, how: How::Cancelled },
    Kind { label: "xinvalid", percent: 2, how: How::Invalid },
];

/// The name that a label stands for.
pub(crate) fn name(label: &str) -> String {
    format!("{label}.stored.test")
}

pub(crate) async fn make(server: &Server, client: &Client, pages: &Responder) {
    let request = ResellerAccountRequest { customer_email: "first@stored.test".to_owned(), ..Default::default() };
    let customer = client.accounts().create(&request).await.unwrap();
    let credential = Credential { kid: customer.kid, hmac_key: customer.hmac_key.unwrap() };
    let directory = format!("{}/acme/TLS-90d/directory", server.fact("acme_url"));
    let at = chancery_load::Server::connect(&directory, Some(&server.ca_pem())).await.unwrap();
    let acme = Account::register(at, Some(&credential)).await.unwrap();
    let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
    for kind in KINDS {
        let name = name(kind.label);
        match kind.how {
            How::Acme => drop(acme.issue(&name, &key, pages).await.unwrap()),
            How::Revoked => {
                acme.issue(&name, &key, pages).await.unwrap();
                let query = chancery_client::CertificateQuery { name: Some(name), ..Default::default() };
                let found = client.certificates().list(query).await.unwrap().items;
                let request = ResellerRevokeCertificateRequest::default();
                client.certificates().revoke(&found[0].order_lookup, &request).await.unwrap();
            }
            How::Reseller | How::Pending | How::Cancelled | How::Invalid => {
                order(client, &customer.lookup, kind.label, &key, pages, kind.how).await;
            }
        }
    }
}

async fn order(client: &Client, account: &str, label: &str, key: &PrivateKey, pages: &Responder, how: How) {
    let csr = make_request(key, &[Identifier::parse(&name(label)).unwrap()]).unwrap();
    let request = ResellerOrderRequest {
        account_lookup: Some(account.to_owned()),
        csr: BASE64.encode(&csr),
        external_id: Some(label.to_owned()),
        ..Default::default()
    };
    let orders = client.orders();
    let order = orders.create(&request).await.unwrap();
    if how == How::Cancelled {
        orders.cancel(&order.lookup).await.unwrap();
    }
    if matches!(how, How::Pending | How::Cancelled) {
        return;
    }
    let codes = orders.challenges(&order.authorizations[0].lookup).await.unwrap();
    let http = codes.challenges.into_iter().find(|challenge| challenge.kind == "http-01").unwrap();
    let shown = http.key_authorization.unwrap();
    pages.publish(&http.token, if how == How::Invalid { "something else" } else { &shown });
    orders.choose(&http.lookup).await.unwrap();
    while orders.get(&order.lookup).await.unwrap().status == "pending" {
        sleep(Duration::from_millis(5)).await;
    }
    if how == How::Reseller {
        orders.finalize(&order.lookup).await.unwrap();
        while let Fetched::Pending(_) = client.certificates().get(&order.certificate_lookup).await.unwrap() {
            sleep(Duration::from_millis(5)).await;
        }
    }
    pages.withdraw(&http.token);
}
