//! A hook that goes up and never comes down.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{storage, v1};
use hub::{Augment, Result, Spoke};

impl Augment<storage::Book> for v1::Book {
    const WRITTEN_FOR: &'static str = "v2";

    fn into_stored(self) -> Result<storage::Book> {
        self.up()
    }
}

fn main() {}
