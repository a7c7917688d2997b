//! Dies while it copies a data directory, and while it makes a file beside the database.

use std::path::Path;

use tempfile::TempDir;

use super::server::{Harm, Server, check, folio, token};

/// Runs a command that dies at a point, if one is named. Returns whether it succeeded.
fn runs(arguments: &[&str], point: Option<&str>) -> bool {
    let mut command = folio();
    command.args(arguments).envs(point.map(|point| ("FOLIO_CRASH", point)));
    command.output().unwrap().status.success()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn secret(server: &Server, data: &Path, name: &str) -> bool {
    let mut command = folio();
    command.env("FOLIO_URL", &server.url).env("FOLIO_TOKEN", token(data));
    command.args(["secret", "create", name, "--value", "key=value"]);
    command.output().unwrap().status.success()
}

#[test]
fn a_copy_that_is_killed_is_all_there_or_not_at_all() {
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    Server::start(&data, &Harm::default()).unwrap().kill();
    for (point, is_there) in [("copy.made", false), ("copy.named", true)] {
        let place = |what: &str| directory.path().join(format!("{what} {point}"));
        let (backup, restored) = (place("backup"), place("restored"));
        let back_up = ["backup", "--data", text(&data), text(&backup)];
        assert!(!runs(&back_up, Some(point)), "nothing passes crash point `{point}`");
        assert_eq!(backup.exists(), is_there);
        assert_eq!(runs(&back_up, None), !is_there, "it is made once");
        check(&backup);
        let restore = ["restore", text(&backup), "--data", text(&restored)];
        assert!(!runs(&restore, Some(point)));
        assert_eq!(restored.exists(), is_there);
        assert_eq!(runs(&restore, None), !is_there, "it is made once");
        check(&restored);
        Server::start(&restored, &Harm::default()).expect("what was restored can be used").kill();
    }
    check(&data);
}

#[test]
fn a_key_that_was_not_finished_is_made_again() {
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    let harm = Harm { crash: Some("key.written".to_owned()), ..Harm::default() };
    let mut server = Server::start(&data, &harm).unwrap();
    assert!(!secret(&server, &data, "first"), "nothing passes crash point `key.written`");
    server.wait();
    let mut server = Server::start(&data, &Harm::default()).expect("it starts after a crash");
    assert!(secret(&server, &data, "first"));
    server.kill();
    let server = Server::start(&data, &Harm::default()).expect("the key opens what it sealed");
    assert!(secret(&server, &data, "second"));
}

#[test]
fn an_authority_that_was_not_finished_is_made_again() {
    const FLAGS: &[&str] = &["--control-tls"];
    for nth in [1, 2] {
        let directory = TempDir::new().unwrap();
        let data = directory.path().join("data");
        let crash = Some(format!("authority.written:{nth}"));
        let harm = Harm { crash, flags: FLAGS, ..Harm::default() };
        assert!(Server::start(&data, &harm).is_none(), "nothing passes it {nth} times");
        let again = Harm { flags: FLAGS, ..Harm::default() };
        Server::start(&data, &again).expect("it starts after a crash").kill();
        check(&data);
    }
}
