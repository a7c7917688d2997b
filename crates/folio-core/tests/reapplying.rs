//! An apply that names what was sent before does what one does that sends everything: same plan, same app.

use std::collections::HashMap;

use folio_core::apply::{
    Applied, Apply, Document, Error, Form, KnownDocument, Others, Outcome, Rest, Run,
};
use folio_core::history::Moment;
use folio_core::request::ContentRef;
use folio_core::view::Done;
use folio_core::{Cause, Explain, Folio};
use folio_model::{Digest, Kind, Owner};
use folio_testkit::sample;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, app, function, world};

const PACKAGES: usize = 3;
const FUNCTIONS: usize = 4;
const ROUTES: usize = 3;

/// What a spec directory asks for; not all of it makes sense.
#[derive(Debug, Clone)]
struct Spec {
    environment: u8,
    /// The code of each package, if there is one.
    packages: [Option<u8>; PACKAGES],
    /// The package of each function.
    functions: [Option<usize>; FUNCTIONS],
    /// The path and the function of each route.
    routes: [Option<(u8, usize)>; ROUTES],
}

/// What happens between two applies.
#[derive(Debug, Clone)]
enum Step {
    Environment(u8),
    Package(usize, Option<u8>),
    Function(usize, Option<usize>),
    Route(usize, Option<(u8, usize)>),
    /// Somebody publishes code of their own for a function.
    Publish(usize, u8),
    Apply,
}

fn step() -> impl Strategy<Value = Step> {
    let route = (0..ROUTES, proptest::option::weighted(0.8, (0..3_u8, 0..FUNCTIONS)));
    prop_oneof![
        1 => (0..3_u8).prop_map(Step::Environment),
        3 => (0..PACKAGES, proptest::option::weighted(0.9, 0..4_u8))
            .prop_map(|(at, code)| Step::Package(at, code)),
        3 => (0..FUNCTIONS, proptest::option::weighted(0.8, 0..PACKAGES))
            .prop_map(|(at, package)| Step::Function(at, package)),
        2 => route.prop_map(|(at, route)| Step::Route(at, route)),
        1 => (0..FUNCTIONS, 0..4_u8).prop_map(|(at, code)| Step::Publish(at, code)),
        6 => Just(Step::Apply),
    ]
}

impl Spec {
    /// One that makes sense.
    fn new() -> Self {
        Self {
            environment: 1,
            packages: [Some(0); PACKAGES],
            functions: [Some(0), Some(0), Some(1), None],
            routes: [Some((0, 0)), Some((1, 2)), None],
        }
    }

    async fn documents(&self, folio: &Folio) -> Vec<Document> {
        let environment = json!({ "name": "own" });
        let mut documents = vec![document(
            "own".to_owned(),
            json!({ "kind": "Environment", "metadata": { "name": "own" }, "spec": {
                "version": 2, "runtime": { "image": "fission/node-env" },
                "poolsize": self.environment } }),
        )];
        for (at, code) in self.packages.iter().enumerate() {
            let Some(code) = code else { continue };
            let content = sample::file(folio, "main.js", &format!("code {code}")).await;
            let manifest = json!({ "kind": "Package", "metadata": { "name": format!("p{at}") },
                "spec": { "environment": environment } });
            let document = document(format!("p{at}"), manifest);
            documents.push(Document { deployment: Some(content), ..document });
        }
        for (at, package) in self.functions.iter().enumerate() {
            let Some(package) = package else { continue };
            let manifest = json!({ "kind": "Function", "metadata": { "name": format!("f{at}") },
                "spec": { "environment": environment,
                    "package": { "packageref": { "name": format!("p{package}") } } } });
            documents.push(document(format!("f{at}"), manifest));
        }
        for (at, route) in self.routes.iter().enumerate() {
            let Some((path, function)) = route else { continue };
            let manifest = json!({ "kind": "HTTPTrigger", "metadata": { "name": format!("r{at}") },
                "spec": { "relativeurl": format!("/{path}"), "methods": ["GET"],
                    "functionref": { "type": "name", "name": format!("f{function}") } } });
            documents.push(document(format!("r{at}"), manifest));
        }
        documents
    }

    fn change(&mut self, step: &Step) {
        match *step {
            Step::Environment(size) => self.environment = size,
            Step::Package(at, code) => self.packages[at] = code,
            Step::Function(at, package) => self.functions[at] = package,
            Step::Route(at, route) => self.routes[at] = route,
            Step::Publish(..) | Step::Apply => {}
        }
    }
}

fn document(at: String, manifest: Value) -> Document {
    Document { at, manifest, source: None, deployment: None }
}

type Files = (Option<ContentRef>, Option<ContentRef>);

/// What a client knows of what it sent before.
#[derive(Default)]
struct Sent {
    documents: HashMap<Digest, Files>,
    /// What the server called all of it.
    base: Option<Digest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Writes everything out, always.
    Writes,
    /// Names what it sent before.
    Names,
    /// Says nothing of what it sent before, unless it has other files; where something is gone, it names the rest.
    Builds,
}

/// A client that remembers what it sent, or one that never does.
struct Client {
    world: World,
    manner: Manner,
    sent: Sent,
    /// How often it built on what it sent before.
    built: usize,
}

impl Client {
    async fn new(manner: Manner) -> Self {
        Self { world: world().await, manner, sent: Sent::default(), built: 0 }
    }

    async fn apply(&mut self, spec: &Spec) -> Result<Done<Applied>, Error> {
        let all = spec.documents(&self.world.folio).await;
        let now: HashMap<_, _> = all.iter().map(|one| (one.digest(), files(one))).collect();
        let Sent { documents: before, base } = &self.sent;
        let is_sent = |document: &Document| {
            self.manner != Manner::Writes && before.contains_key(&document.digest())
        };
        let (known, documents): (Vec<_>, Vec<_>) = all.into_iter().partition(is_sent);
        let kept = before.keys().all(|digest| now.contains_key(digest));
        let base = base.filter(|_| self.manner == Manner::Builds && kept);
        let is_other =
            |document: &&Document| base.is_none() || before[&document.digest()] != files(document);
        let known = known.iter().filter(is_other).map(named).collect();
        self.built += usize::from(base.is_some());
        let World { folio, caller, .. } = &self.world;
        let asked = Apply { base, ..asked(documents, known) };
        let done = folio.apply(caller, &app(), asked, Run::Real).await?;
        self.sent = Sent { documents: now, base: done.result.base };
        Ok(done)
    }

    /// What every unit is.
    async fn content(&self) -> Vec<(Kind, String, Digest)> {
        let Ok(app) = self.world.folio.app_at(&app(), Moment::Now).await else { return Vec::new() };
        let units = app.units.into_iter();
        units.map(|unit| (unit.kind, unit.name.to_string(), unit.digest)).collect()
    }
}

fn files(document: &Document) -> Files {
    (document.source, document.deployment)
}

fn named(document: &Document) -> KnownDocument {
    let Document { source, deployment, .. } = *document;
    KnownDocument { digest: document.digest(), source, deployment }
}

fn asked(documents: Vec<Document>, known: Vec<KnownDocument>) -> Apply {
    let deployment = Owner { uid: "a".to_owned(), name: "a".to_owned() };
    let (form, rest, others) = (Form::Versions, Rest::Delete, Others::Refuse);
    let unread = Vec::new();
    Apply { deployment, base: None, documents, known, unread, form, rest, others }
}

/// What an apply came to, without what is drawn by chance.
type Came = Result<(Vec<(Kind, String, Outcome)>, u64, Vec<String>), (String, Vec<Cause>)>;

fn came(done: Result<Done<Applied>, Error>) -> Came {
    let done = done.map_err(|error| (error.to_string(), error.causes()))?;
    let Applied { units, unchanged, remarks, .. } = done.result;
    let mut units: Vec<_> =
        units.into_iter().map(|unit| (unit.kind, unit.name.to_string(), unit.what)).collect();
    // Only the order in which documents came differs.
    units.sort_by_key(|(kind, name, _)| (kind.need(), name.clone()));
    Ok((units, unchanged, remarks))
}

async fn run(manner: Manner, steps: Vec<Step>) {
    let mut short = Client::new(manner).await;
    let mut writing = Client::new(Manner::Writes).await;
    let mut spec = Spec::new();
    for step in steps.into_iter().chain([Step::Apply]) {
        spec.change(&step);
        match step {
            Step::Publish(at, code) => {
                for client in [&short, &writing] {
                    let (key, code) = (function(&format!("f{at}")), format!("own {code}"));
                    let request = crate::world::request(client.world.code(&code).await);
                    drop(client.world.publish(&key, request).await);
                }
            }
            Step::Apply => {
                let (said, written) =
                    (came(short.apply(&spec).await), came(writing.apply(&spec).await));
                assert_eq!(said, written, "{spec:?}");
                assert_eq!(short.content().await, writing.content().await);
                assert_eq!(short.sent.base, writing.sent.base, "the same is named the same");
            }
            _ => {}
        }
    }
}

fn check(manner: Manner, steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(run(manner, steps));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn naming_what_was_sent_is_the_same_as_sending_it(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        check(Manner::Names, steps);
    }

    #[test]
    fn building_on_what_was_sent_is_the_same_as_sending_it(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        check(Manner::Builds, steps);
    }
}

#[tokio::test]
async fn what_was_applied_can_be_built_on_until_something_else_is() {
    let mut client = Client::new(Manner::Builds).await;
    let mut spec = Spec::new();
    assert!(client.apply(&spec).await.unwrap().changed);
    let first = client.sent.base;
    // Nothing is sent, and nothing is done.
    let again = client.apply(&spec).await.unwrap();
    assert_eq!((again.changed, again.result.unchanged, client.built), (false, 9, 1));
    assert_eq!(client.sent.base, first);
    // One package is named, and it and the functions that stand on it get a version.
    spec.packages[0] = Some(1);
    let done = client.apply(&spec).await.unwrap();
    assert_eq!((done.result.units.len(), done.result.unchanged, client.built), (3, 6, 2));
    assert_ne!(client.sent.base, first);
    // What somebody else does in between is seen.
    let code = client.world.code("own").await;
    client.world.publish(&function("f0"), crate::world::request(code)).await.unwrap();
    let done = client.apply(&spec).await.unwrap();
    assert_eq!((done.result.units.len(), client.built), (1, 3));
    // Another base is refused, and nothing is changed.
    let stale = Apply { base: first, ..asked(Vec::new(), Vec::new()) };
    let World { folio, caller, .. } = &client.world;
    let error = folio.apply(caller, &app(), stale, Run::Real).await.unwrap_err();
    assert_eq!(error.code().0, "documents_unknown");
    assert!(!client.apply(&spec).await.unwrap().changed);
}

#[tokio::test]
async fn what_is_not_remembered_is_refused_and_changes_nothing() {
    let world = world().await;
    let spec = Spec::new();
    let documents = spec.documents(&world.folio).await;
    let known: Vec<_> = documents.iter().map(named).collect();
    let folio = &world.folio;
    let named = asked(Vec::new(), known.clone());
    let error = folio.apply(&world.caller, &app(), named, Run::Real).await.unwrap_err();
    assert_eq!(error.code().0, "documents_unknown");
    assert_eq!(error.to_string(), "9 documents are not remembered by this server");
    let written = asked(documents, Vec::new());
    assert!(folio.apply(&world.caller, &app(), written, Run::Real).await.unwrap().changed);
    let again = asked(Vec::new(), known);
    let again = folio.apply(&world.caller, &app(), again, Run::Real).await.unwrap();
    assert_eq!((again.changed, again.result.unchanged), (false, 9));
}
