//! What `/metrics` shows, and that pages, alerts and dashboards speak of nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::*;

/// A metric as it is listed or shown.
#[derive(Debug, Default, PartialEq, Eq)]
struct Metric {
    kind: String,
    labels: BTreeSet<String>,
    help: String,
}

fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(tree(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The table of docs/metrics.md.
fn documented() -> BTreeMap<String, Metric> {
    let page = text("docs/metrics.md");
    let rows = page.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        cells.into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let rows = rows.filter(|cells| cells.len() == 4 && ["gauge", "counter", "histogram"].contains(&cells[1].as_str()));
    let metric = |cells: Vec<String>| {
        let labels = cells[2].split_whitespace().map(|label| label.trim_matches('`').to_owned()).collect();
        let name = cells[0].trim_matches('`').to_owned();
        (name, Metric { kind: cells[1].clone(), labels, help: cells[3].clone() })
    };
    rows.map(metric).collect()
}

/// What a server shows.
fn shown(page: &str) -> BTreeMap<String, Metric> {
    let mut shown = BTreeMap::<String, Metric>::new();
    for line in page.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", "HELP", name, help] => shown.entry((*name).to_owned()).or_default().help = (*help).to_owned(),
            ["#", "TYPE", name, kind] => shown.entry((*name).to_owned()).or_default().kind = (*kind).to_owned(),
            _ => {}
        }
    }
    for line in page.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (name, labels) = line.split_once('{').map_or((line, ""), |(name, rest)| (name, rest));
        let name = name.split(' ').next().unwrap();
        let base = base(name, |base| shown.contains_key(base));
        let metric = shown.get_mut(&base).unwrap_or_else(|| panic!("no type: {line}"));
        let labels = labels.split("\",").filter_map(|label| label.split_once("=\"")).map(|(label, _)| label.to_owned());
        metric.labels.extend(labels.filter(|label| label != "le"));
    }
    shown
}

/// The histogram that a series belongs to, or the name itself.
fn base(name: &str, is_known: impl Fn(&str) -> bool) -> String {
    let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|suffix| name.strip_suffix(suffix));
    parts.into_iter().find(|base| is_known(base)).unwrap_or(name).to_owned()
}

/// What a `dev` does not have; `perspectives.rs` and `transparency.rs` see it.
const NOT_IN_DEV: [&str; 2] = ["chancery_perspective_answers_total", "chancery_log_answers_total"];

#[test]
fn the_page_lists_what_a_server_shows() {
    let place = folder();
    let dev = Dev::start_with(place.path(), &["--http01-port", &free_port().to_string()]);
    assert_eq!(run(&["demo", "--data-dir", &place.path().display().to_string()]).code, 0);
    let directory = format!("{}/acme/TLS-90d/directory", dev.value("acme_url"));
    let directory = curl(&["--cacert", dev.value("ca_bundle"), &directory]).json();
    let url = directory["newAccount"].as_str().unwrap();
    let refused = curl(&["--cacert", dev.value("ca_bundle"), "-X", "POST", "-d", "{}", url]);
    assert!((400..500).contains(&refused.status), "{refused:?}");
    let mut listed = documented();
    assert!(listed.len() > 30, "{listed:?}");
    NOT_IN_DEV.iter().for_each(|name| assert!(listed.remove(*name).is_some(), "{name}"));
    let admin = dev.value("admin_url").strip_prefix("http://").unwrap().to_owned();
    // Some are looked at every few seconds only.
    let began = Instant::now();
    let page = loop {
        let page = get(&admin, "/metrics").body;
        if shown(&page).len() >= listed.len() || began.elapsed() > Duration::from_secs(15) {
            break page;
        }
        sleep(Duration::from_millis(50));
    };
    for (name, metric) in shown(&page) {
        let on_page = listed.get(&name).unwrap_or_else(|| panic!("docs/metrics.md does not list {name}: {metric:?}"));
        assert_eq!(*on_page, metric, "docs/metrics.md says of {name} what is not so");
    }
    for name in listed.keys() {
        assert!(shown(&page).contains_key(name), "docs/metrics.md lists {name}, which is not there:\n{page}");
    }
    for line in [
        "chancery_database_up 1",
        r#"chancery_orders_ended_total{outcome="valid"} 1"#,
        r#"chancery_orders_ended_total{outcome="caa"} 0"#,
        r#"chancery_orders_created_total{via="reseller"} 1"#,
        r#"chancery_validations_total{method="http-01",outcome="valid"} 1"#,
        r#"chancery_validations_total{method="dns-01",outcome="dns"} 0"#,
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line} is not in\n{page}");
    }
    let issued = page.lines().filter(|line| line.starts_with("chancery_certificates_issued_total{profile="));
    assert_eq!(issued.filter(|line| line.ends_with(" 1")).count(), 1, "{page}");
    for foreign in ["hello.test", "ord_", "acc_", "rsl_", "DEMO"] {
        assert!(!page.contains(foreign), "{foreign} is in a label:\n{page}");
    }
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let prefixes = ["chancery_", "process_", "node_filesystem_"];
    words.filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix))).map(str::to_owned).collect()
}

/// The queries of the dashboard.
fn queries() -> Vec<String> {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("expr").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| collect(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    collect(&serde_json::from_str(&text("packaging/grafana/chancery.json")).unwrap(), &mut found);
    found
}

#[test]
fn alerts_and_dashboard_use_metrics_that_are_listed() {
    let page = text("docs/metrics.md");
    let listed: BTreeSet<_> =
        documented().into_keys().chain(named(&page).into_iter().filter(|name| name.starts_with("node_"))).collect();
    let dashboard = text("packaging/grafana/chancery.json");
    for (file, used) in [
        ("alerts.yml", named(&text("packaging/prometheus/alerts.yml"))),
        ("alerts_test.yml", named(&text("packaging/prometheus/alerts_test.yml"))),
        ("chancery.json", named(&dashboard)),
        ("docs/metrics.md", named(&page)),
        ("docs/operations.md", named(&text("docs/operations.md"))),
    ] {
        assert!(!used.is_empty(), "{file}");
        for name in used {
            let base = base(&name, |base| listed.contains(base));
            assert!(listed.contains(&base), "{file} speaks of {name}, which docs/metrics.md does not list");
        }
    }
    assert!(queries().len() > 30);
    let drawn: BTreeSet<_> =
        named(&queries().join(" ")).iter().map(|name| base(name, |it| listed.contains(it))).collect();
    let missing: Vec<_> = documented().into_keys().filter(|name| !drawn.contains(name)).collect();
    assert_eq!(missing, Vec::<String>::new(), "the dashboard does not show all there is");
}

#[test]
fn every_alert_is_tested_and_says_what_to_do() {
    let (alerts, tests) = (text("packaging/prometheus/alerts.yml"), text("packaging/prometheus/alerts_test.yml"));
    let each: Vec<_> = alerts.split("- alert: ").skip(1).collect();
    assert!(each.len() > 10);
    for alert in each {
        let name = alert.lines().next().unwrap();
        for part in ["expr: ", "severity: ", "summary: ", "action: "] {
            assert_eq!(alert.matches(part).count(), 1, "{name}: {part}");
        }
        assert!(tests.contains(name), "{name} is not tested");
    }
}

#[test]
fn promtool_agrees() {
    let promtool = |args: &[&str], place: &Path| Command::new("promtool").args(args).current_dir(place).output();
    let folder = folder();
    if promtool(&["--version"], folder.path()).is_err() {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "there is no promtool");
        eprintln!("skipped: there is no promtool (Debian: prometheus)");
        return;
    }
    let place = tree("packaging/prometheus");
    let said = |output: std::io::Result<std::process::Output>| {
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    };
    said(promtool(&["check", "rules", "alerts.yml"], &place));
    said(promtool(&["test", "rules", "alerts_test.yml"], &place));
    let plain = |query: &String| query.replace("$job", "x").replace("$instance", "x");
    let rules =
        queries().into_iter().enumerate().map(|(at, query)| json!({"record": format!("r{at}"), "expr": plain(&query)}));
    let rules = json!({"groups": [{"name": "dashboard", "rules": rules.collect::<Vec<_>>()}]});
    fs::write(folder.path().join("dashboard.yml"), rules.to_string()).unwrap();
    said(promtool(&["check", "rules", "dashboard.yml"], folder.path()));
}
