//! A log of certificates on loopback, which checks what it is shown and signs for it (RFC 6962).
//!
//! It shares no code with what it is a test of: it takes precertificates apart by hand. It has a thread of its own, so that
//! it answers whatever the test does meanwhile.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1, EcdsaKeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
};
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::der::tlv;

/// What tells a precertificate: the whole extension.
const POISON: [u8; 21] = *b"\x30\x13\x06\x0a\x2b\x06\x01\x04\x01\xd6\x79\x02\x04\x03\x01\x01\xff\x04\x02\x05\x00";
const LONGER_THAN_ANY_TEST: Duration = Duration::from_secs(3600);

/// How a log answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Taking,
    /// It says that it cannot now.
    Refusing,
    /// It never answers.
    Silent,
    /// It signs for something else.
    Wrong,
    /// Its clock is an hour ahead.
    Ahead,
}

/// One log.
pub struct TestLog {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    spki: Vec<u8>,
}

struct Shared {
    key: EcdsaKeyPair,
    mood: Mood,
    /// The chains that it took.
    taken: Vec<Vec<Vec<u8>>>,
    asked: usize,
    roots: Vec<Vec<u8>>,
    /// In milliseconds since 1970; none: what it is.
    time: Option<u64>,
}

impl TestLog {
    pub fn start() -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key");
        let spki = key.public_key().as_der().expect("its public half").as_ref().to_vec();
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let shared = Shared { key, mood: Mood::Taking, taken: Vec::new(), asked: 0, roots: Vec::new(), time: None };
        let shared = Arc::new(Mutex::new(shared));
        let served = Arc::clone(&shared);
        // It ends with the test.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&served);
                thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { address, shared, spki }
    }

    /// What its paths begin with.
    pub fn url(&self) -> String {
        format!("http://{}/log/", self.address)
    }

    /// Its public key, a DER SubjectPublicKeyInfo.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// The same as log lists write it.
    pub fn key(&self) -> String {
        BASE64.encode(&self.spki)
    }

    pub fn be(&self, mood: Mood) {
        self.shared().mood = mood;
    }

    /// Has its clock stand still, at so many milliseconds since 1970.
    pub fn stand_still_at(&self, time: u64) {
        self.shared().time = Some(time);
    }

    /// Says that it takes what is below this root.
    pub fn accept(&self, root: &[u8]) {
        self.shared().roots.push(root.to_vec());
    }

    /// The chains that it took, in DER.
    pub fn taken(&self) -> Vec<Vec<Vec<u8>>> {
        self.shared().taken.clone()
    }

    /// How often it was asked to take something.
    pub fn asked(&self) -> usize {
        self.shared().asked
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("nobody panics while it holds it")
    }
}

fn serve(stream: &TcpStream, shared: &Mutex<Shared>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let answer = match first.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["POST", "/log/ct/v1/add-pre-chain"] => {
            let mut shared = shared.lock().expect("nobody panics while it holds it");
            shared.asked += 1;
            if shared.mood == Mood::Silent {
                drop(shared);
                thread::sleep(LONGER_THAN_ANY_TEST);
                return Ok(());
            }
            shared.add(&body)
        }
        ["GET", "/log/ct/v1/get-roots"] => {
            let shared = shared.lock().expect("nobody panics while it holds it");
            let roots: Vec<_> = shared.roots.iter().map(|root| BASE64.encode(root)).collect();
            Ok(json!({"certificates": roots}))
        }
        _ => Err((404, "there is nothing here".to_owned())),
    };
    let (status, text) = match answer {
        Ok(answer) => (200, answer.to_string()),
        Err((status, why)) => (status, why),
    };
    let head = format!("HTTP/1.1 {status} Test\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}

impl Shared {
    fn add(&mut self, body: &[u8]) -> Result<Value, (u16, String)> {
        let bad = |why: &str| (400, why.to_owned());
        if self.mood == Mood::Refusing {
            return Err((503, "come again later".to_owned()));
        }
        let body: Value = serde_json::from_slice(body).map_err(|_| bad("not JSON"))?;
        let decode = |text: &Value| BASE64.decode(text.as_str()?.as_bytes()).ok();
        let chain = body["chain"].as_array().and_then(|chain| chain.iter().map(decode).collect::<Option<Vec<_>>>());
        let chain = chain.filter(|chain| chain.len() >= 2).ok_or_else(|| bad("not a chain of two or more"))?;
        let (signed, tbs, issuer) = apart(&chain[0], &chain[1]).ok_or_else(|| bad("these are no certificates"))?;
        if !is_signed(&signed, &issuer) {
            return Err(bad("the precertificate is not signed by the one after it"));
        }
        let tbs = without_poison(&tbs).ok_or_else(|| bad("it is no precertificate"))?;
        let ahead = if self.mood == Mood::Ahead { 3_600_000 } else { 0 };
        let timestamp = self.time.unwrap_or_else(now) + ahead;
        // As logs of static-ct-api have it: where the entry is.
        let extensions = [0, 0, 5, 0, 0, 0, 0, u8::try_from(self.taken.len() % 256).expect("less than 256")];
        let mut message = vec![0, 0];
        message.extend(timestamp.to_be_bytes());
        message.extend([0, 1]);
        message.extend(digest(&SHA256, &issuer).as_ref());
        message.extend(&u32::try_from(tbs.len()).expect("it is short").to_be_bytes()[1..]);
        message.extend(&tbs);
        message.extend([0, 8]);
        message.extend(extensions);
        if self.mood == Mood::Wrong {
            message.push(0);
        }
        let signature = self.key.sign(&SystemRandom::new(), &message).expect("it signs");
        let length = u16::try_from(signature.as_ref().len()).expect("it is short").to_be_bytes();
        let signature = [&[4, 3], length.as_slice(), signature.as_ref()].concat();
        let id = digest(&SHA256, self.key.public_key().as_der().expect("its public half").as_ref());
        self.taken.push(chain);
        Ok(json!({
            "sct_version": 0, "id": BASE64.encode(id.as_ref()), "timestamp": timestamp,
            "extensions": BASE64.encode(&extensions), "signature": BASE64.encode(&signature),
        }))
    }
}

fn now() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("it is later than 1970").as_millis();
    u64::try_from(now).expect("it is earlier than that")
}

/// What was signed and the signature; what is to be signed of the first; and the key of the second.
type Apart = ((Vec<u8>, Vec<u8>), Vec<u8>, Vec<u8>);

fn apart(precertificate: &[u8], issuer: &[u8]) -> Option<Apart> {
    let [tbs, _, signature] = parts(contents(precertificate)?)?.try_into().ok()?;
    let signature = contents(signature)?.get(1..)?.to_vec();
    let issuer = *parts(contents(issuer)?)?.first()?;
    // Version, serial number, algorithm, issuer, validity, subject; then the key.
    let key = parts(contents(issuer)?)?.get(6)?.to_vec();
    Some(((tbs.to_vec(), signature), tbs.to_vec(), key))
}

fn is_signed((tbs, signature): &(Vec<u8>, Vec<u8>), spki: &[u8]) -> bool {
    let kinds: [&dyn VerificationAlgorithm; 3] =
        [&ECDSA_P256_SHA256_ASN1, &ECDSA_P384_SHA384_ASN1, &RSA_PKCS1_2048_8192_SHA256];
    kinds.into_iter().any(|kind| kind.verify_sig(spki, tbs, signature).is_ok())
}

/// The same without the mark, with all lengths right.
fn without_poison(tbs: &[u8]) -> Option<Vec<u8>> {
    let fields = parts(contents(tbs)?)?;
    let (last, others) = fields.split_last()?;
    let extensions = parts(contents(contents(last)?)?)?;
    let kept: Vec<_> = extensions.iter().copied().filter(|extension| **extension != POISON).collect();
    if kept.len() + 1 != extensions.len() {
        return None;
    }
    let last = tlv(0xa3, &[&tlv(0x30, &kept)]);
    Some(tlv(0x30, &[&others.concat(), &last]))
}

/// What is in an element.
fn contents(element: &[u8]) -> Option<&[u8]> {
    let (head, length) = header(element)?;
    element.get(head..head + length)
}

/// How long the beginning of an element is, and its contents.
fn header(element: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*element.get(1)?);
    if first < 0x80 {
        return Some((2, first));
    }
    let bytes = element.get(2..2 + (first & 0x7f))?;
    Some((2 + bytes.len(), bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))))
}

/// The elements that follow each other.
fn parts(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (head, length) = header(bytes)?;
        let (part, rest) = bytes.split_at_checked(head + length)?;
        all.push(part);
        bytes = rest;
    }
    Some(all)
}
