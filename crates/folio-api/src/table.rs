//! Every operation of the API: the one list from which the router and the document are made.

use axum::http::Method;
use folio_model::Right;

use crate::handle::{
    aliases, apps, archives, bindings, bundles, canaries, configs, deployments, domains,
    environments, executions, history, releases, rollouts, routes, running, secrets, service,
    statics, storage, tags, tokens, triggers, units, versions,
};
use crate::operation::{Needs, Operation, Place};

/// Every operation, in the order of the document.
pub(crate) fn operations() -> Vec<Operation> {
    [
        of_service(),
        of_tokens(),
        of_storage(),
        of_environments(),
        of_configs(),
        of_secrets(),
        of_statics(),
        of_routes(),
        of_triggers(),
        of_canaries(),
        of_units(),
        of_versions(),
        of_aliases(),
        of_tags(),
        of_deployments(),
        of_archives(),
        of_apps(),
        of_domains(),
        of_bundles(),
        of_releases(),
        of_rollouts(),
        of_history(),
        of_running(),
        of_executions(),
        of_bindings(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn get(path: &'static str) -> Place {
    (Method::GET, path)
}

fn post(path: &'static str) -> Place {
    (Method::POST, path)
}

fn put(path: &'static str) -> Place {
    (Method::PUT, path)
}

fn patch(path: &'static str) -> Place {
    (Method::PATCH, path)
}

fn delete(path: &'static str) -> Place {
    (Method::DELETE, path)
}

fn of_service() -> Vec<Operation> {
    const ROOT: &str = "/folio/v1";
    const DOCUMENT: &str = "/folio/v1/openapi.json";
    vec![
        Operation::new(
            get("/healthz"),
            "health",
            "Say whether the server answers",
            service::health,
        ),
        Operation::new(
            get(ROOT),
            "about",
            "Say what the server is, with its limits",
            service::about,
        ),
        Operation::new(get(DOCUMENT), "openapi", "Give this document", service::openapi),
    ]
}

fn of_tokens() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/tokens";
    const ONE: &str = "/folio/v1/tokens/{id}";
    const SELF: &str = "/folio/v1/self";
    const ADMIN: Needs = Needs::Here(Right::Administer);
    const LIST: &str = "List the tokens that the caller may give out";
    vec![
        Operation::new(get(SELF), "whoAmI", "Say who the token speaks for", tokens::whoami),
        Operation::new(get(ALL), "listTokens", LIST, tokens::list).needs(ADMIN),
        Operation::new(post(ALL), "createToken", "Make a token, shown this once", tokens::create)
            .needs(ADMIN),
        Operation::new(delete(ONE), "revokeToken", "Make a token invalid", tokens::revoke)
            .needs(ADMIN),
    ]
}

fn of_storage() -> Vec<Operation> {
    const MISSING: &str = "/folio/v1/blobs/missing";
    const BLOBS: &str = "/folio/v1/blobs";
    const STORAGE: &str = "/folio/v1/storage";
    const SWEEP: &str = "/folio/v1/storage/sweep";
    const CHECK: &str = "/folio/v1/storage/check";
    const MIGRATE: &str = "/folio/v1/storage/migrate";
    vec![
        Operation::new(post(MISSING), "missing", "Ask what has to be uploaded", storage::missing)
            .needs(Needs::Here(Right::Deploy)),
        Operation::new(post(BLOBS), "upload", "Upload nodes, all or none", storage::upload),
        Operation::new(get(STORAGE), "usage", "Say how much is stored", storage::usage)
            .needs(Needs::Server),
        Operation::new(post(SWEEP), "sweep", "Remove bytes nothing reaches", storage::sweep)
            .needs(Needs::Server),
        Operation::new(post(CHECK), "check", "Read everything back, list damage", storage::check)
            .needs(Needs::Server),
        Operation::new(
            post(MIGRATE),
            "migrateStorage",
            "Rewrite what is stored in an older version of the hub",
            storage::migrate,
        )
        .needs(Needs::Server),
    ]
}

fn of_units() -> Vec<Operation> {
    const UNITS: &str = "/folio/v1/apps/{app}/{kind}";
    const UNIT: &str = "/folio/v1/apps/{app}/{kind}/{name}";
    const ORPHANS: &str = "/folio/v1/apps/{app}/orphans";
    const UNUSED: &str = "List packages that no function uses";
    const CLEAR: &str = "Delete packages that no function uses";
    vec![
        Operation::new(get(ORPHANS), "listOrphans", UNUSED, units::orphans),
        Operation::new(delete(ORPHANS), "deleteOrphans", CLEAR, units::delete_orphans),
        Operation::new(get(UNITS), "listUnits", "List functions or packages", units::list),
        Operation::new(post(UNITS), "createUnit", "Make one with a draft", units::create),
        Operation::new(get(UNIT), "showUnit", "Show one", units::show),
        Operation::new(patch(UNIT), "updateUnit", "Change its draft", units::update),
        Operation::new(delete(UNIT), "deleteUnit", "Delete it with its versions", units::delete),
    ]
}

fn of_environments() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/environments";
    const ONE: &str = "/folio/v1/apps/{app}/environments/{name}";
    const LIST: &str = "List environments, with those that are built in";
    vec![
        Operation::new(get(ALL), "listEnvironments", LIST, environments::list),
        Operation::new(post(ALL), "createEnvironment", "Make an environment", environments::create),
        Operation::new(get(ONE), "showEnvironment", "Show an environment", environments::show),
        Operation::new(patch(ONE), "updateEnvironment", "Change one", environments::update),
        Operation::new(delete(ONE), "deleteEnvironment", "Delete one", environments::delete),
    ]
}

fn of_configs() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/configs";
    const ONE: &str = "/folio/v1/apps/{app}/configs/{name}";
    vec![
        Operation::new(get(ALL), "listConfigs", "List configs", configs::list),
        Operation::new(get(ONE), "showConfig", "Show a config", configs::show),
        Operation::new(patch(ONE), "setConfig", "Make or change a config", configs::set),
        Operation::new(delete(ONE), "deleteConfig", "Delete a config", configs::delete),
    ]
}

fn of_statics() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/statics";
    const ONE: &str = "/folio/v1/apps/{app}/statics/{name}";
    const SET: &str = "Make a static item, or replace it";
    vec![
        Operation::new(get(ALL), "listStatics", "List static items", statics::list),
        Operation::new(get(ONE), "showStatic", "Show a static item", statics::show),
        Operation::new(put(ONE), "setStatic", SET, statics::set),
        Operation::new(delete(ONE), "deleteStatic", "Delete a static item", statics::delete),
    ]
}

fn of_secrets() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/secrets";
    const ONE: &str = "/folio/v1/apps/{app}/secrets/{name}";
    const RENAME: &str = "/folio/v1/apps/{app}/secrets/{name}/rename";
    const SHOW: &str = "Show a secret's keys and fingerprints";
    vec![
        Operation::new(get(ALL), "listSecrets", "List secrets", secrets::list),
        Operation::new(post(ALL), "createSecret", "Make a secret", secrets::create),
        Operation::new(get(ONE), "showSecret", SHOW, secrets::show),
        Operation::new(patch(ONE), "updateSecret", "Change a secret", secrets::update),
        Operation::new(post(RENAME), "renameSecret", "Rename a secret", secrets::rename),
        Operation::new(delete(ONE), "deleteSecret", "Delete a secret", secrets::delete),
    ]
}

fn of_routes() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/routes";
    const ONE: &str = "/folio/v1/apps/{app}/routes/{name}";
    vec![
        Operation::new(get(ALL), "listRoutes", "List routes", routes::list),
        Operation::new(post(ALL), "createRoute", "Make a route", routes::create),
        Operation::new(get(ONE), "showRoute", "Show a route", routes::show),
        Operation::new(patch(ONE), "updateRoute", "Change a route", routes::update),
        Operation::new(delete(ONE), "deleteRoute", "Delete a route", routes::delete),
    ]
}

fn of_triggers() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/triggers";
    const ONE: &str = "/folio/v1/apps/{app}/triggers/{name}";
    const LIST: &str = "List timers, triggers of messages, and watches";
    const SHOW: &str = "Show a trigger, with what became of its slots";
    vec![
        Operation::new(get(ALL), "listTriggers", LIST, triggers::list),
        Operation::new(post(ALL), "createTrigger", "Make a trigger", triggers::create),
        Operation::new(get(ONE), "showTrigger", SHOW, triggers::show),
        Operation::new(patch(ONE), "updateTrigger", "Change a trigger", triggers::update),
        Operation::new(delete(ONE), "deleteTrigger", "Delete a trigger", triggers::delete),
    ]
}

fn of_canaries() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/canaries";
    const ONE: &str = "/folio/v1/apps/{app}/canaries/{name}";
    const SHOW: &str = "Show a canary, with what is measured of it";
    const UPDATE: &str = "Change how a canary goes on";
    const DELETE: &str = "End a canary; the shares stay as they are";
    vec![
        Operation::new(get(ALL), "listCanaries", "List canaries", canaries::list),
        Operation::new(post(ALL), "startCanary", "Start a canary", canaries::start),
        Operation::new(get(ONE), "showCanary", SHOW, canaries::show),
        Operation::new(patch(ONE), "updateCanary", UPDATE, canaries::update),
        Operation::new(delete(ONE), "deleteCanary", DELETE, canaries::delete),
    ]
}

fn of_deployments() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/deployments";
    const ROLL_BACK: &str = "/folio/v1/apps/{app}/versions/{at}/rollback";
    const BACK: &str = "Make an app what it was in one of its versions";
    vec![
        Operation::new(post(ROLL_BACK), "rollBackGroup", BACK, deployments::roll_back),
        Operation::new(get(ALL), "listDeployed", "List what deployments own", deployments::list),
        Operation::new(post(ALL), "apply", "Apply manifests, all or none", deployments::apply),
    ]
}

fn of_archives() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/archives";
    const ONE: &str = "/folio/v1/apps/{app}/archives/{id}";
    const LIST: &str = "List the archives that packages came from";
    vec![
        Operation::new(get(ALL), "listArchives", LIST, archives::list),
        Operation::new(get(ONE), "downloadArchive", "Download an archive", archives::download),
    ]
}

fn of_running() -> Vec<Operation> {
    const INVOKE: &str = "/folio/v1/apps/{app}/invoke";
    const LOGS: &str = "/folio/v1/apps/{app}/functions/{name}/logs";
    const BUILD: &str = "/folio/v1/apps/{app}/{kind}/{name}/versions/{at}/build";
    const STATUS: &str = "/folio/v1/status";
    const MEASURES: &str = "/folio/v1/measures";
    const MEASURED: &str = "Say what every version did";
    vec![
        Operation::new(post(INVOKE), "invoke", "Call a function", running::invoke),
        Operation::new(get(LOGS), "functionLogs", "Give what it printed", running::logs),
        Operation::new(get(BUILD), "showBuild", "Show how its build went", running::build),
        Operation::new(get(STATUS), "status", "Say what runs, and how guarded", running::status)
            .needs(Needs::Everywhere(Right::View)),
        Operation::new(get(MEASURES), "measures", MEASURED, running::measures),
        Operation::new(get("/metrics"), "metrics", "The same as OpenMetrics", running::metrics)
            .needs(Needs::Everywhere(Right::View)),
    ]
}

fn of_executions() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/executions";
    const ONE: &str = "/folio/v1/apps/{app}/executions/{id}";
    const LOG: &str = "/folio/v1/apps/{app}/executions/{id}/log";
    const CANCEL: &str = "/folio/v1/apps/{app}/executions/{id}/cancel";
    const LIST: &str = "List executions, newest first";
    vec![
        Operation::new(get(ALL), "listExecutions", LIST, executions::list),
        Operation::new(post(ALL), "createExecution", "Run a function", executions::create)
            .needs(Needs::Here(Right::Invoke)),
        Operation::new(get(ONE), "showExecution", "Show an execution", executions::show),
        Operation::new(get(LOG), "executionLog", "Give what it printed", executions::log),
        Operation::new(post(CANCEL), "cancelExecution", "End one that runs", executions::cancel),
        Operation::new(delete(ONE), "deleteExecution", "Forget one", executions::delete),
    ]
}

fn of_bindings() -> Vec<Operation> {
    const JOBS: &str = "/folio/v1/apps/{app}/jobs";
    const JOB: &str = "/folio/v1/apps/{app}/jobs/{id}";
    const HOOKS: &str = "/folio/v1/apps/{app}/webhooks";
    const HOOK: &str = "/folio/v1/apps/{app}/webhooks/{id}";
    vec![
        Operation::new(get(JOBS), "listJobs", "List jobs", bindings::jobs),
        Operation::new(post(JOBS), "createJob", "Make a job", bindings::create_job),
        Operation::new(get(JOB), "showJob", "Show a job", bindings::job),
        Operation::new(patch(JOB), "updateJob", "Change a job", bindings::update_job),
        Operation::new(delete(JOB), "deleteJob", "Delete a job", bindings::delete_job),
        Operation::new(get(HOOKS), "listWebhooks", "List webhooks", bindings::webhooks),
        Operation::new(post(HOOKS), "createWebhook", "Make a webhook", bindings::create_webhook),
        Operation::new(get(HOOK), "showWebhook", "Show a webhook", bindings::webhook),
        Operation::new(patch(HOOK), "updateWebhook", "Change one", bindings::update_webhook),
        Operation::new(delete(HOOK), "deleteWebhook", "Delete a webhook", bindings::delete_webhook),
    ]
}

fn of_versions() -> Vec<Operation> {
    const VERSIONS: &str = "/folio/v1/apps/{app}/{kind}/{name}/versions";
    const VERSION: &str = "/folio/v1/apps/{app}/{kind}/{name}/versions/{at}";
    const DOWNLOAD: &str = "/folio/v1/apps/{app}/{kind}/{name}/versions/{at}/download";
    const DELETE: &str = "Delete a version, or all of them";
    vec![
        Operation::new(
            get(VERSIONS),
            "listVersions",
            "List versions, oldest first",
            versions::list,
        ),
        Operation::new(post(VERSIONS), "publish", "Publish a version", versions::publish),
        Operation::new(get(VERSION), "showVersion", "Show a version", versions::show),
        Operation::new(patch(VERSION), "describe", "Describe a version", versions::describe),
        Operation::new(delete(VERSION), "deleteVersions", DELETE, versions::delete),
        Operation::new(get(DOWNLOAD), "download", "Download its files", versions::download),
    ]
}

fn of_aliases() -> Vec<Operation> {
    const ALIASES: &str = "/folio/v1/apps/{app}/functions/{name}/aliases";
    const ALIAS: &str = "/folio/v1/apps/{app}/functions/{name}/aliases/{alias}";
    const HISTORY: &str = "/folio/v1/apps/{app}/functions/{name}/aliases/{alias}/history";
    const ROLLBACK: &str = "/folio/v1/apps/{app}/functions/{name}/aliases/{alias}/rollback";
    vec![
        Operation::new(get(ALIASES), "listAliases", "List a function's aliases", aliases::list),
        Operation::new(post(ALIASES), "createAlias", "Make an alias", aliases::create),
        Operation::new(put(ALIAS), "pointAlias", "Move an alias", aliases::point),
        Operation::new(delete(ALIAS), "deleteAlias", "Remove an alias", aliases::delete),
        Operation::new(get(HISTORY), "aliasHistory", "List its moves", aliases::history),
        Operation::new(post(ROLLBACK), "rollBackAlias", "Move it back", aliases::roll_back),
    ]
}

fn of_tags() -> Vec<Operation> {
    const TAGS: &str = "/folio/v1/apps/{app}/tags";
    const TAG: &str = "/folio/v1/apps/{app}/tags/{tag}";
    const MEMBERS: &str = "/folio/v1/apps/{app}/tags/{tag}/members";
    const MEMBER: &str = "/folio/v1/apps/{app}/tags/{tag}/members/{function}";
    const HISTORY: &str = "/folio/v1/apps/{app}/tags/{tag}/history";
    vec![
        Operation::new(get(TAGS), "listTags", "List an app's tags", tags::list),
        Operation::new(get(TAG), "showTag", "Show a tag", tags::show),
        Operation::new(post(MEMBERS), "tag", "Add functions to a tag", tags::add),
        Operation::new(delete(MEMBER), "untag", "Take a function out of a tag", tags::remove),
        Operation::new(delete(TAG), "deleteTag", "Remove a tag", tags::delete),
        Operation::new(get(HISTORY), "tagHistory", "List what it held", tags::history),
    ]
}

fn of_releases() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/releases";
    const ONE: &str = "/folio/v1/apps/{app}/releases/{release}";
    const EXPIRY: &str = "/folio/v1/apps/{app}/expiry";
    const TAG: &str = "/folio/v1/apps/{app}/release-tags/{tag}";
    const MOVES: &str = "/folio/v1/apps/{app}/release-tags/{tag}/history";
    const LIVE: &str = "/folio/v1/apps/{app}/live";
    const FOLLOW: &str = "/folio/v1/apps/{app}/live/follow";
    const BACK: &str = "/folio/v1/apps/{app}/live/rollback";
    const HISTORY: &str = "/folio/v1/apps/{app}/live/history";
    const WOULD: &str = "Say which releases would expire, and what keeps the others";
    const GO_BACK: &str = "Take live back to the release before, or to a given one";
    const WAS: &str = "List which releases a tag was on";
    vec![
        Operation::new(get(ALL), "listReleases", "List releases, newest first", releases::list),
        Operation::new(post(ALL), "createRelease", "Release an app version", releases::create),
        Operation::new(get(ONE), "showRelease", "Show a release", releases::show),
        Operation::new(delete(ONE), "deleteRelease", "Delete a release", releases::delete),
        Operation::new(get(EXPIRY), "wouldExpire", WOULD, releases::would_expire),
        Operation::new(post(EXPIRY), "expireReleases", "Expire releases", releases::expire),
        Operation::new(put(TAG), "tagRelease", "Put a tag on a release", releases::tag),
        Operation::new(delete(TAG), "untagRelease", "Take a tag away", releases::untag),
        Operation::new(get(MOVES), "releaseTagHistory", WAS, releases::tag_history),
        Operation::new(put(LIVE), "setLive", "Make a release live", releases::set_live),
        Operation::new(post(FOLLOW), "followLive", "Have live follow", releases::follow),
        Operation::new(post(BACK), "rollBackLive", GO_BACK, releases::roll_back),
        Operation::new(get(HISTORY), "liveHistory", "List what was live", releases::history),
    ]
}

fn of_rollouts() -> Vec<Operation> {
    const LIVE: &str = "/folio/v1/apps/{app}/live";
    const SPLIT: &str = "/folio/v1/apps/{app}/live/split";
    const ROLLOUT: &str = "/folio/v1/apps/{app}/rollout";
    const POLICY: &str = "/folio/v1/apps/{app}/release-policy";
    const KEPT: &str = "/folio/v1/apps/{app}/releases/{release}/kept";
    const SHARE: &str = "Share what is live among releases";
    const START: &str = "Give a release more and more of what is live";
    const SHOW: &str = "Show the rollout, with what is measured of it";
    const MOVE: &str = "Pause, resume, approve or abort the rollout";
    const TREATED: &str = "Show how an app treats its releases";
    const TREAT: &str = "Say how an app treats its releases";
    const KEEP: &str = "Keep a release from expiring";
    const LET_GO: &str = "Let a release expire again";
    vec![
        Operation::new(get(LIVE), "showLive", "Show what is live", rollouts::live),
        Operation::new(put(SPLIT), "splitLive", SHARE, rollouts::split),
        Operation::new(post(ROLLOUT), "startRollout", START, rollouts::start),
        Operation::new(get(ROLLOUT), "showRollout", SHOW, rollouts::show),
        Operation::new(patch(ROLLOUT), "moveRollout", MOVE, rollouts::drive),
        Operation::new(get(POLICY), "showReleasePolicy", TREATED, rollouts::policy),
        Operation::new(patch(POLICY), "setReleasePolicy", TREAT, rollouts::set_policy),
        Operation::new(put(KEPT), "keepRelease", KEEP, rollouts::keep),
        Operation::new(delete(KEPT), "letReleaseGo", LET_GO, rollouts::let_go),
    ]
}

fn of_apps() -> Vec<Operation> {
    const APPS: &str = "/folio/v1/apps";
    const APP: &str = "/folio/v1/apps/{app}";
    const PLAN: &str = "/folio/v1/apps/{app}/plan";
    const RESOLVE: &str = "/folio/v1/apps/{app}/resolve";
    const VERSIONS: &str = "/folio/v1/apps/{app}/versions";
    const VERSION: &str = "/folio/v1/apps/{app}/versions/{at}";
    const AT: &str = "/folio/v1/apps/{app}/at";
    const LIST: &str = "List the app's versions, newest first";
    const SHOW: &str = "Show the whole app in one of its versions";
    vec![
        Operation::new(get(APPS), "listApps", "List apps", apps::list),
        Operation::new(post(APPS), "createApp", "Make an app", apps::create).needs(Needs::Server),
        Operation::new(get(APP), "showApp", "Show how an app stands", apps::show),
        Operation::new(delete(APP), "deleteApp", "Delete an app", apps::delete)
            .needs(Needs::Here(Right::Administer)),
        Operation::new(patch(PLAN), "setPlan", "Say how much an app may have", apps::set_plan)
            .needs(Needs::Server),
        Operation::new(get(RESOLVE), "resolve", "Say what a reference means", history::resolve),
        Operation::new(get(VERSIONS), "listAppVersions", LIST, history::app_versions),
        Operation::new(get(VERSION), "showAppVersion", SHOW, history::app_version),
        Operation::new(get(AT), "appAt", "Show the app as it was at a time", history::app_at),
    ]
}

fn of_bundles() -> Vec<Operation> {
    const EXPORT: &str = "/folio/v1/apps/{app}/versions/{at}/export";
    const IMPORT: &str = "/folio/v1/apps/{app}/import";
    const WRITE: &str = "Give an app version with all that it needs, as one file";
    const MAKE: &str = "Make an app of such a file";
    vec![
        Operation::new(get(EXPORT), "exportApp", WRITE, bundles::export),
        Operation::new(post(IMPORT), "importApp", MAKE, bundles::import),
    ]
}

fn of_domains() -> Vec<Operation> {
    const ALL: &str = "/folio/v1/apps/{app}/domains";
    const ONE: &str = "/folio/v1/apps/{app}/domains/{domain}";
    const HISTORY: &str = "/folio/v1/apps/{app}/domains/{domain}/history";
    const MOVES: &str = "List when the app got and lost it";
    vec![
        Operation::new(get(ALL), "listDomains", "List an app's domains", domains::list),
        Operation::new(put(ONE), "addDomain", "Have a domain show the app", domains::add),
        Operation::new(delete(ONE), "removeDomain", "Take a domain away", domains::remove),
        Operation::new(get(HISTORY), "domainHistory", MOVES, domains::history),
    ]
}

fn of_history() -> Vec<Operation> {
    const DIFF: &str = "/folio/v1/apps/{app}/diff";
    const COMPARE: &str = "/folio/v1/apps/{app}/compare";
    const LOG: &str = "/folio/v1/apps/{app}/log";
    const UNDO: &str = "/folio/v1/apps/{app}/undo";
    vec![
        Operation::new(get(DIFF), "diff", "Compare two versions or drafts", history::diff),
        Operation::new(get(COMPARE), "compare", "Compare two app versions", history::compare),
        Operation::new(get(LOG), "log", "List what was done, newest first", history::log),
        Operation::new(post(UNDO), "undo", "Take an entry back", history::undo),
    ]
}
