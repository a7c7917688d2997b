//! What hostile code tries, against the real jail. Every attempt is denied with the jail on; with it off most
//! succeed, so that the suite is seen to notice an escape. The attempts are in `escape/`. One is made through a whole
//! server, because it is the server that reads what a function prints: see `flood`.

mod flood;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use folio_core::ports::Plaintext;
use folio_core::ports::runtime::PlanFile;
use folio_model::Network;
use folio_run::jail::{Cell, Jail, Mode, Mount, Prisoner, Stdin};
use futures::StreamExt;
use tokio::io::AsyncReadExt;

const MEMORY_BYTES: u64 = 192 << 20;
const TMP_BYTES: u64 = 8 << 20;
const FILE_BYTES_MAX: u64 = 4 << 20;
const PROCESSES_MAX: u32 = 48;
const AT_ONCE: usize = 4;
const SECRET: &str = "a-secret-of-somebody-else";

/// What succeeds without a jail for any user on any Linux, and so proves that the attempts are real.
const SUCCEEDS_WHEN_OFF: &[&str] = &[
    "python list_other_code",
    "python list_other_data",
    "python read_token",
    "python read_database",
    "python read_token_through_link",
    "python read_token_through_own_root",
    "python read_token_upwards",
    "python read_users",
    "python hard_link",
    "python write_code",
    "python write_outside",
    "python change_mode_of_code",
    "python see_other_processes",
    "python read_other_environment",
    "python signal_other",
    "python signal_server",
    "python signal_everyone",
    "python control_port",
    "python control_port_by_host_address",
    "python send_udp",
    "python abstract_socket",
    "python named_socket",
    "python netlink_socket",
    "python fill_disk",
    "python huge_file",
    "python fork_bomb",
    "python thread_bomb",
    "python memory_bomb",
    "python shared_memory_bomb",
    "python descriptor_bomb",
    "node read_token",
    "node list_other_code",
    "node read_other_environment",
    "node signal_other",
    "node control_port",
    "node send_udp",
    "node write_code",
    "node write_outside",
    "node fill_disk",
    "node fork_bomb",
    "node memory_bomb",
    "sh read_token",
    "sh list_other_code",
    "sh signal_other",
    "sh write_outside",
    "program cat a token",
    "program copy a token",
];

/// What succeeds without a jail where a process may look into another that it did not start.
const SUCCEEDS_WHERE_TRACING_IS_ALLOWED: &[&str] = &[
    "python trace_other",
    "python read_other_memory",
    "python open_other_memory",
    "python steal_descriptor",
    "python read_secret_files_of_another",
    "node debug_other",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_escape_is_denied_by_the_jail() {
    let mut said = Playground::new().run_all(Mode::Enforced).await;
    if !jail(Mode::Enforced)
        .enforcement()
        .iter()
        .any(|one| one.name == "memory limit" && one.enforced)
    {
        // Without control groups nothing counts it, and the documentation says so.
        said.remove("python shared_memory_bomb");
    }
    assert!(said.len() >= 100, "only {} attempts were made", said.len());
    let escaped: Vec<_> = said.iter().filter(|(_, said)| said.contains("escaped")).collect();
    assert!(escaped.is_empty(), "these got out: {escaped:#?}");
    // An attempt that could not even be made would look like one that was denied.
    let broken = |said: &str| said.contains("Traceback") || said.contains("not a function");
    let broken: Vec<_> = said.iter().filter(|(_, said)| broken(said)).collect();
    assert!(broken.is_empty(), "these were never tried: {broken:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_jail_the_same_escapes_succeed() {
    let said = Playground::new().run_all(Mode::Off).await;
    let denied = |name: &&&str| !said.get(**name).is_some_and(|said| said.contains("escaped"));
    let traces = if may_trace() { SUCCEEDS_WHERE_TRACING_IS_ALLOWED } else { &[] };
    let expected = SUCCEEDS_WHEN_OFF.iter().chain(traces);
    let denied: BTreeMap<_, _> =
        expected.filter(denied).map(|name| (name, said.get(*name))).collect();
    assert!(denied.is_empty(), "these did not even work without a jail: {denied:#?}");
}

fn jail(mode: Mode) -> Jail {
    Jail::new(PathBuf::from(env!("CARGO_BIN_EXE_folio")), mode)
}

/// Whether this host lets a process trace another of the same user: Yama's scope, where there is Yama.
fn may_trace() -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "" | "0" => true,
        "1" | "2" => has_ptrace_capability(),
        _ => false,
    }
}

/// Whether this process may trace whom it likes, which root in a container may not.
fn has_ptrace_capability() -> bool {
    const SYS_PTRACE: u32 = 19;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    effective.is_some_and(|bits| bits & (1 << SYS_PTRACE) != 0)
}

/// A host with something to steal.
struct Playground {
    directory: tempfile::TempDir,
    decoy: Decoy,
    targets: serde_json::Value,
    /// Held open for as long as the attempts run.
    _listener: UnixListener,
}

/// A process of somebody else, which ends with the test.
struct Decoy(Child);

impl Drop for Decoy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Playground {
    #[expect(clippy::disallowed_methods, reason = "somebody else's process is not in a jail")]
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let attempts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape");
        fs::create_dir(at("attempts")).unwrap();
        for name in ["attempts.py", "attempts.cjs", "attempts.sh"] {
            fs::copy(attempts.join(name), at("attempts").join(name)).unwrap();
        }
        for name in ["code/0123456789abcdef", "code/fedcba9876543210", "data", "outside"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("code/0123456789abcdef/main.py"), "own").unwrap();
        fs::write(at("code/fedcba9876543210/main.py"), "another's").unwrap();
        write_private(&at("data/token"), SECRET.as_bytes());
        write_private(&at("data/folio.db"), b"");
        fs::set_permissions(at("outside"), Permissions::from_mode(0o777)).unwrap();
        // As the code store has it: what is in it can be opened by those who know its name.
        fs::set_permissions(at("code"), Permissions::from_mode(0o311)).unwrap();
        let decoy = Command::new("sleep").arg("1000").env("DECOY", SECRET).spawn().unwrap();
        let abstract_name = format!("folio-escape-{}-{}", std::process::id(), decoy.id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        serve_socket(&at("outside/control.sock"));
        let targets = serde_json::json!({
            "token": at("data/token"),
            "database": at("data/folio.db"),
            "data": at("data"),
            "other_code": at("code/fedcba9876543210"),
            "own_code": "/code/0123456789abcdef/main.py",
            "outside": at("outside"),
            "socket": at("outside/control.sock"),
            "secret": SECRET,
            "decoy": decoy.id(),
            "server": std::process::id(),
            "abstract": abstract_name,
            "port": serve_tcp(),
            "udp": serve_udp(),
            "address": own_address(),
            "memory_bytes": MEMORY_BYTES,
            "tmp_bytes": TMP_BYTES,
            "file_bytes_max": FILE_BYTES_MAX,
            "processes_max": PROCESSES_MAX,
        });
        Self { directory, decoy: Decoy(decoy), targets, _listener }
    }

    /// What each attempt says, by its language and name.
    async fn run_all(&self, mode: Mode) -> BTreeMap<String, String> {
        let jail = jail(mode);
        let _neighbour = self.neighbour(&jail);
        let attempts = self.attempts(&jail).into_iter().map(|(name, program, arguments)| {
            let attempt = self.attempt(&jail, program, arguments);
            async move { (name, attempt.await) }
        });
        // Most of the time is spent waiting for answers that do not come.
        futures::stream::iter(attempts).buffer_unordered(AT_ONCE).collect().await
    }

    /// Another function, which was given a secret and is there for as long as this is held.
    fn neighbour(&self, jail: &Jail) -> Prisoner {
        let path = PathBuf::from("/secrets/default/db/password");
        let bytes = Plaintext::new(SECRET.as_bytes().to_vec());
        let cell = self.cell("/bin/sleep".into(), vec!["1000".into()]);
        let variables = vec![("password".into(), SECRET.into())];
        let cell = Cell { files: vec![PlanFile { path, bytes }], variables, ..cell };
        jail.start(cell).unwrap()
    }

    fn attempts(&self, jail: &Jail) -> Vec<(String, PathBuf, Vec<OsString>)> {
        let interpreters = jail.interpreters();
        let python = interpreters.python.clone().expect("the suite needs Python").program;
        let node = interpreters.node.clone().expect("the suite needs Node").program;
        let shell = PathBuf::from("/bin/sh");
        let scripts = [
            (
                "python",
                python,
                "attempts.py",
                names(include_str!("escape/attempts.py"), "def ", "():"),
            ),
            ("node", node, "attempts.cjs", names(include_str!("escape/attempts.cjs"), "  ", ": ")),
            ("sh", shell, "attempts.sh", names(include_str!("escape/attempts.sh"), "    ", ") ")),
        ];
        let mut attempts = Vec::new();
        for (language, program, script, names) in scripts {
            for name in names.into_iter().filter(|name| !HELPERS.contains(&name.as_str())) {
                let arguments = vec![format!("/attempts/{script}").into(), (&name).into()];
                attempts.push((format!("{language} {name}"), program.clone(), arguments));
            }
        }
        attempts.extend(self.programs());
        attempts
    }

    /// Ordinary programs, which say what they found and nothing else.
    fn programs(&self) -> Vec<(String, PathBuf, Vec<OsString>)> {
        let token = self.directory.path().join("data/token").into_os_string();
        let copy = self.directory.path().join("outside/copy").into_os_string();
        let decoy = self.decoy.0.id().to_string();
        let programs: [(&str, &str, Vec<OsString>); 6] = [
            ("cat a token", "/bin/cat", vec![token.clone()]),
            ("copy a token", "/bin/cp", vec!["-v".into(), token, copy]),
            ("enter namespaces", "/usr/bin/nsenter", vec!["-t".into(), decoy.into(), "-n".into()]),
            ("unshare", "/usr/bin/unshare", vec!["-U".into(), "/bin/echo".into(), "done".into()]),
            ("kernel log", "/usr/bin/dmesg", vec![]),
            ("disks", "/bin/cat", vec!["/proc/self/root/dev/vda".into()]),
        ];
        let there = |(_, program, _): &(&str, &str, Vec<OsString>)| Path::new(program).exists();
        let name = |(name, program, arguments): (&str, &str, _)| {
            (format!("program {name}"), PathBuf::from(program), arguments)
        };
        programs.into_iter().filter(there).map(name).collect()
    }

    /// Starts one attempt like a worker, and returns what it says; a program's plain output means success.
    async fn attempt(&self, jail: &Jail, program: PathBuf, arguments: Vec<OsString>) -> String {
        let is_script = arguments
            .first()
            .is_some_and(|first| first.to_string_lossy().starts_with("/attempts/"));
        let mut prisoner = jail.start(self.cell(program, arguments)).unwrap();
        let stdout = prisoner.take_stdout().unwrap();
        let mut stderr = prisoner.take_stderr().unwrap();
        // What is longer than any answer is cut off, and whoever writes it is told.
        let listen = async move {
            let mut said = Vec::new();
            stdout.take(4096).read_to_end(&mut said).await.map(|_| said)
        };
        let mut complained = Vec::new();
        let (said, heard) = tokio::join!(listen, stderr.read_to_end(&mut complained));
        heard.unwrap();
        let ended = prisoner.wait().await.unwrap();
        let said = said.unwrap();
        let (said, complained) =
            (String::from_utf8_lossy(&said), String::from_utf8_lossy(&complained));
        match is_script {
            true => format!("{said}{complained}{ended}"),
            false if said.is_empty() => format!("denied: {complained}{ended}"),
            false => "escaped".to_owned(),
        }
    }

    fn cell(&self, program: PathBuf, arguments: Vec<OsString>) -> Cell {
        let at = |name: &str| self.directory.path().join(name);
        let text = |name: &str| OsString::from(self.targets[name].as_str().unwrap());
        let variables = vec![
            ("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("TARGETS".into(), self.targets.to_string().into()),
            ("TOKEN".into(), text("token")),
            ("OTHER_CODE".into(), text("other_code")),
            ("DATA".into(), text("data")),
            ("OUTSIDE".into(), text("outside")),
            ("DECOY".into(), self.decoy.0.id().to_string().into()),
        ];
        Cell {
            program,
            arguments,
            variables,
            directory: "/tmp".into(),
            reads: vec![
                Mount { from: at("attempts"), to: "/attempts".into() },
                Mount { from: at("code"), to: "/code".into() },
            ],
            writes: Vec::new(),
            files: Vec::new(),
            network: Network::None,
            forward: None,
            memory_bytes: MEMORY_BYTES,
            cpu_millis: None,
            processes_max: PROCESSES_MAX,
            tmp_bytes: TMP_BYTES,
            file_bytes_max: FILE_BYTES_MAX,
            descriptors: Vec::new(),
            stdin: Stdin::Null,
        }
    }
}

/// What in the scripts is no attempt.
const HELPERS: &[&str] = &["fail", "main", "try"];

/// What stands between a prefix and a suffix at the beginning of a line.
fn names(script: &str, prefix: &str, suffix: &str) -> Vec<String> {
    let name = |line: &str| {
        let (name, _) = line.strip_prefix(prefix)?.split_once(suffix)?;
        let plain = name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        (plain && !name.is_empty()).then(|| name.to_owned())
    };
    script.lines().filter_map(name).collect()
}

fn write_private(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// A control port that greets everyone. The thread ends with the test.
fn serve_tcp() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            drop((&connection).write_all(b"control"));
        }
    });
    port
}

fn serve_udp() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, from)) = socket.recv_from(&mut buffer) {
            drop(socket.send_to(b"answer", from));
        }
    });
    port
}

fn serve_socket(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    std::thread::spawn(move || listener.incoming().flatten().count());
}

/// An address of this host that is not its loopback, if it has one.
fn own_address() -> String {
    let address = || {
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        // Sends nothing: it only asks which way it would go.
        socket.connect("192.0.2.1:9").ok()?;
        Some(socket.local_addr().ok()?.ip().to_string())
    };
    address().unwrap_or_else(|| "127.0.0.2".to_owned())
}
