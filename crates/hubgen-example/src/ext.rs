//! What the generator cannot know: in the first version of the library, the weight of a shelf is
//! text with a unit, and since then it is a number of grams.

use hub::{Augment, Field, Result, Spoke as _};

use crate::generated::library::{storage, v2019_01_01};

/// Where a weight is kept that is no number of grams.
const WEIGHT: &str = "weight@2019-01-01";

impl Augment<storage::ShelfProperties> for v2019_01_01::ShelfProperties {
    const WRITTEN_FOR: &'static str = "2020-06-01";

    fn into_stored(mut self) -> Result<storage::ShelfProperties> {
        let weight = self.weight.take();
        let mut hub: storage::ShelfProperties = self.up()?;
        match weight.value().and_then(|text| grams(text)) {
            Some(grams) => hub.weight = Field::Value(grams),
            None if weight.value().is_some() => hub.bag.put(WEIGHT, weight),
            None => hub.weight = weight.map(|_| 0),
        }
        Ok(hub)
    }

    fn from_stored(mut stored: storage::ShelfProperties) -> Result<Self> {
        let weight = match stored.bag.take(WEIGHT)? {
            Field::Value(text) => Field::Value(text),
            Field::Null | Field::Absent => stored.weight.map(|grams| format!("{grams} g")),
        };
        Ok(Self { weight, ..Self::down(stored)? })
    }
}

/// Reads a weight, if it would be written the same way.
fn grams(text: &str) -> Option<i64> {
    let grams: i64 = text.strip_suffix(" g")?.parse().ok()?;
    (format!("{grams} g") == text).then_some(grams)
}

#[cfg(test)]
mod tests {
    use hub::{Hook, HookKind};

    use crate::generated::library::hooks::HOOKS;

    #[test]
    fn the_table_says_which_hooks_are_written() {
        let written: Vec<_> = HOOKS.iter().filter(|hook| hook.is_implemented).collect();
        let expected = Hook {
            version: "2019-01-01",
            name: "ShelfProperties",
            kind: HookKind::Augment,
            is_implemented: true,
        };
        assert_eq!(written, [&expected]);
    }
}
