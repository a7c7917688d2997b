//! Executions: runs of functions that are recorded.

use folio_core::Folio;
use folio_core::execution::Listing;
use folio_model::Execution;

use super::Outcome;
use crate::decode::{
    AppPath, Ask, Change, ExecutionPath, ExecutionQuery, Given, Nothing, page_items,
};
use crate::encode::{Answer, Made, Text};
use crate::wire::{NewExecution, Page};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<AppPath, ExecutionQuery>,
) -> Outcome<Answer<Page<Execution>>> {
    let ExecutionQuery { function, status, below, limit } = ask.query;
    let limit = page_items(&folio, limit);
    let listing = Listing { function, status, below, limit };
    let found = folio.executions(&ask.path.app, listing).await?;
    Ok(Answer(Page::new(found, limit, |execution| execution.seq)))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewExecution>>,
) -> Outcome<Made<Execution>> {
    change.unconditional()?;
    let Given(new) = change.body;
    Ok(Made(folio.start_execution(&change.caller, &change.path.app, new.into()).await?))
}

pub(crate) async fn show(folio: Folio, ask: Ask<ExecutionPath>) -> Outcome<Answer<Execution>> {
    Ok(Answer(folio.show_execution(&ask.path.app, ask.path.id).await?))
}

pub(crate) async fn log(folio: Folio, ask: Ask<ExecutionPath>) -> Outcome<Text> {
    Ok(Text(folio.execution_log(&ask.path.app, ask.path.id).await?))
}

pub(crate) async fn cancel(
    folio: Folio,
    change: Change<ExecutionPath>,
) -> Outcome<Answer<Execution>> {
    change.unconditional()?;
    Ok(Answer(folio.cancel_execution(&change.path.app, change.path.id).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<ExecutionPath>,
) -> Outcome<Answer<Execution>> {
    change.unconditional()?;
    Ok(Answer(folio.delete_execution(&change.path.app, change.path.id).await?))
}
