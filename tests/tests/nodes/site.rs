//! The customers' web server: answers http-01 for every name, and keeps a question waiting where a test says so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use chancery_testkit::dns::TestDns;
use hickory_proto::rr::{RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) port: u16,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    answers: HashMap<String, String>,
    held: HashMap<String, Held>,
}

/// A question that waits.
#[derive(Clone)]
pub(crate) struct Held {
    asked: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
    answer: String,
}

impl Site {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Self { port: listener.local_addr().unwrap().port(), shared: Arc::default() };
        let me = site.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(me.clone().answer(stream));
            }
        });
        site
    }

    pub(crate) fn publish(&self, token: &str, key_authorization: &str) {
        self.shared().answers.insert(token.to_owned(), key_authorization.to_owned());
    }

    /// The next question for this token waits, and is then answered with this; later ones are answered as usual.
    pub(crate) fn hold(&self, token: &str, answer: &str) -> Held {
        let none = || Arc::new(Semaphore::new(0));
        let held = Held { asked: none(), let_go: none(), answer: answer.to_owned() };
        self.shared().held.insert(token.to_owned(), held.clone());
        held
    }

    async fn answer(self, mut stream: TcpStream) {
        let (mut request, mut part) = (Vec::new(), [0; 2048]);
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut part).await {
                Ok(0) | Err(_) => return,
                Ok(read) => request.extend_from_slice(&part[..read]),
            }
        }
        let text = String::from_utf8_lossy(&request).into_owned();
        let token = text.split(' ').nth(1).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let held = self.shared().held.remove(token);
        let body = match held {
            Some(held) => {
                held.asked.add_permits(1);
                held.let_go.acquire().await.unwrap().forget();
                Some(held.answer)
            }
            None => self.shared().answers.get(token).cloned(),
        };
        let (status, body) = body.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }
}

impl Held {
    /// Waits until the question has come.
    pub(crate) async fn asked(&self) {
        self.asked.acquire().await.unwrap().forget();
    }

    pub(crate) fn let_go(&self) {
        self.let_go.add_permits(1);
    }
}

/// A resolver for which every name is at this machine, and has no other records.
pub(crate) async fn every_name_here() -> TestDns {
    let dns = TestDns::start().await;
    dns.script_all(|question, _| {
        let mut answer = chancery_testkit::dns::reply(question, hickory_proto::op::ResponseCode::NoError);
        let query = question.queries.first()?;
        if query.query_type == RecordType::A {
            let here = RData::A(std::net::Ipv4Addr::LOCALHOST.into());
            answer.add_answer(Record::from_rdata(query.name.clone(), 60, here));
        }
        Some(chancery_testkit::dns::encoded(&answer))
    });
    dns
}
