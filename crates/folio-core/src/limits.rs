//! Every limit folio has, in one place. All are configurable, reported by the API, and named when hit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of everything is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of all files of one package together.
    pub content_bytes_max: u64,
    /// Files in one package.
    pub content_files_max: u64,
    /// Bytes of one uploaded archive.
    pub archive_bytes_max: u64,
    /// How many times larger than the archive its files may be together.
    pub archive_ratio_max: u64,
    /// Bytes of one node: a small file, a chunk, or a directory.
    pub node_bytes_max: u64,
    /// Bytes of one upload request.
    pub batch_bytes_max: u64,
    /// Digests in one question about what is missing.
    pub batch_nodes_max: u64,
    /// Bytes of one bundle, which holds a whole app version.
    pub bundle_bytes_max: u64,
    /// Bytes of one request that is not an upload.
    pub request_bytes_max: u64,
    /// Bytes of a description or reason.
    pub text_bytes_max: u64,
    /// Targets of one alias.
    pub alias_targets_max: u64,
    /// Members of one tag.
    pub tag_members_max: u64,
    /// Items in one page of a list.
    pub page_items_max: u64,
    /// Bytes of a file that is compared line by line; larger ones are only said to differ.
    pub diff_file_bytes_max: u64,
    /// Bytes of one comparison.
    pub diff_bytes_max: u64,
    /// Bytes of a static file that is sent smaller to who can read it; larger ones are sent as they are.
    pub encoded_bytes_max: u64,
    /// How long one request to a function may take that says nothing of its own, in milliseconds.
    pub run_timeout_ms: u64,
    /// Memory of one worker of a function that says nothing of its own.
    pub run_memory_bytes: u64,
    /// Requests that one worker of such a function has in hand at the same time.
    pub run_concurrency: u64,
    /// How long a worker of such a function is kept without requests, in milliseconds.
    pub run_idle_ms: u64,
    /// Workers of such a function at most.
    pub run_scale_max: u64,
    /// Functions that may call one another to answer one request.
    pub call_hops_max: u64,
    /// How often a build is tried that the host could not run.
    pub build_attempts_max: u64,
    /// Bytes of a build's output that are kept; the rest is left out.
    pub build_log_bytes_max: u64,
    /// How long ago the newest missed slot of a timer may be to be run all the same, in milliseconds.
    pub timer_late_ms_max: u64,
    /// Missed slots that are run of a timer that wants all of them.
    pub timer_catch_up_max: u64,
    /// Calls that one watch makes in a second.
    pub watch_fires_per_second_max: u64,
    /// Versions that a function may have for another to be made through Qinling's API.
    pub qinling_versions_max: u64,
    /// Executions of one project that a list of Qinling's API has, the newest; it knows no pages.
    pub qinling_executions_max: u64,
    /// Manifests of the deployments applied last that are remembered, so that they need not be sent again.
    pub remembered_documents_max: u64,
    /// Bytes of the input of one execution.
    pub execution_input_bytes_max: u64,
    /// Bytes of the result of one execution; one with more fails.
    pub execution_result_bytes_max: u64,
    /// Bytes of what one execution prints that are kept; the rest is left out.
    pub execution_log_bytes_max: u64,
    /// How often an execution is begun whose server ended while it ran.
    pub execution_attempts_max: u64,
    /// How long executions are kept after their end, in milliseconds.
    pub execution_retention_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            content_bytes_max: 2048 * MIB,
            content_files_max: 65_536,
            archive_bytes_max: 1024 * MIB,
            archive_ratio_max: 200,
            node_bytes_max: 16 * MIB,
            batch_bytes_max: 64 * MIB,
            batch_nodes_max: 100_000,
            bundle_bytes_max: 8192 * MIB,
            request_bytes_max: 16 * MIB,
            text_bytes_max: 4096,
            alias_targets_max: 100,
            tag_members_max: 1000,
            page_items_max: 1000,
            diff_file_bytes_max: MIB,
            diff_bytes_max: 4 * MIB,
            encoded_bytes_max: 16 * MIB,
            run_timeout_ms: 60_000,
            run_memory_bytes: 512 * MIB,
            run_concurrency: 64,
            run_idle_ms: 120_000,
            run_scale_max: 4,
            call_hops_max: 16,
            build_attempts_max: 5,
            build_log_bytes_max: 4 * MIB,
            timer_late_ms_max: 60 * 60 * 1000,
            timer_catch_up_max: 100,
            watch_fires_per_second_max: 20,
            qinling_versions_max: 10,
            qinling_executions_max: 100_000,
            remembered_documents_max: 200_000,
            execution_input_bytes_max: MIB,
            execution_result_bytes_max: MIB,
            execution_log_bytes_max: MIB,
            execution_attempts_max: 3,
            execution_retention_ms: 7 * 24 * 60 * 60 * 1000,
        }
    }
}
