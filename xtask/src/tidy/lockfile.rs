//! How many packages we build on has a cap, so that the number grows only by decision.

use super::assert_none;
use super::tree::{File, TREE};

/// Packages in Cargo.lock, ours included. Raise it only in a commit that says what for.
const PACKAGES_MAX: usize = 530;

fn problems(files: &[File]) -> Vec<String> {
    let Some(lock) = files.iter().find(|file| file.path == "Cargo.lock") else {
        return vec!["Cargo.lock is missing: it is part of the project".to_owned()];
    };
    let packages = lock.text.lines().filter(|line| *line == "[[package]]").count();
    if packages <= PACKAGES_MAX {
        return Vec::new();
    }
    vec![format!("Cargo.lock: {packages} packages, limit {PACKAGES_MAX}")]
}

#[test]
fn dependencies_stay_few() {
    assert_none(&problems(&TREE));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(packages: usize, expected: &[&str]) {
        let lock = "[[package]]\nname = \"a\"\n".repeat(packages);
        assert_eq!(problems(&[File::new("Cargo.lock", lock)]), expected);
    }

    #[test]
    fn one_package_too_many_is_found() {
        check(PACKAGES_MAX, &[]);
        let over = format!("Cargo.lock: {} packages, limit {PACKAGES_MAX}", PACKAGES_MAX + 1);
        check(PACKAGES_MAX + 1, &[&over]);
    }

    #[test]
    fn a_missing_lock_is_found() {
        assert_eq!(problems(&[]), ["Cargo.lock is missing: it is part of the project"]);
    }
}
