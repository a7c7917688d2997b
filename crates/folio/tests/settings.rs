//! Config and secrets where a transcript does not reach: what lies on disk, other runtimes, and the key.

use std::fs;
use std::path::Path;

use folio_testkit::transcript::Session;

use crate::program::{session, works};

const VALUE: &str = "correct-horse-battery-staple";

/// The files below a directory that hold a text, with their names.
fn holding(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(holding(&path, text));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn write_function(session: &Session) {
    let code = "const fs = require('fs');\nmodule.exports = async () => ({ status: 200, body: \
                fs.readFileSync('/secrets/default/db/password', 'utf8') + ' ' + process.env.password });";
    session.write("read.js", code).unwrap();
}

#[test]
fn a_secret_is_nowhere_in_the_data_directory() {
    let session = session(&[]);
    write_function(&session);
    works(&session, &format!("folio secret create db --value password={VALUE}"));
    works(&session, "folio fn version create read --env nodejs --code read.js --secret db");
    assert_eq!(works(&session, "folio invoke read"), format!("{VALUE} {VALUE}"));
    // While the worker lives, and with everything the database has written.
    assert_eq!(holding(&session.data(), VALUE), Vec::<String>::new());
    // The search finds what is there.
    works(&session, &format!("folio config set plain={VALUE}"));
    assert!(!holding(&session.data(), VALUE).is_empty());
}

#[test]
fn programs_and_servers_find_their_settings_too() {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let servers = servers.display();
    let session = session(&["--command-directory", &servers.to_string()]);
    works(&session, &format!("folio secret create db --value password={VALUE}"));
    works(&session, "folio config set db.pool=5 --name shop");
    let script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\n\
                  cat /secrets/default/db/password /etc/shop/db.pool\n\
                  echo \"$password$db_pool\"\necho x 2>/dev/null > /etc/shop/db.pool && echo written\ntrue";
    session.write("read.sh", script).unwrap();
    works(&session, "chmod +x read.sh");
    works(
        &session,
        "folio fn version create cgi --env binary --code read.sh --secret db --config shop:/etc/shop",
    );
    assert_eq!(works(&session, "folio invoke cgi"), format!("{VALUE}5{VALUE}5"));

    let code = "import os\n\ndef main():\n    with open('/secrets/default/db/password') as file:\n        \
                return file.read() + os.environ['db_pool']";
    session.write("read.py", code).unwrap();
    let command = format!("'python3 {servers}/fission_env.py'");
    works(&session, &format!("folio env create --name py --command {command}"));
    works(
        &session,
        "folio fn version create served --env py --code read.py --entrypoint user.main --secret db --config shop",
    );
    assert_eq!(works(&session, "folio invoke served"), format!("{VALUE}5"));
}

#[test]
fn a_missing_or_wrong_key_is_told_at_start_and_never_replaced() {
    let mut session = session(&[]);
    write_function(&session);
    works(&session, &format!("folio secret create db --value password={VALUE}"));
    works(&session, "folio fn version create read --env nodejs --code read.js --secret db");
    let key = session.data().with_extension("key");
    let right = fs::read(&key).unwrap();
    session.start_again().unwrap();
    assert_eq!(works(&session, "folio invoke read"), format!("{VALUE} {VALUE}"));

    session.stop();
    fs::remove_file(&key).unwrap();
    assert!(session.start_again().is_err(), "it started without the key");
    assert!(!key.exists(), "a new key was made");

    let wrong = format!("{}\n", "0123456789abcdef".repeat(4));
    fs::write(&key, &wrong).unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(session.start_again().is_err(), "it started with a wrong key");
    assert_eq!(fs::read_to_string(&key).unwrap(), wrong);

    fs::write(&key, right).unwrap();
    session.start_again().unwrap();
    assert_eq!(works(&session, "folio invoke read"), format!("{VALUE} {VALUE}"));
}
