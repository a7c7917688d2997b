//! A hook that was written for a hub that has since moved.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{storage, v1};
use hub::{Augment, Result};

impl Augment<storage::Book> for v1::Book {
    const WRITTEN_FOR: &'static str = "v1";

    fn assign_to(&self, _hub: &mut storage::Book) -> Result<()> {
        Ok(())
    }

    fn assign_from(&mut self, _hub: &storage::Book) -> Result<()> {
        Ok(())
    }
}

fn main() {}
