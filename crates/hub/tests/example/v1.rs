//! The first version.

use hub::traits::*;
use hub::{AugmentHook, Bag, Change, Field, Number, Object, Probe, Result, Symbol};
use serde::{Deserialize, Serialize};

use super::storage;

/// A book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Book {
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub authors: Field<Vec<Author>>,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub format: Field<Format>,
    pub isbn: String,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub level: Field<Level>,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub pages: Field<Number>,
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    pub shelf: Field<String>,
    /// What the schema does not list.
    #[serde(flatten)]
    pub unknown: Object,
}

impl Spoke<storage::Book> for Book {
    const AUGMENT: Option<AugmentHook<Self, storage::Book>> =
        Probe::<(Self, storage::Book)>::AUGMENT;

    fn up(self) -> Result<storage::Book> {
        let mut bag = Bag::default();
        bag.put("shelf@v1", self.shelf);
        bag.put_unknown("*@v1", self.unknown);
        Ok(storage::Book {
            authors: self.authors.into_hub().at("authors")?,
            code: Field::Value(self.isbn),
            format: self.format.into_hub().at("format")?,
            level: match Probe::<change::BookLevel>::CONVERT {
                Some(hook) => self.level.try_map(hook.up).at("level")?,
                None => self.level.into_hub().at("level")?,
            },
            pages: bag.spill("pages@v1", self.pages).at("pages")?,
            bag,
        })
    }

    fn down(hub: storage::Book) -> Result<Self> {
        let mut bag = hub.bag;
        Ok(Self {
            authors: Field::from_hub(hub.authors).at("authors")?,
            format: Field::from_hub(hub.format).at("format")?,
            isbn: hub.code.required().at("isbn")?,
            level: match Probe::<change::BookLevel>::CONVERT {
                Some(hook) => hub.level.try_map(hook.down).at("level")?,
                None => Field::from_hub(hub.level).at("level")?,
            },
            pages: bag.unspill("pages@v1", hub.pages).at("pages")?,
            shelf: bag.take("shelf@v1").at("shelf")?,
            unknown: bag.take_unknown("*@v1")?,
        })
    }

    fn overlay(stored: storage::Book, new: &mut storage::Book) {
        Field::<Vec<Author>>::overlay(stored.authors, &mut new.authors);
        Field::<Format>::overlay(stored.format, &mut new.format);
        new.bag.overlay(stored.bag, &["*@v1", "pages@v1", "shelf@v1"]);
    }
}

/// Somebody who wrote a book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
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
        bag.put_unknown("*@v1", self.unknown);
        Ok(storage::Author { born: Field::Absent, name: self.name.into(), bag })
    }

    fn down(hub: storage::Author) -> Result<Self> {
        let mut bag = hub.bag;
        Ok(Self { name: hub.name.required().at("name")?, unknown: bag.take_unknown("*@v1")? })
    }

    fn overlay(stored: storage::Author, new: &mut storage::Author) {
        hub::keep(stored.born, &mut new.born);
        new.bag.overlay(stored.bag, &["*@v1"]);
    }

    fn is_same(stored: &storage::Author, new: &storage::Author) -> bool {
        stored.name == new.name
    }
}

hub::open_union! {
    /// What a book is made of.
    pub enum Format by "kind" {
        Digital(Digital) = "digital",
        Paper(Paper) = "paper",
    }
}

impl Spoke<storage::Format> for Format {
    fn up(self) -> Result<storage::Format> {
        Ok(match self {
            Self::Digital(arm) => storage::Format::Digital(arm.into_hub()?),
            paper @ Self::Paper(_) => storage::Format::Unlisted(hub::unlist(paper)?),
            Self::Unlisted(object) => storage::Format::Unlisted(object),
        })
    }

    fn down(hub: storage::Format) -> Result<Self> {
        Ok(match hub {
            storage::Format::Digital(arm) => Self::Digital(Spoke::from_hub(arm)?),
            storage::Format::Unlisted(object) => hub::relist(object)?,
        })
    }

    fn overlay(stored: storage::Format, new: &mut storage::Format) {
        if let (storage::Format::Digital(stored), storage::Format::Digital(new)) = (stored, new) {
            Digital::overlay(stored, new);
        }
    }
}

/// A book without paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digital {
    pub size_bytes: i64,
    /// What the schema does not list.
    #[serde(flatten)]
    pub unknown: Object,
}

impl Spoke<storage::Digital> for Digital {
    const AUGMENT: Option<AugmentHook<Self, storage::Digital>> =
        Probe::<(Self, storage::Digital)>::AUGMENT;

    fn up(self) -> Result<storage::Digital> {
        let mut bag = Bag::default();
        bag.put_unknown("*@v1", self.unknown);
        Ok(storage::Digital { size_bytes: self.size_bytes.into(), bag })
    }

    fn down(hub: storage::Digital) -> Result<Self> {
        let mut bag = hub.bag;
        let size_bytes = hub.size_bytes.required().at("sizeBytes")?;
        Ok(Self { size_bytes, unknown: bag.take_unknown("*@v1")? })
    }

    fn overlay(stored: storage::Digital, new: &mut storage::Digital) {
        new.bag.overlay(stored.bag, &["*@v1"]);
    }
}

/// A book with paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paper {
    pub weight: i64,
    /// What the schema does not list.
    #[serde(flatten)]
    pub unknown: Object,
}

hub::open_enum! {
    /// Who a book is for.
    pub enum Level {
        Beginner = "beginner",
        Expert = "expert",
    }
}

/// Properties whose type is another in the hub, for [`hub::Convert`].
pub mod change {
    use super::*;

    /// `Book.level`.
    pub struct BookLevel;

    impl Change for BookLevel {
        type Spoke = Level;
        type Hub = Symbol;
        const HUB_VERSION: &'static str = "v2";
    }
}
