//! Tokens that were asked for lately, so that a request costs no look into the store. An entry that adds or revokes a
//! token forgets them all before its call returns; what was read before that is not kept after it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use folio_model::{Edit, Entry, TokenRecord};

use crate::Folio;
use crate::ports::StoreError;

/// Tokens kept at once; made-up ones must not fill the memory.
const KEPT_MAX: usize = 4096;

/// What is known of tokens, missing ones included.
#[derive(Default)]
pub(crate) struct KnownTokens(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Grows with every entry about tokens.
    generation: u64,
    by_id: HashMap<String, Option<TokenRecord>>,
}

impl KnownTokens {
    /// Forgets what an entry may have changed.
    pub(crate) fn hear(&self, entry: &Entry) {
        let about = |edit: &Edit| matches!(edit, Edit::AddToken { .. } | Edit::RevokeToken { .. });
        if entry.edits.iter().any(about) {
            let mut known = self.lock();
            known.generation += 1;
            known.by_id.clear();
        }
    }

    // Nothing that holds the lock leaves it half changed.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folio {
    pub(super) async fn known_token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        let generation = {
            let known = self.tokens.lock();
            if let Some(found) = known.by_id.get(id) {
                return Ok(found.clone());
            }
            known.generation
        };
        let asked = id.to_owned();
        let found = self.look(move |state| state.token(&asked)).await?;
        let mut known = self.tokens.lock();
        if known.generation == generation {
            if known.by_id.len() >= KEPT_MAX {
                known.by_id.clear();
            }
            known.by_id.insert(id.to_owned(), found.clone());
        }
        Ok(found)
    }
}
