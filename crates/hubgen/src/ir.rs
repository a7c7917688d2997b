//! The one representation every schema becomes: versions of a group, their resources and types.
//!
//! Plain values without behaviour. Adapters make a [`Group`] from schemas; the stages after them
//! are functions from one `Group` to the next. Nothing here knows a schema language, nor any Rust
//! beyond the names that types and fields will have.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::version::Version;

/// All versions of one API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's name as users write it, such as `library.example`.
    pub name: String,
    /// Every version, oldest first.
    pub versions: BTreeMap<Version, Api>,
}

/// One version of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Api {
    /// The types this version brings, by name: those whose shape no older version has.
    pub definitions: BTreeMap<String, Definition>,
    /// Every type name of this version, and the type that has its shape. A type that an older
    /// version already has in exactly this shape is that older version's type.
    pub names: BTreeMap<String, TypeId>,
    /// The resources this version serves, by kind.
    pub resources: BTreeMap<String, Resource>,
}

/// A type, named by the version that first had its shape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId {
    /// The first version with exactly this shape under this name.
    pub since: Version,
    /// The Rust name of the type: `ClusterProperties`.
    pub name: String,
}

/// A kind of object that users store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind as this version spells it; other versions may use other letter case.
    pub kind: String,
    /// The resource's own type, always an [`Shape::Object`] or a [`Shape::Union`].
    pub root: TypeId,
    /// The properties that say which kind and version a document is, with their values: they are
    /// not part of the root type, and whoever reads or writes documents handles them.
    pub identity: Vec<(String, String)>,
}

/// A named type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name and the version that brought it.
    pub id: TypeId,
    /// What the schema says about it, possibly nothing.
    pub doc: String,
    /// What values it has.
    pub shape: Shape,
}

/// What values a named type has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Named properties; unknown ones are kept.
    Object(Object),
    /// A string with known values; unknown ones are kept.
    Enum(Enum),
    /// One of several objects, told apart by a tag; unknown tags are kept.
    Union(Union),
}

/// What a schema asks of values beyond their type, by keyword: `maxLength`. Generated code keeps
/// documents that break it; only published schemas are compared by it.
pub type Limits = BTreeMap<String, Value>;

/// Named properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// In order of their wire names.
    pub properties: Vec<Property>,
    /// The wire names of the properties that together tell the items of a list apart, where the
    /// schema of the list says so.
    pub keys: Vec<String>,
    /// What is asked of the object as a whole.
    pub limits: Limits,
}

/// One property of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name in documents: `nodeTypes`.
    pub wire: String,
    /// The name of the field, unique in its object and not yet escaped where it is a Rust
    /// keyword: `node_types`.
    pub name: String,
    /// What the schema says about it, possibly nothing.
    pub doc: String,
    /// The type of its values.
    pub ty: Type,
    /// Whether every document has it.
    pub required: bool,
    /// Whether `null` is a value, other than absence.
    pub nullable: bool,
    /// What is asked of its values, and of values inside them by the way there: `[]` for the items
    /// of a list, `{}` for the values of a map.
    pub limits: BTreeMap<String, Limits>,
    /// The one value it has, where it is the tag of a union's arm; its type is then a string.
    pub constant: Option<String>,
    /// Whether its type contains this object again without a list or map between, so that the
    /// field needs an indirection.
    pub recursive: bool,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// Any JSON value, kept as it is.
    Any,
    /// Values of one type in order.
    List(Box<Self>),
    /// Values of one type by free names.
    Map(Box<Self>),
    /// A named type.
    Named(TypeId),
}

/// The known values of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// In the schema's order.
    pub values: Vec<EnumValue>,
}

/// One known value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumValue {
    /// The value in documents.
    pub wire: String,
    /// The Rust name of the variant, unique in its enum: `Bronze`.
    pub name: String,
}

/// Objects told apart by the value of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Union {
    /// The wire name of the property whose value tells the arms apart.
    pub tag: String,
    /// In order of their tag values.
    pub arms: Vec<Arm>,
}

/// One object of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The tag's value in documents.
    pub value: String,
    /// The Rust name of the variant, unique in its union.
    pub name: String,
    /// The arm's type, always an [`Object`] that has every property of the arm: those all arms
    /// share, its own, and the tag as a property with a [`Property::constant`].
    pub ty: TypeId,
    /// Whether the arm contains the union again without a list or map between.
    pub recursive: bool,
}
