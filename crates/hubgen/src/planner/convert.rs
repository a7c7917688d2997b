//! Whether values of one type can become values of another, and how.
//!
//! Types of the same name, or of names that a rename joins, become each other whatever is inside:
//! their properties are decided one by one. Other types only where their shapes allow it, and
//! only if the configuration does. Start at [`Converter::convert`].

use std::collections::BTreeSet;

use super::Types;
use super::rename::Renames;
use crate::config::Uses;
use crate::ir::{Enum, Object, Shape, Type, TypeId, Union};
use crate::plan::{Conversion, PairId};

/// A conversion, and whether some values of the spoke do not fit.
pub(super) struct Converted {
    pub(super) conversion: Conversion,
    pub(super) partial: bool,
}

pub(super) struct Converter<'p, 'a> {
    pub(super) types: &'p Types<'a>,
    pub(super) renames: &'p Renames<'a>,
    pub(super) uses: &'p mut Uses,
    pub(super) structural: bool,
    pub(super) equal_enums: bool,
    /// How many objects deep the question is.
    pub(super) depth: usize,
}

/// The deepest nesting of objects of different names that is looked into.
const DEPTH_MAX: usize = 64;

impl Converter<'_, '_> {
    /// How the spoke's type becomes the hub's, if it can.
    pub(super) fn convert(&mut self, spoke: &Type, hub: &Type) -> Option<Converted> {
        self.within(spoke, hub, &mut BTreeSet::new())
    }

    /// As `convert`; `assumed` are the pairs of objects whose answer is being looked for.
    fn within(
        &mut self,
        spoke: &Type,
        hub: &Type,
        assumed: &mut BTreeSet<PairId>,
    ) -> Option<Converted> {
        let total = |conversion| Some(Converted { conversion, partial: false });
        match (spoke, hub) {
            (Type::String, Type::String) => total(Conversion::Text),
            (Type::Integer, Type::Integer)
            | (Type::Number, Type::Number)
            | (Type::Boolean, Type::Boolean)
            | (Type::Any, Type::Any) => total(Conversion::Copy),
            (Type::List(spoke), Type::List(hub)) => {
                let Converted { conversion, partial } = self.within(spoke, hub, assumed)?;
                Some(Converted { conversion: Conversion::List(Box::new(conversion)), partial })
            }
            (Type::Map(spoke), Type::Map(hub)) => {
                let Converted { conversion, partial } = self.within(spoke, hub, assumed)?;
                Some(Converted { conversion: Conversion::Map(Box::new(conversion)), partial })
            }
            (Type::Named(spoke), Type::Named(hub)) => total(self.named(spoke, hub, assumed)?),
            _ if !self.structural => None,
            (Type::Integer, Type::Number) => total(Conversion::IntegerToNumber),
            (Type::Number, Type::Integer) => {
                Some(Converted { conversion: Conversion::NumberToInteger, partial: true })
            }
            (Type::Named(id), Type::String) | (Type::String, Type::Named(id))
                if matches!(self.types[id].shape, Shape::Enum(_)) =>
            {
                total(Conversion::Text)
            }
            (_, Type::Any) => total(Conversion::ToAny),
            _ => None,
        }
    }

    fn named(
        &mut self,
        spoke: &TypeId,
        hub: &TypeId,
        assumed: &mut BTreeSet<PairId>,
    ) -> Option<Conversion> {
        let same = self.renames.join_types(&spoke.name, &hub.name, self.uses);
        let pair = PairId { spoke: spoke.clone(), hub: hub.clone() };
        match (&self.types[spoke].shape, &self.types[hub].shape) {
            (Shape::Enum(left), Shape::Enum(right)) => {
                (same || self.enums_agree(left, right)).then_some(Conversion::Text)
            }
            (Shape::Object(left), Shape::Object(right)) => {
                let fits = same || (self.structural && self.covers(&pair, left, right, assumed));
                fits.then_some(Conversion::Object(pair))
            }
            (Shape::Union(left), Shape::Union(right)) => {
                let fits = same || (self.structural && includes(right, left));
                fits.then_some(Conversion::Union(pair))
            }
            _ => None,
        }
    }

    /// Equal values are one enum if the configuration says so; where shapes count, one enum may
    /// also have more values than the other.
    fn enums_agree(&self, left: &Enum, right: &Enum) -> bool {
        let values = |own: &Enum| -> BTreeSet<String> {
            own.values.iter().map(|value| value.wire.clone()).collect()
        };
        let (left, right) = (values(left), values(right));
        let wider = left.is_subset(&right) || right.is_subset(&left);
        (self.equal_enums && left == right) || (self.structural && wider)
    }

    /// Whether the hub's object has every property of the spoke's, for all of its values.
    fn covers(
        &mut self,
        pair: &PairId,
        spoke: &Object,
        hub: &Object,
        assumed: &mut BTreeSet<PairId>,
    ) -> bool {
        if !assumed.insert(pair.clone()) {
            return true;
        }
        if self.depth == DEPTH_MAX {
            assumed.remove(pair);
            return false;
        }
        self.depth += 1;
        let partners = self.renames.partners(pair, spoke, hub, self.uses);
        let fits = !spoke.properties.is_empty()
            && spoke.properties.iter().all(|property| {
                let partner = partners.get(property.wire.as_str());
                partner.is_some_and(|partner| {
                    let inner = self.within(&property.ty, &partner.ty, assumed);
                    inner.is_some_and(|inner| !inner.partial)
                        && (partner.nullable || !property.nullable)
                })
            });
        self.depth -= 1;
        if !fits {
            assumed.remove(pair);
        }
        fits
    }
}

/// Whether a union has every arm of another.
fn includes(hub: &Union, spoke: &Union) -> bool {
    let known: BTreeSet<_> = hub.arms.iter().map(|arm| &arm.value).collect();
    hub.tag == spoke.tag && spoke.arms.iter().all(|arm| known.contains(&arm.value))
}
