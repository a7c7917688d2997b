//! The names in paths. A value of these types is well formed; whether it exists, a verb will say.

use folio_core::history::Moment;
use folio_core::release::ReleaseRef;
use folio_core::request::Which;
use folio_model::{
    AppName, Digest, DomainName, ExecutionId, Kind, Name, Qualifier, ReleaseId, ReleaseIdError,
    UnitKey, VersionId,
};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

/// No names, or no query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AppPath {
    /// The app.
    pub(crate) app: AppName,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TokenPath {
    /// The token's public part.
    pub(crate) id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StaticPath {
    /// The app.
    pub(crate) app: AppName,
    /// The item.
    pub(crate) name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DomainPath {
    /// The app.
    pub(crate) app: AppName,
    /// The domain.
    pub(crate) domain: DomainName,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ArchivePath {
    /// The app.
    pub(crate) app: AppName,
    /// The archive's digest.
    pub(crate) id: Digest,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct KindPath {
    /// The app.
    pub(crate) app: AppName,
    /// `functions` or `packages`.
    pub(crate) kind: Plural,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UnitPath {
    /// The app.
    app: AppName,
    /// `functions` or `packages`.
    kind: Plural,
    /// The function or package.
    name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct VersionPath {
    /// The app.
    app: AppName,
    /// `functions` or `packages`.
    kind: Plural,
    /// The function or package.
    name: Name,
    /// A number, an id, an alias or `latest`.
    pub(crate) at: At,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct VersionsPath {
    /// The app.
    app: AppName,
    /// `functions` or `packages`.
    kind: Plural,
    /// The function or package.
    name: Name,
    /// A number, an id, an alias, `latest`, or `all` for every version.
    pub(crate) at: AtOrAll,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FunctionPath {
    /// The app.
    app: AppName,
    /// The function.
    name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EnvironmentPath {
    /// The app.
    app: AppName,
    /// The environment.
    name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ConfigPath {
    /// The app.
    app: AppName,
    /// The config.
    name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SecretPath {
    /// The app.
    app: AppName,
    /// The secret.
    name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RoutePath {
    /// The app.
    pub(crate) app: AppName,
    /// The route.
    pub(crate) name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TriggerPath {
    /// The app.
    pub(crate) app: AppName,
    /// The trigger.
    pub(crate) name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExecutionPath {
    /// The app.
    pub(crate) app: AppName,
    /// The execution.
    pub(crate) id: ExecutionId,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BindingPath {
    /// The app.
    pub(crate) app: AppName,
    /// The job or webhook.
    pub(crate) id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CanaryPath {
    /// The app.
    pub(crate) app: AppName,
    /// The canary.
    pub(crate) name: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReleasePath {
    /// The app.
    pub(crate) app: AppName,
    /// A release's id, a tag on it, `latest` or `live`.
    pub(crate) release: ReleaseName,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReleaseTagPath {
    /// The app.
    pub(crate) app: AppName,
    /// The tag on a release.
    pub(crate) tag: ReleaseId,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AliasPath {
    /// The app.
    app: AppName,
    /// The function.
    name: Name,
    /// The alias.
    pub(crate) alias: VersionId,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TagPath {
    /// The app.
    pub(crate) app: AppName,
    /// The tag.
    pub(crate) tag: VersionId,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MemberPath {
    /// The app.
    pub(crate) app: AppName,
    /// The tag.
    pub(crate) tag: VersionId,
    /// The function.
    pub(crate) function: Name,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MomentPath {
    /// The app.
    pub(crate) app: AppName,
    /// An app version's id or number, or `latest`.
    pub(crate) at: AppMoment,
}

/// Paths that name a unit.
macro_rules! names_unit {
    ($($path:ty => $kind:expr),* $(,)?) => {$(
        impl $path {
            /// The unit it names.
            pub(crate) fn key(&self) -> UnitKey {
                let kind: fn(&Self) -> Kind = $kind;
                UnitKey { app: self.app.clone(), kind: kind(self), name: self.name.clone() }
            }
        }
    )*};
}
names_unit! {
    UnitPath => |path| path.kind.0,
    VersionPath => |path| path.kind.0,
    VersionsPath => |path| path.kind.0,
    FunctionPath => |_| Kind::Function,
    EnvironmentPath => |_| Kind::Environment,
    ConfigPath => |_| Kind::Config,
    SecretPath => |_| Kind::Secret,
    AliasPath => |_| Kind::Function,
}

impl EnvironmentPath {
    /// An environment of an app.
    pub(crate) fn new(app: AppName, name: Name) -> Self {
        Self { app, name }
    }
}

impl SecretPath {
    /// A secret of an app.
    pub(crate) fn new(app: AppName, name: Name) -> Self {
        Self { app, name }
    }
}

impl KindPath {
    /// A unit of that kind.
    pub(crate) fn unit(&self, name: Name) -> UnitKey {
        UnitKey { app: self.app.clone(), kind: self.kind.0, name }
    }
}

/// A kind, as paths write it.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "PluralText", inline)]
pub(crate) struct Plural(pub(crate) Kind);

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum PluralText {
    Functions,
    Packages,
}

impl TryFrom<String> for Plural {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let found = [Kind::Function, Kind::Package].into_iter().find(|kind| kind.plural() == text);
        found.map(Self).ok_or_else(|| format!("`{text}` is neither `functions` nor `packages`"))
    }
}

/// One version, as paths and bodies write it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub(crate) struct At(pub(crate) Qualifier);

impl TryFrom<String> for At {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error: folio_model::ReferenceError| error.to_string())
    }
}

/// One version, or all.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub(crate) struct AtOrAll(pub(crate) Which);

impl TryFrom<String> for AtOrAll {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match &*text {
            "all" => Ok(Self(Which::All)),
            _ => At::try_from(text).map(|At(at)| Self(Which::One(at))),
        }
    }
}

/// One release, as paths and bodies write it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub(crate) struct ReleaseName(pub(crate) ReleaseRef);

impl TryFrom<String> for ReleaseName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error: ReleaseIdError| error.to_string())
    }
}

/// One version of an app.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub(crate) struct AppMoment(pub(crate) Moment);

impl TryFrom<String> for AppMoment {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match At::try_from(text)?.0 {
            Qualifier::Number(number) => Ok(Self(Moment::Number(number))),
            Qualifier::Named(id) => Ok(Self(Moment::Id(id))),
            Qualifier::Latest => Ok(Self(Moment::Now)),
            Qualifier::Draft => Err("an app has no draft".to_owned()),
        }
    }
}

/// One version of an app, or the release that is live.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline)]
pub(crate) struct Compared(pub(crate) Moment);

impl TryFrom<String> for Compared {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match &*text {
            "live" => Ok(Self(Moment::Release(ReleaseRef::Live))),
            _ => AppMoment::try_from(text).map(|AppMoment(moment)| Self(moment)),
        }
    }
}
