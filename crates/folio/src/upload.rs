//! Uploads content: asks from the root down what the server lacks, then sends only that, children before
//! parents, several batches at a time. What broke off is resumed by asking again, so nothing is sent twice.

mod batches;
mod pending;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_model::{Digest, NodeKind};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

pub(crate) use self::pending::{Pending, name_archive, name_selection};
use crate::client::{self, Client};
use crate::content::{self, Changed, Extent, Found, Given, Lesson, Most, Plan, Planned, Trust};

const TRIES: u32 = 3;
/// Sending more than this by guess would cost more than asking.
const GUESS_BYTES_MAX: u64 = 1024 * 1024;
/// Asking about more than this at once would cost more than asking level by level.
const DIRECTORIES_MAX: usize = 256;

/// Makes sure that the server has what a flag names, and says how to name it.
///
/// Plans with what is remembered first. If that turns out to be wrong, or the server lacks something that is
/// remembered, everything is read again.
pub(crate) async fn upload(
    client: &Client,
    (given, caches, trust): (Given, Option<PathBuf>, Trust),
    found: Found,
    limits: &Limits,
) -> Result<ContentRef> {
    let (content, extent, sent) = plan_and_send(client, (found, trust), *limits).await?;
    match sent {
        Err(error) if extent == Extent::News && is_outdated(&error) => {}
        sent => return sent.map(|()| content),
    }
    let most = Most::of(limits.content_files_max);
    let find = move || content::find(&given, caches.as_deref(), &most).map(Found::afresh);
    let found = spawn_blocking(find).await??;
    let (content, _, sent) = plan_and_send(client, (found, trust), *limits).await?;
    sent.map(|()| content)
}

async fn plan_and_send(
    client: &Client,
    (found, trust): (Found, Trust),
    limits: Limits,
) -> Result<(ContentRef, Extent, Result<()>)> {
    let (content, mut plan) = spawn_blocking(move || found.plan(&limits)).await??;
    plan.trust = trust;
    let extent = plan.extent;
    Ok((content, extent, send_and_learn(client, plan, &limits).await?))
}

/// Sends what a plan names. What is remembered is taken to be on the server the next time, so it is kept only once
/// everything is there.
async fn send_and_learn(client: &Client, mut plan: Plan, limits: &Limits) -> Result<Result<()>> {
    let lesson = plan.lesson.take();
    let sent = send(client, &Arc::new(plan), limits).await;
    if sent.is_ok() {
        spawn_blocking(move || lesson.as_ref().map(Lesson::keep)).await?;
    }
    Ok(sent)
}

/// What is remembered is not what there is, here or on the server.
fn is_outdated(error: &anyhow::Error) -> bool {
    error.is::<Changed>() || error.is::<Incomplete>() || client::is_missing(error)
}

/// Whether what was sent may have to be chosen anew: it did not arrive, or the server found that it cannot read what
/// it said to have.
fn is_worth_asking(error: &anyhow::Error, extent: Extent) -> bool {
    client::is_lost(error) || extent == Extent::Whole && client::is_missing(error)
}

/// The server lacks something that was there the last time.
#[derive(Debug, thiserror::Error)]
#[error("the server lacks what was published before")]
struct Incomplete;

/// Makes sure that the server has everything a plan names.
async fn send(client: &Client, plan: &Arc<Plan>, limits: &Limits) -> Result<()> {
    let mut tries = 0;
    let mut guess = guess(plan);
    loop {
        let missing = match guess.take() {
            Some(guess) => guess,
            None => missing(client, plan, limits).await?,
        };
        if missing.is_empty() {
            return Ok(());
        }
        tries += 1;
        match batches::send(client, plan, &missing, limits).await {
            Err(error) if tries < TRIES && is_worth_asking(&error, plan.extent) => {}
            sent => return sent,
        }
    }
}

/// What the server lacks if it has everything that was there the last time. It refuses nodes that name
/// anything else that it lacks, so a wrong guess costs time and nothing more.
fn guess(plan: &Plan) -> Option<HashSet<Digest>> {
    let bytes: u64 = plan.nodes.iter().map(|node| node.bytes).sum();
    let is_small = bytes <= GUESS_BYTES_MAX && !plan.nodes.is_empty();
    let is_guess = plan.extent == Extent::News && is_small;
    is_guess.then(|| plan.nodes.iter().map(|node| node.digest).collect())
}

/// Asks about all directories, then about what is in those that the server lacks; below what it has, nothing
/// is asked.
async fn missing(client: &Client, plan: &Plan, limits: &Limits) -> Result<HashSet<Digest>> {
    let nodes: HashMap<Digest, &Planned> =
        plan.nodes.iter().map(|node| (node.digest, node)).collect();
    let directories = plan.nodes.iter().filter(|node| node.kind == NodeKind::Tree);
    let mut level: Vec<_> = directories.map(|node| node.digest).collect();
    if level.is_empty() || level.len() > DIRECTORIES_MAX {
        level.clone_from(&plan.roots);
    }
    let mut asked: HashSet<_> = level.iter().copied().collect();
    let mut missing = HashSet::new();
    while !level.is_empty() {
        let mut next = Vec::new();
        for digest in ask(client, (&level, plan.trust), limits).await? {
            missing.insert(digest);
            next.extend(nodes.get(&digest).ok_or(Incomplete)?.children());
        }
        next.retain(|digest| asked.insert(*digest));
        level = next;
    }
    Ok(missing)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    digests: &'a [Digest],
    read_back: bool,
}

#[derive(Deserialize)]
struct Answer {
    missing: Vec<Digest>,
}

async fn ask(
    client: &Client,
    (digests, trust): (&[Digest], Trust),
    limits: &Limits,
) -> Result<Vec<Digest>> {
    let read_back = trust == Trust::Nothing;
    let most = usize::try_from(limits.batch_nodes_max.clamp(1, 10_000)).unwrap_or(1);
    let mut missing = Vec::new();
    for digests in digests.chunks(most) {
        let question = Question { digests, read_back };
        let answer: Answer = client.ask(&["blobs", "missing"], &question).await?;
        missing.extend(answer.missing);
    }
    Ok(missing)
}
