//! What every command has: help, completions, a demo that works, and a server that stops when told.

use std::path::Path;

use crate::program::{session, works};

#[test]
fn every_command_has_help() {
    let session = session(&[]);
    let mut rest = vec!["folio".to_owned()];
    let mut seen = 0;
    while let Some(command) = rest.pop() {
        seen += 1;
        let help = works(&session, &format!("{command} --help"));
        assert!(help.contains("Usage: folio"), "{help}");
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let names = commands.take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
        rest.extend(names.filter(|name| *name != "help").map(|name| format!("{command} {name}")));
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn short_names_mean_the_same_and_the_other_spellings_work() {
    let session = session(&[]);
    works(&session, "mkdir d && echo 1 > d/one && echo 2 > two.js");
    works(&session, "folio pkg version create a --env nodejs --sourcearchive d --buildcmd make");
    works(
        &session,
        "folio package version create b --env nodejs --source d --deployarchive d --version v1",
    );
    works(&session, "folio fn version create c --pkgname b --entry main --version v1");
    assert_eq!(works(&session, "folio function list"), works(&session, "folio fn list"));
    for line in
        ["c@v1", "c@1", "c@latest", "c", "--name c --version v1", "default/c@v1", "c_v1", "c-v1"]
    {
        let shown = works(&session, &format!("folio fn version show {line}"));
        assert!(shown.contains("Version:     v1"), "{line}: {shown}");
    }
    let diff = works(
        &session,
        "folio pkg version update b --deploy d --env python >&-; folio pkg version diff --name b 1 2",
    );
    assert!(diff.contains("environment: nodejs -> python"), "{diff}");
}

#[test]
fn the_schema_of_folio_yaml_is_the_one_that_is_published_and_the_starter_names_it() {
    let session = session(&[]);
    let found = works(&session, "folio schema") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/folio.schema.json");
    let is = |name, expected| std::env::var_os(name).is_some_and(|value| value == expected);
    if is("FOLIO_BLESS", "1") && !is("CI", "true") {
        std::fs::write(&path, &found).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    let told = "`folio schema` has changed; look at it with FOLIO_BLESS=1, then commit it";
    assert_eq!(published, found, "{told}");
    let schema: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(schema["$id"], "https://folio.dev/schemas/folio.schema.json");
    for part in ["name", "functions", "static", "config", "routes", "timers"] {
        assert!(schema["properties"][part].is_object(), "{part}");
    }
    let named = "yaml-language-server: $schema=folio.schema.json";
    let starter = works(&session, "folio init; folio schema > folio.schema.json; cat folio.yaml");
    assert!(starter.contains(named), "{starter}");
}

#[test]
fn completions_and_version_are_printed() {
    let session = session(&[]);
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            works(&session, &format!("folio completions {shell}")).contains("folio"),
            "{shell}"
        );
    }
    let version = works(&session, "folio version");
    assert_eq!(version, concat!("folio ", env!("CARGO_PKG_VERSION")));
    assert_eq!(works(&session, "folio --version"), version);
}

#[test]
fn the_demo_tells_its_story_and_leaves_nothing_behind() {
    let session = session(&[]);
    let told = works(&session, "mkdir tmp && TMPDIR=$PWD/tmp folio demo && ls -A tmp");
    assert!(told.contains("$ folio fn version create hello"), "{told}");
    assert!(told.contains("in the way: alias hello@qa"), "{told}");
    for page in ["Apples and pears", "Oranges", "Plums", "welcome, ada"] {
        assert!(told.contains(page), "{page}: {told}");
    }
    assert!(told.contains("expired"), "{told}");
    let last = told.rsplit("autumn--shop.localhost").next().unwrap_or_default();
    assert!(last.contains("Apples and pears"), "what is tagged is served to the end: {last}");
    assert!(told.ends_with("folio --help"), "{told}");
}

#[test]
fn a_server_that_is_told_to_stop_finishes_and_exits_well() {
    let session = session(&[]);
    for signal in ["TERM", "INT"] {
        let line = format!(
            "set -m; folio serve --data own --listen 127.0.0.1:0 --gateway 127.0.0.1:0 2> {signal} & \
             until grep -q listening {signal} 2>/dev/null; do :; done; kill -{signal} $!; wait $!"
        );
        works(&session, &line);
    }
    let mode = works(&session, "stat -c %a own/admin.token");
    assert_eq!(mode, "600");
}

#[test]
fn a_server_says_what_it_cannot_enforce_and_logs_who_asked_for_what() {
    let session = session(&[]);
    let line = "set -m; folio serve --data own --listen 127.0.0.1:0 --gateway 127.0.0.1:0 --no-jail \
             --log warn,folio::access=info 2> said & \
         until grep -q listening said 2>/dev/null; do :; done; \
         curl -s -o answer \"$(sed -n 's/^gateway on //p' said)/nowhere?hidden\"; kill -TERM $!; wait $!; cat said";
    let said = works(&session, line);
    assert!(said.contains("not enforced here: mount namespace: "), "{said}");
    let asked: Vec<_> = said.lines().filter(|line| line.contains(" INFO folio::access")).collect();
    let [asked] = asked[..] else { panic!("{said}") };
    for part in ["method=GET", "path=/nowhere", "status=404", "code=\"no_live_release\""] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert!(!said.contains("hidden"), "{said}");
    let id = works(&session, "grep -o '\"requestId\":\"[0-9a-f]*' answer | cut -d'\"' -f4");
    assert!(asked.contains(&id), "{id}: {asked}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let session = session(&[]);
    works(&session, "set -o pipefail; folio completions bash | head -c 10 > /dev/null");
}
