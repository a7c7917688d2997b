//! Applies again whenever a file changes, once those who write have paused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{Event, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::output;

/// How long nothing may change before what changed is applied, usually.
pub(super) const PAUSE: Duration = Duration::from_millis(700);

/// Runs now, and again after every change beside or below the directory, until it is interrupted.
pub(super) async fn run<F>(
    directory: &Path,
    pause: Duration,
    mut apply: impl FnMut() -> F,
) -> Result<()>
where
    F: Future<Output = ()>,
{
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.is_ok_and(|event| matters(&event)) {
            // Nobody listens any more when the command ends.
            let _heard = tell.send(()).is_ok();
        }
    })
    .context("files cannot be watched here")?;
    let root = directory.canonicalize().context("the directory is gone")?;
    let root = root.parent().map_or_else(|| root.clone(), Path::to_owned);
    let watching = watcher.watch(&root, RecursiveMode::Recursive);
    watching.with_context(|| format!("cannot watch `{}`", root.display()))?;
    loop {
        apply().await;
        output::talk("Watching files for changes...");
        if told.recv().await.is_none() {
            return Ok(());
        }
        while let Ok(Some(())) = timeout(pause, told.recv()).await {}
        output::talk("Noticed a file change, reapplying specs...");
    }
}

/// Whether an event is of a file that people write, not of an editor or of git.
fn matters(event: &Event) -> bool {
    let changes = event.kind.is_create() || event.kind.is_modify() || event.kind.is_remove();
    let own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let in_git = path.components().any(|part| part.as_os_str() == ".git");
        !in_git && !name.starts_with(".#") && !name.ends_with('~')
    };
    changes && event.paths.iter().any(own)
}

#[cfg(test)]
mod tests {
    use notify::EventKind;
    use notify::event::{AccessKind, CreateKind, ModifyKind, RemoveKind};

    use super::*;

    #[test]
    fn only_changes_of_what_people_write_matter() {
        let check = |kind: EventKind, paths: &[&str], expected: bool| {
            let paths = paths.iter().map(PathBuf::from).collect();
            let event = Event { kind, paths, ..Event::default() };
            assert_eq!(matters(&event), expected, "{event:?}");
        };
        let modified = EventKind::Modify(ModifyKind::Any);
        let (created, removed) =
            (EventKind::Create(CreateKind::File), EventKind::Remove(RemoveKind::File));
        for kind in [created, modified, removed] {
            check(kind, &["/a/specs/all.yaml"], true);
            check(kind, &["/a/.hidden", "/a/.gitignore"], true);
            check(kind, &["/a/.#all.yaml"], false);
            check(kind, &["/a/all.yaml~"], false);
            check(kind, &["/a/.git/index"], false);
            check(kind, &[], false);
        }
        check(modified, &["/a/all.yaml~", "/a/all.yaml"], true);
        check(EventKind::Access(AccessKind::Any), &["/a/specs/all.yaml"], false);
        check(EventKind::Any, &["/a/specs/all.yaml"], false);
    }
}
