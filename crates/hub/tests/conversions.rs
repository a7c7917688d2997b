//! What conversions do with values that are out of the ordinary.

use hub::{Field, Spoke as _, Value};
use serde_json::json;

use crate::example::{hooks, storage, v1, v2};

fn v1_book(value: Value) -> v1::Book {
    serde_json::from_value(value).expect("a book")
}

fn stored(value: Value) -> storage::Book {
    serde_json::from_value(value).expect("a book")
}

fn up(value: Value, expected: Value) {
    let hub = v1_book(value).into_hub().expect("a stored book");
    assert_eq!(serde_json::to_value(hub).expect("JSON"), expected);
}

/// Writes through the first version over what is stored.
fn over(written: Value, before: Value, expected: Value) {
    let hub = v1_book(written).into_hub_over(stored(before)).expect("a stored book");
    assert_eq!(serde_json::to_value(hub).expect("JSON"), expected);
}

#[test]
fn absent_null_and_empty_stay_apart() {
    up(json!({"isbn": "1"}), json!({"code": "1"}));
    up(json!({"isbn": "1", "authors": null}), json!({"code": "1", "authors": null}));
    up(json!({"isbn": "1", "authors": []}), json!({"code": "1", "authors": []}));
}

#[test]
fn what_the_hub_has_no_property_for_is_in_the_bag_under_its_version() {
    up(
        json!({"isbn": "1", "shelf": "A", "colour": "red"}),
        json!({"code": "1", "$bag": {"*@v1": {"colour": "red"}, "shelf@v1": "A"}}),
    );
}

#[test]
fn what_does_not_fit_the_hub_is_in_the_bag() {
    up(json!({"isbn": "1", "pages": 2}), json!({"code": "1", "pages": 2}));
    up(json!({"isbn": "1", "pages": 2.5}), json!({"code": "1", "$bag": {"pages@v1": 2.5}}));
    up(json!({"isbn": "1", "pages": 2.0}), json!({"code": "1", "$bag": {"pages@v1": 2.0}}));
}

#[test]
fn a_bag_that_users_write_is_not_the_bag() {
    up(
        json!({"isbn": "1", "$bag": {"shelf@v1": "mine"}}),
        json!({"code": "1", "$bag": {"*@v1": {"$bag": {"shelf@v1": "mine"}}}}),
    );
}

#[test]
fn a_missing_required_value_is_named_with_its_path() {
    let check = |value: Value, expected: &str| {
        let error = v1::Book::from_hub(stored(value)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        json!({}),
        "cannot convert `isbn`: expected a value, which this version requires, found none",
    );
    check(
        json!({"code": "1", "authors": [{"name": "A"}, {"born": 1900, "name": null}]}),
        "cannot convert `authors[1].name`: expected a value, which this version requires, found null",
    );
    check(
        json!({"code": "1", "$bag": {"shelf@v1": 7}}),
        "cannot convert `shelf`: expected what the bag keeps as `shelf@v1`, \
         found invalid type: integer `7`, expected a string",
    );
}

#[test]
fn writing_through_an_old_version_keeps_what_it_cannot_express() {
    over(
        json!({"isbn": "1", "authors": [{"name": "B"}, {"name": "New"}, {"name": "A"}]}),
        json!({
            "code": "0",
            "authors": [{"name": "A", "born": 1}, {"name": "B", "born": 2}, {"name": "C"}],
            "$bag": {"*@v2": {"x": 1}, "shelf@v1": "gone"},
        }),
        json!({
            "authors": [{"born": 2, "name": "B"}, {"name": "New"}, {"born": 1, "name": "A"}],
            "code": "1",
            "$bag": {"*@v2": {"x": 1}},
        }),
    );
}

#[test]
fn arms_that_one_side_does_not_list_are_kept() {
    let paper = json!({"kind": "paper", "weight": 3, "colour": "red"});
    up(json!({"isbn": "1", "format": paper}), json!({"code": "1", "format": paper}));
    let clay = json!({"kind": "clay", "baked": true});
    up(json!({"isbn": "1", "format": clay}), json!({"code": "1", "format": clay}));
    let digital = json!({"kind": "digital", "sizeBytes": 3});
    up(json!({"isbn": "1", "format": digital}), json!({"code": "1", "format": digital}));
}

#[test]
fn an_arm_that_is_listed_must_have_its_shape() {
    let read = |value: Value| serde_json::from_value::<v1::Format>(value).unwrap_err().to_string();
    assert!(read(json!({"kind": "paper", "weight": "x"})).contains("expected i64"));
    assert!(read(json!(["paper"])).contains("expected a map"));
}

#[test]
fn a_hook_that_is_written_is_called_and_listed() {
    up(json!({"isbn": "1", "level": "expert"}), json!({"code": "1", "level": "hard"}));
    let written: Vec<_> = hooks::HOOKS.iter().filter(|hook| hook.is_implemented).collect();
    assert_eq!(written.iter().map(|hook| hook.name).collect::<Vec<_>>(), ["Book.level"]);
}

#[test]
fn storage_refuses_what_it_does_not_know() {
    let error = serde_json::from_value::<storage::Book>(json!({"colour": 1})).unwrap_err();
    assert!(error.to_string().contains("unknown field `colour`"));
}

#[test]
fn shapes_that_versions_share_are_one_type() {
    let digital: v2::Digital = v1::Digital { size_bytes: 1, unknown: hub::Object::new() };
    assert_eq!(digital.into_hub().unwrap().size_bytes, Field::Value(1));
}
