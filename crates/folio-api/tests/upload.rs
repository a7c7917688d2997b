//! Bytes in and out.

use axum::body::Body;
use bytes::Bytes;
use folio_core::Limits;
use folio_model::Digest;
use futures::stream;
use serde_json::json;

use crate::client::{FUNCTIONS, World, frames, one_file};

const BLOBS: &str = "/folio/v1/blobs";

async fn is_empty(world: &World) -> bool {
    world.get("/folio/v1/storage").await.ok()["nodes"] == 0
}

#[tokio::test]
async fn what_was_uploaded_is_no_longer_missing_and_comes_back() {
    for world in [World::memory().await, World::directory().await] {
        let (tree, body) = one_file("ä \"b\".js", "hello");
        let digests = json!({ "digests": [tree, Digest::of(b"hello")] });
        let asked = world.post("/folio/v1/blobs/missing", digests.clone()).await.ok();
        assert_eq!(asked["missing"].as_array().unwrap().len(), 2);
        let upload = || world.call("POST", BLOBS).nodes(body.clone()).send();
        assert_eq!(upload().await.ok(), json!({ "added": 2, "reused": 0 }));
        assert_eq!(upload().await.ok(), json!({ "added": 0, "reused": 2 }));
        let asked = world.post("/folio/v1/blobs/missing", digests).await.ok();
        assert_eq!(asked, json!({ "missing": [] }));
        let fields =
            json!({ "environment": "nodejs", "deployment": { "tree": tree, "layout": "file" } });
        let versions = format!("{FUNCTIONS}/hello/versions");
        world.post(&versions, json!({ "fields": fields, "id": "v1" })).await.made();
        let file = world.get(&format!("{versions}/v1/download")).await;
        assert_eq!((file.status.as_u16(), &file.bytes[..]), (200, &b"hello"[..]));
        assert_eq!(file.header("etag"), format!("\"{}\"", Digest::of(b"hello")));
        assert_eq!(file.header("content-length"), "5");
        let disposition = file.header("content-disposition");
        assert!(disposition.ends_with("filename*=UTF-8''%C3%A4%20%22b%22.js"), "{disposition}");
        let head = world.call("HEAD", &format!("{versions}/v1/download")).send().await;
        assert_eq!((head.status.as_u16(), head.bytes.len()), (200, 0));
        world
            .get(&format!("{versions}/v1/download?part=source"))
            .await
            .refused(404, "no_such_part");
        world.get(&format!("{versions}/v1/download?part=all")).await.refused(400, "bad_request");
    }
}

#[tokio::test]
async fn a_directory_comes_back_as_a_zip_and_an_archive_as_it_was() {
    let world = World::memory().await;
    let (tree, body) = one_file("main.js", "hello");
    world.call("POST", BLOBS).nodes(body).send().await.ok();
    let fields =
        json!({ "environment": "nodejs", "deployment": { "tree": tree, "layout": "directory" } });
    let versions = format!("{FUNCTIONS}/hello/versions");
    world.post(&versions, json!({ "fields": fields, "id": "v1" })).await.made();
    let zip = world.get(&format!("{versions}/v1/download")).await;
    assert_eq!(&zip.bytes[..4], b"PK\x03\x04");
    assert_eq!(zip.header("content-disposition"), "attachment; filename=\"hello-v1.zip\"");
    let archive = Digest::of(&zip.bytes);
    world.call("POST", BLOBS).nodes(frames(&[(0, archive, &zip.bytes)])).send().await.ok();
    let fields = json!({ "environment": "nodejs", "deployment": { "archive": archive } });
    world.post(&versions, json!({ "fields": fields, "id": "v2" })).await.made();
    let back = world.get(&format!("{versions}/v2/download")).await;
    assert_eq!(back.bytes, zip.bytes);
    assert_eq!(back.header("etag"), format!("\"{archive}\""));
    assert_eq!(back.header("content-disposition"), "attachment; filename=\"hello-v2.zip\"");
    let archives = "/folio/v1/apps/default/archives";
    let listed = world.get(archives).await.ok();
    assert_eq!(listed["items"][0]["id"], json!(archive));
    assert_eq!(listed["items"][0]["packages"][0]["version"], "v2");
    let again = world.get(&format!("{archives}/{archive}")).await;
    assert_eq!(again.bytes, zip.bytes);
}

#[tokio::test]
async fn an_upload_that_broke_off_stores_nothing() {
    let world = World::memory().await;
    let (_, body) = one_file("main.js", "hello");
    for kept in 0..body.len() {
        let part = body[..kept].to_vec();
        world.call("POST", BLOBS).nodes(part).send().await.refused(400, "bad_upload");
    }
    let broken = stream::iter([
        Ok(Bytes::from(body)),
        Err(std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the client went away")),
    ]);
    let reply = world.call("POST", BLOBS).nodes(Body::from_stream(broken)).send().await;
    reply.refused(400, "bad_upload");
    assert!(is_empty(&world).await);
}

#[tokio::test]
async fn what_is_not_frames_is_refused() {
    let world = World::memory().await;
    let (_, good) = one_file("main.js", "hello");
    let mut more = good.clone();
    more.push(0);
    let mut count = good.clone();
    *count.last_mut().unwrap() = 9;
    let mut kind = good.clone();
    kind[0] = 3;
    for body in [more, count, kind, b"garbage".to_vec(), vec![0xFF; 4], vec![0; 1000]] {
        world.call("POST", BLOBS).nodes(body).send().await.refused(400, "bad_upload");
    }
    let typed = world.call("POST", BLOBS).header("content-type", "application/json");
    typed.body(good.clone()).send().await.refused(400, "bad_request");
    world.call("POST", BLOBS).body(good).send().await.refused(400, "bad_request");
    assert!(is_empty(&world).await);
}

#[tokio::test]
async fn nodes_that_lie_are_refused_whole() {
    let world = World::memory().await;
    let good = (0, Digest::of(b"good"), &b"good"[..]);
    let lie = frames(&[good, (0, Digest::of(b"one"), b"two")]);
    world.call("POST", BLOBS).nodes(lie).send().await.refused(400, "bad_blob");
    let (_, body) = one_file("main.js", "hello");
    // The tree's own frame, without that of the file it names.
    let tree = &body[37 + 5..body.len() - 5];
    let mut orphan = tree.to_vec();
    orphan.extend([0xFF, 0, 0, 0, 1]);
    world.call("POST", BLOBS).nodes(orphan).send().await.refused(400, "missing_blob");
    let odd = frames(&[good, (2, Digest::of(b"not a tree"), b"not a tree")]);
    world.call("POST", BLOBS).nodes(odd).send().await.refused(400, "bad_blob");
    let odd = frames(&[good, (1, Digest::of(b"whole"), b"not a list")]);
    world.call("POST", BLOBS).nodes(odd).send().await.refused(400, "bad_blob");
    assert!(is_empty(&world).await);
}

#[tokio::test]
async fn an_empty_upload_is_fine() {
    let world = World::memory().await;
    let reply = world.call("POST", BLOBS).nodes(frames(&[])).send().await;
    assert_eq!(reply.ok(), json!({ "added": 0, "reused": 0 }));
}

#[tokio::test]
async fn limits_are_enforced_while_reading() {
    let limits = Limits {
        node_bytes_max: 100,
        batch_bytes_max: 150,
        batch_nodes_max: 3,
        request_bytes_max: 300,
        ..Limits::default()
    };
    let world = World::limited(limits).await;
    let bytes = [7; 200];
    let node = |length: usize| (0, Digest::of(&bytes[..length]), &bytes[..length]);
    let upload = |nodes: &[_]| world.call("POST", BLOBS).nodes(frames(nodes)).send();
    for nodes in [vec![node(101)], vec![node(100), node(99)], vec![node(1); 4]] {
        upload(&nodes).await.refused(413, "upload_too_large");
    }
    // Nothing waits for the rest of a node that is too long.
    let endless = stream::unfold(frames(&[node(101)])[..37].to_vec(), async |head| {
        Some((Ok::<_, std::io::Error>(Bytes::from(head)), vec![7; 10]))
    });
    let reply = world.call("POST", BLOBS).nodes(Body::from_stream(endless)).send().await;
    reply.refused(413, "upload_too_large");
    assert!(is_empty(&world).await);
    upload(&[node(100), node(50)]).await.ok();
    let digests = json!({ "digests": vec![Digest::of(b""); 4] });
    let asked = world.post("/folio/v1/blobs/missing", digests.clone()).await;
    asked.refused(413, "request_too_large");
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"    ")));
    let call = world.call("POST", "/folio/v1/blobs/missing");
    let call = call.header("content-type", "application/json").body(Body::from_stream(endless));
    call.send().await.refused(413, "request_too_large");
}

#[tokio::test]
async fn too_many_digests_in_one_question_are_refused() {
    let world = World::limited(Limits { batch_nodes_max: 3, ..Limits::default() }).await;
    let digests = json!({ "digests": vec![Digest::of(b""); 4] });
    let asked = world.post("/folio/v1/blobs/missing", digests).await;
    asked.refused(413, "upload_too_large");
}
