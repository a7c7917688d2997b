//! Environments that are servers of their own: two that speak Fission's contract over HTTP and know nothing of folio.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use crate::program::{session, works};
use crate::wire::Connection;

fn servers() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers").display().to_string()
}

#[test]
fn a_server_in_python_that_speaks_fissions_contract_runs_as_it_is() {
    let servers = servers();
    let session = session(&["--command-directory", &servers]);
    session.write("one.py", "def main():\n    return 'one'").unwrap();
    session.write("two.py", "def main():\n    return ('two', 201)").unwrap();
    let command = format!("'python3 {servers}/fission_env.py'");
    works(&session, &format!("folio env create --name py --command {command}"));
    works(
        &session,
        "folio fn version create hello --env py --code one.py --entrypoint user.main --version v1",
    );
    works(
        &session,
        "folio fn version create hello --env py --code two.py --entrypoint user.main --version v2",
    );
    assert_eq!(works(&session, "folio invoke hello@v1"), "one");
    assert_eq!(works(&session, "folio invoke hello@v2 -i | head -1"), "201 Created");
    works(&session, "folio route create --url /hello --function hello@v1");
    let mut connection = Connection::open(session.gateway()).unwrap();
    for _ in 0..20 {
        assert_eq!(connection.ask("GET /hello", "", b"").unwrap().text(), "one");
    }
}

#[test]
fn a_server_that_lies_in_tmp_is_found_although_every_worker_has_a_tmp_of_its_own() {
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let server = directory.path().join("fission_env.py");
    std::fs::copy(Path::new(&servers()).join("fission_env.py"), &server).unwrap();
    let session = session(&["--command-directory", &directory.path().display().to_string()]);
    session.write("one.py", "def main():\n    return 'one'").unwrap();
    let command = format!("'python3 {}'", server.display());
    works(&session, &format!("folio env create --name py --command {command}"));
    works(
        &session,
        "folio fn version create hello --env py --code one.py --entrypoint user.main --version v1",
    );
    assert_eq!(works(&session, "folio invoke hello@v1"), "one");
}

#[test]
fn a_server_in_node_that_speaks_fissions_contract_runs_as_it_is() {
    let servers = servers();
    let session = session(&["--command-directory", &servers]);
    let code = "module.exports = async (context) => ({ status: 200, body: context.request.url });";
    session.write("url.js", code).unwrap();
    let command = format!("'node {servers}/fission_env.js --port {{port}}'");
    works(&session, &format!("folio env create --name js --command {command}"));
    works(&session, "folio fn version create where --env js --code url.js --version v1");
    assert_eq!(works(&session, "folio invoke where --path '/a?b=c'"), "/a?b=c");
}

#[test]
fn a_server_that_stays_may_take_over_a_connection_of_the_gateway() {
    let servers = servers();
    let session = session(&["--command-directory", &servers]);
    session.write("url.js", "module.exports = async () => ({ status: 200, body: '' });").unwrap();
    let command = format!("'node {servers}/fission_env.js --port {{port}}'");
    works(&session, &format!("folio env create --name js --command {command}"));
    works(&session, "folio fn version create environment --env js --code url.js --version v1");
    let server = std::fs::read_to_string(format!("{servers}/fission_env.js")).unwrap();
    session.write("own/server.js", &format!("#!/usr/bin/env node\n{server}")).unwrap();
    works(
        &session,
        "chmod +x own/server.js && folio fn version create package --env binary --deploy own \
         --entrypoint serve:server.js --version v1",
    );
    for function in ["environment", "package"] {
        works(&session, &format!("folio route create --url /{function} --function {function}@v1"));
        let address = session.gateway().rsplit('/').next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head =
            format!("GET /{function} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n");
        write!(stream, "{head}Upgrade: websocket\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 101 "), "{function}: {answer}");
        stream.write_all(b"hello").unwrap();
        let mut echo = [0; 5];
        stream.read_exact(&mut echo).unwrap();
        assert_eq!(&echo, b"hello", "{function}");
    }
}
