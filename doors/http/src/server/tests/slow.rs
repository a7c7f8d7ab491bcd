//! Clients that take their time do not hold the server.

use super::*;

fn impatient() -> Limits {
    Limits { header_read: SMALL, idle: 4 * SMALL, write_stall: SMALL, linger: SMALL, ..Limits::default() }
}

/// Sends one byte at a time until the other side has had enough; gives what it answered.
async fn trickle(stream: &mut TcpStream, bytes: impl Iterator<Item = u8>) -> String {
    let (mut reader, mut writer) = stream.split();
    let mut answer = Vec::new();
    let write = async {
        for byte in bytes {
            if writer.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(SMALL / 10).await;
        }
        std::future::pending::<()>().await
    };
    within(async {
        tokio::select! {
            () = write => {}
            _ = reader.read_to_end(&mut answer) => {}
        }
    })
    .await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_head_that_trickles_in_is_cut_off() {
    let server = Running::plain(impatient()).await;
    let head = "GET /peer HTTP/1.1\r\nx: ".bytes().chain(std::iter::repeat(b'x'));
    assert_eq!(trickle(&mut server.connect().await, head).await, "");
}

#[tokio::test]
async fn a_second_head_that_trickles_in_is_cut_off() {
    let server = Running::plain(Limits { idle: GENEROUS * 2, ..impatient() }).await;
    let mut stream = server.connect().await;
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    let head = "GET /peer HTTP/1.1\r\nx: ".bytes().chain(std::iter::repeat(b'x'));
    assert_eq!(trickle(&mut stream, head).await, "");
}

#[tokio::test]
async fn silence_is_cut_off() {
    let server = Running::plain(Limits { idle: GENEROUS * 2, ..impatient() }).await;
    let mut silent = server.connect().await;
    // The beginning of an HTTP/2 preface, and of nothing else.
    let mut undecided = server.connect().await;
    undecided.write_all(b"PRI * HTTP").await.unwrap();
    assert!(closed(&mut silent).await.is_empty());
    assert!(closed(&mut undecided).await.is_empty());
}

#[tokio::test]
async fn a_body_that_trickles_in_is_answered_with_408() {
    let server = Running::plain(impatient()).await;
    let mut stream = server.connect().await;
    let head = "POST /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = trickle(&mut stream, std::iter::repeat(b' ')).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("request_timeout"), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = Running::plain(impatient()).await;
    let mut stream = server.connect().await;
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    assert!(closed(&mut stream).await.is_empty());
}

#[tokio::test]
async fn an_idle_connection_is_not_closed_for_want_of_a_head() {
    let server = Running::plain(Limits { idle: GENEROUS * 2, ..impatient() }).await;
    let mut stream = server.connect().await;
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    tokio::time::sleep(4 * SMALL).await;
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let endless = || async {
        let chunk = || Some((Ok::<_, io::Error>(bytes::Bytes::from(vec![b'x'; 64 * 1024])), ()));
        axum::body::Body::from_stream(futures_util::stream::unfold((), move |()| async move { chunk() }))
    };
    let router = Router::new().route("/endless", get(endless));
    let server = Running::start(Server::plain(router).limits(Limits { connections: 1, ..impatient() })).await;
    let mut deaf = server.connect().await;
    deaf.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    // The only place becomes free although the client has not gone.
    within(async {
        while !ask(&mut server.connect().await, "GET /none HTTP/1.1\r\nhost: x\r\n\r\n").await.contains("404") {
            tokio::time::sleep(SMALL).await;
        }
    })
    .await;
    drop(deaf);
}

#[tokio::test]
async fn a_client_that_reads_slowly_gets_all_of_a_long_answer() {
    const LENGTH: usize = 8 * 1024 * 1024;
    let router = Router::new().route("/long", get(|| async { vec![b'x'; LENGTH] }));
    // It takes longer than an idle connection is kept, and than a head may take.
    let limits = Limits { idle: 4 * SMALL, header_read: 4 * SMALL, write_stall: GENEROUS, ..Limits::default() };
    let server = Running::start(Server::plain(router).limits(limits)).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut slow = socket.connect(server.address).await.unwrap();
    slow.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let (mut read, mut buffer) = (0, vec![0; 1024 * 1024]);
    let began = tokio::time::Instant::now();
    within(async {
        while read < LENGTH {
            match slow.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
            if read < LENGTH / 2 {
                tokio::time::sleep(SMALL / 3).await;
            }
        }
    })
    .await;
    assert!(began.elapsed() > 10 * SMALL, "it was not slow");
    assert!(read >= LENGTH, "{read}");
}
