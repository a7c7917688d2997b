//! What a function says of its code and of what it may use.

use folio_model::{RunSettings, RuntimeKind};
use serde_json::Value;

use super::Notes;
use crate::qinling::body::Form;
use crate::qinling::fault::{Fault, Outcome};
use crate::qinling::showing::{CPU, MEMORY, MEMORY_BYTES, TIMEOUT_SECONDS};

/// Memory that an interpreter and what speaks for it need before the function's first line.
fn interpreter_bytes(language: RuntimeKind) -> u64 {
    const MIB: u64 = 1024 * 1024;
    match language {
        RuntimeKind::Nodejs => 96 * MIB,
        _ => 24 * MIB,
    }
}

/// Where the code comes from.
pub(super) struct Code {
    pub(super) md5: Option<String>,
}

impl Code {
    /// Reads what a new function says. Only packages can be run here.
    pub(super) fn read(text: &str) -> Outcome<Self> {
        let value = object(text)?;
        match value["source"].as_str() {
            Some("package") => {}
            Some("image") => {
                return Err(Fault::invalid(
                    "The image type function is not supported: this server has no container runtime.",
                ));
            }
            Some("swift") => {
                let names = ["container", "object"].map(|name| value["swift"][name].as_str());
                let all = names.iter().all(|name| name.is_some_and(|name| !name.is_empty()));
                return Err(Fault::invalid(if all {
                    "Swift object not supported."
                } else {
                    "Both container and object must be provided for swift type function."
                }));
            }
            _ => {
                return Err(Fault::invalid(
                    "Invalid code source specified, available sources: package, swift, image",
                ));
            }
        }
        Self::of(&value)
    }

    /// Reads what a function is to become, which is always the same kind of code.
    pub(super) fn update(text: &str) -> Outcome<Self> {
        let value = object(text)?;
        match &value["source"] {
            Value::Null => Self::of(&value),
            Value::String(source) if source == "package" => Self::of(&value),
            _ => Err(Fault::invalid("The function code type can not be changed.")),
        }
    }

    fn of(value: &Value) -> Outcome<Self> {
        match &value["md5sum"] {
            Value::Null => Ok(Self { md5: None }),
            Value::String(md5) => Ok(Self { md5: Some(md5.clone()) }),
            _ => Err(Fault::invalid("Invalid input, md5sum is no text")),
        }
    }
}

fn object(text: &str) -> Outcome<Value> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Fault::invalid(format!("Invalid input, {error}")))?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(Fault::invalid("Invalid input, the code is no object")),
    }
}

/// What a function may use, as far as that was said.
#[derive(Debug, Default)]
pub(super) struct Settings {
    cpu: Option<u64>,
    memory: Option<u64>,
    timeout: Option<u64>,
}

impl Settings {
    pub(super) fn read(form: &Form) -> Outcome<Self> {
        Ok(Self {
            cpu: within(form, ("cpu", "cpu"), (100, 300), "millicpu")?,
            memory: within(form, ("memory_size", "memory"), (MEMORY_BYTES, 134_217_728), "bytes")?,
            timeout: within(form, ("timeout", "timeout"), (1, 300), "seconds")?,
        })
    }

    /// With what is usual where nothing was said.
    pub(super) fn or_usual(self) -> Self {
        Self {
            cpu: self.cpu.or(Some(CPU)),
            memory: self.memory.or(Some(MEMORY_BYTES)),
            timeout: self.timeout.or(Some(TIMEOUT_SECONDS)),
        }
    }

    /// How such a function is run: each execution in a worker of its own, as Qinling promises.
    pub(super) fn run(&self, language: RuntimeKind) -> RunSettings {
        let mut run = RunSettings {
            timeout_ms: self.timeout.map(|seconds| seconds * 1000),
            memory_bytes: self.memory.map(|bytes| bytes + interpreter_bytes(language)),
            cpu_millis: self.cpu.and_then(|cpu| u32::try_from(cpu).ok()),
            ..RunSettings::default()
        };
        if !run.is_default() {
            (run.concurrency, run.requests_per_worker) = (Some(1), Some(1));
        }
        run
    }

    pub(super) fn notes(&self) -> Notes {
        self.memory.map(|bytes| (MEMORY.to_owned(), bytes.to_string())).into_iter().collect()
    }
}

/// A number within its range.
fn within(
    form: &Form,
    (field, name): (&str, &str),
    (min, max): (u64, u64),
    unit: &str,
) -> Outcome<Option<u64>> {
    let Some(text) = form.text(field) else { return Ok(None) };
    let Ok(number) = text.trim().parse::<i64>() else {
        let text = format!("Invalid {name} resource specified. An integer is required.");
        return Err(Fault::invalid(text));
    };
    match u64::try_from(number) {
        Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
        _ => Err(Fault::invalid(format!(
            "{name} resource limitation not within the allowable range: {min} ~ {max}({unit})."
        ))),
    }
}
