//! Slow and silent clients, with a clock that does not run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt as _, DuplexStream};
use tokio::time::Instant;

use super::{Gate, PREFACE};
use crate::settings::GatewayLimits;
use crate::wire::Wire;

const SECOND: Duration = Duration::from_secs(1);
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// The head of a frame with a request's head of 16,000 bytes.
const HEADERS: [u8; 9] = [0, 0x3e, 0x80, 1, 4, 0, 0, 0, 1];
const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

fn wire() -> Arc<Wire> {
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    Arc::new(Wire::new(peer, false, None, Arc::default()))
}

fn http2(wire: &Arc<Wire>) -> (DuplexStream, Gate<DuplexStream>) {
    let (client, server) = tokio::io::duplex(1024);
    let ahead = [&PREFACE[..], &SETTINGS].concat();
    (client, Gate::http2(server, Arc::clone(wire), ahead, &GatewayLimits::default()))
}

/// Sends bytes over and over, one piece a second, and says when the gate had enough.
async fn ended(
    (mut client, mut gate): (DuplexStream, Gate<DuplexStream>),
    first: &[u8],
    piece: &[u8],
) -> Duration {
    let began = Instant::now();
    client.write_all(first).await.unwrap();
    let trickle = async {
        loop {
            tokio::time::sleep(SECOND).await;
            client.write_all(piece).await.unwrap();
        }
    };
    let read = async { while AsyncReadExt::read(&mut gate, &mut [0; 512]).await.unwrap() > 0 {} };
    tokio::select! {
        () = read => began.elapsed(),
        () = trickle => unreachable!("it goes on for ever"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_over_http2_that_never_ends_is_given_up() {
    let limits = GatewayLimits::default();
    let took = ended(http2(&wire()), &HEADERS, &[0]).await;
    assert_eq!(took.as_secs(), limits.header_timeout.as_secs());
    // Frames that do end make no request either.
    let took = ended(http2(&wire()), &[], &PING).await;
    assert_eq!(took.as_secs(), limits.idle_timeout.as_secs());
    // A frame in two pieces at the beginning does not shorten the silence that is allowed.
    let took = ended(http2(&wire()), &PING[..5], &[&PING[5..], &PING[..5]].concat()).await;
    assert_eq!(took.as_secs(), limits.idle_timeout.as_secs());
}

#[tokio::test(start_paused = true)]
async fn whoever_is_being_answered_over_http2_may_be_slow() {
    let wire = wire();
    let turn = wire.begin();
    let hour = Duration::from_secs(3600);
    let waited = tokio::time::timeout(hour, ended(http2(&wire), &HEADERS, &[0])).await;
    assert!(waited.is_err(), "{waited:?}");
    drop(turn);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_taken_at_a_least_rate_whatever_is_sent_meanwhile() {
    let check = async |bytes: usize, expected: bool| {
        let (mut client, server) = tokio::io::duplex(1024);
        let limits = GatewayLimits::default();
        let mut gate = Gate::http1(server, wire(), Vec::new(), &limits);
        let take = async {
            loop {
                tokio::time::sleep(SECOND).await;
                client.write_all(b"\r\n").await.unwrap();
                client.read_exact(&mut vec![0; bytes]).await.unwrap();
            }
        };
        let answer = vec![0; 1_000_000];
        let answered = async {
            let (mut read, mut write) = tokio::io::split(&mut gate);
            let drain = async { while read.read(&mut [0; 512]).await.unwrap() > 0 {} };
            tokio::select! {
                wrote = write.write_all(&answer) => wrote,
                () = drain => unreachable!("it is not closed while it is answered"),
            }
        };
        let wrote = tokio::select! {
            wrote = answered => wrote.map_err(|error| error.kind()),
            () = take => unreachable!("it goes on for ever"),
        };
        let expected = if expected { Ok(()) } else { Err(std::io::ErrorKind::TimedOut) };
        assert_eq!(wrote, expected, "{bytes} bytes a second");
    };
    check(64, false).await;
    check(200, false).await;
    check(257, true).await;
    check(1000, true).await;
}
