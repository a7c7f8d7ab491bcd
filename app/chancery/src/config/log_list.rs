//! Lists of certificate logs, as browsers publish them (`log_list.json`, version 3 of its schema).

use chancery_domain::Timestamp;
use chancery_pki::LogKey;
use data_encoding::BASE64;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What is said of a log, wherever it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLog {
    pub name: String,
    pub operator: String,
    pub url: String,
    /// A DER SubjectPublicKeyInfo.
    pub key: Vec<u8>,
    /// It takes certificates that end from then on.
    pub from: Option<Timestamp>,
    /// It takes certificates that end before then.
    pub until: Option<Timestamp>,
}

/// What is in a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ListedLogs {
    pub made_at: Option<Timestamp>,
    /// Those that are usable: browsers count no others.
    pub usable: Vec<WrittenLog>,
    /// How many others there are.
    pub unusable: usize,
    /// Those that would be, if we could make sense of them, and why we cannot.
    pub odd: Vec<String>,
}

#[derive(Deserialize)]
struct LogList {
    log_list_timestamp: Option<String>,
    operators: Vec<Operator>,
}

#[derive(Deserialize)]
struct Operator {
    name: String,
    #[serde(default)]
    logs: Vec<Log>,
    #[serde(default)]
    tiled_logs: Vec<Log>,
}

#[derive(Deserialize)]
struct Log {
    description: Option<String>,
    log_id: Option<String>,
    key: String,
    #[serde(alias = "submission_url")]
    url: String,
    #[serde(default)]
    state: State,
    log_type: Option<String>,
    temporal_interval: Option<Interval>,
}

#[derive(Default, Deserialize)]
struct State {
    usable: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Interval {
    start_inclusive: String,
    end_exclusive: String,
}

pub fn read(text: &[u8]) -> Result<ListedLogs, String> {
    let list: LogList =
        serde_json::from_slice(text).map_err(|error| format!("is not a log list as browsers publish them: {error}"))?;
    let made_at = list.log_list_timestamp.as_deref().and_then(Timestamp::parse);
    let mut listed = ListedLogs { made_at, ..ListedLogs::default() };
    for Operator { name, logs, tiled_logs } in list.operators {
        for log in logs.into_iter().chain(tiled_logs) {
            if !log.is_usable() {
                listed.unusable += 1;
                continue;
            }
            let called = log.called();
            match log.written(&name) {
                Ok(log) => listed.usable.push(log),
                Err(why) => listed.odd.push(format!("{called}: {why}")),
            }
        }
    }
    Ok(listed)
}

impl Log {
    /// Logs for tests promise what nobody counts.
    fn is_usable(&self) -> bool {
        self.state.usable.is_some() && self.log_type.as_deref().is_none_or(|kind| kind == "prod")
    }

    fn called(&self) -> String {
        let name = self.description.as_deref().unwrap_or(&self.url);
        name.chars().filter(|letter| !letter.is_control()).take(100).collect()
    }

    fn written(self, operator: &str) -> Result<WrittenLog, String> {
        let (name, key) = (self.called(), read_key(&self.key)?);
        let id = LogKey::from_spki(&key).map(|key| key.id().to_string()).ok();
        if id.zip(self.log_id).is_some_and(|(of_key, written)| of_key != written) {
            return Err("its id is not that of its key".to_owned());
        }
        let (from, until) = match self.temporal_interval {
            Some(interval) => (Some(read_time(&interval.start_inclusive)?), Some(read_time(&interval.end_exclusive)?)),
            None => (None, None),
        };
        Ok(WrittenLog { name, operator: operator.to_owned(), url: self.url, key, from, until })
    }
}

/// A key in base64.
pub fn read_key(text: &str) -> Result<Vec<u8>, String> {
    BASE64.decode(text.as_bytes()).map_err(|_| "the key is not base64".to_owned())
}

pub fn read_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| format!("must be a time such as 2027-01-01T00:00:00Z, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{
        "version": "70.1", "log_list_timestamp": "2026-11-01T00:00:00Z",
        "operators": [
            {"name": "North", "email": ["ct@north.example"], "logs": [
                {"description": "North 2027", "log_id": "AAAA", "key": "AQID", "url": "https://ct.north.example/2027/",
                 "mmd": 86400, "state": {"usable": {"timestamp": "2026-01-01T00:00:00Z"}},
                 "temporal_interval": {"start_inclusive": "2027-01-01T00:00:00Z", "end_exclusive": "2028-01-01T00:00:00Z"}},
                {"description": "North 2020", "key": "AQID", "url": "https://ct.north.example/2020/",
                 "state": {"retired": {"timestamp": "2021-01-01T00:00:00Z"}}},
                {"description": "North new", "key": "AQID", "url": "https://ct.north.example/new/",
                 "state": {"pending": {"timestamp": "2026-11-01T00:00:00Z"}}},
                {"description": "North test", "key": "AQID", "url": "https://ct.north.example/test/",
                 "state": {"usable": {"timestamp": "2026-01-01T00:00:00Z"}}, "log_type": "test"},
                {"description": "North nothing", "key": "AQID", "url": "https://ct.north.example/x/"}
            ], "tiled_logs": []},
            {"name": "South", "email": [], "tiled_logs": [
                {"description": "South tiled", "key": "BAUG", "submission_url": "https://ct.south.example/",
                 "monitoring_url": "https://mon.south.example/", "state": {"usable": {"timestamp": "2026-01-01T00:00:00Z"}}}
            ]}
        ]
    }"#;

    #[test]
    fn usable_logs_of_both_kinds_are_taken_and_no_others() {
        let ListedLogs { made_at, usable: logs, unusable, odd } = read(LIST.as_bytes()).unwrap();
        assert_eq!((made_at, unusable, odd), (Timestamp::parse("2026-11-01T00:00:00Z"), 4, vec![]));
        let new_year = |year: u32| Timestamp::parse(&format!("{year}-01-01T00:00:00Z"));
        assert_eq!(
            logs,
            [
                WrittenLog {
                    name: "North 2027".to_owned(),
                    operator: "North".to_owned(),
                    url: "https://ct.north.example/2027/".to_owned(),
                    key: vec![1, 2, 3],
                    from: new_year(2027),
                    until: new_year(2028),
                },
                WrittenLog {
                    name: "South tiled".to_owned(),
                    operator: "South".to_owned(),
                    url: "https://ct.south.example/".to_owned(),
                    key: vec![4, 5, 6],
                    from: None,
                    until: None,
                },
            ]
        );
    }

    #[test]
    fn what_is_no_list_says_so_and_odd_entries_keep_no_other_from_being_used() {
        let said = |text: &str| read(text.as_bytes()).unwrap_err();
        assert!(said("").starts_with("is not a log list as browsers publish them"), "{}", said(""));
        assert!(said(r#"{"logs": []}"#).contains("missing field `operators`"));
        let odd = |text: String| {
            let listed = read(text.as_bytes()).unwrap();
            assert_eq!(listed.usable.len(), 1);
            listed.odd
        };
        assert_eq!(odd(LIST.replace("BAUG", "B")), ["South tiled: the key is not base64"]);
        let odd = odd(LIST.replace("2028-01-01T00:00:00Z", "2028"));
        assert_eq!(odd, ["North 2027: must be a time such as 2027-01-01T00:00:00Z, not \"2028\""]);
    }
}
