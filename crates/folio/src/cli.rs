//! What can be typed. Flags are declared beside the command that understands them; this is the root they hang
//! on, and what every command shares.

use std::path::PathBuf;

use clap::builder::{EnumValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand};
use folio_model::AppName;

use crate::command::{
    alias, app, archive, binding, canary, config, domain, environment, execution, function,
    history, invoke, kinds, kubeconfig, maintenance, objects, package, release, route, secret,
    spec, statics, storage, tag, token, trigger,
};
use crate::output::{Format, Output};
use crate::{demo, serve};

/// A self-hosted function platform in which every deploy is an immutable version
#[derive(Debug, Parser)]
#[command(name = "folio", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every client command understands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Talk to the server at this address [default: `$FOLIO_URL`, else `http://127.0.0.1:7070`]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Trust the certificates of this authority, a file in PEM [default: `$FOLIO_CA`, else `ca.crt` of the data directory,
    /// else whom this machine trusts]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Work in this app
    #[arg(
        long,
        short = 'n',
        visible_alias = "namespace",
        global = true,
        value_name = "APP",
        default_value = "default"
    )]
    pub(crate) app: AppName,
    /// Print results in this form
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORM",
        default_value = "table",
        value_parser = EnumValueParser::<Format>::new().map(Output::Form)
    )]
    output: Output,
    /// Say why, for the log
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Keep the app version that this makes from being released
    #[arg(long, global = true, conflicts_with = "promote")]
    pub(crate) no_release: bool,
    /// Make the release live and have live follow from here on, also if it is pinned
    #[arg(long, global = true)]
    pub(crate) promote: bool,
}

impl Globals {
    /// The form to print results in.
    pub(crate) fn format(&self) -> Format {
        match self.output {
            Output::Form(format) => format,
            Output::File(_) => Format::Table,
        }
    }
}

/// What folio can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server
    Serve(serve::Serve),
    /// Work with functions, their versions, aliases and tags
    #[command(visible_alias = "fn", subcommand)]
    Function(Box<function::Command>),
    /// Work with packages and their versions
    #[command(visible_alias = "pkg", subcommand)]
    Package(package::Command),
    /// Work with environments, which run and build code
    #[command(visible_alias = "env", subcommand)]
    Environment(environment::Command),
    /// Work with configs, settings that functions read
    #[command(subcommand)]
    Config(config::Command),
    /// Work with secrets, values that only functions read
    #[command(subcommand)]
    Secret(secret::Command),
    /// Work with routes, which lead requests to functions
    #[command(visible_aliases = ["httptrigger", "ht"], subcommand)]
    Route(route::Command),
    /// Work with timers, which call functions at set times
    #[command(visible_aliases = ["timetrigger", "tt"], subcommand)]
    Timer(trigger::timer::Command),
    /// Work with triggers that call functions for messages of a queue
    #[command(visible_alias = "mqt", subcommand)]
    Mqtrigger(trigger::queue::Command),
    /// Work with watches, which call functions when objects change
    #[command(visible_alias = "w", subcommand)]
    Watch(trigger::watch::Command),
    /// Let new code have more and more of the calls
    #[command(visible_alias = "canary-config", subcommand)]
    Canary(canary::Command),
    /// Work with archives that packages come from
    #[command(visible_alias = "ar", subcommand)]
    Archive(archive::Command),
    /// Apply a directory of manifests
    #[command(visible_alias = "specs", subcommand)]
    Spec(spec::Command),
    /// Give what changed in `folio.yaml`, or else in manifests, a version
    Deploy(spec::VersionApply),
    /// Deploy with every save, where nobody else sees it, until interrupted
    Dev(spec::dev::Dev),
    /// Write a `folio.yaml` to start an app from
    Init(spec::InitApp),
    /// Print the JSON Schema of `folio.yaml`, for editors
    Schema,
    /// Work with static files, which are served as they are
    #[command(subcommand)]
    Static(statics::Command),
    /// Show trackers, groups, aliases, tags and versions as objects
    Get(objects::Get),
    /// Look at groups: every function and package with the versions they had together
    #[command(subcommand)]
    Group(objects::Group),
    /// Run functions on the record: with input, result and log, now or later
    #[command(subcommand)]
    Execution(execution::Command),
    /// Work with jobs, which run functions on the record at set times
    #[command(subcommand)]
    Job(binding::JobCommand),
    /// Work with webhooks, URLs that run a function for whoever calls them
    #[command(subcommand)]
    Webhook(binding::WebhookCommand),
    /// Call a function
    Invoke(invoke::Invoke),
    /// Show what runs, and what this host protects
    Status,
    /// Show what every version did since the server started
    Top,
    /// Work with apps, and look at one now or at any earlier moment
    #[command(subcommand)]
    App(app::Command),
    /// Work with domains: hosts of an app's own
    #[command(subcommand)]
    Domain(domain::Command),
    /// Work with tokens: who may do what
    #[command(subcommand)]
    Token(token::Command),
    /// Say who the token speaks for, and what they may do
    Whoami,
    /// Write down for kubectl how to come to the server
    Kubeconfig(kubeconfig::Kubeconfig),
    /// Work with releases: app versions that can be reached
    #[command(subcommand)]
    Release(release::Command),
    /// Take live back to the release before, without making a version
    Rollback(release::Rollback),
    /// Show who did what, when and why, newest first
    Log(history::Log),
    /// Take back an entry of the log, by default the newest
    Undo(history::Undo),
    /// Give back the storage of bytes that nothing needs any more
    Gc(storage::Gc),
    /// Read a data directory back and list what is damaged
    Check(maintenance::Check),
    /// Copy a data directory, also while its server runs, and check the copy
    Backup(maintenance::Backup),
    /// Make a data directory from a backup
    Restore(maintenance::Restore),
    /// Bring what a server keeps to its newest form
    #[command(subcommand)]
    Migrate(storage::Migrate),
    /// Convert manifests from one API version to another
    Convert(kinds::Convert),
    /// Print folio's kinds as a Kubernetes cluster declares them
    Crds(kinds::Crds),
    /// Show what a kind of object has, and what each property means
    Explain(kinds::Explain),
    /// Show what folio does, on a server of its own that leaves nothing behind
    Demo(demo::Demo),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the version of this program
    Version,
}

/// Which shell wants completions.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// The parts of `function` that packages do not have.
#[derive(Debug, Subcommand)]
pub(crate) enum Pointers {
    /// Point names such as `prod` at versions
    #[command(subcommand)]
    Alias(alias::Command),
    /// Group versions of several functions under one name
    #[command(subcommand)]
    Tag(tag::Command),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn check(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.'), "{path}: {about:?}");
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let name = argument.get_id();
            assert!(!help.is_empty() && !help.ends_with('.'), "{path} {name}: {help:?}");
        }
        command.get_subcommands().for_each(|command| check(command, &path));
    }

    #[test]
    fn every_command_and_flag_says_what_it_is_for_without_a_period() {
        Cli::command().debug_assert();
        check(&Cli::command(), "");
    }
}
