//! How long a resource the size of a function takes from a version to the hub and back, and how
//! often it asks for memory. Goal: 5 microseconds, and no memory but for the values moved.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures time and says what it found"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hub::Spoke as _;
use hubgen_example::generated::readers::{storage, v1};
use serde_json::json;

const ROUNDS: usize = 100_000;

/// Counts what is asked of the system's allocator.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(
    unsafe_code,
    reason = "only an allocator can count allocations; it adds one and passes on"
)]
// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise about the pointer is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn main() {
    let reader = reader();
    println!("a reader of {} bytes", serde_json::to_string(&reader).expect("JSON").len());
    let mut spent = Vec::with_capacity(ROUNDS);
    let mut allocations = 0;
    for _ in 0..ROUNDS {
        let copy = black_box(reader.clone());
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let start = Instant::now();
        let stored: storage::Reader = copy.into_hub().expect("a reader");
        let back = v1::Reader::from_hub(black_box(stored)).expect("a reader");
        spent.push(start.elapsed());
        allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert_eq!(back, reader, "nothing is lost");
    }
    // Other programs on the machine make some rounds long, so the one in the middle counts.
    spent.sort_unstable();
    let microseconds = spent[ROUNDS / 2].as_secs_f64() * 1e6;
    println!("{microseconds:.2} µs to the hub and back (goal: at most 5 µs)");
    println!("{allocations} allocations, of which {LISTS} hold converted items");
}

/// The list of fines is made once on the way up and once on the way down.
const LISTS: u32 = 2;

fn reader() -> v1::Reader {
    let fines: Vec<_> = (0..10).map(|number| json!({"cents": number, "paid": false})).collect();
    let reader = json!({
        "metadata": {"name": "ada", "namespace": "default", "labels": {"a": "b", "c": "d"}},
        "spec": {
            "badge": {"containers": [{"name": "printer", "env": [{"name": "A", "value": "B"}]}]},
            "card": "0001",
            "fines": fines,
            "level": "adult",
            "limit": 3,
            "when": {"monday": ["morning", "evening"], "friday": ["noon"]},
            "settings": {"language": "en", "print": "large", "mail": "never", "theme": "dark"},
        },
        "status": {"borrowed": 7},
    });
    serde_json::from_value(reader).expect("a reader")
}
