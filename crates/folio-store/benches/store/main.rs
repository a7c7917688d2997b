//! How fast the store is, as ratios within one run: `cargo xtask bench store` runs this. Nothing here asserts;
//! it prints each figure beside its goal. Start at [`main`].

mod disk;
mod history;
mod measure;
mod publishes;
mod world;

use std::path::Path;

/// Runs every part on the disk that holds the target directory.
fn main() {
    let directory = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let directory = directory.expect("the target directory can be written");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        publishes::run(directory.path()).await;
        history::run(directory.path()).await;
    });
}
