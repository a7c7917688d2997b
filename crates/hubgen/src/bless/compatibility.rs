//! Which changes to a published version break the documents people already have.
//!
//! A document that was valid stays valid: nothing is removed, nothing becomes required, no type
//! or limit becomes narrower. Names of types do not matter, only what documents look like.

use std::collections::BTreeSet;

use super::narrower::narrower;
use crate::ir::{Api, Limits, Object, Shape, Type, Union};
use crate::shape::label;

/// What broke, each as one line that names the property.
pub fn breaks(published: &Api, current: &Api) -> Vec<String> {
    let mut comparison =
        Comparison { published, current, seen: BTreeSet::new(), found: Vec::new() };
    for (kind, old) in &published.resources {
        match current.resources.get(kind) {
            Some(new) => comparison.named(kind, &old.root.name, &new.root.name),
            None => comparison.found.push(format!("{kind}: the resource is gone")),
        }
    }
    comparison.found
}

struct Comparison<'a> {
    published: &'a Api,
    current: &'a Api,
    seen: BTreeSet<(&'a str, &'a str)>,
    found: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn named(&mut self, path: &str, old: &'a str, new: &'a str) {
        if !self.seen.insert((old, new)) {
            return;
        }
        let old = self.published.definitions.get(old).map(|found| &found.shape);
        let new = self.current.definitions.get(new).map(|found| &found.shape);
        match (old, new) {
            (Some(Shape::Object(old)), Some(Shape::Object(new))) => self.object(path, old, new),
            (Some(Shape::Enum(old)), Some(Shape::Enum(new))) => {
                let known: BTreeSet<_> = new.values.iter().map(|value| &value.wire).collect();
                for value in old.values.iter().filter(|value| !known.contains(&value.wire)) {
                    self.found.push(format!("{path}: the value `{}` is gone", value.wire));
                }
            }
            (Some(Shape::Union(old)), Some(Shape::Union(new))) => self.union(path, old, new),
            _ => self.found.push(format!("{path}: it is another kind of type")),
        }
    }

    fn object(&mut self, path: &str, old: &'a Object, new: &'a Object) {
        self.limits(path, &old.limits, &new.limits);
        for before in &old.properties {
            let path = format!("{path}.{}", before.wire);
            let Some(after) = new.properties.iter().find(|after| after.wire == before.wire) else {
                self.found.push(format!("{path}: the property is gone"));
                continue;
            };
            if after.required && !before.required {
                self.found.push(format!("{path}: it became required"));
            }
            if before.nullable && !after.nullable {
                self.found.push(format!("{path}: it may no longer be null"));
            }
            self.ty(&path, &before.ty, &after.ty);
            let nothing = Limits::new();
            for (at, limits) in &after.limits {
                let before = before.limits.get(at).unwrap_or(&nothing);
                self.limits(&format!("{path}{at}"), before, limits);
            }
        }
        let known: BTreeSet<_> = old.properties.iter().map(|before| &before.wire).collect();
        for after in new.properties.iter().filter(|after| !known.contains(&after.wire)) {
            if after.required {
                self.found.push(format!("{path}.{}: it is new and required", after.wire));
            }
        }
    }

    fn limits(&mut self, path: &str, old: &Limits, new: &Limits) {
        let found = narrower(old, new).into_iter();
        self.found.extend(found.map(|what| format!("{path}: {what}")));
    }

    fn union(&mut self, path: &str, old: &'a Union, new: &'a Union) {
        if old.tag != new.tag {
            let (old, new) = (&old.tag, &new.tag);
            self.found.push(format!("{path}: the tag `{old}` became `{new}`"));
        }
        for before in &old.arms {
            match new.arms.iter().find(|after| after.value == before.value) {
                Some(after) => {
                    let path = format!("{path}[{}]", before.value);
                    self.named(&path, &before.ty.name, &after.ty.name);
                }
                None => self.found.push(format!("{path}: the arm `{}` is gone", before.value)),
            }
        }
    }

    fn ty(&mut self, path: &str, old: &'a Type, new: &'a Type) {
        match (old, new) {
            (Type::Named(old), Type::Named(new)) => self.named(path, &old.name, &new.name),
            (Type::List(old), Type::List(new)) => self.ty(&format!("{path}[]"), old, new),
            (Type::Map(old), Type::Map(new)) => self.ty(&format!("{path}{{}}"), old, new),
            (_, Type::Any) | (Type::Integer, Type::Number) => {}
            (Type::Named(old), Type::String) if self.is_enum(&old.name) => {}
            (old, new) if old == new => {}
            (old, new) => {
                let (old, new) = (label(old), label(new));
                self.found.push(format!("{path}: {old} became {new}"));
            }
        }
    }

    fn is_enum(&self, name: &str) -> bool {
        let shape = self.published.definitions.get(name).map(|found| &found.shape);
        matches!(shape, Some(Shape::Enum(_)))
    }
}
