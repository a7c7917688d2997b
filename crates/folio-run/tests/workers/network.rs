//! What code hears that looks for a network it does not have.

use folio_model::Network;
use folio_run::jail::Mode;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::stage::Stage;
use crate::processes::place::get;

const WHY: &str = ": the environment `environment` has no network: allow it with --network egress";

/// Functions that say, line by line, what became of their attempts to look up a name and to connect.
const NODE: &str = "
const net = require('node:net'), dns = require('node:dns'), http = require('node:http');
const error = (attempt) => new Promise((done) => attempt((error) => done(error.message)));
const attempts = async () => [
  await error((done) => net.connect(9, '127.0.0.1').on('error', done)),
  await error((done) => http.get('http://127.0.0.1:9/').on('error', done)),
  await fetch('http://127.0.0.1:81/').catch((error) => error.cause.message),
];
const lookups = async () => [
  await error((done) => net.connect(80, 'no.such.invalid').on('error', done)),
  await error((done) => dns.lookup('no.such.invalid', done)),
  await dns.promises.lookup('no.such.invalid').catch((error) => error.message),
];
module.exports = async ({ request }) => {
  if (request.path === '/raise') await fetch('http://127.0.0.1:81/');
  return (await (request.path === '/lookups' ? lookups() : attempts())).join('\\n');
};
";

const PYTHON: &str = "
import asyncio, socket, urllib.request
from flask import request

def error(attempt):
    try:
        attempt()
    except OSError as error:
        return str(getattr(error, 'reason', error))

def main():
    if request.path == '/raise':
        socket.create_connection(('127.0.0.1', 81))
    if request.path == '/lookups':
        return '\\n'.join([
            error(lambda: socket.getaddrinfo('no.such.invalid', 80)),
            error(lambda: socket.gethostbyname('no.such.invalid')),
            error(lambda: urllib.request.urlopen('http://no.such.invalid/')),
        ])
    return '\\n'.join([
        error(lambda: socket.create_connection(('127.0.0.1', 9))),
        error(lambda: urllib.request.urlopen('http://127.0.0.1:9/')),
        error(lambda: asyncio.run(asyncio.open_connection('127.0.0.1', 9))),
    ])
";

#[tokio::test]
async fn code_without_network_is_told_why_and_what_to_do() {
    let stage = Stage::with(|settings| settings.jail = Mode::Enforced).await;
    for (name, source) in [("hello.js", NODE), ("hello.py", PYTHON)] {
        let plan = stage.plan(name, source).await;
        for path in ["/attempts", "/lookups"] {
            let (_, said) = stage.says(&plan, get(path)).await;
            assert_eq!(said.lines().count(), 3, "{said}");
            assert!(said.lines().all(|line| line.ends_with(WHY)), "{name} {path}: {said}");
            assert_eq!(said.matches(WHY).count(), 3, "once each: {said}");
        }
        assert!(stage.call(&plan, get("/raise")).await.is_err());
        stage.place.logged(&plan, WHY).await;
    }
}

#[tokio::test]
async fn without_a_jail_nobody_is_told_that_there_is_no_network() {
    let stage = Stage::new().await;
    for (name, source) in [("hello.js", NODE), ("hello.py", PYTHON)] {
        let plan = stage.plan(name, source).await;
        let (_, said) = stage.says(&plan, get("/attempts")).await;
        assert!(!said.contains("network"), "{name}: {said}");
    }
}

/// Functions that say what a port of the host says.
const NODE_ASKS: &str = "
const net = require('node:net');
module.exports = ({ request }) => new Promise((done, fail) => {
  let said = '';
  net.connect(Number(request.query.port), '127.0.0.1').on('error', fail)
    .on('data', (bytes) => { said += bytes; }).on('end', () => done(said));
});
";

const PYTHON_ASKS: &str = "
import socket
from flask import request

def main():
    return socket.create_connection(('127.0.0.1', int(request.args['port']))).recv(5).decode()
";

#[tokio::test]
async fn code_whose_environment_allows_it_has_the_network() {
    let stage = Stage::with(|settings| settings.jail = Mode::Enforced).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let path = format!("/?port={}", listener.local_addr().unwrap().port());
    for (name, source) in [("hello.js", NODE_ASKS), ("hello.py", PYTHON_ASKS)] {
        let mut plan = stage.plan(name, source).await;
        plan.spec.network = Network::Egress;
        let answer =
            async { listener.accept().await.unwrap().0.write_all(b"hello").await.unwrap() };
        let ((status, said), ()) = tokio::join!(stage.says(&plan, get(&path)), answer);
        assert_eq!((status, said.as_str()), (200, "hello"), "{name}");
    }
}
