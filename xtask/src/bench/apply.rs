//! A directory of ten thousand functions: the first apply, one that changes nothing, and one after a single source
//! file changed, beside `git add --all && git commit` in a tree of the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::{binary, start, text};
use crate::run::{self, Program, Running};

/// How many functions the directories have, each ten times the one before.
const SIZES: [usize; 2] = [1_000, 10_000];

/// How often each figure is measured; the median counts.
const ROUNDS: usize = 5;

/// What one directory took.
struct Measured {
    functions: usize,
    first: Duration,
    unchanged: Duration,
    changed: Duration,
    git: Duration,
    client_bytes: u64,
    server_bytes: u64,
}

pub(crate) fn run() -> Result<()> {
    let directory = run::root().join("target/bench-apply");
    let mut all = Vec::new();
    for functions in SIZES {
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        all.push(measure(&directory, functions)?);
    }
    fs::remove_dir_all(&directory)?;
    show(&all);
    Ok(())
}

fn measure(directory: &Path, functions: usize) -> Result<Measured> {
    let tree = directory.join("tree");
    plant(&tree, functions)?;
    let folio = Folio::start(directory, &tree)?;
    git(&tree, &["init", "--quiet"])?;
    let (first, mut client_bytes) = folio.apply()?;
    commit(&tree)?;
    let (mut unchanged, mut changed, mut gits) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        unchanged.push(folio.apply()?.0);
        fs::write(tree.join("src/f7.js"), source(7, round + 1))?;
        let (time, bytes) = folio.apply()?;
        changed.push(time);
        client_bytes = client_bytes.max(bytes);
        gits.push(commit(&tree)?);
    }
    let server_bytes = peak_bytes(&folio.server)?;
    folio.server.stop()?;
    let [unchanged, changed, git] = [unchanged, changed, gits].map(median);
    Ok(Measured { functions, first, unchanged, changed, git, client_bytes, server_bytes })
}

/// The most memory a program had since it was started.
fn peak_bytes(server: &Running) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).context("it has ended")?;
    Ok(kib.parse::<u64>()? * 1024)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Writes one manifest and one source file for every function.
pub(super) fn plant(tree: &Path, functions: usize) -> Result<()> {
    fs::create_dir_all(tree.join("src"))?;
    fs::create_dir_all(tree.join("specs"))?;
    let config = "apiVersion: fission.io/v1\nkind: DeploymentConfig\nname: bench\nuid: bench\n";
    fs::write(tree.join("specs/fission-deployment-config.yaml"), config)?;
    for at in 0..functions {
        fs::write(tree.join(format!("src/f{at}.js")), source(at, 0))?;
        fs::write(tree.join(format!("specs/f{at}.yaml")), manifest(at))?;
    }
    Ok(())
}

fn source(at: usize, round: usize) -> String {
    format!("module.exports = async () => ({{ status: 200, body: \"{at} {round}\\n\" }});\n")
}

fn manifest(at: usize) -> String {
    format!(
        "kind: ArchiveUploadSpec\nname: f{at}\ninclude: [src/f{at}.js]\n---\n\
         apiVersion: fission.io/v1\nkind: Package\nmetadata: {{name: f{at}}}\n\
         spec: {{environment: {{name: nodejs, namespace: default}}, deployment: {{type: url, url: \"archive://f{at}\"}}}}\n---\n\
         apiVersion: fission.io/v1\nkind: Function\nmetadata: {{name: f{at}}}\n\
         spec: {{environment: {{name: nodejs, namespace: default}}, package: {{packageref: {{name: f{at}}}}}}}\n"
    )
}

struct Folio {
    tree: PathBuf,
    data: PathBuf,
    cache: PathBuf,
    url: String,
    server: Running,
}

impl Folio {
    fn start(directory: &Path, tree: &Path) -> Result<Self> {
        let data = directory.join("folio");
        let path = text(&data)?;
        let program = binary();
        let arguments =
            ["serve", "--listen", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "--data", path];
        let mut server = run::start(&Program::new(&program, &arguments))?;
        let url = server.line_after("listening on ")?;
        let (tree, cache) = (tree.to_owned(), directory.join("cache"));
        Ok(Self { tree, data, cache, url, server })
    }

    /// Applies the directory; says how long that took and how much memory at most.
    fn apply(&self) -> Result<(Duration, u64)> {
        let program = binary();
        let environment = [
            ("FOLIO_URL", self.url.as_str()),
            ("FOLIO_DATA", text(&self.data)?),
            ("XDG_CACHE_HOME", text(&self.cache)?),
        ];
        // GNU time says what a program needed at most, on the last line.
        let arguments = ["-f", "%M", &program, "spec", "version", "apply"];
        let program = Program::new("/usr/bin/time", &arguments).with(&environment).at(&self.tree);
        let watch = start();
        let (_, said) = run::both(&program)?;
        let time = watch.elapsed();
        let kib: u64 = said.lines().last().unwrap_or_default().trim().parse()?;
        Ok((time, kib * 1024))
    }
}

/// Commits everything and says how long that took.
fn commit(tree: &Path) -> Result<Duration> {
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"];
    let watch = start();
    git(tree, &["add", "--all"])?;
    git(tree, &[&who[..], &["commit", "--quiet", "--message", "change"]].concat())?;
    Ok(watch.elapsed())
}

fn git(tree: &Path, arguments: &[&str]) -> Result<()> {
    run::output(&Program::new("git", arguments).at(tree))?;
    Ok(())
}

fn show(all: &[Measured]) {
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1000.0);
    let mb = |bytes: u64| format!("{} MB", bytes / 1_000_000);
    for measured in all {
        let Measured { functions, first, unchanged, changed, git, .. } = measured;
        let (client, server) = (mb(measured.client_bytes), mb(measured.server_bytes));
        let (to_git, to_none) = (ratio(*changed, *git), ratio(*changed, *unchanged));
        run::say(&format!("{functions} functions"));
        run::say(&format!("  first apply              {}", ms(*first)));
        run::say(&format!("  nothing changed          {}", ms(*unchanged)));
        run::say(&format!("  one source file changed  {}", ms(*changed)));
        run::say(&format!("  git add and commit       {}", ms(*git)));
        run::say(&format!("  changed to git           {to_git:.2}x (goal: at most 1x)"));
        run::say(&format!("  changed to unchanged     {to_none:.2}x (goal: at most 2x)"));
        run::say(&format!(
            "  memory                   client {client}, server {server} (goal: below 500 MB)"
        ));
    }
    if let [small, large] = all {
        let more = ratio(large.first, small.first);
        run::say(&format!("ten times the functions take {more:.1} times for the first apply"));
    }
}
