//! A hook for a hub that the type is not stored as.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{storage, v1};
use hub::{Augment, Result};

impl Augment<storage::Copy> for v1::Book {
    const WRITTEN_FOR: &'static str = "v2";

    fn assign_to(&self, _hub: &mut storage::Copy) -> Result<()> {
        Ok(())
    }

    fn assign_from(&mut self, _hub: &storage::Copy) -> Result<()> {
        Ok(())
    }
}

fn main() {}
