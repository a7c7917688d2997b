//! Where the parts of a document are written.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::Document;

/// The line and column of every part of a document, by its path such as `spec.methods[0]`.
#[derive(Debug, Clone, Default)]
pub struct Places {
    line: usize,
    parts: BTreeMap<String, (usize, usize)>,
}

impl Places {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let mut places = Self { line: document.line, parts: BTreeMap::new() };
        if let Ok(tree) = serde_saphyr::from_str::<Spanned<Tree>>(document.text) {
            places.note(&tree, String::new());
        }
        places
    }

    /// The line and column of a part in its file, or of the nearest part that holds it.
    pub fn find(&self, path: &str) -> (usize, usize) {
        let mut path = path;
        loop {
            let same = self.parts.iter().find(|(name, _)| name.eq_ignore_ascii_case(path));
            if let Some((_, place)) = same {
                return *place;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return self.parts.get("").copied().unwrap_or((self.line, 1)),
            }
        }
    }

    fn note(&mut self, tree: &Spanned<Tree>, path: String) {
        let place = tree.referenced;
        let line = usize::try_from(place.line()).unwrap_or(1).max(1);
        let column = usize::try_from(place.column()).unwrap_or(1).max(1);
        match &tree.value {
            Tree::Leaf => {}
            Tree::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.note(item, format!("{path}[{at}]"));
                }
            }
            Tree::Map(entries) => {
                for (key, value) in entries {
                    self.note(value, crate::schema::join(&path, key));
                }
            }
        }
        self.parts.insert(path, (self.line + line - 1, column));
    }
}

/// A value whose parts know where they are.
enum Tree {
    Leaf,
    List(Vec<Spanned<Self>>),
    Map(Vec<(String, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Trees)
    }
}

struct Trees;

/// Leaves are noted, not kept.
macro_rules! leaves {
    ($($visit:ident: $type:ty),*) => {$(
        fn $visit<E>(self, _value: $type) -> Result<Tree, E> {
            Ok(Tree::Leaf)
        }
    )*};
}

impl<'de> Visitor<'de> for Trees {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    leaves!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_where_they_are_written() {
        let text =
            "kind: Function\nspec:\n  environment:\n    Name: python\n  methods: [GET, PUT]\n";
        let places = Document { line: 11, text }.places();
        assert_eq!(places.find("spec.environment.name"), (14, 11));
        assert_eq!(places.find("spec.methods[1]"), (15, 18));
        assert_eq!(places.find("spec.environment.namespace"), (14, 5));
        assert_eq!(places.find("nowhere"), (11, 1));
    }
}
