//! Where a PostgreSQL database is and how to get in, as a URL says it; the words are those of libpq.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;

/// Where servers listen unless it is said otherwise.
const PORT: u16 = 5432;
/// The longest that a server may take to let us in.
const MOST_PATIENCE: Duration = Duration::from_secs(3600);

/// The address of a PostgreSQL database.
#[derive(Clone, Default)]
pub struct PostgresAddress {
    servers: Vec<Server>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Vec<u8>>,
    pub(super) database: Option<String>,
    /// Settings for the server.
    pub(super) options: Option<String>,
    pub(super) tls: Wanted,
    /// Whether TLS begins at once, without the server being asked whether it has any.
    pub(super) tls_at_once: bool,
    /// Whether a password has to be bound to the TLS connection.
    pub(super) binding: Wanted,
    /// How long one server may take to let us in.
    pub(super) patience: Option<Duration>,
    /// Whether it does not matter which server is tried first.
    pub(super) any_first: bool,
}

/// How much something is wanted that not every server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wanted {
    No,
    #[default]
    IfThere,
    Yes,
}

impl Wanted {
    fn read(word: &str) -> Option<Self> {
        match word {
            "disable" => Some(Self::No),
            "prefer" => Some(Self::IfThere),
            "require" => Some(Self::Yes),
            _ => None,
        }
    }
}

/// One of the servers, of which one can be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name, which its certificate has to have.
    pub name: Option<String>,
    /// Its address, where it is not to be looked up by its name.
    pub address: Option<IpAddr>,
    /// The folder of its socket, for one on this machine.
    pub folder: Option<PathBuf>,
    pub port: u16,
}

impl PostgresAddress {
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Whether nothing is said to a server without TLS.
    pub fn requires_tls(&self) -> bool {
        self.tls == Wanted::Yes
    }

    fn set(&mut self, listed: &mut Listed, key: &str, value: String) -> Result<(), String> {
        let unknown = || format!("{key} has a value that is not known");
        match key {
            "user" => self.user = Some(value),
            "password" => self.password = Some(value.into_bytes()),
            "dbname" => self.database = Some(value),
            "options" => self.options = Some(value),
            "host" => listed.hosts.extend(value.split(',').map(str::to_owned)),
            "hostaddr" => {
                for address in value.split(',') {
                    listed.addresses.push(address.parse().map_err(|_| unknown())?);
                }
            }
            "port" => {
                for port in value.split(',') {
                    listed.ports.push(read_port(port).ok_or_else(unknown)?);
                }
            }
            "sslmode" => {
                // It is always verified, so the stricter words mean what `require` does.
                let stricter = matches!(&*value, "verify-ca" | "verify-full");
                self.tls = Wanted::read(if stricter { "require" } else { &value }).ok_or_else(unknown)?;
            }
            "sslnegotiation" => {
                self.tls_at_once = match &*value {
                    "postgres" => false,
                    "direct" => true,
                    _ => return Err(unknown()),
                }
            }
            "channel_binding" => self.binding = Wanted::read(&value).ok_or_else(unknown)?,
            "load_balance_hosts" => {
                self.any_first = match &*value {
                    "disable" => false,
                    "random" => true,
                    _ => return Err(unknown()),
                }
            }
            "connect_timeout" => {
                let seconds: i64 = value.parse().map_err(|_| unknown())?;
                let limited = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
                self.patience = limited.map(|seconds| Duration::from_secs(seconds).min(MOST_PATIENCE));
            }
            // Connections are kept alive, have our name and lead to a server that can be written to, whatever is said.
            "application_name"
            | "target_session_attrs"
            | "keepalives"
            | "keepalives_idle"
            | "keepalives_interval"
            | "keepalives_retries"
            | "tcp_user_timeout" => {}
            // A password that was not encoded may have led here: it is not repeated.
            _ if key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') => {
                return Err(format!("{key} is not known"));
            }
            _ => return Err("something after ? is not known".to_owned()),
        }
        Ok(())
    }
}

/// What is said of servers, one after the other.
#[derive(Default)]
struct Listed {
    hosts: Vec<String>,
    addresses: Vec<IpAddr>,
    ports: Vec<u16>,
}

impl Listed {
    fn servers(self) -> Result<Vec<Server>, String> {
        let count = self.hosts.len().max(self.addresses.len());
        if count == 0 {
            return Err("it names no host".to_owned());
        }
        let even = |length: usize| length == 0 || length == count;
        if !even(self.hosts.len()) || !even(self.addresses.len()) || !(even(self.ports.len()) || self.ports.len() == 1)
        {
            return Err("there are not as many hosts as addresses or ports".to_owned());
        }
        let server = |place: usize| {
            let host = self.hosts.get(place).cloned().filter(|host| !host.is_empty());
            let is_folder = host.as_ref().is_some_and(|host| host.starts_with('/'));
            let (folder, name) = if is_folder { (host.map(PathBuf::from), None) } else { (None, host) };
            let port = self.ports.get(place).or(self.ports.first()).copied().unwrap_or(PORT);
            let server = Server { name, address: self.addresses.get(place).copied(), folder, port };
            match &server {
                Server { name: None, address: None, folder: None, .. } => Err("a host has no name".to_owned()),
                _ => Ok(server),
            }
        };
        (0..count).map(server).collect()
    }
}

impl FromStr for PostgresAddress {
    type Err = String;

    /// Reads a URL. What is said of a wrong one never has the password in it.
    fn from_str(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or("it does not begin with postgres://")?;
        // A password may have slashes and question marks in it, as it comes: whoever there is, is there up to the first `@`.
        let (who, rest) = match rest.split_once('@') {
            Some((who, rest)) if who.find(['/', '?']).is_none_or(|end| who[..end].contains(':')) => (who, rest),
            _ => ("", rest),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (mut address, mut listed) = (Self::default(), Listed::default());
        if !who.is_empty() {
            let (user, password) = who.split_once(':').map_or((who, None), |(user, password)| (user, Some(password)));
            address.user = Some(decode(user)?);
            address.password = password.map(|password| percent_decode_str(password).collect());
        }
        for host in hosts.split(',').filter(|_| !hosts.is_empty()) {
            let (host, port) = split_host(host).ok_or("a host is not like name:5432")?;
            listed.hosts.push(decode(host)?);
            listed.ports.push(port);
        }
        if !database.is_empty() {
            address.database = Some(decode(database)?);
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or("what comes after ? is not like sslmode=require&…")?;
            let (key, value) = (decode(key)?, decode(value)?);
            address.set(&mut listed, &key, value)?;
        }
        address.servers = listed.servers()?;
        Ok(address)
    }
}

fn split_host(host: &str) -> Option<(&str, u16)> {
    // An IPv6 address has colons of its own, and brackets around it.
    let (name, port) = match host.strip_prefix('[').map(|inner| inner.split_once(']')) {
        Some(closed) => {
            let (name, port) = closed?;
            (name, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    if name.contains('@') {
        return None;
    }
    Some((name, port.map_or(Some(PORT), read_port)?))
}

fn read_port(port: &str) -> Option<u16> {
    if port.is_empty() { Some(PORT) } else { port.parse().ok() }
}

fn decode(text: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| "it is not UTF-8".to_owned())?;
    if text.contains('\0') { Err("it has a zero byte".to_owned()) } else { Ok(text.into_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> PostgresAddress {
        url.parse().unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    fn named(name: &str, port: u16) -> Server {
        Server { name: Some(name.to_owned()), address: None, folder: None, port }
    }

    #[test]
    fn a_whole_one_is_taken_apart() {
        let all = read(
            "postgresql://me%40here:p%3A%2F%3F@db1:6000,[::1],db2/the%20ca?sslmode=verify-full&channel_binding=require\
             &connect_timeout=7&load_balance_hosts=random&options=-c%20work_mem%3D8MB&sslnegotiation=direct&keepalives=0",
        );
        assert_eq!(all.servers(), [named("db1", 6000), named("::1", 5432), named("db2", 5432)]);
        let said = [&all.user, &all.database, &all.options].map(|text| text.as_deref().unwrap());
        assert_eq!(said, ["me@here", "the ca", "-c work_mem=8MB"]);
        assert_eq!(all.password.as_deref(), Some(b"p:/?".as_slice()));
        assert!(all.requires_tls() && all.tls_at_once && all.any_first && all.has_password());
        assert_eq!((all.binding, all.patience), (Wanted::Yes, Some(Duration::from_secs(7))));
    }

    #[test]
    fn little_will_do() {
        let plain = read("postgres://db");
        assert_eq!(plain.servers(), [named("db", 5432)]);
        assert_eq!((&plain.user, plain.database(), plain.tls, plain.patience), (&None, None, Wanted::IfThere, None));
        assert_eq!(read("postgres://u:@db/ca").password.as_deref(), Some(b"".as_slice()));
        let patience = |seconds: &str| read(&format!("postgres://db?connect_timeout={seconds}")).patience;
        assert_eq!([patience("0"), patience("-1")], [None, None]);
        assert_eq!(patience("9999999999999"), Some(MOST_PATIENCE));
        assert_eq!(read("postgres://u@db:/ca").servers(), [named("db", 5432)]);
    }

    #[test]
    fn stricter_words_for_tls_require_it() {
        let tls = |mode: &str| read(&format!("postgres://u@db/ca?sslmode={mode}")).tls;
        assert_eq!(["require", "verify-ca", "verify-full"].map(tls), [Wanted::Yes; 3]);
        assert_eq!(["disable", "prefer"].map(tls), [Wanted::No, Wanted::IfThere]);
    }

    #[test]
    fn a_password_may_come_as_it_is() {
        for password in ["aB/c?d=", "12/x", "5?x", "a:b", "%c3%28"] {
            let address = read(&format!("postgres://me:{password}@db:6000/ca?sslmode=require"));
            assert_eq!(address.password.unwrap(), percent_decode_str(password).collect::<Vec<_>>());
            assert_eq!((address.servers[0].clone(), address.database.as_deref()), (named("db", 6000), Some("ca")));
        }
        for url in
            ["postgres:///ca?host=/run&user=me@here", "postgres://db/ca?user=me@here", "postgres://db?user=me@here"]
        {
            assert_eq!(read(url).user.as_deref(), Some("me@here"), "{url}");
        }
    }

    #[test]
    fn servers_can_be_listed_after_the_question_mark() {
        let by_socket = read("postgres:///ca?host=/run/postgresql&port=6000&user=me&sslmode=require");
        let folder = Some(PathBuf::from("/run/postgresql"));
        assert_eq!(by_socket.servers(), [Server { name: None, address: None, folder: folder.clone(), port: 6000 }]);
        assert_eq!(read("postgres://me@%2Frun%2Fpostgresql/ca").servers()[0].folder, folder);
        let both = read("postgres:///ca?host=a,b&hostaddr=10.0.0.1,::2&port=7000");
        let [a, b] = both.servers() else { panic!("{:?}", both.servers()) };
        assert_eq!((a.name.as_deref(), a.address, a.port), (Some("a"), "10.0.0.1".parse().ok(), 7000));
        assert_eq!((b.name.as_deref(), b.address, b.port), (Some("b"), "::2".parse().ok(), 7000));
        assert_eq!(read("postgres:///ca?hostaddr=10.0.0.5").servers()[0].name, None);
    }

    #[test]
    fn a_wrong_one_is_told_without_its_password() {
        for (url, why) in [
            ("mysql://me:hunter2@db", "begin with"),
            ("postgres://me:hunter2@db:port/ca", "name:5432"),
            ("postgres://me:hunter2@db:99999/ca", "name:5432"),
            ("postgres://me:hunter2@[::1/ca", "name:5432"),
            ("postgres://me:hunter2@[::1]x/ca", "name:5432"),
            ("postgres://me:hunter2@/ca", "no host"),
            ("postgres://me:hunter2@a,,b/ca", "no name"),
            ("postgres://me:hunter2@db/ca?sslmode=hunter2", "sslmode has"),
            ("postgres://me:pass@hunter2@db/ca", "name:5432"),
            ("postgres://me:pass@5?hunter2@db/ca?sslmode=require", "something after"),
            ("postgres://me:pass@db/ca?hunter2=x", "something after"),
            ("postgres://me:hunter2@db/ca?sslmod=require", "sslmod is not known"),
            ("postgres://me:hunter2@db/ca?sslmode", "sslmode=require"),
            ("postgres://me:hunter2@db/ca?port=1,2", "as many"),
            ("postgres://me:hunter2@a,b/ca?hostaddr=::1", "as many"),
            ("postgres://me:hunter2@db/ca?hostaddr=db", "hostaddr has"),
            ("postgres://me%ff:hunter2@db/ca", "UTF-8"),
            ("postgres://me%00:hunter2@db/ca", "zero byte"),
        ] {
            let said = url.parse::<PostgresAddress>().err().unwrap_or_else(|| panic!("{url} was taken"));
            assert!(said.contains(why) && !said.contains("hunter2"), "{url}: {said}");
        }
    }
}
