//! A hook for a hub that the type is not stored as.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{storage, v1};
use hub::{Augment, Result, Spoke};

impl Augment<storage::Copy> for v1::Book {
    const WRITTEN_FOR: &'static str = "v2";

    fn into_stored(self) -> Result<storage::Copy> {
        self.up()
    }

    fn from_stored(stored: storage::Copy) -> Result<Self> {
        Self::down(stored)
    }
}

fn main() {}
