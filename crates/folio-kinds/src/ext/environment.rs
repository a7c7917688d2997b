//! An environment of Fission's: images say what runs and builds code. folio pulls none: a
//! well-known image stands for a runtime of folio's own, and all of it is kept.

use std::mem::{replace, take};

use folio_model::{RuntimeKind, image};
use hub::{Augment, Bag, Field, Object, Result, Spoke as _, Symbol};

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

    fn into_stored(mut self) -> Result<storage::EnvironmentSpec> {
        let runtime = replace(&mut self.runtime, of_image(String::new()));
        let builder = self.builder.take();
        let access = self.allow_access_to_external_network.take();
        let version = self.version;
        let mut hub: storage::EnvironmentSpec = self.up()?;
        let bag = &mut hub.bag;
        runtime_up(runtime, &mut hub.runtime, &mut hub.image, bag);
        hub.builder = lens::up::<Builder>(builder, bag);
        hub.network = lens::up::<Network>(access, bag);
        if version != CONTRACT {
            bag.insert(VERSION, version.into());
        }
        Ok(hub)
    }

    fn from_stored(mut stored: storage::EnvironmentSpec) -> Result<Self> {
        let bag = &mut stored.bag;
        let kept: Field<EnvironmentSpecRuntime> = bag.take(RUNTIME)?;
        let builder = lens::down::<Builder>(&stored.builder, bag)?;
        let allow_access_to_external_network = lens::down::<Network>(&stored.network, bag)?;
        let version = bag.take(VERSION)?.into_value().unwrap_or(CONTRACT);
        let mut runtime = kept.into_value().unwrap_or_else(|| of_image(String::new()));
        runtime.image = match stored.image.take() {
            Field::Value(image) => image,
            Field::Null | Field::Absent => image_of(&stored).to_owned(),
        };
        Ok(Self {
            allow_access_to_external_network,
            builder,
            runtime,
            version,
            ..Self::down(stored)?
        })
    }

    fn complete(stored: &mut storage::EnvironmentSpec, new: &mut storage::EnvironmentSpec) {
        if image_of(stored) == image_of(new) {
            new.image = stored.image.take();
            new.runtime = stored.runtime.take();
        } else if new.runtime.is_absent() {
            // Another image of the same server says nothing new about what starts it.
            new.runtime = stored.runtime.take();
        }
        lens::overlay::<Builder>(&mut stored.builder, &mut new.builder);
        lens::overlay::<Network>(&mut stored.network, &mut new.network);
    }
}

/// Takes the image for the hub, and keeps what it does not say.
fn runtime_up(
    mut spoke: EnvironmentSpecRuntime,
    runtime: &mut Field<Symbol>,
    image: &mut Field<String>,
    bag: &mut Bag,
) {
    if let Some(kind) = image::runtime(&spoke.image) {
        *runtime = Field::Value(Symbol::Borrowed(word(kind)));
    }
    let name = take(&mut spoke.image);
    if !name.is_empty() {
        *image = Field::Value(name);
    }
    if spoke != of_image(String::new()) {
        bag.put(RUNTIME, Field::Value(spoke));
    }
}

/// The image that an environment names, or the one that stands for its runtime.
fn image_of(hub: &storage::EnvironmentSpec) -> &str {
    if let Some(image) = hub.image.value() {
        return image;
    }
    match hub.runtime.value().map(AsRef::as_ref) {
        Some("nodejs") => "fission/node-env",
        Some("python") => "fission/python-env",
        Some("binary") => "fission/binary-env",
        Some("wasm") => "fission/wasm-env",
        _ => "",
    }
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
