//! Uploads content: asks from the root down what the server lacks, then sends only that, children before
//! parents. What broke off is resumed by asking again, so nothing is sent twice.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use bytes::{BufMut, Bytes, BytesMut};
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_core::upload::Uploaded;
use folio_model::{Digest, NodeKind};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::client::{self, Client};
use crate::content::{self, Changed, Extent, Found, Given, Lesson, Plan, Planned, Selection};

/// Bytes of one batch; the server may allow less.
const BATCH_BYTES_MAX: u64 = 32 * 1024 * 1024;
const FRAME_BYTES: u64 = 37;
const END_BYTES: u64 = 5;
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
    (given, caches): (Given, Option<PathBuf>),
    found: Found,
    limits: &Limits,
) -> Result<ContentRef> {
    let (content, extent, sent) = plan_and_send(client, found, *limits).await?;
    match sent {
        Err(error) if extent == Extent::News && is_outdated(&error) => {}
        sent => return sent.map(|()| content),
    }
    let find = move || content::find(&given, caches.as_deref()).map(Found::afresh);
    let (content, _, sent) = plan_and_send(client, spawn_blocking(find).await??, *limits).await?;
    sent.map(|()| content)
}

/// Makes sure that the server has chosen files, and gives the digests of the directories they make. Those that are
/// what they were the last time are taken to be there, unless nothing is remembered.
pub(crate) async fn upload_selection(
    client: &Client,
    (selection, caches): (Selection, Option<PathBuf>),
    limits: &Limits,
) -> Result<Vec<Digest>> {
    let selection = Arc::new(selection);
    let plan = |caches: Option<PathBuf>| {
        let selection = Arc::clone(&selection);
        spawn_blocking(move || content::plan_selection(&selection, caches.as_deref()))
    };
    let (digests, found) = plan(caches).await??;
    let extent = found.extent;
    match send_and_learn(client, found, limits).await? {
        Err(error) if extent == Extent::News && is_outdated(&error) => {}
        sent => return sent.map(|()| digests),
    }
    let (digests, found) = plan(None).await??;
    send_and_learn(client, found, limits).await?.map(|()| digests)
}

async fn plan_and_send(
    client: &Client,
    found: Found,
    limits: Limits,
) -> Result<(ContentRef, Extent, Result<()>)> {
    let (content, plan) = spawn_blocking(move || found.plan(&limits)).await??;
    let extent = plan.extent;
    Ok((content, extent, send_and_learn(client, plan, &limits).await?))
}

/// Sends what a plan names. What is remembered is true whatever becomes of that, and writing it takes no time of
/// its own.
async fn send_and_learn(client: &Client, mut plan: Plan, limits: &Limits) -> Result<Result<()>> {
    let lesson = plan.lesson.take();
    let keeping = spawn_blocking(move || lesson.as_ref().map(Lesson::keep));
    let sent = send(client, &plan, limits).await;
    keeping.await?;
    Ok(sent)
}

/// What is remembered is not what there is, here or on the server.
fn is_outdated(error: &anyhow::Error) -> bool {
    error.is::<Changed>() || error.is::<Incomplete>() || client::is_missing(error)
}

/// The server lacks something that was there the last time.
#[derive(Debug, thiserror::Error)]
#[error("the server lacks what was published before")]
struct Incomplete;

/// Makes sure that the server has everything a plan names.
async fn send(client: &Client, plan: &Plan, limits: &Limits) -> Result<()> {
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
        match send_nodes(client, plan, &missing, limits).await {
            Err(error) if tries < TRIES && client::is_lost(&error) => {}
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
        for digest in ask(client, &level, limits).await? {
            missing.insert(digest);
            next.extend(nodes.get(&digest).ok_or(Incomplete)?.children());
        }
        next.retain(|digest| asked.insert(*digest));
        level = next;
    }
    Ok(missing)
}

#[derive(Serialize)]
struct Question<'a> {
    digests: &'a [Digest],
}

#[derive(Deserialize)]
struct Answer {
    missing: Vec<Digest>,
}

async fn ask(client: &Client, digests: &[Digest], limits: &Limits) -> Result<Vec<Digest>> {
    let most = usize::try_from(limits.batch_nodes_max.clamp(1, 10_000)).unwrap_or(1);
    let mut missing = Vec::new();
    for digests in digests.chunks(most) {
        let answer: Answer = client.ask(&["blobs", "missing"], &Question { digests }).await?;
        missing.extend(answer.missing);
    }
    Ok(missing)
}

async fn send_nodes(
    client: &Client,
    plan: &Plan,
    missing: &HashSet<Digest>,
    limits: &Limits,
) -> Result<()> {
    let nodes: Vec<_> = plan.nodes.iter().filter(|node| missing.contains(&node.digest)).collect();
    let progress = progress(nodes.iter().map(|node| node.bytes).sum());
    let mut batch = Batch::new(limits);
    for node in nodes {
        if batch.is_full(node) {
            batch.send(client).await?;
        }
        batch.add(node)?;
        progress.inc(node.bytes);
    }
    batch.send(client).await?;
    progress.finish_and_clear();
    Ok(())
}

/// Shown on a terminal only.
fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = ProgressStyle::with_template("uploading {bytes}/{total_bytes} {wide_bar}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Frames on their way.
struct Batch {
    frames: BytesMut,
    count: u32,
    bytes_max: u64,
    nodes_max: u64,
}

impl Batch {
    fn new(limits: &Limits) -> Self {
        Self {
            frames: BytesMut::new(),
            count: 0,
            bytes_max: BATCH_BYTES_MAX.min(limits.batch_bytes_max).saturating_sub(END_BYTES),
            nodes_max: limits.batch_nodes_max,
        }
    }

    fn is_full(&self, next: &Planned) -> bool {
        let bytes = self.frames.len() as u64 + FRAME_BYTES + next.bytes;
        self.count > 0 && (bytes > self.bytes_max || u64::from(self.count) >= self.nodes_max)
    }

    fn add(&mut self, node: &Planned) -> Result<()> {
        let bytes = node.read()?;
        self.frames.put_u8(match node.kind {
            NodeKind::Raw => 0,
            NodeKind::Chunked => 1,
            NodeKind::Tree => 2,
        });
        self.frames.put_slice(node.digest.as_bytes());
        self.frames.put_u32(u32::try_from(bytes.len())?);
        self.frames.put_slice(&bytes);
        self.count += 1;
        Ok(())
    }

    async fn send(&mut self, client: &Client) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.frames.put_u8(0xFF);
        self.frames.put_u32(self.count);
        let frames: Bytes = self.frames.split().freeze();
        self.count = 0;
        let _: Uploaded = client.send_nodes(frames).await?;
        Ok(())
    }
}
