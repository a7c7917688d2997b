//! Every stage over our own schemas, compared with what a person once read and accepted.

use std::fmt::Write;

use hubgen::config::Config;
use hubgen::load::{Loaded, load};
use hubgen::planner::{Choice, plan};
use hubgen::{bless, read};

use crate::kit::{contents, copy, directory, golden, hubgen, own_schemas, text};

const FORMATS: [&str; 3] = ["arm", "crd", "json"];

fn loaded(format: &str) -> (Config, Loaded) {
    let schemas = own_schemas(format);
    let config = read::config(&schemas.join("hubgen.toml")).unwrap();
    let input = read::input(&config, &schemas, &schemas.join("nowhere")).unwrap();
    let loaded = load(&config, &input).unwrap();
    (config, loaded)
}

#[test]
fn schemas_become_types() {
    for format in FORMATS {
        let (_, loaded) = loaded(format);
        let versions = loaded.group.versions.iter();
        let schemas: Vec<_> =
            versions.map(|(version, api)| bless::schema("golden", version, api)).collect();
        let text = serde_json::to_string_pretty(&schemas).unwrap();
        golden(&format!("{format}-types.json"), &(text + "\n"));
    }
}

#[test]
fn equal_types_are_shared_between_versions() {
    for format in FORMATS {
        let (_, loaded) = loaded(format);
        let mut text = String::new();
        for (version, api) in loaded.shared().versions {
            writeln!(text, "{version}").unwrap();
            for (name, id) in api.names {
                writeln!(text, "  {name} is that of {}", id.since).unwrap();
            }
        }
        golden(&format!("{format}-shared.txt"), &text);
    }
}

#[test]
fn types_become_a_plan() {
    for format in FORMATS {
        let (config, loaded) = loaded(format);
        let planned = plan(&config, &loaded, &Choice::default()).unwrap();
        let mut text = String::new();
        for (id, pair) in planned.plan.pairs {
            writeln!(
                text,
                "{} {} -> {} {}",
                id.spoke.name, id.spoke.since, id.hub.name, id.hub.since
            )
            .unwrap();
            match pair {
                hubgen::plan::Pair::Object(steps) => {
                    steps.iter().for_each(|step| writeln!(text, "  {step:?}").unwrap());
                }
                hubgen::plan::Pair::Union(arms) => {
                    arms.iter().for_each(|arm| writeln!(text, "  {arm:?}").unwrap());
                }
            }
        }
        golden(&format!("{format}-plan.txt"), &text);
    }
}

#[test]
fn a_plan_becomes_a_report() {
    for format in FORMATS {
        let config = text(&own_schemas(format).join("hubgen.toml"));
        golden(&format!("{format}-report.md"), &hubgen(&["report", &config]).unwrap());
    }
    let config = text(&own_schemas("arm").join("hubgen.toml"));
    let arguments = ["diff", "2020-06-01", "2021-01-01-preview", &config, "-o", "json"];
    golden("arm-diff.json", &hubgen(&arguments).unwrap());
}

#[test]
fn every_run_writes_the_same_bytes_wherever_it_runs() {
    for format in FORMATS {
        let (here, there) = (directory(&[]), directory(&[]));
        copy(&own_schemas(format), &here.path().join("a"));
        copy(&own_schemas(format), &there.path().join("some/where/else"));
        let first = here.path().join("a/hubgen.toml");
        let second = there.path().join("some/where/else/hubgen.toml");
        hubgen(&["generate", &text(&first)]).unwrap();
        let once = contents(&here.path().join("a/generated"));
        hubgen(&["generate", &text(&first)]).unwrap();
        assert!(contents(&here.path().join("a/generated")) == once, "{format} differs by run");
        hubgen(&["generate", &text(&second)]).unwrap();
        let elsewhere = contents(&there.path().join("some/where/else/generated"));
        assert!(elsewhere == once, "{format} differs by directory");
        assert!(once.len() > 5, "{format} makes more than {} files", once.len());
    }
}

#[test]
fn strict_fails_until_every_loss_is_accepted() {
    let here = directory(&[]);
    copy(&own_schemas("arm"), here.path());
    let config = here.path().join("hubgen.toml");
    hubgen(&["report", &text(&config), "--strict"]).unwrap();
    let said = std::fs::read_to_string(&config).unwrap();
    let (before, _) = said.split_once("[[accept]]").unwrap();
    std::fs::write(&config, before).unwrap();
    let refused = hubgen(&["generate", &text(&config), "--strict"]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "nobody has reviewed these changes of Example.Library:\n  \
         Lamp.Oil (Arm Removed)\n  ShelfProperties.owner (Property Removed)"
    );
    assert!(!here.path().join("generated").exists());
    hubgen(&["generate", &text(&config)]).unwrap();
}

/// Generates three versions of a shelf, of which only the first two have `paint`, and gives the
/// second's module.
fn second_version(paint: &str) -> String {
    let shelf = |properties: &str| {
        format!(r#"{{"title": "Shelf", "type": "object", "properties": {{{properties}}}}}"#)
    };
    let schemas = [
        shelf(r#""label": {"type": "string"}, "paint": {"type": "string"}"#),
        shelf(&format!(r#""width": {{"type": "integer"}}, "paint": {{"type": "{paint}"}}"#)),
        shelf(r#""width": {"type": "integer"}"#),
    ];
    let mut config = "group = \"shelves\"\nformat = \"json-schema\"\n".to_owned();
    let here = directory(&[]);
    for (index, schema) in schemas.iter().enumerate() {
        let version = format!("v{}", index + 1);
        std::fs::write(here.path().join(format!("{version}.json")), schema).unwrap();
        write!(config, "[[schema]]\npath = \"{version}.json\"\nversion = \"{version}\"\n").unwrap();
    }
    let path = here.path().join("hubgen.toml");
    std::fs::write(&path, config).unwrap();
    hubgen(&["generate", &text(&path)]).unwrap();
    std::fs::read_to_string(here.path().join("generated/shelves/v2.rs")).unwrap()
}

#[test]
fn a_key_of_the_bag_names_the_first_version_with_the_shape() {
    let same = second_version("string");
    assert!(same.contains("\"paint@v1\"") && !same.contains("\"paint@v2\""), "{same}");
    let other = second_version("integer");
    assert!(other.contains("\"paint@v2\"") && !other.contains("\"paint@v1\""), "{other}");
}
