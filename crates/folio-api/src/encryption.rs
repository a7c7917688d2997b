//! TLS on the control port: the handshake, and an answer in plain text for whoever comes without it. Which certificate is
//! shown is for whoever serves to say, connection by connection, so that a renewed one needs no restart.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use folio_core::{Class, Code, Explain};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

/// Gives the configuration for connections that came to an address of this machine; none if there is none.
pub type Encryption = Arc<dyn Fn(IpAddr) -> Option<Arc<ServerConfig>> + Send + Sync>;

/// Marks requests that came encrypted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encrypted;

/// How long a client may take to agree on encryption.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// What a TLS connection begins with: the type of a handshake's record.
const HANDSHAKE: u8 = 0x16;

/// How much of a plain request is read before it is left, so that its sender gets to see the answer.
const IGNORED_BYTES_MAX: u64 = 64 * 1024;
const IGNORED_WAIT: Duration = Duration::from_secs(1);

/// Somebody speaks in the clear where only TLS is spoken.
#[derive(Debug, thiserror::Error)]
#[error("this port speaks TLS, and the request came as plain http")]
struct Plain;

impl Explain for Plain {
    fn code(&self) -> Code {
        Code("tls_required")
    }

    fn class(&self) -> Class {
        Class::Invalid
    }

    fn hint(&self) -> Option<String> {
        Some("write the address with https://".to_owned())
    }
}

/// Agrees on encryption with a client; none if that comes to nothing.
pub(crate) async fn shake(
    stream: TcpStream,
    encryption: &Encryption,
) -> Option<TlsStream<TcpStream>> {
    match tokio::time::timeout(HANDSHAKE_MAX, begin(stream, encryption)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!("A client could not agree on encryption: {error}");
            None
        }
        Err(_) => {
            tracing::debug!("A client took too long to agree on encryption");
            None
        }
    }
}

async fn begin(
    mut stream: TcpStream,
    encryption: &Encryption,
) -> std::io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    if first != [HANDSHAKE] {
        explain(&mut stream).await?;
        return Ok(None);
    }
    let Some(config) = encryption(stream.local_addr()?.ip().to_canonical()) else {
        return Ok(None);
    };
    TlsAcceptor::from(config).accept(stream).await.map(Some)
}

/// Tells a client that speaks in the clear what to do, whichever face it came for.
async fn explain(stream: &mut TcpStream) -> std::io::Result<()> {
    let body = body().to_string();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // What is left unread when a connection is closed has the answer thrown away.
    let (mut rest, mut nowhere) = (stream.take(IGNORED_BYTES_MAX), tokio::io::sink());
    let ignored = tokio::io::copy(&mut rest, &mut nowhere);
    if let Ok(ended) = tokio::time::timeout(IGNORED_WAIT, ignored).await {
        ended?;
    }
    Ok(())
}

/// What every face's clients read: an error of folio's, and a Status.
fn body() -> Value {
    let hint = Plain.hint().unwrap_or_default();
    json!({
        "error": {
            "code": Plain.code().0, "message": Plain.to_string(), "hint": hint, "referrers": [],
            "requestId": "",
        },
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{Plain}: {hint}"), "reason": "BadRequest", "code": 400,
    })
}
