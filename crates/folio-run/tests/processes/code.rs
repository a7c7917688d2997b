//! Code on disk.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use folio_model::{Content, Digest, Layout};
use folio_run::code::CodeStore;
use folio_run::jail::Mode;

use super::place::{MIB, Place, file, program};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn a_tree_is_written_as_it_is_and_sealed() {
    let place = Place::new(Mode::Off).await;
    let large: Vec<u8> = (0..3 * MIB as u32).map(|n| (n / 7 % 251) as u8).collect();
    let content = place
        .directory(&[
            file("main.py", "print(1)"),
            program("bin/run", "#!/bin/sh\n"),
            file("deep/er/large.bin", &large),
            file("empty", ""),
        ])
        .await;
    let code = place.codes.open(&content).await.unwrap();
    assert_eq!(std::fs::read(code.path().join("main.py")).unwrap(), b"print(1)");
    assert_eq!(std::fs::read(code.path().join("deep/er/large.bin")).unwrap(), large);
    assert_eq!(std::fs::read(code.path().join("empty")).unwrap(), b"");
    assert_eq!(mode(&code.path().join("main.py")), 0o444);
    assert_eq!(mode(&code.path().join("bin/run")), 0o555);
    assert_eq!(mode(&code.path().join("deep/er")), 0o555);
    assert_eq!(mode(code.path()), 0o555);
    let name = code.path().file_name().unwrap().to_str().unwrap();
    assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    assert_eq!(code.inside(), Path::new("/code").join(name));
    assert_eq!(mode(place.codes.directory()) & 0o444, 0, "nobody lists all code");
}

#[tokio::test]
async fn one_bare_file_is_handed_over_as_a_file() {
    let place = Place::new(Mode::Off).await;
    let content = place.single(file("hello.js", "module.exports = 1")).await;
    let code = place.codes.open(&content).await.unwrap();
    assert!(code.path().is_file() && code.path().ends_with("hello.js"));
    assert!(code.inside().ends_with("hello.js"));
    let odd = place.directory(&[file("a", "1"), file("b", "2")]).await;
    let odd = Content { layout: Layout::File, ..odd };
    assert!(place.codes.open(&odd).await.is_err());
}

#[tokio::test]
async fn whoever_opens_a_tree_at_the_same_time_gets_the_same_files() {
    let place = Place::new(Mode::Off).await;
    let content = place.directory(&[file("main.py", "1")]).await;
    let opened = (0..16).map(|_| place.codes.open(&content));
    let opened = futures::future::try_join_all(opened).await.unwrap();
    assert!(opened.iter().all(|code| code.path() == opened[0].path()));
    let path = opened[0].path().to_path_buf();
    drop(opened);
    let again = place.codes.open(&content).await.unwrap();
    assert_eq!(again.path(), path, "unused code is kept for a while");
}

#[tokio::test]
async fn code_that_nobody_used_for_long_goes_and_used_code_stays() {
    let place = Place::new(Mode::Off).await;
    let held = place.directory(&[file("held", "")]).await;
    let held = place.codes.open(&held).await.unwrap();
    let gone = place.directory(&[file("gone", "")]).await;
    let gone = place.codes.open(&gone).await.unwrap().path().to_path_buf();
    for number in 0..40 {
        let content = place.directory(&[file("n", &number.to_string())]).await;
        place.codes.open(&content).await.unwrap();
    }
    while gone.exists() {
        tokio::task::yield_now().await;
    }
    assert!(held.path().join("held").exists());
}

#[tokio::test]
async fn what_an_earlier_process_left_is_removed() {
    let place = Place::new(Mode::Off).await;
    let content = place.directory(&[file("a/b", "1")]).await;
    let old = place.codes.open(&content).await.unwrap().path().to_path_buf();
    let codes = CodeStore::new(&place.run(), place.ports.blobs.clone()).unwrap();
    assert!(!old.exists());
    codes.open(&content).await.unwrap();
}

#[tokio::test]
async fn a_tree_that_is_not_stored_is_refused_and_leaves_nothing() {
    let place = Place::new(Mode::Off).await;
    let content = Content { tree: Digest::of(b"absent"), layout: Layout::Directory };
    assert!(place.codes.open(&content).await.is_err());
    std::fs::set_permissions(place.codes.directory(), std::fs::Permissions::from_mode(0o700))
        .unwrap();
    assert_eq!(std::fs::read_dir(place.codes.directory()).unwrap().count(), 0);
}
