//! Makes the named types of one version from its schemas.
//!
//! Works through a queue, so that no schema is too deep for the stack, and in an order that the
//! schemas alone decide, so that names never depend on chance. Start at [`Lowering::finish`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::documents::{Node, Place};
use super::flat::{Flat, Kind, Peeled, Reader, merge};
use super::union::{Tagged, tagged};
use super::view::{forbidden, kind, nullable, texts};
use crate::error::Error;
use crate::ir::{Api, Definition, Object, Property, Resource, Shape, Type, TypeId};
use crate::naming::pascal;
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
    /// Where.
    pub place: Place,
    /// What was done instead, and why.
    pub text: String,
}

/// One version on its way from schemas to types.
pub struct Lowering<'a, 'd> {
    reader: Reader<'a>,
    directives: &'d mut Directives,
    version: Version,
    ids: BTreeMap<Place, TypeId>,
    taken: BTreeMap<String, Place>,
    reserved: BTreeSet<String>,
    queue: VecDeque<(TypeId, Pending<'a>)>,
    tags: Vec<(TypeId, String, String)>,
    keys: Vec<(TypeId, Vec<&'a str>, Place)>,
    api: Api,
    notes: BTreeSet<Note>,
}

/// A type that has its name but not yet its shape.
struct Pending<'a> {
    flat: Flat<'a>,
    place: Place,
    without: Vec<String>,
}

/// The most values an enum has before nobody would read it.
const ENUM_MAX: usize = 4096;

/// The deepest nesting of lists and maps in one type.
const NESTING_MAX: usize = 32;

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
        }
    }

    /// Keeps the names of a file's definitions from being taken by types without a name.
    pub fn reserve(&mut self, file: &Node<'a>) {
        for table in ["definitions", "$defs"] {
            self.reserved.extend(file.table(table).iter().map(|(name, _)| pascal(name)));
        }
    }

    /// Adds a resource.
    pub fn add(&mut self, root: Root<'a>) -> Result<(), Error> {
        let peeled = self.reader.peel(root.node)?;
        let name = if peeled.named {
            self.definition_name(&peeled.node.place)
        } else if self.reserved.contains(&pascal(&root.kind)) {
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
            self.note(&pending.place, "no property tells the choices apart: kept unread");
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
            let (ty, nullable) = if opaque {
                self.directives.used.insert(key.clone());
                (Type::Any, false)
            } else {
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
                constant: None,
                recursive: false,
            });
        }
        self.distinct_names(id, pending, &properties)?;
        let keys = pending.flat.keys.iter().map(|key| (*key).to_owned()).collect();
        Ok(Shape::Object(Object { properties, keys }))
    }

    fn distinct_names(
        &self,
        id: &TypeId,
        pending: &Pending<'a>,
        properties: &[Property],
    ) -> Result<(), Error> {
        let mut names = BTreeMap::new();
        for property in properties {
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

    fn property_type(&mut self, nodes: &[Node<'a>], name: String) -> Result<(Type, bool), Error> {
        let mut peeled = Vec::new();
        for node in nodes {
            let found = self.reader.peel(node.clone())?;
            if !peeled.iter().any(|other: &Peeled<'_>| other.node.place == found.node.place) {
                peeled.push(found);
            }
        }
        if let [_] = peeled.as_slice() {
            return self.value_type(nodes[0].clone(), name, &mut Vec::new());
        }
        let flat = self.reader.flatten_all(nodes)?;
        let nullable = nullable(&flat) || peeled.iter().any(|found| found.nullable);
        let place = nodes[0].place.clone();
        let ty = self.typed(Pending::new(flat, place), (name, false), &mut Vec::new())?;
        Ok((ty, nullable))
    }

    /// The type of a value and whether it may be `null`. `trail` holds the lists and maps around
    /// it: a type that is a list of itself has no end.
    fn value_type(
        &mut self,
        node: Node<'a>,
        name: String,
        trail: &mut Vec<Place>,
    ) -> Result<(Type, bool), Error> {
        let peeled = self.reader.peel(node)?;
        let place = peeled.node.place;
        if trail.contains(&place) || trail.len() > NESTING_MAX {
            return Err(Error::schema(
                &place,
                "the type is a list or map of itself without end",
                "let the cycle pass through a property of an object, or mark the property `opaque`",
            ));
        }
        let flat = self.reader.flatten(&Node { value: peeled.node.value, place: place.clone() })?;
        let nullable = nullable(&flat) || peeled.nullable;
        if let Some(id) = self.ids.get(&place) {
            return Ok((Type::Named(id.clone()), nullable));
        }
        trail.push(place.clone());
        let name = if peeled.named { self.definition_name(&place) } else { name };
        let ty = self.typed(Pending::new(flat, place), (name, peeled.named), trail)?;
        trail.pop();
        Ok((ty, nullable))
    }

    fn typed(
        &mut self,
        pending: Pending<'a>,
        (name, named): (String, bool),
        trail: &mut Vec<Place>,
    ) -> Result<Type, Error> {
        let flat = &pending.flat;
        if flat.free {
            return Ok(Type::Any);
        }
        readable(&pending)?;
        if texts(flat).is_some() {
            return Ok(Type::Named(self.queued(pending, name, named)?));
        }
        if !flat.choices.is_empty() {
            return self.choice(pending, (name, named), trail);
        }
        Ok(match kind(flat) {
            Some(Kind::String) => Type::String,
            Some(Kind::Integer) => Type::Integer,
            Some(Kind::Number) => Type::Number,
            Some(Kind::Boolean) => Type::Boolean,
            Some(Kind::Array) => {
                let item = self.part(&flat.items, name, trail)?;
                if let (Type::Named(id), false) = (&item, flat.item_keys.is_empty()) {
                    let keys = flat.item_keys.clone();
                    self.keys.push((id.clone(), keys, pending.place.clone()));
                }
                Type::List(Box::new(item))
            }
            Some(Kind::Object) if !flat.properties.is_empty() => {
                Type::Named(self.queued(pending, name, named)?)
            }
            Some(Kind::Object) if !flat.additional.is_empty() => {
                Type::Map(Box::new(self.part(&flat.additional.clone(), name, trail)?))
            }
            Some(Kind::Object) if named => Type::Named(self.queued(pending, name, named)?),
            Some(Kind::Object | Kind::Null) | None => Type::Any,
        })
    }

    /// The type of a list's items or a map's values. One that may be `null` is free JSON.
    fn part(
        &mut self,
        nodes: &[Node<'a>],
        name: String,
        trail: &mut Vec<Place>,
    ) -> Result<Type, Error> {
        let Some(node) = nodes.first() else { return Ok(Type::Any) };
        if nodes.len() > 1 {
            self.note(&node.place, "items with several schemas are free JSON");
            return Ok(Type::Any);
        }
        let (ty, nullable) = self.value_type(node.clone(), name, trail)?;
        Ok(if nullable { Type::Any } else { ty })
    }

    fn choice(
        &mut self,
        mut pending: Pending<'a>,
        (name, named): (String, bool),
        trail: &mut Vec<Place>,
    ) -> Result<Type, Error> {
        if tagged(&self.reader, &pending.flat)?.is_some() {
            return Ok(Type::Named(self.queued(pending, name, named)?));
        }
        let choices: Vec<_> = pending.flat.choices.iter().flatten().cloned().collect();
        if let [only] = choices.as_slice() {
            let inner = self.reader.flatten(only)?;
            pending.flat.choices.clear();
            pending.flat = merge(pending.flat, inner)?;
            return self.typed(pending, (name, named), trail);
        }
        let mut strings = true;
        for choice in &choices {
            let flat = self.reader.flatten(choice)?;
            strings &= kind(&flat) == Some(Kind::String) && flat.choices.is_empty();
        }
        if strings {
            return Ok(Type::String);
        }
        self.note(&pending.place, "no property tells the choices apart: free JSON");
        Ok(Type::Any)
    }

    fn queued(&mut self, pending: Pending<'a>, name: String, named: bool) -> Result<TypeId, Error> {
        if let Some(id) = self.ids.get(&pending.place) {
            return Ok(id.clone());
        }
        let id = self.claim(&pending.place, name, named)?;
        self.queue.push_back((id.clone(), pending));
        Ok(id)
    }

    fn claim(&mut self, place: &Place, name: String, named: bool) -> Result<TypeId, Error> {
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

    fn definition_name(&mut self, place: &Place) -> String {
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

    fn note(&mut self, place: &Place, text: &str) {
        self.notes.insert(Note { place: place.clone(), text: text.to_owned() });
    }
}

impl<'a> Pending<'a> {
    fn new(flat: Flat<'a>, place: Place) -> Self {
        Self { flat, place, without: Vec::new() }
    }
}

/// Refuses an enum with more values than anybody would read.
fn readable(pending: &Pending<'_>) -> Result<(), Error> {
    let count = pending.flat.values.as_ref().map_or(0, |(values, _)| values.len());
    if count <= ENUM_MAX {
        return Ok(());
    }
    Err(Error::schema(
        &pending.place,
        format!("the enum has {count} values, more than {ENUM_MAX}"),
        "mark the property `opaque`, or let the schema say only `type: string`",
    ))
}
