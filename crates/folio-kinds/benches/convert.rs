//! How long a function takes from a version to the hub and back, with and without a pod spec.
//! Goal: 5 microseconds.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures time and says what it found"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use folio_kinds::generated::kinds::{fission_io_v1, folio_dev_v1, storage};
use folio_kinds::{Manifest, convert};
use hub::Spoke;
use serde_json::Value;

const ROUNDS: u32 = 50_000;

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
    let mut spent = Duration::ZERO;
    for _ in 0..ROUNDS {
        let copy = function.clone();
        let start = Instant::now();
        let stored = copy.into_hub().expect("a function");
        let back = S::from_hub(black_box(stored)).expect("a function");
        spent += start.elapsed();
        black_box(back);
    }
    let microseconds = spent.as_secs_f64() * 1e6 / f64::from(ROUNDS);
    println!("{what}: {microseconds:.2} µs to the hub and back (goal: at most 5 µs)");
}
