//! Applies a deployment: everything that a directory of manifests asks for, as one entry.
//!
//! What differs gets a version, all under one id that also names the group; what the deployment owns and no longer
//! asks for goes; everything else stays as it is. Start at [`Folio::apply`].

mod carry_out;
mod error;
mod memory;
pub(crate) mod object;
mod outcome;
mod plan;
mod pointed;
mod pointers;
mod read;
mod removal;
mod rollback;
mod said;
mod settled;
mod statics;
mod triggers;
mod unread;
mod work;

use std::collections::HashSet;
use std::sync::Arc;

use folio_kinds::spec::{Part, Words};
use folio_model::{
    AppName, Digest, Kind, Name, Number, Owner, Snapshot, Unit, VersionId, VersionKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::error::{Error, Fault};
pub(crate) use self::memory::Memory;
use self::memory::{Documents, Manner};
pub use self::object::{Expected, PutObject};
use self::plan::Plan;
use self::pointers::PointerWish;
use self::unread::Unread;
pub use self::unread::UnreadDocument;
use crate::ports::StoreError;
use crate::release::{Late, late};
pub use crate::request::Run;
use crate::request::{Caller, ContentRef};
use crate::view::Done;
use crate::{Folio, compose, folio, history};

/// What a deployment asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Apply {
    /// Whose the units are.
    pub deployment: Owner,
    /// What the deployment's last apply is named by, if everything is asked for again that it asked for. Then only
    /// what is new, or has other files, need be among the manifests.
    pub base: Option<Digest>,
    /// The manifests that are written out, in any order.
    pub documents: Vec<Document>,
    /// The manifests that were sent before, in any order.
    pub known: Vec<KnownDocument>,
    /// What could not be read, and so is asked for in an unknown way. As long as there is some, nothing is applied, and
    /// only what is wrong with the rest is said.
    pub unread: Vec<UnreadDocument>,
    /// What becomes of functions and packages that differ.
    pub form: Form,
    /// What becomes of units the deployment owns and does not ask for.
    pub rest: Rest,
    /// What becomes of units that another deployment, or nobody, owns.
    pub others: Others,
}

/// One manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// Where it is written, for people.
    pub at: String,
    /// What it says, in any served version.
    pub manifest: Value,
    /// The files that a package is built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ContentRef>,
    /// The files that a package runs as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ContentRef>,
}

impl Document {
    /// What it is named by once it was sent: the digest of where it is written and what it says. Its files are
    /// named beside it.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.text())
    }

    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(&(&self.at, &self.manifest)).expect("manifests have string keys")
    }
}

/// A manifest that the deployment's last apply had, with its files of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownDocument {
    /// The SHA-256 of the JSON array of its `at` and its `manifest`, as they were sent, without white space.
    pub digest: Digest,
    /// The files that a package is built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ContentRef>,
    /// The files that a package runs as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ContentRef>,
}

/// What a deployment asks for, once its manifests are read.
struct Wanted {
    /// The deployment, if it is one.
    owner: Option<Owner>,
    scope: Scope,
    wishes: Vec<Arc<Wish>>,
    pointers: Vec<Arc<PointerWish>>,
    form: Form,
    rest: Rest,
    others: Others,
    settled: Option<Settled>,
    /// What is wrong with manifests that could not be read.
    faults: Vec<Fault>,
    /// What those may ask for.
    unread: Unread,
}

/// How wishes differ from those that the last apply left as asked for, all of which are still there.
struct Settled {
    /// The app's last entry then.
    entry: u64,
    /// The wishes that are new.
    differing: Vec<usize>,
}

/// Where what a manifest names may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Among the manifests, as a directory of them has all it needs.
    Manifests,
    /// In the app, too.
    App,
}

impl Wanted {
    /// Whether something belongs to the deployment.
    fn owns(&self, owner: Option<&Owner>) -> bool {
        let own = self.owner.as_ref();
        own.is_some_and(|own| owner.is_some_and(|owner| owner.uid == own.uid))
    }

    fn asks_for_nothing(&self) -> bool {
        self.wishes.is_empty() && self.pointers.is_empty()
    }

    fn manner(&self) -> Manner {
        Manner { form: self.form, rest: self.rest, others: self.others }
    }
}

/// Manifests that were read.
struct Read {
    wanted: Wanted,
    documents: Documents,
    /// What there is to say about them.
    remarks: Vec<String>,
}

/// One unit that is asked for.
struct Wish {
    /// Where it is written.
    at: String,
    /// In which words.
    words: Words,
    name: Name,
    /// Its spec; what it stands on is filled in by the plan.
    spec: Snapshot,
    /// The archive that a package's files came from, byte for byte.
    archive: Option<Digest>,
}

impl Wish {
    /// Something wrong with a part of its manifest.
    fn fault(&self, part: Part, what: String) -> Fault {
        Fault { at: self.at.clone(), path: part.path(self.words).to_owned(), what }
    }
}

/// What becomes of functions and packages that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// They get a version.
    #[default]
    Versions,
    /// Their draft changes.
    Drafts,
}

/// What becomes of units that a deployment owns and does not ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rest {
    /// They stay.
    #[default]
    Keep,
    /// They are deleted with everything they have.
    Delete,
}

/// What becomes of units that are asked for and that another deployment, or nobody, owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Others {
    /// They are in the way.
    #[default]
    Refuse,
    /// The deployment takes them over.
    Adopt,
}

/// What an apply did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The id of every version it made, and of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<VersionId>,
    /// What changed, in the order in which it was done.
    pub units: Vec<AppliedUnit>,
    /// The aliases and canaries that moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pointers: Vec<AppliedPointer>,
    /// The aliases that stay as they are until their function is built. Once it is, applying again moves them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<AppliedPointer>,
    /// What the deployment took over from another, or from nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<AdoptedUnit>,
    /// How many are as they were.
    pub unchanged: u64,
    /// What is released or live since, or would be, where nothing differs but that was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Late>,
    /// What was left alone, and why.
    pub remarks: Vec<String>,
    /// What everything that was asked for is named by; the next apply may build on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Digest>,
}

impl Applied {
    /// What changed nothing.
    fn nothing() -> Self {
        Self {
            id: None,
            units: Vec::new(),
            pointers: Vec::new(),
            waiting: Vec::new(),
            adopted: Vec::new(),
            unchanged: 0,
            late: None,
            remarks: Vec::new(),
            base: None,
        }
    }
}

/// What became of one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedUnit {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// What became of it.
    pub what: Outcome,
    /// How many versions were deleted with it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub versions: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A unit that a deployment took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdoptedUnit {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// The deployment it belonged to; none if no deployment made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Owner>,
}

/// What became of one alias or canary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedPointer {
    /// Which of the two.
    pub kind: PointerKind,
    /// Its name; an alias's with its function's.
    pub name: String,
    /// What became of it.
    pub what: Outcome,
}

/// The pointers that manifests ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PointerKind {
    /// A function's alias.
    Alias,
    /// An app's canary.
    Canary,
}

/// What becomes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was not there.
    Created,
    /// It was different.
    Updated,
    /// It is no longer asked for.
    Deleted,
}

/// A unit that a deployment owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedUnit {
    /// The deployment.
    pub deployment: Owner,
    /// The unit's kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// Its latest version, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionId>,
    /// Its newest version, as long as that is not built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbuilt: Option<VersionId>,
    /// Whether it has a draft.
    pub draft: bool,
}

impl Folio {
    /// Makes an app what a deployment asks for, as one entry, or says what that would change.
    pub async fn apply(
        &self,
        caller: &Caller,
        app: &AppName,
        apply: Apply,
        run: Run,
    ) -> Result<Done<Applied>, Error> {
        if let Some(done) = self.recall(caller).await? {
            return Ok(done);
        }
        let run = if apply.unread.is_empty() { run } else { Run::Dry };
        if let Some(applied) = self.still_so((caller, app), &apply, run).await? {
            return Ok(Done::unchanged(applied));
        }
        let Read { wanted, documents, remarks } = self.read_wishes(app, apply, run).await?;
        let wanted = Arc::new(wanted);
        let (asked, of) = (Arc::clone(&wanted), app.clone());
        // Most of what an apply has to find out needs no transaction: one that changes nothing never starts one.
        let plan = self.look(move |state| {
            if !state.has_app(&of)? {
                return Err(folio::Error::NoApp(of).into());
            }
            plan::plan(state, &of, &asked)
        });
        let plan: Plan = plan.await?;
        self.measure_all(&plan, &wanted, run).await?;
        let late = match wanted.is_settled_by(&plan) {
            true => self.owed(caller, app, wanted.owner.as_ref()).await?,
            false => None,
        };
        if run == Run::Dry || (plan.is_empty() && late.is_none()) {
            let mut result = Applied { late, ..plan.outcome(&wanted, None) };
            result.remarks.splice(0..0, remarks.iter().cloned());
            if run == Run::Real {
                let entry = plan.entry.filter(|_| result.remarks.len() == remarks.len());
                result.base = Some(documents.base());
                self.remember(app, &wanted, (documents, remarks), entry);
            }
            return Ok(Done::unchanged(result));
        }
        let (of, asked, said) = (app.clone(), Arc::clone(&wanted), remarks.clone());
        let (base, mut plan) = (Some(documents.base()), Some(plan));
        let done = self.commit(caller, app, move |builder| {
            // What was planned stands if nothing happened in the app since.
            let entry = Some(builder.state.last_entry(&of)?);
            let plan = match plan.take().filter(|plan| plan.entry == entry) {
                Some(plan) => plan,
                None => plan::plan(builder.state, &of, &asked)?,
            };
            let is_settled = asked.is_settled_by(&plan);
            let mut applied = carry_out::carry_out(builder, &of, plan, &asked)?;
            if is_settled {
                applied.late = late::settle(builder, asked.owner.as_ref())?;
            }
            applied.remarks.splice(0..0, said.iter().cloned());
            applied.base = base;
            Ok::<_, Error>(applied)
        });
        let done: Done<Applied> = done.await?;
        let entry = done.entry.filter(|_| done.result.remarks.len() == remarks.len());
        self.remember(app, &wanted, (documents, remarks), entry);
        Ok(done)
    }

    /// Lists the units of an app that a deployment owns, or any deployment, by kind and name.
    pub async fn deployed(
        &self,
        app: &AppName,
        deployment: Option<&str>,
    ) -> Result<Vec<DeployedUnit>, history::Error> {
        let (app, deployment) = (app.clone(), deployment.map(str::to_owned));
        self.look(move |state| {
            history::known(state, &app)?;
            let units = match &deployment {
                Some(deployment) => state.owned(&app, deployment)?,
                None => {
                    let all = Kind::ALL.into_iter().map(|kind| state.units(&app, kind));
                    all.collect::<Result<Vec<_>, _>>()?.concat()
                }
            };
            let mut deployed = Vec::new();
            for unit in units.into_iter().filter(Unit::is_visible) {
                let Some(owner) = unit.owner else { continue };
                let id = |number: Option<Number>| {
                    let key = number.map(|number| VersionKey { unit: unit.uid, number });
                    let version = key.map(|key| state.version(key)).transpose()?.flatten();
                    Ok::<_, StoreError>(version.map(|version| version.id))
                };
                let is_built = unit.key.kind != Kind::Package || unit.newest == unit.latest;
                deployed.push(DeployedUnit {
                    deployment: owner,
                    kind: unit.key.kind,
                    version: id(unit.latest)?,
                    unbuilt: if is_built { None } else { id(unit.newest)? },
                    draft: unit.draft.is_some(),
                    name: unit.key.name,
                });
            }
            Ok(deployed)
        })
        .await
    }

    /// Checks the content of the packages that are new.
    async fn measure_all(&self, plan: &Plan, wanted: &Wanted, run: Run) -> Result<(), Error> {
        let mut measured = HashSet::new();
        let mut faults = Vec::new();
        for (at, content) in plan.contents() {
            if !measured.insert((content.tree, content.layout)) {
                continue;
            }
            match self.measure(content).await {
                Ok(()) => {}
                // What is only asked about may be sent once it is known to be right.
                Err(compose::Error::Store(StoreError::MissingBlob { .. })) if run == Run::Dry => {}
                Err(compose::Error::Store(error)) => return Err(error.into()),
                Err(error) => {
                    faults.push(wanted.wishes[at].fault(Part::Whole, error.to_string()));
                }
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(Error::Faults(faults)) }
    }
}
