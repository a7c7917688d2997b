//! The versions that an alias is to point to, found by what its manifest says of them.

use folio_kinds::spec::{AliasAsked, AskedVersion, Part};
use folio_model::{FULL_WEIGHT, Qualifier, Unit, VersionKey};

use super::{Planner, Shares, VersionAt};
use crate::apply::Error;
use crate::ports::{Page, StoreError};

impl Planner<'_> {
    pub(super) fn shares(
        &self,
        function: (Option<&Unit>, bool),
        asked: &AliasAsked,
    ) -> Result<Result<Shares, (Part, String)>, Error> {
        let primary = match &asked.version {
            AskedVersion::Named(text) => self.named(function, asked, text)?,
            AskedVersion::Digest(digest) => self.with_code(function.0, digest)?,
        };
        let primary = match primary {
            Ok(primary) => primary,
            Err(what) => return Ok(Err((Part::Version, what))),
        };
        let Some((text, percent)) = &asked.secondary else {
            return Ok(Ok(vec![(primary, FULL_WEIGHT)]));
        };
        Ok(match self.named(function, asked, text)? {
            Ok(secondary) if secondary == primary => {
                Err((Part::Secondary, format!("`{text}` cannot be both versions")))
            }
            Ok(secondary) => {
                let rest = percent * 100;
                Ok(vec![(primary, FULL_WEIGHT - rest), (secondary, rest)])
            }
            Err(what) => Err((Part::Secondary, what)),
        })
    }

    /// The version that a text means: an id, a number, the name of the version's object, or `latest`.
    fn named(
        &self,
        (unit, made): (Option<&Unit>, bool),
        asked: &AliasAsked,
        text: &str,
    ) -> Result<Result<VersionAt, String>, StoreError> {
        if text == "latest" && made {
            return Ok(Ok(VersionAt::Made));
        }
        let Some(unit) = unit else {
            return Ok(Err(format!("version `{text}` doesn't exist yet")));
        };
        let inner = text.strip_prefix(&format!("{}-", asked.function));
        for text in [Some(text), inner].into_iter().flatten() {
            let found = match text.parse() {
                Ok(Qualifier::Latest) => unit.latest,
                Ok(Qualifier::Number(number)) => Some(number),
                Ok(Qualifier::Named(id)) => {
                    let found = self.state.version_by_id(unit.uid, &id)?;
                    found.filter(|(_, survives)| *survives).map(|(version, _)| version.number)
                }
                Ok(Qualifier::Draft) | Err(_) => None,
            };
            let Some(number) = found else { continue };
            let key = VersionKey { unit: unit.uid, number };
            if self.state.version(key)?.is_some() {
                let ready = self.state.is_ready(key)?;
                return Ok(match ready {
                    true => Ok(VersionAt::Number(number)),
                    false => Err(format!("version `{text}` waits for its build")),
                });
            }
        }
        Ok(Err(format!("version `{text}` doesn't exist")))
    }

    /// The newest version whose package came from an archive of this digest.
    fn with_code(
        &self,
        unit: Option<&Unit>,
        digest: &str,
    ) -> Result<Result<VersionAt, String>, StoreError> {
        let versions = match unit {
            Some(unit) => self.state.versions(unit.uid, Page::ALL)?,
            None => Vec::new(),
        };
        let wanted = digest.strip_prefix("sha256:").unwrap_or(digest);
        for version in versions.iter().rev() {
            let Some(package) = version.uses else { continue };
            let archive = self.state.version(package)?.and_then(|package| package.archive);
            if archive.is_some_and(|archive| archive.to_string().ends_with(wanted)) {
                return Ok(Ok(VersionAt::Number(version.number)));
            }
        }
        Ok(Err(format!("no version has code with the digest `{digest}`")))
    }
}
