//! A runtime whose functions do what their names say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::Body;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, Runtime, RuntimeStatus,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

/// More than all buffers on the way to a client hold.
const LARGE_BYTES: usize = 64 * 1024 * 1024;

/// Answers by the name of the function: `echo` tells what it was given, `load` and the like fail in their way.
#[derive(Default)]
pub(crate) struct Stub {
    /// How many calls began.
    pub(crate) began: AtomicUsize,
    /// Woken when a call of `wait` began.
    pub(crate) waiting: Notify,
    /// Lets a call of `wait` go on.
    pub(crate) go: Notify,
}

#[async_trait]
impl Runtime for Stub {
    async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<Response<Body>, CallError> {
        self.began.fetch_add(1, Ordering::SeqCst);
        let why = || "secret detail".to_owned();
        match plan.function.as_str() {
            "load" => Err(CallError::Load(why())),
            "failed" => Err(CallError::Failed),
            "timeout" => Err(CallError::Timeout(Duration::from_secs(1))),
            "crashed" => Err(CallError::Crashed(why())),
            "garbled" => Err(CallError::Garbled(why())),
            "busy" => Err(CallError::Busy),
            "full" => Err(CallError::Full),
            "loop" => Err(CallError::Loop(17)),
            "unavailable" => Err(CallError::Unavailable(why())),
            "stopping" => Err(CallError::Stopping),
            "short" => Ok(Response::new(Body::Full(Bytes::from_static(b"short")))),
            "large" => Ok(Response::new(Body::Full(Bytes::from(vec![b'a'; LARGE_BYTES])))),
            "liar" => Ok(liar()),
            "early" => Ok(with_status(StatusCode::CONTINUE)),
            "switch" => Ok(with_status(StatusCode::SWITCHING_PROTOCOLS)),
            "tunnel" => tunnel(call).await,
            "wait" => {
                self.waiting.notify_one();
                self.go.notified().await;
                echo(plan, call).await
            }
            _ => echo(plan, call).await,
        }
    }

    async fn prepare(&self, _plan: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, _plan: &Arc<Plan>) {}

    async fn build(&self, _order: BuildOrder, _log: BuildLog) -> Result<Built, BuildError> {
        Err(BuildError::Failed("nothing is built here".to_owned()))
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus::default()
    }

    async fn stop(&self, _grace: Duration) {}
}

/// Tells everything it was given.
async fn echo(plan: &Plan, call: Call) -> Result<Response<Body>, CallError> {
    let (parts, body) = call.request.into_parts();
    let body = body.collect().await.map_err(|error| CallError::Body(error.to_string()))?;
    let told = json!({
        "version": format!("{}@{}", plan.function, plan.at),
        "method": parts.method.as_str(),
        "uri": parts.uri.to_string(),
        "original": call.original.map(|original| original.to_string()),
        "parameters": call.parameters.iter().map(|(name, value)| json!([&**name, value])).collect::<Vec<_>>(),
        "headers": headers(&parts.headers),
        "body": String::from_utf8_lossy(&body.to_bytes()),
        "id": call.id.to_string(),
    });
    let mut response = Response::new(Body::Full(Bytes::from(told.to_string())));
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    Ok(response)
}

fn headers(headers: &HeaderMap) -> Value {
    let line = |(name, value): (&http::HeaderName, &HeaderValue)| {
        (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes())))
    };
    Value::Object(headers.iter().map(line).collect())
}

/// Claims what only folio may claim, and a length that is not its own.
fn liar() -> Response<Body> {
    let mut response = Response::new(Body::Full(Bytes::from_static(b"hello")));
    for (name, value) in [
        ("folio-version", "other@v9"),
        ("folio_request_id", "mine"),
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("transfer-encoding", "chunked"),
        ("content-length", "3"),
        ("x-kept", "1"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn with_status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = status;
    response
}

/// A server that switches protocols and then sends everything back in capitals.
async fn tunnel(call: Call) -> Result<Response<Body>, CallError> {
    let (near, mut far) = tokio::io::duplex(1024);
    let server = async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(far.read_u8().await.unwrap());
        }
        let answer =
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\n";
        far.write_all(answer).await.unwrap();
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = far.read(&mut bytes).await {
            bytes[..read].make_ascii_uppercase();
            far.write_all(&bytes[..read]).await.unwrap();
        }
    };
    let io = hyper_util::rt::TokioIo::new(near);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(server);
    tasks.spawn(async move {
        drop(connection.with_upgrades().await);
    });
    tasks.detach_all();
    let response = sender.send_request(call.request).await.unwrap();
    Ok(response.map(Body::stream))
}
