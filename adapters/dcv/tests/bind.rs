//! Zones signed and served by BIND, which shares no code with what we check them with.
//!
//! `CHANCERY_TEST_BIND` says where it is installed (`/usr` for Debian's packages bind9 and bind9-utils); without it this
//! is skipped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use chancery_dcv::{Check, Dnssec, Validator, ValidatorConfig};
use chancery_domain::{ChallengeType, Identifier};
use chancery_testkit::{FrozenClock, SeededEntropy};

const DNS: ChallengeType = ChallengeType::Dns01;
/// Of the key authorization `token.key`: SHA-256 in base64url.
const DIGEST: &str = "BBQUgcxf5weD7GT5jGRqmNsvAZXUWBoqPngIzDdoBFs";

/// Each zone with its records and how it is signed; a zone comes before the one above it.
const ZONES: [(&str, &str, Option<&[&str]>); 6] = [
    ("plain.test.", "_acme-challenge.plain.test. TXT DIGEST\nplain.test. CAA 0 issue \"ca.test\"", None),
    ("sub.hashed.test.", "_acme-challenge.sub.hashed.test. TXT DIGEST", None),
    (
        "hashed.test.",
        "_acme-challenge.hashed.test. TXT DIGEST\nx.hashed.test. TXT DIGEST\n*.w.hashed.test. TXT DIGEST\n\
         _acme-challenge.dn.hashed.test. TXT DIGEST\ndn3.hashed.test. DNAME dn.hashed.test.\nwww.hashed.test. A 127.0.0.1\n\
         c.hashed.test. CAA 0 issue \"other.test\"\nsub.hashed.test. NS ns.",
        Some(&["-3", "-", "-A", "-H", "0"]),
    ),
    (
        "example.test.",
        "_acme-challenge.example.test. TXT DIGEST\n*.wild.example.test. TXT DIGEST\n\
         _acme-challenge.alias.example.test. CNAME x.hashed.test.\n\
         _acme-challenge.out.example.test. CNAME _acme-challenge.plain.test.\n\
         _acme-challenge.dangling.example.test. CNAME nowhere.hashed.test.\ndeep.a.b.example.test. TXT x\n\
         dn.example.test. DNAME dn.hashed.test.\n*.cw.example.test. CNAME x.hashed.test.",
        Some(&[]),
    ),
    ("test.", "example.test. NS ns.\nhashed.test. NS ns.\nplain.test. NS ns.", Some(&[])),
    (".", "ns. A 127.0.0.1\ntest. NS ns.", Some(&[])),
];

struct Bind {
    server: Child,
    port: u16,
    anchor: String,
    folder: tempfile::TempDir,
}

impl Bind {
    fn start() -> Option<Self> {
        let Some(prefix) = std::env::var_os("CHANCERY_TEST_BIND").map(PathBuf::from) else {
            eprintln!("skipped: CHANCERY_TEST_BIND is not set");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let mut zones = String::new();
        for (index, (zone, records, signing)) in ZONES.iter().enumerate() {
            let mut text = format!("$TTL 60\n{zone} SOA ns. nobody. 1 60 60 60 60\n{zone} NS ns.\n");
            text += &(records.replace("DIGEST", DIGEST) + "\n");
            for below in fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
                let child =
                    below.strip_prefix("dsset-").map(|child| child.split_once('.').map_or("", |(_, rest)| rest));
                if child.is_some_and(|above| above == zone.trim_start_matches('.')) {
                    text += &fs::read_to_string(place.join(&below)).unwrap();
                }
            }
            let mut file = format!("zone{index}");
            if let Some(options) = signing {
                for kind in [&["-f", "KSK"][..], &[]] {
                    let key = run(&prefix, place, "dnssec-keygen", &[&["-q", "-a", "13"], kind, &[zone]].concat());
                    text += &fs::read_to_string(place.join(format!("{}.key", key.trim()))).unwrap();
                }
                fs::write(place.join(&file), text).unwrap();
                run(&prefix, place, "dnssec-signzone", &[options, &["-o", zone, file.as_str()][..]].concat());
                file += ".signed";
            } else {
                fs::write(place.join(&file), text).unwrap();
            }
            zones += &format!("zone \"{zone}\" {{ type primary; file \"{file}\"; }};\n");
        }
        let port = chancery_testkit::free_port();
        let options = format!(
            "options {{ directory \"{0}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; \
             pid-file none; session-keyfile none; dnssec-validation no; recursion yes; }};\ncontrols {{ }};\n{zones}",
            place.display()
        );
        fs::write(place.join("named.conf"), options).unwrap();
        let mut command = Command::new(prefix.join("sbin/named"));
        command.arg("-g").arg("-c").arg(place.join("named.conf")).stderr(fs::File::create(place.join("log")).unwrap());
        let server = command.spawn().unwrap();
        let root = fs::read_to_string(place.join("zone5")).unwrap();
        let anchor = root.lines().find(|line| line.contains("DNSKEY 257")).unwrap().replace(". IN", ". 3600 IN");
        Some(Self { server, port, anchor: anchor + "\n", folder })
    }

    async fn validator(&self) -> Validator {
        let log = || fs::read_to_string(self.folder.path().join("log")).unwrap();
        for _ in 0..200 {
            if log().lines().any(|line| line.ends_with("running")) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(log().contains("all zones loaded") && !log().contains("not loaded"), "{}", log());
        let config = ValidatorConfig {
            resolvers: vec![([127, 0, 0, 1], self.port).into()],
            dnssec: Dnssec::Validated { anchors: Some(self.anchor.clone()) },
            retry_window: Duration::ZERO,
            ca_domains: vec!["ca.test".to_owned()],
            ..ValidatorConfig::default()
        };
        Validator::new(config, Arc::new(FrozenClock::default()), Arc::new(SeededEntropy::new(1))).unwrap()
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn run(prefix: &Path, place: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(prefix.join("bin").join(program)).args(arguments).current_dir(place).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bind_signs_and_serves_is_read_rightly() {
    let Some(bind) = Bind::start() else { return };
    let validator = bind.validator().await;
    for (name, shown, dnssec) in [
        ("example.test", true, "secure"),
        ("hashed.test", true, "secure"),
        ("plain.test", true, "insecure"),
        ("sub.hashed.test", true, "insecure"),
        ("alias.example.test", true, "secure"),
        ("out.example.test", true, "insecure"),
        ("dangling.example.test", false, "secure"),
        ("wild.example.test", true, "secure"),
        ("a.wild.example.test", true, "secure"),
        ("w.hashed.test", true, "secure"),
        ("b.w.hashed.test", true, "secure"),
        ("cw.example.test", true, "secure"),
        ("dn.example.test", true, "secure"),
        ("dn3.hashed.test", true, "secure"),
        ("none.example.test", false, "secure"),
        ("none.hashed.test", false, "secure"),
        ("none.plain.test", false, "insecure"),
    ] {
        let identifier = Identifier::parse(name).unwrap();
        let (token, key_authorization) = ("token".to_owned(), "token.key".to_owned());
        let check = Check { identifier, kind: DNS, token, key_authorization, account_uri: String::new() };
        let verified = validator.verify("", &check).await;
        assert_eq!(verified.attempts[0].dnssec.as_deref(), Some(dnssec), "{name}: {:?}", verified.outcome);
        assert_eq!(verified.outcome.is_ok(), shown, "{name}: {:?}", verified.outcome);
    }
    for (name, found_at) in [
        ("example.test", Ok(None)),
        ("none.example.test", Ok(None)),
        ("a.b.example.test", Ok(None)),
        ("x.y.wild.example.test", Ok(None)),
        ("x.cw.example.test", Ok(None)),
        ("x.dn.example.test", Ok(None)),
        ("x.dn3.hashed.test", Ok(None)),
        ("x.none.hashed.test", Ok(None)),
        ("x.w.hashed.test", Ok(None)),
        ("c.hashed.test", Err("lets other.test issue")),
        ("x.sub.hashed.test", Ok(None)),
        ("x.plain.test", Ok(Some("plain.test"))),
        ("nosuch.test", Ok(None)),
    ] {
        let answer = validator.caa("", &Identifier::parse(name).unwrap(), None, DNS).await;
        match (&answer, found_at) {
            (Ok(evidence), Ok(found_at)) => assert_eq!(evidence.found_at.as_deref(), found_at, "{name}"),
            (Err(problem), Err(said)) => assert!(problem.detail.contains(said), "{name}: {problem}"),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("{name}: {answer:?}"),
        }
    }
}
