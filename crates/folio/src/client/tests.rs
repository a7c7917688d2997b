//! What a client does when connections break, against a server that breaks them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use folio_core::Limits;
use folio_model::Digest;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::*;
use crate::content::{self, Given, Most, Trust};
use crate::upload;

/// What the server does with one request.
pub(crate) enum Turn {
    /// Takes it and says nothing.
    HangUp,
    /// Answers.
    Say(Value),
    /// Refuses with this code.
    Refuse(&'static str),
}

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Runs a client against a server that takes these turns, one connection each, and returns what it saw.
pub(crate) async fn against<T>(
    turns: Vec<Turn>,
    client: impl AsyncFnOnce(Client) -> T,
) -> (T, Vec<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = async {
        let mut seen = Vec::new();
        for turn in turns {
            let (mut stream, _) = listener.accept().await.unwrap();
            seen.push(read(&mut stream).await);
            let (status, body) = match turn {
                Turn::HangUp => continue,
                Turn::Say(body) => ("200 OK", body.to_string()),
                Turn::Refuse(code) => {
                    let body = json!({ "error": { "code": code, "message": "no" } });
                    ("422 Unprocessable", body.to_string())
                }
            };
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}");
            stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
        }
        seen
    };
    tokio::join!(client(Client::new(&url, &Access::default(), Wishes::default()).unwrap()), serve)
}

async fn read(stream: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    let head = loop {
        bytes.push(stream.read_u8().await.unwrap());
        if let Some(head) = bytes.strip_suffix(b"\r\n\r\n") {
            break String::from_utf8(head.to_vec()).unwrap();
        }
    };
    let mut lines = head.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_lowercase(), value.to_owned())
    };
    let headers: HashMap<_, _> = lines.map(header).collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    Seen { path, headers, body }
}

#[tokio::test]
async fn a_change_whose_answer_was_lost_is_asked_for_again_under_the_same_key() {
    let turns = vec![Turn::HangUp, Turn::Say(json!("done"))];
    let (answer, seen) = against(turns, async |client| {
        let change = Change::new(Method::POST).body(&json!({ "a": 1 })).unwrap().expect(Some(7));
        client.change::<String>(&["apps", "a b"], change).await
    })
    .await;
    assert_eq!(answer.unwrap(), "done");
    assert_eq!(seen[0].path, "/folio/v1/apps/a%20b");
    for header in ["idempotency-key", "if-match"] {
        assert_eq!(seen[0].headers.get(header), seen[1].headers.get(header));
    }
    assert_eq!(seen[0].headers["if-match"], "\"7\"");
    assert_eq!(seen[0].body, seen[1].body);
}

#[tokio::test]
async fn a_change_is_not_asked_for_a_third_time() {
    let (answer, _) = against(vec![Turn::HangUp, Turn::HangUp], async |client| {
        client.change::<String>(&["x"], Change::new(Method::POST)).await
    })
    .await;
    assert!(answer.unwrap_err().to_string().contains("broke"));
}

#[tokio::test]
async fn an_upload_that_broke_off_asks_again_and_sends_only_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(directory.path().join(name), name).unwrap();
    }
    let limits = Limits::default();
    let given = Given::Files(directory.path().to_owned());
    let found = content::find(&given, None, &Most::default()).unwrap();
    let root =
        content::find(&given, None, &Most::default()).unwrap().plan(&limits).unwrap().1.roots[0];
    let missing = |digests: &[Digest]| Turn::Say(json!({ "missing": digests }));
    let file = |name: &str| Digest::of(name.as_bytes());
    let turns = vec![
        missing(&[root]),
        missing(&[file("a"), file("b"), file("c")]),
        Turn::HangUp,
        missing(&[root]),
        missing(&[file("c")]),
        Turn::Say(json!({ "added": 2, "reused": 0 })),
    ];
    let (sent, seen) = against(turns, async |client| {
        upload::upload(&client, (given, None, Trust::Remembered), found, &limits).await
    })
    .await;
    sent.unwrap();
    let first: Value = serde_json::from_slice(&seen[0].body).unwrap();
    assert_eq!(first, json!({ "digests": [root] }), "the root is asked for alone");
    assert_eq!(seen[2].path, "/folio/v1/blobs");
    assert_eq!(frames(&seen[2].body), [0, 0, 0, 2], "three files, then the directory");
    assert_eq!(frames(&seen[5].body), [0, 2]);
}

#[tokio::test]
async fn a_server_that_lacks_what_is_remembered_gets_everything() {
    let directory = tempfile::tempdir().unwrap();
    let (tree, caches) = (directory.path().join("tree"), directory.path().join("caches"));
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("a"), "a").unwrap();
    let given = Given::Files(tree.clone());
    let limits = Limits::default();
    let find = || content::find(&given, Some(&caches), &Most::default()).unwrap();
    find().plan(&limits).unwrap().1.lesson.unwrap().keep();
    std::fs::write(tree.join("b"), "b").unwrap();
    let found = find();
    let root = find().plan(&limits).unwrap().1.roots[0];
    let stored = || Turn::Say(json!({ "added": 1, "reused": 0 }));
    let files = [Digest::of(b"a"), Digest::of(b"b")];
    let turns = vec![
        Turn::Refuse("missing_blob"),
        Turn::Say(json!({ "missing": [root] })),
        Turn::Say(json!({ "missing": files })),
        stored(),
    ];
    let place = (given.clone(), Some(caches.clone()), Trust::Remembered);
    let (sent, seen) =
        against(turns, async |client| upload::upload(&client, place, found, &limits).await).await;
    sent.unwrap();
    assert_eq!(frames(&seen[0].body), [0, 2], "only what is new is sent first");
    assert_eq!(frames(&seen[3].body), [0, 0, 2], "then everything");
}

#[tokio::test]
async fn batches_of_files_are_on_their_way_together_and_directories_come_after_them() {
    const FILES: [&str; 4] = ["a", "b", "c", "d"];
    let directory = tempfile::tempdir().unwrap();
    for name in FILES {
        std::fs::write(directory.path().join(name), name).unwrap();
    }
    let given = Given::Files(directory.path().to_owned());
    let found = content::find(&given, None, &Most::default()).unwrap();
    let limits = Limits { batch_nodes_max: 1, ..Limits::default() };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::new(&url, &Access::default(), Wishes::default()).unwrap();
    // A file is taken only together with another.
    let (pair, taken) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let serve = async {
        let mut at_work = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let (pair, taken) = (Arc::clone(&pair), Arc::clone(&taken));
            at_work.spawn(async move {
                let seen = read(&mut stream).await;
                let body = if seen.path.ends_with("/missing") {
                    let asked: Value = serde_json::from_slice(&seen.body).unwrap();
                    json!({ "missing": asked["digests"] })
                } else {
                    if frames(&seen.body) == [0] {
                        pair.wait().await;
                        taken.fetch_add(1, Ordering::SeqCst);
                    } else {
                        assert_eq!(taken.load(Ordering::SeqCst), FILES.len());
                    }
                    json!({ "added": 1, "reused": 0 })
                };
                let body = body.to_string();
                let head = format!("Connection: close\r\nContent-Length: {}", body.len());
                let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
        }
    };
    let upload = upload::upload(&client, (given, None, Trust::Remembered), found, &limits);
    tokio::select! {
        sent = tokio::time::timeout(Duration::from_secs(30), upload) => {
            sent.expect("no two batches were on their way at once").unwrap();
        }
        () = serve => {}
    }
    assert_eq!(taken.load(Ordering::SeqCst), FILES.len());
}

/// The kinds of the nodes in a body, in order.
fn frames(mut body: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    loop {
        let (kind, rest) = body.split_first().unwrap();
        if *kind == 0xFF {
            assert_eq!(rest, u32::try_from(kinds.len()).unwrap().to_be_bytes());
            return kinds;
        }
        kinds.push(*kind);
        let (head, rest) = rest.split_at(36);
        let length = u32::from_be_bytes(head[32..].try_into().unwrap());
        body = &rest[usize::try_from(length).unwrap()..];
    }
}
