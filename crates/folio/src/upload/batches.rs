//! Sends nodes in batches, a few at a time: a batch is read from its files off the async threads, and sent once
//! everything that its nodes name has arrived. Holds no more than the batches that are on their way and the one
//! being read. Start at [`send`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use anyhow::Result;
use bytes::{BufMut, Bytes, BytesMut};
use folio_core::Limits;
use folio_core::upload::Uploaded;
use folio_model::{Digest, NodeKind};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::task::spawn_blocking;

use crate::client::Client;
use crate::content::{Plan, Planned};
use crate::output::Progress;

/// Batches on their way at the same time: enough to keep a server busy while the next are read.
const AT_ONCE: usize = 4;
/// Bytes of one batch; the server may allow less.
const BATCH_BYTES_MAX: u64 = 8 * 1024 * 1024;
const FRAME_BYTES: u64 = 37;
const END_BYTES: u64 = 5;

/// Nodes that are sent together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Batch {
    /// Their places in the plan, none before what it names.
    nodes: Vec<usize>,
    /// What they come to, framed.
    bytes: u64,
    /// The batches that hold what they name.
    needs: BTreeSet<usize>,
}

/// Sends those nodes of a plan that a server lacks. If that breaks off, what has arrived stays there.
pub(super) async fn send(
    client: &Client,
    plan: &Arc<Plan>,
    missing: &HashSet<Digest>,
    limits: &Limits,
) -> Result<()> {
    let batches = batches(&plan.nodes, missing, limits);
    let bytes = |batch: &Batch| batch.nodes.iter().map(|at| plan.nodes[*at].bytes).sum::<u64>();
    let progress = Progress::bytes("uploading", Some(batches.iter().map(bytes).sum()));
    let (mut on_the_way, mut under_way) = (FuturesUnordered::new(), BTreeSet::new());
    for (at, batch) in batches.iter().enumerate() {
        while on_the_way.len() >= AT_ONCE || !under_way.is_disjoint(&batch.needs) {
            let Some(arrived) = on_the_way.next().await else { break };
            under_way.remove(&arrived?);
        }
        under_way.insert(at);
        let (plan, nodes, progress) = (Arc::clone(plan), batch.nodes.clone(), &progress);
        let bytes = bytes(batch);
        on_the_way.push(async move {
            let frames = spawn_blocking(move || frames(&plan.nodes, &nodes)).await??;
            let _: Uploaded = client.send_nodes(frames).await?;
            progress.add(bytes);
            Ok::<_, anyhow::Error>(at)
        });
    }
    while let Some(arrived) = on_the_way.next().await {
        arrived?;
    }
    Ok(())
}

/// Files go first, then the lists of their chunks, then directories: so nothing has to wait for anything until all
/// files are on their way, and little is left then.
fn batches(nodes: &[Planned], missing: &HashSet<Digest>, limits: &Limits) -> Vec<Batch> {
    let bytes_max = BATCH_BYTES_MAX.min(limits.batch_bytes_max).saturating_sub(END_BYTES);
    let mut batches = vec![Batch::default()];
    let mut places: HashMap<Digest, usize> = HashMap::new();
    for kind in [NodeKind::Raw, NodeKind::Chunked, NodeKind::Tree] {
        for (place, node) in nodes.iter().enumerate() {
            if node.kind != kind || !missing.contains(&node.digest) {
                continue;
            }
            let bytes = FRAME_BYTES + node.bytes;
            let last = batches.last().expect("there is one from the start");
            let is_full =
                last.bytes + bytes > bytes_max || last.nodes.len() as u64 >= limits.batch_nodes_max;
            if is_full && !last.nodes.is_empty() {
                batches.push(Batch::default());
            }
            let at = batches.len() - 1;
            let last = batches.last_mut().expect("there is one from the start");
            last.nodes.push(place);
            last.bytes += bytes;
            let children = node.children().into_iter();
            let elsewhere = children.filter_map(|child| places.get(&child).copied());
            last.needs.extend(elsewhere.filter(|other| *other != at));
            places.insert(node.digest, at);
        }
    }
    batches.retain(|batch| !batch.nodes.is_empty());
    batches
}

/// Reads nodes and writes them as the server takes them.
fn frames(nodes: &[Planned], which: &[usize]) -> Result<Bytes> {
    let bytes = which.iter().map(|at| FRAME_BYTES + nodes[*at].bytes).sum::<u64>();
    let mut frames = BytesMut::with_capacity(usize::try_from(bytes + END_BYTES)?);
    for node in which.iter().map(|at| &nodes[*at]) {
        let bytes = node.read()?;
        frames.put_u8(match node.kind {
            NodeKind::Raw => 0,
            NodeKind::Chunked => 1,
            NodeKind::Tree => 2,
        });
        frames.put_slice(node.digest.as_bytes());
        frames.put_u32(u32::try_from(bytes.len())?);
        frames.put_slice(&bytes);
    }
    frames.put_u8(0xFF);
    frames.put_u32(u32::try_from(which.len())?);
    Ok(frames.freeze())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::content::{self, Given, Most};

    fn planned(root: &Path) -> Plan {
        for (path, text) in [("a", "a"), ("b", "b"), ("deep/c", "c"), ("deep/er/d", "d")] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let given = Given::Files(root.to_owned());
        content::find(&given, None, &Most::default()).unwrap().plan(&Limits::default()).unwrap().1
    }

    #[test]
    fn what_fits_is_one_batch_that_needs_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let plan = planned(directory.path());
        let all = plan.nodes.iter().map(|node| node.digest).collect();
        let found = batches(&plan.nodes, &all, &Limits::default());
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.nodes.len(), only.needs.len()), (7, 0));
        assert_eq!(batches(&plan.nodes, &HashSet::new(), &Limits::default()), []);
    }

    #[test]
    fn files_need_nothing_and_directories_what_is_in_them() {
        let directory = tempfile::tempdir().unwrap();
        let plan = planned(directory.path());
        let all = plan.nodes.iter().map(|node| node.digest).collect();
        let limits = Limits { batch_nodes_max: 1, ..Limits::default() };
        let found = batches(&plan.nodes, &all, &limits);
        let needs: Vec<_> = found.iter().map(|batch| batch.needs.len()).collect();
        // `deep/er` holds a file, `deep` a file and that, the root two files and that.
        assert_eq!(needs, [0, 0, 0, 0, 1, 2, 3]);
        for (at, batch) in found.iter().enumerate() {
            assert!(batch.needs.iter().all(|other| *other < at), "{found:?}");
        }
    }
}
