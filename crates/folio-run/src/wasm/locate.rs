//! Finds the wasm file of a version among its files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use folio_core::ports::runtime::CallError;

/// A version's code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// The wasm file.
    pub(super) file: PathBuf,
    /// The directory it came in, if it is one.
    pub(super) directory: Option<PathBuf>,
}

/// Finds it: a file is it, in a directory the entry point names it, or it is the only one.
pub(super) fn locate(path: &Path, entrypoint: Option<&str>) -> Result<Located, CallError> {
    if !path.is_dir() {
        return Ok(Located { file: path.to_path_buf(), directory: None });
    }
    let directory = Some(path.to_path_buf());
    if let Some(name) = entrypoint {
        let name = Path::new(name);
        let inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        let file = path.join(name);
        if !inside || !file.is_file() {
            let text = format!("the package has no file `{}`", name.display());
            return Err(CallError::Load(text));
        }
        return Ok(Located { file, directory });
    }
    let entries = fs::read_dir(path).map_err(unreadable)?;
    let found = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = found.filter(|file| file.extension().is_some_and(|end| end == "wasm"));
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(Located { file, directory }),
        (None, _) => Err(CallError::Load("the package has no .wasm file".to_owned())),
        (Some(_), Some(_)) => {
            let text = "the package has several .wasm files: name one as the entry point";
            Err(CallError::Load(text.to_owned()))
        }
    }
}

/// Reads a wasm file, unless it is too large.
pub(super) fn read(file: &Path, bytes_max: u64) -> Result<Vec<u8>, CallError> {
    let bytes = fs::metadata(file).map_err(unreadable)?.len();
    if bytes > bytes_max {
        let text = format!("the wasm file has {bytes} bytes, {bytes_max} are allowed");
        return Err(CallError::Load(text));
    }
    fs::read(file).map_err(unreadable)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unreadable(error: std::io::Error) -> CallError {
    CallError::Unavailable(format!("the code cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[&str], entrypoint: Option<&str>, expected: &str) {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(directory.path().join(file), "").unwrap();
        }
        let said = match locate(directory.path(), entrypoint) {
            Ok(found) => found.file.strip_prefix(directory.path()).unwrap().display().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn the_entry_point_or_the_only_file_is_it() {
        check(&["a.wasm", "b.txt"], None, "a.wasm");
        check(&["a.wasm", "b.wasm"], Some("b.wasm"), "b.wasm");
    }

    #[test]
    fn a_file_outside_or_nowhere_is_refused() {
        let none = |name| format!("the code could not be loaded: the package has no file `{name}`");
        check(&["a.wasm"], Some("../a.wasm"), &none("../a.wasm"));
        check(&["a.wasm"], Some("/etc/passwd"), &none("/etc/passwd"));
        check(&["a.wasm"], Some("b.wasm"), &none("b.wasm"));
        check(&["a"], None, "the code could not be loaded: the package has no .wasm file");
        let several = "the code could not be loaded: the package has several .wasm files: name one \
                       as the entry point";
        check(&["a.wasm", "b.wasm"], None, several);
    }
}
