//! What was published comes back byte for byte, whatever it was published from.

use std::fs::File;

use crate::program::{session, works};

#[test]
fn a_file_comes_back_as_it_was() {
    let session = session(&[]);
    works(&session, "head -c 5000000 /dev/urandom > large.bin");
    works(&session, "touch empty.js");
    works(&session, "printf 'no line break' > small.js");
    for file in ["large.bin", "empty.js", "small.js"] {
        works(&session, &format!("folio fn version create f --env nodejs --code {file}"));
        works(&session, &format!("folio fn version download f --file - | cmp - {file}"));
        works(
            &session,
            &format!("rm -f got && folio fn version download f --file got && cmp got {file}"),
        );
    }
}

#[test]
fn an_archive_comes_back_as_it_was() {
    let session = session(&[]);
    works(&session, "mkdir -p d/e && echo 1 > d/one && head -c 3000000 /dev/urandom > d/e/two");
    works(&session, "tar -cf a.tar d && tar -czf a.tar.gz d");
    for file in ["a.tar", "a.tar.gz"] {
        works(&session, &format!("folio pkg version create p --env nodejs --src {file} --wait"));
        works(&session, &format!("folio pkg version download p --file - | cmp - {file}"));
        let named = format!("p-[a-z0-9]*.{}", &file[2..]);
        works(
            &session,
            &format!("folio pkg version download p && cmp {named} {file} && rm {named}"),
        );
    }
}

#[test]
fn a_directory_comes_back_as_a_zip_of_the_same_files() {
    let session = session(&[]);
    works(
        &session,
        "mkdir -p d/e d/empty && echo 1 > d/one && echo run > d/e/two && chmod +x d/e/two",
    );
    works(&session, "folio pkg version create p --env nodejs --deploy d --version v1");
    works(&session, "folio pkg version download p@v1");
    let file = File::open(session.directory().join("p-v1.zip")).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let executable = file.unix_mode().is_some_and(|mode| mode & 0o100 != 0);
        let content = if file.is_dir() { String::new() } else { io_text(&mut file) };
        found.push((file.name().unwrap().into_owned(), content, executable && file.is_file()));
    }
    found.sort();
    let files: Vec<_> = found.iter().filter(|(name, ..)| !name.ends_with('/')).collect();
    assert_eq!(
        files,
        [
            &("e/two".to_owned(), "run\n".to_owned(), true),
            &("one".to_owned(), "1\n".to_owned(), false),
        ]
    );
    // The zip unpacks to the tree it came from, so it is the same content.
    works(&session, "folio pkg version update p --deploy p-v1.zip --if-changed | grep unchanged");
}

fn io_text(reader: &mut impl std::io::Read) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn source_and_deployment_are_told_apart() {
    let session = session(&[]);
    works(&session, "mkdir s d && echo source > s/f && echo deployment > d/f");
    works(&session, "folio pkg version create p --env nodejs --src s --deploy d --version v1");
    works(&session, "folio pkg version download p --source --file s.zip");
    works(&session, "folio pkg version download p --deployment --file d.zip");
    works(&session, "folio pkg version download p --file main.zip && cmp main.zip d.zip");
    works(&session, "! cmp -s s.zip d.zip");
}

#[test]
fn an_edit_that_hides_behind_its_size_and_time_is_published_all_the_same() {
    let session = session(&[]);
    works(&session, "mkdir d && echo one > d/a && echo two > d/b && touch -d '2020-01-01' d/a d/b");
    let publish = "folio pkg version create p --env nodejs --deploy d";
    // So often that the files are old enough to be remembered.
    works(&session, &format!("for i in {{1..20}}; do {publish} --if-changed || exit 1; done"));
    works(&session, "echo ONE > d/a && touch -d '2020-01-01' d/a");
    works(&session, publish);
    works(&session, "folio pkg version download p --file got.zip");
    let mut archive =
        zip::ZipArchive::new(File::open(session.directory().join("got.zip")).unwrap()).unwrap();
    assert_eq!(io_text(&mut archive.by_name("a").unwrap()), "ONE\n");
    assert_eq!(io_text(&mut archive.by_name("b").unwrap()), "two\n");
}

#[test]
fn what_is_remembered_of_a_directory_is_not_taken_for_what_a_server_has() {
    let (session, other) = (session(&[]), session(&[]));
    works(&session, "mkdir -p d/e && echo one > d/a && echo two > d/e/b");
    let publish = "folio pkg version create p --env nodejs --deploy d";
    works(&other, "echo export FOLIO_URL=$FOLIO_URL FOLIO_DATA=$FOLIO_DATA > other");
    let other = other.directory().join("other");
    let elsewhere = format!(". {} && {publish}", other.display());
    works(&session, publish);
    works(&session, &elsewhere);
    works(&session, "echo ONE > d/a");
    works(&session, publish);
    works(&session, &elsewhere);
    works(&session, &format!("{publish} --no-cache"));
    works(&session, "test \"$(ls $XDG_CACHE_HOME/folio | wc -l)\" = 1");
    works(&session, "echo damage > $XDG_CACHE_HOME/folio/* && echo three > d/a");
    works(&session, publish);
    works(&session, "folio pkg version download p --file - > got.zip");
    let mut archive =
        zip::ZipArchive::new(File::open(session.directory().join("got.zip")).unwrap()).unwrap();
    assert_eq!(io_text(&mut archive.by_name("a").unwrap()), "three\n");
}
