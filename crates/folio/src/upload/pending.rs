//! Content that has its name before anything of it is sent, so that what names it can be checked first.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_model::Digest;
use tokio::task::spawn_blocking;

use super::{GUESS_BYTES_MAX, guess, is_outdated, missing, send_and_learn};
use crate::client::Client;
use crate::content::{self, Extent, Given, Lesson, Most, Plan, Selection, Trust};

/// Content under its name. Nothing of it is sent before [`Self::send`].
pub(crate) struct Pending<T> {
    name: T,
    plan: Plan,
    /// Plans it as if nothing were remembered, to remember it then.
    again: Again<T>,
    /// Whether the server has all of it, if it was asked.
    is_there: Option<bool>,
}

type Again<T> = Arc<dyn Fn() -> Result<(T, Plan)> + Send + Sync>;

/// Names an archive.
pub(crate) async fn name_archive(
    path: PathBuf,
    trust: Trust,
    limits: &Limits,
) -> Result<Pending<ContentRef>> {
    let (given, limits) = (Given::Files(path), *limits);
    let plan = move || {
        let found = content::find(&given, None, &Most::of(limits.content_files_max))?;
        let (name, plan) = found.plan(&limits)?;
        Ok((name, Plan { trust, ..plan }))
    };
    let again: Again<ContentRef> = Arc::new(plan);
    let first = Arc::clone(&again);
    let (name, plan) = spawn_blocking(move || first()).await??;
    Ok(Pending { name, plan, again, is_there: None })
}

/// Names the directories that chosen files make. Those that are what they were the last time are taken to be on the
/// server, unless what is remembered is not trusted.
pub(crate) async fn name_selection(
    (selection, caches): (Selection, Option<PathBuf>),
    trust: Trust,
    limits: &Limits,
) -> Result<Pending<Vec<Digest>>> {
    let limits = *limits;
    let plan = Arc::new(move |trust| {
        content::plan_selection(&selection, caches.as_deref(), trust, &limits)
    });
    let first = Arc::clone(&plan);
    let again = Arc::new(move || plan(Trust::Nothing));
    let (name, plan) = spawn_blocking(move || first(trust)).await??;
    Ok(Pending { name, plan, again, is_there: None })
}

impl<T: Send + 'static> Pending<T> {
    /// What it is called, as far as nothing changes before it is sent.
    pub(crate) fn name(&self) -> &T {
        &self.name
    }

    /// Whether it is sooner sent than asked about.
    pub(crate) fn is_slight(&self) -> bool {
        self.plan.nodes.iter().map(|node| node.bytes).sum::<u64>() <= GUESS_BYTES_MAX
    }

    /// Whether the server has all of it. What is new here most likely is new to the server, and is not asked about.
    pub(crate) async fn is_there(&mut self, client: &Client, limits: &Limits) -> Result<bool> {
        loop {
            if let Some(is_there) = self.is_there {
                return Ok(is_there);
            }
            let lacks = match guess(&self.plan) {
                Some(_) => Ok(true),
                None => missing(client, &self.plan, limits).await.map(|lacks| !lacks.is_empty()),
            };
            match lacks {
                Err(error) if self.is_outdated(&error) => self.plan_again().await?,
                lacks => self.is_there = Some(!lacks?),
            }
        }
    }

    /// Makes sure that the server has it, and gives its name.
    pub(crate) async fn send(mut self, client: &Client, limits: &Limits) -> Result<T> {
        loop {
            let Self { name, mut plan, again, is_there } = self;
            if is_there == Some(true) {
                let lesson = plan.lesson.take();
                spawn_blocking(move || lesson.as_ref().map(Lesson::keep)).await?;
                return Ok(name);
            }
            let extent = plan.extent;
            match send_and_learn(client, plan, limits).await? {
                Err(error) if extent == Extent::News && is_outdated(&error) => {}
                sent => return sent.map(|()| name),
            }
            let first = Arc::clone(&again);
            let (name, plan) = spawn_blocking(move || first()).await??;
            self = Self { name, plan, again, is_there: None };
        }
    }

    fn is_outdated(&self, error: &anyhow::Error) -> bool {
        self.plan.extent == Extent::News && is_outdated(error)
    }

    async fn plan_again(&mut self) -> Result<()> {
        let again = Arc::clone(&self.again);
        (self.name, self.plan) = spawn_blocking(move || again()).await??;
        Ok(())
    }
}
