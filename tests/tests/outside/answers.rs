//! Where the hooks of ACME clients leave their answers to challenges, and where the server finds them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

use chancery_testkit::dns::{TestDns, encoded, reply};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{SOA, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A folder with `web/TOKEN`, served under `/.well-known/acme-challenge/`, and `txt/NAME`, a record a line.
///
/// A file that is there is there at once: no hook has to wait, and none has to speak a protocol.
pub(crate) struct Answers {
    folder: TempDir,
    dns: TestDns,
    _runtime: Runtime,
}

impl Answers {
    /// Serves pages on a port of loopback, and records on one of its own.
    pub(crate) fn serve(http_port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (web, txt) = (folder.path().join("web"), folder.path().join("txt"));
        fs::create_dir(&web).unwrap();
        fs::create_dir(&txt).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", http_port)).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let web = web.clone();
                thread::spawn(move || give_page(&stream, &web));
            }
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let dns = runtime.block_on(TestDns::start());
        dns.script_all(move |question, _| Some(encoded(&records(question, &txt))));
        Self { folder, dns, _runtime: runtime }
    }

    pub(crate) fn dns(&self) -> SocketAddr {
        self.dns.address()
    }

    /// For hooks, as `CHANCERY_ANSWERS`.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn web(&self) -> PathBuf {
        self.folder().join("web")
    }

    /// Whether the hooks have taken away what they left.
    pub(crate) fn are_cleared(&self) -> bool {
        ["web", "txt"].iter().all(|part| fs::read_dir(self.folder().join(part)).unwrap().next().is_none())
    }
}

/// The hook that a client is given: `tests/clients/NAME`.
pub(crate) fn hook(name: &str) -> String {
    format!("{}/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whoever goes away before the answer is no concern of ours.
fn give_page(stream: &TcpStream, web: &Path) -> Option<()> {
    let mut lines = BufReader::new(stream.take(10_000)).lines();
    let request = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let token = request.split(' ').nth(1)?.strip_prefix("/.well-known/acme-challenge/")?.replace('/', "");
    let (status, page) = match fs::read_to_string(web.join(token)) {
        Ok(page) => ("200 OK", page),
        Err(_) => ("404 Not Found", String::new()),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len()).ok()
}

/// No name has anything but what lies in its file.
fn records(question: &Message, folder: &Path) -> Message {
    let query = &question.queries[0];
    let file = folder.join(query.name.to_ascii().trim_end_matches('.').to_lowercase());
    let lines = match query.query_type {
        RecordType::TXT => fs::read_to_string(file).unwrap_or_default(),
        _ => String::new(),
    };
    let texts: Vec<_> = lines.lines().map(|line| RData::TXT(TXT::new(vec![line.to_owned()]))).collect();
    let code = if texts.is_empty() { ResponseCode::NXDomain } else { ResponseCode::NoError };
    let mut answer = reply(question, code);
    if texts.is_empty() {
        let nobody = Name::from_ascii("nobody.invalid.").unwrap();
        let soa = SOA::new(nobody.clone(), nobody, 1, 60, 60, 60, 60);
        answer.add_authority(Record::from_rdata(Name::root(), 60, RData::SOA(soa)));
    }
    answer.add_answers(texts.into_iter().map(|data| Record::from_rdata(query.name.clone(), 60, data)));
    answer
}
