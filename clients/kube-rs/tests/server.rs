//! A real server, and the way to it as `folio kubeconfig` writes it down: over TLS, with a token.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

pub(crate) struct Server {
    process: Child,
    _directory: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Server {
    /// Starts a server on a fresh data directory.
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (data, kubeconfig) = (directory.path().join("data"), directory.path().join("config"));
        let mut process = Command::new(program())
            .args(["serve", "--listen", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "--control-tls"])
            .arg("--data")
            .arg(&data)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the folio binary can be started: `cargo xtask test` builds it");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .find_map(|line| line.ok()?.strip_prefix("listening on ").map(str::to_owned))
            .expect("the server says where it listens");
        // Read to the end, so that the server never waits for its own log to be read.
        std::thread::spawn(move || lines.for_each(drop));
        let written = Command::new(program())
            .args(["kubeconfig", "--token-role", "deployer", "--server", &url, "--merge"])
            .arg(&kubeconfig)
            .env("FOLIO_DATA", &data)
            .env_remove("FOLIO_TOKEN")
            .status()
            .unwrap();
        assert!(written.success());
        Self { process, _directory: directory, kubeconfig }
    }

    pub(crate) async fn client(&self) -> Client {
        let written = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(written, &options).await.unwrap();
        assert_eq!(config.default_namespace, "default");
        Client::try_from(config).unwrap()
    }
}

fn program() -> PathBuf {
    let told = std::env::var_os("FOLIO_BIN").map(PathBuf::from);
    told.unwrap_or_else(|| {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/folio")
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).unwrap();
    }
}
