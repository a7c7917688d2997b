//! Fifty versions of a 40 MB tree with small edits: time for each and bytes in the end, for folio, for git
//! (committed each time, packed at the end) and for borg with zstd.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::{binary, start, text};
use crate::run::{self, Program, Running};

const VERSIONS: usize = 50;
const DIRECTORIES: usize = 100;
const FILES: usize = 20;
const LINES: usize = 420;

pub(crate) fn run() -> Result<()> {
    let directory = run::root().join("target/bench-trees");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let tree = directory.join("tree");
    let bytes = plant(&tree)?;
    let mut peers: Vec<Box<dyn Peer>> = vec![
        Box::new(Folio::start(&directory)?),
        Box::new(Git::start(&directory)?),
        Box::new(Borg::start(&directory)?),
    ];
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); peers.len()];
    for version in 0..VERSIONS {
        edit(&tree, version)?;
        for (peer, times) in peers.iter_mut().zip(&mut times) {
            let watch = start();
            peer.keep(&tree, version)?;
            times.push(watch.elapsed());
        }
    }
    let sizes = peers.iter_mut().map(|peer| peer.finish()).collect::<Result<Vec<_>>>()?;
    show(bytes, &times, &sizes);
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Something that keeps versions of a tree.
trait Peer {
    /// Keeps the tree as it is now.
    fn keep(&mut self, tree: &Path, version: usize) -> Result<()>;

    /// Packs what it kept and says how many bytes that takes.
    fn finish(&mut self) -> Result<u64>;
}

struct Folio {
    data: PathBuf,
    cache: PathBuf,
    url: String,
    server: Option<Running>,
}

impl Folio {
    fn start(directory: &Path) -> Result<Self> {
        let data = directory.join("folio");
        let path = text(&data)?;
        let program = binary();
        let arguments =
            ["serve", "--listen", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "--data", path];
        let mut server = run::start(&Program::new(&program, &arguments))?;
        let url = server.line_after("listening on ")?;
        Ok(Self { data, cache: directory.join("folio-cache"), url, server: Some(server) })
    }
}

impl Peer for Folio {
    fn keep(&mut self, tree: &Path, _: usize) -> Result<()> {
        let program = binary();
        let environment = [
            ("FOLIO_URL", self.url.as_str()),
            ("FOLIO_DATA", text(&self.data)?),
            ("XDG_CACHE_HOME", text(&self.cache)?),
        ];
        let arguments =
            ["pkg", "version", "create", "tree", "--env", "nodejs", "--deploy", text(tree)?];
        run::output(&Program::new(&program, &arguments).with(&environment))?;
        Ok(())
    }

    fn finish(&mut self) -> Result<u64> {
        if let Some(server) = self.server.take() {
            server.stop()?;
        }
        bytes_in(&self.data)
    }
}

struct Git {
    directory: PathBuf,
}

impl Git {
    fn start(directory: &Path) -> Result<Self> {
        let directory = directory.join("git");
        git(&directory, None, &["init", "--quiet"])?;
        Ok(Self { directory })
    }
}

impl Peer for Git {
    fn keep(&mut self, tree: &Path, version: usize) -> Result<()> {
        git(&self.directory, Some(tree), &["add", "--all"])?;
        let message = format!("version {version}");
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"];
        let commit = ["commit", "--quiet", "--message", &message];
        git(&self.directory, Some(tree), &[&who[..], &commit[..]].concat())
    }

    fn finish(&mut self) -> Result<u64> {
        git(&self.directory, None, &["gc", "--quiet", "--prune=now"])?;
        bytes_in(&self.directory)
    }
}

fn git(directory: &Path, tree: Option<&Path>, arguments: &[&str]) -> Result<()> {
    let mut environment = vec![("GIT_DIR", text(directory)?)];
    if let Some(tree) = tree {
        environment.push(("GIT_WORK_TREE", text(tree)?));
    }
    run::output(&Program::new("git", arguments).with(&environment))?;
    Ok(())
}

struct Borg {
    directory: PathBuf,
    home: PathBuf,
}

impl Borg {
    fn start(directory: &Path) -> Result<Self> {
        let borg = Self { directory: directory.join("borg"), home: directory.join("borg-home") };
        borg.run(&["init", "--encryption", "none", text(&borg.directory)?])?;
        Ok(borg)
    }

    fn run(&self, arguments: &[&str]) -> Result<()> {
        let environment = [
            ("BORG_BASE_DIR", text(&self.home)?),
            ("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes"),
        ];
        run::output(&Program::new("borg", arguments).with(&environment))?;
        Ok(())
    }
}

impl Peer for Borg {
    fn keep(&mut self, tree: &Path, version: usize) -> Result<()> {
        let archive = format!("{}::v{version}", text(&self.directory)?);
        self.run(&["create", "--compression", "zstd", &archive, text(tree)?])
    }

    fn finish(&mut self) -> Result<u64> {
        bytes_in(&self.directory)
    }
}

/// Writes a tree of made-up source code and says how large it is.
fn plant(tree: &Path) -> Result<u64> {
    let mut chance = Chance(1);
    for directory in 0..DIRECTORIES {
        let directory = tree.join(format!("part{:02}/module{directory:03}", directory % 10));
        fs::create_dir_all(&directory)?;
        for file in 0..FILES {
            let lines: Vec<_> = (0..LINES).map(|_| chance.line()).collect();
            fs::write(directory.join(format!("file{file:02}.js")), lines.join("\n"))?;
        }
    }
    bytes_in(tree)
}

/// Changes a few lines of three files.
fn edit(tree: &Path, version: usize) -> Result<()> {
    let mut chance = Chance(1_000 + version as u64);
    for _ in 0..3 {
        let directory = chance.below(DIRECTORIES);
        let name = format!(
            "part{:02}/module{directory:03}/file{:02}.js",
            directory % 10,
            chance.below(FILES)
        );
        let path = tree.join(name);
        let source = fs::read_to_string(&path)?;
        let mut lines: Vec<_> = source.lines().map(str::to_owned).collect();
        for _ in 0..3 {
            let at = chance.below(lines.len());
            lines[at] = chance.line();
        }
        fs::write(&path, lines.join("\n"))?;
    }
    Ok(())
}

/// A small generator, so that every run edits the same lines.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn line(&mut self) -> String {
        const WORDS: [&str; 16] = [
            "const", "let", "return", "await", "function", "request", "response", "body", "status",
            "map", "filter", "length", "value", "index", "result", "error",
        ];
        let words: Vec<_> = (0..6).map(|_| WORDS[self.below(WORDS.len())]).collect();
        format!("  {}({});", words.join("."), self.below(1_000_000_000))
    }
}

fn show(bytes: u64, times: &[Vec<Duration>], sizes: &[u64]) {
    let names = ["folio", "git", "borg"];
    run::say(&format!(
        "{VERSIONS} versions of a tree of {} MB, three files edited each time",
        bytes / 1_000_000
    ));
    for ((name, times), size) in names.iter().zip(times).zip(sizes) {
        let mut small = times[1..].to_vec();
        small.sort();
        let median = small[small.len() / 2].as_millis();
        let first = times[0].as_millis();
        run::say(&format!(
            "{name:<8} first {first:>6} ms   each edit {median:>5} ms   {:>8} kB",
            size / 1_000
        ));
    }
    let median = |at: usize| {
        let mut small = times[at][1..].to_vec();
        small.sort();
        small[small.len() / 2].as_secs_f64()
    };
    let ratio = |a: f64, b: f64| format!("{:.2}x", a / b);
    run::say(&format!(
        "time for an edit, against git   {}   goal < 1",
        ratio(median(0), median(1))
    ));
    run::say(&format!(
        "time for an edit, against borg  {}   goal < 1",
        ratio(median(0), median(2))
    ));
    run::say(&format!(
        "bytes in the end, against git   {}",
        ratio(sizes[0] as f64, sizes[1] as f64)
    ));
    run::say(&format!(
        "bytes in the end, against borg  {}   goal <= 1",
        ratio(sizes[0] as f64, sizes[2] as f64)
    ));
}

fn bytes_in(path: &Path) -> Result<u64> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    fs::read_dir(path)?.map(|entry| bytes_in(&entry?.path())).sum()
}
