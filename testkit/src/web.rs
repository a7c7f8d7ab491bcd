//! A web server on loopback that gives what the test says, and remembers what it was asked.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::der::{HandMade, alt_names, dns_name};

/// Paths that were not given are not found. It closes after each answer.
pub struct TestWeb {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    task: JoinHandle<()>,
}

/// A request as it came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    pub method: String,
    pub target: String,
    pub host: Option<String>,
    pub user_agent: Option<String>,
}

#[derive(Default)]
struct Shared {
    pages: HashMap<String, Page>,
    requests: Vec<Requested>,
    connections: usize,
}

#[derive(Clone)]
enum Page {
    Bytes(Vec<u8>),
    /// Takes the request and never answers.
    Silence,
}

impl TestWeb {
    /// Plain HTTP; port 0 takes any that is free.
    pub async fn http(address: impl Into<SocketAddr>) -> Self {
        Self::start(address.into(), None).await
    }

    /// HTTPS with a certificate that nobody vouches for, for a name that nobody asks for.
    pub async fn https(address: impl Into<SocketAddr>) -> Self {
        let (certificate, key) = HandMade::new(vec![alt_names(&[dns_name("unrelated.invalid")])]).make();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows them")
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(certificate)], PrivatePkcs8KeyDer::from(key).into())
            .expect("the key is that of the certificate");
        Self::start(address.into(), Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn start(address: SocketAddr, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind(address).await.expect("loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let task = tokio::spawn(accept(listener, tls, Arc::clone(&shared)));
        Self { address, shared, task }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Gives a page with status 200.
    pub fn page(&self, target: &str, body: impl AsRef<[u8]>) -> &Self {
        self.answer(target, 200, &[], body)
    }

    /// Gives a redirect.
    pub fn redirect(&self, target: &str, status: u16, location: &str) -> &Self {
        self.answer(target, status, &[("location", location)], "")
    }

    pub fn answer(&self, target: &str, status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> &Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status} Test\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(target, &[head.as_bytes(), b"\r\n", body].concat())
    }

    /// Gives these bytes, whatever they are.
    pub fn raw(&self, target: &str, bytes: &[u8]) -> &Self {
        self.shared().pages.insert(target.to_owned(), Page::Bytes(bytes.to_vec()));
        self
    }

    /// Takes requests for this and never answers.
    pub fn silent(&self, target: &str) -> &Self {
        self.shared().pages.insert(target.to_owned(), Page::Silence);
        self
    }

    pub fn requests(&self) -> Vec<Requested> {
        self.shared().requests.clone()
    }

    /// How many connections were taken.
    pub fn connections(&self) -> usize {
        self.shared().connections
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no test panics while it holds it")
    }
}

impl Drop for TestWeb {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Mutex<Shared>>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.lock().expect("no test panics while it holds it").connections += 1;
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        // A client that goes away is no concern of ours.
        tokio::spawn(async move {
            let _ = secure(stream, tls, shared).await;
        });
    }
}

async fn secure(stream: TcpStream, tls: Option<TlsAcceptor>, shared: Arc<Mutex<Shared>>) -> io::Result<()> {
    match tls {
        Some(tls) => serve(tls.accept(stream).await?, shared).await,
        None => serve(stream, shared).await,
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Mutex<Shared>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let request = parse(&String::from_utf8_lossy(&head));
    let page = {
        let mut shared = shared.lock().expect("no test panics while it holds it");
        shared.requests.push(request.clone());
        shared.pages.get(&request.target).cloned()
    };
    match page {
        Some(Page::Bytes(bytes)) => stream.write_all(&bytes).await?,
        Some(Page::Silence) => std::future::pending().await,
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?,
    }
    stream.shutdown().await
}

fn parse(head: &str) -> Requested {
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let mut request = Requested {
        method: first.next().unwrap_or_default(),
        target: first.next().unwrap_or_default(),
        ..Requested::default()
    };
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        match name.to_ascii_lowercase().as_str() {
            "host" => request.host = Some(value.to_owned()),
            "user-agent" => request.user_agent = Some(value.to_owned()),
            _ => {}
        }
    }
    request
}
