//! Makes the named types of one version from its schemas.
//!
//! Works through a queue, so that no schema is too deep for the stack, and in an order that the
//! schemas alone decide, so that names never depend on chance. Start at [`Lowering::finish`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::documents::{Node, Place};
use super::flat::{Flat, Reader, Unread, says_something};
use super::union::{Tagged, tagged};
use super::value::Typed;
use super::view::{forbidden, texts};
use crate::error::Error;
use crate::ir::{Api, Definition, Object, Property, Resource, Shape, Type, TypeId};
use crate::naming::pascal;
use crate::naming::reserved::free_type;
use crate::shape;
use crate::version::Version;

/// What the configuration says about names and depth, and which of it was of use.
#[derive(Debug, Default)]
pub struct Directives {
    /// Properties whose values are kept as free JSON, by type and wire name.
    pub opaque: BTreeSet<(String, String)>,
    /// Rust names of definitions, by the schema's name.
    pub type_names: BTreeMap<String, String>,
    /// Rust names of fields, by type and wire name.
    pub field_names: BTreeMap<(String, String), String>,
    /// The entries that were of use: a type, and a property or nothing.
    pub used: BTreeSet<(String, String)>,
}

/// A schema that describes a resource.
#[derive(Clone, Debug)]
pub struct Root<'a> {
    /// The resource's kind.
    pub kind: String,
    /// Its schema.
    pub node: Node<'a>,
    /// The properties that only say what the document is, with their values.
    pub identity: Vec<(String, String)>,
    /// Other properties that are not part of the resource.
    pub without: Vec<String>,
}

/// Something in a schema that was not taken as it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The version whose schema it is.
    pub version: Version,
    /// Where.
    pub place: Place,
    /// The type it concerns.
    pub ty: String,
    /// The property of the type, as documents name it; empty if it is the whole type.
    pub property: String,
    /// What was done instead, and why.
    pub text: String,
}

/// One version on its way from schemas to types.
pub struct Lowering<'a, 'd> {
    pub(super) reader: Reader<'a>,
    directives: &'d mut Directives,
    version: Version,
    pub(super) ids: BTreeMap<Place, TypeId>,
    taken: BTreeMap<String, Place>,
    reserved: BTreeSet<String>,
    queue: VecDeque<(TypeId, Pending<'a>)>,
    tags: Vec<(TypeId, String, String)>,
    pub(super) keys: Vec<(TypeId, Vec<&'a str>, Place)>,
    api: Api,
    notes: BTreeSet<Note>,
    /// The type and the property that are being read, for notes.
    subject: (String, String),
}

/// A type that has its name but not yet its shape.
pub(super) struct Pending<'a> {
    pub(super) flat: Flat<'a>,
    pub(super) place: Place,
    without: Vec<String>,
}

impl<'a, 'd> Lowering<'a, 'd> {
    /// Starts on one version.
    pub fn new(reader: Reader<'a>, version: Version, directives: &'d mut Directives) -> Self {
        Self {
            reader,
            directives,
            version,
            ids: BTreeMap::new(),
            taken: BTreeMap::new(),
            reserved: BTreeSet::new(),
            queue: VecDeque::new(),
            tags: Vec::new(),
            keys: Vec::new(),
            api: Api::default(),
            notes: BTreeSet::new(),
            subject: Default::default(),
        }
    }

    /// Keeps the names of a file's definitions from being taken by types without a name.
    pub fn reserve(&mut self, file: &Node<'a>) {
        for table in ["definitions", "$defs"] {
            let names = file.table(table).into_iter();
            self.reserved.extend(names.map(|(name, _)| free_type(pascal(name))));
        }
    }

    /// Adds a resource.
    pub fn add(&mut self, root: Root<'a>) -> Result<(), Error> {
        let peeled = self.reader.peel(root.node)?;
        let name = if peeled.named {
            self.definition_name(&peeled.node.place)
        } else if self.reserved.contains(&free_type(pascal(&root.kind))) {
            format!("{}Resource", pascal(&root.kind))
        } else {
            pascal(&root.kind)
        };
        let flat = self.reader.flatten(&peeled.node)?;
        if flat.properties.is_empty() && flat.choices.is_empty() {
            return Err(Error::schema(
                &peeled.node.place,
                format!("the resource `{}` is not an object with properties", root.kind),
                "give it `type: object` and `properties`, or exclude the kind",
            ));
        }
        let id = self.claim(&peeled.node.place, name, peeled.named)?;
        let identity: Vec<_> = root.identity.iter().map(|(name, _)| name.clone()).collect();
        let without = identity.into_iter().chain(root.without).collect();
        let place = peeled.node.place;
        self.queue.push_back((id.clone(), Pending { flat, place, without }));
        let resource = Resource { kind: root.kind.clone(), root: id, identity: root.identity };
        self.api.resources.insert(root.kind, resource);
        Ok(())
    }

    /// Gives every type its shape.
    pub fn finish(mut self) -> Result<(Api, BTreeSet<Note>), Error> {
        while let Some((id, pending)) = self.queue.pop_front() {
            let shape = self.shape(&id, &pending)?;
            let doc = pending.flat.doc.trim().to_owned();
            self.api.definitions.insert(id.name.clone(), Definition { id, doc, shape });
        }
        for (arm, tag, value) in &self.tags {
            let definition = self.api.definitions.get_mut(&arm.name);
            let Some(Shape::Object(object)) = definition.map(|found| &mut found.shape) else {
                continue;
            };
            for property in object.properties.iter_mut().filter(|found| found.wire == *tag) {
                property.ty = Type::String;
                property.constant = Some(value.clone());
            }
        }
        self.set_keys()?;
        shape::prune(&mut self.api);
        Ok((self.api, self.notes))
    }

    /// Tells the types of list items what their lists say about them.
    fn set_keys(&mut self) -> Result<(), Error> {
        for (item, keys, place) in &self.keys {
            let definition = self.api.definitions.get_mut(&item.name);
            let Some(Shape::Object(object)) = definition.map(|found| &mut found.shape) else {
                continue;
            };
            let is_there = |key: &&&str| object.properties.iter().any(|it| it.wire == **key);
            if let Some(missing) = keys.iter().find(|key| !is_there(key)) {
                return Err(Error::schema(
                    place,
                    format!("its items are told apart by `{missing}`, which they do not have"),
                    "correct `x-kubernetes-list-map-keys`, or give the items the property",
                ));
            }
            object.keys = keys.iter().map(|key| (*key).to_owned()).collect();
        }
        Ok(())
    }

    fn shape(&mut self, id: &TypeId, pending: &Pending<'a>) -> Result<Shape, Error> {
        let flat = &pending.flat;
        if let Some(values) = texts(flat) {
            return Ok(Shape::Enum(shape::enumeration(&values)));
        }
        if !flat.choices.is_empty() {
            if let Some(tagged) = tagged(&self.reader, flat)? {
                return self.union(id, pending, tagged);
            }
            self.subject = (id.name.clone(), String::new());
            self.note(&pending.place, "no property tells its choices apart: they are not read");
        }
        self.object(id, pending)
    }

    fn union(
        &mut self,
        id: &TypeId,
        union: &Pending<'a>,
        tagged: Tagged<'a>,
    ) -> Result<Shape, Error> {
        let mut arms = Vec::new();
        for (value, arm) in tagged.arms {
            let (place, name, named) = match arm.definition {
                Some(node) => {
                    let name = self.definition_name(&node.place);
                    (node.place, name, true)
                }
                None => {
                    let name = format!("{}{}", id.name, pascal(value));
                    (union.place.at("arm").at(value), name, false)
                }
            };
            let pending = Pending { flat: arm.flat, place, without: union.without.clone() };
            let ty = self.queued(pending, name, named)?;
            self.tags.push((ty.clone(), tagged.tag.to_owned(), value.to_owned()));
            arms.push((value, ty));
        }
        Ok(Shape::Union(shape::union(tagged.tag, arms)))
    }

    fn object(&mut self, id: &TypeId, pending: &Pending<'a>) -> Result<Shape, Error> {
        let mut properties = Vec::new();
        for (wire, nodes) in &pending.flat.properties {
            if pending.without.iter().any(|name| name == wire) || forbidden(nodes) {
                continue;
            }
            let key = (id.name.clone(), (*wire).to_owned());
            let opaque = self.directives.opaque.contains(&key);
            let Typed { ty, nullable, limits } = if opaque {
                self.directives.used.insert(key.clone());
                Typed::free()
            } else {
                self.subject = key.clone();
                self.property_type(nodes, format!("{}{}", id.name, pascal(wire)))?
            };
            let doc = nodes.iter().map(|node| node.text("description").trim());
            properties.push(Property {
                wire: (*wire).to_owned(),
                name: self.field_name(&key),
                doc: doc.into_iter().find(|doc| !doc.is_empty()).unwrap_or_default().to_owned(),
                ty,
                required: pending.flat.required.contains(wire),
                nullable,
                limits,
                constant: None,
                recursive: false,
            });
        }
        self.distinct_names(id, pending, &properties)?;
        self.note_unread(id, pending);
        let limits = pending.flat.limits.clone();
        let keys = pending.flat.keys.iter().map(|key| (*key).to_owned()).collect();
        Ok(Shape::Object(Object { properties, keys, limits }))
    }

    /// Notes what an object says of properties it does not name.
    fn note_unread(&mut self, id: &TypeId, pending: &Pending<'a>) {
        self.subject = (id.name.clone(), String::new());
        let flat = &pending.flat;
        if flat.unread.contains(&Unread::Patterns) {
            self.note(&pending.place, "properties by pattern are kept without being read");
        }
        if !flat.properties.is_empty() && flat.additional.iter().any(says_something) {
            self.note(&pending.place, "further properties are kept without being read");
        }
    }

    fn distinct_names(
        &self,
        id: &TypeId,
        pending: &Pending<'a>,
        properties: &[Property],
    ) -> Result<(), Error> {
        let mut names = BTreeMap::new();
        for property in properties {
            if property.wire == "$bag" {
                return Err(Error::schema(
                    &pending.place,
                    format!("`{}` has a property `$bag`, as every stored object has", id.name),
                    "give the property another name in the schema, or exclude the kind",
                ));
            }
            if let Some(other) = names.insert(&property.name, &property.wire) {
                return Err(Error::schema(
                    &pending.place,
                    format!(
                        "properties `{other}` and `{}` of `{}` would both be the field `{}`",
                        property.wire, id.name, property.name
                    ),
                    format!(
                        "give one its own with [[name]] type = \"{}\", property = \"{}\", \
                         name = \"…\"",
                        id.name, property.wire
                    ),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn queued(
        &mut self,
        pending: Pending<'a>,
        name: String,
        named: bool,
    ) -> Result<TypeId, Error> {
        if let Some(id) = self.ids.get(&pending.place) {
            return Ok(id.clone());
        }
        let id = self.claim(&pending.place, name, named)?;
        self.queue.push_back((id.clone(), pending));
        Ok(id)
    }

    fn claim(&mut self, place: &Place, name: String, named: bool) -> Result<TypeId, Error> {
        let name = free_type(name);
        let free = |name: &String| !self.taken.contains_key(name) && !self.reserved.contains(name);
        let name = if named || free(&name) {
            name
        } else {
            let numbered = (2_usize..).map(|number| format!("{name}{number}"));
            numbered.into_iter().find(free).expect("there are more numbers than names")
        };
        if let Some(other) = self.taken.insert(name.clone(), place.clone()) {
            return Err(Error::schema(
                place,
                format!("its type would be `{name}`, as is that of {other}"),
                format!("give one its own with [[name]] type = \"{}\", name = \"…\"", place.name()),
            ));
        }
        let id = TypeId { since: self.version.clone(), name };
        self.ids.insert(place.clone(), id.clone());
        Ok(id)
    }

    pub(super) fn definition_name(&mut self, place: &Place) -> String {
        let own = place.name();
        match self.directives.type_names.get(&own) {
            Some(name) => {
                self.directives.used.insert((own, String::new()));
                name.clone()
            }
            None => pascal(&own),
        }
    }

    fn field_name(&mut self, key: &(String, String)) -> String {
        match self.directives.field_names.get(key) {
            Some(name) => {
                self.directives.used.insert(key.clone());
                name.clone()
            }
            None => crate::naming::snake(&key.1),
        }
    }

    pub(super) fn note(&mut self, place: &Place, text: &str) {
        let (ty, property) = self.subject.clone();
        let (version, place, text) = (self.version.clone(), place.clone(), text.to_owned());
        self.notes.insert(Note { version, place, ty, property, text });
    }
}

impl<'a> Pending<'a> {
    pub(super) fn new(flat: Flat<'a>, place: Place) -> Self {
        Self { flat, place, without: Vec::new() }
    }
}
