//! Calls a function for an execution, and makes an end of its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use folio_model::{Execution, ExecutionEnd, ExecutionStatus};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::request_id;
use crate::Folio;
use crate::ports::runtime::{Call, CallError, Plan};
use crate::ports::{Body, StoreError};
use crate::serving::Shown;

/// How long an execution may run.
const RUN_TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// Tells a function's worker that its answer is recorded: a raised error is part of the record.
const EXECUTION: HeaderName = HeaderName::from_static("folio-execution");

/// What those say who know Qinling.
const TIMEOUT: &str = "Function execution timeout.";
const CONSUMED: &str = "Function execution failed because of too much resource consumption";
const FAILED: &str = "Function invocation error";

/// What became of a call.
pub(super) enum Performed {
    /// It is over.
    Ended(ExecutionEnd),
    /// Nothing could run it now, for this reason.
    Later(String),
}

/// How a call ended.
struct Outcome {
    status: ExecutionStatus,
    output: Value,
}

impl Folio {
    /// Calls the function of an execution and waits for its answer, or for somebody to end it.
    pub(super) async fn call_function(&self, plan: &Arc<Plan>, execution: &Execution) -> Performed {
        let id = execution.id;
        let entered = self.at_work.enter(id);
        let capture = self.serving.running().map(|running| {
            let max = self.limits().execution_log_bytes_max;
            running.logs.capture(request_id(id), usize::try_from(max).unwrap_or(usize::MAX))
        });
        let start = Instant::now();
        let called = tokio::time::timeout(RUN_TIME_MAX, self.call_for(plan, execution));
        let outcome = tokio::select! {
            called = called => called.unwrap_or(Ok(Outcome::failed(TIMEOUT))),
            () = entered.told.notified() => Ok(Outcome::failed("Function execution cancelled.")),
        };
        let took = start.elapsed();
        let Outcome { status, output } = match outcome {
            Ok(outcome) => outcome,
            Err(later) => return Performed::Later(later),
        };
        let (printed, is_cut) = capture.map(|capture| capture.take()).unwrap_or_default();
        let cut = if is_cut { "(more was printed than is kept)\n" } else { "" };
        let log = format!("Start execution: {id}\n{printed}{cut}Finished execution: {id}\n");
        let duration_ms = u64::try_from(took.as_millis()).ok();
        let at = self.clock.now();
        Performed::Ended(ExecutionEnd { status, output: Some(output), log, at, duration_ms })
    }

    async fn call_for(&self, plan: &Arc<Plan>, execution: &Execution) -> Result<Outcome, String> {
        let release = self.release_of(execution).await.map_err(|error| error.to_string())?;
        let call = Call {
            id: request_id(execution.id),
            request: request(execution),
            parameters: Vec::new(),
            original: None,
            hops: 0,
            release,
        };
        let answer = match self.run(plan, call, Instant::now()).await.answer {
            Ok(answer) => answer,
            Err(error) => return unanswered(error),
        };
        let (head, body) = answer.into_parts();
        let max = self.limits().execution_result_bytes_max;
        let whole = Limited::new(body, usize::try_from(max).unwrap_or(usize::MAX)).collect().await;
        let bytes = match whole {
            Ok(whole) => whole.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("The result has more than the {max} bytes allowed.");
                return Ok(Outcome::failed(&why));
            }
            Err(error) => {
                return Ok(Outcome::failed(&format!("The answer broke off: {error}")));
            }
        };
        let is_json = head.headers.get(CONTENT_TYPE).is_some_and(|value| {
            value.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("json"))
        });
        let output = read(&bytes, is_json);
        let well = head.status.as_u16() < 400;
        let status = if well { ExecutionStatus::Success } else { ExecutionStatus::Failed };
        Ok(Outcome { status, output })
    }

    /// The release that an execution was accepted in, or what is live if that can no longer be reached.
    async fn release_of(&self, execution: &Execution) -> Result<Option<Arc<Shown>>, StoreError> {
        match &execution.asked.release {
            Some(stamp) => self.stamped(&execution.app, Some(stamp)).await,
            None => Ok(None),
        }
    }
}

impl Outcome {
    fn failed(why: &str) -> Self {
        Self { status: ExecutionStatus::Failed, output: json!(why) }
    }
}

/// The request a function sees: its input as the body.
fn request(execution: &Execution) -> http::Request<Body> {
    let input = execution.input.clone().filter(|input| !input.is_empty());
    let object = input.as_deref().is_some_and(is_object);
    let body = input.map_or(Body::Empty, |input| Body::Full(Bytes::from(input)));
    let mut request = http::Request::new(body);
    *request.method_mut() = http::Method::POST;
    let content_type = if object { "application/json" } else { "text/plain; charset=utf-8" };
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(id) = HeaderValue::from_str(&execution.id.to_string()) {
        request.headers_mut().insert(EXECUTION, id);
    }
    request
}

fn is_object(input: &str) -> bool {
    serde_json::from_str::<Value>(input).is_ok_and(|value| value.is_object())
}

/// What a function returned.
fn read(bytes: &Bytes, is_json: bool) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let parsed = if is_json { serde_json::from_slice(bytes).ok() } else { None };
    parsed.unwrap_or_else(|| json!(String::from_utf8_lossy(bytes)))
}

/// What no answer means: the function's own end, or that it has to wait.
fn unanswered(error: CallError) -> Result<Outcome, String> {
    Ok(match error {
        CallError::Timeout(_) => Outcome::failed(TIMEOUT),
        CallError::Crashed(_) => Outcome::failed(CONSUMED),
        CallError::Failed => Outcome::failed(FAILED),
        CallError::Load(why) | CallError::Damaged(why) | CallError::Garbled(why) => {
            Outcome::failed(&why)
        }
        CallError::Loop(_) | CallError::Body(_) => {
            Outcome { status: ExecutionStatus::Error, output: json!(error.to_string()) }
        }
        CallError::Busy | CallError::Full | CallError::Unavailable(_) | CallError::Stopping => {
            return Err(error.to_string());
        }
    })
}
