//! Certificate logs for a test, and settings in which certificates are shown to them.

use std::sync::Arc;

use chancery_domain::Timestamp;
use chancery_pki::{CurrentLogs, Log, LogKey, LogList, SctNeeds};
use chancery_publish::LogClient;
use chancery_service::Settings;
use chancery_testkit::FrozenClock;
use chancery_testkit::log::{Mood, TestLog};
use chancery_workers::{LogKeeper, Logs};

use crate::world::START;

/// Where a log is, and whose: also what another process is told of it.
#[derive(Clone, Debug)]
pub struct LogPlace {
    pub operator: String,
    pub url: String,
    pub spki: Vec<u8>,
    /// It takes certificates that end before then.
    pub takes_until: Option<Timestamp>,
}

/// The logs that a test has.
#[derive(Clone)]
pub struct LogPlaces(pub Vec<LogPlace>);

/// One log for each of these operators.
pub fn start_logs(operators: &[&str]) -> (Vec<TestLog>, LogPlaces) {
    let logs: Vec<_> = operators.iter().map(|_| TestLog::start()).collect();
    let time = u64::try_from(START.as_millis()).expect("it is later than 1970");
    logs.iter().for_each(|log| log.stand_still_at(time));
    let place = |(log, operator): (&TestLog, &&str)| LogPlace {
        operator: (*operator).to_owned(),
        url: log.url(),
        spki: log.spki().to_vec(),
        takes_until: None,
    };
    let places = logs.iter().zip(operators).map(place).collect();
    (logs, LogPlaces(places))
}

/// All of them at once.
pub fn all_be(logs: &[TestLog], mood: Mood) {
    logs.iter().for_each(|log| log.be(mood));
}

impl LogPlaces {
    /// The same, where the certificates of all profiles are shown to these logs; where there are none, as it is.
    pub fn show_in(&self, mut settings: Settings) -> Settings {
        if self.0.is_empty() {
            return settings;
        }
        let list = LogList::new(self.logs(), SctNeeds::BROWSERS).expect("logs that are not the same");
        let list = Some(CurrentLogs::new(list));
        settings.issuing.certificates.values_mut().for_each(|profile| profile.logs.clone_from(&list));
        settings
    }

    /// Those who ask them.
    pub fn keepers(&self, clock: Arc<FrozenClock>) -> Arc<Logs> {
        let client =
            |place: &LogPlace| Arc::new(LogClient::new(&place.url, None).expect("a URL")) as Arc<dyn LogKeeper>;
        Arc::new(Logs::new(self.logs().into_iter().zip(self.0.iter().map(client)).collect(), clock))
    }

    fn logs(&self) -> Vec<Log> {
        let log = |(place, log): (usize, &LogPlace)| Log {
            name: format!("log {place}"),
            operator: log.operator.clone(),
            key: LogKey::from_spki(&log.spki).expect("the key of a log"),
            takes: i64::MIN..log.takes_until.map_or(i64::MAX, Timestamp::as_secs),
        };
        self.0.iter().enumerate().map(log).collect()
    }
}
