//! A call of a function through the control port: the request it shall see, inside one that names it.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderName, Method, Uri, header};
use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, RequestId};
use folio_core::{Caller, Folio};
use folio_model::{AppName, Reference, Right};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{AppPath, Read};
use crate::failure::Failure;
use crate::openapi::Schemas;
use crate::operation::{Decode, Inputs};
use crate::refusal::Refusal;
use crate::router;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallQuery {
    /// The function, such as `hello@prod`.
    function: Reference,
    /// The method it sees.
    #[serde(default = "post")]
    method: String,
    /// The path and query it sees.
    #[serde(default = "root")]
    path: String,
}

fn post() -> String {
    Method::POST.to_string()
}

fn root() -> String {
    "/".to_owned()
}

/// A function and the request it shall see.
pub(crate) struct Invocation {
    pub(crate) caller: Caller,
    pub(crate) app: AppName,
    pub(crate) function: Reference,
    pub(crate) call: Call,
}

/// Headers that are about this request and not about the one inside it.
const OUTER: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::EXPECT,
    header::UPGRADE,
];

impl FromRequest<Folio> for Invocation {
    type Rejection = Failure;
    async fn from_request(request: Request, folio: &Folio) -> Result<Self, Failure> {
        let id = router::request_number(&request);
        let read = Read::<AppPath, CallQuery>::new(request, folio, Right::Invoke).await?;
        let CallQuery { function, method, path } = read.query;
        let bad = |what: String| Refusal::bad(what, "see docs/api.md on calling functions");
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| bad(format!("`{method}` is not a method")))?;
        let uri: Uri = path.parse().map_err(|_| bad(format!("`{path}` is not a path")))?;
        if !path.starts_with('/') {
            return Err(bad(format!("`{path}` does not begin with `/`")).into());
        }
        let mut headers = read.parts.headers;
        OUTER.iter().for_each(|name| drop(headers.remove(name)));
        let mut request = axum::http::Request::new(Body::stream(read.body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let call = Call {
            id: RequestId(id),
            request,
            parameters: Vec::new(),
            original: None,
            hops: 0,
            release: None,
        };
        Ok(Self { caller: read.caller, app: read.path.app, function, call })
    }
}

impl Decode for Invocation {
    fn describe(schemas: &mut Schemas) -> Inputs {
        let mut parameters = schemas.parameters::<AppPath>("path");
        parameters.extend(schemas.parameters::<CallQuery>("query"));
        let body = json!({ "content": { "*/*": {} } });
        Inputs { is_open: false, parameters, body: Some(body) }
    }
}
