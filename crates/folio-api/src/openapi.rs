//! The OpenAPI document, made from the table and from the types its handlers take and give.

use std::sync::LazyLock;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::failure::ErrorBody;
use crate::operation::{Inputs, Operation, Output};
use crate::table::operations;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let mut text = serde_json::to_string_pretty(&build()).expect("its keys are strings");
    text.push('\n');
    text
});

/// The OpenAPI 3.1 document of the API, as JSON.
pub fn document() -> &'static str {
    &DOCUMENT
}

fn build() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for operation in operations() {
        let described = describe(&operation, &mut schemas);
        let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
        methods[operation.method.as_str().to_lowercase()] = described;
    }
    let failure = json!({
        "description": "What went wrong, why, and what to do.",
        "headers": headers(&[]),
        "content": { "application/json": { "schema": schemas.response::<ErrorBody>() } },
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "folio",
            "description": "The control API of folio. docs/api.md introduces it.",
            "version": "v1",
        },
        "jsonSchemaDialect": DIALECT,
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": header_parameters(),
            "responses": { "Failure": failure },
            "schemas": schemas.finish(),
        },
    })
}

fn describe(operation: &Operation, schemas: &mut Schemas) -> Value {
    let Inputs { is_open, parameters, body } = (operation.inputs)(schemas);
    let mut responses = Map::new();
    for Output { status, says, content, headers: named } in (operation.outputs)(schemas) {
        let response =
            json!({ "description": says, "headers": headers(named), "content": content });
        responses.insert(status.to_string(), response);
    }
    responses.insert("default".to_owned(), json!({ "$ref": "#/components/responses/Failure" }));
    let mut described = json!({ "operationId": operation.id, "summary": operation.summary });
    if is_open {
        described["security"] = json!([]);
    }
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = body {
        described["requestBody"] = body;
    }
    described["responses"] = responses.into();
    described
}

fn headers(named: &[&str]) -> Value {
    let all = ["Folio-Request-Id"].iter().chain(named);
    all.map(|name| ((*name).to_owned(), json!({ "schema": { "type": "string" } }))).collect()
}

/// The headers a request that changes something may have.
fn header_parameters() -> Value {
    let header = |name: &str, says: &str| json!({ "name": name, "in": "header", "description": says, "schema": { "type": "string" } });
    json!({
        "IdempotencyKey": header("Idempotency-Key", "Makes repeating the request safe: the same key gives the same answer. 1 to 200 printable characters."),
        "IfMatch": header("If-Match", "The quoted revision the caller has seen, or `*`; anything else that stands there is refused with 412."),
        "Reason": header("Folio-Reason", "Why, as percent-encoded UTF-8; kept in the ledger."),
        "Releasing": header("Folio-Releasing", "What becomes of the app version that the change makes: `release` (the default), `hold` to keep it from being released, `promote` to have live follow it, or `aside TAG` to release it under a tag that nobody else sees."),
        "Git": header("Folio-Git", "Where the caller's files stand in git, as percent-encoded JSON with `commit`, `branch` and `clean`."),
    })
}

/// Collects the schemas of everything the operations take and give.
pub(crate) struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        Self {
            requests: settings.clone().for_deserialize().into_generator(),
            responses: settings.for_serialize().into_generator(),
        }
    }

    /// The schema of a body that is read.
    pub(crate) fn request<T: JsonSchema>(&mut self) -> Value {
        self.requests.subschema_for::<T>().into()
    }

    /// The schema of a body that is written.
    pub(crate) fn response<T: JsonSchema>(&mut self) -> Value {
        self.responses.subschema_for::<T>().into()
    }

    /// The fields of a type as parameters of a path or query.
    pub(crate) fn parameters<T: JsonSchema>(&mut self, place: &str) -> Vec<Value> {
        let schema: Schema = T::json_schema(&mut self.requests);
        let required =
            schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let fields = schema.get("properties").and_then(Value::as_object).cloned();
        let parameter = |(name, mut schema): (String, Value)| {
            let says = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            // A parameter that is left out is not null; it is not there.
            if let Some(Value::Array(types)) = schema.get_mut("type") {
                types.retain(|one| one != "null");
            }
            let is_required = required.iter().any(|field| *field == name);
            let mut parameter = json!({ "name": name, "in": place, "required": is_required });
            if let Some(says) = says {
                parameter["description"] = says;
            }
            parameter["schema"] = schema;
            parameter
        };
        fields.unwrap_or_default().into_iter().map(parameter).collect()
    }

    /// The headers of a request that changes something, by reference.
    pub(crate) fn change_headers() -> Vec<Value> {
        let reference = |name| json!({ "$ref": format!("#/components/parameters/{name}") });
        ["IdempotencyKey", "IfMatch", "Reason", "Releasing", "Git"].map(reference).into()
    }

    /// Every schema by name. A type that is both read and written must look the same both ways.
    fn finish(mut self) -> Value {
        let mut all = self.requests.take_definitions(true);
        for (name, schema) in self.responses.take_definitions(true) {
            let other = all.insert(name.clone(), schema.clone());
            assert!(other.is_none_or(|other| other == schema), "two schemas are called {name}");
        }
        all.sort_keys();
        all.into()
    }
}
