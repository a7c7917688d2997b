//! How fast the store is, as ratios within one run: `cargo xtask bench store` runs this. Nothing here asserts;
//! it prints each figure beside its goal. Start at [`main`].

mod bare;
mod disk;
mod history;
mod measure;
mod processor;
mod publishes;
mod slow;
mod world;

use std::path::Path;

/// Runs every part on the disk that holds the target directory, or the directory named last on the command line.
fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let parent = named.unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").to_owned());
    let directory = tempfile::tempdir_in(Path::new(&parent));
    let directory = directory.expect("the directory can be written");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        publishes::run(directory.path()).await;
        history::run(directory.path()).await;
    });
}
