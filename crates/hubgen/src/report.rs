//! What changed between the versions of a resource, and what is done about each change.
//!
//! A report is a reading of the [`Plan`]: every row is one property of one pair of types, with
//! the types on both sides, the change, and the handler. [`table`] prints it, `serde` writes it as
//! JSON. Start at [`Report::new`].

pub mod table;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::config::{Config, Uses};
use crate::ir::{Definition, Object, Property, Shape, TypeId};
use crate::naming::pascal;
use crate::plan::{Conversion, Pair, PairId, Plan, PropertyStep, Step};
use crate::planner::{Types, types};
use crate::shape::label;
use crate::version::Version;

/// The changes of a group's resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The group's name.
    pub group: String,
    /// The resources.
    pub resources: Vec<ResourceReport>,
    /// Every pair of types, once, in the order of their names.
    pub types: Vec<TypeReport>,
    /// What the schemas say that was not taken as it stands.
    pub notes: Vec<String>,
}

/// One resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceReport {
    /// The kind.
    pub kind: String,
    /// The version that is stored.
    pub hub: String,
    /// The versions that are converted, oldest first.
    pub spokes: Vec<String>,
}

/// One pair of types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeReport {
    /// The spoke's type.
    pub spoke: String,
    /// The first version that has it.
    pub since: String,
    /// The hub's type.
    pub hub: String,
    /// The first version that has it.
    pub hub_since: String,
    /// Its properties.
    pub rows: Vec<Row>,
}

/// One property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name.
    pub property: String,
    /// Its type on the spoke; empty if it is not there.
    pub spoke: String,
    /// Its type on the hub; empty if it is not there.
    pub hub: String,
    /// What changed.
    pub change: &'static str,
    /// What is done about it.
    pub handler: String,
    /// Whether a person should look at it and nobody has yet.
    pub unreviewed: bool,
}

impl Row {
    /// Whether anything changed.
    pub fn is_change(&self) -> bool {
        self.change != NONE
    }
}

const NONE: &str = "None";
const NEW: &str = "New Property";
const REMOVED: &str = "Property Removed";
const NOT_IN_HUB: &str = "Not in Hub";
const RENAMED: &str = "Property Renamed";
const TYPE: &str = "Change of Type";
const OPTIONAL: &str = "Became Optional";
const REQUIRED: &str = "Became Required";
const ARM_REMOVED: &str = "Arm Removed";

impl Report {
    /// Reads a plan. The entries that accept a change are noted as used where they meet one.
    pub fn new(config: &Config, plan: &Plan, notes: Vec<String>, uses: &mut Uses) -> Self {
        let index = types(&plan.group);
        let mut reporter = Reporter { config, index: &index, uses };
        let types = plan.pairs.iter().map(|(id, pair)| reporter.pair(id, pair)).collect();
        let resources = plan.resources.iter().map(|(kind, resource)| ResourceReport {
            kind: kind.clone(),
            hub: resource.hub.to_string(),
            spokes: resource.spokes.keys().map(ToString::to_string).collect(),
        });
        Self { group: plan.group.name.clone(), resources: resources.collect(), types, notes }
    }

    /// Keeps only the pairs that a resource's version needs, and of those only the named type.
    pub fn narrowed(mut self, plan: &Plan, kind: Option<&str>, ty: Option<&str>) -> Self {
        let same = |own: &str| kind.is_none_or(|kind| kind.eq_ignore_ascii_case(own));
        self.resources.retain(|resource| same(&resource.kind));
        let roots = plan.resources.iter().filter(|(own, _)| same(own)).flat_map(|(_, resource)| {
            let hub = &resource.storage;
            resource
                .spokes
                .values()
                .map(|spoke| PairId { spoke: spoke.root.clone(), hub: hub.clone() })
        });
        let needed = within_reach(plan, roots.collect());
        let needed: BTreeSet<_> = needed.iter().map(key).collect();
        self.types.retain(|own| {
            let TypeReport { spoke, since, hub, hub_since, rows: _ } = own;
            let key = [spoke, since, hub, hub_since].map(String::clone);
            needed.contains(&key) && ty.is_none_or(|ty| ty == spoke || ty == hub)
        });
        self
    }

    /// Keeps only what changed.
    pub fn changes(mut self) -> Self {
        for own in &mut self.types {
            own.rows.retain(Row::is_change);
        }
        self.types.retain(|own| !own.rows.is_empty());
        self
    }

    /// The removals and changes of type that nobody has looked at, as `Type.property`.
    pub fn unreviewed(&self) -> Vec<String> {
        let rows = self.types.iter().flat_map(|own| own.rows.iter().map(move |row| (own, row)));
        let open = rows.filter(|(_, row)| row.unreviewed);
        let named: BTreeSet<_> = open
            .map(|(own, row)| format!("{}.{} ({})", own.spoke, row.property, row.change))
            .collect();
        named.into_iter().collect()
    }
}

fn key(id: &PairId) -> [String; 4] {
    let PairId { spoke, hub } = id;
    [spoke.name.clone(), spoke.since.to_string(), hub.name.clone(), hub.since.to_string()]
}

fn within_reach(plan: &Plan, mut rest: Vec<PairId>) -> BTreeSet<PairId> {
    let mut found = BTreeSet::new();
    while let Some(id) = rest.pop() {
        if !found.insert(id.clone()) {
            continue;
        }
        match plan.pairs.get(&id) {
            Some(Pair::Object(steps)) => rest.extend(steps.iter().filter_map(inner_pair)),
            Some(Pair::Union(arms)) => rest.extend(arms.iter().filter_map(|arm| {
                let hub = arm.hub.clone()?;
                Some(PairId { spoke: arm.spoke.clone(), hub })
            })),
            None => {}
        }
    }
    found
}

fn inner_pair(step: &PropertyStep) -> Option<PairId> {
    fn of(conversion: &Conversion) -> Option<PairId> {
        match conversion {
            Conversion::List(inner) | Conversion::Map(inner) => of(inner),
            Conversion::Object(pair) | Conversion::Union(pair) => Some(pair.clone()),
            _ => None,
        }
    }
    match &step.step {
        Step::Convert { conversion, .. } => of(conversion),
        Step::Bag { .. } | Step::Skip | Step::Manual => None,
    }
}

struct Reporter<'a> {
    config: &'a Config,
    index: &'a Types<'a>,
    uses: &'a mut Uses,
}

impl Reporter<'_> {
    fn pair(&mut self, id: &PairId, pair: &Pair) -> TypeReport {
        let (spoke, hub) = (self.index[&id.spoke], self.index[&id.hub]);
        let mut rows: Vec<_> = match pair {
            Pair::Object(steps) => {
                steps.iter().map(|step| self.row(id, step, spoke, hub)).collect()
            }
            Pair::Union(arms) => arms
                .iter()
                .map(|arm| Row {
                    property: arm.value.clone(),
                    spoke: arm.spoke.name.clone(),
                    hub: arm.hub.as_ref().map(|hub| hub.name.clone()).unwrap_or_default(),
                    change: if arm.hub.is_some() { NONE } else { ARM_REMOVED },
                    handler: if arm.hub.is_some() { "Convert" } else { "Kept as JSON" }.to_owned(),
                    unreviewed: false,
                })
                .collect(),
        };
        rows.sort_by(|left, right| left.property.cmp(&right.property));
        TypeReport {
            spoke: id.spoke.name.clone(),
            since: id.spoke.since.to_string(),
            hub: id.hub.name.clone(),
            hub_since: id.hub.since.to_string(),
            rows,
        }
    }

    fn row(
        &mut self,
        id: &PairId,
        step: &PropertyStep,
        spoke: &Definition,
        hub: &Definition,
    ) -> Row {
        let wire = step.spoke.as_ref().or(step.hub.as_ref()).expect("a step has a property");
        let side = |definition, wire: &Option<String>| property(definition, wire.as_ref()?);
        let (left, right) = (side(spoke, &step.spoke), side(hub, &step.hub));
        let mut change = change(step, &id.spoke.since, &id.hub.since);
        // By names alone, a type with and without a star is the same.
        if change == NONE && self.config.said.structural {
            change = need(left, right);
        }
        let lossy = matches!(step.step, Step::Bag { .. }) && [REMOVED, TYPE].contains(&change);
        let name = match (&step.spoke, &step.hub) {
            (Some(from), Some(to)) if from != to => format!("{} → {}", pascal(from), pascal(to)),
            _ => pascal(wire),
        };
        Row {
            property: name,
            spoke: left.map(shown).unwrap_or_default(),
            hub: right.map(shown).unwrap_or_default(),
            change,
            handler: handler(step),
            unreviewed: lossy && !self.is_accepted(&id.spoke, wire),
        }
    }

    fn is_accepted(&mut self, ty: &TypeId, wire: &str) -> bool {
        let mut any = false;
        for entry in &self.config.said.accept {
            let said = entry.get_ref();
            if said.ty == ty.name && said.property.as_ref().is_none_or(|own| own == wire) {
                self.uses.note(entry);
                any = true;
            }
        }
        any
    }
}

fn change(step: &PropertyStep, spoke: &Version, hub: &Version) -> &'static str {
    match (&step.spoke, &step.hub) {
        (None, _) => NEW,
        (Some(_), None) if spoke > hub => NOT_IN_HUB,
        (Some(_), None) => REMOVED,
        (Some(from), Some(to)) if from != to => RENAMED,
        (Some(_), Some(_)) if step.change.is_some() => TYPE,
        (Some(_), Some(_)) => NONE,
    }
}

fn need(spoke: Option<&Property>, hub: Option<&Property>) -> &'static str {
    match (spoke.is_some_and(|own| own.required), hub.is_some_and(|own| own.required)) {
        (true, false) => OPTIONAL,
        (false, true) => REQUIRED,
        (true, true) | (false, false) => NONE,
    }
}

fn handler(step: &PropertyStep) -> String {
    match &step.step {
        Step::Convert { bag: None, .. } if step.change.is_none() => "Copy value".to_owned(),
        Step::Convert { .. } if step.change.is_none() => "Copy value, else Property Bag".to_owned(),
        Step::Convert { conversion, bag: None } => format!("Convert ({})", how(conversion)),
        Step::Convert { conversion, bag: Some(_) } => {
            format!("Convert ({}), else Property Bag", how(conversion))
        }
        Step::Bag { .. } => "Property Bag".to_owned(),
        Step::Skip => "Skip".to_owned(),
        Step::Manual => "Hand-written".to_owned(),
    }
}

fn how(conversion: &Conversion) -> String {
    match conversion {
        Conversion::Copy => "copy".to_owned(),
        Conversion::Text => "enum".to_owned(),
        Conversion::IntegerToNumber => "wider number".to_owned(),
        Conversion::NumberToInteger => "whole number".to_owned(),
        Conversion::ToAny => "free JSON".to_owned(),
        Conversion::List(inner) => format!("list of {}", how(inner)),
        Conversion::Map(inner) => format!("map of {}", how(inner)),
        Conversion::Object(_) => "object".to_owned(),
        Conversion::Union(_) => "union".to_owned(),
    }
}

fn property<'a>(definition: &'a Definition, wire: &str) -> Option<&'a Property> {
    let Shape::Object(Object { properties, .. }) = &definition.shape else { return None };
    properties.iter().find(|property| property.wire == wire)
}

/// A property's type, with a star where it may be absent.
fn shown(property: &Property) -> String {
    let star = if property.required { "" } else { "*" };
    format!("{star}{}", label(&property.ty))
}
