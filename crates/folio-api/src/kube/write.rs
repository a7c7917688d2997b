//! Creates and changes units. What a request makes of an object is worked out on what is there and put only if that is
//! still so; a request that names no revision is worked out again instead of being refused.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use folio_core::apply::{Applied, Document, Expected, Form, Outcome, PutObject};
use folio_core::object::ObjectView;
use folio_core::request::{ContentRef, Run};
use folio_core::view::Done;
use folio_core::{Caller, Folio};
use folio_kinds::spec;
use folio_model::{Content, Kind, Labels, Snapshot, UnitKey};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::body::{self, PatchKind};
use super::managed::{self, Author, Others};
use super::mapping::released;
use super::object::{self, PUBLISH};
use super::query::Query;
use super::resource::Source;
use super::status::Status;
use super::target::Target;
use super::{checks, patch, read};

/// How often a request without a revision is worked out again.
pub(crate) const TRIES_MAX: usize = 16;

/// Bytes that all warnings of an answer may have before each is cut short, and characters that are left of it then.
const WARNINGS_BYTES_MAX: usize = 4096;
const WARNING_CHARS_MAX: usize = 256;

/// A request that changes a unit.
pub(crate) struct Write<'a> {
    pub(crate) folio: &'a Folio,
    pub(crate) caller: Caller,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) bytes: Bytes,
}

/// What a request wants an object to be.
enum Wanted {
    /// This, and nothing may be there.
    New(Value),
    /// This, in the place of what is there.
    Instead(Value),
    /// What is there, with a patch over it.
    Patched(PatchKind, Value),
}

/// An object as it was and as it is to be.
struct Step {
    before: Option<(ObjectView, Value)>,
    after: Value,
    /// The revision that the client says it has seen.
    seen: Option<u64>,
}

impl Write<'_> {
    /// `POST` of a collection.
    pub(crate) async fn create(self) -> Result<Response, Status> {
        let mut new = body::object(self.headers, &self.bytes)?;
        if new["metadata"]["name"].is_null()
            && let Some(prefix) = new["metadata"]["generateName"].as_str()
        {
            let suffix = self.folio.draw_token().reveal();
            new["metadata"]["name"] = format!("{prefix}{}", &suffix[6..11]).into();
        }
        self.perform(Wanted::New(new)).await
    }

    /// `PUT` of an object.
    pub(crate) async fn replace(self) -> Result<Response, Status> {
        let new = body::object(self.headers, &self.bytes)?;
        self.perform(Wanted::Instead(new)).await
    }

    /// `PATCH` of an object.
    pub(crate) async fn patch(self) -> Result<Response, Status> {
        let (kind, patch) = body::patch(self.headers, &self.bytes)?;
        if kind == PatchKind::Apply {
            checks::applier(self.query)?;
        }
        if self.query.force && kind != PatchKind::Apply {
            let what = "force: Forbidden: may not be specified for non-apply patch";
            return Err(Status::invalid("force", what));
        }
        self.perform(Wanted::Patched(kind, patch)).await
    }

    /// Lays a merge patch over an object. Returns what it is then, and what is to be said of that.
    pub(crate) async fn merge(self, patch: Value) -> Result<(Value, Vec<HeaderValue>), Status> {
        let response = self.perform(Wanted::Patched(PatchKind::Merge, patch)).await?;
        let warnings = response.headers().get_all(header::WARNING).iter().cloned().collect();
        let bytes = response.into_body().collect().await;
        let bytes = bytes.map_err(|error| Status::new(500, "InternalError", error.to_string()))?;
        let value = serde_json::from_slice(&bytes.to_bytes());
        let value = value.map_err(|error| Status::new(500, "InternalError", error.to_string()))?;
        Ok((value, warnings))
    }

    async fn perform(self, wanted: Wanted) -> Result<Response, Status> {
        let mut tries = 0;
        loop {
            tries += 1;
            let step = self.step(&wanted).await?;
            let seen = step.seen;
            match self.put(step).await {
                Err(status) if status.is_stale() && seen.is_none() && tries < TRIES_MAX => {}
                Err(status) => {
                    let given = match &wanted {
                        Wanted::New(new) => new["metadata"]["name"].as_str(),
                        _ => self.target.name.as_deref(),
                    };
                    let (group, plural) = (self.target.resource.group, self.target.resource.plural);
                    return Err(status.about(group, plural, given.unwrap_or_default()));
                }
                Ok(response) => return Ok(response),
            }
        }
    }

    /// Works out what the object is to be.
    async fn step(&self, wanted: &Wanted) -> Result<Step, Status> {
        let name = match (wanted, &self.target.name) {
            (_, Some(name)) => name.clone(),
            (Wanted::New(new), None) => checks::name(new)?.to_owned(),
            (_, None) => return Err(Status::no_such_path()),
        };
        let before = read::find(self.folio, self.target, &name).await?;
        let current = before.as_ref().map(|(_, value)| value);
        let now = object::written(self.folio.now());
        let (manager, version) = (self.query.manager(self.headers), self.target.api_version());
        let author = Author { manager: &manager, version: &version, now: &now };
        let mut after = match (wanted, current) {
            (Wanted::New(new), _) => new.clone(),
            (Wanted::Patched(PatchKind::Apply, patch), current) => {
                checks::identity(self.target, &name, patch)?;
                checks::applied(current, patch)?;
                let others = if self.query.force { Others::TakeOver } else { Others::Refuse };
                managed::apply(current, patch, author, others)?
            }
            (_, None) => return Err(self.target.not_found(&name)),
            (Wanted::Instead(new), Some(_)) => new.clone(),
            (Wanted::Patched(PatchKind::Merge, patch), Some(current)) => {
                patch::merge(current, patch)?
            }
            (Wanted::Patched(PatchKind::Steps, steps), Some(current)) => {
                patch::steps(current, steps)?
            }
        };
        let seen = self.seen(wanted, &after)?;
        if !matches!(wanted, Wanted::Patched(PatchKind::Apply, _)) {
            managed::update(current, &mut after, author);
        }
        checks::identity(self.target, &name, &after)?;
        let before = before.filter(|_| !matches!(wanted, Wanted::New(_)));
        let current = before.as_ref().map(|(_, value)| value);
        checks::metadata(current, &after)?;
        if let Some(current) = current {
            checks::same(current, &after)?;
        }
        Ok(Step { before, after, seen })
    }

    /// The revision that the client says it has seen: in what it puts, or in its patch.
    fn seen(&self, wanted: &Wanted, after: &Value) -> Result<Option<u64>, Status> {
        match wanted {
            Wanted::New(new) => match checks::seen(new)? {
                Some(_) => Err(Status::bad_request(checks::NEW_HAS_REVISION)),
                None => Ok(None),
            },
            Wanted::Instead(new) => checks::seen(new),
            Wanted::Patched(PatchKind::Steps, Value::Array(steps)) => {
                let holds = ["", "/metadata", "/metadata/resourceVersion"];
                let says =
                    |step: &Value| step["path"].as_str().is_some_and(|at| holds.contains(&at));
                if steps.iter().any(says) { checks::seen(after) } else { Ok(None) }
            }
            Wanted::Patched(_, patch) => checks::seen(patch),
        }
    }

    /// Puts the object, unless it is so already.
    async fn put(&self, step: Step) -> Result<Response, Status> {
        let Step { before, after, seen } = step;
        if let (Some((view, _)), Some(seen)) = (&before, seen)
            && view.revision != seen
        {
            return Err(Status::modified(self.target, view.key.name.as_str()));
        }
        let shown = before.as_ref().map(|(_, value)| value);
        let mut warnings = checks::unknown_fields(self.target, self.query, shown, &after)?;
        if self.target.part.as_deref() == Some("status") {
            // How an object stands is found out, not told.
            return self.answer(before, false, warnings).await;
        }
        let put = self.put_of(before.as_ref(), &after).await?;
        let mut caller = self.caller.clone();
        caller.run = if self.query.dry_run { Run::Dry } else { Run::Real };
        let (key, created) = (put.key.clone(), before.is_none());
        let done = self.folio.put_object(&caller, put).await;
        let done = done.map_err(|error| match before.as_ref() {
            Some((view, _)) if is_stale(&error) => {
                Status::modified(self.target, view.key.name.as_str())
            }
            _ => Status::from(error),
        })?;
        warnings.extend(told(&key, &done, created));
        if !self.query.dry_run {
            warnings.extend(released(&done));
        }
        let made = done.result.id.clone().filter(|_| done.changed && publishes(&key, &after));
        if self.query.dry_run {
            return self.rehearsed(before, after, warnings).await;
        }
        let name = key.name.to_string();
        let now = read::find(self.folio, self.target, &name).await?;
        if let (Some(id), Some((view, _))) = (made, &now) {
            warnings.push(match &view.standing.latest {
                Some((number, latest)) if *latest == id => {
                    format!("published version {number} ({id})")
                }
                _ => format!("published ({id}); it waits for its build"),
            });
        }
        self.answer(now, created, warnings).await
    }

    async fn answer(
        &self,
        now: Option<(ObjectView, Value)>,
        created: bool,
        warnings: Vec<String>,
    ) -> Result<Response, Status> {
        let name = self.target.name.clone().unwrap_or_default();
        let (_, value) = now.ok_or_else(|| self.target.not_found(&name))?;
        let code = if created { StatusCode::CREATED } else { StatusCode::OK };
        Ok(with_warnings((code, axum::Json(value)).into_response(), &warnings))
    }

    /// The object as it would be.
    async fn rehearsed(
        &self,
        before: Option<(ObjectView, Value)>,
        mut after: Value,
        warnings: Vec<String>,
    ) -> Result<Response, Status> {
        let created = before.is_none();
        after["metadata"]["namespace"] = self.target.app()?.as_str().into();
        match before {
            Some((view, value)) => {
                for key in ["uid", "resourceVersion", "creationTimestamp"] {
                    after["metadata"][key] = value["metadata"][key].clone();
                }
                let changed = object::content(&after) != object::content(&value);
                let generation = view.generation + u64::from(changed);
                after["metadata"]["generation"] = generation.into();
                after["status"] = value["status"].clone();
            }
            None => {
                after["metadata"]["uid"] = uuid::Uuid::nil().to_string().into();
                after["metadata"]["generation"] = 1.into();
                after["metadata"]["creationTimestamp"] = object::written(self.folio.now()).into();
            }
        }
        self.answer_with(after, created, &warnings)
    }

    fn answer_with(
        &self,
        value: Value,
        created: bool,
        warnings: &[String],
    ) -> Result<Response, Status> {
        let code = if created { StatusCode::CREATED } else { StatusCode::OK };
        Ok(with_warnings((code, axum::Json(value)).into_response(), warnings))
    }

    /// What is to be put.
    async fn put_of(
        &self,
        before: Option<&(ObjectView, Value)>,
        after: &Value,
    ) -> Result<PutObject, Status> {
        let Source::Unit(kind, _) = self.target.resource.source else {
            return Err(Status::method_not_allowed("it is not put"));
        };
        let name = checks::name(after)?;
        let parsed = name.parse().map_err(|error: folio_model::NameError| {
            Status::invalid(
                "metadata.name",
                format!("metadata.name: Invalid value: \"{name}\": {error}"),
            )
        })?;
        let key = UnitKey { app: self.target.app()?.clone(), kind, name: parsed };
        let publishes = object::annotation(after, PUBLISH) == Some("true");
        let says_more =
            before.is_none_or(|(_, value)| object::content(value) != object::content(after));
        let drafted = before.is_some_and(|(view, _)| view.standing.draft);
        let document = match says_more || publishes && drafted {
            true => Some(self.document(kind, before, after).await?),
            false => None,
        };
        let expected = match before {
            None => Expected::Absent,
            Some((view, _)) => Expected::Since(view.revision),
        };
        let shown =
            before.filter(|_| document.is_some()).map(|(view, value)| self.shown(view, value));
        Ok(PutObject {
            key,
            document,
            before: shown,
            owner: object::owner(after),
            form: if publishes || !has_draft(kind) { Form::Versions } else { Form::Drafts },
            labels: labels(after, "labels"),
            annotations: labels(after, "annotations"),
            managers: after["metadata"]["managedFields"].as_array().cloned().unwrap_or_default(),
            expected,
        })
    }

    async fn document(
        &self,
        kind: Kind,
        before: Option<&(ObjectView, Value)>,
        after: &Value,
    ) -> Result<Document, Status> {
        let (mut source, mut deployment) = (None, None);
        if kind == Kind::Package {
            source = self.files("source", before, after).await?;
            deployment = self.files("deployment", before, after).await?;
        }
        if kind == Kind::Static {
            deployment = self.files("content", before, after).await?;
        }
        let manifest = without_bytes(after.clone());
        let at = format!("{} {}", self.target.resource.kind, checks::name(after)?);
        Ok(Document { at, manifest, source, deployment })
    }

    /// An object as it was shown, with the files it has.
    fn shown(&self, view: &ObjectView, value: &Value) -> Document {
        let files = |side| {
            let content = held(view, side);
            content.map(|Content { tree, layout }| ContentRef::Tree { tree, layout })
        };
        let (source, deployment) = (files("source"), files("deployment"));
        let manifest = without_bytes(value.clone());
        Document { at: self.target.resource.kind.to_owned(), manifest, source, deployment }
    }

    /// The files of one part of a package: those it has, those in the manifest, or those it names by digest.
    async fn files(
        &self,
        side: &str,
        before: Option<&(ObjectView, Value)>,
        after: &Value,
    ) -> Result<Option<ContentRef>, Status> {
        let part = &after["spec"][side];
        let field = format!("spec.{side}");
        if let Some((view, value)) = before
            && value["spec"][side] == *part
            && let Some(Content { tree, layout }) = held(view, side)
        {
            return Ok(Some(ContentRef::Tree { tree, layout }));
        }
        let text = |key: &str| part[key].as_str().filter(|text| !text.is_empty());
        if let Some(literal) = text("literal") {
            spec::check_literal(side, literal)
                .map_err(|wrong| Status::invalid(&wrong.path, wrong.to_string()))?;
            let bare: String = literal.split_whitespace().collect();
            let bytes = BASE64.decode(bare).map_err(|error| {
                Status::invalid(&field, format!("{field}.literal: Invalid value: {error}"))
            })?;
            return Ok(Some(self.folio.upload_bytes(bytes.into()).await?));
        }
        if text("tree").is_some() {
            let content = json!({ "tree": part["tree"], "layout": part["layout"] });
            let content: Content = serde_json::from_value(content).map_err(|error| {
                Status::invalid(&field, format!("{field}: Invalid value: {error}"))
            })?;
            return Ok(Some(ContentRef::Tree { tree: content.tree, layout: content.layout }));
        }
        match text("url") {
            None => Ok(None),
            Some(url) => {
                let what = format!(
                    "{field}.url: Invalid value: \"{url}\": the server fetches nothing; put the file into `literal`, \
                     or apply with `folio spec version apply`, which uploads it"
                );
                Err(Status::invalid(&field, what))
            }
        }
    }
}

/// Whether an object of a kind that says nothing of being published changes as a draft.
fn has_draft(kind: Kind) -> bool {
    !matches!(kind, Kind::Config | Kind::Static)
}

/// Whether an object is one that is published, and says that it is to be.
fn publishes(key: &UnitKey, object: &Value) -> bool {
    let drafted = matches!(key.kind, Kind::Function | Kind::Package);
    drafted && object::annotation(object, PUBLISH) == Some("true")
}

fn is_stale(error: &folio_core::apply::Error) -> bool {
    use folio_core::Explain as _;
    error.code().0 == "stale"
}

fn held(view: &ObjectView, side: &str) -> Option<Content> {
    match (&view.spec, side) {
        (Snapshot::Package(spec), "source") => spec.source,
        (Snapshot::Package(spec), _) => spec.deployment,
        (Snapshot::Static(spec), "content" | "deployment") => Some(spec.content),
        _ => None,
    }
}

/// A manifest without bytes of its own.
fn without_bytes(mut manifest: Value) -> Value {
    // Only looked for: a manifest without a spec is to be told that it has none.
    let Some(spec) = manifest.get_mut("spec") else { return manifest };
    for side in ["source", "deployment"] {
        if let Some(part) = spec.get_mut(side).and_then(Value::as_object_mut) {
            part.remove("literal");
        }
    }
    manifest
}

fn labels(object: &Value, of: &str) -> Labels {
    let entries = object["metadata"][of].as_object().into_iter().flatten();
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    entries.filter_map(text).collect()
}

/// What a change did that its author may not expect.
fn told(key: &UnitKey, done: &Done<Applied>, created: bool) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(id) = &done.result.id
        && done.changed
    {
        for unit in &done.result.units {
            let verb = if unit.what == Outcome::Created { "made" } else { "changed" };
            if (unit.kind, &unit.name) != (key.kind, &key.name) {
                told.push(format!("{verb} {} {} too, as {id}", unit.kind, unit.name));
            }
        }
    }
    let remarks = done.result.remarks.iter().filter(|remark| !remark.contains("unknown field"));
    told.extend(remarks.filter(|_| created).cloned());
    told
}

/// Adds warnings, as clients show them. What is too much for headers is cut short, as Kubernetes does.
pub(crate) fn with_warnings(mut response: Response, warnings: &[String]) -> Response {
    let is_much = warnings.iter().map(String::len).sum::<usize>() > WARNINGS_BYTES_MAX;
    let (count, each) = match is_much {
        true => (WARNINGS_BYTES_MAX / WARNING_CHARS_MAX, WARNING_CHARS_MAX),
        false => (usize::MAX, usize::MAX),
    };
    let rest = warnings.len().saturating_sub(count);
    let more = (rest > 0).then(|| format!("and {rest} more"));
    for warning in warnings.iter().take(count).chain(&more) {
        let plain: String = warning
            .chars()
            .take(each)
            .map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' })
            .collect();
        let quoted = plain.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::try_from(format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}
