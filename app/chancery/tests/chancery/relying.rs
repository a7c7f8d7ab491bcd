//! What relying parties get from the running service, by the clock on the wall.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ordering::*;
use crate::support::*;

#[test]
fn a_revocation_shows_within_five_seconds() {
    let (place, work) = (folder(), folder());
    let dev = Dev::start_with(place.path(), &["--skip-validation"]);
    let work = work.path();
    let Ordered { order, chain, .. } = certificate(&dev, work, "a.test");
    let issuer = &chain[chain.rfind("-----BEGIN").unwrap()..];
    let root = fs::read_to_string(dev.value("issuer_bundle")).unwrap();
    for (name, pem) in [("leaf.pem", chain.as_str()), ("issuer.pem", issuer), ("root.pem", &root)] {
        fs::write(work.join(name), pem).unwrap();
    }
    fs::write(work.join("trusted.pem"), root + issuer).unwrap();

    let verify =
        ["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "-crl_check", "-crl_download", "leaf.pem"];
    let url = openssl(work, &["x509", "-in", "leaf.pem", "-noout", "-ocsp_uri"]);
    let status = ["ocsp", "-CAfile", "trusted.pem", "-issuer", "issuer.pem", "-cert", "leaf.pem", "-url", url.trim()];
    assert_eq!(openssl(work, &verify), "leaf.pem: OK\n");
    let good = openssl(work, &status);
    assert!(good.contains("Response verify OK") && good.contains("leaf.pem: good"), "{good}");

    let path = format!("/v1/certificates/{}/revocation", order);
    post(&dev, &path, &json!({"reason": "keyCompromise"}));
    let revoked = Instant::now();
    let took = loop {
        let took = revoked.elapsed();
        if openssl(work, &verify).contains("certificate revoked") {
            break took;
        }
        assert!(took < GENEROUS, "{}", dev.process.log());
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(took < Duration::from_secs(5), "{took:?}");
    let bad = openssl(work, &status);
    assert!(bad.contains("leaf.pem: revoked") && bad.contains("Reason: keyCompromise"), "{bad}");
}
