//! What a function freezes of a config or secret, and where its files are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snapshot::SnapshotError;
use crate::{Digest, Name};

/// A config or secret frozen into a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MountPin {
    /// Its name.
    pub name: Name,
    /// The digest of its snapshot.
    pub snapshot: Digest,
    /// The directory its files are in; where absent, the one that the app and its name give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_path: Option<String>,
}

/// Directories that are the jail's own, or lie on something else that code sees.
const RESERVED: &[&str] = &[
    "bin", "code", "dev", "lib", "lib32", "lib64", "libx32", "nix", "proc", "run", "sbin", "sys",
    "tmp", "usr",
];

/// Checks what a function names: each once, and its files where there is room for them.
pub(crate) fn validate(pins: &[MountPin]) -> Result<(), SnapshotError> {
    for (place, pin) in pins.iter().enumerate() {
        if pins[..place].iter().any(|before| before.name == pin.name) {
            return Err(SnapshotError::NamedTwice(pin.name.clone()));
        }
        if let Some(path) = &pin.mount_path {
            check_path(path).map_err(|why| SnapshotError::MountPath { path: path.clone(), why })?;
        }
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), &'static str> {
    let Some(inside) = path.strip_prefix('/').filter(|inside| !inside.is_empty()) else {
        return Err("is not a directory below `/`");
    };
    let mut parts = inside.split('/');
    if path.len() > 1024 || path.chars().any(char::is_control) {
        return Err("holds a control character or is longer than 1024 bytes");
    }
    if parts.clone().any(|part| matches!(part, "" | "." | "..")) {
        return Err("has an empty part, `.` or `..`");
    }
    match parts.next() {
        Some(first) if RESERVED.contains(&first) => Err("lies in a directory of the system"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(name: &str, path: Option<&str>) -> MountPin {
        MountPin {
            name: name.parse().unwrap(),
            snapshot: Digest::of(b""),
            mount_path: path.map(str::to_owned),
        }
    }

    #[test]
    fn files_lie_where_there_is_room() {
        for odd in ["", "/", "a", "/a/../b", "/a/", "/tmp/a", "/usr", "/proc/1", "/a\n"] {
            assert!(validate(&[pin("a", Some(odd))]).is_err(), "{odd:?}");
        }
        assert_eq!(validate(&[pin("a", Some("/etc/shop")), pin("b", None)]), Ok(()));
        let twice = validate(&[pin("a", None), pin("a", Some("/a"))]);
        assert_eq!(twice, Err(SnapshotError::NamedTwice("a".parse().unwrap())));
    }
}
