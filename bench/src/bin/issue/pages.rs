//! The customers' web server: answers http-01 for everybody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is published, by token.
#[derive(Clone)]
pub(crate) struct Pages {
    port: u16,
    published: Arc<Mutex<HashMap<String, String>>>,
}

impl Pages {
    pub(crate) async fn serve() -> Self {
        // `dev` looks at ::1 first.
        let six = TcpListener::bind("[::1]:0").await.unwrap();
        let port = six.local_addr().unwrap().port();
        let four = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let pages = Self { port, published: Arc::default() };
        for listener in [six, four] {
            let pages = pages.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let pages = pages.clone();
                    tokio::spawn(async move { pages.answer(stream).await });
                }
            });
        }
        pages
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn publish(&self, token: &str, body: &str) {
        self.published.lock().unwrap().insert(token.to_owned(), body.to_owned());
    }

    pub(crate) fn withdraw(&self, token: &str) {
        self.published.lock().unwrap().remove(token);
    }

    /// One request a connection, which is what a validator makes.
    async fn answer(&self, mut stream: TcpStream) {
        let (mut request, mut part) = (Vec::new(), [0; 2048]);
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut part).await {
                Ok(0) | Err(_) => return,
                Ok(read) => request.extend_from_slice(&part[..read]),
            }
        }
        let text = String::from_utf8_lossy(&request);
        let token = text.split(' ').nth(1).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let body = self.published.lock().unwrap().get(token).cloned();
        let (status, body) = body.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        // Whoever does not wait for the answer does not get it.
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}
