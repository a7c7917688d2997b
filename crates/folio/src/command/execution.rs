//! `folio execution`: runs of functions that are recorded.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_model::{Execution, ExecutionId, ExecutionMode, ExecutionOrigin, ExecutionStatus};
use folio_model::{Name, Reference};
use reqwest::Method;
use serde_json::{Value, json};

use super::Session;
use crate::client::{Change, Items};
use crate::output::{self, Details, Format, Table, moment, one_line};
use crate::problem::Problem;

/// What one can do with executions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a function and print its result
    Create(Create),
    /// List executions, newest first
    List(List),
    /// Show an execution
    #[command(visible_alias = "get")]
    Show(Which),
    /// Print what an execution printed
    Log(Which),
    /// End executions that run or wait
    Cancel(Several),
    /// Forget executions; those that run are ended
    Delete(Several),
}

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The function, such as `hello`, `hello@3`, `hello@v1.0.0` or `hello@prod`
    #[arg(value_name = "NAME")]
    function: Reference,
    /// Give it this input: a JSON object's members by name, any other text as it is
    #[arg(long, short = 'd', value_name = "TEXT")]
    input: Option<String>,
    /// Do not wait for the end; it is run whatever happens to the server
    #[arg(long = "async")]
    later: bool,
    /// Say what it is for
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
}

/// Which to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those of this function
    #[arg(long, value_name = "NAME")]
    function: Option<Name>,
    /// Only those that are running, success, failed, error or cancelled
    #[arg(long, value_name = "STATUS")]
    status: Option<ExecutionStatus>,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value = "100")]
    limit: u64,
    /// Only those older than this place, as `-o json` shows it
    #[arg(long, value_name = "SEQ")]
    below: Option<u64>,
}

fn identity(text: &str) -> Result<ExecutionId, String> {
    super::binding::identity(text).map(ExecutionId)
}

/// Which execution.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The execution's id, as `list` shows it
    #[arg(value_name = "ID", value_parser = identity)]
    id: ExecutionId,
}

/// Which executions.
#[derive(Debug, Args)]
pub(crate) struct Several {
    /// The executions' ids, as `list` shows them
    #[arg(value_name = "ID", required = true, value_parser = identity)]
    ids: Vec<ExecutionId>,
}

/// Runs a command on executions.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(command) => create(session, command).await,
        Command::List(command) => list(session, command).await,
        Command::Show(which) => show(session, &which).await,
        Command::Log(which) => log(session, &which).await,
        Command::Cancel(which) => cancel(session, which).await,
        Command::Delete(which) => delete(session, which).await,
    }
}

async fn create(session: &Session, command: Create) -> Result<()> {
    let Create { function, input, later, description } = command;
    let app = session.app(function.app.as_ref());
    let mode = if later { ExecutionMode::Async } else { ExecutionMode::Sync };
    let body = json!({
        "function": function, "input": input, "mode": mode, "description": description,
    });
    let change = Change::new(Method::POST).body(&body)?;
    let path = ["apps", app.as_str(), "executions"];
    let execution: Execution = session.client.change(&path, change).await?;
    session.output.item(&execution, told)?;
    match execution.status {
        ExecutionStatus::Running | ExecutionStatus::Success => Ok(()),
        status => {
            let problem = Problem::new(format!("execution {} ended: {status}", execution.id));
            let hint = format!("`folio execution log {}` shows what it printed", execution.id);
            Err(problem.hint(hint).into())
        }
    }
}

/// What whoever asked for an execution wants to see: its result, or how to find it later.
fn told(execution: &Execution) -> String {
    match &execution.output {
        Some(output) => words(output),
        None => execution.id.to_string(),
    }
}

fn words(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

async fn list(session: &Session, command: List) -> Result<()> {
    let List { function, status, limit, below } = command;
    let app = session.app(None);
    let mut query = vec![("limit", limit.to_string())];
    query.extend(function.map(|function| ("function", function.to_string())));
    query.extend(status.map(|status| ("status", status.to_string())));
    query.extend(below.map(|below| ("below", below.to_string())));
    let path = ["apps", app.as_str(), "executions"];
    let found: Items<Execution> = session.client.get(&path, &query).await?;
    session.output.items(&found.items, table)
}

fn table(executions: &[Execution], format: Format) -> Table {
    let headings = ["ID", "FUNCTION", "VERSION", "STATUS", "TIME", "CREATED"];
    let wide = ["BY", "ORIGIN", "RESULT"];
    let mut table = match format {
        Format::Wide => {
            let [a, b, c, d, e, f] = headings;
            let [g, h, i] = wide;
            Table::new([a, b, c, d, e, f, g, h, i])
        }
        _ => Table::new(headings),
    };
    for execution in executions {
        let row = [
            execution.id.to_string(),
            execution.asked.function.to_string(),
            version(execution),
            execution.status.to_string(),
            execution.duration_ms.map(|ms| format!("{ms} ms")).unwrap_or_default(),
            moment(execution.created_at),
        ];
        match format {
            Format::Wide => {
                let output = execution.output.as_ref().map(words).unwrap_or_default();
                let [a, b, c, d, e, f] = row;
                let by = execution.asked.by.to_string();
                let origin = origin(&execution.asked.origin);
                table.row([a, b, c, d, e, f, by, origin, one_line(&output)]);
            }
            _ => table.row(row),
        }
    }
    table
}

fn version(execution: &Execution) -> String {
    let version = execution.asked.version.as_ref().map_or("draft", |version| version.as_str());
    match &execution.asked.alias {
        Some(alias) => format!("{version} ({alias})"),
        None => version.to_owned(),
    }
}

fn origin(origin: &ExecutionOrigin) -> String {
    match origin {
        ExecutionOrigin::Request => "request".to_owned(),
        ExecutionOrigin::Job(id) => format!("job {id}"),
        ExecutionOrigin::Webhook(id) => format!("webhook {id}"),
    }
}

async fn show(session: &Session, which: &Which) -> Result<()> {
    let (app, id) = (session.app(None), which.id.to_string());
    let path = ["apps", app.as_str(), "executions", &id];
    let execution: Execution = session.client.get(&path, &[]).await?;
    session.output.item(&execution, |execution| details(execution).to_string())
}

fn details(execution: &Execution) -> Details {
    let mode = match execution.asked.mode {
        ExecutionMode::Sync => "sync",
        ExecutionMode::Async => "async",
    };
    let mut details = Details::default()
        .line("Id", execution.id)
        .line("App", &execution.app)
        .line("Function", &execution.asked.function)
        .line("Version", version(execution))
        .line("Status", execution.status)
        .line("Mode", mode)
        .line("Origin", origin(&execution.asked.origin))
        .line("By", &execution.asked.by)
        .line("Created", moment(execution.created_at));
    if let Some(slot) = execution.asked.slot {
        details = details.line("Slot", moment(slot));
    }
    if let Some(release) = &execution.asked.release {
        details = details.line("Release", release);
    }
    if !execution.asked.description.is_empty() {
        details = details.line("Description", one_line(&execution.asked.description));
    }
    if let Some(input) = &execution.input {
        details = details.line("Input", one_line(input));
    }
    if let Some(output) = &execution.output {
        details = details.line("Result", one_line(&words(output)));
    }
    if let Some(ms) = execution.duration_ms {
        details = details.line("Time", format!("{ms} ms"));
    }
    details
}

async fn log(session: &Session, which: &Which) -> Result<()> {
    let (app, id) = (session.app(None), which.id.to_string());
    let path = ["apps", app.as_str(), "executions", &id, "log"];
    let text = session.client.fetch(&path, &[]).await?.text().await?;
    output::print(&text)
}

async fn cancel(session: &Session, which: Several) -> Result<()> {
    let app = session.app(None);
    for id in which.ids {
        let id = id.to_string();
        let path = ["apps", app.as_str(), "executions", &id, "cancel"];
        let change = Change::new(Method::POST);
        let ended: Execution = session.client.change(&path, change).await?;
        session.output.item(&ended, |ended| format!("execution {} cancelled", ended.id))?;
    }
    Ok(())
}

async fn delete(session: &Session, which: Several) -> Result<()> {
    let app = session.app(None);
    for id in which.ids {
        let id = id.to_string();
        let path = ["apps", app.as_str(), "executions", &id];
        let change = Change::new(Method::DELETE);
        let gone: Execution = session.client.change(&path, change).await?;
        session.output.item(&gone, |gone| format!("execution {} deleted", gone.id))?;
    }
    Ok(())
}
