//! Writes answers: JSON with the revision as `ETag`, or the bytes of a file.

mod answered;
mod file;
mod lines;
mod metrics;
mod text;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use folio_core::view::Done;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::answered::Answered;
pub(crate) use self::file::File;
pub(crate) use self::lines::Lines;
pub(crate) use self::metrics::Metrics;
pub(crate) use self::text::{Made, Text};
use crate::openapi::Schemas;
use crate::operation::{Encode, Output};

/// A value that is answered as JSON.
pub(crate) trait Wire: Serialize + JsonSchema + Send + 'static {
    /// The headers an answer with it has.
    const HEADERS: &'static [&'static str] = &[];

    /// What `If-Match` can name later.
    fn revision(&self) -> Option<u64> {
        None
    }
}

/// What was asked for, or what a command did.
pub(crate) struct Answer<T>(pub(crate) T);

/// Something new; or, where nothing changed, what was there already.
pub(crate) struct Created<T>(pub(crate) Done<T>);

/// A document that is JSON already.
pub(crate) struct Document(pub(crate) &'static str);

impl<T: Wire> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        let revision = self.0.revision();
        let mut response = Json(self.0).into_response();
        if let Some(revision) = revision {
            let tag = HeaderValue::try_from(format!("\"{revision}\""));
            response.headers_mut().extend(tag.ok().map(|tag| (header::ETAG, tag)));
        }
        response
    }
}

impl<T: Wire> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let status = if self.0.changed { StatusCode::CREATED } else { StatusCode::OK };
        (status, Answer(self.0)).into_response()
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

impl<T: Wire> Encode for Answer<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Output> {
        vec![Output::json(200, "Done.", schemas.response::<T>()).with(T::HEADERS)]
    }
}

impl<T: Wire> Encode for Created<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Output> {
        let schema = schemas.response::<Done<T>>();
        vec![
            Output::json(201, "Made.", schema.clone()).with(T::HEADERS),
            Output::json(200, "Nothing changed; this was there already.", schema).with(T::HEADERS),
        ]
    }
}

impl Encode for Document {
    fn describe(_: &mut Schemas) -> Vec<Output> {
        vec![Output::json(200, "The document.", json!({ "type": "object" }))]
    }
}

impl Output {
    fn json(status: u16, says: &'static str, schema: Value) -> Self {
        let content = json!({ "application/json": { "schema": schema } });
        Self { status, says, content, headers: &[] }
    }

    fn with(self, headers: &'static [&'static str]) -> Self {
        Self { headers, ..self }
    }
}

impl<T: Wire> Wire for Done<T> {
    const HEADERS: &'static [&'static str] = T::HEADERS;

    fn revision(&self) -> Option<u64> {
        self.result.revision()
    }
}

/// Views that say which revision they show.
macro_rules! revised {
    ($($view:ty),* $(,)?) => {$(
        impl Wire for $view {
            const HEADERS: &'static [&'static str] = &["ETag"];

            fn revision(&self) -> Option<u64> {
                Some(self.revision)
            }
        }
    )*};
}
revised!(
    folio_core::binding::BindingView,
    folio_core::canary::CanaryView,
    folio_core::config::ConfigView,
    folio_core::environment::EnvironmentView,
    folio_core::route::RouteView,
    folio_core::secret::SecretView,
    folio_core::static_item::StaticView,
    folio_core::trigger::TriggerView,
    folio_core::view::AliasView,
    folio_core::view::TagView,
    folio_core::view::UnitView,
);

impl Wire for folio_core::config::ConfigSet {
    const HEADERS: &'static [&'static str] = &["ETag"];

    fn revision(&self) -> Option<u64> {
        Some(self.config.revision)
    }
}

impl Wire for folio_core::secret::SecretSet {
    const HEADERS: &'static [&'static str] = &["ETag"];

    fn revision(&self) -> Option<u64> {
        Some(self.secret.revision)
    }
}

/// Views without a revision.
macro_rules! plain {
    ($($view:ty),* $(,)?) => {$( impl Wire for $view {} )*};
}
plain!(
    folio_core::bundle::Imported,
    folio_core::domain::DomainView,
    folio_core::app::AppSummary,
    folio_core::app::PlanView,
    folio_core::apply::Applied,
    folio_core::diff::AppDiffView,
    folio_core::diff::DiffView,
    folio_core::release::Expiry,
    folio_core::release::LiveView,
    folio_core::release::ReleaseView,
    folio_core::settings::SettingRemoved,
    folio_core::status::StatusView,
    folio_core::sweep::MigrationReport,
    folio_core::sweep::SweepReport,
    folio_core::token::TokenView,
    folio_core::undo::Undone,
    folio_core::upload::Uploaded,
    folio_core::view::AppView,
    folio_core::view::Published,
    folio_core::view::Removed,
    folio_core::view::ResolvedView,
    folio_core::view::VersionView,
    folio_model::Execution,
    folio_model::ReleasePolicy,
);
