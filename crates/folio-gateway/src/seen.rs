//! What became known of a request on its way, for its answer.

use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::runtime::{Plan, RequestId};
use http::header::{ORIGIN, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::Instant;

use crate::headers::{
    FOLIO_APP_VERSION, FOLIO_RELEASE, FOLIO_RELEASE_FALLBACK, FOLIO_REQUEST_ID, FOLIO_VERSION,
    ROBOTS,
};
use crate::kept::{self, Kept};
use crate::served::Served;
use crate::table::{Aim, Fallback, Named};
use crate::wire::Wire;

/// What became known of a request on its way, for its answer.
pub(crate) struct Seen {
    pub(crate) id: RequestId,
    pub(crate) came: Instant,
    /// How long a function took, if one was called.
    pub(crate) took: Option<Duration>,
    /// The route, if it says something to browsers on other sites.
    pub(crate) cors: Option<Arc<Served>>,
    origin: Option<HeaderValue>,
    pub(crate) version: Option<HeaderValue>,
    /// What keeps the client with a version of a function.
    pub(crate) cookie: Option<HeaderValue>,
    /// What keeps the client with a release.
    release_cookie: Option<HeaderValue>,
    /// The release that answers.
    pub(crate) release: Option<Box<Kept>>,
    /// Why it is not the release that the client was to stay with.
    pub(crate) fallback: Option<Fallback>,
    /// Whether it was asked for by name, so that no index is to know it.
    by_name: bool,
}

impl Seen {
    pub(crate) fn new(id: RequestId) -> Self {
        Self {
            id,
            came: Instant::now(),
            took: None,
            cors: None,
            origin: None,
            version: None,
            cookie: None,
            release_cookie: None,
            release: None,
            fallback: None,
            by_name: false,
        }
    }

    pub(crate) fn reach(&mut self, wire: &Wire, aim: &mut Aim<'_, '_>) {
        self.release = aim.release.map(|release| Kept::of(release, wire.kept()));
        self.by_name = aim.named != Named::Live;
        (self.release_cookie, self.fallback) = (aim.cookie.take(), aim.fallback.take());
    }

    pub(crate) fn meet(&mut self, route: &Arc<Served>, headers: &HeaderMap) {
        if route.cors.is_some() {
            self.origin = headers.get(ORIGIN).cloned();
            self.cors = Some(Arc::clone(route));
        }
    }

    /// Counts the answer for the release that gave it, unless it was asked for by name.
    pub(crate) fn count(&self, status: StatusCode) {
        if let Some(release) = self.release.as_ref().filter(|_| !self.by_name) {
            let took = self.took.unwrap_or_else(|| self.came.elapsed());
            release.shown().meter.record(status.as_u16(), took);
        }
    }

    /// Keeps the version that answered for the next request.
    pub(crate) fn keep_plan(&mut self, plan: Arc<Plan>) {
        if let (Some(release), Some(version)) = (&mut self.release, &self.version) {
            release.keep_plan(kept::Called { plan, version: version.clone() });
        }
    }

    /// Adds what every answer says, and leaves what is kept for the next request.
    pub(crate) fn mark(&mut self, wire: &Wire, headers: &mut HeaderMap) {
        headers.insert(FOLIO_REQUEST_ID, id_value(self.id));
        if let Some(version) = self.version.take() {
            headers.insert(FOLIO_VERSION, version);
        }
        if let Some(release) = self.release.take() {
            headers.insert(FOLIO_RELEASE, release.id.clone());
            headers.insert(FOLIO_APP_VERSION, release.app_version.clone());
            wire.keep(release);
        }
        if let Some(Fallback::Told(why)) = self.fallback.take() {
            headers.insert(FOLIO_RELEASE_FALLBACK, HeaderValue::from_static(why));
        }
        if self.by_name {
            headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
        }
        for cookie in [self.cookie.take(), self.release_cookie.take()].into_iter().flatten() {
            headers.append(SET_COOKIE, cookie);
        }
        if let Some(cors) = self.cors.as_ref().and_then(|route| route.cors.as_ref()) {
            cors.answer(self.origin.as_ref(), headers);
        }
    }
}

fn id_value(id: RequestId) -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    for (at, byte) in id.0.to_be_bytes().into_iter().enumerate() {
        text[at * 2] = DIGITS[usize::from(byte >> 4)];
        text[at * 2 + 1] = DIGITS[usize::from(byte & 15)];
    }
    HeaderValue::from_bytes(&text).expect("digits are plain text")
}
