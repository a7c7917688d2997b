//! Calling functions, and how they do.

use std::time::Duration;

use folio_core::Folio;
use folio_core::logs::Line;
use folio_core::serving::MeasuredVersion;
use folio_core::status::{LogLines, StatusView};
use futures::{StreamExt as _, stream};

use super::Outcome;
use crate::decode::{Ask, BuildQuery, FunctionPath, Invocation, LogQuery, VersionPath};
use crate::encode::{Answer, Answered, Lines, Metrics};
use crate::wire::{BuildPart, Items};

/// How long a client waits at most for a build to say more before it is answered and asks again.
const BUILD_WAIT_MAX: Duration = Duration::from_secs(20);

pub(crate) async fn invoke(folio: Folio, asked: Invocation) -> Outcome<Answered> {
    let (plan, answer) =
        folio.invoke(&asked.caller, (&asked.app, &asked.function), asked.call).await?;
    Ok(Answered::new(&plan, answer))
}

pub(crate) async fn logs(folio: Folio, ask: Ask<FunctionPath, LogQuery>) -> Outcome<Lines> {
    let LogQuery { after, version, request, follow } = ask.query;
    let key = ask.path.key();
    let version = match version {
        Some(at) => Some(folio.printed_by(&key.app, &key.name, at).await?),
        None => None,
    };
    let first = folio.function_logs(&key.app, &key.name, after, version.as_deref()).await?;
    let wanted = move |line: &Line| request.is_none() || line.request == request;
    if !follow {
        return Ok(Lines::new(stream::iter(first.lines.into_iter().filter(wanted))));
    }
    let LogLines { lines, after, more } = first;
    let batches = stream::unfold((after, more), move |(after, more)| {
        let (folio, key, version) = (folio.clone(), key.clone(), version.clone());
        async move {
            let mut more = more?;
            more.changed().await.ok()?;
            let next = folio.function_logs(&key.app, &key.name, after, version.as_deref());
            let LogLines { lines, after, more } = next.await.ok()?;
            Some((stream::iter(lines), (after, more)))
        }
    });
    let batches = stream::iter([stream::iter(lines)]).chain(batches);
    Ok(Lines::new(batches.flatten().filter(move |line| std::future::ready(wanted(line)))))
}

pub(crate) async fn build(
    folio: Folio,
    ask: Ask<VersionPath, BuildQuery>,
) -> Outcome<Answer<BuildPart>> {
    let (key, BuildQuery { after, wait }) = (ask.path.key(), ask.query);
    let mut part = folio.build_log(&key, &ask.path.at.0, after).await?;
    if wait && part.text.is_empty() && !part.build.is_settled() {
        let ended = folio.await_build(&key, &ask.path.at.0);
        let more = part.more.as_mut();
        tokio::select! {
            _ = ended => {}
            () = said_more(more) => {}
            () = tokio::time::sleep(BUILD_WAIT_MAX) => {}
        }
        part = folio.build_log(&key, &ask.path.at.0, after).await?;
    }
    Ok(Answer(BuildPart::new(part, after)))
}

async fn said_more(more: Option<&mut tokio::sync::watch::Receiver<u64>>) {
    match more {
        Some(more) => more.changed().await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

pub(crate) async fn status(folio: Folio, _: Ask) -> Outcome<Answer<StatusView>> {
    Ok(Answer(folio.status()))
}

pub(crate) async fn measures(folio: Folio, ask: Ask) -> Outcome<Answer<Items<MeasuredVersion>>> {
    Ok(Answer(Items { items: folio.measured(&ask.caller) }))
}

pub(crate) async fn metrics(folio: Folio, ask: Ask) -> Outcome<Metrics> {
    let runtime = folio.status().runtime.unwrap_or_default();
    Ok(Metrics::new(&folio.measured(&ask.caller), &runtime))
}
