//! What every store of blobs must do.
//!
//! The store has no grace period; facts share it, run one after the other and may sweep away what others left.
//! [`all`] runs them and then asks the store to verify itself.

use folio_core::ports::Blobs;

mod model;
mod refusals;
mod samples;
mod storing;
mod sweeping;

pub use model::{Operation, any_operations, follows_the_model};
pub use refusals::*;
pub use samples::{chunked, directory, file, tree};
pub use storing::*;
pub use sweeping::*;

/// Runs every fact.
pub async fn all(blobs: &dyn Blobs) {
    a_batch_reads_back_in_any_order(blobs).await;
    storing_again_adds_nothing(blobs).await;
    what_is_missing_is_told(blobs).await;
    a_chunked_file_is_its_chunks(blobs).await;
    what_is_behind_a_node_is_known(blobs).await;
    the_same_bytes_may_be_a_file_and_a_directory(blobs).await;
    a_directory_stored_as_a_file_is_found_to_be_one(blobs).await;
    large_and_empty_nodes_read_back(blobs).await;
    an_unpacked_archive_is_remembered(blobs).await;
    the_encodings_of_a_file_are_remembered(blobs).await;
    concurrent_batches_are_all_stored(blobs).await;
    wrong_bytes_are_refused(blobs).await;
    a_directory_has_one_spelling(blobs).await;
    what_is_named_must_be_stored(blobs).await;
    a_directory_tells_the_truth(blobs).await;
    chunks_must_add_up(blobs).await;
    a_refused_batch_stores_nothing(blobs).await;
    what_the_roots_reach_is_kept_and_nothing_else(blobs).await;
    what_was_used_lately_is_kept(blobs).await;
    what_is_asked_for_after_the_mark_is_kept(blobs).await;
    what_is_named_after_the_mark_is_kept(blobs).await;
    what_is_stored_again_after_the_mark_is_kept(blobs).await;
    a_remembered_archive_is_kept_after_the_mark(blobs).await;
    encodings_stay_as_long_as_their_file(blobs).await;
    encodings_remembered_after_the_mark_are_kept_with_their_file(blobs).await;
    a_second_mark_does_not_weaken_the_first(blobs).await;
    what_survives_a_sweep_reads_back(blobs).await;
    swept_nodes_can_be_stored_again(blobs).await;
    sweeps_and_batches_run_together(blobs).await;
    let damages = blobs.verify().await.expect("verify runs");
    assert!(damages.is_empty(), "{damages:?}");
}
