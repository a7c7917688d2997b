//! A hook whose function has another name.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{storage, v1};
use hub::{Augment, Result, Spoke};

impl Augment<storage::Book> for v1::Book {
    const WRITTEN_FOR: &'static str = "v2";

    fn into_storage(self) -> Result<storage::Book> {
        self.up()
    }

    fn from_stored(stored: storage::Book) -> Result<Self> {
        Self::down(stored)
    }
}

fn main() {}
