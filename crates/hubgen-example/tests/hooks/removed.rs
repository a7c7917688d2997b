//! Without a hook the generated conversion is all there is.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{hooks, storage, v1};
use hub::{Field, Spoke};

fn main() {
    let book = v1::Book {
        author: Field::Absent,
        copies: Field::Absent,
        isbn: Field::Absent,
        pages: Field::Absent,
        title: "emma".to_owned(),
        r#type: Field::Absent,
        unknown: hub::Object::new(),
    };
    let stored: storage::Book = book.into_hub().expect("a book");
    assert_eq!(stored.title, Field::Value("emma".to_owned()));
    assert!(hooks::HOOKS.iter().all(|hook| !hook.is_implemented));
}
