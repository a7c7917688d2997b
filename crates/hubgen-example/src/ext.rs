//! What the generator cannot know: in the first version of the library, the weight of a shelf is
//! text with a unit, and since then it is a number of grams.

use hub::{Augment, Field, Result};

use crate::generated::library::{storage, v2019_01_01};

/// Where a weight is kept that is no number of grams.
const WEIGHT: &str = "weight@2019-01-01";

impl Augment<storage::ShelfProperties> for v2019_01_01::ShelfProperties {
    const WRITTEN_FOR: &'static str = "2020-06-01";

    fn assign_to(&self, hub: &mut storage::ShelfProperties) -> Result<()> {
        match self.weight.value().map(|text| (text, grams(text))) {
            Some((_, Some(grams))) => hub.weight = Field::Value(grams),
            Some((text, None)) => hub.bag.insert(WEIGHT, text.as_str().into()),
            None => hub.weight = self.weight.clone().map(|_| 0),
        }
        Ok(())
    }

    fn assign_from(&mut self, hub: &storage::ShelfProperties) -> Result<()> {
        let text = hub.bag.get(WEIGHT).and_then(|kept| kept.as_str()).map(str::to_owned);
        self.weight = match text {
            Some(text) => Field::Value(text),
            None => hub.weight.map(|grams| format!("{grams} g")),
        };
        Ok(())
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
