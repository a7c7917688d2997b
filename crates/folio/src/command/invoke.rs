//! `folio invoke`: calls a function, by whatever name, and prints what it answers.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use folio_model::Reference;
use futures::TryStreamExt as _;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};

use super::Session;
use crate::output;
use crate::problem::Problem;

/// What to call, and with what.
#[derive(Debug, Args)]
pub(crate) struct Invoke {
    /// The function, such as `hello`, `hello@3`, `hello@v1.0.0`, `hello@prod` or `hello@draft`
    #[arg(value_name = "NAME")]
    function: Reference,
    /// Use this method [default: GET, or POST with a body]
    #[arg(long, short = 'X', value_name = "METHOD")]
    method: Option<Method>,
    /// Ask for this path and query
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// Send a header, such as `Accept: text/plain`; repeat it for more
    #[arg(long, short = 'H', value_name = "HEADER", value_parser = header)]
    header: Vec<(HeaderName, HeaderValue)>,
    /// Send this body; `@FILE` sends a file, `@-` standard input
    #[arg(long, short = 'd', value_name = "BODY")]
    data: Option<String>,
    /// Print the status and headers, too
    #[arg(long, short = 'i')]
    include: bool,
}

/// A request to a function.
pub(crate) struct Request {
    /// The function.
    pub(crate) function: Reference,
    /// The method; GET if absent, or POST with a body.
    pub(crate) method: Option<Method>,
    /// The path and query.
    pub(crate) path: String,
    /// The headers.
    pub(crate) header: Vec<(HeaderName, HeaderValue)>,
    /// The body, or `@` and where it is.
    pub(crate) data: Option<String>,
}

/// What an answer is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum To {
    /// Data, for standard output.
    Data,
    /// A failure, for standard error.
    Talk,
}

/// Reads a header.
pub(crate) fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written `Name: value`")?;
    let name = HeaderName::try_from(name.trim()).map_err(|error| error.to_string())?;
    let value = HeaderValue::try_from(value.trim()).map_err(|error| error.to_string())?;
    Ok((name, value))
}

/// Calls a function. An answer of 400 or above is printed too, and is a failure.
pub(crate) async fn run(session: &Session, invoke: Invoke) -> Result<()> {
    let Invoke { function, method, path, header, data, include } = invoke;
    let name = function.to_string();
    let answer = call(session, Request { function, method, path, header, data }).await?;
    let status = answer.status();
    if include {
        output::bytes(head(&answer).as_bytes())?;
    }
    print(answer, To::Data).await?;
    check(&name, status)
}

/// Sends a request.
pub(crate) async fn call(session: &Session, request: Request) -> Result<Response> {
    let Request { function, method, path, header, data } = request;
    let body = data.map(|data| body(&data)).transpose()?;
    let method = method.unwrap_or(if body.is_some() { Method::POST } else { Method::GET });
    let app = session.app(function.app.as_ref());
    let query = [
        ("function", function.to_string()),
        ("method", method.to_string()),
        ("path", if path.starts_with('/') { path } else { format!("/{path}") }),
    ];
    let headers: HeaderMap = header.into_iter().collect();
    let place = ["apps", app.as_str(), "invoke"];
    session.client.call(&place, &query, headers, body.unwrap_or_default()).await
}

/// Prints a body as it comes.
pub(crate) async fn print(answer: Response, to: To) -> Result<()> {
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.try_next().await.context("the function's answer broke off")? {
        match to {
            To::Data => output::bytes(&piece)?,
            To::Talk => output::talk_bytes(&piece),
        }
    }
    Ok(())
}

/// Fails if a function answered that it failed.
pub(crate) fn check(function: &str, status: StatusCode) -> Result<()> {
    if status.is_client_error() || status.is_server_error() {
        return Err(Problem::new(format!("`{function}` answered {status}")).into());
    }
    Ok(())
}

fn head(answer: &Response) -> String {
    let mut text = format!("{}\n", answer.status());
    for (name, value) in answer.headers() {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    text + "\n"
}

fn body(data: &str) -> Result<Vec<u8>> {
    match data.strip_prefix('@') {
        None => Ok(data.as_bytes().to_vec()),
        Some("-") => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
            Ok(bytes)
        }
        Some(file) => {
            std::fs::read(PathBuf::from(file)).with_context(|| format!("cannot read `{file}`"))
        }
    }
}
