//! How the gateway stops.

use tokio::net::TcpStream;

use crate::world::{World, exact, settings};

#[tokio::test]
async fn what_was_admitted_is_finished() {
    let mut world = World::new().await;
    world.publish("wait", "v1").await;
    world.route(exact("/wait"), "wait").await;
    let (mut busy, mut idle, mut fresh) =
        (world.client().await, world.client().await, world.client().await);
    assert_eq!(idle.get("/none").await.status, 404);
    busy.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    world.runtime.waiting.notified().await;
    world.stop();
    assert!(idle.is_closed().await);
    assert!(fresh.is_closed().await);
    assert!(TcpStream::connect(world.address).await.is_err());
    world.runtime.go.notify_one();
    let answer = busy.answer().await.unwrap();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert!(busy.is_closed().await);
    world.stopped().await;
    assert_eq!(world.totals.read().connections_open, 0);
}

#[tokio::test]
async fn what_takes_too_long_is_cut() {
    let mut settings = settings();
    settings.limits.drain = std::time::Duration::from_millis(50);
    let mut world = World::with(settings).await;
    world.publish("wait", "v1").await;
    world.route(exact("/wait"), "wait").await;
    let mut busy = world.client().await;
    busy.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    world.runtime.waiting.notified().await;
    world.stop();
    world.stopped().await;
    assert!(busy.is_closed().await);
}
