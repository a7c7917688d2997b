//! A hook of a property whose type in the hub is another.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::v1;
use hub::{Convert, Number, Result};

impl Convert for v1::change::CopyNumber {
    const WRITTEN_FOR: &'static str = "v2";

    fn up(value: Number) -> Result<String> {
        Ok(value.to_string())
    }

    fn down(value: String) -> Result<Number> {
        Ok(Number::from(value.len()))
    }
}

fn main() {}
