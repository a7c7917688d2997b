//! Finding programs by name, where every jail shows them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::jail::Interpreters;

/// Where systems keep programs; every jail shows these.
const SYSTEM: [&str; 6] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The value of `PATH` for what runs in a jail: the interpreters' own directories, then the system's.
pub(crate) fn search_path(interpreters: &Interpreters) -> OsString {
    std::env::join_paths(directories(interpreters)).unwrap_or_else(|_| SYSTEM.join(":").into())
}

/// The program that a name means. An absolute path means itself.
pub(crate) fn find(interpreters: &Interpreters, name: &str) -> Option<PathBuf> {
    let interpreter = match name {
        "node" => &interpreters.node,
        "python" | "python3" => &interpreters.python,
        _ => &None,
    };
    if let Some(interpreter) = interpreter {
        return Some(interpreter.program.clone());
    }
    if Path::new(name).is_absolute() {
        return Some(PathBuf::from(name));
    }
    if name.contains('/') {
        return None;
    }
    let candidates = directories(interpreters).map(|directory| directory.join(name));
    candidates.into_iter().find(|program| program.is_file())
}

fn directories(interpreters: &Interpreters) -> impl Iterator<Item = PathBuf> {
    let found = [&interpreters.python, &interpreters.node].into_iter().flatten();
    let own = found.filter_map(|found| found.program.parent()).map(Path::to_path_buf);
    own.chain(SYSTEM.map(PathBuf::from)).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        let none = Interpreters::default();
        assert!(find(&none, "sh").unwrap().ends_with("sh"));
        assert_eq!(find(&none, "/no/such"), Some(PathBuf::from("/no/such")));
        assert_eq!(find(&none, "no-such-program"), None);
        assert_eq!(find(&none, "../usr/bin/sh"), None);
    }
}
