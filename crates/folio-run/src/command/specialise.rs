//! Fission's environment contract: a generic server is told once which function it serves.
//!
//! Version 2 and later: `POST /v2/specialize` with the path of the code and what to call in it. Version 1:
//! `POST /specialize`, the code lies at `/userfunc/user`. Any status below 300 means that it is loaded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::Body;
use folio_core::ports::runtime::{CallError, Plan};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde_json::json;

use super::server::Server;
use crate::code::Code;

/// How long loading a function may take.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of a server's explanation that are read, and characters of it that are told.
const REASON_BYTES_MAX: usize = 64 * 1024;
const REASON_CHARS_MAX: usize = 2000;

/// Makes a generic server serve a plan.
pub(super) async fn specialise(
    server: &Server,
    plan: &Arc<Plan>,
    code: Arc<Code>,
) -> Result<(), CallError> {
    server.bind(plan, Arc::clone(&code));
    let (status, reason) = post(server, load(plan, &code)).await?;
    if status.is_success() {
        return Ok(());
    }
    if !matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
        return Err(refused(status, &reason));
    }
    let user = server.user_functions().as_ref().join("user");
    std::os::unix::fs::symlink(code.inside(), user)
        .map_err(|error| CallError::Unavailable(error.to_string()))?;
    let request = request("/specialize", "text/plain", Body::Empty);
    match post(server, request).await? {
        (status, _) if status.is_success() => Ok(()),
        (status, reason) => Err(refused(status, &reason)),
    }
}

fn load(plan: &Plan, code: &Code) -> Request<Body> {
    let load = json!({
        "filepath": code.inside(),
        "functionName": plan.entrypoint.as_deref().unwrap_or_default(),
        "url": "",
        "FunctionMetadata": {
            "name": plan.function.as_str(),
            "namespace": plan.app.as_str(),
            "uid": plan.unit.to_string(),
            "resourceVersion": plan.at.to_string(),
            "creationTimestamp": null,
        },
        "envVersion": 3,
    });
    request("/v2/specialize", "application/json", Body::Full(Bytes::from(load.to_string())))
}

fn request(path: &str, content_type: &str, body: Body) -> Request<Body> {
    let request = Request::post(path).header("host", "localhost");
    let request = request.header("content-type", content_type).body(body);
    request.expect("every part is fixed and valid")
}

async fn post(server: &Server, request: Request<Body>) -> Result<(StatusCode, Bytes), CallError> {
    let exchange = async {
        let sent = server.connections().send(request).await;
        let (response, sender) =
            sent.map_err(|error| CallError::Load(format!("loading broke off: {error}")))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), REASON_BYTES_MAX).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        server.connections().keep(sender);
        Ok((status, body))
    };
    let in_time = tokio::time::timeout(LOAD_TIMEOUT, exchange);
    let slow = |_| CallError::Load(format!("loading took over {} s", LOAD_TIMEOUT.as_secs()));
    server.unless_ended(in_time).await?.map_err(slow)?
}

fn refused(status: StatusCode, reason: &[u8]) -> CallError {
    let reason = String::from_utf8_lossy(reason);
    let reason: String = reason.trim().chars().take(REASON_CHARS_MAX).collect();
    CallError::Load(format!("the environment's server says {}: {reason}", status.as_u16()))
}
