//! How it stops: what is in flight is finished, and nothing waits for ever.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::*;

/// Sends a request but for the last byte of its body.
fn half_a_request(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
    let head =
        "POST /oauth/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Waits until the server has taken requests up: it would not finish what it has not seen.
fn until_in_flight(serving: &mut Serving, count: u32) {
    let admin = serving.admin.clone();
    let line = format!("chancery_http_requests_in_flight {count}");
    serving.process.until("the request in flight", |_| get(&admin, "/metrics").body.contains(&line).then_some(()));
}

fn until_refused(serving: &mut Serving) {
    let api = serving.api.clone();
    serving.process.until("the listener to close", |_| TcpStream::connect(&api).is_err().then_some(()));
}

#[test]
fn a_signal_to_stop_lets_requests_in_flight_finish() {
    for signal in ["TERM", "INT"] {
        let configured = Configured::initialised("");
        let mut serving = configured.serve();
        let mut slow = half_a_request(&serving.api);
        until_in_flight(&mut serving, 1);
        serving.process.signal(signal);
        until_refused(&mut serving);
        let ready = get(&serving.admin, "/readyz");
        assert_eq!((ready.status, &ready.json()["checks"]["database"]), (503, &"ok".into()), "{ready:?}");
        slow.write_all(b"}").unwrap();
        assert_eq!(read_answer(&mut slow).status, 400);
        assert_eq!(serving.process.ended().code(), Some(0));
    }
}

#[test]
fn once_it_has_stopped_the_file_of_the_database_has_everything() {
    let configured = Configured::initialised("");
    let database = configured.folder.path().join("chancery.db");
    let copy = configured.folder.path().join("copy.db");
    let resellers = || {
        // By itself, as somebody has it who copies the one file.
        std::fs::copy(&database, &copy).unwrap();
        let connection = rusqlite::Connection::open(&copy).unwrap();
        connection.query_row("SELECT COUNT(*) FROM resellers", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(configured.run(&["reseller", "create", "--code", "ONE", "--name", "One"]).code, 0);
    assert_eq!(resellers(), 1, "a command by itself");
    let mut serving = configured.serve();
    assert_eq!(configured.run(&["reseller", "create", "--code", "TWO", "--name", "Two"]).code, 0);
    serving.process.signal("TERM");
    assert_eq!(serving.process.ended().code(), Some(0));
    assert_eq!(resellers(), 2);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let configured = Configured::initialised("");
    let mut serving = configured.serve();
    let _slow = half_a_request(&serving.api);
    until_in_flight(&mut serving, 1);
    serving.process.signal("TERM");
    until_refused(&mut serving);
    let began = Instant::now();
    serving.process.signal("TERM");
    assert_eq!(serving.process.ended().code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_does_not_finish_in_time_is_cut() {
    let configured = Configured::initialised("server.drain = '1s'");
    let mut serving = configured.serve();
    let _slow = half_a_request(&serving.api);
    until_in_flight(&mut serving, 1);
    serving.process.stop();
    assert!(serving.process.log().contains("cut connections"), "{}", serving.process.log());
}

#[test]
fn load_balancers_are_told_before_the_listener_closes() {
    let configured = Configured::initialised("server.shutdown_delay = '2s'");
    let mut serving = configured.serve();
    serving.process.signal("TERM");
    let admin = serving.admin.clone();
    serving.process.until("not ready", |_| (get(&admin, "/readyz").status == 503).then_some(()));
    assert_eq!(get(&serving.api, "/v1/account").status, 401);
    assert_eq!(serving.process.ended().code(), Some(0));
}

#[test]
fn refusals_are_in_the_audit_trail_before_it_ends() {
    let configured = Configured::initialised("");
    let mut serving = configured.serve();
    // Nothing can be written until the listener has closed, so that there is something to write then.
    let database = rusqlite::Connection::open(configured.folder.path().join("chancery.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..50 {
        assert_eq!(get(&serving.api, "/v1/account").status, 401);
    }
    serving.process.signal("TERM");
    until_refused(&mut serving);
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!(serving.process.ended().code(), Some(0));
    let audit = configured.run(&["audit", "--refused", "--json", "--limit", "1000"]).json();
    assert_eq!(audit.as_array().unwrap().len(), 50);
    assert_eq!(audit[0]["detail"]["status"], 401);
}
