//! Names in Rust: of modules, types and fields, where they must not be a keyword, one of the
//! names the generated code uses itself, or a name twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Definition, Object, Property, Shape, Type, TypeId};
use crate::plan::Plan;
use crate::version::Version;

/// Names that generated code uses: a schema's type of this name is called `…Type`.
const RESERVED_TYPES: &[&str] = &[
    "AugmentHook",
    "BTreeMap",
    "Bag",
    "Box",
    "Change",
    "Default",
    "Deserialize",
    "Err",
    "Field",
    "None",
    "Number",
    "Object",
    "Ok",
    "Option",
    "Probe",
    "Result",
    "Self",
    "Serialize",
    "Some",
    "Spoke",
    "Stored",
    "String",
    "Symbol",
    "Value",
    "Vec",
];

/// Fields that every generated object has.
const RESERVED_FIELDS: &[&str] = &["bag", "unknown"];

/// Words of the language that can be a name as `r#word`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Words of the language that cannot be a name in any way.
const PATHS: &[&str] = &["crate", "self", "super"];

/// The names in Rust of everything in a plan.
pub(super) struct Names<'a> {
    plan: &'a Plan,
    modules: BTreeMap<&'a Version, String>,
    stored: BTreeMap<&'a TypeId, String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let modules = plan.group.versions.keys().map(|it| (it, module(it))).collect();
        Self { plan, modules, stored: stored(&plan.storage) }
    }

    /// The module of a version.
    pub(super) fn module(&self, version: &Version) -> &str {
        &self.modules[version]
    }

    /// The definition of a type.
    pub(super) fn definition(&self, id: &TypeId) -> &'a Definition {
        &self.plan.group.versions[&id.since].definitions[&id.name]
    }

    /// The properties of an object; those with one value, the tags of arms, are left out, because
    /// the union writes them.
    pub(super) fn properties(&self, id: &TypeId) -> Vec<&'a Property> {
        let Shape::Object(Object { properties, .. }) = &self.definition(id).shape else {
            return Vec::new();
        };
        let mut fields: Vec<_> = properties.iter().filter(|it| it.constant.is_none()).collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields
    }

    /// The wire names of the properties that a schema says tell items of this type apart.
    pub(super) fn keys(&self, id: &TypeId) -> &'a [String] {
        match &self.definition(id).shape {
            Shape::Object(object) => &object.keys,
            Shape::Enum(_) | Shape::Union(_) => &[],
        }
    }

    /// A spoke type as the module of `version` writes it.
    pub(super) fn spoke(&self, id: &TypeId, version: &Version) -> String {
        let known = self.plan.group.versions[version].names.get(&id.name) == Some(id);
        if known || id.since == *version {
            return self::type_name(&id.name);
        }
        format!("super::{}::{}", self.module(&id.since), type_name(&id.name))
    }

    /// A spoke type as the modules beside the versions write it.
    pub(super) fn spoke_path(&self, id: &TypeId) -> String {
        format!("{}::{}", self.module(&id.since), type_name(&id.name))
    }

    /// A type that is stored, as its own module writes it.
    pub(super) fn stored(&self, id: &TypeId) -> &str {
        &self.stored[id]
    }

    pub(super) fn is_enum(&self, id: &TypeId) -> bool {
        matches!(self.definition(id).shape, Shape::Enum(_))
    }

    /// The type of values in a version, as the module of `version` writes it.
    pub(super) fn spoke_type(&self, ty: &Type, version: &Version) -> String {
        self.written(ty, &|id| self.spoke(id, version))
    }

    /// The type of values in a version, as the type that has them writes it.
    pub(super) fn spoke_type_within(&self, ty: &Type, owner: &TypeId) -> String {
        self.written(ty, &|id| match id == owner {
            true => "Self".to_owned(),
            false => self.spoke(id, &owner.since),
        })
    }

    /// The type of values in a version, as the modules beside the versions write it.
    pub(super) fn spoke_type_path(&self, ty: &Type) -> String {
        self.written(ty, &|id| self.spoke_path(id))
    }

    /// The type of values in storage, as the modules of versions write it.
    pub(super) fn stored_type(&self, ty: &Type) -> String {
        self.written(ty, &|id| match self.is_enum(id) {
            true => "Symbol".to_owned(),
            false => format!("storage::{}", self.stored(id)),
        })
    }

    /// The type of values in storage, as the type that has them writes it.
    pub(super) fn stored_type_within(&self, ty: &Type, owner: &TypeId) -> String {
        self.written(ty, &|id| match self.is_enum(id) {
            true => "Symbol".to_owned(),
            false if id == owner => "Self".to_owned(),
            false => self.stored(id).to_owned(),
        })
    }

    fn written(&self, ty: &Type, named: &dyn Fn(&TypeId) -> String) -> String {
        match ty {
            Type::String => "String".to_owned(),
            Type::Integer => "i64".to_owned(),
            Type::Number => "Number".to_owned(),
            Type::Boolean => "bool".to_owned(),
            Type::Any => "Value".to_owned(),
            Type::List(item) => format!("Vec<{}>", self.written(item, named)),
            Type::Map(value) => format!("BTreeMap<String, {}>", self.written(value, named)),
            Type::Named(id) => named(id),
        }
    }
}

/// The name of a type: Rust's and generated code's own names are avoided.
pub(super) fn type_name(name: &str) -> String {
    if RESERVED_TYPES.contains(&name) { format!("{name}Type") } else { name.to_owned() }
}

/// The name of a field.
pub(super) fn field(property: &Property) -> String {
    let name = property.name.as_str();
    if KEYWORDS.contains(&name) {
        return format!("r#{name}");
    }
    let is_taken = PATHS.contains(&name) || RESERVED_FIELDS.contains(&name);
    if is_taken { format!("{name}_") } else { name.to_owned() }
}

fn module(version: &Version) -> String {
    let text = version.as_str().replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let text = text.to_ascii_lowercase();
    if text.starts_with(|letter: char| letter.is_ascii_digit()) { format!("v{text}") } else { text }
}

/// The newest type of a name has the name; older ones that are stored too carry their version.
fn stored(storage: &BTreeSet<TypeId>) -> BTreeMap<&TypeId, String> {
    let mut newest: BTreeMap<&str, &TypeId> = BTreeMap::new();
    for id in storage {
        newest.entry(&id.name).and_modify(|it| *it = (*it).max(id)).or_insert(id);
    }
    let name = |id: &TypeId| {
        let name = type_name(&id.name);
        if newest[id.name.as_str()] == id {
            return name;
        }
        let version = id.since.as_str();
        let letters = version.split(|letter: char| !letter.is_ascii_alphanumeric());
        let letters: String = letters.map(capitalised).collect();
        format!("{name}{}{letters}", if letters.starts_with('V') { "" } else { "V" })
    };
    storage.iter().map(|id| (id, name(id))).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
