//! Values that were used not long ago.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// A map that forgets what was not used for long: it has at most twice as many values as its capacity.
///
/// As it has few values, keys that a file chooses may be hashed without protection against collisions: one look-up
/// compares a key with at most all of them.
///
/// Values that are used are in the younger one of two generations. When that is full, it becomes the older one, and
/// the older one is dropped.
#[derive(Debug)]
pub struct Recent<K, V> {
    younger: FxHashMap<K, V>,
    older: FxHashMap<K, V>,
    capacity: usize,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// An empty map, of which a generation has so many values.
    pub fn new(capacity: usize) -> Self {
        Self { younger: FxHashMap::default(), older: FxHashMap::default(), capacity }
    }

    /// The value with this key, which is used now.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Some(value) = self.younger.get(key) {
            return Some(value.clone());
        }
        let (key, value) = self.older.remove_entry(key)?;
        self.insert(key, value.clone());
        Some(value)
    }

    /// Adds a value, or replaces it.
    pub fn insert(&mut self, key: K, value: V) {
        if self.younger.len() >= self.capacity {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_as_long_as_it_is_used() {
        let mut recent = Recent::new(2);
        recent.insert(0, 'a');
        for key in 1..20 {
            recent.insert(key, 'b');
            assert_eq!(recent.get(&0), Some('a'), "{key}");
            assert!(recent.younger.len() + recent.older.len() <= 4);
        }
        assert_eq!(recent.get(&1), None);
    }
}
