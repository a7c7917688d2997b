//! Adding the rows of batches whose new nodes lie in a written pack, inside one transaction. Whether a node is new
//! and whether what it names is stored is decided again here.

use std::collections::HashMap;

use bytes::Bytes;
use folio_core::ports::{StoreError, Stored};
use folio_model::{Digest, Timestamp};

use super::batch::{Batch, Plan};
use super::index::{Home, Pack, PackId, Place, Row, Table, tick};
use super::objects::Reserved;
use super::pack::Listed;

/// A pack that is not yet in the index: written as an object, or to be kept beside its rows.
pub(super) struct Written {
    pub(super) _reserved: Reserved,
    pub(super) pack: Pack,
    /// Its bytes, if its home is the index.
    pub(super) body: Option<Bytes>,
    pub(super) listed: HashMap<Digest, Listed>,
}

/// What became of a batch in its transaction.
pub(super) enum Outcome {
    /// It is stored.
    Stored(Stored),
    /// Something it relied on has been swept since it was looked at; nothing was changed.
    Overtaken,
}

/// One transaction on its way.
pub(super) struct Commit<'a> {
    table: &'a mut dyn Table,
    written: Option<&'a Written>,
    now: Timestamp,
    /// The pack's number, once a row needs it.
    pack: Option<PackId>,
    /// The moment of the transaction, once it changes something.
    at: Option<u64>,
}

impl<'a> Commit<'a> {
    pub(super) fn new(
        table: &'a mut dyn Table,
        written: Option<&'a Written>,
        now: Timestamp,
    ) -> Self {
        Self { table, written, now, pack: None, at: None }
    }

    /// Whether a row was added that lies in the pack.
    pub(super) fn uses_pack(&self) -> bool {
        self.pack.is_some()
    }

    /// Adds the rows of a batch, if everything it relied on still holds. Refuses before it writes anything.
    pub(super) fn add(&mut self, batch: &Batch) -> Result<Outcome, StoreError> {
        let Some(Plan { new, used, reused }) = batch.plan(self.table, self.now)? else {
            return Ok(Outcome::Overtaken);
        };
        let listed = self.written.map(|written| &written.listed);
        if !new.iter().all(|digest| listed.is_some_and(|listed| listed.contains_key(digest))) {
            return Ok(Outcome::Overtaken);
        }
        if !used.is_empty() {
            let at = self.at()?;
            used.iter().try_for_each(|digest| self.table.touch(*digest, at))?;
        }
        if let Some(written) = self.written.filter(|_| !new.is_empty()) {
            let (pack, at) = (self.pack(written)?, self.at()?);
            for digest in &new {
                let Listed { kind, bytes, checksum, spot, .. } = written.listed[digest];
                let (totals, place) = (batch.totals(*digest), Place { pack, spot });
                let row = Row { kind, place, bytes, totals, checksum, touched: at };
                self.table.set(*digest, &row)?;
            }
        }
        Ok(Outcome::Stored(Stored { added: new.len() as u64, reused }))
    }

    fn at(&mut self) -> Result<u64, StoreError> {
        match self.at {
            Some(at) => Ok(at),
            None => Ok(*self.at.insert(tick(self.table, self.now)?)),
        }
    }

    fn pack(&mut self, written: &Written) -> Result<PackId, StoreError> {
        match self.pack {
            Some(id) => Ok(id),
            None => Ok(*self.pack.insert(written.add_to(self.table)?)),
        }
    }
}

impl Written {
    /// Adds the pack to the index.
    pub(super) fn add_to(&self, table: &mut dyn Table) -> Result<PackId, StoreError> {
        table.add_pack(&self.pack, self.body.as_ref())
    }

    /// The object that has to go if no row comes to need it.
    pub(super) fn object(&self) -> Option<String> {
        (self.pack.home == Home::Object).then(|| self.pack.name.clone())
    }
}
