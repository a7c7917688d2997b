//! A runtime that answers every call at once with what it was asked, so that the API can be seen passing it on, and
//! builds what is built by `make`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, BuiltDirectory, Call, CallError, Plan, RuntimeStatus,
};
use folio_core::ports::{Body, Runtime};

pub(crate) struct Echo;

#[async_trait]
impl Runtime for Echo {
    async fn call(
        &self,
        _: &Arc<Plan>,
        call: Call,
    ) -> Result<axum::http::Response<Body>, CallError> {
        let said = format!("{} {}", call.request.method(), call.request.uri());
        let mut answer = axum::http::Response::new(Body::from(Bytes::from(said)));
        // Whatever a function sees of the outer request, it must not be the token.
        *answer.status_mut() = match call.request.headers().get("authorization") {
            None => axum::http::StatusCode::OK,
            Some(_) => axum::http::StatusCode::INTERNAL_SERVER_ERROR,
        };
        Ok(answer)
    }

    async fn prepare(&self, _: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, _: &Arc<Plan>) {}

    async fn build(&self, order: BuildOrder, _: BuildLog) -> Result<Built, BuildError> {
        if order.command.as_deref() != Some("make") {
            return Err(BuildError::Failed("nothing is built here".to_owned()));
        }
        let directory = tempfile::tempdir().unwrap().keep();
        std::fs::write(directory.join("main.js"), "built").unwrap();
        Ok(Built { directory: BuiltDirectory(directory) })
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus::default()
    }

    async fn stop(&self, _: Duration) {}
}
