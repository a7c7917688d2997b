//! Everything that is served on the control port, face by face, made from the tables that the faces themselves are made
//! from: for whoever checks who may use what, so that nothing new is forgotten.

use crate::table::operations;
use crate::{kube, qinling};

/// One thing that can be asked. Names in braces stand for what is asked about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Whom it is for.
    pub face: Face,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
}

/// A door of the control port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Face {
    /// folio's own.
    Folio,
    /// Qinling's.
    Qinling,
    /// Kubernetes' style.
    Kubernetes,
}

/// Every endpoint there is.
pub fn endpoints() -> Vec<Endpoint> {
    let at = |face, method: &str, path: String| Endpoint { face, method: method.to_owned(), path };
    let own = operations()
        .into_iter()
        .map(|operation| at(Face::Folio, operation.method.as_str(), operation.path.to_owned()));
    let (method, path) = qinling::OPEN;
    let calls = qinling::CALLS.iter().map(|(method, path, _)| (*method, *path));
    let calls = calls.chain([(method, path)]);
    let calls = calls.map(|(method, path)| at(Face::Qinling, method, format!("/v1/{path}")));
    let roots = ["/", "/v1"].map(|path| at(Face::Qinling, "GET", path.to_owned()));
    let objects = kube::endpoints().into_iter();
    let objects = objects.map(|(method, path)| at(Face::Kubernetes, method, path));
    own.chain(calls).chain(roots).chain(objects).collect()
}
