//! Builds packages from source, in a jail that may reach package registries.
//!
//! The source lies writable at `$SRC_PKG`, which is also where the command starts; what it leaves at `$DEPLOY_PKG`
//! is the result. Where nobody says how to build, the files do: see `recipe`. A result is settled before it is
//! handed over: see `settle`. Start at [`Builder::build`].

mod disk;
mod host;
mod log;
mod recipe;
mod settle;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::Blobs;
use folio_core::ports::runtime::{BuildError, BuildLog, BuildOrder, Built, BuiltDirectory};
use folio_model::Network;
use tokio::time::Instant;

pub use host::BuildHost;
use log::Log;
use recipe::Recipe;

use crate::code::{self, Access, Remover};
use crate::jail::{Cell, Ended, Jail, Mount, Prisoner, Stdin};
use crate::program;

/// Where a build sees its directories.
const INSIDE: &str = "/packages";
const SOURCE: &str = "src";
const DEPLOY: &str = "deploy";
const TEMPORARY: &str = "tmp";

/// The name of a result that is one file.
const ONE_FILE: &str = "deployarchive";

/// How long a build that was killed may take to be gone.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of everything one build gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildLimits {
    /// How long it may take.
    pub timeout: Duration,
    /// Memory of all its processes.
    pub memory_bytes: u64,
    /// What it may write, its source included.
    pub disk_bytes: u64,
    /// Processes and threads at the same time.
    pub processes_max: u32,
}

impl Default for BuildLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(600),
            memory_bytes: 2 * 1024 * 1024 * 1024,
            disk_bytes: 2 * 1024 * 1024 * 1024,
            processes_max: 512,
        }
    }
}

/// Builds packages.
pub struct Builder {
    directory: PathBuf,
    jail: Arc<Jail>,
    blobs: Arc<dyn Blobs>,
    host: BuildHost,
    limits: BuildLimits,
    remover: Remover,
}

impl Builder {
    /// Takes `<run>/builds`, removing what an earlier process left there.
    pub fn new(
        run: &Path,
        jail: Arc<Jail>,
        blobs: Arc<dyn Blobs>,
        host: BuildHost,
        limits: BuildLimits,
    ) -> io::Result<Self> {
        let directory = run.join("builds");
        code::remove(&directory)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        Ok(Self { directory, jail, blobs, host, limits, remover: code::remover()? })
    }

    /// Builds source. What it prints goes to `log` as it comes; dropping the future ends the build.
    pub async fn build(&self, order: BuildOrder, log: BuildLog) -> Result<Built, BuildError> {
        let log = Log::new(log);
        let place = Place::new(&self.directory, &self.remover).map_err(|e| cannot(&e))?;
        let source = place.path(SOURCE);
        let written = code::write(&self.blobs, order.source.tree, &source, Access::Writable).await;
        written.map_err(|error| BuildError::Unavailable(error.to_string()))?;
        let command = order.command.as_deref().or(order.spec.builder.as_deref());
        let recipe = Recipe::choose(command, order.spec.runtime, &source)?;
        let deadline = Instant::now() + self.limits.timeout;
        let made = match &recipe {
            Recipe::Command(words) => {
                self.run(&place, words, deadline, &log).await?;
                DEPLOY
            }
            Recipe::InPlace(steps) => {
                for words in steps {
                    // Nobody wrote this command, so the log says what it was.
                    log.say(&format!("> {}", words.join(" "))).await;
                    self.run(&place, words, deadline, &log).await?;
                }
                SOURCE
            }
        };
        self.settle(place, made, &log).await
    }

    async fn run(
        &self,
        place: &Place,
        words: &[String],
        deadline: Instant,
        log: &Log,
    ) -> Result<(), BuildError> {
        let shown = words.join(" ");
        let mut prisoner = self.start(place, words).await?;
        let (stdout, stderr) = (prisoner.take_stdout(), prisoner.take_stderr());
        let printing = async {
            tokio::join!(log.drain_some(stdout), log.drain_some(stderr));
            prisoner.wait().await
        };
        let stopped = tokio::select! {
            ended = printing => Ok(ended.map_err(|error| cannot(&error))?),
            () = tokio::time::sleep_until(deadline) => {
                let seconds = self.limits.timeout.as_secs();
                Err(format!("the build took longer than {seconds} s and was ended"))
            }
            () = disk::overflow(&place.directory, self.limits.disk_bytes) => {
                let mib = self.limits.disk_bytes / 1024 / 1024;
                Err(format!("the build wrote more than {mib} MiB and was ended"))
            }
        };
        let ended = match stopped {
            Ok(ended) => ended,
            Err(why) => {
                prisoner.kill();
                // It writes to the directory until it is gone, and the directory goes next.
                drop(tokio::time::timeout(END_TIMEOUT, prisoner.wait()).await);
                return Err(failed(why));
            }
        };
        match ended {
            Ended::Exited(0) => Ok(()),
            Ended::Exited(code) => Err(failed(format!("`{shown}` exited with code {code}"))),
            Ended::Signalled(signal) => {
                Err(failed(format!("`{shown}` was ended by signal {signal}")))
            }
            Ended::OutOfMemory => {
                let mib = self.limits.memory_bytes / 1024 / 1024;
                Err(failed(format!(
                    "`{shown}` needed more than the {mib} MiB of memory it may have"
                )))
            }
        }
    }

    async fn start(&self, place: &Place, words: &[String]) -> Result<Prisoner, BuildError> {
        let (name, arguments) = words.split_first().expect("a command has at least one word");
        let source = Path::new(INSIDE).join(SOURCE);
        let program = match name.strip_prefix("./") {
            Some(inside) => {
                let made = recipe::make_executable(&place.path(SOURCE), name);
                made.map_err(|error| cannot(&error))?;
                source.join(inside)
            }
            None => program::find(self.jail.interpreters(), name).ok_or_else(|| {
                failed(format!("this host has no program `{name}` to build with"))
            })?,
        };
        let cell = Cell {
            program,
            arguments: arguments.iter().map(OsString::from).collect(),
            variables: self.variables(),
            directory: source,
            reads: self.host.mounts.clone(),
            writes: vec![Mount { from: place.directory.clone(), to: PathBuf::from(INSIDE) }],
            files: Vec::new(),
            network: Network::Egress,
            forward: None,
            memory_bytes: self.limits.memory_bytes,
            cpu_millis: None,
            processes_max: self.limits.processes_max,
            tmp_bytes: 256 * 1024 * 1024,
            file_bytes_max: self.limits.disk_bytes,
            descriptors: Vec::new(),
            stdin: Stdin::Null,
        };
        let jail = Arc::clone(&self.jail);
        let started = tokio::task::spawn_blocking(move || jail.start(cell)).await;
        let started = started.map_err(|error| BuildError::Unavailable(error.to_string()))?;
        started.map_err(|error| not_started(name, &error))
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let inside = |name: &str| format!("{INSIDE}/{name}");
        let ours = [
            ("SRC_PKG", inside(SOURCE)),
            ("DEPLOY_PKG", inside(DEPLOY)),
            ("TMPDIR", inside(TEMPORARY)),
            ("HOME", "/tmp".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("CI", "true".to_owned()),
            ("PIP_NO_INPUT", "1".to_owned()),
            ("PIP_NO_CACHE_DIR", "1".to_owned()),
            ("PIP_ROOT_USER_ACTION", "ignore".to_owned()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
            // Compiled files carry the times of their sources, which are others wherever the code runs.
            ("PIP_NO_COMPILE", "1".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("npm_config_cache", inside("tmp/npm")),
            ("npm_config_update_notifier", "false".to_owned()),
            ("npm_config_fund", "false".to_owned()),
            ("npm_config_audit", "false".to_owned()),
        ];
        let ours = ours.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let path = ("PATH".into(), program::search_path(self.jail.interpreters()));
        let all = ours.into_iter().chain([path]).chain(self.host.variables.iter().cloned());
        all.collect::<BTreeMap<_, _>>().into_iter().collect()
    }

    /// Takes the result out of the build's directory, in a form that can be stored.
    async fn settle(&self, place: Place, made: &str, log: &Log) -> Result<Built, BuildError> {
        let known = Path::new(INSIDE).join(made);
        let made = place.path(made);
        let target = place.directory.with_extension("result");
        let bytes_max = self.limits.disk_bytes;
        let work = move || {
            let result = take_out(&made, target)?;
            let outcome = settle::Outcome { root: &result.0, known_as: &[&known], bytes_max };
            let notes = settle::settle(&outcome).map_err(|error| failed(error.to_string()))?;
            drop(place);
            Ok((result, notes))
        };
        let settled = tokio::task::spawn_blocking(work).await;
        let settled = settled.map_err(|error| BuildError::Unavailable(error.to_string()))?;
        let (directory, notes) = settled?;
        for note in notes {
            log.say(&note).await;
        }
        Ok(Built { directory })
    }
}

/// Moves what was made to where it stays. A single file gets a directory.
fn take_out(made: &Path, target: PathBuf) -> Result<BuiltDirectory, BuildError> {
    let about = match fs::symlink_metadata(made) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let missing = "the build command ended well but made no $DEPLOY_PKG";
            return Err(failed(missing.to_owned()));
        }
        Err(error) => return Err(cannot(&error)),
    };
    if about.is_dir() {
        fs::rename(made, &target).map_err(|error| cannot(&error))?;
        return Ok(BuiltDirectory(target));
    }
    if !about.is_file() {
        return Err(failed("$DEPLOY_PKG is neither a file nor a directory".to_owned()));
    }
    let only = target.join(ONE_FILE);
    fs::create_dir(&target)
        .and_then(|()| fs::rename(made, only))
        .map_err(|error| cannot(&error))?;
    Ok(BuiltDirectory(target))
}

fn failed(why: String) -> BuildError {
    BuildError::Failed(why)
}

fn cannot(error: &io::Error) -> BuildError {
    BuildError::Unavailable(error.to_string())
}

fn not_started(name: &str, error: &io::Error) -> BuildError {
    let by_itself = matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory
    );
    // `ENOEXEC`: a script without a first line that says what runs it.
    if by_itself || error.raw_os_error() == Some(8) {
        failed(format!(
            "`{name}` cannot be started: {error}; is it in the package, and does it begin with `#!`?"
        ))
    } else {
        BuildError::Unavailable(format!("`{name}` cannot be started: {error}"))
    }
}

/// The directory of one build, which goes when the build is over.
struct Place {
    directory: PathBuf,
    remover: Remover,
}

impl Place {
    fn new(above: &Path, remover: &Remover) -> io::Result<Self> {
        let directory = above.join(format!("{:032x}", rand::random::<u128>()));
        fs::DirBuilder::new().mode(0o755).create(&directory)?;
        let place = Self { directory, remover: remover.clone() };
        fs::DirBuilder::new().mode(0o755).create(place.path(TEMPORARY))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The thread ends only when no sender is left, and this is one.
        drop(self.remover.send(std::mem::take(&mut self.directory)));
    }
}
