//! Account keys of every kind (RFC 8555 section 6.2), made and used by OpenSSL.

use std::io::Write;
use std::process::{Command, Stdio};

use chancery_jose::{Algorithm, HmacKey, base64url, jws};
use chancery_tests::{AcmeClient, identifiers, on_both_databases};
use data_encoding::HEXUPPER;
use serde_json::{Map, Value, json};

use super::common::{parts, refused, text, with};

/// A private key in a file.
struct Key {
    folder: tempfile::TempDir,
    alg: &'static str,
    /// Octets of a coordinate, where it is on a curve with two.
    width: usize,
}

impl Key {
    fn new(alg: &'static str, options: &[&str], width: usize) -> Self {
        let key = Self { folder: tempfile::tempdir().unwrap(), alg, width };
        openssl(&[&["genpkey", "-out", &key.file()], options].concat(), b"");
        key
    }

    fn file(&self) -> String {
        self.folder.path().join("key.pem").display().to_string()
    }

    fn public(&self) -> Value {
        let spki = openssl(&["pkey", "-pubout", "-outform", "DER", "-in", &self.file()], b"");
        let end = |count: usize| &spki[spki.len() - count..];
        let curve = |name: &str| {
            let (x, y) = end(2 * self.width).split_at(self.width);
            json!({"kty": "EC", "crv": name, "x": base64url::encode(x), "y": base64url::encode(y)})
        };
        match self.alg {
            "ES256" => curve("P-256"),
            "ES384" => curve("P-384"),
            "ES512" => curve("P-521"),
            "EdDSA" => json!({"kty": "OKP", "crv": "Ed25519", "x": base64url::encode(end(32))}),
            "RS256" => {
                let said = openssl(&["rsa", "-noout", "-modulus", "-in", &self.file()], b"");
                let digits = String::from_utf8(said).unwrap();
                let modulus = HEXUPPER.decode(digits.trim().trim_start_matches("Modulus=").as_bytes()).unwrap();
                json!({"kty": "RSA", "e": "AQAB", "n": base64url::encode(&modulus)})
            }
            other => panic!("no {other} here"),
        }
    }

    fn sign(&self, input: &[u8]) -> Vec<u8> {
        let file = self.file();
        let by_hash = |hash: &str| openssl(&["dgst", hash, "-sign", &file], input);
        match self.alg {
            "ES256" => fixed(&by_hash("-sha256"), self.width),
            "ES384" => fixed(&by_hash("-sha384"), self.width),
            "ES512" => fixed(&by_hash("-sha512"), self.width),
            "RS256" => by_hash("-sha256"),
            _ => {
                let data = self.folder.path().join("input");
                std::fs::write(&data, input).unwrap();
                let data = data.display().to_string();
                openssl(&["pkeyutl", "-sign", "-rawin", "-inkey", &file, "-in", &data], b"")
            }
        }
    }

    /// A signed request under any `alg`.
    fn request(&self, header: Map<String, Value>, payload: &str, alg: &str) -> Vec<u8> {
        let header = Value::Object(with(header, json!({"alg": alg}))).to_string();
        let encode = |text: &str| base64url::encode(text.as_bytes());
        let signature = self.sign(format!("{}.{}", encode(&header), encode(payload)).as_bytes());
        parts(&header, payload, &signature).to_string().into_bytes()
    }
}

fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

/// From two INTEGERs to two numbers of one width (RFC 7518 section 3.4).
fn fixed(der: &[u8], width: usize) -> Vec<u8> {
    let mut rest = if der[1] & 0x80 == 0 { &der[2..] } else { &der[3..] };
    let mut raw = Vec::new();
    for _ in 0..2 {
        let (number, after) = rest[2..].split_at(usize::from(rest[1]));
        let number: Vec<_> = number.iter().copied().skip_while(|octet| *octet == 0).collect();
        raw.extend(vec![0; width - number.len()]);
        raw.extend(number);
        rest = after;
    }
    raw
}

/// An RSA key of this size, which nobody has the private half of.
fn rsa_key(bits: usize) -> Value {
    let mut modulus = vec![0xff; bits.div_ceil(8)];
    modulus[0] >>= (8 - bits % 8) % 8;
    json!({"kty": "RSA", "e": "AQAB", "n": base64url::encode(&modulus)})
}

fn signed_by_nobody(header: &Map<String, Value>, payload: &str) -> Value {
    let header = with(header.clone(), json!({"alg": "RS256"}));
    parts(&Value::Object(header).to_string(), payload, &[1; 512])
}

on_both_databases! {
    async fn rsa_keys_that_take_long_to_verify_are_refused_before_that(world: World) {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &credential).await;
        for (bits, kind, word) in [
            (4096, "malformed", "signature"),
            (4097, "badPublicKey", "4097 bits"),
            (8192, "badPublicKey", "8192 bits"),
            (8193, "badPublicKey", "8193 bits"),
        ] {
            let jwk = json!({"jwk": rsa_key(bits), "kid": null});
            for name in ["newAccount", "revokeCert"] {
                let url = client.url(name);
                let header = with(client.header(&url).await, jwk.clone());
                let reply = client.send_raw(&url, signed_by_nobody(&header, "{}").to_string().into_bytes()).await;
                refused(&reply, 400, kind, word);
            }
            let url = client.url("keyChange");
            let inner = with(Map::new(), json!({"url": url, "jwk": rsa_key(bits)}));
            refused(&client.post(&url, &signed_by_nobody(&inner, "{}")).await, 400, kind, word);
        }
    }

    async fn every_kind_of_account_key_registers_and_orders_under_its_own_algorithm_alone(world: World) {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        let secret = base64url::decode(text(&credential, "hmacKey")).unwrap();
        let mac = HmacKey::of_one_secret(Algorithm::HS256, &secret).unwrap();
        let curve = |name: &'static str| format!("ec_paramgen_curve:{name}");
        let keys = [
            Key::new("ES256", &["-algorithm", "EC", "-pkeyopt", &curve("P-256")], 32),
            Key::new("ES384", &["-algorithm", "EC", "-pkeyopt", &curve("P-384")], 48),
            Key::new("ES512", &["-algorithm", "EC", "-pkeyopt", &curve("P-521")], 66),
            Key::new("RS256", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], 0),
            Key::new("EdDSA", &["-algorithm", "ED25519"], 0),
        ];
        for key in &keys {
            let client = AcmeClient::at(world.stranger(), "TLS-90d").await;
            let url = client.url("newAccount");
            let inner = with(Map::new(), json!({"kid": credential["kid"], "url": url}));
            let binding = jws::sign_flattened(inner, key.public().to_string().as_bytes(), &mac).unwrap();
            let payload = json!({"externalAccountBinding": binding}).to_string();
            let header = with(client.header(&url).await, json!({"jwk": key.public()}));
            for other in keys.iter().filter(|other| other.alg != key.alg) {
                let reply = client.send_raw(&url, key.request(header.clone(), &payload, other.alg)).await;
                refused(&reply, 400, "badPublicKey", other.alg);
            }
            let reply = client.send_raw(&url, key.request(header, &payload, key.alg)).await;
            assert_eq!(reply.status, 201, "{}: {}", key.alg, reply.text());
            let kid = reply.header("location").unwrap();
            let url = client.url("newOrder");
            let header = with(client.header(&url).await, json!({"jwk": null, "kid": kid}));
            let payload = json!({"identifiers": identifiers(&["a.test"])}).to_string();
            client.send_raw(&url, key.request(header, &payload, key.alg)).await.expect(201);
        }
    }
}
