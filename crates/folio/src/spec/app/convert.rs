//! From what people write to the manifests that are applied.

use std::path::{Path, PathBuf};

use folio_core::apply::UnreadDocument;
use folio_kinds::spec::Places;
use folio_model::Name;
use serde_json::{Map, Value, json};

use super::{AppManifest, Function, Route, Scalar, Static, Timer};
use crate::command::settings;
use crate::content::DotFiles;
use crate::problem::Cause;
use crate::spec::archives::{ArchiveSpec, Shape};
use crate::spec::directory::Spec;
use crate::spec::manifest::{Manifest, Said, Side};
use crate::spec::pinpoint;

/// The version that manifests are written in.
const VERSION: &str = "folio.dev/v1";

/// A share of all requests.
const ALL: u32 = 10_000;

/// Writes manifests and archives, and notes what cannot be written.
pub(super) struct Writer {
    /// Where paths start.
    base: PathBuf,
    file: PathBuf,
    /// Where everything is written.
    places: Places,
    pub(super) spec: Spec,
}

/// The files of a manifest.
struct Files<'a> {
    /// Which of its parts they are.
    side: Side,
    src: &'a Path,
    exclude: &'a [String],
    /// What becomes of the dot files of a directory.
    dot_files: DotFiles,
}

impl Writer {
    pub(super) fn new(file: &Path, places: Places) -> Self {
        let base = file.parent().map(Path::to_owned).unwrap_or_default();
        let spec = Spec { directory: file.to_owned(), ..Spec::default() };
        Self { base, file: file.to_owned(), places, spec }
    }

    /// Writes everything that an app is.
    pub(super) fn app(&mut self, app: AppManifest) {
        self.owned_by(&app.name);
        for (name, function) in app.functions {
            self.function(&name, function);
        }
        for (place, item) in app.statics.into_iter().enumerate() {
            self.item(place, item);
        }
        for (name, values) in app.config {
            self.config(&name, &json!(values));
        }
        for (place, route) in app.routes.into_iter().enumerate() {
            self.route(place, route);
        }
        for (place, timer) in app.timers.into_iter().enumerate() {
            self.timer(place, timer);
        }
    }

    pub(super) fn config(&mut self, name: &Name, values: &Value) {
        self.add(&format!("config.{name}"), ("Config", name), json!({ "values": values }));
    }

    pub(super) fn function(&mut self, name: &Name, function: Function) {
        let at = format!("functions.{name}");
        let Function { environment, src, exclude, build, entrypoint, access, .. } = &function;
        let package = match format!("{name}-pkg").parse::<Name>() {
            Ok(package) => package,
            Err(error) => return self.wrong(&at, &error.to_string()),
        };
        let side = if build.is_some() { Side::Source } else { Side::Deployment };
        let code = json!({ "environment": environment, "buildCommand": build });
        let files = Files { side, src, exclude, dot_files: DotFiles::Included };
        self.add_with(&at, ("Package", &package), code, &files);
        let timeout = self.number(&format!("{at}.timeout"), function.timeout.as_ref(), |text| {
            let time = settings::time(text)?;
            Ok(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        });
        let memory = function.memory.as_ref();
        let memory = self.number(&format!("{at}.memory"), memory, settings::bytes);
        let variables: Map<String, Value> = function
            .env
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string().into()))
            .collect();
        let run = json!({
            "variables": variables,
            "timeoutMs": timeout,
            "memoryBytes": memory,
            "concurrency": function.concurrency,
            "scaleMin": function.min_scale,
            "scaleMax": function.max_scale,
            "access": access,
        });
        let pins = |names: &[Name]| -> Vec<Value> {
            names.iter().map(|name| json!({ "name": name })).collect()
        };
        let spec = json!({
            "environment": environment,
            "package": { "name": package },
            "entrypoint": entrypoint,
            "run": said(run),
            "configs": pins(&function.configs),
            "secrets": pins(&function.secrets),
        });
        self.add(&at, ("Function", name), spec);
    }

    pub(super) fn item(&mut self, place: usize, item: Static) {
        let at = format!("static[{place}]");
        let name = match item.name.map_or_else(|| named("static", &item.path), Ok) {
            Ok(name) => name,
            Err(error) => return self.wrong(&at, &error),
        };
        let expires = self.number(&format!("{at}.expires"), item.expires.as_ref(), |text| {
            Ok(settings::time(text)?.as_secs())
        });
        let spec = json!({
            "path": item.path,
            "index": item.index,
            "fallback": item.fallback,
            "errorPage": item.error_page,
            "headers": item.headers,
            "expires": expires,
        });
        let dot_files = if item.dotfiles { DotFiles::Included } else { DotFiles::LeftOut };
        let (side, src, exclude) = (Side::Deployment, &item.src, &item.exclude);
        let files = Files { side, src, exclude, dot_files };
        self.add_with(&at, ("StaticAsset", &name), spec, &files);
    }

    pub(super) fn route(&mut self, place: usize, route: Route) {
        let at = format!("routes[{place}]");
        let name = match route.name.map_or_else(|| named("route", &route.path), Ok) {
            Ok(name) => name,
            Err(error) => return self.wrong(&at, &error),
        };
        let path = match (route.path.strip_suffix("/**"), route.path.strip_suffix("/*")) {
            (Some(prefix), _) => json!({ "prefix": { "path": whole(prefix), "keep": true } }),
            (None, Some(prefix)) => json!({ "prefix": { "path": whole(prefix) } }),
            (None, None) => json!({ "exact": route.path }),
        };
        let spec = json!({
            "path": path,
            "methods": route.methods,
            "host": route.host,
            "targets": [{ "function": route.function, "weight": ALL }],
        });
        self.add(&at, ("HTTPTrigger", &name), spec);
    }

    pub(super) fn timer(&mut self, place: usize, timer: Timer) {
        let spec = json!({
            "cron": timer.cron,
            "zone": timer.zone,
            "targets": [{ "function": timer.function, "weight": ALL }],
        });
        self.add(&format!("timers[{place}]"), ("TimeTrigger", &timer.name), spec);
    }

    fn add(&mut self, at: &str, (kind, name): (&str, &Name), spec: Value) {
        let manifest = self.manifest(at, (kind, name), spec);
        self.spec.manifests.push(manifest);
    }

    /// Adds a manifest with files.
    fn add_with(&mut self, at: &str, unit: (&str, &Name), spec: Value, files: &Files<'_>) {
        let Files { side, src, exclude, dot_files } = *files;
        let path = self.base.join(src);
        let shape = match (path.is_dir(), path.is_file()) {
            (true, _) => Shape::Directory,
            (_, true) => Shape::File,
            _ => {
                // What names it is not told that it is missing.
                let (kind, name) = (Some(unit.0.to_owned()), Some(unit.1.to_string()));
                self.spec.unread.push(UnreadDocument { kind, name });
                let what = format!("there is no `{}`", path.display());
                return self.wrong(&format!("{at}.src"), &what);
            }
        };
        let last = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        // What has no name of its own, such as `.`, is its own root.
        let (root, include) = match last.filter(|_| path.parent().is_some()) {
            Some(name) => {
                let root = path.parent().map(Path::to_owned).unwrap_or_default();
                let pattern = globset::escape(&name);
                (root, if shape == Shape::Directory { format!("{pattern}/*") } else { pattern })
            }
            None => (path.clone(), "*".to_owned()),
        };
        let mut exclude = exclude.to_vec();
        // Whoever publishes a directory does not mean the file in it that says so.
        let whole = |path: &Path| Path::new(".").join(path).canonicalize();
        if shape == Shape::Directory
            && let (Ok(own), Ok(root), Ok(path)) = (whole(&self.file), whole(&root), whole(&path))
            && own.starts_with(&path)
            && let Ok(below) = own.strip_prefix(&root)
        {
            exclude.push(globset::escape(&below.display().to_string()));
        }
        let archive = ArchiveSpec {
            name: format!("{}/{}", unit.0, unit.1),
            at: self.at(at),
            rootdir: Some(root.display().to_string()),
            include: vec![include],
            exclude,
            shape,
            // One that is named itself is meant.
            dot_files: if shape == Shape::Directory { dot_files } else { DotFiles::Included },
        };
        let content = Some((side, archive.name.clone()));
        self.spec.archives.insert(archive.name.clone(), archive);
        let manifest = Manifest { content, ..self.manifest(at, unit, spec) };
        self.spec.manifests.push(manifest);
    }

    fn manifest(&self, at: &str, (kind, name): (&str, &Name), spec: Value) -> Manifest {
        let value = json!({
            "apiVersion": VERSION,
            "kind": kind,
            "metadata": { "name": name },
            "spec": said(spec),
        });
        Manifest { at: self.at(at), file: self.file.clone(), said: Said::Now(value), content: None }
    }

    /// Reads a value with a unit.
    fn number(
        &mut self,
        at: &str,
        value: Option<&Scalar>,
        read: impl Fn(&str) -> Result<u64, String>,
    ) -> Option<u64> {
        match read(&value?.to_string()) {
            Ok(number) => Some(number),
            Err(error) => {
                self.wrong(at, &error);
                None
            }
        }
    }

    fn at(&self, at: &str) -> String {
        pinpoint::at(&self.file, self.places.find(at))
    }

    /// Notes what is wrong with a field.
    pub(super) fn wrong(&mut self, at: &str, what: &str) {
        self.wrong_at(self.places.find(at), format!("{at}: {what}"));
    }

    /// Notes what is wrong at a line and column.
    pub(super) fn wrong_at(&mut self, place: (usize, usize), what: String) {
        self.spec.causes.push(Cause::new(pinpoint::at(&self.file, place), what));
    }
}

/// An object without what is not said in it.
fn said(value: Value) -> Value {
    let silent = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(entries) => entries.into_iter().filter(|(_, value)| !silent(value)).collect(),
        other => other,
    }
}

/// A prefix, of which nothing may be left but the root.
fn whole(prefix: &str) -> &str {
    if prefix.is_empty() { "/" } else { prefix }
}

/// A name made of a path: `/static/js` is `static-js`.
pub(crate) fn named(what: &str, path: &str) -> Result<Name, String> {
    let letters =
        path.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let letters: String = letters.collect();
    let parts: Vec<_> = letters.split('-').filter(|part| !part.is_empty()).collect();
    let name = if parts.is_empty() { "root".to_owned() } else { parts.join("-") };
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name
    } else {
        format!("{what}-{name}")
    };
    name.parse().map_err(|error| format!("its path gives it no name ({error}); add `name`"))
}
