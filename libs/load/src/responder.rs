//! The customers' web server: answers http-01 for everybody.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The longest request that is read.
const MAX_REQUEST: usize = 16 * 1024;

/// Answers on one port of this machine, over both IP versions where it has both.
#[derive(Clone)]
pub struct Responder {
    port: u16,
    published: Arc<Mutex<HashMap<String, String>>>,
}

impl Responder {
    /// Answers on this port; 0 takes a free one. With `everywhere` other machines may ask, otherwise only this one.
    pub async fn start(port: u16, everywhere: bool) -> io::Result<Self> {
        let (four, six) = match everywhere {
            true => (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED),
            false => (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST),
        };
        // Where the unspecified IPv6 address takes IPv4 along, or there is no IPv6 at all, the other one is enough.
        let first = TcpListener::bind((six, port)).await;
        if let Err(error) = &first
            && error.kind() == io::ErrorKind::AddrInUse
        {
            return Err(io::Error::from(io::ErrorKind::AddrInUse));
        }
        let port = first.as_ref().ok().and_then(|listener| listener.local_addr().ok()).map_or(port, |at| at.port());
        let second = TcpListener::bind((four, port)).await;
        let mut responder = Self { port, published: Arc::default() };
        match (first, second) {
            (Err(_), Err(error)) => return Err(error),
            // Another program would be asked in our place.
            (Ok(_), Err(error)) if !everywhere => return Err(error),
            (first, second) => {
                for listener in [first, second].into_iter().flatten() {
                    responder.port = listener.local_addr()?.port();
                    tokio::spawn(responder.clone().listen(listener));
                }
            }
        }
        Ok(responder)
    }

    /// Where it answers.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers this token from now on.
    pub fn publish(&self, token: &str, key_authorization: &str) {
        self.published.lock().insert(token.to_owned(), key_authorization.to_owned());
    }

    /// Forgets this token.
    pub fn withdraw(&self, token: &str) {
        self.published.lock().remove(token);
    }

    async fn listen(self, listener: TcpListener) {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Too many files are open, or somebody hung up: the next one is to be answered all the same.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let responder = self.clone();
            tokio::spawn(async move { responder.answer(stream).await });
        }
    }

    /// One request a connection, which is what a validator makes.
    async fn answer(&self, mut stream: TcpStream) {
        let (mut request, mut part) = (Vec::new(), [0; 2048]);
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut part).await {
                Ok(0) | Err(_) => return,
                Ok(_) if request.len() > MAX_REQUEST => return,
                Ok(read) => request.extend_from_slice(&part[..read]),
            }
        }
        let text = String::from_utf8_lossy(&request);
        let token = text.split(' ').nth(1).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let body = self.published.lock().get(token).cloned();
        let (status, body) = body.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        // Whoever does not wait for the answer does not get it.
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}
