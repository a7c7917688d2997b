//! One operation of the API as data: where it is, what it says about itself, and what runs. Its inputs and
//! outputs are described by the very types its handler takes and gives, so the two cannot disagree.

use std::future::Future;

use axum::Extension;
use axum::extract::{FromRequest, State};
use axum::http::Method;
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter, on};
use folio_core::Folio;
use folio_model::Right;
use serde_json::Value;

use crate::failure::Failure;
use crate::openapi::Schemas;

/// One entry of the table.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) inputs: fn(&mut Schemas) -> Inputs,
    pub(crate) outputs: fn(&mut Schemas) -> Vec<Output>,
    pub(crate) route: MethodRouter<Folio>,
}

/// What an operation takes, as the document says it.
#[derive(Default)]
pub(crate) struct Inputs {
    /// Whether no token is needed.
    pub(crate) is_open: bool,
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<Value>,
}

/// What an operation answers with a status, as the document says it.
pub(crate) struct Output {
    pub(crate) status: u16,
    pub(crate) says: &'static str,
    pub(crate) content: Value,
    pub(crate) headers: &'static [&'static str],
}

/// What a handler takes.
pub(crate) trait Decode: FromRequest<Folio, Rejection = Failure> + Send + 'static {
    /// Describes it for the document.
    fn describe(schemas: &mut Schemas) -> Inputs;
}

/// What a handler gives.
pub(crate) trait Encode: IntoResponse + Send + 'static {
    /// Describes it for the document, usual answer first.
    fn describe(schemas: &mut Schemas) -> Vec<Output>;
}

/// Where an operation is: its method and path.
pub(crate) type Place = (Method, &'static str);

/// What an operation needs, where it is not the usual right of what it takes.
#[derive(Clone, Copy)]
pub(crate) enum Needs {
    /// A right in the app that the path names; where it names none, in any.
    Here(Right),
    /// A right in every app.
    Everywhere(Right),
    /// To administer the server.
    Server,
}

impl Operation {
    /// Says that the operation needs another right than its like.
    pub(crate) fn needs(self, needs: Needs) -> Self {
        Self { route: self.route.layer(Extension(needs)), ..self }
    }

    /// Puts an operation together. `id` names it for generated clients and never changes.
    pub(crate) fn new<I, O, H, F>(
        (method, path): Place,
        id: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        I: Decode,
        O: Encode,
        H: Fn(Folio, I) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).expect("the table has usual methods");
        let run = move |State(folio): State<Folio>, input: I| handler(folio, input);
        let route = on(filter, run);
        Self { method, path, id, summary, inputs: I::describe, outputs: O::describe, route }
    }
}
