//! What the parts of one connection know of each other: the gate below hyper, the service above it, and the
//! task that drives them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use folio_core::ports::runtime::RequestId;
use futures::task::AtomicWaker;
use http::HeaderValue;
use hyper::upgrade::OnUpgrade;

use crate::access;
use crate::kept::Kept;
use crate::problem::Problem;
use crate::totals::Totals;

/// One connection.
pub(crate) struct Wire {
    /// The client's address.
    pub(crate) peer: SocketAddr,
    /// The address as a header has it.
    pub(crate) forwarded_for: HeaderValue,
    /// Whether it is encrypted.
    pub(crate) is_tls: bool,
    /// The host that the client named when it asked for the certificate.
    pub(crate) server_name: Option<Box<str>>,
    pub(crate) totals: Arc<Totals>,
    started: AtomicU64,
    completed: AtomicU64,
    /// Whether the gate waits for everything to be answered.
    waits: AtomicBool,
    waiter: AtomicWaker,
    is_tunnel: AtomicBool,
    tunnel: Mutex<Option<Tunnel>>,
    kept: Mutex<Option<Box<Kept>>>,
}

/// Both ends of a connection that stopped being HTTP.
pub(crate) struct Tunnel {
    pub(crate) client: OnUpgrade,
    pub(crate) function: OnUpgrade,
}

/// A request that is being answered; ends when its answer has been handed over.
pub(crate) struct Turn(Arc<Wire>);

impl Wire {
    pub(crate) fn new(
        peer: SocketAddr,
        is_tls: bool,
        server_name: Option<Box<str>>,
        totals: Arc<Totals>,
    ) -> Self {
        let address = peer.ip().to_canonical().to_string();
        totals.opened();
        Self {
            peer,
            forwarded_for: HeaderValue::from_str(&address).expect("addresses are plain text"),
            is_tls,
            server_name,
            totals,
            started: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            waits: AtomicBool::new(false),
            waiter: AtomicWaker::new(),
            is_tunnel: AtomicBool::new(false),
            tunnel: Mutex::new(None),
            kept: Mutex::new(None),
        }
    }

    /// Takes what was kept of the last answer. Nothing while another request has it.
    pub(crate) fn kept(&self) -> Option<Box<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps something of an answer for the next request, where there can be one: a tunnel may stay for days, and the
    /// release with it.
    pub(crate) fn keep(&self, kept: Box<Kept>) {
        if self.is_tunnel() {
            return;
        }
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// Counts a request until the turn is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Turn {
        self.started.fetch_add(1, Ordering::Relaxed);
        Turn(Arc::clone(self))
    }

    /// Whether every request that came, or of which so many passed the gate, was answered.
    pub(crate) fn is_quiet(&self, passed: Option<u64>) -> bool {
        let came = passed.unwrap_or_else(|| self.started());
        self.completed.load(Ordering::Acquire) == came
    }

    /// How many requests came.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    pub(crate) fn wake_when_quiet(&self, waker: &Waker) {
        self.waiter.register(waker);
        self.waits.store(true, Ordering::Release);
    }

    /// The answer to something that never became a request, in full.
    pub(crate) fn refuse(&self, problem: &Problem) -> Vec<u8> {
        let id = RequestId(rand::random());
        self.totals.refused();
        access::refused(self.peer, id, problem);
        problem.to_http1(id)
    }

    /// Whether the connection stopped being HTTP.
    pub(crate) fn is_tunnel(&self) -> bool {
        self.is_tunnel.load(Ordering::Relaxed)
    }

    /// Says that what follows the answer is no longer HTTP.
    pub(crate) fn open_tunnel(&self, tunnel: Tunnel) {
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
        self.is_tunnel.store(true, Ordering::Relaxed);
        drop(self.kept());
    }

    pub(crate) fn take_tunnel(&self) -> Option<Tunnel> {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.totals.closed();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.completed.fetch_add(1, Ordering::Release);
        if self.0.waits.load(Ordering::Acquire) {
            self.0.waiter.wake();
        }
    }
}

impl Turn {
    pub(crate) fn wire(&self) -> &Wire {
        &self.0
    }
}
