//! An apply that is cut off is there as a whole or not at all, wherever that is, and applying again completes it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Answer, Client};
use super::server::{Harm, Server, check, folio, token};

/// The points that an apply passes: its upload, and its one entry.
const POINTS: [&str; 8] = [
    "blob.packed",
    "blob.written",
    "blob.indexed",
    "ledger.begun",
    "ledger.planned",
    "ledger.applied",
    "ledger.committed",
    "ledger.acknowledged",
];

/// The functions of the directory, which share a package.
const FUNCTIONS: [&str; 3] = ["one", "three", "two"];

#[tokio::test]
async fn an_apply_cut_off_anywhere_is_whole_or_nothing() {
    for point in POINTS {
        let mut cut_off = false;
        // The first passes may be the server's own, as it starts.
        for nth in 1..=3 {
            cut_off |= cut_off_at(point, nth, DIRECTORY).await;
        }
        assert!(cut_off, "no apply passes crash point `{point}`");
    }
}

#[tokio::test]
async fn a_deploy_whose_upload_was_cut_off_is_completed_by_the_next() {
    let mut cut_off = false;
    for nth in 1..=3 {
        cut_off |= cut_off_at("blob.packed", nth, APP_FILE).await;
    }
    assert!(cut_off, "no deploy uploads anything");
}

/// Ways to apply: a directory of manifests, or the app's own file.
const DIRECTORY: &[&str] = &["spec", "version", "apply", "specs"];
const APP_FILE: &[&str] = &["deploy", "app"];

/// Applies on a server that dies at the nth pass of a point. Returns whether that cut the apply off.
async fn cut_off_at(point: &str, nth: u64, way: &[&str]) -> bool {
    let directory = TempDir::new().unwrap();
    plant(directory.path());
    let data = directory.path().join("data");
    let harm = Harm { crash: Some(format!("{point}:{nth}")), ..Harm::default() };
    let mut cut_off = false;
    if let Some(mut server) = Server::start(&data, &harm) {
        cut_off = !apply(directory.path(), &server.url, way);
        match cut_off {
            true => server.wait(),
            false => server.kill(),
        }
        check(&data);
    }
    let mut server = Server::start(&data, &Harm::default()).expect("it starts after a crash");
    let client = Client::new(&server.url, &token(&data));
    let found = versions(&client).await;
    let whole = found.len() == FUNCTIONS.len();
    assert!(found.is_empty() || whole, "half of an apply cut off at {point}:{nth}: {found:?}");
    assert!(apply(directory.path(), &server.url, way), "{way:?} again after {point}:{nth}");
    let found = versions(&client).await;
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, FUNCTIONS, "after {point}:{nth}");
    assert!(found.iter().all(|(_, id)| *id == found[0].1), "one id for all: {found:?}");
    server.kill();
    check(&data);
    cut_off
}

/// Writes a directory whose upload is too large to lie in the database.
fn plant(directory: &Path) {
    let specs = directory.join("specs");
    std::fs::create_dir(&specs).unwrap();
    let config = "kind: DeploymentConfig\nname: crash\nuid: crash\n";
    std::fs::write(specs.join("fission-deployment-config.yaml"), config).unwrap();
    let mut code = String::from("module.exports = async () => ({ status: 200, body: 'here' });\n");
    for line in 0..40_000_u64 {
        writeln!(code, "// {:x}", line.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap();
    }
    std::fs::write(directory.join("main.js"), code).unwrap();
    let mut manifest = String::from(
        "kind: ArchiveUploadSpec\nname: code\ninclude: [main.js]\n---\n\
         kind: Package\nmetadata: {name: code}\n\
         spec: {environment: {name: nodejs}, deployment: {url: 'archive://code'}}\n",
    );
    for function in FUNCTIONS {
        write!(
            manifest,
            "---\nkind: Function\nmetadata: {{name: {function}}}\n\
             spec: {{environment: {{name: nodejs}}, package: {{packageref: {{name: code}}}}}}\n"
        )
        .unwrap();
    }
    std::fs::write(specs.join("all.yaml"), manifest).unwrap();
    let app = directory.join("app");
    std::fs::create_dir(&app).unwrap();
    std::fs::copy(directory.join("main.js"), app.join("main.js")).unwrap();
    let mut manifest = String::from("name: crash\nfunctions:\n");
    for function in FUNCTIONS {
        writeln!(manifest, "  {function}: {{environment: nodejs, src: main.js}}").unwrap();
    }
    std::fs::write(app.join("folio.yaml"), manifest).unwrap();
}

/// Applies the directory by the real command. Returns whether it says that it did.
fn apply(directory: &Path, url: &str, way: &[&str]) -> bool {
    let mut command = folio();
    command.args(way).current_dir(directory);
    command.env("FOLIO_URL", url).env("FOLIO_DATA", directory.join("data"));
    command.env("HOME", directory).env("PATH", "/usr/bin:/bin");
    command.output().unwrap().status.success()
}

/// The functions that are there, with the ids of their latest versions.
async fn versions(client: &Client) -> Vec<(String, String)> {
    let Answer::Acknowledged(listed) = client.get("/apps/default/functions").await else {
        panic!("functions cannot be listed")
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|unit| (text(&unit["name"]), text(&unit["latest"]["id"]))).collect()
}
