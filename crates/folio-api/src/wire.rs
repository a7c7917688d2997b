//! Bodies that exist only here: what requests carry, and lists around the core's views.

mod bindings;
mod executions;
mod releases;
mod tokens;

use folio_core::apply::{Apply, Document, Form, KnownDocument, Others, Rest, Run, UnreadDocument};
use folio_core::build::LogPart;
use folio_core::config::ConfigFields;
use folio_core::environment::EnvironmentFields;
use folio_core::request::{AliasTarget, Drafted, Fields, IfSame, Publish, Start};
use folio_core::route::RouteFields;
use folio_core::secret::SecretFields;
use folio_core::trigger::TriggerFields;
use folio_core::{Hosts, Limits};
use folio_model::{Build, Digest, Name, Owner, Reference, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decode::At;
use crate::encode::Wire;

pub(crate) use self::bindings::{NewJob, NewJobFields, NewWebhook, NewWebhookFields};
pub(crate) use self::executions::NewExecution;
pub(crate) use self::releases::{
    MoveRollout, NewApp, NewLive, NewLiveSplit, NewRelease, NewReleaseTag, RollBackLive,
    StartRollout,
};
pub(crate) use self::tokens::{Myself, RevealedToken, TokenRequest};

/// Makes a unit with a draft.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewUnit {
    /// Its name.
    pub(crate) name: Name,
    /// What the draft holds.
    pub(crate) fields: Fields,
}

/// Changes a draft.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewFields {
    /// What to lay over it.
    pub(crate) fields: Fields,
}

/// Publishes a version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewVersion {
    /// What it starts from.
    #[serde(default = "fresh")]
    start: Start,
    /// What to lay over that.
    #[serde(default)]
    fields: Fields,
    /// Its id; a random one if left out.
    #[serde(default)]
    id: Option<VersionId>,
    /// The id of the package version to use, when it differs.
    #[serde(default)]
    package_version: Option<VersionId>,
    /// What to say about it.
    #[serde(default)]
    description: String,
    /// What to do when it would equal the latest.
    #[serde(default)]
    if_same: IfSame,
    /// A tag to add it to.
    #[serde(default)]
    tag: Option<VersionId>,
}

fn fresh() -> Start {
    Start::Fresh
}

impl NewVersion {
    /// The request to the verb, on the condition that the unit is at a revision.
    pub(crate) fn expecting(self, expect: Option<u64>) -> Publish {
        let Self { start, fields, id, package_version, description, if_same, tag } = self;
        let draft = Drafted::Clears;
        Publish { fields, start, id, package_version, description, if_same, tag, expect, draft }
    }
}

/// Describes a version in other words.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewDescription {
    /// The words.
    pub(crate) description: String,
}

/// Makes an environment.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewEnvironment {
    /// Its name.
    pub(crate) name: Name,
    /// What it is.
    #[serde(default)]
    pub(crate) fields: EnvironmentFields,
}

/// Changes an environment.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewEnvironmentFields {
    /// What to lay over it.
    pub(crate) fields: EnvironmentFields,
}

/// Applies the manifests of a deployment.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewDeployment {
    /// Whose the units are.
    deployment: Owner,
    /// The `base` that the answer to the deployment's last apply had. Everything that one asked for is asked for again,
    /// and only what is new, or has other files, need be among the manifests. A server that has forgotten it refuses.
    #[serde(default)]
    base: Option<Digest>,
    /// The manifests that are written out.
    #[serde(default)]
    documents: Vec<Document>,
    /// The manifests that the deployment's last apply had. A server that has forgotten one refuses them all.
    #[serde(default)]
    known: Vec<KnownDocument>,
    /// What could not be read. What it may ask for is not missed by others; as long as there is some, nothing is
    /// applied.
    #[serde(default)]
    unread: Vec<UnreadDocument>,
    /// What becomes of functions and packages that differ.
    #[serde(default)]
    form: Form,
    /// What becomes of units the deployment owns and does not ask for.
    #[serde(default)]
    rest: Rest,
    /// What becomes of units that another deployment, or nobody, owns.
    #[serde(default)]
    others: Others,
    /// Whether only what would happen is to be said. Then the files need not be on the server.
    #[serde(default)]
    dry_run: bool,
}

impl NewDeployment {
    /// The request to the verb.
    pub(crate) fn asked(self) -> (Apply, Run) {
        let Self { deployment, base, documents, known, unread, form, rest, others, dry_run } = self;
        let run = if dry_run { Run::Dry } else { Run::Real };
        (Apply { deployment, base, documents, known, unread, form, rest, others }, run)
    }
}

/// Rolls an app back to one of its versions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct GroupRollback {
    /// Whether only what would happen is to be said.
    pub(crate) dry_run: bool,
}

/// Changes a config, or makes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewConfigFields {
    /// What to do to it.
    pub(crate) fields: ConfigFields,
}

/// Makes a secret.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSecret {
    /// Its name.
    pub(crate) name: Name,
    /// What it holds.
    pub(crate) fields: SecretFields,
}

/// Changes a secret.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSecretFields {
    /// What to do to it.
    pub(crate) fields: SecretFields,
}

/// Gives something another name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewName {
    /// The name.
    pub(crate) name: Name,
}

/// Makes a route.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewRoute {
    /// Its name; one is made up if left out.
    #[serde(default)]
    pub(crate) name: Option<Name>,
    /// What it is.
    pub(crate) fields: RouteFields,
}

/// Changes a route.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewRouteFields {
    /// What to lay over it.
    pub(crate) fields: RouteFields,
}

/// Makes a trigger that is no route.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewTrigger {
    /// Its name; one is made up if left out.
    #[serde(default)]
    pub(crate) name: Option<Name>,
    /// What it is.
    pub(crate) fields: TriggerFields,
}

/// Changes a trigger that is no route.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewTriggerFields {
    /// What to lay over it.
    pub(crate) fields: TriggerFields,
}

/// Starts a canary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartCanary {
    /// Its name.
    pub(crate) name: Name,
    /// What it is to do.
    pub(crate) canary: folio_core::canary::NewCanary,
}

/// Changes how a canary goes on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewCanaryFields {
    /// What to lay over it.
    pub(crate) fields: folio_core::canary::PlanFields,
}

/// Makes an alias.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewAlias {
    /// Its name.
    pub(crate) name: VersionId,
    /// Where it sends calls.
    pub(crate) targets: Vec<Target>,
}

/// Moves an alias.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewTargets {
    /// Where it sends calls from now on.
    pub(crate) targets: Vec<Target>,
}

/// One target of an alias.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Target {
    /// A version: number, id, another alias that is not split, or `latest`.
    version: At,
    /// Its share of 10,000.
    weight: u32,
}

/// The targets as the verb takes them.
pub(crate) fn targets(targets: Vec<Target>) -> Vec<AliasTarget> {
    let target = |Target { version: At(version), weight }| AliasTarget { version, weight };
    targets.into_iter().map(target).collect()
}

/// Rolls an alias back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rollback {
    /// A version to go back to; where the alias was before, if left out.
    #[serde(default)]
    to: Option<At>,
}

impl Rollback {
    /// Where to go, if it was said.
    pub(crate) fn target(self) -> Option<AliasTarget> {
        let weight = folio_model::FULL_WEIGHT;
        self.to.map(|At(version)| AliasTarget { version, weight })
    }
}

/// Adds to a tag.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewMembers {
    /// Functions, each with or without a version: `hello@v1.0.0`, `bar`.
    pub(crate) functions: Vec<Reference>,
}

/// Takes an entry back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Undo {
    /// The entry; the newest that is neither undone nor an undo, if left out.
    #[serde(default)]
    pub(crate) entry: Option<u64>,
}

/// Asks what has to be uploaded.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The digests of the nodes.
    pub(crate) digests: Vec<Digest>,
    /// Read back what is stored of them and below them first. What is damaged is missing, too.
    #[serde(default)]
    pub(crate) read_back: bool,
}

/// How far a build is, and what it printed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BuildPart {
    /// How far it is.
    build: Build,
    /// What it printed since the place that was asked for.
    text: String,
    /// The place to ask for next.
    next: u64,
}

impl BuildPart {
    /// A part of a log from a place on.
    pub(crate) fn new(part: LogPart, after: u64) -> Self {
        let next = after + part.text.len() as u64;
        Self { build: part.build, text: String::from_utf8_lossy(&part.text).into_owned(), next }
    }
}

/// What has to be uploaded.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Missing {
    /// The digests of the nodes.
    pub(crate) missing: Vec<Digest>,
}

/// Whether the server answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health {
    /// `ok`.
    pub(crate) status: &'static str,
}

/// What the server is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    /// `folio`.
    pub(crate) name: &'static str,
    /// The program's version.
    pub(crate) version: &'static str,
    /// How much of everything is allowed.
    pub(crate) limits: Limits,
    /// Where apps are found.
    pub(crate) hosts: Hosts,
}

/// A whole list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}List")]
pub(crate) struct Items<T> {
    /// What is in it.
    pub(crate) items: Vec<T>,
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Page")]
pub(crate) struct Page<T> {
    /// What is on it.
    items: Vec<T>,
    /// Where the next page starts, if there may be one: its `after` or `below`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

impl<T> Page<T> {
    /// A page of `items` out of a list, asked for with `limit`; `place` tells where an item stands.
    pub(crate) fn new(items: Vec<T>, limit: usize, place: impl Fn(&T) -> u64) -> Self {
        let next = items.last().filter(|_| items.len() >= limit).map(place);
        Self { items, next }
    }
}

/// What a check found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checked {
    /// Everything that does not read back as it was written.
    pub(crate) damage: Vec<folio_core::sweep::Finding>,
}

impl Wire for About {}
impl Wire for BuildPart {}
impl Wire for Checked {}
impl Wire for Health {}
impl Wire for Missing {}
impl<T: Serialize + JsonSchema + Send + 'static> Wire for Items<T> {}
impl<T: Serialize + JsonSchema + Send + 'static> Wire for Page<T> {}
