//! How much of static files is kept in memory, over all releases. What is kept takes room for as long as a release holds
//! the file, and gives it back by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes kept over all files and encodings; what is beyond is read anew for every request.
const KEPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How much is kept.
#[derive(Debug, Default)]
pub(super) struct Room(AtomicU64);

/// Something that is kept.
#[derive(Debug)]
pub(super) struct Held<T> {
    pub(super) value: T,
    bytes: u64,
    room: Arc<Room>,
}

impl Room {
    /// Keeps something, if there is room for its bytes.
    pub(super) fn hold<T>(self: &Arc<Self>, value: T, bytes: u64) -> Option<Held<T>> {
        let more = |now: u64| now.checked_add(bytes).filter(|sum| *sum <= KEPT_BYTES_MAX);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Held { value, bytes, room: Arc::clone(self) })
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        self.room.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_makes_room_for_something_else() {
        let room = Arc::new(Room::default());
        let half = room.hold("half", KEPT_BYTES_MAX / 2).unwrap();
        let other = room.hold("other", KEPT_BYTES_MAX / 2).unwrap();
        assert!(room.hold("more", 1).is_none());
        drop(half);
        assert!(room.hold("more", 1).is_some());
        assert_eq!(other.value, "other");
    }
}
