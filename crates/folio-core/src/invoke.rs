//! Calls functions: resolves a reference once, counts, and passes the request to the runtime. Decides nothing
//! about versions itself; what a reference means is `serving`'s to say.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use folio_model::{AppName, Reference, Right};
use futures::FutureExt as _;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::logs::{Printer, Stream};
use crate::measure::{self, Meter};
use crate::ports::runtime::{Call, CallError, Invoke, Plan, RequestId, Scale};
use crate::ports::{Body, BodyError, HEALING, StoreError};
use crate::request::Caller;
use crate::serving::{Meaning, Shown, Unresolved};
use crate::{Class, Code, Explain, Folio, token};

/// Why a call got no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reference leads to nothing that can be called.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// The function gave no answer.
    #[error("{}", told(.function, .reason))]
    Call {
        /// The function.
        function: folio_model::Name,
        /// The version's id, or `draft`.
        version: String,
        /// Why.
        reason: CallError,
    },
    /// They may not.
    #[error(transparent)]
    Forbidden(#[from] token::Forbidden),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Unresolved(error) => error.code(),
            Self::Call { reason, .. } => reason.code(),
            Self::Forbidden(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Unresolved(error) => error.class(),
            Self::Call { reason, .. } => reason.class(),
            Self::Forbidden(error) => error.class(),
            Self::Store(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unresolved(error) => error.hint(),
            Self::Call { reason: CallError::Load(_), function, .. } => Some(format!(
                "correct it and publish again; `folio fn logs {function}` may say more"
            )),
            Self::Call { reason: CallError::Failed | CallError::Crashed(_), function, .. } => {
                Some(format!("see `folio fn logs {function}`"))
            }
            Self::Call { reason, .. } => reason.hint(),
            Self::Forbidden(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// A failed call in words that name the function.
fn told(function: &folio_model::Name, error: &CallError) -> String {
    match error {
        CallError::Load(why) => {
            format!("the code of function `{function}` could not be loaded: {why}")
        }
        CallError::Damaged(why) => {
            format!("the code of function `{function}` cannot be read: {why}")
        }
        CallError::Failed => format!("function `{function}` failed"),
        CallError::Timeout(after) => {
            format!("function `{function}` did not answer within {} ms", after.as_millis())
        }
        CallError::Crashed(why) => format!("the worker of function `{function}` ended: {why}"),
        CallError::Garbled(why) => {
            format!("the answer of function `{function}` makes no sense: {why}")
        }
        CallError::Busy => format!("all workers of function `{function}` are busy"),
        CallError::Full => {
            format!("the server has no place for another worker of function `{function}`")
        }
        CallError::Unavailable(why) => format!("function `{function}` cannot run here: {why}"),
        CallError::Loop(_) | CallError::Body(_) | CallError::Stopping => error.to_string(),
    }
}

impl Explain for CallError {
    fn code(&self) -> Code {
        match self {
            Self::Load(_) => Code("function_load_failed"),
            Self::Damaged(_) => Code("corrupt"),
            Self::Failed => Code("function_failed"),
            Self::Timeout(_) => Code("function_timeout"),
            Self::Crashed(_) => Code("function_crashed"),
            Self::Garbled(_) => Code("function_garbled"),
            Self::Busy => Code("function_busy"),
            Self::Full => Code("server_full"),
            Self::Loop(_) => Code("call_loop"),
            Self::Unavailable(_) => Code("environment_unavailable"),
            Self::Body(_) => Code("request_body_broken"),
            Self::Stopping => Code("server_stopping"),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Timeout(_) => Class::Late,
            Self::Busy | Self::Full | Self::Unavailable(_) | Self::Stopping => Class::Unavailable,
            Self::Body(_) => Class::Invalid,
            Self::Damaged(_) => Class::Broken,
            Self::Load(_) | Self::Failed | Self::Crashed(_) | Self::Garbled(_) | Self::Loop(_) => {
                Class::Failed
            }
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Load(_) | Self::Failed | Self::Crashed(_) => {
                "`folio fn logs` shows what the function printed"
            }
            Self::Damaged(_) => HEALING,
            Self::Timeout(_) => {
                "give it longer with --fntimeout, or see its log for what it waits for"
            }
            Self::Garbled(_) => {
                "its log says what makes no sense; see which answers its environment understands"
            }
            Self::Busy => "try again, or allow more workers with --maxscale",
            Self::Full => "try again, or have the operator raise `workersMax`",
            Self::Loop(_) => "see its log for who calls whom",
            Self::Unavailable(_) => {
                "`folio status` shows what this host enforces; programs are found with `folio serve --command-directory`"
            }
            Self::Body(_) => "send the whole body, within its limit",
            Self::Stopping => "try again",
        };
        Some(hint.to_owned())
    }
}

/// What came of a request.
#[derive(Debug)]
pub struct Ran {
    /// Its answer, or why there is none.
    pub answer: Result<http::Response<Body>, CallError>,
    /// How long it took until then.
    pub took: Duration,
}

impl Folio {
    /// Passes a request that came at a moment to one version and counts it. Resolves when the answer begins. The
    /// request is the runtime's before the first poll, so that the future is small whatever is asked.
    pub fn run<'a>(
        &'a self,
        plan: &'a Arc<Plan>,
        call: Call,
        came: Instant,
    ) -> impl Future<Output = Ran> + Send + 'a {
        let id = call.id;
        let begun = match self.serving.running() {
            _ if u64::from(call.hops) > self.limits().call_hops_max => {
                Err(CallError::Loop(call.hops))
            }
            Some(running) => Ok((plan.meter.begin(), running.runtime.call(plan, call))),
            None => Err(CallError::Unavailable("this server runs no functions".to_owned())),
        };
        async move {
            let (active, answer) = match begun {
                Ok(begun) => begun,
                Err(error) => return Ran { answer: Err(error), took: came.elapsed() },
            };
            let answer = answer.await;
            let took = came.elapsed();
            plan.meter.record(status(&answer), took);
            if let Err(error) = &answer {
                self.tell_why(plan, id, error);
            }
            let answer = answer.map(|answer| answer.map(|body| while_it_lasts(body, &plan.meter)));
            drop(active);
            Ran { answer, took }
        }
    }

    /// Has a function's log say why a request got no answer, where its code cannot have said it.
    fn tell_why(&self, plan: &Plan, id: RequestId, why: &CallError) {
        let told = matches!(
            why,
            CallError::Load(_)
                | CallError::Damaged(_)
                | CallError::Crashed(_)
                | CallError::Garbled(_)
                | CallError::Timeout(_)
                | CallError::Unavailable(_)
        );
        if let Some(running) = self.serving.running().filter(|_| told) {
            let printer = Printer { request: Some(id), worker: None };
            let now = self.clock.now();
            running.logs.add(plan, now, Stream::System, printer, &why.to_string());
        }
    }

    /// Calls what a reference means now, for somebody who may call functions of the app that it is written in. Returns
    /// the version that answered, and the beginning of its answer.
    pub async fn invoke(
        &self,
        caller: &Caller,
        (app, reference): (&AppName, &Reference),
        call: Call,
    ) -> Result<(Arc<Plan>, http::Response<Body>), Error> {
        caller.may_name(Right::Invoke, reference)?;
        self.invoke_within(app, reference, call).await
    }

    /// Calls what a reference means now, for what belongs to the app itself.
    pub(crate) async fn invoke_within(
        &self,
        app: &AppName,
        reference: &Reference,
        call: Call,
    ) -> Result<(Arc<Plan>, http::Response<Body>), Error> {
        let plan = self.draw(app, reference, call.release.as_ref()).await?;
        match self.run(&plan, call, Instant::now()).await.answer {
            Ok(answer) => Ok((plan, answer)),
            Err(reason) => Err(Error::Call {
                function: plan.function.clone(),
                version: plan.at.to_string(),
                reason,
            }),
        }
    }

    /// Has a version of a function make more workers or let some go. Requests are served as before.
    pub async fn scale(
        &self,
        caller: &Caller,
        (app, function): (&AppName, &Reference),
        scale: Scale,
    ) -> Result<(), Error> {
        caller.may(Right::Deploy, Some(app))?;
        caller.may_name(Right::Deploy, function)?;
        let plan = self.draw(app, function, None).await?;
        if let Some(running) = self.serving.running() {
            running.runtime.scale(&plan, scale);
        }
        Ok(())
    }

    /// The version that the next call of a reference goes to. Inside a release, a function's latest is the
    /// version that the release holds.
    pub(crate) async fn draw(
        &self,
        app: &AppName,
        reference: &Reference,
        release: Option<&Arc<Shown>>,
    ) -> Result<Arc<Plan>, Error> {
        let held = match release {
            Some(release) => self.held(app, reference, release).await?,
            None => None,
        };
        let slot = match held {
            Some(held) => held,
            None => self.slot(app, reference).await?,
        };
        let meaning = slot.load();
        match &**meaning {
            Meaning::Nothing(unresolved) => Err(unresolved.clone().into()),
            Meaning::Versions(split) => Ok(Arc::clone(match split.sole() {
                Some(plan) => plan,
                None => {
                    let [a, b, c, d, ..] = self.clock.chance();
                    split.pick(u32::from_le_bytes([a, b, c, d]))
                }
            })),
        }
    }

    /// How functions call one another: those of their own app only, whatever app they write.
    pub fn calls_between_functions(&self) -> Invoke {
        let folio = self.clone();
        Arc::new(move |asks: Arc<Plan>, reference: Reference, call: Call| {
            let folio = folio.clone();
            async move {
                let reference = Reference { app: None, ..reference };
                match folio.invoke_within(&asks.app, &reference, call).await {
                    Ok((_, answer)) => Ok(answer),
                    Err(Error::Call { reason, .. }) => Err(reason),
                    Err(error) => Ok(refusal(&error)),
                }
            }
            .boxed()
        })
    }
}

/// What a function hears that called nothing: the reason as the API says it.
fn refusal(error: &Error) -> http::Response<Body> {
    let status = match error.class() {
        Class::NotFound => http::StatusCode::NOT_FOUND,
        Class::Broken => http::StatusCode::INTERNAL_SERVER_ERROR,
        _ => http::StatusCode::SERVICE_UNAVAILABLE,
    };
    let body = serde_json::json!({ "code": error.code().0, "message": error.to_string() });
    let mut answer = http::Response::new(Body::Full(Bytes::from(body.to_string())));
    *answer.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(http::header::CONTENT_TYPE, json);
    answer
}

/// The status an answer or its absence counts as.
fn status(answer: &Result<http::Response<Body>, CallError>) -> u16 {
    match answer {
        Ok(answer) => answer.status().as_u16(),
        Err(CallError::Body(_)) => 400,
        Err(CallError::Busy) => 429,
        Err(_) => 500,
    }
}

/// Counts a request as active until its answer has been sent, where that takes time.
fn while_it_lasts(body: Body, meter: &Arc<Meter>) -> Body {
    match body {
        Body::Stream(body) => {
            Body::Stream(Box::pin(Lasting { body, _active: meter.begin_lasting() }))
        }
        whole => whole,
    }
}

struct Lasting {
    body: Pin<Box<dyn http_body::Body<Data = Bytes, Error = BodyError> + Send>>,
    _active: measure::Lasting,
}

impl http_body::Body for Lasting {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.body.as_mut().poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
