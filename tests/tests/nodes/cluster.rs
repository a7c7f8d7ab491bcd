//! Three `chancery serve` on one database behind nginx, which gives each request to the next of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use chancery_client::{Client, ClientCredentials};
use chancery_testkit::dns::TestDns;
use chancery_testkit::free_port;
use chancery_testkit::tokens::{self, Tokens};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{binary, get, program, signal};
use crate::site::{Site, every_name_here};

/// How long a node may take to start.
const START: Duration = Duration::from_secs(60);

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) base_url: String,
    pub(crate) http_url: String,
    pub(crate) site: Site,
    /// An EAB credential, as the reseller was shown it.
    pub(crate) credential: Value,
    client: Value,
    folder: TempDir,
    _balancer: Ended,
    _dns: TestDns,
}

/// A process that ends with this value.
struct Ended(Child);

pub(crate) struct Node {
    binary: PathBuf,
    config: PathBuf,
    log: PathBuf,
    pub(crate) api: String,
    pub(crate) http: String,
    pub(crate) admin: String,
    child: Option<Child>,
}

impl Cluster {
    /// Makes an installation on an empty database, and starts nodes; none where a program is missing.
    pub(crate) async fn start(database: &str, nodes: usize) -> Option<Self> {
        Self::begin(database, nodes, None, None).await
    }

    /// The same with the keys of its CAs in a token.
    pub(crate) async fn start_with_token(database: &str, nodes: usize) -> Option<Self> {
        Self::begin(database, nodes, None, Some("nodes")).await
    }

    /// The same on a database that is there already, with its key-encryption keys and a client of its reseller.
    pub(crate) async fn start_on(database: &str, nodes: usize, there: Option<(&Path, Value)>) -> Option<Self> {
        Self::begin(database, nodes, there, None).await
    }

    async fn begin(database: &str, nodes: usize, there: Option<(&Path, Value)>, token: Option<&str>) -> Option<Self> {
        let (binary, nginx) = (binary()?, program("nginx")?);
        let (folder, site, dns) = (tempfile::tempdir().unwrap(), Site::open().await, every_name_here().await);
        let (api, http) = (free_port(), free_port());
        let (base_url, http_url) = (format!("http://127.0.0.1:{api}"), format!("http://127.0.0.1:{http}"));
        let config = folder.path().join("chancery.toml");
        let token = match token {
            Some(label) => {
                Tokens::new(folder.path())?.make(label);
                Tokens::configuration(label)
            }
            None => String::new(),
        };
        let text = format!(
            "{token}server.base_url = '{base_url}'\nserver.http_url = '{http_url}'\ndatabase.url = '{database}'\n\
             limits.requests_per_second = 0\ndcv.resolvers = ['{}']\ndcv.dnssec = 'off'\n\
             dcv.allow_special_addresses = true\ndcv.http01_port = {}\nlog.format = 'json'\n",
            dns.address(),
            site.port
        );
        fs::write(&config, text).unwrap();
        let is_new = there.is_none();
        let client = match there {
            Some((keys, client)) => {
                fs::copy(keys, folder.path().join("kek.json")).unwrap();
                Command::new("chmod").arg("600").arg(folder.path().join("kek.json")).status().unwrap();
                client
            }
            None => {
                let command = |arguments: &[&str]| run(&binary, &config, arguments);
                command(&["init"]);
                command(&["reseller", "create", "--code", "DEMO", "--name", "Demo"]);
                serde_json::from_str(&command(&["client", "create", "--reseller", "DEMO", "--json"])).unwrap()
            }
        };
        let nodes: Vec<Node> = (0..nodes).map(|number| Node::new(&binary, &config, number)).collect();
        let balancer = balance(&nginx, folder.path(), &nodes, api, http);
        let mut cluster = Self {
            nodes,
            base_url,
            http_url,
            site,
            credential: Value::Null,
            client,
            folder,
            _balancer: balancer,
            _dns: dns,
        };
        cluster.nodes.iter_mut().for_each(Node::start);
        cluster.nodes.iter_mut().for_each(Node::wait_until_ready);
        if is_new {
            cluster.credential = cluster.new_customer("nodes@example.com").await;
        }
        Some(cluster)
    }

    /// The reseller, who has a token from whichever node.
    pub(crate) fn reseller(&self, url: &str) -> Client {
        let text = |name: &str| self.client[name].as_str().unwrap().to_owned();
        let credentials = ClientCredentials {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            audience: self.base_url.clone(),
            auth_url: self.base_url.clone(),
        };
        Client::builder(url).credentials(credentials).http1_only().build().unwrap()
    }

    /// A customer with a credential for ACME.
    pub(crate) async fn new_customer(&self, email: &str) -> Value {
        let request = chancery_client::RawRequest::new(http::Method::POST, "/v1/account");
        let answer = self.reseller(&self.base_url).raw(request.json(&json!({"customer_email": email}))).await.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json().unwrap()
    }

    /// The reseller's client, with its secret.
    pub(crate) fn client(&self) -> &Value {
        &self.client
    }

    pub(crate) fn directory(&self) -> String {
        format!("{}/acme/TLS-90d/directory", self.base_url)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether all nodes say that they are ready, or all that they are not.
    pub(crate) fn all_say(&self, status: u16) -> bool {
        self.nodes.iter().all(|node| node.readiness() == Some(status))
    }

    /// Waits until all nodes say so, and how long that took.
    pub(crate) async fn until_all_say(&self, status: u16, patience: Duration) -> Duration {
        let began = Instant::now();
        while !self.all_say(status) {
            assert!(began.elapsed() < patience, "/readyz is not {status} after {patience:?} on every node");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        began.elapsed()
    }
}

impl Node {
    fn new(binary: &Path, config: &Path, number: usize) -> Self {
        let address = || format!("127.0.0.1:{}", free_port());
        let log = config.with_file_name(format!("node-{number}.log"));
        let (binary, config) = (binary.to_owned(), config.to_owned());
        Self { binary, config, log, api: address(), http: address(), admin: address(), child: None }
    }

    /// From the next start on it is this program.
    pub(crate) fn becomes(&mut self, binary: &Path) {
        binary.clone_into(&mut self.binary);
    }

    pub(crate) fn start(&mut self) {
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let mut command = command(&self.binary, &self.config, &["serve"]);
        command
            .env("CHANCERY__SERVER__LISTEN", &self.api)
            .env("CHANCERY__SERVER__HTTP_LISTEN", &self.http)
            .env("CHANCERY__SERVER__ADMIN_LISTEN", &self.admin);
        self.child = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    }

    pub(crate) fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + START;
        while self.readiness() != Some(200) {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the node ended: {}", self.log());
            assert!(Instant::now() < deadline, "the node is not ready: {}", self.log());
            sleep(Duration::from_millis(50));
        }
    }

    /// Starts it where that must not succeed, and says what it said.
    pub(crate) fn is_refused(&mut self) -> String {
        self.start();
        let mut child = self.child.take().unwrap();
        let deadline = Instant::now() + START;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline || self.readiness() == Some(200) {
                let _ = (child.kill(), child.wait());
                panic!("the node runs: {}", self.log());
            }
            sleep(Duration::from_millis(50));
        }
        self.log()
    }

    /// SIGKILL: it has no time for anything.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// SIGTERM: it ends by itself.
    pub(crate) fn stop(&mut self) {
        self.signal("TERM");
        let ended = self.child.take().unwrap().wait().unwrap();
        assert!(ended.success(), "{ended}: {}", self.log());
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.as_ref().unwrap(), name);
    }

    /// One of the operator's commands, and what it says.
    pub(crate) fn operate(&self, arguments: &[&str]) -> String {
        run(&self.binary, &self.config, arguments)
    }

    /// What `/readyz` says, where it says anything.
    pub(crate) fn readiness(&self) -> Option<u16> {
        get(&self.admin, "/readyz").map(|(status, _)| status)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = (child.kill(), child.wait());
        }
        if std::thread::panicking() {
            let log = self.log();
            let warned: Vec<_> = log.lines().filter(|line| !line.contains("\"level\":\"INFO\"")).collect();
            let last = &warned[warned.len().saturating_sub(12)..];
            eprintln!("{}:\n{}", self.log.display(), last.join("\n"));
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn command(binary: &Path, config: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).arg("--config").arg(config).stdin(Stdio::null());
    command.env(tokens::VARIABLE, Tokens::of(config.parent().unwrap()).settings());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CHANCERY_") {
            command.env_remove(name);
        }
    }
    command
}

fn run(binary: &Path, config: &Path, arguments: &[&str]) -> String {
    let output = command(binary, config, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// nginx, round robin. It never sends a request twice that it cannot be sure of: `proxy_next_upstream` as it comes.
fn balance(nginx: &Path, folder: &Path, nodes: &[Node], api: u16, http: u16) -> Ended {
    let upstream = |address: fn(&Node) -> &String| -> String {
        nodes.iter().map(|node| format!("server {} max_fails=0; ", address(node))).collect()
    };
    let place = folder.display();
    let temporary =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|of| format!("{of}_temp_path {place}/{of};"));
    let server = |port: u16, name: &str| {
        format!(
            "server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://{name}; proxy_http_version 1.1;
             proxy_set_header Connection ''; proxy_set_header Host $http_host; proxy_connect_timeout 2s;
             proxy_read_timeout 40s; add_header X-Node $upstream_addr always; }} }}"
        )
    };
    let text = format!(
        "daemon off; master_process off; pid {place}/nginx.pid; error_log {place}/nginx.log;
         events {{ worker_connections 4096; }}
         http {{ access_log off; {} upstream api {{ {} keepalive 64; }} upstream http {{ {} }} {} {} }}",
        temporary.concat(),
        upstream(|node| &node.api),
        upstream(|node| &node.http),
        server(api, "api"),
        server(http, "http"),
    );
    let config = folder.join("nginx.conf");
    fs::write(&config, text).unwrap();
    let log = File::create(folder.join("nginx.out")).unwrap();
    let mut nginx = Command::new(nginx);
    nginx.arg("-p").arg(folder).arg("-c").arg(&config).arg("-e").arg(folder.join("nginx.log"));
    let child = nginx.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let deadline = Instant::now() + START;
    while get(&format!("127.0.0.1:{api}"), "/").is_none() {
        let said = || fs::read_to_string(folder.join("nginx.log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "nginx does not answer: {}", said());
        sleep(Duration::from_millis(20));
    }
    Ended(child)
}
