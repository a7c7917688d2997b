//! What every ledger must do. Each fact works in an app of its own, so they may share one ledger and run in
//! any order; [`all`] runs them and then asks the ledger to verify itself.

use folio_core::ports::Ledger;

mod builds;
mod concurrency;
mod edits;
mod entries;
mod names;
mod places;
mod pointers;
mod releases;
mod triggers;
mod versions;
pub mod world;

pub use builds::*;
pub use concurrency::*;
pub use edits::*;
pub use entries::*;
pub use names::*;
pub use places::*;
pub use pointers::*;
pub use releases::*;
pub use triggers::*;
pub use versions::*;

/// Runs every fact.
pub async fn all(ledger: &dyn Ledger) {
    entries_are_numbered_and_kept_as_they_were(ledger).await;
    entries_are_read_forwards_and_backwards(ledger).await;
    a_plan_that_refuses_appends_nothing(ledger).await;
    a_plan_that_fails_appends_nothing(ledger).await;
    an_undo_counts_until_it_is_undone(ledger).await;
    answers_are_remembered_once(ledger).await;
    a_missing_blob_refuses_the_change(ledger).await;
    unusual_text_comes_back_as_it_was(ledger).await;
    a_conflict_in_the_middle_changes_nothing(ledger).await;
    apps_and_tokens_are_made_once(ledger).await;
    a_unit_needs_a_free_name_and_a_new_identity(ledger).await;
    a_unit_belongs_to_one_deployment(ledger).await;
    a_unit_leaves_only_when_it_is_bare(ledger).await;
    a_deleted_unit_returns_to_its_name(ledger).await;
    a_draft_is_replaced_only_if_it_is_as_expected(ledger).await;
    units_are_listed_by_kind_and_name(ledger).await;
    a_change_stays_within_its_app(ledger).await;
    numbers_go_up_and_are_never_reused(ledger).await;
    ids_are_never_reused(ledger).await;
    latest_is_the_last_survivor(ledger).await;
    a_version_is_deleted_and_restored_only_as_it_is(ledger).await;
    versions_are_listed_in_pages(ledger).await;
    storage_is_brought_to_its_newest_form_once(ledger).await;
    descriptions_change_only_if_they_are_as_expected(ledger).await;
    a_package_version_knows_its_users(ledger).await;
    what_is_used_cannot_be_deleted(ledger).await;
    a_version_needs_its_snapshot(ledger).await;
    content_roots_follow_versions_and_drafts(ledger).await;
    a_version_that_waits_becomes_latest_when_it_is_built(ledger).await;
    a_build_is_replaced_only_until_it_succeeds(ledger).await;
    a_build_readies_only_what_waits_for_it(ledger).await;
    a_version_waits_only_for_what_has_to_be_built(ledger).await;
    a_version_returns_as_ready_as_it_left(ledger).await;
    only_a_build_that_nothing_needs_is_forgotten(ledger).await;
    builds_that_never_ended_are_pending(ledger).await;
    content_roots_hold_what_builds_made(ledger).await;
    a_snapshot_needs_what_it_stands_on(ledger).await;
    a_function_knows_the_triggers_that_lead_to_it(ledger).await;
    a_deleted_trigger_leads_nowhere(ledger).await;
    environments_are_versioned_and_listed(ledger).await;
    a_config_knows_the_functions_that_name_it(ledger).await;
    what_waits_for_a_build_names_too(ledger).await;
    a_secret_is_found_as_long_as_something_may_hold_it(ledger).await;
    pointers_move_only_from_where_they_are(ledger).await;
    routes_and_canaries_move_as_pointers_do(ledger).await;
    marks_move_as_pointers_do(ledger).await;
    domains_are_of_one_app(ledger).await;
    releases_are_found_and_never_removed(ledger).await;
    pointers_point_at_surviving_versions_only(ledger).await;
    a_version_knows_what_points_at_it(ledger).await;
    moves_are_remembered_after_a_pointer_is_gone(ledger).await;
    every_app_version_keeps_its_map(ledger).await;
    app_versions_are_found_by_number_id_and_time(ledger).await;
    placements_need_an_app_version(ledger).await;
    concurrent_appends_are_all_kept_in_one_order(ledger).await;
    exactly_one_of_many_racing_moves_wins(ledger).await;
    a_view_sees_every_acknowledged_append(ledger).await;
    let damages = ledger.verify().await.expect("verify runs");
    assert!(damages.is_empty(), "{damages:?}");
}
