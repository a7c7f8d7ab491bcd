use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chancery_domain::{Entropy, Identifier, OrderId, Timestamp};
use chancery_pki::{
    CaName, CaPolicy, CurrentLogs, Draft, Issuer, IssuerUrls, IssuingCa, KeyAlgorithm, LogKey, LogList, PrivateKey,
    SctNeeds, Serial, Signer, SubscriberKey, SubscriberProfile, Terms, Validity, issuing, root,
};
use tokio::time::sleep;

use super::*;

const NOW: i64 = 1_780_272_000;
/// How long one is waited for alone, here.
const SHORT: Duration = Duration::from_millis(100);
const LONGER_THAN_ANY_TEST: Duration = Duration::from_secs(3600);

struct Constant(u8);

impl Entropy for Constant {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

struct At(i64);

impl Clock for At {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0)
    }
}

/// Signs for whatever it was told that it is going to be shown.
struct Fake {
    key: PrivateKey,
    entry: chancery_pki::LogEntry,
    /// How long it takes; none: for ever.
    takes: Mutex<Option<Duration>>,
    refuses: AtomicBool,
    asked: AtomicUsize,
}

impl LogKeeper for Fake {
    fn show<'a>(&'a self, _: &'a [Vec<u8>]) -> Promised<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let takes = *self.takes.lock();
        Box::pin(async move {
            match takes {
                Some(takes) => sleep(takes).await,
                None => std::future::pending().await,
            }
            if self.refuses.load(Ordering::Relaxed) {
                return Err(LogError::away("it is full"));
            }
            let log = LogKey::from_spki(self.key.spki()).unwrap().id();
            let timestamp = u64::try_from(NOW).unwrap() * 1000;
            let unsigned = Sct { log, timestamp, extensions: vec![], signature: vec![] };
            let signature = self.key.sign(&self.entry.signed_with(&unsigned).unwrap()).unwrap();
            let length = u16::try_from(signature.len()).unwrap().to_be_bytes();
            Ok(Sct { signature: [&[4, 3], length.as_slice(), &signature].concat(), ..unsigned })
        })
    }
}

/// Logs of these operators, and a certificate of so many days that they are to be shown.
struct Stage {
    fakes: Vec<Arc<Fake>>,
    logs: Logs,
    assignment: LogAssignment,
}

impl Stage {
    fn with(operators: &[&str], days: u32) -> Self {
        let key = |algorithm| PrivateKey::generate(algorithm).unwrap();
        let keys: Vec<_> = operators.iter().map(|_| key(KeyAlgorithm::EcP256)).collect();
        let log = |(place, operator): (usize, &&str)| Log {
            name: format!("{operator}{place}"),
            operator: (*operator).to_owned(),
            key: LogKey::from_spki(keys[place].spki()).unwrap(),
            takes: i64::MIN..i64::MAX,
        };
        let list: Vec<_> = operators.iter().enumerate().map(log).collect();
        let logs = Arc::new(LogList::new(list.clone(), SctNeeds::BROWSERS).unwrap());
        let issuer = issuer();
        let validity = Validity::days(NOW, days).unwrap();
        let draft = {
            let subscriber = key(KeyAlgorithm::EcP256);
            let (subscriber, urls) = (SubscriberKey::from_spki(subscriber.spki()).unwrap(), IssuerUrls::default());
            let profile = SubscriberProfile {
                logs: Some(CurrentLogs::new((*logs).clone())),
                public: false,
                ..SubscriberProfile::tls(days)
            };
            let names = [Identifier::parse("a.test").unwrap()];
            let (profile, urls, names, key) = (&profile, &urls, &names, &subscriber);
            let terms = Terms { issuer: &issuer, profile, urls, names, key, now: NOW };
            Draft::subscriber(&terms, validity, Serial::draw(&Constant(3)), None).unwrap()
        };
        let entry = draft.log_entry(&issuer).unwrap();
        let fake = |key: PrivateKey| {
            Arc::new(Fake {
                key,
                entry: entry.clone(),
                takes: Mutex::new(Some(Duration::ZERO)),
                refuses: AtomicBool::new(false),
                asked: AtomicUsize::new(0),
            })
        };
        let fakes: Vec<_> = keys.into_iter().map(fake).collect();
        let keepers = list.into_iter().zip(&fakes).map(|(log, fake)| (log, fake.clone() as Arc<dyn LogKeeper>));
        let mut keepers = Logs::new(keepers.collect(), Arc::new(At(NOW)));
        keepers.patience = LONGER_THAN_ANY_TEST;
        let order = OrderId::from_uuid((&Constant(5) as &dyn Entropy).uuid_v7(Timestamp::from_secs(NOW)));
        let serial = String::new();
        let (chains, signed_at) = (vec![vec![]], Timestamp::from_secs(NOW));
        let assignment = LogAssignment { order, serial, logs, validity, entry, chains, signed_at };
        Self { fakes, logs: keepers, assignment }
    }

    /// None is waited for alone for long.
    fn impatient(operators: &[&str]) -> Self {
        let mut stage = Self::with(operators, 90);
        stage.logs.patience = SHORT;
        stage
    }

    async fn gather(&self) -> Result<Vec<LogId>, String> {
        let scts = self.logs.gather(&self.assignment).await?;
        Ok(scts.iter().map(|sct| sct.log).collect())
    }

    /// How often each was asked.
    fn asked(&self) -> Vec<usize> {
        self.fakes.iter().map(|fake| fake.asked.load(Ordering::Relaxed)).collect()
    }

    fn refuse(&self, place: usize, refuses: bool) {
        self.fakes[place].refuses.store(refuses, Ordering::Relaxed);
    }

    fn takes(&self, place: usize, takes: Option<Duration>) {
        *self.fakes[place].takes.lock() = takes;
    }
}

fn issuer() -> Issuer {
    let name = |text: &str| CaName::new("XX", "Tests", text).unwrap();
    let key = || Arc::new(PrivateKey::generate(KeyAlgorithm::EcP256).unwrap());
    let validity = Validity::days(NOW, 4000).unwrap();
    let (root_key, issuer_key) = (key(), key());
    let root = root(&*root_key, &name("Root"), validity, Serial::draw(&Constant(1))).unwrap();
    let root = Issuer::new(root, root_key).unwrap();
    let ca = IssuingCa {
        subject: &name("Issuing"),
        spki: issuer_key.spki(),
        validity,
        serial: Serial::draw(&Constant(2)),
        policy: CaPolicy::Any,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    Issuer::new(issuing(&root, &ca).unwrap(), issuer_key).unwrap()
}

#[tokio::test]
async fn as_many_are_asked_as_are_needed_each_in_its_turn() {
    let stage = Stage::with(&["a", "a", "b", "b"], 90);
    for _ in 0..8 {
        assert_eq!(stage.gather().await.unwrap().len(), 2);
    }
    assert_eq!(stage.asked().iter().sum::<usize>(), 16, "one of each operator, each time");
    assert!(stage.asked().iter().all(|asked| *asked > 0), "{:?}", stage.asked());
    let long = Stage::with(&["a", "b", "c"], 181);
    assert_eq!(long.gather().await.unwrap().len(), 3);
}

#[tokio::test]
async fn where_one_fails_another_is_asked_at_once_and_it_is_left_alone_for_a_while() {
    let stage = Stage::with(&["a", "b", "c"], 90);
    stage.refuse(0, true);
    for _ in 0..6 {
        assert_eq!(stage.gather().await.unwrap().len(), 2);
    }
    assert_eq!(stage.asked()[0], 1, "it rests");
    let rests = |stage: &Stage| stage.logs.keepers()[0].failing.lock().rests.unwrap() - Instant::now();
    assert!(rests(&stage) <= FIRST_REST);
    let wake = |stage: &Stage| stage.logs.keepers()[0].failing.lock().rests = Some(Instant::now());
    for _ in 0..9 {
        wake(&stage);
        stage.gather().await.unwrap();
    }
    assert!(rests(&stage) > LONGEST_REST / 2 && rests(&stage) <= LONGEST_REST, "longer, but not for ever");
    wake(&stage);
    stage.refuse(0, false);
    for _ in 0..3 {
        stage.gather().await.unwrap();
    }
    let keepers = stage.logs.keepers();
    let failing = keepers[0].failing.lock();
    assert_eq!((failing.times, failing.rests), (0, None), "all is forgotten");
}

#[tokio::test]
async fn one_that_says_for_how_long_it_wants_to_be_left_alone_is() {
    let stage = Stage::with(&["a", "b"], 90);
    let keepers = stage.logs.keepers();
    let kept = &keepers[0];
    kept.fails("failed", "too many", Some(Duration::from_secs(60)));
    assert!(kept.failing.lock().rests.unwrap() > Instant::now() + Duration::from_secs(50));
    kept.fails("failed", "too many", Some(Duration::from_secs(86_400)));
    assert!(kept.failing.lock().rests.unwrap() <= Instant::now() + LONGEST_WISH);
    let why = stage.gather().await.unwrap_err();
    assert!(why.contains("a0: too many, and is left alone for"), "{why}");
    assert_eq!(stage.asked(), [0, 0], "the other alone could not be enough, and is not bothered");
}

#[tokio::test]
async fn nobody_is_asked_who_is_no_help() {
    // One operator more is lacking, and the only one is away: no further log of the first is shown anything.
    let stage = Stage::with(&["a", "a", "a", "b"], 90);
    stage.refuse(3, true);
    assert!(stage.gather().await.is_err());
    assert_eq!(stage.asked()[..3].iter().sum::<usize>(), 1, "{:?}", stage.asked());
    // Three are needed, of two operators: two of a and one of b, or one of a and two of b.
    let long = Stage::with(&["a", "a", "b"], 181);
    assert_eq!(long.gather().await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_log_that_knows_another_root_is_shown_the_way_to_that() {
    struct Picky(AtomicUsize, Sct);
    impl LogKeeper for Picky {
        fn show<'a>(&'a self, chain: &'a [Vec<u8>]) -> Promised<'a> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let knows = chain.last().is_some_and(|root| root == b"known");
            let answer = if knows { Ok(self.1.clone()) } else { Err(LogError::Refused("unknown root".to_owned())) };
            Box::pin(async move { answer })
        }
    }
    let stage = Stage::with(&["a"], 90);
    let sct = stage.fakes[0].show(&[]).await.unwrap();
    let picky = Arc::new(Picky(AtomicUsize::new(0), sct));
    let kept = Kept::new(stage.assignment.logs.logs()[0].clone(), picky.clone());
    let chain = |root: &[u8]| vec![b"precertificate".to_vec(), root.to_vec()];
    let chains = [chain(b"own"), chain(b"old"), chain(b"known")];
    assert!(kept.show(&chains).await.is_ok());
    assert_eq!(picky.0.load(Ordering::Relaxed), 3);
    assert!(kept.show(&chains).await.is_ok());
    assert_eq!(picky.0.load(Ordering::Relaxed), 4, "it remembers which it took");
    assert!(matches!(kept.show(&chains[..2]).await, Err(LogError::Refused(_))));
}

#[tokio::test]
async fn one_that_is_slow_is_not_waited_for_alone_and_may_still_be_the_one() {
    let stage = Stage::impatient(&["a", "b", "c"]);
    stage.takes(0, None);
    assert_eq!(stage.gather().await.unwrap().len(), 2);
    assert_eq!(stage.asked(), [1, 1, 1]);
    assert!(stage.logs.keepers()[0].rests(), "nobody waits for it the next time");
    // All are slow, and two come in the end.
    let stage = Stage::impatient(&["a", "b", "c"]);
    stage.takes(0, Some(3 * SHORT));
    stage.takes(1, Some(4 * SHORT));
    stage.takes(2, None);
    assert_eq!(stage.gather().await.unwrap().len(), 2);
    assert_eq!(stage.asked(), [1, 1, 1], "nobody twice");
}

#[tokio::test]
async fn of_what_is_more_than_enough_the_rest_is_left_out() {
    let stage = Stage::impatient(&["a", "a", "b"]);
    // Both of a, since the first is slow; it comes in the end, before the one of b.
    stage.takes(0, Some(2 * SHORT));
    stage.takes(2, Some(4 * SHORT));
    let found = stage.gather().await.unwrap();
    assert_eq!(stage.asked(), [1, 1, 1]);
    assert_eq!(found.len(), 2);
    assert!(stage.assignment.logs.is_enough(stage.assignment.validity, found));
}

#[tokio::test]
async fn too_few_are_told_with_what_each_said() {
    let stage = Stage::with(&["a", "a", "b"], 90);
    stage.refuse(2, true);
    let why = stage.gather().await.unwrap_err();
    assert!(why.contains("b2: it is full"), "{why}");
    let alone = Stage::with(&["a", "a"], 90);
    assert!(alone.gather().await.is_err(), "both of one operator");
    let nobody = Stage::with(&[], 90);
    assert!(nobody.gather().await.is_err());
}

#[tokio::test]
async fn a_promise_about_something_else_or_of_a_time_to_come_does_not_count() {
    let stage = Stage::with(&["a", "b"], 90);
    let other = Stage::with(&["a", "b"], 90);
    let entry = other.assignment.entry.clone();
    let wrong = Stage { assignment: LogAssignment { entry, ..stage.assignment.clone() }, ..stage };
    let why = wrong.gather().await.unwrap_err();
    assert!(why.contains("not signed by its key, or about something else"), "{why}");
    let mut stage = Stage::with(&["a", "b"], 90);
    stage.logs.clock = Arc::new(At(NOW - 6));
    let why = stage.gather().await.unwrap_err();
    assert!(why.contains("its clock is ahead of ours"), "{why}");
    let mut stage = Stage::with(&["a", "b"], 90);
    stage.assignment.signed_at = Timestamp::from_secs(NOW + 301);
    let why = stage.gather().await.unwrap_err();
    assert!(why.contains("its clock is behind ours"), "{why}");
}
