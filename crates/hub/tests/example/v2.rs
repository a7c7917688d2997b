//! The second version, whose shapes are stored.

use hub::traits::*;
use hub::{AugmentHook, Bag, Field, Object, Probe, Result};
use serde::{Deserialize, Serialize};

use super::storage;
pub use super::v1::Digital;

/// Somebody who wrote a book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub born: Field<i64>,
    pub name: String,
    /// What the schema does not list.
    #[serde(flatten)]
    pub unknown: Object,
}

impl Spoke<storage::Author> for Author {
    const AUGMENT: Option<AugmentHook<Self, storage::Author>> =
        Probe::<(Self, storage::Author)>::AUGMENT;

    fn up(self) -> Result<storage::Author> {
        let mut bag = Bag::default();
        bag.put_unknown("*@v2", self.unknown);
        Ok(storage::Author { born: self.born, name: self.name.into(), bag })
    }

    fn down(hub: storage::Author) -> Result<Self> {
        let mut bag = hub.bag;
        let unknown = bag.take_unknown("*@v2")?;
        Ok(Self { born: hub.born, name: hub.name.required().at("name")?, unknown })
    }

    fn overlay(stored: storage::Author, new: &mut storage::Author) {
        new.bag.overlay(stored.bag, &["*@v2"]);
    }

    fn is_same(stored: &storage::Author, new: &storage::Author) -> bool {
        stored.name == new.name
    }
}
