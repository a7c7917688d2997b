//! Every kind, the versions it is served in, and the type each of them is.

use hub::{Result, Spoke as _, Value};

use crate::generated::kinds::{fission_io_v1, folio_dev_v1, folio_dev_v1beta1, storage};

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindEntry {
    /// Its name as manifests write it.
    pub name: &'static str,
    /// Its name in paths and on the command line.
    pub plural: &'static str,
    /// Other names for it on the command line.
    pub short: &'static [&'static str],
    /// The versions it is served in, oldest first; the last is the clean one.
    pub versions: &'static [&'static str],
}

impl KindEntry {
    /// Finds a kind by any of its names, in any letter case.
    pub fn find(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| {
            let mut names = [kind.name, kind.plural].into_iter().chain(kind.short.iter().copied());
            names.any(|own| own.eq_ignore_ascii_case(name))
        })
    }
}

/// Declares the kinds.
macro_rules! kinds {
    ($(
        $kind:ident $plural:literal [$($short:literal),*] { $($version:literal $module:ident),* }
    )*) => {
        /// Every kind, by name.
        pub const KINDS: &[KindEntry] = &[$(KindEntry {
            name: stringify!($kind),
            plural: $plural,
            short: &[$($short),*],
            versions: &[$($version),*],
        }),*];

        /// An object as it is stored.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Stored {
            $(
                #[doc = concat!("`", stringify!($kind), "`.")]
                $kind(Box<storage::$kind>),
            )*
        }

        impl Stored {
            /// Its kind.
            pub fn kind(&self) -> &'static KindEntry {
                let name = match self { $(Self::$kind(_) => stringify!($kind),)* };
                KindEntry::find(name).expect("every variant is a line of the table")
            }

            /// The object as JSON.
            pub fn to_value(&self) -> Value {
                match self { $(Self::$kind(object) => hub::serde_json::to_value(object),)* }
                    .expect("what is stored has a form in JSON")
            }

            /// Reads what [`Stored::to_value`] wrote.
            pub(crate) fn of_value(kind: &str, value: Value) -> Result<Self, String> {
                match kind {
                    $(stringify!($kind) => hub::serde_json::from_value(value)
                        .map(Self::$kind)
                        .map_err(|error| error.to_string()),)*
                    _ => Err(format!("there is no kind `{kind}`")),
                }
            }

            /// Reads a manifest without its kind and version; nothing if the kind is not served in
            /// that version.
            pub(crate) fn read(kind: &str, version: &str, body: Value) -> Option<Result<Self>> {
                match (kind, version) {
                    $($((stringify!($kind), $version) => {
                        let spoke: $module::$kind = match hub::serde_json::from_value(body) {
                            Ok(spoke) => spoke,
                            Err(error) => {
                                let expected = format!("a {kind} of {version}");
                                return Some(Err(hub::Error::new(expected, error.to_string())));
                            }
                        };
                        Some(spoke.into_hub().map(|hub| Self::$kind(Box::new(hub))))
                    })*)*
                    _ => None,
                }
            }

            /// Reads a manifest of the same kind, without kind and version, in the place of this; nothing if the kind
            /// is not served in that version.
            pub(crate) fn written_over(self, version: &str, body: Value) -> Option<Result<Self>> {
                match (self, version) {
                    $($((Self::$kind(stored), $version) => {
                        let spoke: $module::$kind = match hub::serde_json::from_value(body) {
                            Ok(spoke) => spoke,
                            Err(error) => {
                                let expected = format!("a {} of {version}", stringify!($kind));
                                return Some(Err(hub::Error::new(expected, error.to_string())));
                            }
                        };
                        Some(spoke.into_hub_over(*stored).map(|hub| Self::$kind(Box::new(hub))))
                    })*)*
                    _ => None,
                }
            }

            /// Writes it as a manifest without kind and version; nothing if the kind is not served
            /// in that version.
            pub(crate) fn write(self, version: &str) -> Option<Result<Value>> {
                match (self, version) {
                    $($((Self::$kind(object), $version) => {
                        let spoke = $module::$kind::from_hub(*object);
                        Some(spoke.map(|spoke| {
                            hub::serde_json::to_value(spoke).expect("a version has a form in JSON")
                        }))
                    })*)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Alias "aliases" [] { "folio.dev/v1" folio_dev_v1 }
    App "apps" [] { "folio.dev/v1" folio_dev_v1 }
    AppVersion "appversions" [] { "folio.dev/v1" folio_dev_v1 }
    CanaryConfig "canaryconfigs" ["canary"] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1
    }
    Config "configs" [] { "folio.dev/v1" folio_dev_v1 }
    Domain "domains" [] { "folio.dev/v1" folio_dev_v1 }
    Environment "environments" ["env"] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1
    }
    Execution "executions" [] { "folio.dev/v1" folio_dev_v1 }
    Function "functions" ["fn"] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1beta1" folio_dev_v1beta1,
        "folio.dev/v1" folio_dev_v1
    }
    FunctionAlias "functionaliases" ["fnalias"] { "fission.io/v1" fission_io_v1 }
    FunctionVersion "functionversions" ["fnver"] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1
    }
    FunctionVersionTracker "functionversiontrackers" [] { "folio.dev/v1" folio_dev_v1 }
    GroupVersionTracker "groupversiontrackers" [] { "folio.dev/v1" folio_dev_v1 }
    HTTPTrigger "httptriggers" ["route"] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1beta1" folio_dev_v1beta1,
        "folio.dev/v1" folio_dev_v1
    }
    Job "jobs" [] { "folio.dev/v1" folio_dev_v1 }
    KubernetesWatchTrigger "kuberneteswatchtriggers" [] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1
    }
    MessageQueueTrigger "messagequeuetriggers" [] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1
    }
    Package "packages" ["pkg"] { "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1 }
    PackageVersion "packageversions" ["pkgver"] { "folio.dev/v1" folio_dev_v1 }
    PackageVersionTracker "packageversiontrackers" [] { "folio.dev/v1" folio_dev_v1 }
    Release "releases" [] { "folio.dev/v1" folio_dev_v1 }
    StaticAsset "staticassets" ["static"] { "folio.dev/v1" folio_dev_v1 }
    Tag "tags" [] { "folio.dev/v1" folio_dev_v1 }
    TimeTrigger "timetriggers" [] {
        "fission.io/v1" fission_io_v1, "folio.dev/v1" folio_dev_v1
    }
    Webhook "webhooks" [] { "folio.dev/v1" folio_dev_v1 }
}
