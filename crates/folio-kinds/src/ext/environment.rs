//! An environment of Fission's: images say what runs and builds code. folio pulls none: a
//! well-known image stands for a runtime of folio's own, and all of it is kept.

use folio_model::{RuntimeKind, image};
use hub::{Augment, Bag, Field, Object, Result, Symbol};

use super::lens::{self, Lens};
use crate::generated::kinds::fission_io_v1::{
    EnvironmentSpec, EnvironmentSpecBuilder, EnvironmentSpecRuntime,
};
use crate::generated::kinds::storage;

const RUNTIME: &str = "runtime@fission.io/v1";
const VERSION: &str = "version@fission.io/v1";

/// The version of the contract between platform and environment that folio keeps.
const CONTRACT: i64 = 3;

impl Augment<storage::EnvironmentSpec> for EnvironmentSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn assign_to(&self, hub: &mut storage::EnvironmentSpec) -> Result<()> {
        let bag = &mut hub.bag;
        runtime_up(&self.runtime, &mut hub.runtime, &mut hub.image, bag)?;
        hub.builder = lens::up::<Builder>(&self.builder, bag)?;
        hub.network = lens::up::<Network>(&self.allow_access_to_external_network, bag)?;
        if self.version != CONTRACT {
            bag.insert(VERSION, self.version.into());
        }
        Ok(())
    }

    fn assign_from(&mut self, hub: &storage::EnvironmentSpec) -> Result<()> {
        let bag = &hub.bag;
        let kept: Field<EnvironmentSpecRuntime> = lens::kept(bag, RUNTIME)?;
        let mut runtime = kept.into_value().unwrap_or_else(|| of_image(String::new()));
        runtime.image = image_of(hub);
        self.runtime = runtime;
        self.builder = lens::down::<Builder>(&hub.builder, bag)?;
        self.allow_access_to_external_network = lens::down::<Network>(&hub.network, bag)?;
        self.version = lens::kept(bag, VERSION)?.into_value().unwrap_or(CONTRACT);
        Ok(())
    }

    fn complete(stored: &storage::EnvironmentSpec, new: &mut storage::EnvironmentSpec) {
        if image_of(stored) == image_of(new) {
            new.image = stored.image.clone();
            new.runtime = stored.runtime.clone();
        } else if new.runtime.is_absent() {
            // Another image of the same server says nothing new about what starts it.
            new.runtime = stored.runtime.clone();
        }
        lens::overlay::<Builder>(&stored.builder, &mut new.builder);
        lens::overlay::<Network>(&stored.network, &mut new.network);
    }
}

fn runtime_up(
    spoke: &EnvironmentSpecRuntime,
    runtime: &mut Field<Symbol>,
    image: &mut Field<String>,
    bag: &mut Bag,
) -> Result<()> {
    if !spoke.image.is_empty() {
        *image = Field::Value(spoke.image.clone());
    }
    if let Some(kind) = image::runtime(&spoke.image) {
        *runtime = Field::Value(Symbol::Borrowed(word(kind)));
    }
    if of_image(spoke.image.clone()) != *spoke {
        bag.put(RUNTIME, Field::Value(spoke.clone()))?;
    }
    Ok(())
}

/// The image that an environment names, or the one that stands for its runtime.
fn image_of(hub: &storage::EnvironmentSpec) -> String {
    if let Some(image) = hub.image.value() {
        return image.clone();
    }
    let image = match hub.runtime.value().map(AsRef::as_ref) {
        Some("nodejs") => "fission/node-env",
        Some("python") => "fission/python-env",
        Some("binary") => "fission/binary-env",
        Some("wasm") => "fission/wasm-env",
        _ => "",
    };
    image.to_owned()
}

fn word(kind: RuntimeKind) -> &'static str {
    match kind {
        RuntimeKind::Wasm => "wasm",
        RuntimeKind::Nodejs => "nodejs",
        RuntimeKind::Python => "python",
        RuntimeKind::Binary => "binary",
        RuntimeKind::Command => "command",
    }
}

fn of_image(image: String) -> EnvironmentSpecRuntime {
    EnvironmentSpecRuntime {
        container: Field::Absent,
        image,
        podspec: Field::Absent,
        unknown: Object::new(),
    }
}

/// The command that builds packages; the rest is kept.
struct Builder;

impl Lens for Builder {
    type Spoke = EnvironmentSpecBuilder;
    type Hub = String;
    const KEY: &'static str = "builder@fission.io/v1";

    fn up(spoke: &EnvironmentSpecBuilder) -> Option<String> {
        spoke.command.value().filter(|command| !command.is_empty()).cloned()
    }

    fn down(
        command: &String,
        kept: Option<EnvironmentSpecBuilder>,
    ) -> Option<EnvironmentSpecBuilder> {
        if command.is_empty() {
            return None;
        }
        let kept = kept.unwrap_or_else(|| EnvironmentSpecBuilder {
            command: Field::Absent,
            container: Field::Absent,
            image: Field::Absent,
            podspec: Field::Absent,
            unknown: Object::new(),
        });
        Some(EnvironmentSpecBuilder { command: Field::Value(command.clone()), ..kept })
    }
}

/// Whether other hosts can be reached; where Fission says nothing, they cannot.
struct Network;

impl Lens for Network {
    type Spoke = bool;
    type Hub = Symbol;
    const KEY: &'static str = "allowAccessToExternalNetwork@fission.io/v1";

    fn up(allowed: &bool) -> Option<Symbol> {
        Some(Symbol::Borrowed(if *allowed { "egress" } else { "none" }))
    }

    fn down(network: &Symbol, kept: Option<bool>) -> Option<bool> {
        match network.as_ref() {
            "egress" => Some(true),
            "none" => kept.filter(|allowed| !allowed),
            _ => None,
        }
    }
}
