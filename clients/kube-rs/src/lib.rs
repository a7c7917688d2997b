//! folio's objects as types of the Rust client of Kubernetes, as somebody who writes a controller for them would have them.

pub mod own;

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A function.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "fission.io",
    version = "v1",
    kind = "Function",
    namespaced,
    schema = "disabled",
    status = "FunctionStatus"
)]
pub struct FunctionSpec {
    /// What runs it.
    pub environment: Named,
    /// What it is made of.
    pub package: PackageRef,
    /// Seconds that a call may take.
    #[serde(rename = "functionTimeout", skip_serializing_if = "Option::is_none")]
    pub function_timeout: Option<i64>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How a function stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionStatus {
    /// What the server says of it.
    #[serde(flatten)]
    pub said: Map<String, Value>,
}

/// A package.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "fission.io", version = "v1", kind = "Package", namespaced, schema = "disabled")]
pub struct PackageSpec {
    /// What runs it.
    pub environment: Named,
    /// Its files.
    pub deployment: Archive,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// How they are given.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// One file in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub literal: Option<String>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Something by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The package of a function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PackageRef {
    /// Which.
    pub packageref: Named,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Named {
    /// Something in the usual namespace.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}
