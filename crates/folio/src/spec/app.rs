//! `folio.yaml`: one file that says what an app is, for people without Fission manifests. It is read into the same
//! manifests and archives that a spec directory holds, and applied like them.

mod convert;
mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_kinds::spec::Document;
use folio_model::{Access, Name, Reference};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::convert::Writer;
use self::read::Reader;
use super::directory::Spec;

/// The file's name.
pub(crate) const APP_FILE: &str = "folio.yaml";

/// What the schema is called, wherever a copy of it lies.
const SCHEMA_ID: &str = "https://folio.dev/schemas/folio.schema.json";

/// What `folio init` writes.
pub(crate) const STARTER: &str = include_str!("app/starter.yaml");

/// What an app is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppManifest {
    /// What this deployment is called. Whoever deploys under the same name changes the same things.
    pub(crate) name: Name,
    /// Functions by name.
    #[serde(default)]
    pub(crate) functions: BTreeMap<Name, Function>,
    /// Files that are served as they are.
    #[serde(default, rename = "static")]
    pub(crate) statics: Vec<Static>,
    /// Configs by name, each with its values.
    #[serde(default)]
    pub(crate) config: BTreeMap<Name, BTreeMap<String, Value>>,
    /// Which requests go to which function.
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
    /// When which function is called.
    #[serde(default)]
    pub(crate) timers: Vec<Timer>,
}

/// A function.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Function {
    /// The environment it runs in: `nodejs`, `python`, `wasm`, `binary`, or one of the app's own.
    pub(crate) environment: Name,
    /// Its code: a file or a directory.
    pub(crate) src: PathBuf,
    /// Patterns of files to leave out, relative to the directory that `src` is in.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    /// The command that builds the code, if it has to be built.
    #[serde(default)]
    pub(crate) build: Option<String>,
    /// What to call inside the code.
    #[serde(default)]
    pub(crate) entrypoint: Option<String>,
    /// Who may call it through the gateway; everybody if absent.
    #[serde(default)]
    pub(crate) access: Option<Access>,
    /// Environment variables.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, Scalar>,
    /// The configs it reads.
    #[serde(default)]
    pub(crate) configs: Vec<Name>,
    /// The secrets it reads.
    #[serde(default)]
    pub(crate) secrets: Vec<Name>,
    /// How long one request may take, such as `30s`.
    #[serde(default)]
    pub(crate) timeout: Option<Scalar>,
    /// Memory of one worker, such as `256MiB`.
    #[serde(default)]
    pub(crate) memory: Option<Scalar>,
    /// Requests one worker has in hand at the same time.
    #[serde(default)]
    pub(crate) concurrency: Option<u32>,
    /// Workers that are kept however idle.
    #[serde(default)]
    pub(crate) min_scale: Option<u32>,
    /// Workers at most.
    #[serde(default)]
    pub(crate) max_scale: Option<u32>,
}

/// Files that are served as they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Static {
    /// What the item is called; made of its path if absent.
    #[serde(default)]
    pub(crate) name: Option<Name>,
    /// A directory, whose contents are served, or a file.
    pub(crate) src: PathBuf,
    /// Where: the contents of a directory below this path, a file at it.
    pub(crate) path: String,
    /// Patterns of files to leave out, relative to the directory that `src` is in.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    /// Whether files and directories whose names begin with a dot are served, too; of those only `.well-known` is if
    /// absent.
    #[serde(default)]
    pub(crate) dotfiles: bool,
    /// The file that stands for a directory; `index.html` if absent.
    #[serde(default)]
    pub(crate) index: Option<String>,
    /// The file that answers for paths that lead nowhere, as single-page apps need it.
    #[serde(default)]
    pub(crate) fallback: Option<String>,
    /// The file that is shown, with status 404, for what is not found.
    #[serde(default)]
    pub(crate) error_page: Option<String>,
    /// Headers that every answer has.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// How long a browser need not ask again, such as `1h`; it always asks if absent.
    #[serde(default)]
    pub(crate) expires: Option<Scalar>,
}

/// Which requests go to a function.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Route {
    /// What the route is called; made of its path if absent.
    #[serde(default)]
    pub(crate) name: Option<Name>,
    /// The path: `/a` for one, `/a/*` for everything at and below `/a`, `/a/**` where the function sees the prefix too.
    pub(crate) path: String,
    /// The function, and which of its versions: `hello`, `hello@prod`.
    #[schemars(with = "String")]
    pub(crate) function: Reference,
    /// The methods it takes; all if absent.
    #[serde(default)]
    pub(crate) methods: Vec<String>,
    /// The host it answers to; all of the app's if absent.
    #[serde(default)]
    pub(crate) host: Option<String>,
}

/// When a function is called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Timer {
    /// What the timer is called.
    pub(crate) name: Name,
    /// When: `30 6 * * *`, `@hourly` or `@every 5m`.
    pub(crate) cron: String,
    /// The time zone; UTC if absent.
    #[serde(default)]
    pub(crate) zone: Option<String>,
    /// The function, and which of its versions.
    #[schemars(with = "String")]
    pub(crate) function: Reference,
}

/// A text, also where it is written as a number or a truth value.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, a number or a truth value")]
pub(crate) enum Scalar {
    /// A truth value.
    Truth(bool),
    /// A number.
    Number(serde_json::Number),
    /// A text.
    Text(String),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truth(truth) => truth.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The name of a static item that was given none.
pub(crate) fn static_name(path: &str) -> Result<Name, String> {
    convert::named("static", path)
}

impl AppManifest {
    /// Reads a file into the manifests and archives that it stands for, and notes everything that is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Spec> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read `{}`", path.display()))?;
        let document = Document { line: 1, text: &text };
        let mut writer = Writer::new(path, document.places());
        match serde_saphyr::from_str::<Self>(&text) {
            Ok(app) => writer.app(app),
            Err(error) => {
                Reader { writer: &mut writer }.read(&document);
                // Whatever made no sense in it is told, also where each part of it by itself does.
                if writer.spec.causes.is_empty() {
                    let error = error.without_snippet();
                    let place = error.location().map(|place| (place.line(), place.column()));
                    let index = |place| usize::try_from(place).unwrap_or(1).max(1);
                    let (line, column) = place.unwrap_or((1, 1));
                    writer.wrong_at((index(line), index(column)), error.to_string());
                }
            }
        }
        Ok(writer.spec)
    }

    /// Its JSON Schema, for editors.
    pub(crate) fn schema() -> Value {
        let mut schema = serde_json::to_value(schemars::schema_for!(Self)).unwrap_or_default();
        schema["$id"] = SCHEMA_ID.into();
        schema["title"] = APP_FILE.into();
        schema
    }
}
