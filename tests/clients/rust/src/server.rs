//! tokio-rustls-acme: a TLS server that gets its own certificate, by tls-alpn-01 on its own port.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpListener;
use tokio_rustls_acme::AcmeConfig;
use tokio_rustls_acme::caches::DirCache;
use tokio_stream::StreamExt;

use crate::Setting;

/// Says what has come to pass, until it has a certificate and has put it into its cache.
pub async fn run(setting: &Setting) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&setting.ca_bundle).unwrap()).unwrap();
    let trusting = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut state = AcmeConfig::new_with_client_tls_config(["a.server.test", "b.server.test"], Arc::new(trusting))
        .directory(&setting.directory)
        .contact(["mailto:server@example.com"])
        .external_account_binding(&setting.kid, &setting.hmac_key)
        .cache(DirCache::new(setting.out.clone()))
        .state();
    let acceptor = state.acceptor();
    let listener = TcpListener::bind(("127.0.0.1", setting.tls_port)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let shaking = acceptor.accept(stream);
            tokio::spawn(async move { println!("somebody came: {}", shaking.await.is_ok()) });
        }
    });
    let enough = tokio::time::sleep(Duration::from_secs(60));
    tokio::pin!(enough);
    loop {
        let event = tokio::select! {
            event = state.next() => event.unwrap().unwrap(),
            () = &mut enough => panic!("no certificate"),
        };
        println!("{event:?}");
        if ["DeployedCachedCert", "CertCacheStore"].contains(&format!("{event:?}").as_str()) {
            return;
        }
    }
}
