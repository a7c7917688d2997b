//! One view of everything a schema says, wherever it says it.
//!
//! Follows `$ref`, joins `allOf`, removes wrappers that only say "or an expression" or "or null",
//! and refuses what contradicts itself. Looks no deeper than one object: its properties stay
//! schemas. Start at [`Reader::peel`] and [`Reader::flatten`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::documents::{Documents, Node, Place};
use super::limits;
use crate::bless::ITEM_KEYS;
use crate::error::Error;
use crate::ir::Limits;

/// What a schema language adds to JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Nothing.
    JsonSchema,
    /// `x-kubernetes-…` and `nullable`.
    Kubernetes,
    /// Values that may be template expressions.
    Arm,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `true` and `false`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// All numbers.
    Number,
    /// Texts.
    String,
    /// Lists.
    Array,
    /// Tables.
    Object,
    /// `null`.
    Null,
}

/// Everything a schema says about one value.
#[derive(Clone, Debug, Default)]
pub struct Flat<'a> {
    /// The first description found.
    pub doc: &'a str,
    /// The kinds of value allowed, and where that is said; none said means all.
    pub kinds: Option<(BTreeSet<Kind>, Place)>,
    /// The values allowed, and where that is said.
    pub values: Option<(Vec<&'a Value>, Place)>,
    /// The schemas of each property; a value must satisfy all of them.
    pub properties: BTreeMap<&'a str, Vec<Node<'a>>>,
    /// The properties that must be there.
    pub required: BTreeSet<&'a str>,
    /// The schemas of list items.
    pub items: Vec<Node<'a>>,
    /// The properties that together tell the items of the list apart.
    pub item_keys: Vec<&'a str>,
    /// The properties that together tell values of this kind apart in a list.
    pub keys: Vec<&'a str>,
    /// The schemas of properties without a name of their own.
    pub additional: Vec<Node<'a>>,
    /// Choices that are left after wrappers are removed.
    pub choices: Vec<Vec<Node<'a>>>,
    /// Whether `null` is allowed besides.
    pub nullable: bool,
    /// Whether any value must be kept as it is.
    pub free: bool,
    /// What is asked of values beyond their type.
    pub limits: Limits,
    /// What is said that no type says.
    pub unread: BTreeSet<Unread>,
}

/// Something a schema can say and a type cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unread {
    /// Each place in a list has a schema of its own.
    Places,
    /// Properties are named by patterns.
    Patterns,
}

/// What is left of a schema when its wrappers are removed.
#[derive(Clone, Debug)]
pub struct Peeled<'a> {
    /// The schema inside.
    pub node: Node<'a>,
    /// Whether a `$ref` led here, so that its place names it.
    pub named: bool,
    /// Whether a wrapper allowed `null`.
    pub nullable: bool,
    /// What wrappers ask of values beyond their type.
    pub limits: Limits,
}

/// The longest chain of references and `allOf`s that is followed.
const CHAIN_MAX: usize = 64;

/// The keywords that say something about values; others may stand beside a `$ref`.
const SAYING: &[&str] = &[
    "$ref",
    "type",
    "properties",
    "required",
    "enum",
    "const",
    "items",
    "prefixItems",
    "oneOf",
    "anyOf",
    "allOf",
    "additionalProperties",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
];

static NUMBER: LazyLock<Value> = LazyLock::new(|| json!({"type": "number"}));
static BOOLEAN: LazyLock<Value> = LazyLock::new(|| json!({"type": "boolean"}));
static ANYTHING: LazyLock<Value> = LazyLock::new(|| json!({}));

/// Reads schemas of one dialect.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The files that references lead to.
    pub documents: &'a Documents,
    /// The language they are in.
    pub dialect: Dialect,
}

impl<'a> Reader<'a> {
    /// Removes references and wrappers from around a schema.
    pub fn peel(&self, node: Node<'a>) -> Result<Peeled<'a>, Error> {
        let limits = Limits::new();
        let mut peeled = Peeled { node, named: false, nullable: false, limits };
        let mut seen = Vec::new();
        loop {
            let place = &peeled.node.place;
            if seen.contains(place) || seen.len() > CHAIN_MAX {
                return Err(endless(place));
            }
            seen.push(place.clone());
            let said = saying(peeled.node.value);
            let inner = match said.as_slice() {
                ["$ref"] => {
                    peeled.named = true;
                    Some(self.target(&peeled.node)?)
                }
                [choice @ ("oneOf" | "anyOf")] => self.unwrapped(&mut peeled, choice),
                ["allOf"] => single(peeled.node.list("allOf")),
                _ => None,
            };
            match inner {
                Some(inner) => {
                    peeled.named = peeled.named && said == ["$ref"];
                    peeled.limits = limits::merge(peeled.limits, limits::own(peeled.node.value));
                    peeled.node = inner;
                }
                None => return Ok(peeled),
            }
        }
    }

    /// Joins everything a schema says.
    pub fn flatten(&self, node: &Node<'a>) -> Result<Flat<'a>, Error> {
        self.flatten_in(node, &mut Vec::new())
    }

    /// Joins everything that several schemas of one value say.
    pub fn flatten_all(&self, nodes: &[Node<'a>]) -> Result<Flat<'a>, Error> {
        let mut flat = Flat::default();
        for node in nodes {
            flat = merge(flat, self.flatten(node)?)?;
        }
        Ok(flat)
    }

    /// The one text a value can have, if its schemas leave only one.
    pub fn constant(&self, nodes: &[Node<'a>]) -> Result<Option<&'a str>, Error> {
        let flat = self.flatten_all(nodes)?;
        let Some((values, _)) = flat.values else { return Ok(None) };
        Ok(single(values).and_then(Value::as_str))
    }

    fn flatten_in(&self, node: &Node<'a>, trail: &mut Vec<Place>) -> Result<Flat<'a>, Error> {
        if trail.contains(&node.place) || trail.len() > CHAIN_MAX {
            return Err(endless(&node.place));
        }
        trail.push(node.place.clone());
        let mut flat = own(node, self.dialect)?;
        if node.value.get("$ref").is_some() {
            flat = merge(flat, self.flatten_in(&self.target(node)?, trail)?)?;
        }
        for part in node.list("allOf") {
            flat = merge(flat, self.flatten_in(&part, trail)?)?;
        }
        for choice in ["oneOf", "anyOf"] {
            let (kept, stripped) = self.stripped(node, choice);
            flat.nullable |= stripped.null;
            match kept.as_slice() {
                [only] if stripped.any() => {
                    flat = merge(flat, self.flatten_in(only, trail)?)?;
                }
                [] => {}
                _ => flat.choices.push(kept),
            }
        }
        trail.pop();
        Ok(flat)
    }

    fn target(&self, node: &Node<'a>) -> Result<Node<'a>, Error> {
        let reference = node.text("$ref");
        if self.dialect == Dialect::Arm {
            let builtin = if reference.ends_with("#/definitions/numberOrExpression") {
                Some(&*NUMBER)
            } else if reference.ends_with("#/definitions/booleanOrExpression") {
                Some(&*BOOLEAN)
            } else if is_expression(node) {
                Some(&*ANYTHING)
            } else {
                None
            };
            if let Some(value) = builtin {
                return Ok(Node { value, place: node.place.at("$ref") });
            }
        }
        self.documents.follow(&node.place, reference)
    }

    /// The one schema in a choice whose others only say "or null" or "or an expression".
    fn unwrapped(&self, peeled: &mut Peeled<'a>, choice: &str) -> Option<Node<'a>> {
        let (kept, stripped) = self.stripped(&peeled.node, choice);
        let inner = if stripped.any() { single(kept) } else { None };
        peeled.nullable |= inner.is_some() && stripped.null;
        inner
    }

    fn stripped(&self, node: &Node<'a>, choice: &str) -> (Vec<Node<'a>>, Stripped) {
        let mut stripped = Stripped::default();
        let mut kept = node.list(choice);
        kept.retain(|part| {
            let expression = self.dialect == Dialect::Arm && is_expression(part);
            let null = part.text("type") == "null";
            stripped.expression |= expression;
            stripped.null |= null;
            // A choice of which properties must be there says nothing about their types.
            let conditions_only = saying(part.value).iter().all(|word| *word == "required");
            let says_nothing = conditions_only && part.value != &json!({});
            !expression && !null && !says_nothing
        });
        (kept, stripped)
    }
}

/// What was taken out of a choice.
#[derive(Clone, Copy, Default)]
struct Stripped {
    expression: bool,
    null: bool,
}

impl Stripped {
    fn any(self) -> bool {
        self.expression || self.null
    }
}

fn is_expression(node: &Node<'_>) -> bool {
    node.text("$ref").ends_with("#/definitions/expression")
}

/// Whether a schema says anything about values.
pub(super) fn says_something(node: &Node<'_>) -> bool {
    !saying(node.value).is_empty()
}

fn saying(value: &Value) -> Vec<&str> {
    let keys = value.as_object().into_iter().flat_map(|table| table.keys());
    keys.map(String::as_str).filter(|key| SAYING.contains(key)).collect()
}

fn single<T>(items: Vec<T>) -> Option<T> {
    let mut items = items.into_iter();
    items.next().filter(|_| items.len() == 0)
}

fn endless(place: &Place) -> Error {
    Error::schema(
        place,
        "the references from here never end in a type",
        "let the cycle pass through a property of an object, or mark the property `opaque`",
    )
}

/// What the schema itself says, without its references and parts.
fn own<'a>(node: &Node<'a>, dialect: Dialect) -> Result<Flat<'a>, Error> {
    let mut flat = Flat { doc: node.text("description"), ..Flat::default() };
    if let Some(kinds) = node.get("type") {
        flat.kinds = Some((kinds_of(&kinds)?, kinds.place));
    }
    if let Some(values) = node.get("enum") {
        flat.values = Some((values.value.as_array().into_iter().flatten().collect(), values.place));
    } else if let Some(value) = node.get("const") {
        flat.values = Some((vec![value.value], value.place));
    }
    for (name, property) in node.table("properties") {
        flat.properties.entry(name).or_default().push(property);
    }
    flat.required = names_in(node, "required").into_iter().collect();
    flat.items = node.get("items").into_iter().filter(|items| items.value.is_object()).collect();
    if node.get("prefixItems").is_some()
        || node.get("items").is_some_and(|items| items.value.is_array())
    {
        flat.unread.insert(Unread::Places);
    }
    if node.get("patternProperties").is_some() {
        flat.unread.insert(Unread::Patterns);
    }
    flat.limits = limits::own(node.value);
    flat.keys = names_in(node, ITEM_KEYS);
    let additional = node.get("additionalProperties");
    flat.additional = additional.into_iter().filter(|schema| schema.value.is_object()).collect();
    if dialect == Dialect::Kubernetes {
        let says = |key: &str| node.value.get(key) == Some(&Value::Bool(true));
        flat.nullable = says("nullable");
        if node.text("x-kubernetes-list-type") == "map" {
            flat.item_keys = names_in(node, "x-kubernetes-list-map-keys");
        }
        let empty = flat.properties.is_empty() && flat.additional.is_empty();
        flat.free = says("x-kubernetes-int-or-string")
            || (says("x-kubernetes-preserve-unknown-fields") && empty);
    }
    Ok(flat)
}

/// The names in a list of them.
fn names_in<'a>(node: &Node<'a>, keyword: &str) -> Vec<&'a str> {
    let names = node.value.get(keyword).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn kinds_of(node: &Node<'_>) -> Result<BTreeSet<Kind>, Error> {
    let names: Vec<&Value> = match node.value {
        Value::Array(names) => names.iter().collect(),
        name => vec![name],
    };
    names.into_iter().map(|name| kind_of(node, name)).collect()
}

fn kind_of(node: &Node<'_>, name: &Value) -> Result<Kind, Error> {
    Ok(match name.as_str() {
        Some("boolean") => Kind::Boolean,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("string") => Kind::String,
        Some("array") => Kind::Array,
        Some("object") => Kind::Object,
        Some("null") => Kind::Null,
        _ => {
            return Err(Error::schema(
                &node.place,
                format!("there is no type {name}"),
                "use boolean, integer, number, string, array, object or null",
            ));
        }
    })
}

/// Joins what two schemas say of one value, or refuses if no value could satisfy both.
pub fn merge<'a>(mut left: Flat<'a>, right: Flat<'a>) -> Result<Flat<'a>, Error> {
    if left.doc.is_empty() {
        left.doc = right.doc;
    }
    left.kinds = match (left.kinds, right.kinds) {
        (Some(left), Some(right)) => Some(common_kinds(left, right)?),
        (left, right) => left.or(right),
    };
    left.values = match (left.values, right.values) {
        (Some(left), Some(right)) => Some(common_values(left, right)?),
        (left, right) => left.or(right),
    };
    for (name, nodes) in right.properties {
        left.properties.entry(name).or_default().extend(nodes);
    }
    left.required.extend(right.required);
    left.items.extend(right.items);
    if left.item_keys.is_empty() {
        left.item_keys = right.item_keys;
    }
    if left.keys.is_empty() {
        left.keys = right.keys;
    }
    left.additional.extend(right.additional);
    left.choices.extend(right.choices);
    left.nullable |= right.nullable;
    left.free |= right.free;
    left.limits = limits::merge(left.limits, right.limits);
    left.unread.extend(right.unread);
    Ok(left)
}

fn common_kinds(
    (left, left_at): (BTreeSet<Kind>, Place),
    (right, right_at): (BTreeSet<Kind>, Place),
) -> Result<(BTreeSet<Kind>, Place), Error> {
    let allows = |kinds: &BTreeSet<Kind>, kind: &Kind| {
        kinds.contains(kind) || (*kind == Kind::Integer && kinds.contains(&Kind::Number))
    };
    let both: BTreeSet<_> = left.iter().filter(|kind| allows(&right, kind)).copied().collect();
    let back: BTreeSet<_> = right.iter().filter(|kind| allows(&left, kind)).copied().collect();
    let both: BTreeSet<_> = both.union(&back).copied().collect();
    if both.is_empty() {
        let (left, right) = (format!("{left:?}"), format!("{right:?}"));
        return Err(contradiction(&right_at, (&left, &left_at), (&right, &right_at)));
    }
    Ok((both, left_at))
}

fn common_values<'a>(
    (left, left_at): (Vec<&'a Value>, Place),
    (right, right_at): (Vec<&'a Value>, Place),
) -> Result<(Vec<&'a Value>, Place), Error> {
    let known: BTreeSet<String> = right.iter().map(|value| value.to_string()).collect();
    let both: Vec<_> =
        left.iter().copied().filter(|value| known.contains(&value.to_string())).collect();
    if both.is_empty() {
        let (left, right) = (listed(&left), listed(&right));
        return Err(contradiction(&right_at, (&left, &left_at), (&right, &right_at)));
    }
    Ok((both, left_at))
}

fn listed(values: &[&Value]) -> String {
    let shown: Vec<_> = values.iter().take(3).map(|value| value.to_string()).collect();
    let more = if values.len() > 3 { ", …" } else { "" };
    format!("[{}{more}]", shown.join(", "))
}

fn contradiction(place: &Place, left: (&str, &Place), right: (&str, &Place)) -> Error {
    Error::schema(
        place,
        format!(
            "no value can satisfy both sides: {} at {}, and {} at {}",
            left.0, left.1, right.0, right.1
        ),
        "correct one of the two, or mark the property `opaque`",
    )
}
