//! Changes tags: app-wide named sets of function versions, one version per function.

use std::collections::BTreeMap;

use folio_model::{
    AppName, Kind, Members, Name, Place, Pointer, Qualifier, Reference, Right, Tag, UnitKey,
    VersionId,
};

use crate::builder::Builder;
use crate::delete::guard::{self, Leaving};
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::resolve::What;
use crate::view::{self, Done, TagView};
use crate::{Class, Code, Explain, Folio, Referrer, folio, resolve};

/// Why a tag was not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such tag.
    #[error("app `{app}` has no tag `{tag}`")]
    NotFound {
        /// The app.
        app: AppName,
        /// The tag.
        tag: VersionId,
        /// The nearest tag there is.
        near: Option<String>,
    },
    /// The function is not in it.
    #[error("function `{function}` is not a member of tag `{tag}`")]
    NotMember {
        /// The function.
        function: Name,
        /// The tag.
        tag: VersionId,
    },
    /// A function of another app.
    #[error("`{reference}` is not in app `{app}`, whose tag this is")]
    OtherApp {
        /// The reference as written.
        reference: Reference,
        /// The tag's app.
        app: AppName,
    },
    /// Too many members.
    #[error("{found} members are more than the {max} a tag may have")]
    TooManyMembers {
        /// How many there would be.
        found: usize,
        /// The limit.
        max: u64,
    },
    /// It moved since the caller looked.
    #[error("tag `{tag}` is at revision {found}, not {expected}")]
    Stale {
        /// The tag.
        tag: VersionId,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// A trigger runs it.
    #[error("tag `{tag}` cannot be removed: it is in use by {}", guard::names(.referrers))]
    InUse {
        /// The tag.
        tag: VersionId,
        /// By whom.
        referrers: Vec<Referrer>,
    },
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
            Self::NotFound { .. } => Code("tag_not_found"),
            Self::NotMember { .. } => Code("not_in_tag"),
            Self::OtherApp { .. } => Code("other_app"),
            Self::TooManyMembers { .. } => Code("tag_full"),
            Self::Stale { .. } => Code("stale"),
            Self::InUse { .. } => Code("in_use"),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } | Self::NotMember { .. } => Class::NotFound,
            Self::OtherApp { .. } => Class::Invalid,
            Self::TooManyMembers { .. } => Class::TooLarge,
            Self::Stale { .. } | Self::InUse { .. } => Class::Conflict,
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NotFound { .. } => "`folio fn tag list` shows what exists".to_owned(),
            Self::NotMember { tag, .. } => {
                format!("`folio fn tag show --tag {tag}` shows its members")
            }
            Self::OtherApp { .. } => "a tag holds functions of its own app only".to_owned(),
            Self::TooManyMembers { .. } => "use another tag, or raise `tagMembersMax`".to_owned(),
            Self::Stale { tag, .. } => {
                format!(
                    "`folio fn tag show --tag {tag} -o json` shows its revision; then repeat with it"
                )
            }
            Self::InUse { referrers, .. } => return referrers.first().map(guard::way_out),
            Self::Resolve(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::InUse { referrers, .. } => referrers.clone(),
            _ => Vec::new(),
        }
    }
}

impl Folio {
    /// Adds function versions to a tag, making it if need be. A function already in it moves to the new version.
    pub async fn tag(
        &self,
        caller: &Caller,
        (app, tag): (&AppName, &VersionId),
        functions: Vec<Reference>,
        expect: Option<u64>,
    ) -> Result<Done<TagView>, Error> {
        may_name(caller, &functions)?;
        let max = self.limits().tag_members_max;
        let (app, tag) = (app.clone(), tag.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let current = expected(builder.state, &app, &tag, expect)?;
            let mut members = current.as_ref().map(|tag| tag.members.clone()).unwrap_or_default();
            for reference in &functions {
                members.extend(member(builder.state, &app, reference)?);
            }
            if members.len() as u64 > max {
                return Err(Error::TooManyMembers { found: members.len(), max });
            }
            builder.say(format!("tag {} as {tag}", list(&functions)));
            place(builder, &app, (&tag, current), members)
        })
        .await
    }

    /// Makes a tag these function versions and no others, as one entry. One without any goes.
    pub async fn set_members(
        &self,
        caller: &Caller,
        (app, tag): (&AppName, &VersionId),
        functions: Vec<Reference>,
        expect: Option<u64>,
    ) -> Result<Done<TagView>, Error> {
        may_name(caller, &functions)?;
        let max = self.limits().tag_members_max;
        let (app, tag) = (app.clone(), tag.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let current = expected(builder.state, &app, &tag, expect)?;
            let mut members = Members::new();
            for reference in &functions {
                members.extend(member(builder.state, &app, reference)?);
            }
            if members.len() as u64 > max {
                return Err(Error::TooManyMembers { found: members.len(), max });
            }
            builder.say(format!("make tag {tag} {}", list(&functions)));
            place(builder, &app, (&tag, current), members)
        })
        .await
    }

    /// Takes functions out of a tag. A tag left empty goes.
    pub async fn untag(
        &self,
        caller: &Caller,
        (app, tag): (&AppName, &VersionId),
        functions: Vec<Name>,
        expect: Option<u64>,
    ) -> Result<Done<TagView>, Error> {
        let (app, tag) = (app.clone(), tag.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let current = existing(builder.state, &app, &tag, expect)?;
            let mut members = current.members.clone();
            for name in &functions {
                let key = UnitKey { app: app.clone(), kind: Kind::Function, name: name.clone() };
                let unit = resolve::unit(builder.state, &key)?;
                if members.remove(&unit.uid).is_none() {
                    return Err(Error::NotMember { function: name.clone(), tag: tag.clone() });
                }
            }
            let names: Vec<_> = functions.iter().map(Name::as_str).collect();
            builder.say(format!("remove {} from tag {tag}", names.join(", ")));
            place(builder, &app, (&tag, Some(current)), members)
        })
        .await
    }

    /// Removes a tag; its versions stay.
    pub async fn delete_tag(
        &self,
        caller: &Caller,
        (app, tag): (&AppName, &VersionId),
        expect: Option<u64>,
    ) -> Result<Done<TagView>, Error> {
        let (app, tag) = (app.clone(), tag.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let current = existing(builder.state, &app, &tag, expect)?;
            let view = view::tag(builder.state, &app, current.clone())?;
            builder.say(format!("delete tag {tag}"));
            place(builder, &app, (&tag, Some(current)), Members::new())?;
            Ok::<_, Error>(view)
        })
        .await
    }

    /// Lists an app's tags, by name.
    pub async fn tags(&self, app: &AppName) -> Result<Vec<TagView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            known(state, &app)?;
            let tags = state.tags(&app)?;
            tags.into_iter().map(|tag| Ok(view::tag(state, &app, tag)?)).collect()
        })
        .await
    }

    /// Shows one tag.
    pub async fn show_tag(&self, app: &AppName, tag: &VersionId) -> Result<TagView, Error> {
        let (app, tag) = (app.clone(), tag.clone());
        self.look(move |state| {
            known(state, &app)?;
            let found = existing(state, &app, &tag, None)?;
            Ok(view::tag(state, &app, found)?)
        })
        .await
    }
}

fn known(state: &dyn State, app: &AppName) -> Result<(), folio::Error> {
    if state.has_app(app)? { Ok(()) } else { Err(folio::Error::NoApp(app.clone())) }
}

fn may_name(caller: &Caller, functions: &[Reference]) -> Result<(), resolve::Error> {
    functions.iter().try_for_each(|function| Ok(caller.may_name(Right::Deploy, function)?))
}

fn list(functions: &[Reference]) -> String {
    let names: Vec<_> = functions.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn expected(
    state: &dyn State,
    app: &AppName,
    tag: &VersionId,
    expect: Option<u64>,
) -> Result<Option<Tag>, Error> {
    let found = state.tag(app, tag)?;
    let revision = found.as_ref().map_or(0, |tag| tag.revision);
    match expect {
        Some(expected) if expected != revision => {
            Err(Error::Stale { tag: tag.clone(), expected, found: revision })
        }
        _ => Ok(found),
    }
}

fn existing(
    state: &dyn State,
    app: &AppName,
    tag: &VersionId,
    expect: Option<u64>,
) -> Result<Tag, Error> {
    if let Some(found) = expected(state, app, tag, expect)? {
        return Ok(found);
    }
    let tags = state.tags(app)?;
    let near = resolve::nearest(tag.as_str(), tags.iter().map(|tag| tag.name.as_str()));
    Err(Error::NotFound { app: app.clone(), tag: tag.clone(), near })
}

/// The version a reference means, as a member. A draft cannot be one.
fn member(state: &dyn State, app: &AppName, reference: &Reference) -> Result<Members, Error> {
    let resolved = resolve::resolve(state, app, Kind::Function, reference)?;
    if resolved.unit.key.app != *app {
        return Err(Error::OtherApp { reference: reference.clone(), app: app.clone() });
    }
    let uid = resolved.unit.uid;
    // A bare name means the draft where there is one; as a member it means the version in its place.
    let version = match (&resolved.what, &reference.at) {
        (What::Draft, None) => resolve::version(state, &resolved.unit, &Qualifier::Latest)?,
        _ => resolve::sole(state, resolved)?,
    };
    Ok(BTreeMap::from([(uid, version.number)]))
}

fn place(
    builder: &mut Builder<'_>,
    app: &AppName,
    (tag, current): (&VersionId, Option<Tag>),
    members: Members,
) -> Result<TagView, Error> {
    let kept = current.as_ref().filter(|current| current.members == members);
    let revision = match kept {
        Some(current) => current.revision,
        None => builder.state.head()? + 1,
    };
    let pointer = Pointer::Tag { app: app.clone(), name: tag.clone() };
    if members.is_empty() {
        let leaving = Leaving { gone: [pointer.clone()].into(), ..Leaving::default() };
        let referrers = guard::users(builder.state, &leaving)?;
        if !referrers.is_empty() {
            return Err(Error::InUse { tag: tag.clone(), referrers });
        }
    }
    let from = current.map(|tag| Place::Members(tag.members));
    let to = (!members.is_empty()).then(|| Place::Members(members.clone()));
    builder.point(pointer, from, to)?;
    Ok(view::tag(builder.state, app, Tag { name: tag.clone(), members, revision })?)
}
