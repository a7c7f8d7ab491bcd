//! Keys in a token, with SoftHSM for one.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use chancery_domain::{Entropy, Secret};
use chancery_pki::{KeyAlgorithm, KeyError, Signer, Token, TokenChoice, TokenKey, verify};
use chancery_testkit::tokens::{MODULE, PIN, Tokens, VARIABLE};

/// Set for the process in which a test really runs: SoftHSM takes its settings from the environment alone.
const FOLDER: &str = "CHANCERY_TEST_TOKENS";
/// What it leaves in that folder at its end.
const DONE: &str = "done";

/// Runs the test that calls it in a process of its own, with tokens of its own.
fn apart(body: impl FnOnce(&Tokens)) {
    if let Some(folder) = env::var_os(FOLDER) {
        body(&Tokens::of(Path::new(&folder)));
        return fs::write(Path::new(&folder).join(DONE), "").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(tokens) = Tokens::new(folder.path()) else { return };
    let ran = Command::new(env::current_exe().unwrap())
        .args(["--exact", thread::current().name().unwrap(), "--nocapture"])
        .env(FOLDER, folder.path())
        .env(VARIABLE, tokens.settings())
        .status();
    assert!(ran.unwrap().success());
    assert!(folder.path().join(DONE).exists(), "the test was not found, or did not end");
}

fn token(label: &str) -> Arc<Token> {
    token_with(label, || PIN.to_owned())
}

fn token_with(label: &str, pin: impl Fn() -> String + Send + Sync + 'static) -> Arc<Token> {
    let pin = Arc::new(move || Ok(Secret::new(pin())));
    Token::new(TokenChoice { module: MODULE.into(), label: label.to_owned(), pin })
}

struct Counting(Mutex<u8>);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let mut next = self.0.lock().unwrap();
        *next += 1;
        bytes.fill(*next);
    }
}

fn generate(token: &Arc<Token>, algorithm: KeyAlgorithm) -> TokenKey {
    token.generate(algorithm, "A key", &Counting(Mutex::new(0))).unwrap()
}

fn why(result: Result<impl Sized, KeyError>) -> String {
    match result.err().unwrap() {
        KeyError::Token(why) => why,
        other => panic!("{other}"),
    }
}

#[test]
fn every_kind_of_key_signs_and_is_found_again() {
    apart(|tokens| {
        tokens.make("one");
        tokens.make("other");
        let (one, entropy) = (token("one"), Counting(Mutex::new(0)));
        for algorithm in KeyAlgorithm::ALL {
            let key = one.generate(algorithm, "A key", &entropy).unwrap();
            assert_eq!((key.algorithm(), KeyAlgorithm::of(key.spki())), (algorithm, Some(algorithm)));
            assert!(key.is_elsewhere());
            // As the next process has it: a reference and a public key.
            let reference = key.reference().to_string().parse().unwrap();
            let again = TokenKey::new(Some(token("one")), reference, key.spki()).unwrap();
            assert_eq!(again.check(), Ok(()));
            for length in [0, 1, 100_000] {
                let message = vec![7; length];
                assert_eq!(verify(key.spki(), &message, &again.sign(&message).unwrap()), Ok(()), "{algorithm:?}");
            }
            let elsewhere = TokenKey::new(Some(token("other")), key.reference().clone(), key.spki()).unwrap();
            let said = why(elsewhere.sign(b"message"));
            assert!(said.contains("\"other\"") && said.contains(&key.reference().hex()), "{said}");
            assert_eq!(why(elsewhere.check()), said);
        }
        assert_eq!(tokens.keys(), 2 * KeyAlgorithm::ALL.len());
    });
}

#[test]
fn many_sign_at_once() {
    apart(|tokens| {
        tokens.make("one");
        let key = generate(&token("one"), KeyAlgorithm::EcP256);
        thread::scope(|scope| {
            for number in 0..40_u8 {
                let key = &key;
                scope.spawn(move || {
                    for round in 0..10 {
                        let message = [number, round];
                        assert_eq!(verify(key.spki(), &message, &key.sign(&message).unwrap()), Ok(()));
                    }
                });
            }
        });
    });
}

#[test]
fn a_key_does_not_come_out_and_does_nothing_but_sign() {
    apart(|tokens| {
        use cryptoki::{
            context::{CInitializeArgs, CInitializeFlags, Pkcs11},
            object::{Attribute, AttributeType, ObjectClass},
            session::UserType,
            types::AuthPin,
        };
        tokens.make("one");
        let key = generate(&token("one"), KeyAlgorithm::Rsa2048);
        // By another way than ours.
        let module = Pkcs11::new(MODULE).unwrap();
        let _ = module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK));
        let session = module.open_ro_session(module.get_slots_with_token().unwrap()[0]).unwrap();
        let _ = session.login(UserType::User, Some(&AuthPin::new(PIN.into())));
        let private = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Id(key.reference().id().to_vec())];
        let [found] = session.find_objects(&private).unwrap()[..] else { panic!("not one key") };
        use AttributeType::{Decrypt, Derive, Extractable, Label, Private, Sensitive, Sign, Unwrap};
        let told =
            session.get_attributes(found, &[Sensitive, Extractable, Private, Sign, Decrypt, Unwrap, Derive, Label]);
        let expected = [
            Attribute::Sensitive(true),
            Attribute::Extractable(false),
            Attribute::Private(true),
            Attribute::Sign(true),
            Attribute::Decrypt(false),
            Attribute::Unwrap(false),
            Attribute::Derive(false),
            Attribute::Label(b"A key".to_vec()),
        ];
        assert_eq!(told.unwrap(), expected);
        let inside = session.get_attributes(found, &[AttributeType::PrivateExponent]).unwrap();
        assert_eq!(inside, [], "what it is made of is not told");
    });
}

#[test]
fn a_pin_that_was_refused_is_not_tried_again() {
    apart(|tokens| {
        tokens.make("one");
        let pin = Arc::new(Mutex::new("4712"));
        let given = pin.clone();
        let token = token_with("one", move || (*given.lock().unwrap()).to_owned());
        assert!(why(token.check()).contains("the PIN is wrong"));
        for _ in 0..3 {
            assert!(why(token.check()).contains("not tried again"));
        }
        *pin.lock().unwrap() = "4713";
        assert!(why(token.check()).contains("the PIN is wrong"), "another one is");
        *pin.lock().unwrap() = PIN;
        assert_eq!(token.check(), Ok(()));
    });
}

#[test]
fn what_is_not_there_is_told() {
    apart(|tokens| {
        // SoftHSM looks once in a process.
        ["one", "two", "two"].iter().for_each(|label| tokens.make(label));
        assert!(why(token("none").check()).contains("no token with the label \"none\""));
        assert!(why(token("two").check()).contains("several tokens"));
        let token_of = |module: &Path| {
            let pin = Arc::new(|| Ok(Secret::new(PIN.to_owned())));
            Token::new(TokenChoice { module: module.to_owned(), label: "one".to_owned(), pin })
        };
        assert!(
            why(token_of(Path::new("/nowhere.so")).check()).contains("cannot load the PKCS #11 module /nowhere.so")
        );
        let text = tokens.folder().join("text.so");
        fs::write(&text, "no library").unwrap();
        assert!(why(token_of(&text).check()).contains("cannot load"));
        // A library, and of something else.
        let libc = why(token_of(Path::new("libc.so.6")).check());
        assert!(libc.contains("C_GetFunctionList"), "{libc}");
        let unreadable = TokenChoice {
            module: MODULE.into(),
            label: "one".to_owned(),
            pin: Arc::new(|| Err("cannot read the PIN".to_owned())),
        };
        assert_eq!(why(Token::new(unreadable).check()), "cannot read the PIN");
    });
}

#[test]
fn a_key_that_was_taken_away_is_missed_and_another_in_its_place_is_noticed() {
    apart(|tokens| {
        tokens.make("one");
        let token = token("one");
        let key = generate(&token, KeyAlgorithm::EcP256);
        assert_eq!(tokens.keys(), 2);
        token.destroy(key.reference(), "Another name").unwrap();
        assert_eq!(tokens.keys(), 2);
        token.destroy(key.reference(), "A key").unwrap();
        assert_eq!(tokens.keys(), 0);
        assert!(why(key.sign(b"message")).contains("has no private key"));
        assert!(why(key.check()).contains("has no private key"));
        // The same numbers are drawn anew, so it gets the same id.
        let other = generate(&token, KeyAlgorithm::EcP256);
        assert_eq!(other.reference(), key.reference());
        assert_eq!(other.check(), Ok(()));
        for said in [why(key.sign(b"message")), why(key.check())] {
            assert!(said.contains("is another one"), "{said}");
        }
    });
}
