//! A map that can take back what was done to it since the last commit. Found by hash, listed in order.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::RangeBounds;

/// Rows by key.
pub(super) struct Table<K, V> {
    rows: HashMap<K, V>,
    order: BTreeSet<K>,
    before: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: HashMap::new(), order: BTreeSet::new(), before: Vec::new() }
    }
}

impl<K: Clone + Eq + Hash + Ord, V: Clone> Table<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key)
    }

    pub(super) fn has(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    /// The rows of a range of keys, in their order.
    pub(super) fn range(
        &self,
        keys: impl RangeBounds<K>,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.order.range(keys).map(|key| (key, &self.rows[key]))
    }

    /// Adds a row or replaces it.
    pub(super) fn put(&mut self, key: K, value: V) {
        let before = self.rows.insert(key.clone(), value);
        self.order.insert(key.clone());
        self.before.push((key, before));
    }

    /// Removes a row, if it is there.
    pub(super) fn remove(&mut self, key: &K) {
        if let Some(before) = self.rows.remove(key) {
            self.order.remove(key);
            self.before.push((key.clone(), Some(before)));
        }
    }

    /// Replaces a row by what a function makes of it; a missing row counts as empty.
    pub(super) fn update<R>(&mut self, key: K, change: impl FnOnce(&mut V) -> R) -> R
    where
        V: Default,
    {
        let mut value = self.rows.get(&key).cloned().unwrap_or_default();
        let result = change(&mut value);
        self.put(key, value);
        result
    }
}

/// What every table can do, whatever is in it.
pub(super) trait Journal {
    /// Keeps what was done.
    fn commit(&mut self);

    /// Takes back what was done since the last commit.
    fn roll_back(&mut self);
}

impl<K: Clone + Eq + Hash + Ord, V> Journal for Table<K, V> {
    fn commit(&mut self) {
        self.before.clear();
    }

    fn roll_back(&mut self) {
        while let Some((key, before)) = self.before.pop() {
            match before {
                Some(value) => {
                    self.order.insert(key.clone());
                    self.rows.insert(key, value);
                }
                None => {
                    self.order.remove(&key);
                    self.rows.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolling_back_restores_every_row_and_the_order() {
        let mut table = Table::default();
        table.put(1, "one");
        table.put(2, "two");
        table.commit();
        table.remove(&1);
        table.put(1, "uno");
        table.put(2, "due");
        table.put(3, "tre");
        table.remove(&2);
        table.roll_back();
        let rows: Vec<_> = table.range(..).collect();
        assert_eq!(rows, [(&1, &"one"), (&2, &"two")]);
    }
}
