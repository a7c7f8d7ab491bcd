//! One customer, from order to certificate, again and again.

use std::time::{Duration, Instant};

use chancery_bench::Server;
use chancery_client::wire::{ResellerAccountRequest, ResellerOrderRequest};
use chancery_client::{Client, Fetched};
use chancery_domain::Identifier;
use chancery_load::Responder;
use chancery_pki::{KeyAlgorithm, PrivateKey, make_request};
use data_encoding::BASE64;

const PAUSE: Duration = Duration::from_millis(2);

pub(crate) struct Customer {
    client: Client,
    pages: Responder,
    account: String,
    key: PrivateKey,
    /// Makes the names of this customer its own.
    label: String,
    orders: usize,
}

impl Customer {
    pub(crate) async fn new(server: &Server, pages: &Responder, round: usize, number: usize) -> Self {
        let label = format!("c{number}-{round}");
        let request = ResellerAccountRequest { customer_email: format!("{label}@example.com"), ..Default::default() };
        let account = server.client.accounts().create(&request).await.unwrap().lookup;
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        Self { client: server.client.clone(), pages: pages.clone(), account, key, label, orders: 0 }
    }

    /// A certificate for a new name; tells how long it took from the order to the chain.
    pub(crate) async fn order(&mut self) -> Duration {
        self.orders += 1;
        let name = Identifier::parse(&format!("n{}.{}.test", self.orders, self.label)).unwrap();
        let csr = BASE64.encode(&make_request(&self.key, &[name]).unwrap());
        let (orders, certificates) = (self.client.orders(), self.client.certificates());
        let began = Instant::now();
        let request = ResellerOrderRequest { account_lookup: Some(self.account.clone()), csr, ..Default::default() };
        let order = orders.create(&request).await.unwrap();
        let codes = orders.challenges(&order.authorizations[0].lookup).await.unwrap();
        let http = codes.challenges.into_iter().find(|challenge| challenge.kind == "http-01").unwrap();
        self.pages.publish(&http.token, http.key_authorization.as_deref().unwrap());
        orders.choose(&http.lookup).await.unwrap();
        loop {
            let seen = orders.get(&order.lookup).await.unwrap();
            match seen.status.as_str() {
                "ready" => break,
                "pending" => tokio::time::sleep(PAUSE).await,
                _ => panic!("the order ended: {:?}", seen.error),
            }
        }
        orders.finalize(&order.lookup).await.unwrap();
        while let Fetched::Pending(_) = certificates.get(&order.certificate_lookup).await.unwrap() {
            tokio::time::sleep(PAUSE).await;
        }
        let took = began.elapsed();
        self.pages.withdraw(&http.token);
        took
    }
}
