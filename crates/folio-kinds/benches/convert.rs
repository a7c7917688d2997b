//! How long a function takes from a version to the hub and back, with and without a pod spec, and
//! how often it asks for memory. Goal: 5 microseconds, and no memory but for what a bag needs.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures time and says what it found"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use folio_kinds::generated::kinds::{fission_io_v1, folio_dev_v1, storage};
use folio_kinds::{Manifest, convert};
use hub::Spoke;
use serde_json::Value;

const ROUNDS: usize = 50_000;

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
    let text = include_str!("../tests/manifests/fission.yaml");
    let manifest = Manifest::parse_all(text).expect("YAML").remove(0);
    let clean = convert(&manifest, "folio.dev/v1").expect("a function").manifest.as_value();
    let with_pod = manifest.as_value();
    let mut plain = with_pod.clone();
    plain["spec"].as_object_mut().expect("an object").remove("podspec");
    measure::<folio_dev_v1::Function>("folio.dev/v1", clean);
    measure::<fission_io_v1::Function>("fission.io/v1", plain);
    measure::<fission_io_v1::Function>("fission.io/v1 with a pod spec", with_pod);
}

fn measure<S>(what: &str, mut value: Value)
where
    S: Spoke<storage::Function> + Clone + serde::de::DeserializeOwned,
{
    let object = value.as_object_mut().expect("an object");
    object.retain(|key, _| key != "apiVersion" && key != "kind");
    let function: S = serde_json::from_value(value).expect("a function");
    let mut spent = Vec::with_capacity(ROUNDS);
    let mut allocations = 0;
    for _ in 0..ROUNDS {
        let copy = black_box(function.clone());
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let start = Instant::now();
        let stored = copy.into_hub().expect("a function");
        let back = S::from_hub(black_box(stored)).expect("a function");
        spent.push(start.elapsed());
        allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        black_box(back);
    }
    // Other programs on the machine make some rounds long, so the one in the middle counts.
    spent.sort_unstable();
    let microseconds = spent[ROUNDS / 2].as_secs_f64() * 1e6;
    println!(
        "{what}: {microseconds:.2} µs to the hub and back (goal: at most 5 µs), \
         {allocations} allocations"
    );
}
