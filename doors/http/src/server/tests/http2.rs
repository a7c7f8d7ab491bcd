//! HTTP/2, frame by frame where a well-behaved client would not do.

use chancery_overload::RequestPermit;

use super::*;
use crate::ApiError;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:method GET`, `:scheme http`, `:path /`, `:authority x`, as HPACK (RFC 7541).
const GET_ROOT: &[u8] = &[0x82, 0x86, 0x84, 0x41, 1, b'x'];

/// RFC 9113, section 4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The kinds of the frames in what was received.
fn kinds(mut bytes: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while bytes.len() >= 9 {
        kinds.push(bytes[3]);
        let length = usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]);
        bytes = bytes.get(9 + length..).unwrap_or_default();
    }
    kinds
}

fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

#[tokio::test]
async fn requests_are_answered_over_http2() {
    let server = Running::plain(Limits::default()).await;
    let io = hyper_util::rt::TokioIo::new(server.connect().await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(hyper_util::rt::TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = || http::Request::builder().uri("http://x/peer").body(axum::body::Body::empty()).unwrap();
    let (first, second) = (sender.send_request(request()), sender.send_request(request()));
    let (first, second) = within(async { tokio::join!(first, second) }).await;
    assert_eq!((first.unwrap().status(), second.unwrap().status()), (http::StatusCode::OK, http::StatusCode::OK));
}

#[tokio::test]
async fn a_client_that_resets_all_it_begins_is_sent_away() {
    let server = Running::plain(Limits::default()).await;
    let mut stream = server.connect().await;
    let mut bytes = opening();
    for number in 0..1000_u32 {
        bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, GET_ROOT));
        bytes.extend(frame(RST_STREAM, 0, 2 * number + 1, &8_u32.to_be_bytes()));
    }
    let _ = stream.write_all(&bytes).await;
    let received = closed(&mut stream).await;
    assert!(kinds(&received).contains(&GOAWAY), "{:?}", kinds(&received));
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let limits = Limits { header_read: SMALL, idle: GENEROUS * 2, linger: SMALL, ..Limits::default() };
    let server = Running::plain(limits).await;
    let mut stream = server.connect().await;
    stream.write_all(&opening()).await.unwrap();
    // No END_HEADERS: a CONTINUATION frame is to follow, and none does.
    stream.write_all(&frame(HEADERS, END_STREAM, 1, GET_ROOT)).await.unwrap();
    assert!(!kinds(&closed(&mut stream).await).contains(&HEADERS));
}

#[tokio::test]
async fn an_idle_connection_is_told_to_go() {
    let limits =
        Limits { header_read: 2 * SMALL, idle: SMALL, linger: SMALL, http2_ping_every: SMALL / 5, ..Limits::default() };
    let server = Running::plain(limits).await;
    let mut stream = server.connect().await;
    stream.write_all(&opening()).await.unwrap();
    stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, 1, GET_ROOT)).await.unwrap();
    let received = kinds(&closed(&mut stream).await);
    assert!(received.contains(&HEADERS) && received.contains(&GOAWAY), "{received:?}");
}

/// HTTP/2 SETTINGS_INITIAL_WINDOW_SIZE: so much of each answer may be sent before the client says that there is more room.
fn opening_with_window(bytes: u32) -> Vec<u8> {
    let mut setting = 4_u16.to_be_bytes().to_vec();
    setting.extend(bytes.to_be_bytes());
    [PREFACE, &frame(SETTINGS, 0, 0, &setting)].concat()
}

/// 8 MiB for one reseller.
async fn page(permit: Extension<Arc<RequestPermit>>) -> Result<Vec<u8>, ApiError> {
    permit.assign("rsl_01hzz8f1x7e6k9qw3n5v2c4b6d".parse().unwrap()).map_err(ApiError::overloaded)?;
    Ok(vec![b'x'; 8 * 1024 * 1024])
}

#[tokio::test]
async fn a_reseller_that_reads_no_response_gets_no_more_than_its_share_of_bytes() {
    let router = Router::new().route("/", get(page));
    let router = finish(router, Edge::new(Arc::new(|| "fresh".into())).at_most(100));
    let limits = Limits { write_stall: 10 * GENEROUS, idle: 10 * GENEROUS, ..Limits::default() };
    let server = Running::start(Server::plain(router).limits(limits)).await;

    let mut held = server.connect().await;
    held.write_all(&opening_with_window(0)).await.unwrap();
    let mut received = Vec::new();
    let mut answers = 0;
    for number in 0..4 {
        held.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, GET_ROOT)).await.unwrap();
        within(async {
            while answers <= number {
                assert!(held.read_buf(&mut received).await.unwrap() > 0, "the connection ended");
                answers = kinds(&received).iter().filter(|kind| **kind == HEADERS).count() as u32;
            }
        })
        .await;
    }

    let mut other = server.connect().await;
    let refused = ask(&mut other, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("\"unsent-responses\""), "{refused}");
    drop(held);
    within(async { while !ask(&mut other, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.starts_with("HTTP/1.1 200 ") {} })
        .await;
}

#[tokio::test]
async fn answers_that_nobody_takes_are_not_kept_for_one_that_goes_on() {
    for window in [0, 1] {
        let limits = Limits {
            write_stall: 2 * SMALL,
            header_read: 2 * SMALL,
            linger: SMALL,
            idle: GENEROUS * 2,
            ..Limits::default()
        };
        let server = Running::plain(limits).await;
        let mut stream = server.connect().await;
        stream.write_all(&opening_with_window(window)).await.unwrap();
        // More is asked for all the while, by fewer requests than there may be at a time.
        let (mut reading, mut writing) = stream.split();
        let mut received = Vec::new();
        let asking = async {
            for number in 0..60 {
                let more = frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, GET_ROOT);
                if writing.write_all(&more).await.is_err() {
                    return;
                }
                tokio::time::sleep(SMALL / 2).await;
            }
            panic!("window {window}: all answers are kept");
        };
        within(async {
            tokio::select! {
                _ = reading.read_to_end(&mut received) => {}
                () = asking => {}
            }
        })
        .await;
        assert!(kinds(&received).contains(&HEADERS), "window {window}");
    }
}
