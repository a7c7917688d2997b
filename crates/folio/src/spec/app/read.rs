//! Reads a `folio.yaml` that makes no sense as a whole part by part, so that everything that is wrong with it is said
//! at once, and so that what can be read of it is checked like everything else. Start at [`Reader::read`].

use folio_core::apply::UnreadDocument;
use folio_kinds::spec::Document;
use folio_model::{Name, Owner};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::convert::Writer;

/// What an app's file can say.
const FIELDS: [&str; 6] = ["name", "functions", "static", "config", "routes", "timers"];

/// Notes what is wrong with a file, and writes the rest of it.
pub(super) struct Reader<'a> {
    pub(super) writer: &'a mut Writer,
}

impl Reader<'_> {
    /// Reads a whole file.
    pub(super) fn read(mut self, document: &Document<'_>) {
        let value = match document.parse() {
            Ok(value) => value,
            Err(unread) => {
                self.miss(None, None);
                let place = (unread.line, unread.column);
                return self.writer.wrong_at(place, unread.what);
            }
        };
        for (key, value) in value.as_object().into_iter().flatten() {
            match key.as_str() {
                "name" => self.name(value),
                "functions" => self.functions(value),
                "static" => self.each("static", value, |reader, at, place, item| {
                    let item = reader.partly(at, item)?;
                    reader.writer.item(place, item);
                    Some(())
                }),
                "config" => self.configs(value),
                "routes" => self.each("routes", value, |reader, at, place, route| {
                    let name = text(&route["name"]);
                    let Some(route) = reader.whole(at, route) else {
                        reader.miss(Some("HTTPTrigger"), name);
                        return None;
                    };
                    reader.writer.route(place, route);
                    Some(())
                }),
                "timers" => self.each("timers", value, |reader, at, place, timer| {
                    let name = text(&timer["name"]);
                    let Some(timer) = reader.whole(at, timer) else {
                        reader.miss(Some("TimeTrigger"), name);
                        return None;
                    };
                    reader.writer.timer(place, timer);
                    Some(())
                }),
                other => {
                    // Nobody knows what was meant by it.
                    self.miss(None, None);
                    let what = format!("there is no such field; there are {}", FIELDS.join(", "));
                    self.writer.wrong(other, &what);
                }
            }
        }
        if value.get("name").is_none() {
            self.writer
                .wrong("name", "it is missing; whoever deploys under a name owns what is made");
        }
    }

    fn name(&mut self, value: &Value) {
        let Some(name) = self.value::<Name>("name", value) else { return };
        self.writer.owned_by(&name);
    }

    fn functions(&mut self, functions: &Value) {
        for (name, function) in self.entries("functions", functions) {
            let at = format!("functions.{name}");
            let Some(name) = self.value::<Name>(&at, &json!(name)) else { continue };
            match self.partly(&at, function) {
                Some(function) => self.writer.function(&name, function),
                None => {
                    self.miss(Some("Function"), Some(name.to_string()));
                    self.miss(Some("Package"), Some(format!("{name}-pkg")));
                }
            }
        }
    }

    fn configs(&mut self, configs: &Value) {
        for (name, values) in self.entries("config", configs) {
            let at = format!("config.{name}");
            let Some(name) = self.value::<Name>(&at, &json!(name)) else { continue };
            match values.is_object() {
                true => self.writer.config(&name, values),
                false => {
                    self.miss(Some("Config"), Some(name.to_string()));
                    self.writer.wrong(&at, "a config is a mapping from keys to values");
                }
            }
        }
    }

    /// Reads the items of a list.
    fn each(
        &mut self,
        at: &str,
        items: &Value,
        read: impl Fn(&mut Self, &str, usize, &Value) -> Option<()>,
    ) {
        match items {
            Value::Null => {}
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    // What is wrong with it was noted.
                    let _noted = read(self, &format!("{at}[{place}]"), place, item);
                }
            }
            _ => {
                self.miss(None, None);
                self.writer.wrong(at, "it is a list, each item of which begins with `-`");
            }
        }
    }

    fn entries<'v>(&mut self, at: &str, value: &'v Value) -> Vec<(&'v String, &'v Value)> {
        match value {
            Value::Null => {}
            Value::Object(entries) => return entries.iter().collect(),
            _ => {
                self.miss(None, None);
                self.writer.wrong(at, "it is a mapping from names to what they stand for");
            }
        }
        Vec::new()
    }

    /// Reads an item with which nothing is wrong.
    fn whole<T: DeserializeOwned>(&mut self, at: &str, value: &Value) -> Option<T> {
        let before = self.writer.spec.causes.len();
        let item = self.partly(at, value)?;
        (self.writer.spec.causes.len() == before).then_some(item)
    }

    /// Reads what can be read of an item, and notes what is wrong with the rest, each field by itself.
    fn partly<T: DeserializeOwned>(&mut self, at: &str, value: &Value) -> Option<T> {
        let Some(fields) = value.as_object() else { return self.value(at, value) };
        let mut good = Map::new();
        for (key, value) in fields {
            // A field that is there at all is looked at before one that is missing is missed.
            match first_that_fits(value, |value| decoded::<T>(key, value)) {
                Ok(value) => {
                    good.insert(key.clone(), value);
                }
                Err(what) => self.writer.wrong(&format!("{at}.{key}"), &what),
            }
        }
        match serde_json::from_value(Value::Object(good)) {
            Ok(item) => Some(item),
            Err(error) => {
                let what = error.to_string();
                let is_told = fields.keys().any(|key| what == missing(key));
                if !is_told {
                    self.writer.wrong(at, &what);
                }
                None
            }
        }
    }

    fn value<T: DeserializeOwned>(&mut self, at: &str, value: &Value) -> Option<T> {
        let read = |value: Value| serde_json::from_value(value).map_err(|error| error.to_string());
        match first_that_fits(value, read) {
            Ok(value) => Some(value),
            Err(what) => {
                self.writer.wrong(at, &what);
                None
            }
        }
    }

    fn miss(&mut self, kind: Option<&str>, name: Option<String>) {
        let kind = kind.map(str::to_owned);
        self.writer.spec.unread.push(UnreadDocument { kind, name });
    }
}

impl Writer {
    /// Notes whose the file's units are.
    pub(super) fn owned_by(&mut self, name: &Name) {
        let uid = format!("folio.yaml/{name}");
        self.spec.deployment = Some(Owner { uid, name: name.to_string() });
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// What the first of a value and its text, for what YAML takes for a number or a truth value, comes to.
fn first_that_fits<T>(
    value: &Value,
    read: impl Fn(Value) -> Result<T, String>,
) -> Result<T, String> {
    read(value.clone()).or_else(|what| read(as_texts(value)).map_err(|_| what))
}

fn as_texts(value: &Value) -> Value {
    match value {
        Value::Bool(truth) => json!(truth.to_string()),
        Value::Number(number) => json!(number.to_string()),
        Value::Array(items) => items.iter().map(as_texts).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), as_texts(value))).collect()
        }
        other => other.clone(),
    }
}

/// A field, if an item may have it so.
fn decoded<T: DeserializeOwned>(key: &str, value: Value) -> Result<Value, String> {
    let alone = Map::from_iter([(key.to_owned(), value.clone())]);
    match serde_json::from_value::<T>(Value::Object(alone)) {
        Ok(_) => Ok(value),
        Err(error) => match error.to_string() {
            text if text.starts_with("missing field ") => Ok(value),
            text => Err(text),
        },
    }
}

fn missing(key: &str) -> String {
    format!("missing field `{key}`")
}
