//! The control port over TLS, as real clients come to it: kubectl, curl and folio itself, by an address that is not the
//! usual one of this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use tempfile::TempDir;

/// A server by its flags, with real time, which certificates are about.
struct Server {
    place: TempDir,
    flags: Vec<String>,
    running: Option<Running>,
}

struct Running {
    url: String,
    gateway: String,
    process: Child,
    talk: Option<JoinHandle<()>>,
}

impl Server {
    fn start(flags: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("work")).unwrap();
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let mut server = Self { place, flags, running: None };
        server.start_again();
        server
    }

    fn start_again(&mut self) {
        self.running = None;
        let mut process = command("folio")
            .args(["serve", "--gateway", "127.0.0.1:0", "--data"])
            .arg(self.data())
            .args(&self.flags)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let mut gateway = String::new();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said.push_str(&format!("{line}\n"));
            if let Some(at) = line.strip_prefix("gateway on ") {
                gateway = at.to_owned();
            }
            line.strip_prefix("listening on ").map(str::to_owned)
        });
        let url = url.unwrap_or_else(|| panic!("the server did not start: {said}"));
        let talk = std::thread::spawn(move || lines.for_each(drop));
        self.running = Some(Running { url, gateway, process, talk: Some(talk) });
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn url(&self) -> &str {
        &self.running.as_ref().unwrap().url
    }

    /// The address of the gateway, as `host:port`.
    fn gateway(&self) -> &str {
        let url = &self.running.as_ref().unwrap().gateway;
        url.rsplit('/').next().unwrap_or_default()
    }

    fn port(&self) -> &str {
        self.url().rsplit_once(':').unwrap().1
    }

    /// Runs a command line with the server's data directory at hand; what it says, and whether it worked.
    fn run(&self, line: &str) -> (bool, String) {
        self.run_with(line, &[("FOLIO_DATA", self.data().to_str().unwrap())])
    }

    /// Runs a command line that knows nothing of the server but what it is told.
    fn run_with(&self, line: &str, environment: &[(&str, &str)]) -> (bool, String) {
        let bin = Path::new(env!("CARGO_BIN_EXE_folio")).parent().unwrap();
        let output = command("bash")
            .args(["-c", line])
            .current_dir(self.place.path().join("work"))
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("HOME", self.place.path().join("work"))
            .env("LC_ALL", "C.UTF-8")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    #[track_caller]
    fn works(&self, line: &str) -> String {
        let (works, said) = self.run(line);
        assert!(works, "$ {line}\n{said}");
        said
    }

    #[track_caller]
    fn refused(&self, line: &str, why: &str) {
        let (works, said) = self.run(line);
        assert!(!works && said.contains(why), "$ {line}\n{said}");
    }

    /// The certificate that is shown to a client at an address, as openssl tells of it.
    fn certificate(&self, address: &str) -> String {
        let show = format!(
            "openssl s_client -connect {address}:{} </dev/null 2>/dev/null | \
             openssl x509 -noout -serial -enddate -ext subjectAltName",
            self.port()
        );
        self.works(&show)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let stopped = self.process.kill().and_then(|()| self.process.wait());
        if let (Ok(_), Some(talk)) = (stopped, self.talk.take()) {
            talk.join().unwrap_or_default();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "real clients are processes of their own")]
fn command(name: &str) -> Command {
    Command::new(if name == "folio" { env!("CARGO_BIN_EXE_folio") } else { name })
}

/// An address of this machine that is not loopback, if it has one.
fn own_address() -> Option<String> {
    let said = command("hostname").arg("-I").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    said.split_whitespace().find(|address| address.contains('.')).map(str::to_owned)
}

#[test]
fn a_port_that_others_can_reach_is_encrypted_and_real_clients_come_in() {
    let server = Server::start(&["--listen", "0.0.0.0:0", "--control-name", "folio.test"]);
    assert!(server.url().starts_with("https://0.0.0.0:"), "{}", server.url());
    let key = std::fs::metadata(server.data().join("ca.key")).unwrap().permissions().mode();
    assert_eq!(key & 0o777, 0o600);
    let mut addresses = vec!["127.0.0.1".to_owned(), "127.0.0.2".to_owned()];
    addresses.extend(own_address());
    for address in addresses {
        let url = format!("https://{address}:{}", server.port());
        // folio finds the authority and the admin's token in the data directory.
        let me = server.works(&format!("folio whoami --server {url}"));
        assert!(me.contains("admin"), "{me}");
        server.works(&format!("folio kubeconfig --server {url} > config"));
        let kubectl = "kubectl --kubeconfig config --cache-dir cache";
        let apps = server.works(&format!("{kubectl} get namespaces -o name"));
        assert_eq!(apps, "namespace/default\n");
        assert!(server.works(&format!("{kubectl} auth whoami")).contains("admin"));
        let certificate = server.certificate(&address);
        assert!(certificate.contains(&format!("IP Address:{address}")), "{certificate}");
        assert!(certificate.contains("DNS:folio.test"), "{certificate}");
        assert!(certificate.contains("DNS:localhost"), "{certificate}");
    }
}

#[test]
fn webhooks_are_told_as_clients_find_the_server() {
    let public = ["--listen", "127.0.0.1:0", "--public-url", "https://functions.example/"];
    let ports = [
        (Server::start(&["--listen", "127.0.0.1:0", "--control-tls"]), None),
        (Server::start(&["--listen", "127.0.0.1:0"]), None),
        (Server::start(&public), Some("https://functions.example")),
    ];
    for (server, expected) in &ports {
        let url = server.url();
        server.works("echo 'module.exports = async () => ({status: 200})' > hello.js");
        let make = "fn version create --name hello --env nodejs --code hello.js";
        server.works(&format!("folio --server {url} {make}"));
        let id = server.works(&format!("folio --server {url} webhook create --function hello"));
        let curl = "curl -sSf --cacert $FOLIO_DATA/ca.crt -H \"X-Auth-Token: $(cat $FOLIO_DATA/admin.token)\"";
        let curl = if url.starts_with("https:") {
            curl.to_owned()
        } else {
            curl.replace("--cacert $FOLIO_DATA/ca.crt", "")
        };
        let listed = server.works(&format!("{curl} {url}/v1/webhooks"));
        let hook = format!("{}/v1/webhooks/{}/invoke", expected.unwrap_or(url), id.trim());
        assert!(listed.contains(&format!("\"{hook}\"")), "{hook}: {listed}");
        let root = server.works(&format!("{curl} {url}/"));
        assert!(root.contains(&format!("\"{url}/v1\"")), "{root}");
    }
}

#[test]
fn whoever_does_not_know_the_authority_is_not_taken_in() {
    let server = Server::start(&["--listen", "127.0.0.1:0", "--control-tls"]);
    let other = Server::start(&["--listen", "127.0.0.1:0", "--control-tls"]);
    let (url, ca) = (server.url(), server.data().join("ca.crt"));
    let (ca, wrong) = (ca.display(), other.data().join("ca.crt"));
    let token = std::fs::read_to_string(server.data().join("admin.token")).unwrap();
    let alone = |line: &str| server.run_with(line, &[("FOLIO_TOKEN", token.trim())]);
    let (works, said) = alone(&format!("folio whoami --server {url}"));
    assert!(!works && said.contains("the certificate of") && said.contains("--ca FILE"), "{said}");
    let (works, said) = alone(&format!("folio whoami --server {url} --ca {}", wrong.display()));
    assert!(!works && said.contains("is not trusted here"), "{said}");
    for line in [
        format!("folio whoami --server {url} --ca {ca}"),
        format!("FOLIO_CA={ca} FOLIO_URL={url} folio whoami"),
        format!("curl -sSf --cacert {ca} {url}/healthz"),
    ] {
        let (works, said) = alone(&line);
        assert!(works, "$ {line}\n{said}");
    }
    let (works, said) = alone(&format!("curl -sS --cacert {} {url}/healthz", wrong.display()));
    assert!(!works, "{said}");
    server.works(&format!("folio kubeconfig --server {url} > config"));
    let set = "kubectl --kubeconfig config config set-cluster folio --embed-certs";
    server.works(&format!("{set} --certificate-authority={}", wrong.display()));
    server.refused("kubectl --kubeconfig config get ns", "x509");
}

#[test]
fn plain_text_is_told_to_come_again_with_tls() {
    let server = Server::start(&["--listen", "127.0.0.1:0", "--control-tls"]);
    let plain = server.url().replace("https", "http");
    let why = "this port speaks TLS, and the request came as plain http";
    server.refused(&format!("folio whoami --server {plain}"), why);
    server.refused(
        &format!("folio whoami --server {plain}"),
        "hint: write the address with https://",
    );
    // kubectl keeps what it was told to itself.
    server.refused(&format!("kubectl --server {plain} get ns"), "(BadRequest)");
    let said = server.works(&format!("curl -sS -i {plain}/folio/v1"));
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("tls_required"), "{said}");
    let mut noise = TcpStream::connect(plain.trim_start_matches("http://")).unwrap();
    noise.write_all(b"\x00\x01\x02").unwrap();
    let mut answer = String::new();
    noise.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");

    let open = Server::start(&["--listen", "127.0.0.1:0"]);
    let secure = open.url().replace("http", "https");
    open.refused(&format!("FOLIO_TOKEN=x folio whoami --server {secure}"), "does not speak TLS");
}

#[test]
fn a_certificate_is_renewed_while_the_server_runs_and_when_it_starts() {
    let flags = ["--listen", "127.0.0.1:0", "--control-tls", "--control-lasts", "3"];
    let mut server = Server::start(&flags);
    let authority = || std::fs::read(server.data().join("ca.crt")).unwrap();
    let (before, first) = (authority(), server.certificate("127.0.0.1"));
    // It lasts three seconds, so it is another before long.
    while server.certificate("127.0.0.1") == first {}
    server.works(&format!("folio whoami --server {}", server.url()));
    assert_eq!(authority(), before);
    let last = server.certificate("127.0.0.1");
    server.start_again();
    assert_ne!(server.certificate("127.0.0.1"), last);
    assert_eq!(std::fs::read(server.data().join("ca.crt")).unwrap(), before);
    server.works(&format!("folio whoami --server {}", server.url()));
}

#[test]
fn an_operators_certificate_is_shown_instead_and_read_again_when_it_changes() {
    let place = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let line = format!(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={name} \
             -addext subjectAltName=IP:127.0.0.1,DNS:{name} -addext basicConstraints=critical,CA:FALSE -keyout new.key -out new.crt 2>/dev/null && \
             mv new.key own.key && mv new.crt own.crt"
        );
        let made = command("bash").args(["-c", &line]).current_dir(&place).status().unwrap();
        assert!(made.success());
    };
    make("first.test");
    let path = |name: &str| place.path().join(name).display().to_string();
    let (certificate, key) = (path("own.crt"), path("own.key"));
    let server = Server::start(&[
        "--listen",
        "127.0.0.1:0",
        "--control-certificate",
        &certificate,
        "--control-key",
        &key,
    ]);
    assert!(server.certificate("127.0.0.1").contains("DNS:first.test"));
    assert!(!server.data().join("ca.key").exists());
    server.works(&format!("folio whoami --server {} --ca {certificate}", server.url()));
    make("second.test");
    assert!(server.certificate("127.0.0.1").contains("DNS:second.test"));
    std::fs::write(&certificate, "nonsense").unwrap();
    assert!(server.certificate("127.0.0.1").contains("DNS:second.test"), "what works is kept");
}

#[test]
fn the_gateway_shows_each_host_its_own_certificate_and_reads_all_again_when_they_change() {
    let place = tempfile::tempdir().unwrap();
    let make = |file: &str, name: &str| {
        let line = format!(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={name} \
             -keyout new.key -out new.crt 2>/dev/null && mkdir -p hosts && \
             mv new.key {file}.key && mv new.crt {file}.crt"
        );
        let made = command("bash").args(["-c", &line]).current_dir(&place).status().unwrap();
        assert!(made.success());
    };
    make("own", "usual.test");
    make("hosts/shop.test", "shop.test");
    let path = |name: &str| place.path().join(name).display().to_string();
    let (certificate, key, hosts) = (path("own.crt"), path("own.key"), path("hosts"));
    let server = Server::start(&[
        "--listen",
        "127.0.0.1:0",
        "--tls-certificate",
        &certificate,
        "--tls-key",
        &key,
        "--certificates",
        &hosts,
    ]);
    let shown = |host: &str| {
        let show = format!(
            "openssl s_client -connect {} -servername {host} </dev/null 2>/dev/null | \
             openssl x509 -noout -subject",
            server.gateway()
        );
        server.works(&show).trim().rsplit('=').next().unwrap().trim().to_owned()
    };
    assert_eq!(
        (shown("elsewhere.test"), shown("shop.test")),
        ("usual.test".into(), "shop.test".into())
    );
    // Each is there within moments, without a restart.
    make("hosts/new.test", "new.test");
    while shown("new.test") != "new.test" {}
    make("own", "renewed.test");
    while shown("elsewhere.test") != "renewed.test" {}
    assert_eq!(shown("shop.test"), "shop.test");
    std::fs::write(&certificate, "nonsense").unwrap();
    make("hosts/last.test", "last.test");
    assert_eq!(
        (shown("elsewhere.test"), shown("shop.test")),
        ("renewed.test".into(), "shop.test".into())
    );
}

#[test]
fn what_would_leave_the_door_open_is_refused() {
    let server = Server::start(&["--listen", "127.0.0.1:0"]);
    let lets_in = "can be reached from other machines, and --open lets all in";
    server.refused("folio serve --data other --listen 0.0.0.0:0 --open", lets_in);
    let name = "folio serve --data other --gateway 127.0.0.1:0 --listen 127.0.0.1:0 --control-tls";
    server.refused(&format!("{name} --control-name 'größe'"), "cannot certify");
    let missing = "--control-certificate none.crt --control-key none.key";
    server.refused(&format!("{name} {missing}"), "cannot read `none.crt`");
}

#[test]
fn a_backup_holds_the_authority() {
    let mut server = Server::start(&["--listen", "127.0.0.1:0", "--control-tls"]);
    let before = std::fs::read(server.data().join("ca.crt")).unwrap();
    server.works("folio backup copy.tar");
    server.running = None;
    std::fs::remove_dir_all(server.data()).unwrap();
    server.works("folio restore copy.tar");
    server.start_again();
    assert_eq!(std::fs::read(server.data().join("ca.crt")).unwrap(), before);
    server.works(&format!("folio whoami --server {}", server.url()));
}
