//! The module of what is stored: the hub versions' shapes with everything optional, enums as text,
//! and a bag on every object.

use super::code::{Code, literal};
use super::docs;
use super::names::{Names, field};
use super::types::{self, Renaming, inner};
use super::version::finish;
use crate::ir::{Definition, Shape};
use crate::plan::Plan;

pub(super) fn file(plan: &Plan, names: &Names<'_>) -> String {
    let mut code = Code::default();
    for id in &plan.storage {
        let definition = names.definition(id);
        match &definition.shape {
            Shape::Object(_) => object(&mut code, names, definition),
            Shape::Union(shape) => {
                let arm = |ty: &_| names.stored(ty).to_owned();
                types::open_union(&mut code, definition, shape, names.stored(id), &arm);
            }
            // Enums are stored as text.
            Shape::Enum(_) => continue,
        }
        code.blank();
    }
    let title = format!("What is stored of the group `{}`.", plan.group.name);
    finish(plan, &title, code, &[])
}

fn object(code: &mut Code, names: &Names<'_>, definition: &Definition) {
    let properties = names.properties(&definition.id);
    let name = names.stored(&definition.id);
    docs::write(code, name, &definition.doc);
    code.line("#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]");
    let renaming = Renaming::of(&properties);
    let mut attributes = vec!["default".to_owned(), "deny_unknown_fields".to_owned()];
    attributes.extend(renaming.attribute().map(str::to_owned));
    types::attributes(code, attributes);
    code.block(&format!("pub struct {name} {{"), "}", |code| {
        for property in properties {
            docs::write(code, &property.wire, &property.doc);
            let mut attributes = Vec::from_iter(renaming.of_field(property));
            attributes.push("skip_serializing_if = \"Field::is_absent\"".to_owned());
            types::attributes(code, attributes);
            let value = inner(names.stored_type_within(&property.ty, &definition.id), property);
            code.line(&format!("pub {}: Field<{value}>,", field(property)));
        }
        code.line("/// What versions say beyond this.");
        code.line("#[serde(rename = \"$bag\", skip_serializing_if = \"Bag::is_empty\")]");
        code.line("pub bag: Bag,");
    });
    code.blank();
    code.block(&format!("impl Stored for {name} {{"), "}", |code| {
        let version = literal(definition.id.since.as_str());
        code.line(&format!("const VERSION: &'static str = {version};"));
    });
}
