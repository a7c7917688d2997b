//! `folio fn test`: calls a function as a request would, for those who know it from Fission.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use folio_model::{Kind, Qualifier, Reference};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use tokio::time::timeout;

use crate::command::settings::time;
use crate::command::{Session, invoke};
use crate::name::{self, Named};
use crate::problem::Problem;

/// What to call, and with what.
#[derive(Debug, Args)]
pub(crate) struct Test {
    #[command(flatten)]
    named: Named,
    /// Use this method [default: GET, or POST with a body]
    #[arg(long, value_name = "METHOD", value_parser = method)]
    method: Option<Method>,
    /// Send a header, such as `Accept: text/plain`; repeat it for more
    #[arg(long, short = 'H', value_name = "HEADER", value_parser = invoke::header)]
    header: Vec<(HeaderName, HeaderValue)>,
    /// Send this body; `@FILE` sends a file, `@-` standard input
    #[arg(long, short, value_name = "BODY")]
    body: Option<String>,
    /// Add this to the query; repeat it for more
    #[arg(long, short, value_name = "KEY=VALUE")]
    query: Vec<String>,
    /// Wait this long for the whole answer; 0 sets no end, but 5 minutes of silence are one
    #[arg(long, short, value_name = "TIME", default_value = "60s", value_parser = time)]
    timeout: Duration,
    /// Ask for this path
    #[arg(long, value_name = "PATH", default_value = "/")]
    subpath: String,
    /// Call whatever this alias points to
    #[arg(long, value_name = "ALIAS", conflicts_with = "version")]
    alias: Option<Qualifier>,
    /// Call this version: its number or id, `latest`, or `draft`
    #[arg(long, value_name = "VERSION")]
    version: Option<Qualifier>,
}

fn method(text: &str) -> Result<Method, String> {
    text.to_uppercase().parse().map_err(|_| format!("`{text}` is not a method"))
}

/// Calls a function and prints what it answers; what failed goes to standard error.
pub(crate) async fn run(session: &Session, test: Test) -> Result<()> {
    let reference = test.named.reference()?;
    let (unit, at) =
        name::find(session, Kind::Function, reference, test.version.or(test.alias)).await?;
    let request = invoke::Request {
        function: Reference { app: reference.app.clone(), at, ..name::local(&unit) },
        method: test.method,
        path: path(&test.subpath, &test.query)?,
        header: test.header,
        data: test.body,
    };
    let function = request.function.to_string();
    let answer = answer(session, request);
    if test.timeout.is_zero() {
        return invoke::check(&function, answer.await?);
    }
    let Ok(status) = timeout(test.timeout, answer).await else {
        let problem = format!("`{function}` did not answer within {} ms", test.timeout.as_millis());
        return Err(Problem::new(problem).hint("wait longer with --timeout").into());
    };
    invoke::check(&function, status?)
}

async fn answer(session: &Session, request: invoke::Request) -> Result<StatusCode> {
    let answer = invoke::call(session, request).await?;
    let status = answer.status();
    let to = if status.as_u16() < 400 { invoke::To::Data } else { invoke::To::Talk };
    invoke::print(answer, to).await?;
    Ok(status)
}

/// A path with its query, encoded as a browser would.
fn path(subpath: &str, query: &[String]) -> Result<String> {
    if query.is_empty() {
        return Ok(subpath.to_owned());
    }
    let mut url = Url::parse("http://function/").expect("an address");
    for pair in query {
        let Some((key, value)) = pair.split_once('=') else {
            let problem = Problem::usage(format!("`{pair}` is not a part of a query"));
            return Err(problem.hint("write it as KEY=VALUE").into());
        };
        url.query_pairs_mut().append_pair(key, value);
    }
    let between = if subpath.contains('?') { '&' } else { '?' };
    Ok(format!("{subpath}{between}{}", url.query().unwrap_or_default()))
}
