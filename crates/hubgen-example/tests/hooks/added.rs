//! A hook of a type and one of a property: both are called and listed.

#[path = "../../src/generated"]
mod generated {
    pub mod books;
}

use generated::books::{hooks, storage, v1};
use hub::{Augment, Convert, Field, Number, Result, Spoke};

impl Augment<storage::Book> for v1::Book {
    const WRITTEN_FOR: &'static str = "v2";

    fn into_stored(self) -> Result<storage::Book> {
        let mut book: storage::Book = self.up()?;
        book.title = book.title.map(|title| title.to_uppercase());
        Ok(book)
    }

    fn from_stored(mut stored: storage::Book) -> Result<Self> {
        stored.title = stored.title.map(|title| title.to_lowercase());
        Self::down(stored)
    }
}

impl Convert for v1::change::CopyNumber {
    const WRITTEN_FOR: &'static str = "v2";

    fn up(value: Number) -> Result<i64> {
        Ok(value.as_i64().unwrap_or_default() + 100)
    }

    fn down(value: i64) -> Result<Number> {
        Ok(Number::from(value - 100))
    }
}

fn main() {
    let book = v1::Book {
        author: Field::Absent,
        copies: Field::Value(vec![v1::Copy {
            number: Number::from(1),
            torn: false,
            unknown: hub::Object::new(),
        }]),
        isbn: Field::Absent,
        pages: Field::Absent,
        title: "emma".to_owned(),
        r#type: Field::Absent,
        unknown: hub::Object::new(),
    };
    let stored: storage::Book = book.clone().into_hub().expect("a book");
    assert_eq!(stored.title, Field::Value("EMMA".to_owned()));
    let copies = stored.copies.value().expect("copies");
    assert_eq!(copies[0].number, Field::Value(101));
    assert_eq!(v1::Book::from_hub(stored).expect("a book"), book);
    let written: Vec<_> = hooks::HOOKS.iter().filter(|hook| hook.is_implemented).collect();
    let written: Vec<_> = written.iter().map(|hook| hook.name).collect();
    assert_eq!(written, ["Book", "Copy.number"]);
}
