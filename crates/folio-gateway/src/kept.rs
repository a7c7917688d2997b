//! What a connection keeps from one request to the next: whatever answered last most likely answers next. Counting its
//! references anew for every request would have all cores wait for each other's memory, and so would copies of headers
//! that all connections share.

use std::sync::Arc;

use folio_core::ports::runtime::{Plan, Stage};
use folio_core::serving::Shown;
use http::HeaderValue;

use crate::table::Release;

/// The release that answered, and what its answers say. All values are this connection's own.
#[derive(Debug)]
pub(crate) struct Kept {
    release: Arc<Release>,
    pub(crate) id: HeaderValue,
    pub(crate) app_version: HeaderValue,
    plan: Option<Called>,
}

/// A version with how answers name it.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) plan: Arc<Plan>,
    pub(crate) version: HeaderValue,
}

impl Kept {
    /// What is kept of a release: what was, if it is of the same.
    pub(crate) fn of(release: &Arc<Release>, before: Option<Box<Self>>) -> Box<Self> {
        if let Some(kept) = before.filter(|kept| Arc::ptr_eq(&kept.release, release)) {
            return kept;
        }
        Box::new(Self {
            release: Arc::clone(release),
            id: own(&release.id),
            app_version: own(&release.app_version),
            plan: None,
        })
    }

    /// The release as the core knows it.
    pub(crate) fn shown(&self) -> &Arc<Shown> {
        &self.release.shown
    }

    /// Takes the version that answered last.
    pub(crate) fn take_plan(&mut self) -> Option<Called> {
        self.plan.take()
    }

    /// Keeps the version that answered.
    pub(crate) fn keep_plan(&mut self, plan: Called) {
        self.plan = Some(plan);
    }
}

impl Called {
    /// A version with its name: what was kept, if it is of the same.
    pub(crate) fn of(plan: &Arc<Plan>, before: Option<Self>) -> Self {
        before
            .filter(|kept| Arc::ptr_eq(&kept.plan, plan))
            .unwrap_or_else(|| Self { plan: Arc::clone(plan), version: version(plan) })
    }
}

/// A copy that shares nothing.
fn own(value: &HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(value.as_bytes()).expect("it is a value")
}

/// Names the version as `Folio-Version` does.
fn version(plan: &Plan) -> HeaderValue {
    let at = match &plan.at {
        Stage::Version(_, id) => id.as_str(),
        Stage::Draft => "draft",
    };
    let text = [plan.function.as_str(), at].join("@");
    HeaderValue::try_from(text).expect("names and ids are plain text")
}
