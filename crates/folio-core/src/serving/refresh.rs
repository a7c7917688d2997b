//! What a commit does for slots and sites before it returns, and what happens if nobody waits for it.

use std::time::Duration;

use folio_model::Entry;

use crate::Folio;
use crate::ports::{Page, StoreError};

/// How long to wait before a read that failed is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// A commit whose entry slots may not have heard of. Whoever stops waiting for the commit drops this, and the
/// slots hear of it in the background.
pub(crate) struct Unsettled<'a> {
    folio: &'a Folio,
    /// The newest entry before the commit started.
    after: u64,
    missed: bool,
}

impl<'a> Unsettled<'a> {
    pub(crate) fn new(folio: &'a Folio) -> Self {
        let after = *folio.ledger.head().borrow();
        Self { folio, after, missed: true }
    }

    /// Tells slots and sites of what was appended, if anything was. If they cannot be read now, they are in the
    /// background until they can.
    pub(crate) async fn settle(mut self, entry: Option<&Entry>) {
        let told = match entry {
            Some(entry) => self.folio.refresh(entry).await,
            None => Ok(()),
        };
        match told {
            Ok(()) => self.missed = false,
            Err(error) => {
                tracing::error!(%error, "What references mean could not be read after a commit");
            }
        }
    }
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        if !self.missed {
            return;
        }
        let (folio, after) = (self.folio.clone(), self.after);
        self.folio.serving.tasks.spawn(async move {
            while let Err(error) = folio.catch_up(after).await {
                tracing::error!(%error, "What references mean could not be read");
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
}

impl Folio {
    /// Makes every slot and site that an entry concerns current, and has built what it makes wait.
    pub(crate) async fn refresh(&self, entry: &Entry) -> Result<(), StoreError> {
        self.tokens.hear(entry);
        let slots = self.serving.table.concerned(entry);
        if !slots.is_empty() {
            self.read_slots(slots).await?;
        }
        self.refresh_site(entry).await?;
        self.push_builds(entry).await
    }

    /// Makes everything current that the entries after a place concern, also one that is still on its way.
    async fn catch_up(&self, after: u64) -> Result<(), StoreError> {
        // Appends are served in order, so what was on its way is there once this was asked.
        self.ledger.append(Box::new(|_| Ok(None))).await?;
        let page = Page { after, limit: usize::MAX };
        let entries = self.look(move |state| state.entries(None, page)).await?;
        for entry in &entries {
            self.refresh(entry).await?;
        }
        Ok(())
    }
}
