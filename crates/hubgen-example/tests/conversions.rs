//! What the generated conversions do where versions disagree.

use hub::{Spoke, Value};
use hubgen_example::generated::library::{storage, v2019_01_01, v2020_06_01};
use hubgen_example::generated::readers;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The properties of a shelf that every version requires, and more.
fn shelf(properties: Value) -> Value {
    let mut shelf = json!({"name": "a", "properties": {"boards": []}});
    let all = shelf["properties"].as_object_mut().expect("an object");
    all.extend(properties.as_object().expect("an object").clone());
    shelf
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a shelf")
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("JSON")
}

/// Reads what is stored through a version, changes it, and writes it back.
fn edit<S>(stored: Value, change: impl FnOnce(&mut Value)) -> Value
where
    S: Spoke<storage::Shelves> + Serialize + DeserializeOwned,
{
    let stored: storage::Shelves = read(stored);
    let mut document = json(S::from_hub(stored.clone()).expect("a shelf"));
    change(&mut document);
    json(read::<S>(document).into_hub_over(stored).expect("a shelf"))
}

#[test]
fn a_default_is_read_and_not_stored() {
    let before = shelf(json!({}));
    let after = edit::<v2019_01_01::Shelves>(before.clone(), |document| {
        assert_eq!(document["properties"]["label"], "unlabelled");
    });
    assert_eq!(after, before);
}

#[test]
fn a_fraction_is_kept_until_another_version_writes_the_number() {
    let first: v2019_01_01::Shelves = read(shelf(json!({"label": "x", "width": 1.5})));
    let stored = json(Spoke::<storage::Shelves>::into_hub(first).expect("a shelf"));
    assert_eq!(stored["properties"]["$bag"], json!({"width@2019-01-01": 1.5}));
    let untouched = edit::<v2020_06_01::Shelves>(stored.clone(), |_| {});
    assert_eq!(untouched, stored);
    let wider = edit::<v2020_06_01::Shelves>(stored, |document| {
        document["properties"]["width"] = json!(3);
    });
    assert_eq!(wider["properties"]["$bag"], Value::Null);
    let old: v2019_01_01::Shelves =
        v2019_01_01::Shelves::from_hub(read::<storage::Shelves>(wider)).expect("a shelf");
    assert_eq!(json(old)["properties"]["width"], 3);
}

#[test]
fn a_renamed_property_of_a_renamed_type_has_its_new_name_in_storage() {
    let first: v2019_01_01::Shelves =
        read(json!({"name": "a", "properties": {"boards": [{"thick": 2}], "label": "x"}}));
    let stored = json(Spoke::<storage::Shelves>::into_hub(first).expect("a shelf"));
    assert_eq!(stored["properties"]["boards"], json!([{"thickness": 2}]));
}

#[test]
fn the_hook_of_a_type_converts_what_is_left_to_it() {
    let weigh = |text: &str| {
        let first: v2019_01_01::Shelves = read(shelf(json!({"label": "x", "weight": text})));
        let stored = Spoke::<storage::Shelves>::into_hub(first.clone()).expect("a shelf");
        let back = v2019_01_01::Shelves::from_hub(stored.clone()).expect("a shelf");
        assert_eq!(back, first);
        json(stored)["properties"].clone()
    };
    assert_eq!(weigh("12 g")["weight"], 12);
    assert_eq!(weigh("heavy")["$bag"], json!({"weight@2019-01-01": "heavy"}));
}

#[test]
fn items_are_told_apart_by_the_keys_that_the_schema_names() {
    let stored: readers::storage::Reader = read(json!({
        "metadata": {},
        "spec": {
            "card": "1",
            "guardians": [
                {"card": "2", "name": "Ada", "phone": "22"},
                {"card": "3", "name": "Ada", "phone": "33"},
            ],
            "loans": [
                {"branch": "north", "copy": 1, "due": "May"},
                {"branch": "north", "copy": 2, "due": "June"},
                {"branch": "south", "copy": 1, "due": "July"},
            ],
        },
    }));
    let written: readers::v1alpha1::Reader = read(json!({
        "metadata": {},
        "spec": {
            "card": "1",
            "guardians": [{"card": "3", "name": "Eve"}, {"card": "2", "name": "Ada"}],
            "loans": [{"branch": "south", "copy": 1}, {"branch": "north", "copy": 2}],
        },
    }));
    let after = json(written.into_hub_over(stored).expect("a reader"));
    let phones = json!([
        {"card": "3", "name": "Eve", "phone": "33"},
        {"card": "2", "name": "Ada", "phone": "22"},
    ]);
    assert_eq!(after["spec"]["guardians"], phones);
    let dues = json!([
        {"branch": "south", "copy": 1, "due": "July"},
        {"branch": "north", "copy": 2, "due": "June"},
    ]);
    assert_eq!(after["spec"]["loans"], dues);
}
