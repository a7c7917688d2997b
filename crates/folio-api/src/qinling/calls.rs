//! Every call of this face, with the right it needs: what is not in the table does not exist, whoever would answer it.

use axum::http::Method;
use folio_model::Right::{self, Deploy, Invoke, View};

/// A call: its method, the words of its path after `/v1`, and what it needs in its project.
pub(crate) type Call = (&'static str, &'static str, Right);

/// The calls, but for webhooks being called, which needs no token.
pub(crate) const CALLS: &[Call] = &[
    ("GET", "", View),
    ("GET", "runtimes", View),
    ("POST", "runtimes", Deploy),
    ("GET", "runtimes/{id}", View),
    ("PUT", "runtimes/{id}", Deploy),
    ("DELETE", "runtimes/{id}", Deploy),
    ("GET", "runtimes/{id}/pool", View),
    ("GET", "functions", View),
    ("POST", "functions", Deploy),
    ("GET", "functions/{id}", View),
    ("PUT", "functions/{id}", Deploy),
    ("DELETE", "functions/{id}", Deploy),
    ("POST", "functions/{id}/scale_up", Deploy),
    ("POST", "functions/{id}/scale_down", Deploy),
    ("POST", "functions/{id}/detach", Deploy),
    ("GET", "functions/{id}/workers", View),
    ("GET", "functions/{id}/versions", View),
    ("POST", "functions/{id}/versions", Deploy),
    ("GET", "functions/{id}/versions/{number}", View),
    ("PUT", "functions/{id}/versions/{number}", Deploy),
    ("DELETE", "functions/{id}/versions/{number}", Deploy),
    ("POST", "functions/{id}/versions/{number}/scale_up", Deploy),
    ("POST", "functions/{id}/versions/{number}/scale_down", Deploy),
    ("POST", "functions/{id}/versions/{number}/detach", Deploy),
    ("GET", "aliases", View),
    ("POST", "aliases", Deploy),
    ("GET", "aliases/{name}", View),
    ("PUT", "aliases/{name}", Deploy),
    ("DELETE", "aliases/{name}", Deploy),
    ("GET", "executions", View),
    ("POST", "executions", Invoke),
    ("GET", "executions/{id}", View),
    ("DELETE", "executions/{id}", Deploy),
    ("GET", "executions/{id}/log", View),
    ("GET", "jobs", View),
    ("POST", "jobs", Deploy),
    ("GET", "jobs/{id}", View),
    ("PUT", "jobs/{id}", Deploy),
    ("DELETE", "jobs/{id}", Deploy),
    ("GET", "webhooks", View),
    ("POST", "webhooks", Deploy),
    ("GET", "webhooks/{id}", View),
    ("PUT", "webhooks/{id}", Deploy),
    ("DELETE", "webhooks/{id}", Deploy),
];

/// The call that calls a webhook: whoever knows its name may.
pub(crate) const OPEN: (&str, &str) = ("POST", "webhooks/{id}/invoke");

/// Why a call is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Nothing is there.
    Path,
    /// Something is there that cannot be asked so.
    Method,
}

/// The call that a request makes.
pub(super) fn find<W: AsRef<str>>(method: &Method, words: &[W]) -> Result<&'static Call, Unknown> {
    let fits = |(_, path, _): &&Call| {
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let same = |(part, word): (&&str, &W)| part.starts_with('{') || *part == word.as_ref();
        parts.len() == words.len() && parts.iter().zip(words).all(same)
    };
    let mut found = CALLS.iter().filter(fits).peekable();
    if found.peek().is_none() {
        return Err(Unknown::Path);
    }
    found.find(|call| call.0 == method.as_str()).ok_or(Unknown::Method)
}

/// The right that a request needs; where it is no call, that of its like, so that only those are told who may ask.
pub(super) fn needed(method: &Method, words: &[String]) -> Right {
    let usual = if matches!(*method, Method::GET | Method::HEAD) { View } else { Deploy };
    find(method, words).map_or(usual, |call| call.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_method_and_words() {
        let check = |method, path: &str, expected: Result<Right, Unknown>| {
            let words: Vec<_> = path.split('/').filter(|word| !word.is_empty()).collect();
            assert_eq!(find(&method, &words).map(|call| call.2), expected, "{method} {path}");
        };
        check(Method::GET, "/", Ok(View));
        check(Method::POST, "/executions", Ok(Invoke));
        check(Method::POST, "/functions/x/versions/1/detach", Ok(Deploy));
        check(Method::PUT, "/executions/x", Err(Unknown::Method));
        check(Method::GET, "/nothing", Err(Unknown::Path));
        check(Method::GET, "/functions/x/versions/1/2", Err(Unknown::Path));
    }
}
