//! One process that answers one request.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use folio_core::logs::{Printer, Stream};
use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError, Plan};
use http::{Request, Response};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, StreamBody};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::cgi::{self, Beginning};
use super::{Place, Site, executable};
use crate::code::{self, Code};
use crate::command::request::outgoing;
use crate::invoke::{self, InHand, InvokeSocket};
use crate::jail::{Cell, Ended, Mount, Prisoner, Stdin};
use crate::output::Output;
use crate::program;

/// Output that is waited for before an answer begins, in bytes and in time since the first.
const HELD_BYTES: usize = 64 * 1024;
const HELD_TIME: Duration = Duration::from_millis(50);

/// How long what a program printed last may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(200);

const PIECE_BYTES: usize = 64 * 1024;
const PROCESSES_MAX: u32 = 64;
const TMP_BYTES: u64 = 64 * 1024 * 1024;

/// A process that answers, and everything that goes when it does.
struct Process {
    prisoner: Prisoner,
    stdout: Receiver,
    output: Arc<Output>,
    /// Feeds standard input; an error is the caller's.
    feeding: JoinSet<Result<(), Broken>>,
    draining: JoinSet<()>,
    limit: Duration,
    _in_hand: InHand,
    _invoke: InvokeSocket,
    _room: Room,
    _code: Arc<Code>,
    _place: Place,
}

/// Starts a process and returns when its answer begins.
pub(super) async fn answer(
    site: &Arc<Site>,
    code: &Arc<Code>,
    plan: &Arc<Plan>,
    call: Call,
    place: Place,
) -> Result<Response<Body>, CallError> {
    let mut process = start(site, code, plan, call, place).await?;
    let deadline = Instant::now() + process.limit;
    let mut held = BytesMut::with_capacity(4 * 1024);
    let mut release: Option<Instant> = None;
    loop {
        let enough = held.len() >= HELD_BYTES || release.is_some_and(|at| Instant::now() >= at);
        let beginning = cgi::beginning(&held);
        if enough && !matches!(beginning, Beginning::Unfinished) {
            return Ok(process.stream(beginning, held.freeze()));
        }
        let until = if enough { deadline } else { release.unwrap_or(deadline) };
        match tokio::time::timeout_at(until, process.read(&mut held)).await {
            Ok(Ok(0)) => {
                process.finish().await?;
                return Ok(whole(cgi::beginning(&held), held.freeze()));
            }
            Ok(Ok(_)) => release = release.or_else(|| Some(Instant::now() + HELD_TIME)),
            Ok(Err(error)) => return Err(error),
            Err(_) if Instant::now() < deadline => {}
            Err(_) => return Err(CallError::Timeout(process.limit)),
        }
    }
}

fn whole(beginning: Beginning, output: Bytes) -> Response<Body> {
    match beginning {
        Beginning::Head(head, bytes) => head.map(|()| Body::from(output.slice(bytes..))),
        Beginning::Body | Beginning::Unfinished => Response::new(Body::from(output)),
    }
}

async fn start(
    site: &Arc<Site>,
    code: &Arc<Code>,
    plan: &Arc<Plan>,
    call: Call,
    place: Place,
) -> Result<Process, CallError> {
    let unavailable = |error: std::io::Error| CallError::Unavailable(error.to_string());
    let room = Room::new(site).map_err(unavailable)?;
    let invoke = InvokeSocket::listen(&room.directory, Some(Arc::clone(plan)), &site.ports);
    let invoke = invoke.map_err(unavailable)?;
    let (id, in_hand) = (call.id, invoke.begin(&call));
    let request = outgoing(plan, call).request;
    let cell = cell(site, &room, code, plan, &request)?;
    let jail = Arc::clone(&site.jail);
    let started = tokio::task::spawn_blocking(move || jail.start(cell)).await;
    let started = started.map_err(|error| CallError::Unavailable(error.to_string()))?;
    let mut prisoner = started
        .map_err(|error| CallError::Load(format!("the program cannot be started: {error}")))?;
    let printer = Printer { request: Some(id), ..Printer::default() };
    let output = Output::new(&site.ports.logs, Some(plan), printer);
    let mut draining = JoinSet::new();
    draining.spawn(Arc::clone(&output).drain(Stream::Stderr, prisoner.take_stderr()));
    let mut feeding = JoinSet::new();
    if let Some(stdin) = prisoner.take_stdin() {
        feeding.spawn(feed(stdin, request.into_body()));
    }
    let lost = || CallError::Unavailable("the program has no standard output".to_owned());
    let stdout = prisoner.take_stdout().ok_or_else(lost)?;
    Ok(Process {
        prisoner,
        stdout,
        output,
        feeding,
        draining,
        limit: plan.limits.timeout,
        _in_hand: in_hand,
        _invoke: invoke,
        _room: room,
        _code: Arc::clone(code),
        _place: place,
    })
}

fn cell(
    site: &Site,
    room: &Room,
    code: &Code,
    plan: &Plan,
    request: &Request<Body>,
) -> Result<Cell, CallError> {
    let found = executable(code, plan.entrypoint.as_deref())?;
    let inside = code.inside();
    let directory =
        if code.path().is_file() { inside.parent().map(Path::to_path_buf) } else { None };
    let mount = |from: &Path, to: &str| Mount { from: from.to_path_buf(), to: PathBuf::from(to) };
    Ok(Cell {
        program: found.program,
        arguments: found.arguments,
        variables: variables(site, plan, request),
        directory: directory.unwrap_or(inside),
        reads: vec![
            mount(site.codes.directory(), code::INSIDE),
            mount(&room.directory, invoke::INSIDE),
        ],
        writes: Vec::new(),
        files: plan.files.clone(),
        network: plan.spec.network,
        forward: None,
        memory_bytes: plan.limits.memory_bytes,
        cpu_millis: plan.limits.cpu_millis,
        processes_max: PROCESSES_MAX,
        tmp_bytes: TMP_BYTES,
        file_bytes_max: TMP_BYTES,
        descriptors: Vec::new(),
        stdin: Stdin::Piped,
    })
}

fn variables(site: &Site, plan: &Plan, request: &Request<Body>) -> Vec<(OsString, OsString)> {
    let own = plan.variables.iter().map(|(name, value)| (name.into(), value.into()));
    let usual = [
        ("PATH".into(), program::search_path(site.jail.interpreters())),
        ("HOME".into(), "/tmp".into()),
        ("LANG".into(), "C.UTF-8".into()),
    ];
    let invoke = InvokeSocket::variable(Path::new(invoke::INSIDE)).into_os_string();
    let length = request.body().size_hint().exact();
    let length = length.map(|bytes| ("CONTENT_LENGTH".into(), bytes.to_string().into()));
    let ours = length.into_iter().chain([("FOLIO_INVOKE".into(), invoke)]);
    // Later ones win: the function may change what is usual, the request decides what describes it.
    let all = usual.into_iter().chain(own).chain(ours).chain(cgi::variables(request));
    all.collect::<std::collections::BTreeMap<_, _>>().into_iter().collect()
}

/// A body that broke off. The program does not see its end, which it would take for that of a whole one.
struct Broken {
    error: CallError,
    _stdin: Sender,
}

async fn feed(mut stdin: Sender, mut body: Body) -> Result<(), Broken> {
    while let Some(frame) = body.frame().await {
        let bytes = match frame {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(error) => return Err(Broken { error: CallError::Body(error.0), _stdin: stdin }),
        };
        // A program need not read what it does not want.
        if stdin.write_all(&bytes).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

impl Process {
    /// Reads more output; 0 at its end. Fails if the request's body does.
    async fn read(&mut self, into: &mut BytesMut) -> Result<usize, CallError> {
        loop {
            into.reserve(PIECE_BYTES.min(16 * 1024));
            tokio::select! {
                read = self.stdout.read_buf(into) => {
                    return read.map_err(|error| CallError::Crashed(error.to_string()));
                }
                Some(fed) = self.feeding.join_next() => {
                    fed.unwrap_or(Ok(())).map_err(|broken| broken.error)?;
                }
            }
        }
    }

    /// Waits for the program's end and says what it means.
    async fn finish(&mut self) -> Result<(), CallError> {
        let limit = self.limit;
        let ended = timeout(limit, self.end()).await.map_err(|_| CallError::Timeout(limit))??;
        // Only for the log, so it may be cut short.
        drop(
            timeout(LAST_WORDS, async { while self.draining.join_next().await.is_some() {} }).await,
        );
        match ended {
            Ended::Exited(0) => Ok(()),
            Ended::Exited(_) => {
                self.output.add(Stream::System, &format!("the program {ended}"));
                Err(CallError::Failed)
            }
            Ended::Signalled(_) | Ended::OutOfMemory => Err(CallError::Crashed(ended.to_string())),
        }
    }

    /// How the program ended, once it has. Fails if the request's body does: a program that prints nothing may wait
    /// for the rest of it for ever.
    async fn end(&mut self) -> Result<Ended, CallError> {
        loop {
            tokio::select! {
                ended = self.prisoner.wait() => {
                    return ended.map_err(|error| CallError::Crashed(error.to_string()));
                }
                Some(fed) = self.feeding.join_next() => {
                    fed.unwrap_or(Ok(())).map_err(|broken| broken.error)?;
                }
            }
        }
    }

    /// Begins the answer with what there is; the rest follows as it comes.
    fn stream(self, beginning: Beginning, output: Bytes) -> Response<Body> {
        let (head, first) = match beginning {
            Beginning::Head(head, bytes) => (*head, output.slice(bytes..)),
            Beginning::Body | Beginning::Unfinished => (Response::new(()), output),
        };
        let pieces =
            futures::stream::try_unfold((self, first), |(mut process, first)| async move {
                if !first.is_empty() {
                    return Ok(Some((Frame::data(first), (process, Bytes::new()))));
                }
                let mut piece = BytesMut::new();
                let limit = process.limit;
                let read = timeout(limit, process.read(&mut piece)).await;
                match read.map_err(|_| CallError::Timeout(limit))?? {
                    0 => process.finish().await.map(|()| None),
                    _ => Ok(Some((Frame::data(piece.freeze()), (process, Bytes::new())))),
                }
            });
        head.map(|()| Body::stream(StreamBody::new(Box::pin(pieces))))
    }
}

/// The directory of one process, which goes with it.
struct Room {
    directory: PathBuf,
    remover: code::Remover,
}

impl Room {
    fn new(site: &Site) -> std::io::Result<Self> {
        let directory = site.rooms.join(format!("{:032x}", rand::random::<u128>()));
        std::fs::create_dir(&directory)?;
        Ok(Self { directory, remover: site.remover.clone() })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // The thread ends only when no sender is left, and this is one.
        drop(self.remover.send(std::mem::take(&mut self.directory)));
    }
}
