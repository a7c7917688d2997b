//! Files whose digest is known before: they are sent only if they are what they should be.

use std::io::Read as _;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use folio_model::Digest;
use sha2::{Digest as _, Sha256};

use super::PackageFields;
use crate::problem::Problem;

/// How much of a file is read at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// The SHA-256 that a file should have, with or without `sha256:` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checksum(Digest);

impl FromStr for Checksum {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
        let digest = format!("sha256:{digits}").parse();
        digest.map(Self).map_err(|_| anyhow::anyhow!("a checksum is 64 hexadecimal digits"))
    }
}

impl PackageFields {
    /// Refuses files that are not what their checksums say.
    pub(super) fn check(&self) -> Result<()> {
        let deployment = self.code.as_deref().or(self.deploy.as_deref());
        check(self.src.as_deref(), self.srcchecksum)?;
        check(deployment, self.deploychecksum)
    }
}

fn check(path: Option<&Path>, expected: Option<Checksum>) -> Result<()> {
    let (Some(path), Some(Checksum(expected))) = (path, expected) else { return Ok(()) };
    let shown = path.display();
    if path.is_dir() {
        let problem = Problem::usage(format!("`{shown}` is a directory, which has no checksum"));
        return Err(problem.hint("give a file or an archive, or leave the checksum out").into());
    }
    let found = match path.to_str().and_then(|text| text.parse().ok()) {
        Some(uploaded) => uploaded,
        None => digest(path)?,
    };
    if found == expected {
        return Ok(());
    }
    let problem = format!("`{shown}` is {found}, and should be {expected}");
    Err(Problem::new(problem).hint("get the right file, or give its own checksum").into())
}

fn digest(path: &Path) -> Result<Digest> {
    let context = || format!("cannot read `{}`", path.display());
    let mut file = std::fs::File::open(path).with_context(context)?;
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        let read = file.read(&mut piece).with_context(context)?;
        if read == 0 {
            break;
        }
        hasher.update(&piece[..read]);
    }
    let digits = hex::encode(hasher.finalize());
    format!("sha256:{digits}").parse().context("a digest of 64 digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_taken_with_or_without_its_kind_and_in_any_case() {
        let digits = "AB".repeat(32);
        let plain: Checksum = digits.parse().unwrap();
        assert_eq!(format!("sha256:{digits}").parse::<Checksum>().unwrap(), plain);
        assert!("abc".parse::<Checksum>().is_err());
    }
}
