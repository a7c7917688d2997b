//! The server side of a worker's socket.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, Invoke, Plan, RequestId};
use folio_model::Reference;
use http::uri::PathAndQuery;
use http::{HeaderMap, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::Asker;
use super::answer::Refusal;
use super::in_hand::Lineage;
use crate::headers;

/// Connections of one worker at the same time. The next waits in the kernel's queue.
const CONNECTIONS_MAX: usize = 128;

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes connections until it is dropped.
pub(super) async fn accept(listener: UnixListener, asker: Arc<Asker>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&asker)))),
                Err(error) => {
                    // Out of descriptors, most likely: others close theirs, so wait rather than end.
                    tracing::warn!(%error, "Could not take a call from a function");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

async fn serve(stream: UnixStream, asker: Arc<Asker>) {
    let service = service_fn(|request| {
        let asker = Arc::clone(&asker);
        async move { Ok::<_, Infallible>(answer(&asker, request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).half_close(true);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "A function's call broke off");
    }
}

async fn answer(asker: &Asker, request: Request<Incoming>) -> Response<Body> {
    let (asking, lineage) = asker.requests.asking(claimed(request.headers()));
    let id = asking.unwrap_or_else(|| RequestId(rand::random()));
    match asker.plan.get() {
        Some(plan) => {
            let asks = Asking { plan, id, lineage: lineage.called() };
            pass_on(asks, &asker.ports.invoke, request.map(Body::stream)).await
        }
        None => Refusal::Nobody.answer(id),
    }
}

/// Who asks, and in which request.
pub(crate) struct Asking<'a> {
    /// The function's plan.
    pub(crate) plan: &'a Arc<Plan>,
    /// The request that asks.
    pub(crate) id: RequestId,
    /// Where the request comes from, the function called now included.
    pub(crate) lineage: Lineage,
}

/// Passes a call of one function to the one its path names. What comes to nothing is an answer too.
pub(crate) async fn pass_on(
    asks: Asking<'_>,
    invoke: &OnceLock<Invoke>,
    request: Request<Body>,
) -> Response<Body> {
    let id = asks.id;
    pass(asks, invoke, request).await.unwrap_or_else(|refusal| refusal.answer(id))
}

async fn pass(
    asks: Asking<'_>,
    invoke: &OnceLock<Invoke>,
    request: Request<Body>,
) -> Result<Response<Body>, Refusal> {
    let invoke = invoke.get().ok_or(Refusal::NoInvoke)?;
    let (mut parts, body) = request.into_parts();
    let (reference, path) = target(&parts.uri)?;
    parts.uri = Uri::from(path);
    headers::drop_hop_by_hop(&mut parts.headers);
    headers::drop_claims(&mut parts.headers);
    let request = Request::from_parts(parts, body);
    let Asking { plan, id, lineage: Lineage { hops, release } } = asks;
    let call = Call { id, request, parameters: Vec::new(), original: None, hops, release };
    Ok(invoke(Arc::clone(plan), reference, call).await?)
}

/// Reads `/name@version/rest?query` as a function and the path it sees.
fn target(uri: &Uri) -> Result<(Reference, PathAndQuery), Refusal> {
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    if name.is_empty() {
        return Err(Refusal::NoName);
    }
    // Clients may write the one special character of a reference either way.
    let text = name.replace("%40", "@");
    let bad = |why: String| Refusal::BadName { text: text.clone(), why };
    let reference: Reference = text.parse().map_err(|error| bad(format!("{error}")))?;
    if reference.app.is_some() {
        return Err(Refusal::OtherApp(text));
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("/{rest}{query}").parse();
    let path = path.map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
    Ok((reference, path))
}

fn claimed(headers: &HeaderMap) -> Option<RequestId> {
    let text = headers.get("folio-request-id")?.to_str().ok()?;
    u128::from_str_radix(text, 16).ok().map(RequestId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segment_names_the_function() {
        let check = |uri: &str, reference: &str, path: &str| {
            let (found, rest) = target(&uri.parse().unwrap()).unwrap();
            assert_eq!((found.to_string().as_str(), rest.as_str()), (reference, path));
        };
        check("/hello", "hello", "/");
        check("/hello/", "hello", "/");
        check("/hello@3/a/b?c=d", "hello@3", "/a/b?c=d");
        check("/hello%40prod?c", "hello@prod", "/?c");
        check("http://folio/hello//x", "hello", "//x");
    }

    #[test]
    fn a_path_without_a_function_is_refused() {
        for uri in ["/", "//hello", "/Hello World".replace(' ', "%20").as_str(), "/a@b@c"] {
            assert!(target(&uri.parse().unwrap()).is_err(), "{uri}");
        }
    }
}
