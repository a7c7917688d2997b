//! One server: a process in its cell that answers HTTP. It serves one function version, from the moment it is told
//! which until it ends.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use folio_core::logs::{Printer, Stream};
use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError, Plan};
use folio_model::Timestamp;
use http::{Request, Response, StatusCode};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::Answer;
use super::connection::{self, Connections};
use super::request::{Outgoing, outgoing};
use super::site::{Program, Room, Site};
use crate::code::Code;
use crate::headers;
use crate::invoke::InvokeSocket;
use crate::jail::Prisoner;
use crate::output::Output;

/// How long a server may take until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const PAUSE_MIN: Duration = Duration::from_millis(25);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long a broken connection waits for news of its server's end.
const NEWS_TIMEOUT: Duration = Duration::from_millis(500);

/// A running server. Dropping it ends it.
pub(super) struct Server {
    prisoner: Arc<Prisoner>,
    connections: Connections,
    room: Room,
    invoke: InvokeSocket,
    output: Arc<Output>,
    ended: watch::Receiver<Option<String>>,
    given_up: AtomicBool,
    code: OnceLock<Arc<Code>>,
    pub(super) started_at: Timestamp,
    // Reads what it prints and waits for its end.
    _tasks: JoinSet<()>,
}

impl Server {
    /// Starts a program and waits until it answers.
    pub(super) async fn start(
        site: &Arc<Site>,
        plan: Option<&Arc<Plan>>,
        program: Program,
    ) -> Result<Self, CallError> {
        let unavailable = |error: std::io::Error| CallError::Unavailable(error.to_string());
        let room = Room::new(site).map_err(unavailable)?;
        let invoke = InvokeSocket::listen(&room.sockets(), plan.cloned(), &site.ports);
        let invoke = invoke.map_err(unavailable)?;
        let (jail, cell) = (Arc::clone(&site.jail), site.cell(&room, program));
        let started = tokio::task::spawn_blocking(move || jail.start(cell)).await;
        let started = started.map_err(|error| CallError::Unavailable(error.to_string()))?;
        let mut prisoner = started.map_err(|error| {
            CallError::Unavailable(format!("the server cannot be started: {error}"))
        })?;
        let printer = Printer { worker: Some(prisoner.pid()), ..Printer::default() };
        let output = Output::new(&site.ports.logs, plan, printer);
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&output).drain(Stream::Stdout, prisoner.take_stdout()));
        tasks.spawn(Arc::clone(&output).drain(Stream::Stderr, prisoner.take_stderr()));
        let prisoner = Arc::new(prisoner);
        let (end, ended) = watch::channel(None);
        let waited = Arc::clone(&prisoner);
        tasks.spawn(async move {
            let how = waited.wait().await.map_or_else(|e| e.to_string(), |how| how.to_string());
            end.send_replace(Some(how));
        });
        let server = Self {
            prisoner,
            connections: Connections::new(room.reached()),
            room,
            invoke,
            output,
            ended,
            given_up: AtomicBool::new(false),
            code: OnceLock::new(),
            started_at: Timestamp::now(),
            _tasks: tasks,
        };
        server.answers().await?;
        Ok(server)
    }

    /// Waits until the server answers anything at all.
    async fn answers(&self) -> Result<(), CallError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut pause = PAUSE_MIN;
        loop {
            let asked = tokio::time::timeout_at(deadline, self.connections.send(health()));
            match self.unless_ended(asked).await? {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(_)) if Instant::now() + pause < deadline => {}
                Ok(Err(_)) | Err(_) => {
                    return Err(CallError::Load(format!(
                        "the server did not answer within {} s of its start\n{}",
                        START_TIMEOUT.as_secs(),
                        self.output.tail()
                    )));
                }
            }
            self.unless_ended(tokio::time::sleep(pause)).await?;
            pause = PAUSE_MAX.min(pause * 2);
        }
    }

    /// Waits for something that only makes sense while the server runs.
    pub(super) async fn unless_ended<T>(
        &self,
        what: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        tokio::select! {
            done = what => Ok(done),
            how = self.end() => {
                let tail = self.output.tail();
                Err(CallError::Load(format!("the server {how} before it was ready\n{tail}")))
            }
        }
    }

    /// Says whom it serves from now on.
    pub(super) fn bind(&self, plan: &Arc<Plan>, code: Arc<Code>) {
        self.invoke.bind(plan);
        self.output.bind(plan);
        // A server serves one version in its life, so a second word could only repeat the first.
        drop(self.code.set(code));
    }

    /// Passes a call on and returns when its answer begins. `seat` is dropped when the answer is over.
    pub(super) async fn call(
        self: Arc<Self>,
        plan: &Plan,
        call: Call,
        seat: impl Send + Unpin + 'static,
    ) -> Result<Response<Body>, CallError> {
        let timeout = plan.limits.timeout;
        let guard = (self.invoke.begin(&call), seat);
        let Outgoing { request, upgrades } = outgoing(plan, call);
        if upgrades {
            let sent = self.connections.send_alone(request, Box::new(guard));
            let response = self.in_time(timeout, sent).await?;
            let (parts, body) = response.into_parts();
            // The other side finds the connection among the extensions of an answer that changes protocols.
            let body = match parts.status {
                StatusCode::SWITCHING_PROTOCOLS => Body::Empty,
                _ => Body::stream(Answer::new(body, None, self, timeout, ())),
            };
            return Ok(Response::from_parts(parts, body));
        }
        let (response, sender) = self.in_time(timeout, self.connections.send(request)).await?;
        let (mut parts, body) = response.into_parts();
        headers::drop_hop_by_hop(&mut parts.headers);
        parts.extensions.clear();
        let body = if hyper::body::Body::is_end_stream(&body) {
            self.connections.keep(sender);
            Body::Empty
        } else {
            Body::stream(Answer::new(body, Some(sender), self, timeout, guard))
        };
        Ok(Response::from_parts(parts, body))
    }

    async fn in_time<T>(
        &self,
        timeout: Duration,
        sent: impl Future<Output = Result<T, connection::Error>>,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(timeout, sent).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(error).await),
            Err(_) => {
                self.give_up();
                Err(CallError::Timeout(timeout))
            }
        }
    }

    async fn explain(&self, error: connection::Error) -> CallError {
        match error {
            connection::Error::Exchange(error) if error.is_user() => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                CallError::Body(source.unwrap_or_else(|| error.to_string()))
            }
            connection::Error::Exchange(error) if error.is_parse() => {
                self.give_up();
                CallError::Garbled(error.to_string())
            }
            error => {
                let news = tokio::time::timeout(NEWS_TIMEOUT, self.end()).await;
                self.give_up();
                CallError::Crashed(news.unwrap_or_else(|_| error.to_string()))
            }
        }
    }

    /// How it ended, once it has.
    pub(super) async fn end(&self) -> String {
        end(self.ended.clone()).await
    }

    /// A watch on its end that does not keep it running.
    pub(super) fn ended(&self) -> watch::Receiver<Option<String>> {
        self.ended.clone()
    }

    /// Gives it no more requests; it ends when it has answered those it has.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Whether it may get another request.
    pub(super) fn is_fit(&self) -> bool {
        !self.given_up.load(Ordering::Relaxed) && self.ended.borrow().is_none()
    }

    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The directory it may write to, outside.
    pub(super) fn user_functions(&self) -> impl AsRef<Path> {
        self.room.user_functions()
    }

    pub(super) fn pid(&self) -> u32 {
        self.prisoner.pid()
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.prisoner.memory_bytes().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The task that waits holds the prisoner too, and is gone only a moment later.
        self.prisoner.kill();
    }
}

/// Waits on a watch for a server's end. Whoever dropped the server ended it.
pub(super) async fn end(mut ended: watch::Receiver<Option<String>>) -> String {
    match ended.wait_for(Option::is_some).await {
        Ok(how) => how.clone().unwrap_or_default(),
        Err(_) => "was stopped".to_owned(),
    }
}

fn health() -> Request<Body> {
    let request = Request::builder().uri("/healthz").header("host", "localhost");
    request.body(Body::Empty).expect("every part is fixed and valid")
}
