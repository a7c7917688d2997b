//! Publishes versions of functions and packages. Never edits one: an update is a new version that starts from
//! the latest. Start at [`Folio::publish`].

mod function;
mod package;

use folio_model::{
    Build, Digest, Kind, Name, Place, Pointer, Qualifier, Unit, UnitKey, Version, VersionId,
    VersionKey,
};

use crate::builder::Builder;
use crate::compose::{self, Freeze, Given, Scope};
use crate::ports::{State, StoreError};
use crate::request::{Caller, Drafted, Publish, Start};
use crate::serving::Unready;
use crate::view::{self, Done, Published};
use crate::{Class, Code, Explain, Folio, Referrer, folio, resolve};

/// Why a version was not published.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The id belongs to a version, living or deleted.
    #[error("{kind} `{name}` {} version `{id}`", if *.survives { "already has" } else { "had, and deleted, a" })]
    IdTaken {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// The id.
        id: VersionId,
        /// Whether that version still exists.
        survives: bool,
    },
    /// The id is an alias of the function.
    #[error("`{id}` is an alias of function `{name}`; ids and aliases share one namespace")]
    IdIsAlias {
        /// The function.
        name: Name,
        /// The id.
        id: VersionId,
    },
    /// The version's object name is another unit's name.
    #[error(
        "version `{id}` of {kind} `{name}` would be called `{name}-{id}`, which is another {kind}"
    )]
    ObjectNameTaken {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// The id.
        id: VersionId,
    },
    /// The name is the object name of another unit's version.
    #[error("`{name}-{id}` is what version `{id}` of {kind} `{name}` is called")]
    NameIsVersion {
        /// The other unit's kind.
        kind: Kind,
        /// The other unit's name.
        name: Name,
        /// The version's id.
        id: VersionId,
    },
    /// No content was given and there is no draft.
    #[error("{kind} `{name}` has no draft to publish, and no content was given")]
    NothingToPublish {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
    },
    /// Only functions have tags.
    #[error("tag `{0}` can hold function versions only")]
    TagOnPackage(VersionId),
    /// The tag is full.
    #[error("tag `{tag}` has {max} members already")]
    TagFull {
        /// The tag.
        tag: VersionId,
        /// The limit.
        max: u64,
    },
    /// The unit is not as the caller saw it.
    #[error("{kind} `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The fields do not make a spec.
    #[error(transparent)]
    Compose(#[from] compose::Error),
    /// What it stands on could not be built.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::IdTaken { .. } => Code("id_taken"),
            Self::IdIsAlias { .. } => Code("id_is_alias"),
            Self::ObjectNameTaken { .. } | Self::NameIsVersion { .. } => Code("object_name_taken"),
            Self::NothingToPublish { .. } => Code("nothing_to_publish"),
            Self::TagOnPackage(_) => Code("not_for_packages"),
            Self::TagFull { .. } => Code("tag_full"),
            Self::Stale { .. } => Code("stale"),
            Self::Unready(error) => error.code(),
            Self::Compose(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NothingToPublish { .. } | Self::TagOnPackage(_) => Class::Invalid,
            Self::TagFull { .. } => Class::TooLarge,
            Self::IdTaken { .. }
            | Self::IdIsAlias { .. }
            | Self::ObjectNameTaken { .. }
            | Self::NameIsVersion { .. }
            | Self::Stale { .. } => Class::Conflict,
            Self::Unready(error) => error.class(),
            Self::Compose(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::IdTaken { .. } => {
                "ids are never reused: choose another, or leave --version out".to_owned()
            }
            Self::IdIsAlias { .. } | Self::ObjectNameTaken { .. } => {
                "choose another id, or leave --version out".to_owned()
            }
            Self::NameIsVersion { .. } => "choose another name".to_owned(),
            Self::NothingToPublish { kind: Kind::Function, .. } => {
                "give --code FILE, --src, --deploy, or --pkg NAME".to_owned()
            }
            Self::NothingToPublish { .. } => {
                "give --src or --deploy with a file, directory or archive".to_owned()
            }
            Self::TagOnPackage(_) => "leave --tag out".to_owned(),
            Self::TagFull { .. } => "use another tag, or raise `tagMembersMax`".to_owned(),
            Self::Stale { kind, name, .. } => {
                format!(
                    "look at it with `folio {kind} describe {name}`, then repeat with its revision"
                )
            }
            Self::Unready(error) => return error.hint(),
            Self::Compose(error) => return error.hint(),
            Self::Resolve(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::IdIsAlias { name, id } => {
                vec![Referrer { kind: "alias".to_owned(), name: format!("{name}@{id}") }]
            }
            _ => Vec::new(),
        }
    }
}

impl Folio {
    /// Publishes a new version of a function or package, and of the package a function made of files needs.
    pub async fn publish(
        &self,
        caller: &Caller,
        key: &UnitKey,
        request: Publish,
    ) -> Result<Done<Published>, Error> {
        self.check_text("description", &request.description)?;
        if let Some(done) = self.recall(caller).await? {
            return Ok(done);
        }
        let given = self.find(request.fields.clone()).await?;
        let limits = *self.limits();
        let app = key.app.clone();
        let key = key.clone();
        self.commit(caller, &app, move |builder| {
            let job = Job { key: &key, request: &request, given: &given };
            let mut published = match key.kind {
                Kind::Function => function::publish(builder, &job)?,
                Kind::Package => package::publish(builder, &job)?,
                kind => return Err(compose::Error::NotDrafted(kind).into()),
            };
            if let Some(tag) = &request.tag {
                add_to_tag(builder, tag, &mut published, limits.tag_members_max)?;
            }
            Ok(published)
        })
        .await
    }
}

/// One publish, as the rules for functions and packages see it.
struct Job<'a> {
    key: &'a UnitKey,
    request: &'a Publish,
    given: &'a Given,
}

/// What a new version is laid over.
struct Base {
    snapshot: Digest,
    uses: Option<VersionKey>,
    archive: Option<Digest>,
}

impl Job<'_> {
    /// Where the spec is made. What publishes a draft as it is keeps the environment that the draft froze.
    fn scope<'a>(&'a self, state: &'a dyn State) -> Scope<'a> {
        let as_drafted = self.request.start == Start::Fresh && !self.given.has_content();
        let freeze = if as_drafted { Freeze::Kept } else { Freeze::Anew };
        Scope { state, app: &self.key.app, freeze }
    }

    /// Whether the draft goes: it is what is published, or new content takes its place.
    fn replaces_draft(&self) -> bool {
        let published = self.request.start == Start::Fresh || self.given.has_content();
        published && self.request.draft == Drafted::Clears
    }

    /// The unit, if it exists, as the caller expects it.
    fn unit(&self, state: &dyn State) -> Result<Option<Unit>, Error> {
        let unit = state.unit(self.key)?;
        let visible = unit.as_ref().filter(|unit| unit.is_visible());
        let found = visible.map_or(0, |unit| unit.revision);
        match self.request.expect {
            Some(expected) if expected != found => Err(Error::Stale {
                kind: self.key.kind,
                name: self.key.name.clone(),
                expected,
                found,
            }),
            _ => Ok(unit),
        }
    }

    /// What the new version starts from: nothing where content is given, else the draft; or the latest.
    fn base(&self, state: &dyn State, unit: Option<&Unit>) -> Result<Option<Base>, Error> {
        match self.request.start {
            Start::Fresh if self.given.has_content() => Ok(None),
            Start::Fresh => {
                let draft = unit.and_then(|unit| unit.draft.clone());
                let draft = draft.ok_or_else(|| Error::NothingToPublish {
                    kind: self.key.kind,
                    name: self.key.name.clone(),
                })?;
                let (uses, archive) = (draft.uses, draft.archive);
                Ok(Some(Base { snapshot: draft.snapshot, uses, archive }))
            }
            Start::Latest => {
                let unit = resolve::unit(state, self.key)?;
                let latest = resolve::version(state, &unit, &Qualifier::Latest)?;
                let (uses, archive) = (latest.uses, latest.archive);
                Ok(Some(Base { snapshot: latest.snapshot, uses, archive }))
            }
        }
    }

    /// The id to use: the one asked for if it is free, else a random one.
    fn id(&self, builder: &mut Builder<'_>, unit: Option<&Unit>) -> Result<VersionId, Error> {
        if let Some(id) = &self.request.id {
            check_id(builder.state, self.key, unit, id)?;
            return Ok(id.clone());
        }
        Ok(random_id(builder, self.key, unit)?)
    }
}

/// A random id for the next version of a unit that is there.
pub(crate) fn free_id(builder: &mut Builder<'_>, unit: &Unit) -> Result<VersionId, StoreError> {
    random_id(builder, &unit.key, Some(unit))
}

fn random_id(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    unit: Option<&Unit>,
) -> Result<VersionId, StoreError> {
    loop {
        // No version of the app ever had it, so only an alias or another unit can be in its way.
        let id = builder.fresh_id()?;
        if check_names(builder.state, key, unit, &id).is_ok() {
            return Ok(id);
        }
    }
}

/// Refuses an id that a version had, an alias has, or that would make two things share a name.
fn check_id(
    state: &dyn State,
    key: &UnitKey,
    unit: Option<&Unit>,
    id: &VersionId,
) -> Result<(), Error> {
    if let Some(unit) = unit
        && let Some((_, survives)) = state.version_by_id(unit.uid, id)?
    {
        let (kind, name) = (key.kind, key.name.clone());
        return Err(Error::IdTaken { kind, name, id: id.clone(), survives });
    }
    check_names(state, key, unit, id)
}

/// Refuses an id that an alias has, or that would make two things share a name.
pub(crate) fn check_names(
    state: &dyn State,
    key: &UnitKey,
    unit: Option<&Unit>,
    id: &VersionId,
) -> Result<(), Error> {
    let (kind, name) = (key.kind, key.name.clone());
    if let Some(unit) = unit.filter(|_| kind == Kind::Function)
        && state.alias(unit.uid, id)?.is_some()
    {
        return Err(Error::IdIsAlias { name, id: id.clone() });
    }
    if let Ok(object) = format!("{name}-{id}").parse() {
        let other = UnitKey { name: object, ..key.clone() };
        if state.unit(&other)?.is_some_and(|unit| unit.is_visible()) {
            return Err(Error::ObjectNameTaken { kind, name, id: id.clone() });
        }
    }
    Ok(())
}

/// Refuses a new unit whose name is the object name of another unit's version.
pub(crate) fn check_new_name(state: &dyn State, key: &UnitKey) -> Result<(), Error> {
    for (name, at) in folio_model::Subject::Name(key.name.clone()).splits() {
        let Qualifier::Named(id) = at else { continue };
        let Some(other) = state.unit(&UnitKey { name, ..key.clone() })? else { continue };
        if let Some((_, true)) = state.version_by_id(other.uid, &id)? {
            let (kind, name) = (key.kind, other.key.name);
            return Err(Error::NameIsVersion { kind, name, id });
        }
    }
    Ok(())
}

fn add_to_tag(
    builder: &mut Builder<'_>,
    tag: &VersionId,
    published: &mut Published,
    max: u64,
) -> Result<(), Error> {
    let version = &mut published.version;
    if version.kind != Kind::Function {
        return Err(Error::TagOnPackage(tag.clone()));
    }
    let found = builder.state.tag(&version.app, tag)?;
    let mut members = found.as_ref().map(|tag| tag.members.clone()).unwrap_or_default();
    let uid = builder.uid_of(&UnitKey {
        app: version.app.clone(),
        kind: Kind::Function,
        name: version.name.clone(),
    })?;
    members.insert(uid, version.number);
    if members.len() as u64 > max {
        return Err(Error::TagFull { tag: tag.clone(), max });
    }
    if !builder.has_edits() {
        builder.say(format!("tag {}@{} as {tag}", version.name, version.id));
    }
    let pointer = Pointer::Tag { app: version.app.clone(), name: tag.clone() };
    let from = found.map(|tag| Place::Members(tag.members));
    builder.point(pointer, from, Some(Place::Members(members)))?;
    if !version.tags.contains(tag) {
        version.tags.push(tag.clone());
    }
    Ok(())
}

/// The existing latest version, or the newest that is still to be built, if it already is what would be
/// published. One that could not be built is no reason not to try again.
pub(crate) fn same_as_latest(
    state: &dyn State,
    unit: &Unit,
    snapshot: Digest,
) -> Result<Option<Version>, StoreError> {
    for number in unit.newest.into_iter().chain(unit.latest) {
        let version = state.version(VersionKey { unit: unit.uid, number })?;
        let Some(version) = version.filter(|version| version.snapshot == snapshot) else {
            continue;
        };
        let spec = view::snapshot(state, snapshot)?;
        if view::build(state, &spec)? != Build::Failed {
            return Ok(Some(version));
        }
    }
    Ok(None)
}

/// Says what was published, for the log.
fn say(builder: &mut Builder<'_>, key: &UnitKey, id: &VersionId) {
    builder.say(format!("publish {} {} as {id}", key.kind, key.name));
}
