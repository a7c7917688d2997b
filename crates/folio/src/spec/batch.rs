//! The files of several packages at once: named first, and sent only when what names them was found to be right.

use std::path::{Path, PathBuf};

use anyhow::Result;
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_model::{Digest, EntryName, Layout};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::archives::Held;
use crate::command::Session;
use crate::content::{self, Chosen, Selection, Trust, Unfit};
use crate::upload::{self, Pending};

/// Archives that are sent, or fetched, at the same time: enough that none waits for the answers to another.
pub(super) const AT_ONCE: usize = 4;

/// Files under their names, in the order in which they were given. Nothing of them is sent before [`Self::send`].
#[derive(Default)]
pub(super) struct Batch {
    contents: Vec<ContentRef>,
    /// Those that are archives, with their places.
    archives: Vec<(usize, Pending<ContentRef>)>,
    /// All others, which are one selection.
    selected: Option<Pending<Vec<Digest>>>,
    /// The places of those.
    layouts: Vec<(usize, Layout)>,
    limits: Limits,
}

/// On whose behalf files are named.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behalf<'a> {
    pub(super) directory: &'a Path,
    /// What is remembered of them is kept under this name.
    pub(super) what: &'static str,
    pub(super) trust: Trust,
}

/// Files by what they are, each with its place among all.
#[derive(Default)]
struct Sorted {
    archives: Vec<(usize, PathBuf)>,
    chosen: Vec<Chosen>,
    layouts: Vec<(usize, Layout)>,
}

impl Sorted {
    /// Sorts files, and keeps a place for what each comes to.
    fn of(held: Vec<Held>, contents: &mut Vec<ContentRef>) -> Self {
        let mut sorted = Self::default();
        for (place, held) in held.into_iter().enumerate() {
            let (layout, items) = match held {
                Held::Archive(path) => {
                    contents.push(ContentRef::Archive { archive: Digest::of(&[]) });
                    sorted.archives.push((place, path));
                    continue;
                }
                Held::File(item) => (Layout::File, vec![item]),
                Held::Items(items) => (Layout::Directory, items),
            };
            contents.push(ContentRef::Tree { tree: Digest::of(&[]), layout });
            // Names of archives may be anything; in the selection they are numbers.
            let name: EntryName =
                sorted.chosen.len().to_string().parse().expect("digits are a name");
            sorted.chosen.push(Chosen { name, items });
            sorted.layouts.push((place, layout));
        }
        sorted
    }
}

/// The same by the places that directories of a selection have among all files.
fn placed(
    Unfit(unfit): Unfit,
    layouts: &[(usize, Layout)],
) -> impl Iterator<Item = (usize, anyhow::Error)> {
    unfit.into_iter().map(|(at, error)| (layouts[at].0, error))
}

#[derive(Deserialize)]
struct Server {
    limits: Limits,
}

impl Batch {
    /// Names files on behalf of a directory, or refuses them with [`Unfit`]. Those that are what they were the last time
    /// are taken to be on the server if what is remembered is trusted.
    pub(super) async fn name(
        session: &Session,
        Behalf { directory, what, trust }: Behalf<'_>,
        held: Vec<Held>,
    ) -> Result<Self> {
        if held.is_empty() {
            return Ok(Self::default());
        }
        let Server { limits } = session.client.get(&[], &[]).await?;
        let mut batch = Self { limits, ..Self::default() };
        let Sorted { archives, chosen, layouts } = Sorted::of(held, &mut batch.contents);
        let mut unfit = Vec::new();
        for (place, path) in archives {
            match upload::name_archive(path, trust, &limits).await {
                Ok(pending) => {
                    batch.contents[place] = *pending.name();
                    batch.archives.push((place, pending));
                }
                Err(error) => unfit.push((place, error)),
            }
        }
        batch.layouts = layouts;
        if !chosen.is_empty() {
            let path = directory.to_owned();
            let selection = (Selection { path, chosen, what }, session.cache.clone());
            match upload::name_selection(selection, trust, &limits).await {
                Ok(pending) => {
                    batch.fill(pending.name());
                    batch.selected = Some(pending);
                }
                Err(error) => unfit.extend(placed(error.downcast()?, &batch.layouts)),
            }
        }
        if unfit.is_empty() { Ok(batch) } else { Err(Unfit(unfit).into()) }
    }

    /// Refuses files that the server would not take, each by its place, without reading them.
    pub(super) async fn check(session: &Session, held: Vec<Held>) -> Result<()> {
        if held.is_empty() {
            return Ok(());
        }
        // Whoever cannot be asked is asked again, and told of then.
        let server: Result<Server> = session.client.get(&[], &[]).await;
        let limits = server.map_or_else(|_| Limits::default(), |server| server.limits);
        let checked = spawn_blocking(move || {
            let Sorted { archives, chosen, layouts } = Sorted::of(held, &mut Vec::new());
            let refused = |(place, path): (usize, PathBuf)| {
                content::check_archive(&path, &limits).err().map(|error| (place, error))
            };
            let mut unfit: Vec<_> = archives.into_iter().filter_map(refused).collect();
            if let Err(more) = content::check_selection(&chosen, &limits) {
                unfit.extend(placed(more, &layouts));
            }
            if unfit.is_empty() { Ok(()) } else { Err(Unfit(unfit)) }
        });
        Ok(checked.await??)
    }

    /// What the files come to.
    pub(super) fn contents(&self) -> &[ContentRef] {
        &self.contents
    }

    /// Whether they are sooner sent than asked about.
    pub(super) fn is_slight(&self) -> bool {
        self.archives.is_empty() && self.selected.as_ref().is_none_or(Pending::is_slight)
    }

    /// Whether the server has all of them.
    pub(super) async fn is_there(&mut self, session: &Session) -> Result<bool> {
        let Self { archives, selected, limits, .. } = self;
        let (client, limits) = (&session.client, &*limits);
        let asked = archives.iter_mut().map(|(_, pending)| pending.is_there(client, limits));
        let answers: Vec<bool> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
        let mut all = answers.into_iter().all(|is_there| is_there);
        if let Some(pending) = selected {
            all &= pending.is_there(client, limits).await?;
        }
        Ok(all)
    }

    /// Makes sure that the server has them, and gives what they come to.
    pub(super) async fn send(mut self, session: &Session) -> Result<Vec<ContentRef>> {
        let (client, limits) = (&session.client, &self.limits);
        let send = |(place, pending): (usize, Pending<ContentRef>)| async move {
            Ok::<_, anyhow::Error>((place, pending.send(client, limits).await?))
        };
        let sent = stream::iter(std::mem::take(&mut self.archives)).map(send).buffered(AT_ONCE);
        for (place, content) in sent.try_collect::<Vec<_>>().await? {
            self.contents[place] = content;
        }
        if let Some(pending) = self.selected.take() {
            // A file may have changed since it got its name.
            let digests = pending.send(&session.client, &self.limits).await?;
            self.fill(&digests);
        }
        Ok(self.contents)
    }

    fn fill(&mut self, digests: &[Digest]) {
        for ((place, layout), tree) in self.layouts.iter().zip(digests) {
            self.contents[*place] = ContentRef::Tree { tree: *tree, layout: *layout };
        }
    }
}
