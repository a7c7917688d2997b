//! What an operator decides about the gateway.

use std::sync::Arc;
use std::time::Duration;

use crate::tls::Tls;
use crate::totals::Totals;

/// What an operator decides.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The domain whose hosts are apps: `{app}.{domain}`; `localhost` if absent.
    pub domain: Option<String>,
    /// The certificate; plain HTTP if absent.
    pub tls: Option<Tls>,
    /// How much of everything a client gets.
    pub limits: GatewayLimits,
    /// Whether every request is logged.
    pub access_log: AccessLog,
    /// Where the gateway counts. Keep a clone to read it.
    pub totals: Arc<Totals>,
}

/// Whether every request is logged, as an event of target `folio::access`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessLog {
    /// One event per request, where a subscriber wants it.
    #[default]
    On,
    /// None.
    Off,
}

/// How much of everything a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    /// Bytes of a request's head.
    pub header_bytes_max: usize,
    /// Headers of a request, at most 256.
    pub headers_max: usize,
    /// Bytes of a request's body.
    pub body_bytes_max: u64,
    /// How long a client may take to send a request's head once it began, and what it is granted for a body
    /// before its rate counts.
    pub header_timeout: Duration,
    /// Bytes per second at which a body has to arrive.
    pub body_rate_min: u64,
    /// Bytes per second at which an answer has to be taken.
    pub answer_rate_min: u64,
    /// How long a connection may be silent between requests, and a client may take nothing of an answer.
    pub idle_timeout: Duration,
    /// Connections at the same time; more wait to be accepted.
    pub connections_max: usize,
    /// How long requests that were admitted may take to finish after the gateway was told to stop.
    pub drain: Duration,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            header_bytes_max: 32 * 1024,
            headers_max: 100,
            body_bytes_max: 64 * 1024 * 1024,
            header_timeout: Duration::from_secs(15),
            body_rate_min: 256,
            answer_rate_min: 256,
            idle_timeout: Duration::from_secs(75),
            connections_max: 16_384,
            drain: Duration::from_secs(30),
        }
    }
}
