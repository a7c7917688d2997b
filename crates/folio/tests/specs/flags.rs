//! What the flags of the spec commands do.

use folio_testkit::transcript::Session;

use crate::program::{refused, session, works};

const CODE: &str = "module.exports = async () => ({ status: 200, body: 'hello' });\n";

const MANIFESTS: &str = "\
kind: ArchiveUploadSpec
name: code
include: [main.js]
---
kind: Package
metadata: {name: code}
spec: {environment: {name: nodejs}, deployment: {url: 'archive://code'}}
---
kind: Function
metadata: {name: hello}
spec: {environment: {name: nodejs}, package: {packageref: {name: code}}}
";

/// A server, and a directory with these manifests in `specs/all.yaml`.
fn planted(manifests: &str) -> Session {
    let session = session(&[]);
    works(&session, "folio spec init --name flags --deployid flags");
    session.write("main.js", CODE).unwrap();
    session.write("all.yaml", manifests).unwrap();
    works(&session, "mv all.yaml specs");
    session
}

#[test]
fn every_object_is_labelled_with_the_commit_of_its_file() {
    let session = planted(MANIFESTS);
    works(&session, "git init -q . && git config user.email a@b && git config user.name a");
    let label = |expected: &str| {
        works(&session, "folio spec version apply --commitlabel");
        let id = works(&session, "folio fn version list hello | awk 'END { print $2 }'");
        let shown = works(&session, &format!("folio get Function hello-{id} -o json"));
        let expected = works(&session, &format!("printf '\"commit\": \"%s\"' \"{expected}\""));
        assert!(shown.contains(&expected), "{expected}\n{shown}");
    };
    label("untracked");
    works(&session, "git add .");
    label("staged");
    works(&session, "git commit -qm one");
    label("$(git rev-parse HEAD | cut -c1-7)");
    works(&session, "echo '# more' >> specs/all.yaml");
    label("$(git rev-parse HEAD | cut -c1-7)-unstaged");
    works(&session, "git add .");
    label("$(git rev-parse HEAD | cut -c1-7)-staged");
}

#[test]
fn every_save_is_applied_while_files_are_watched() {
    for verb in ["spec apply", "spec version apply", "deploy"] {
        let session = planted(MANIFESTS);
        // The log lies where nobody watches.
        let watch = format!("timeout 300 folio {verb} --watch > ../log 2>&1 & echo $! > ../pid");
        works(&session, &watch);
        let wait = |what: &str| {
            works(&session, &format!("timeout 60 bash -c 'until {what}; do :; done'"));
        };
        wait("grep -q ^Watching ../log");
        assert_eq!(works(&session, "folio invoke hello"), "hello");
        // Files that are an editor's own, for longer than those who write pause.
        works(&session, "touch specs/.#all.yaml specs/all.yaml~ .#main.js main.js~");
        wait("test $SECONDS -ge 2");
        assert!(!works(&session, "cat ../log").contains("Noticed"), "{verb}");
        works(
            &session,
            "echo \"module.exports = async () => ({ status: 200, body: 'two' });\" > main.js",
        );
        wait("test \"$(folio invoke hello)\" = two");
        wait("test $(grep -c ^Watching ../log) = 2");
        let log = works(&session, "cat ../log; kill $(cat ../pid)");
        assert_eq!(log.matches("Noticed a file change, reapplying specs...").count(), 1, "{log}");
        assert!(log.contains("updated: hello") && !log.contains("error"), "{log}");
    }
}

#[test]
fn another_namespace_is_refused_unless_it_is_forced() {
    let elsewhere = MANIFESTS
        .replace("name: hello}", "name: hello, namespace: far}")
        .replace("name: nodejs}", "name: nodejs, namespace: far}");
    let session = planted(&elsewhere);
    let said = refused(&session, "folio spec version apply 2>&1");
    for expected in [
        "all.yaml:7:47: spec.environment.namespace: it is in namespace `far`",
        "all.yaml:10:36: metadata.namespace: it is in namespace `far`, and app `default`",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    works(&session, "folio spec version apply --force-namespace");
    assert_eq!(works(&session, "folio invoke hello"), "hello");
}

#[test]
fn versions_and_labels_that_cannot_be_are_said_with_their_place() {
    let session = planted(MANIFESTS);
    let environment = "spec: {version: 3, runtime: {image: fission/node-env}}\n";
    let odd = format!(
        "kind: Environment\napiVersion: fission.io/v9\nmetadata: {name}\n{environment}---\n\
         kind: Environment\nmetadata:\n  name: f\n  labels:\n    tier: 1\n    a.b/c: [1]\n{environment}",
        name = "{name: e}"
    );
    session.write("specs/odd.yaml", &odd).unwrap();
    let said = refused(&session, "folio spec validate 2>&1");
    for expected in [
        "odd.yaml:2:13: Environment is not served in `fission.io/v9`, only in fission.io/v1, folio.dev/v1",
        "odd.yaml:11:12: metadata.labels.a.b/c: expected a string, found a list",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn another_file_says_what_to_leave_out() {
    let session = planted(MANIFESTS);
    works(&session, "echo 'kind: [' > specs/broken.yaml; echo broken.yaml > ignored");
    for verb in ["spec validate", "spec version apply", "spec apply"] {
        let said = refused(&session, &format!("folio {verb} 2>&1"));
        assert!(said.contains("specs/broken.yaml:"), "{said}");
        works(&session, &format!("folio {verb} --specignore ignored 2>&1"));
        let said = refused(&session, &format!("folio {verb} --specignore nowhere 2>&1"));
        assert!(said.contains("cannot read `nowhere`"), "{said}");
    }
}

#[test]
fn what_others_own_is_taken_over_only_if_that_is_asked_for() {
    let session = planted(MANIFESTS);
    works(&session, "folio spec version apply && cp -r specs others");
    works(&session, "sed -i s/flags/others/ others/fission-deployment-config.yaml");
    for verb in ["spec version apply others", "spec apply --specdir others"] {
        let said = refused(&session, &format!("folio {verb} 2>&1"));
        assert!(said.contains("belongs to deployment `flags` (flags)"), "{said}");
    }
    refused(&session, "folio spec validate --specdir others 2>&1");
    works(&session, "folio spec validate --specdir others --allowconflicts");
    let said = works(&session, "folio spec version apply others --allowconflicts");
    assert!(said.contains("function hello taken over from deployment flags"), "{said}");
    let owned = works(&session, "folio spec list --deployid others");
    assert!(owned.contains("hello") && owned.contains("code"), "{owned}");
}

#[test]
fn a_plain_apply_deletes_only_if_it_is_told_to() {
    let more = "---\nkind: Function\nmetadata: {name: more}\n\
         spec: {environment: {name: nodejs}, package: {packageref: {name: code}}}\n";
    let session = planted(&format!("{MANIFESTS}{more}"));
    works(&session, "folio spec apply");
    session.write("all.yaml", MANIFESTS).unwrap();
    works(&session, "mv all.yaml specs");
    works(&session, "folio spec apply");
    assert!(works(&session, "folio fn list").contains("more"));
    let said = works(&session, "folio spec apply --delete");
    assert!(said.contains("1 function deleted: more"), "{said}");
    assert!(!works(&session, "folio fn list").contains("more"));
}

#[test]
fn a_deployment_is_destroyed_by_its_identity_whatever_its_manifests_say() {
    let session = planted(MANIFESTS);
    works(&session, "folio spec version apply");
    works(&session, "folio fn version create --name other --env nodejs --code main.js");
    works(&session, "echo 'kind: [' > specs/all.yaml");
    let said = works(&session, "folio spec destroy --force");
    assert!(said.contains("Deleted Function default/hello"), "{said}");
    assert!(said.contains("Deleted Package default/code"), "{said}");
    assert!(!said.contains("other"), "{said}");
    works(&session, "folio invoke other");
    works(&session, "rm specs/fission-deployment-config.yaml");
    let said = refused(&session, "folio spec destroy --force 2>&1");
    assert!(said.contains("cannot read `specs/fission-deployment-config.yaml`"), "{said}");
}

#[test]
fn an_archive_starts_where_its_root_is() {
    let rooted = MANIFESTS.replace("name: code\ninclude", "name: code\nrootdir: far/away\ninclude");
    let session = planted(&rooted);
    works(&session, "mkdir -p far/away && mv main.js far/away");
    works(&session, "folio spec version apply");
    assert_eq!(works(&session, "folio invoke hello"), "hello");
    works(&session, "sed -i s/away/nowhere/ specs/all.yaml");
    let said = refused(&session, "folio spec version apply 2>&1");
    assert!(said.contains("its patterns match nothing below `far/nowhere`"), "{said}");
}

#[test]
fn what_no_archive_can_hold_is_said_where_it_is_written_beside_all_else() {
    let session = session(&["--limit", "contentFilesMax=1"]);
    works(&session, "folio spec init --name flags --deployid flags; mkdir many linked fifo zip");
    works(
        &session,
        "touch many/1 many/2 linked/1; ln -s 1 linked/2; mkfifo fifo/1; echo x > zip/x.zip",
    );
    let mut manifests = String::new();
    for name in ["many", "linked", "fifo", "zip"] {
        manifests += &format!(
            "kind: ArchiveUploadSpec\nname: {name}\ninclude: ['{name}/*']\n---\n\
             kind: Package\nmetadata: {{name: {name}}}\n\
             spec: {{environment: {{name: nodejs}}, deployment: {{url: 'archive://{name}'}}}}\n---\n"
        );
    }
    let wrong = "kind: Function\nmetadata: {name: hello}\n\
                 spec: {functionTimeout: soon, environment: {name: nodejs}, package: {packageref: {name: gone}}}\n";
    for (manifests, more) in [(manifests.clone(), false), (manifests + wrong, true)] {
        session.write("all.yaml", &manifests.replace("zip/*", "zip/x.zip")).unwrap();
        works(&session, "mv all.yaml specs");
        let said = refused(&session, "folio spec version apply 2>&1");
        for expected in [
            "specs/all.yaml:1:1: `./many` has more than 1 files, the server takes no more",
            "specs/all.yaml:9:1: `./linked/2` is a symbolic link",
            "specs/all.yaml:17:1: `./fifo/1` is not a regular file",
            "specs/all.yaml:25:1: `./zip/x.zip` is not an archive",
        ] {
            assert!(said.contains(expected), "{expected}\n{said}");
        }
        // What the client finds, and what the server.
        assert_eq!(said.contains("all.yaml:35:25: spec.functionTimeout"), more, "{said}");
        assert_eq!(said.contains("doesn't exist in the specs"), more, "{said}");
    }
}

#[test]
fn a_package_that_a_function_outside_uses_does_not_go() {
    let session = planted(MANIFESTS);
    works(&session, "folio spec version apply");
    works(&session, "folio fn version create --name outside --env nodejs --pkg code");
    works(&session, "rm specs/all.yaml");
    let said = refused(&session, "folio spec version apply 2>&1");
    assert!(said.contains("in the way: function version outside@1"), "{said}");
    assert_eq!(works(&session, "folio invoke hello"), "hello");
}

/// Aliases of aliases, nine at a time: 9^11 values.
fn bomb() -> String {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let list = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    bomb
}

#[test]
fn bombs_are_refused_wherever_yaml_is_read() {
    let session = planted(MANIFESTS);
    let deep = format!("a: {}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for text in [bomb(), deep] {
        session.write("bomb.yaml", &text).unwrap();
        refused(&session, "folio config import bomb.yaml 2>&1");
        works(&session, "mkdir -p app && cp bomb.yaml app/folio.yaml");
        refused(&session, "folio deploy app 2>&1");
        works(&session, "cp bomb.yaml specs/bomb.yaml");
        let said = refused(&session, "folio spec version apply 2>&1");
        assert!(said.contains("specs/bomb.yaml:"), "{said}");
    }
}

#[test]
fn a_link_to_a_directory_is_not_followed() {
    let session = planted(MANIFESTS);
    works(&session, "ln -s . specs/again");
    let said = works(&session, "folio spec version apply 2>&1");
    assert!(said.contains("specs/again is a link to a directory, which is not followed"), "{said}");
    assert!(said.contains("1 function created: hello"), "{said}");
}
