//! A hook whose function has another name.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{storage, v1};
use hub::{Augment, Result};

impl Augment<storage::Book> for v1::Book {
    const WRITTEN_FOR: &'static str = "v2";

    fn asign_to(&self, _hub: &mut storage::Book) -> Result<()> {
        Ok(())
    }

    fn assign_from(&mut self, _hub: &storage::Book) -> Result<()> {
        Ok(())
    }
}

fn main() {}
