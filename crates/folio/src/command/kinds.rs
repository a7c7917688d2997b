//! `folio convert`, `folio crds` and `folio explain`: manifests in any served version, without a server.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use folio_kinds::explain::{ExplainError, Explained, ExplainedField};
use folio_kinds::{Bagged, Converter, Manifest, ManifestError};
use serde::Serialize;
use serde_json::Value;

use crate::cli::Globals;
use crate::config::Config;
use crate::output::{self, Format};
use crate::problem::Problem;

/// What to convert, and to what.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The file with one or more manifests, or `-` for standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// The version to convert to
    #[arg(long, value_name = "VERSION", default_value = folio_kinds::HUB_VERSION)]
    to: String,
}

/// What to declare.
#[derive(Debug, Args)]
pub(crate) struct Crds {
    /// Have the cluster convert between versions at this address, where folio's `/convert` is; the authority of `--ca` or of the
    /// data directory is written down with it
    #[arg(long, value_name = "URL")]
    convert: Option<String>,
}

/// What to explain.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A kind, or a property of one, such as `function.spec.run`
    #[arg(value_name = "KIND[.FIELD]")]
    subject: String,
    /// The version to look at [default: the newest]
    #[arg(long, value_name = "VERSION")]
    api_version: Option<String>,
}

/// Converts every manifest of a file, or none.
pub(crate) fn convert(convert: &Convert, format: Format) -> Result<()> {
    let text = read(&convert.file)?;
    let manifests = Manifest::parse_all(&text).map_err(refused(&convert.file, 0))?;
    let mut values = Vec::new();
    let mut talk = Vec::new();
    for (index, manifest) in manifests.iter().enumerate() {
        let converted = folio_kinds::convert(manifest, &convert.to);
        let converted = converted.map_err(refused(&convert.file, index + 1))?;
        let name = manifest.name().unwrap_or("without a name");
        let kind = manifest.kind().map(|kind| kind.name).unwrap_or_default();
        for Bagged { path, version } in &converted.bagged {
            talk.push(format!("{kind} {name}: kept in the bag: {path} (of {version})"));
        }
        for path in &converted.hidden {
            talk.push(format!("{kind} {name}: not shown in {}: {path}", convert.to));
        }
        values.push(converted.manifest.as_value());
    }
    print(&values, format)?;
    talk.iter().for_each(|line| output::talk(line));
    Ok(())
}

/// Prints the declarations of every kind. A converter is named with the authority that clients here trust.
pub(crate) fn crds(crds: &Crds, config: &Config, globals: &Globals) -> Result<()> {
    let Some(url) = crds.convert.as_deref() else {
        return print(&folio_kinds::crds(None), globals.format());
    };
    if !url.starts_with("https://") {
        let problem = Problem::usage(format!("a cluster does not call `{url}`"));
        return Err(problem.hint("it takes an address with https:// only").into());
    }
    let ca = config.access(url, globals.ca.as_deref())?.ca.map(|ca| BASE64.encode(ca));
    let converter = Converter { url, ca: ca.as_deref() };
    print(&folio_kinds::crds(Some(converter)), globals.format())
}

/// Prints what a kind or a property is.
pub(crate) fn explain(explain: &Explain, format: Format) -> Result<()> {
    let refused = |error: ExplainError| Problem::new(error.to_string()).hint(error.hint());
    let explained = folio_kinds::explain(&explain.subject, explain.api_version.as_deref());
    let explained = explained.map_err(refused)?;
    format.item(&Shown::from(&explained), |_| words(&explained))
}

fn read(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.context("standard input cannot be read")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).map_err(|error| {
        let problem = Problem::new(format!("{} cannot be read", file.display()));
        anyhow::Error::new(error).context(problem.hint("give a file of manifests, or `-`"))
    })
}

/// A failure that says which of a file's manifests is meant; 0 is the file itself.
fn refused(file: &Path, number: usize) -> impl Fn(ManifestError) -> Problem + '_ {
    move |error| {
        let place = match number {
            0 => file.display().to_string(),
            number => format!("{}, manifest {number}", file.display()),
        };
        Problem::new(format!("{place}: {error}")).hint(error.hint())
    }
}

fn print(values: &[Value], format: Format) -> Result<()> {
    match (format, values) {
        (Format::Json, [value]) => output::print(&serde_json::to_string_pretty(value)?),
        (Format::Json, values) => output::print(&serde_json::to_string_pretty(values)?),
        (Format::Table | Format::Wide | Format::Yaml, values) => {
            let documents: Result<Vec<_>, _> = values.iter().map(serde_saphyr::to_string).collect();
            output::print(&documents?.join("---\n"))
        }
    }
}

fn words(explained: &Explained) -> String {
    let mut lines =
        vec![format!("KIND:     {}", explained.kind), format!("VERSION:  {}", explained.version)];
    if !explained.path.is_empty() {
        lines.push(format!("FIELD:    {} <{}>", explained.path, explained.ty));
    }
    if !explained.description.is_empty() {
        lines.extend([String::new(), format!("    {}", explained.description)]);
    }
    if !explained.fields.is_empty() {
        lines.extend([String::new(), "FIELDS:".to_owned()]);
    }
    for ExplainedField { name, ty, is_required, description } in &explained.fields {
        let required = if *is_required { " -required-" } else { "" };
        lines.push(format!("  {name} <{ty}>{required}"));
        if !description.is_empty() {
            lines.push(format!("      {description}"));
        }
    }
    lines.join("\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    kind: &'a str,
    version: &'a str,
    path: &'a str,
    #[serde(rename = "type")]
    ty: &'a str,
    description: &'a str,
    fields: Vec<ShownField<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownField<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: &'a str,
    required: bool,
    description: &'a str,
}

impl<'a> From<&'a Explained> for Shown<'a> {
    fn from(explained: &'a Explained) -> Self {
        let fields = explained.fields.iter().map(|field| ShownField {
            name: field.name,
            ty: &field.ty,
            required: field.is_required,
            description: field.description,
        });
        Self {
            kind: explained.kind,
            version: explained.version,
            path: &explained.path,
            ty: &explained.ty,
            description: explained.description,
            fields: fields.collect(),
        }
    }
}
