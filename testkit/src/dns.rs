//! A resolver on loopback that answers from a table, and fails the test on a question that the table does not expect.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{CAA, CNAME, SOA, TXT};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::BinDecodable;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

/// Speaks UDP and TCP on the same port. Follows aliases as a resolver does, and cuts over UDP what is too long.
///
/// A name that has any record, or was declared [`empty`](Self::empty), exists and has no others. Everything else is
/// unexpected: it is refused, and the test fails when this is dropped.
pub struct TestDns {
    address: SocketAddr,
    table: Arc<Mutex<Table>>,
    tasks: Vec<JoinHandle<()>>,
}

/// A question as it came in: the name in the case in which it was spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub name: String,
    pub kind: RecordType,
    pub tcp: bool,
}

/// Makes the bytes of an answer, or none to stay silent; the flag says whether it goes over TCP.
pub type Answering = dyn Fn(&Message, bool) -> Option<Vec<u8>> + Send + Sync;

#[derive(Default)]
struct Table {
    names: HashMap<Name, Vec<RData>>,
    absent: Vec<Name>,
    scripted: HashMap<(Name, RecordType), Arc<Answering>>,
    otherwise: Option<Arc<Answering>>,
    stops_at_aliases: bool,
    asked: Vec<Asked>,
    unexpected: Vec<Asked>,
}

impl TestDns {
    pub async fn start() -> Self {
        // UDP and TCP must get the same port: whoever has it already can only be in the way once.
        for _ in 0..20 {
            let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has ports");
            let address = tcp.local_addr().expect("it is bound");
            let Ok(udp) = UdpSocket::bind(address).await else { continue };
            let table = Arc::new(Mutex::new(Table::default()));
            let tasks = vec![
                tokio::spawn(serve_udp(udp, Arc::clone(&table))),
                tokio::spawn(serve_tcp(tcp, Arc::clone(&table))),
            ];
            return Self { address, table, tasks };
        }
        panic!("no port of loopback is free for both UDP and TCP");
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a record.
    pub fn record(&self, name: &str, data: RData) -> &Self {
        self.table().names.entry(parsed(name)).or_default().push(data);
        self
    }

    /// Takes all records of a name away; it is unexpected again.
    pub fn forget(&self, name: &str) -> &Self {
        self.table().names.remove(&parsed(name));
        self.table().absent.retain(|absent| *absent != parsed(name));
        self
    }

    pub fn address_of(&self, name: &str, address: impl Into<IpAddr>) -> &Self {
        match address.into() {
            IpAddr::V4(address) => self.record(name, RData::A(address.into())),
            IpAddr::V6(address) => self.record(name, RData::AAAA(address.into())),
        }
    }

    /// A TXT record of one string.
    pub fn txt(&self, name: &str, text: &str) -> &Self {
        self.txt_of(name, &[text])
    }

    /// A TXT record of several strings.
    pub fn txt_of(&self, name: &str, texts: &[&str]) -> &Self {
        self.record(name, RData::TXT(TXT::new(texts.iter().map(|text| (*text).to_owned()).collect())))
    }

    pub fn caa(&self, name: &str, flags: u8, tag: &str, value: &str) -> &Self {
        let mut record = CAA::new_issue(flags & 0x80 != 0, None, Vec::new());
        record.reserved_flags = flags & 0x7f;
        record.tag = tag.to_owned();
        record.value = value.as_bytes().to_vec();
        self.record(name, RData::CAA(record))
    }

    pub fn alias(&self, name: &str, target: &str) -> &Self {
        self.record(name, RData::CNAME(CNAME(parsed(target))))
    }

    /// The name exists, and has only what is added besides.
    pub fn empty(&self, name: &str) -> &Self {
        self.table().names.entry(parsed(name)).or_default();
        self
    }

    /// Neither the name nor any below it exists (NXDOMAIN), but for those that are added besides.
    pub fn absent(&self, name: &str) -> &Self {
        self.table().absent.push(parsed(name));
        self
    }

    /// Questions for this are answered with a code.
    pub fn fails(&self, name: &str, kind: RecordType, code: ResponseCode) -> &Self {
        self.script(name, kind, move |question, _| Some(encoded(&reply(question, code))))
    }

    /// Questions for this are not answered at all.
    pub fn silent(&self, name: &str, kind: RecordType) -> &Self {
        self.script(name, kind, |_, _| None)
    }

    /// Questions for this are answered with whatever the function makes.
    pub fn script(
        &self,
        name: &str,
        kind: RecordType,
        answer: impl Fn(&Message, bool) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> &Self {
        self.table().scripted.insert((parsed(name), kind), Arc::new(answer));
        self
    }

    /// Whatever has no script is answered with whatever the function makes; the table counts no more.
    pub fn script_all(&self, answer: impl Fn(&Message, bool) -> Option<Vec<u8>> + Send + Sync + 'static) -> &Self {
        self.table().otherwise = Some(Arc::new(answer));
        self
    }

    /// From now on gives an alias and not what it leads to, as servers do that are no resolvers.
    pub fn stop_at_aliases(&self) -> &Self {
        self.table().stops_at_aliases = true;
        self
    }

    /// All questions so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.table().asked.clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no test panics while it holds it")
    }
}

impl Drop for TestDns {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        let unexpected = std::mem::take(&mut self.table().unexpected);
        if !unexpected.is_empty() && !thread::panicking() {
            panic!("questions that the test did not expect: {unexpected:?}");
        }
    }
}

/// An answer to a question that holds nothing yet.
pub fn reply(question: &Message, code: ResponseCode) -> Message {
    let mut answer = Message::response(question.metadata.id, OpCode::Query);
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.metadata.recursion_available = true;
    answer.metadata.response_code = code;
    answer.add_queries(question.queries.iter().cloned());
    answer
}

/// A message as it is sent.
pub fn encoded(message: &Message) -> Vec<u8> {
    message.to_vec().expect("what tests answer fits into a message")
}

async fn serve_udp(socket: UdpSocket, table: Arc<Mutex<Table>>) {
    let socket = Arc::new(socket);
    let mut buffer = [0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        if let Some(answer) = answer(&buffer[..length], false, &table) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, table: Arc<Mutex<Table>>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer_tcp(stream, Arc::clone(&table)));
    }
}

async fn answer_tcp(mut stream: TcpStream, table: Arc<Mutex<Table>>) {
    while let Ok(length) = stream.read_u16().await {
        let mut question = vec![0; length.into()];
        if stream.read_exact(&mut question).await.is_err() {
            return;
        }
        if let Some(answer) = answer(&question, true, &table) {
            let length = u16::try_from(answer.len()).expect("an answer fits into a TCP message");
            let _ = stream.write_all(&[&length.to_be_bytes(), &*answer].concat()).await;
        }
    }
}

fn answer(bytes: &[u8], tcp: bool, table: &Mutex<Table>) -> Option<Vec<u8>> {
    let question = Message::from_bytes(bytes).ok()?;
    let query = question.queries.first()?.clone();
    let asked = Asked { name: query.name.to_ascii(), kind: query.query_type, tcp };
    let mut table = table.lock().expect("no test panics while it holds it");
    table.asked.push(asked.clone());
    let script = table.scripted.get(&(query.name.clone(), query.query_type)).or(table.otherwise.as_ref());
    if let Some(script) = script.cloned() {
        drop(table);
        return script(&question, tcp);
    }
    let Some(answer) = table.answer(&question, &query.name, query.query_type) else {
        table.unexpected.push(asked);
        return Some(encoded(&reply(&question, ResponseCode::Refused)));
    };
    let bytes = encoded(&answer);
    if !tcp && bytes.len() > usize::from(question.max_payload()) {
        let mut cut = reply(&question, ResponseCode::NoError);
        cut.metadata.truncation = true;
        return Some(encoded(&cut));
    }
    Some(bytes)
}

impl Table {
    /// What a resolver would say; none if the test says nothing of the name.
    fn answer(&self, question: &Message, name: &Name, kind: RecordType) -> Option<Message> {
        let mut answer = reply(question, ResponseCode::NoError);
        let mut name = name.clone();
        // Aliases in a circle are given once around and once more, and then it is enough.
        for _ in 0..16 {
            let Some(records) = self.names.get(&name) else {
                self.absent.iter().find(|absent| absent.zone_of(&name))?;
                answer.metadata.response_code = ResponseCode::NXDomain;
                break;
            };
            let is_alias = |data: &&RData| data.record_type() == RecordType::CNAME;
            let here: Vec<_> = records.iter().filter(|data| data.record_type() == kind || is_alias(data)).collect();
            answer.add_answers(here.iter().map(|data| Record::from_rdata(name.clone(), 60, (*data).clone())));
            match here.first() {
                Some(RData::CNAME(target)) if kind != RecordType::CNAME => {
                    if self.stops_at_aliases {
                        return Some(answer);
                    }
                    name = target.0.clone();
                }
                Some(_) => return Some(answer),
                None => break,
            }
        }
        let soa = SOA::new(parsed("ns.invalid"), parsed("nobody.invalid"), 1, 60, 60, 60, 60);
        answer.add_authority(Record::from_rdata(Name::root(), 60, RData::SOA(soa)));
        Some(answer)
    }
}

fn parsed(name: &str) -> Name {
    let mut name = Name::from_ascii(name).expect("tests use real names");
    name.set_fqdn(true);
    name
}
