//! The types of one version: objects, enums and unions.

use super::code::{Code, literal};
use super::docs;
use super::names::{Names, field};
use crate::ir::{Definition, Enum, Property, Shape, TypeId, Union};

/// Writes a type of a version.
pub(super) fn write(code: &mut Code, names: &Names<'_>, definition: &Definition) {
    match &definition.shape {
        Shape::Object(_) => object(code, names, definition),
        Shape::Enum(shape) => enumeration(code, definition, shape),
        Shape::Union(shape) => union(code, names, definition, shape),
    }
}

fn object(code: &mut Code, names: &Names<'_>, definition: &Definition) {
    let properties = names.properties(&definition.id);
    docs::write(code, &definition.id.name, &definition.doc);
    code.line("#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]");
    let renaming = Renaming::of(&properties);
    if let Some(attribute) = renaming.attribute() {
        code.line(&format!("#[serde({attribute})]"));
    }
    code.block(&format!("pub struct {} {{", definition.id.name), "}", |code| {
        for property in properties {
            docs::write(code, &property.wire, &property.doc);
            attributes(code, spoke_attributes(property, renaming));
            let value = inner(names.spoke_type_within(&property.ty, &definition.id), property);
            let value = if is_plain(property) { value } else { format!("Field<{value}>") };
            code.line(&format!("pub {}: {value},", field(property)));
        }
        code.line("/// What the schema does not list.");
        code.line("#[serde(flatten)]");
        code.line("pub unknown: Object,");
    });
}

/// Whether every value has the property, and never `null`.
pub(super) const fn is_plain(property: &Property) -> bool {
    property.required && !property.nullable
}

/// The type of a property's value, behind an indirection where the type needs one.
pub(super) fn inner(value: String, property: &Property) -> String {
    if property.recursive { format!("Box<{value}>") } else { value }
}

fn spoke_attributes(property: &Property, renaming: Renaming) -> Vec<String> {
    let mut attributes = Vec::from_iter(renaming.of_field(property));
    if !property.required {
        attributes.push("default".to_owned());
    }
    if !is_plain(property) {
        attributes.push("skip_serializing_if = \"Field::is_absent\"".to_owned());
    }
    attributes
}

pub(super) fn attributes(code: &mut Code, attributes: Vec<String>) {
    if !attributes.is_empty() {
        code.line(&format!("#[serde({})]", attributes.join(", ")));
    }
}

/// How the names of an object's fields become those of its properties.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Renaming {
    None,
    CamelCase,
}

impl Renaming {
    pub(super) fn of(properties: &[&Property]) -> Self {
        let is_camel = |it: &&&Property| it.wire != it.name && it.wire == camel_case(&it.name);
        if properties.iter().any(|it| is_camel(&it)) { Self::CamelCase } else { Self::None }
    }

    pub(super) const fn attribute(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::CamelCase => Some("rename_all = \"camelCase\""),
        }
    }

    /// The attribute of a field whose name becomes another.
    pub(super) fn of_field(self, property: &Property) -> Option<String> {
        let field = field(property);
        let field = field.trim_start_matches("r#");
        let written = match self {
            Self::None => field.to_owned(),
            Self::CamelCase => camel_case(field),
        };
        (written != property.wire).then(|| format!("rename = {}", literal(&property.wire)))
    }
}

/// What serde makes of a field's name: a capital after every underscore, a small letter first.
fn camel_case(field: &str) -> String {
    let mut text = String::new();
    let mut is_start = true;
    for letter in field.chars() {
        match letter {
            '_' => is_start = true,
            _ if is_start => {
                text.push(letter.to_ascii_uppercase());
                is_start = false;
            }
            _ => text.push(letter),
        }
    }
    text[..1].to_ascii_lowercase() + &text[1..]
}

fn enumeration(code: &mut Code, definition: &Definition, shape: &Enum) {
    code.block("hub::open_enum! {", "}", |code| {
        docs::write(code, &definition.id.name, &definition.doc);
        let start = format!("pub enum {} {{", definition.id.name);
        code.block(&start, "}", |code| {
            for value in &shape.values {
                code.line(&format!("{} = {},", variant(&value.name), literal(&value.wire)));
            }
        });
    });
}

/// The name of a variant; that of what is not listed and that of the list are ours.
pub(super) fn variant(name: &str) -> String {
    if matches!(name, "LISTED" | "Self" | "Unlisted") {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

fn union(code: &mut Code, names: &Names<'_>, definition: &Definition, shape: &Union) {
    let arm = |ty: &TypeId| names.spoke(ty, &definition.id.since);
    open_union(code, definition, shape, &definition.id.name, &arm);
}

/// Writes a union under a name, with arms of the given types.
pub(super) fn open_union(
    code: &mut Code,
    definition: &Definition,
    shape: &Union,
    name: &str,
    arm_type: &dyn Fn(&TypeId) -> String,
) {
    code.block("hub::open_union! {", "}", |code| {
        docs::write(code, &definition.id.name, &definition.doc);
        let start = format!("pub enum {name} by {} {{", literal(&shape.tag));
        code.block(&start, "}", |code| {
            for arm in &shape.arms {
                let ty = arm_type(&arm.ty);
                let ty = if arm.recursive { format!("Box<{ty}>") } else { ty };
                code.line(&format!("{}({ty}) = {},", variant(&arm.name), literal(&arm.value)));
            }
        });
    });
}
