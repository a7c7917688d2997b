//! Why releases were not changed or found.

use folio_model::{AppName, Name, ReleaseId, SharesError, Timestamp, VersionId};

use crate::alias::in_percent;
use crate::delete::guard;
use crate::ports::StoreError;
use crate::{Class, Code, Explain, Referrer, folio, history};

/// Why releases were not changed or found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such release, and there never was.
    #[error("app `{app}` has no release `{release}`")]
    NotFound {
        /// The app.
        app: AppName,
        /// What was asked for.
        release: ReleaseId,
        /// The nearest name there is.
        near: Option<String>,
    },
    /// It is an app version that was not released.
    #[error("`{version}` is an app version of app `{app}`, not a release")]
    NotReleased {
        /// The app.
        app: AppName,
        /// The app version.
        version: String,
    },
    /// There were more releases than the plan allows.
    #[error("release `{release}` of app `{app}` has expired{}", since(*.at))]
    Expired {
        /// The app.
        app: AppName,
        /// The release.
        release: ReleaseId,
        /// When it did.
        at: Option<Timestamp>,
    },
    /// Somebody removed it.
    #[error("release `{release}` of app `{app}` was deleted{}", since(*.at))]
    Deleted {
        /// The app.
        app: AppName,
        /// The release.
        release: ReleaseId,
        /// When.
        at: Option<Timestamp>,
    },
    /// Versions of it were deleted, and their bytes went after them.
    #[error("app version `{version}` of app `{app}` cannot be released: the content of {} is no longer kept", .of.join(", "))]
    NotKept {
        /// The app.
        app: AppName,
        /// The app version.
        version: VersionId,
        /// The units, for people.
        of: Vec<String>,
    },
    /// Nothing can be reached.
    #[error("app `{0}` has no release")]
    None(AppName),
    /// Several releases are live.
    #[error("several releases of app `{0}` share what is live")]
    Split(AppName),
    /// The shares do not make a whole.
    #[error(transparent)]
    Shares(#[from] SharesError),
    /// Neither a header nor a cookie can be called that.
    #[error("`{0}` is not the name of a header or cookie")]
    Sticky(String),
    /// A rollout moves what is live.
    #[error("rollout `{0}` is moving what is live")]
    Rolling(Name),
    /// There is no release to go back to.
    #[error("app `{0}` has no release to roll back to: none that was live before can be reached")]
    NoPast(AppName),
    /// The tag would hide something else of that name.
    #[error("`{0}` is the id of a release or version, and cannot be a tag as well")]
    TagIsId(ReleaseId),
    /// No host name could carry it.
    #[error("tag `{tag}` is too long: no host can be called `{tag}--{app}`")]
    TagTooLong {
        /// The app.
        app: AppName,
        /// The tag.
        tag: ReleaseId,
        /// How many characters a tag of this app has at most.
        max: usize,
    },
    /// No such tag.
    #[error("app `{app}` has no release tag `{tag}`")]
    NoTag {
        /// The app.
        app: AppName,
        /// The tag.
        tag: ReleaseId,
        /// The nearest there is.
        near: Option<String>,
    },
    /// It is not where the caller saw it.
    #[error("release tag `{tag}` is on {}", .on.as_ref().map_or("no release".to_owned(), |on| format!("release `{on}`")))]
    TagMoved {
        /// The tag.
        tag: ReleaseId,
        /// Where it is.
        on: Option<ReleaseId>,
    },
    /// The plan allows no more.
    #[error("app `{app}` has as many release tags as its plan allows, {limit}")]
    TooManyTags {
        /// The app.
        app: AppName,
        /// How many that is.
        limit: u32,
    },
    /// The plan allows no more.
    #[error("app `{app}` keeps as many releases as its plan allows to be tagged, {limit}")]
    TooManyKept {
        /// The app.
        app: AppName,
        /// How many that is.
        limit: u32,
    },
    /// No client can stay that long.
    #[error("a client cannot stay with a release for {0} s: between a second and 30 days")]
    SkewTime(u64),
    /// Something shows it.
    #[error("release `{release}` cannot be deleted: it is in use by {}", guard::names(.referrers))]
    InUse {
        /// The release.
        release: ReleaseId,
        /// By what.
        referrers: Vec<Referrer>,
    },
    /// It is for whoever tries something out.
    #[error("release `{0}` stands aside: it can be reached, and be nothing else")]
    Aside(ReleaseId),
    /// A release cannot take its own place.
    #[error("release `{0}` cannot be replaced by itself")]
    ReplacedByItself(ReleaseId),
    /// The app version was not found.
    #[error(transparent)]
    History(#[from] history::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

fn since(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| format!(" at {}", at.strftime("%Y-%m-%d %H:%M:%S")))
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code("release_not_found"),
            Self::NotReleased { .. } => Code("not_released"),
            Self::Expired { .. } => Code("release_expired"),
            Self::Deleted { .. } => Code("release_deleted"),
            Self::NotKept { .. } => Code("content_not_kept"),
            Self::None(_) => Code("no_live_release"),
            Self::Split(_) => Code("live_is_split"),
            Self::Shares(_) => Code("bad_weights"),
            Self::Sticky(_) | Self::SkewTime(_) => Code("bad_request"),
            Self::Rolling(_) => Code("canary_running"),
            Self::NoPast(_) => Code("nothing_to_roll_back"),
            Self::TagIsId(_) => Code("release_tag_is_id"),
            Self::TagTooLong { .. } => Code("release_tag_too_long"),
            Self::NoTag { .. } => Code("release_tag_not_found"),
            Self::TagMoved { .. } => Code("stale"),
            Self::TooManyTags { .. } | Self::TooManyKept { .. } => Code("release_tags_full"),
            Self::InUse { .. } => Code("in_use"),
            Self::ReplacedByItself(_) => Code("bad_request"),
            Self::Aside(_) => Code("release_aside"),
            Self::History(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } | Self::NotReleased { .. } | Self::NoTag { .. } => {
                Class::NotFound
            }
            Self::None(_) => Class::NotFound,
            Self::Expired { .. } | Self::Deleted { .. } | Self::NotKept { .. } => Class::Gone,
            Self::Split(_) | Self::NoPast(_) | Self::TagIsId(_) | Self::TagMoved { .. } => {
                Class::Conflict
            }
            Self::TooManyTags { .. } | Self::TooManyKept { .. } | Self::InUse { .. } => {
                Class::Conflict
            }
            Self::Rolling(_) | Self::Aside(_) => Class::Conflict,
            Self::ReplacedByItself(_) | Self::Shares(_) | Self::TagTooLong { .. } => Class::Invalid,
            Self::Sticky(_) | Self::SkewTime(_) => Class::Invalid,
            Self::History(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { near: Some(near), .. } | Self::NoTag { near: Some(near), .. } => {
                format!("did you mean `{near}`?")
            }
            Self::NotFound { .. } | Self::NoTag { .. } | Self::TagMoved { .. } => {
                "`folio release list` shows what exists".to_owned()
            }
            Self::NotReleased { version, .. } => {
                format!("release it with `folio release create --app-version {version}`")
            }
            Self::Expired { .. } | Self::Deleted { .. } => {
                "release its app version again with `folio release create --app-version ...`"
                    .to_owned()
            }
            Self::NotKept { .. } => "deploy it again from its source".to_owned(),
            Self::None(_) => "deploy something, or `folio release create`".to_owned(),
            Self::Split(_) => "name one of them; `folio release list` shows them".to_owned(),
            Self::Shares(error) => {
                let give = "give every release its share: `folio release split r1=90% r2=10%`";
                match error {
                    SharesError::Sum(sum) => format!("that is {}; {give}", in_percent(*sum)),
                    SharesError::Twice(_) => give.to_owned(),
                }
            }
            Self::Sticky(_) => "use letters, digits and dashes".to_owned(),
            Self::SkewTime(_) => "write `12h` or `7d`".to_owned(),
            Self::TooManyKept { .. } => {
                "let one go with `folio release unkeep ...`, or raise it with `folio app plan set --tagged`"
                    .to_owned()
            }
            Self::Rolling(_) => {
                "see `folio release rollout show`; end it with `folio release rollout abort` or `folio rollback`"
                    .to_owned()
            }
            Self::NoPast(_) => "name one with `folio rollback --to ...`".to_owned(),
            Self::TagIsId(_) => "choose another word for the tag".to_owned(),
            Self::TagTooLong { app, max: 0, .. } => format!(
                "the name of app `{app}` leaves no room for a tag; use an app with a shorter name"
            ),
            Self::TagTooLong { app, max, .. } => {
                format!("a tag of app `{app}` has at most {max} characters")
            }
            Self::TooManyTags { .. } => {
                "remove one with `folio release untag ...`, or raise it with `folio app plan set`"
                    .to_owned()
            }
            Self::InUse { release, referrers } => {
                match referrers.iter().any(|of| matches!(of.kind.as_str(), "live" | "split")) {
                    true => format!(
                        "`folio release delete {release} --replace-with ...` makes another live"
                    ),
                    false => format!("`folio release delete {release} --untag` drops its tags"),
                }
            }
            Self::ReplacedByItself(_) => "name another release".to_owned(),
            Self::Aside(_) => {
                "release what it shows for everybody with `folio release create --app-version ...`"
                    .to_owned()
            }
            Self::History(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::InUse { referrers, .. } => referrers.clone(),
            Self::Rolling(name) => {
                vec![Referrer { kind: "rollout".to_owned(), name: name.to_string() }]
            }
            _ => Vec::new(),
        }
    }
}
