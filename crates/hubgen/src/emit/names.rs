//! Names in Rust: of modules, types, fields and markers, where they must not be a keyword, one of
//! the names the generated code uses itself, or a name twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Definition, Object, Property, Shape, Type, TypeId};
use crate::naming::{distinct, reserved};
use crate::plan::{Change, Pair, PairId, Plan};
use crate::version::Version;

/// The markers of changed properties, by pair and by the change's own name.
type Markers<'a> = BTreeMap<&'a PairId, BTreeMap<&'a str, String>>;

/// The names in Rust of everything in a plan.
pub(super) struct Names<'a> {
    plan: &'a Plan,
    modules: BTreeMap<&'a Version, String>,
    stored: BTreeMap<&'a TypeId, String>,
    markers: Markers<'a>,
}

impl<'a> Names<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let modules = plan.group.versions.keys().map(|it| (it, it.module())).collect();
        let stored = stored(&plan.storage);
        let markers = markers(plan, &stored);
        Self { plan, modules, stored, markers }
    }

    /// The module of a version.
    pub(super) fn module(&self, version: &Version) -> &str {
        &self.modules[version]
    }

    /// The marker of a changed property in the module `change` of its version.
    pub(super) fn marker(&self, id: &PairId, change: &Change) -> &str {
        &self.markers[id][change.name.as_str()]
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
            return id.name.clone();
        }
        format!("super::{}::{}", self.module(&id.since), id.name)
    }

    /// A spoke type as the modules beside the versions write it.
    pub(super) fn spoke_path(&self, id: &TypeId) -> String {
        format!("{}::{}", self.module(&id.since), id.name)
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

/// The name of a field.
pub(super) fn field(property: &Property) -> String {
    let name = property.name.as_str();
    if reserved::is_keyword(name) {
        return format!("r#{name}");
    }
    let is_taken = reserved::is_path(name) || reserved::is_used_field(name);
    if is_taken { format!("{name}_") } else { name.to_owned() }
}

/// The newest type of a name has the name; older ones that are stored too carry their version.
fn stored(storage: &BTreeSet<TypeId>) -> BTreeMap<&TypeId, String> {
    let mut newest: BTreeMap<&str, &TypeId> = BTreeMap::new();
    for id in storage {
        newest.entry(&id.name).and_modify(|it| *it = (*it).max(id)).or_insert(id);
    }
    let mut taken: BTreeSet<String> = newest.keys().map(|name| (*name).to_owned()).collect();
    let mut name = |id: &TypeId| {
        if newest[id.name.as_str()] == id {
            return id.name.clone();
        }
        let version = id.since.as_str();
        let letters = version.split(|letter: char| !letter.is_ascii_alphanumeric());
        let letters: String = letters.map(capitalised).collect();
        let mark = if letters.starts_with('V') { "" } else { "V" };
        distinct(format!("{}{mark}{letters}", id.name), &mut taken)
    };
    storage.iter().map(|id| (id, name(id))).collect()
}

/// The markers of changed properties, distinct in the module of each version: `AB` and `c` would
/// be called as `A` and `bc` are.
fn markers<'a>(plan: &'a Plan, stored: &BTreeMap<&TypeId, String>) -> Markers<'a> {
    let mut times: BTreeMap<&TypeId, usize> = BTreeMap::new();
    plan.pairs.keys().for_each(|id| *times.entry(&id.spoke).or_default() += 1);
    let mut taken: BTreeMap<&Version, BTreeSet<String>> = BTreeMap::new();
    let mut markers = Markers::new();
    for (id, pair) in &plan.pairs {
        let Pair::Object(steps) = pair else { continue };
        let is_stored_twice = times[&id.spoke] > 1;
        let suffix =
            if is_stored_twice { format!("Into{}", stored[&id.hub]) } else { String::new() };
        let taken = taken.entry(&id.spoke.since).or_default();
        for change in steps.iter().filter_map(|step| step.change.as_ref()) {
            let name = distinct(format!("{}{}{suffix}", id.spoke.name, change.name), taken);
            markers.entry(id).or_default().insert(&change.name, name);
        }
    }
    markers
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
