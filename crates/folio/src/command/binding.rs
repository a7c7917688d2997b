//! `folio job` and `folio webhook`: what runs functions on the record, at set times or for whoever calls a URL.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use folio_core::binding::BindingView;
use folio_core::view::Done;
use folio_model::{BindingTerms, JobStatus, Misfire, Reference, Signing, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Session;
use super::trigger::timer::Policy;
use crate::client::{Change, Items};
use crate::output::{Details, Format, Table, moment, one_line};

/// What one can do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Run a function at set times
    Create(CreateJob),
    /// Change a job; what is left out stays
    Update(UpdateJob),
    /// List jobs
    List,
    /// Show a job
    #[command(visible_alias = "get")]
    Show(Which),
    /// Keep a job from running until it is resumed
    Pause(Which),
    /// Have a job go on
    Resume(Which),
    /// End a job for good, and keep it to be seen
    Cancel(Which),
    /// Delete a job; what it has run stays
    Delete(Which),
}

/// What one can do with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Make a URL that runs a function
    Create(CreateWebhook),
    /// Change a webhook; what is left out stays
    Update(UpdateWebhook),
    /// List webhooks
    List,
    /// Show a webhook
    #[command(visible_alias = "get")]
    Show(Which),
    /// Delete a webhook; what it has run stays
    Delete(Which),
}

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its id, as `list` shows it
    #[arg(value_name = "ID", value_parser = identity)]
    id: Uuid,
}

/// A new job.
#[derive(Debug, Args)]
pub(crate) struct CreateJob {
    /// What to run: `hello` for whatever is newest, `hello@3` or `hello@prod`
    #[arg(long, value_name = "FUNCTION")]
    function: Reference,
    /// What to call it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// When, as a cron expression in UTC: `*/5 * * * *`
    #[arg(long, value_name = "CRON")]
    pattern: Option<String>,
    /// The first time, such as `2027-01-01T06:00:00Z`
    #[arg(long, value_name = "TIME")]
    first: Option<Timestamp>,
    /// How often [default: once without a pattern, else for ever]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Give the function this input
    #[arg(long, value_name = "TEXT")]
    input: Option<String>,
    /// What becomes of slots that no server was there for [default: skip]
    #[arg(long, value_name = "POLICY")]
    misfire: Option<Policy>,
}

/// Changes to a job.
#[derive(Debug, Args)]
pub(crate) struct UpdateJob {
    #[command(flatten)]
    which: Which,
    /// What to call it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// When, as a cron expression in UTC
    #[arg(long, value_name = "CRON")]
    pattern: Option<String>,
    /// The next time
    #[arg(long, value_name = "TIME")]
    next: Option<Timestamp>,
    /// Give the function this input
    #[arg(long, value_name = "TEXT")]
    input: Option<String>,
    /// What becomes of slots that no server was there for
    #[arg(long, value_name = "POLICY")]
    misfire: Option<Policy>,
    /// Whether it goes on
    #[arg(long, value_name = "STATUS")]
    status: Option<Going>,
}

/// Whether a job goes on.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Going {
    /// It does
    Running,
    /// Not until it is resumed
    Paused,
    /// Never again
    Cancelled,
}

impl From<Going> for JobStatus {
    fn from(going: Going) -> Self {
        match going {
            Going::Running => Self::Running,
            Going::Paused => Self::Paused,
            Going::Cancelled => Self::Cancelled,
        }
    }
}

/// A new webhook.
#[derive(Debug, Args)]
pub(crate) struct CreateWebhook {
    /// What to run: `hello` for whatever is newest, `hello@3` or `hello@prod`
    #[arg(long, value_name = "FUNCTION")]
    function: Reference,
    /// Say what it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Refuse more calls than this in a minute
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    calls_per_minute: Option<u32>,
    /// Refuse calls whose body is not signed with this value of a secret, as HMAC-SHA256
    #[arg(long, value_name = "SECRET/KEY")]
    signed_with: Option<Signing>,
}

/// Changes to a webhook.
#[derive(Debug, Args)]
pub(crate) struct UpdateWebhook {
    #[command(flatten)]
    which: Which,
    /// What to run
    #[arg(long, value_name = "FUNCTION")]
    function: Option<Reference>,
    /// Say what it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Refuse more calls than this in a minute
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    calls_per_minute: Option<u32>,
    /// Refuse calls whose body is not signed with this value of a secret, as HMAC-SHA256
    #[arg(long, value_name = "SECRET/KEY")]
    signed_with: Option<Signing>,
}

/// Reads an id.
pub(super) fn identity(text: &str) -> Result<Uuid, String> {
    text.parse().map_err(|_| "it is not an id, which `list` shows".to_owned())
}

/// Runs a command on jobs.
pub(crate) async fn job(session: &Session, command: JobCommand) -> Result<()> {
    let at = Place { session, plural: "jobs", noun: "job" };
    match command {
        JobCommand::Create(new) => {
            let CreateJob { function, name, pattern, first, count, input, misfire } = new;
            let body = json!({
                "function": function, "name": name, "pattern": pattern, "first": first,
                "count": count, "input": input, "misfire": misfire.map(Misfire::from),
            });
            at.create(body).await
        }
        JobCommand::Update(new) => {
            let UpdateJob { which, name, pattern, next, input, misfire, status } = new;
            let status = status.map(JobStatus::from);
            let body = json!({
                "name": name, "pattern": pattern, "next": next, "input": input,
                "misfire": misfire.map(Misfire::from), "status": status,
            });
            at.update(&which, body, "changed").await
        }
        JobCommand::List => at.list(jobs).await,
        JobCommand::Show(which) => at.show(&which).await,
        JobCommand::Pause(which) => at.update(&which, json!({"status": "paused"}), "paused").await,
        JobCommand::Resume(which) => {
            at.update(&which, json!({"status": "running"}), "resumed").await
        }
        JobCommand::Cancel(which) => {
            at.update(&which, json!({"status": "cancelled"}), "cancelled").await
        }
        JobCommand::Delete(which) => at.delete(&which).await,
    }
}

/// Runs a command on webhooks.
pub(crate) async fn webhook(session: &Session, command: WebhookCommand) -> Result<()> {
    let at = Place { session, plural: "webhooks", noun: "webhook" };
    match command {
        WebhookCommand::Create(new) => {
            let CreateWebhook { function, description, calls_per_minute, signed_with } = new;
            let body = json!({
                "function": function, "description": description,
                "callsPerMinuteMax": calls_per_minute, "signing": signed_with,
            });
            at.create(body).await
        }
        WebhookCommand::Update(new) => {
            let UpdateWebhook { which, function, description, calls_per_minute, signed_with } = new;
            let body = json!({
                "function": function, "description": description,
                "callsPerMinuteMax": calls_per_minute, "signing": signed_with,
            });
            at.update(&which, body, "changed").await
        }
        WebhookCommand::List => at.list(webhooks).await,
        WebhookCommand::Show(which) => at.show(&which).await,
        WebhookCommand::Delete(which) => at.delete(&which).await,
    }
}

/// Where jobs or webhooks are on the server.
struct Place<'a> {
    session: &'a Session,
    plural: &'static str,
    noun: &'static str,
}

impl Place<'_> {
    async fn create(&self, body: Value) -> Result<()> {
        let app = self.session.app(None);
        let change = Change::new(Method::POST).body(&body)?;
        let path = ["apps", app.as_str(), self.plural];
        let done: Done<BindingView> = self.session.client.change(&path, change).await?;
        self.session.output.item(&done, |done| done.result.id.to_string())
    }

    async fn update(&self, which: &Which, body: Value, verb: &str) -> Result<()> {
        let (app, id) = (self.session.app(None), which.id.to_string());
        let change = Change::new(Method::PATCH).body(&body)?;
        let path = ["apps", app.as_str(), self.plural, &id];
        let done: Done<BindingView> = self.session.client.change(&path, change).await?;
        self.session.output.item(&done, |done| {
            let verb = if done.changed { verb } else { "unchanged" };
            format!("{} {id} {verb}", self.noun)
        })
    }

    async fn list(&self, table: fn(&[BindingView], Format) -> Table) -> Result<()> {
        let app = self.session.app(None);
        let path = ["apps", app.as_str(), self.plural];
        let found: Items<BindingView> = self.session.client.get(&path, &[]).await?;
        self.session.output.items(&found.items, table)
    }

    async fn show(&self, which: &Which) -> Result<()> {
        let (app, id) = (self.session.app(None), which.id.to_string());
        let path = ["apps", app.as_str(), self.plural, &id];
        let view: BindingView = self.session.client.get(&path, &[]).await?;
        let server = self.session.client.server();
        self.session.output.item(&view, |view| details(view, server).to_string())
    }

    async fn delete(&self, which: &Which) -> Result<()> {
        let (app, id) = (self.session.app(None), which.id.to_string());
        let path = ["apps", app.as_str(), self.plural, &id];
        let change = Change::new(Method::DELETE);
        let done: Done<BindingView> = self.session.client.change(&path, change).await?;
        self.session.output.item(&done, |done| format!("{} {} deleted", self.noun, done.result.id))
    }
}

fn runs(view: &BindingView) -> String {
    view.function.as_ref().map_or_else(|| "(gone)".to_owned(), ToString::to_string)
}

fn times(view: &BindingView) -> (String, String, String) {
    let BindingTerms::Job(job) = &view.binding.terms else { return Default::default() };
    let next = view.next.filter(|_| job.status == JobStatus::Running);
    let left = if job.status.is_over() { None } else { view.left };
    (
        job.status.as_str().to_owned(),
        next.map(moment).unwrap_or_default(),
        left.map(|left| left.to_string()).unwrap_or_default(),
    )
}

fn jobs(jobs: &[BindingView], _: Format) -> Table {
    let mut table = Table::new(["ID", "NAME", "FUNCTION", "PATTERN", "STATUS", "NEXT", "LEFT"]);
    for view in jobs {
        let BindingTerms::Job(job) = &view.binding.terms else { continue };
        let (status, next, left) = times(view);
        table.row([
            view.id.to_string(),
            one_line(view.binding.name.as_deref().unwrap_or_default()),
            runs(view),
            job.pattern.clone().unwrap_or_else(|| "once".to_owned()),
            status,
            next,
            left,
        ]);
    }
    table
}

fn webhooks(webhooks: &[BindingView], _: Format) -> Table {
    let mut table = Table::new(["ID", "FUNCTION", "DESCRIPTION"]);
    for view in webhooks {
        let description = one_line(view.binding.description.as_deref().unwrap_or_default());
        table.row([view.id.to_string(), runs(view), description]);
    }
    table
}

fn details(view: &BindingView, server: &str) -> Details {
    let mut details =
        Details::default().line("Id", view.id).line("App", &view.app).line("Runs", runs(view));
    for (what, text) in [("Name", &view.binding.name), ("Description", &view.binding.description)] {
        if let Some(text) = text {
            details = details.line(what, one_line(text));
        }
    }
    match &view.binding.terms {
        BindingTerms::Job(job) => {
            let (status, next, left) = times(view);
            details = details.line("Status", status);
            details = details.line("Pattern", job.pattern.as_deref().unwrap_or("once"));
            details = details.line("First", moment(job.first));
            if job.misfire == Misfire::All {
                details = details.line("Misfire", "all");
            }
            details = details.line("Next", next).line("Left", left);
        }
        BindingTerms::Webhook(webhook) => {
            let url = view.url.as_deref().unwrap_or_default();
            let url = if url.starts_with('/') { format!("{server}{url}") } else { url.to_owned() };
            details = details.line("URL", url);
            if let Some(max) = webhook.calls_per_minute_max {
                let calls = if max == 1 { "call" } else { "calls" };
                details = details.line("Limit", format!("{max} {calls} in a minute"));
            }
            if let Some(signing) = &webhook.signing {
                details = details.line("Signed with", signing);
            }
        }
        BindingTerms::Newest => {}
    }
    details.line("Revision", view.revision)
}
