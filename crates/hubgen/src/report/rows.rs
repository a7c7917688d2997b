//! Reads the rows of a report from the steps of a plan, and finds what somebody should look at.

use super::change::{
    ARM_NEW, ARM_REMOVED, NONE, REMOVED, TAG, TYPE, Values, changes, handler, shown,
};
use super::{NoteReport, Row, TypeReport};
use crate::config::{Config, Uses};
use crate::ir::{Api, Definition, Object, Property, Shape, TypeId};
use crate::plan::{ArmStep, Pair, PairId, Plan, PropertyStep, Step};
use crate::planner::{Types, types};
use crate::schema::lower::Note;

pub(super) struct Reporter<'a> {
    config: &'a Config,
    plan: &'a Plan,
    index: Types<'a>,
    uses: &'a mut Uses,
}

/// What an [[accept]] may be about.
struct Subject<'a> {
    types: [&'a str; 2],
    properties: [&'a str; 2],
    /// The versions in which it is so.
    versions: Vec<&'a str>,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(config: &'a Config, plan: &'a Plan, uses: &'a mut Uses) -> Self {
        Self { config, plan, index: types(&plan.group), uses }
    }

    pub(super) fn pair(&mut self, id: &PairId, pair: &Pair) -> TypeReport {
        let mut rows: Vec<_> = match pair {
            Pair::Object(steps) => steps.iter().map(|step| self.row(id, step)).collect(),
            Pair::Union(arms) => self.arms(id, arms),
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

    pub(super) fn note(&mut self, note: &Note) -> NoteReport {
        let Note { version, place, ty, property, text } = note;
        let subject = Subject {
            types: [ty, ty],
            properties: [property, property],
            versions: vec![version.as_str()],
        };
        NoteReport {
            version: version.to_string(),
            place: place.to_string(),
            ty: ty.clone(),
            property: property.clone(),
            text: text.clone(),
            unreviewed: !self.is_accepted(&subject),
        }
    }

    fn row(&mut self, id: &PairId, step: &PropertyStep) -> Row {
        let side = |ty: &TypeId, wire: &Option<String>| property(self.index[ty], wire.as_ref()?);
        let (spoke, hub) = (side(&id.spoke, &step.spoke), side(&id.hub, &step.hub));
        let values = match (spoke, hub) {
            (Some(spoke), Some(hub)) => Values::between(&self.index, &spoke.ty, &hub.ty),
            _ => Values::default(),
        };
        let change = changes(step, (spoke, hub), (&id.spoke.since, &id.hub.since), &values);
        let is_lossy = matches!(step.step, Step::Bag { .. })
            && change.split(", ").any(|word| [REMOVED, TYPE].contains(&word));
        let looked_at = is_lossy || self.may_be_missing(id, step, (spoke, hub));
        let wires = [&step.spoke, &step.hub].map(|wire| wire.as_deref());
        let [from, to] =
            [wires[0].or(wires[1]), wires[1].or(wires[0])].map(Option::unwrap_or_default);
        Row {
            property: if from == to { from.to_owned() } else { format!("{from} → {to}") },
            spoke: spoke.map(shown).unwrap_or_default(),
            hub: hub.map(shown).unwrap_or_default(),
            change,
            handler: handler(step),
            values_added: values.added,
            values_removed: values.removed,
            unreviewed: looked_at && !self.is_accepted(&self.subject(id, [from, to])),
        }
    }

    /// Whether one side requires what documents of the other may not have, and nothing is
    /// configured to stand in for it: reading such a document fails.
    fn may_be_missing(
        &self,
        id: &PairId,
        step: &PropertyStep,
        (spoke, hub): (Option<&Property>, Option<&Property>),
    ) -> bool {
        let is_required = |property: Option<&Property>| property.is_some_and(|own| own.required);
        let has_default = |property: &Property| {
            self.config.said.default.iter().map(|entry| entry.get_ref()).any(|entry| {
                let version = entry.version.as_deref();
                entry.ty == id.hub.name
                    && entry.property == property.wire
                    && version.is_none_or(|version| version == id.hub.since.as_str())
            })
        };
        let up = is_required(hub) && !is_required(spoke) && !hub.is_some_and(has_default);
        let down = is_required(spoke) && !is_required(hub) && step.default.is_none();
        step.step != Step::Manual && (up || down)
    }

    fn arms(&mut self, id: &PairId, steps: &[ArmStep]) -> Vec<Row> {
        let (Shape::Union(spoke), Shape::Union(hub)) =
            (&self.index[&id.spoke].shape, &self.index[&id.hub].shape)
        else {
            return Vec::new();
        };
        let row = |property: &str, types: [&str; 2], change: &str, handler: &str| Row {
            property: property.to_owned(),
            spoke: types[0].to_owned(),
            hub: types[1].to_owned(),
            change: change.to_owned(),
            handler: handler.to_owned(),
            values_added: Vec::new(),
            values_removed: Vec::new(),
            unreviewed: false,
        };
        let mut rows = Vec::new();
        if spoke.tag != hub.tag {
            let tags = format!("{} → {}", spoke.tag, hub.tag);
            rows.push(row(&tags, ["", ""], TAG, "Kept as JSON"));
        }
        for step in steps {
            let own = step.spoke.name.as_str();
            rows.push(match &step.hub {
                Some(hub) if hub.name == own => row(&step.value, [own, own], NONE, "Convert"),
                Some(hub) => row(&step.value, [own, &hub.name], TYPE, "Convert"),
                None => Row {
                    unreviewed: !self.is_accepted(&self.subject(id, [&step.value, &step.value])),
                    ..row(&step.value, [own, ""], ARM_REMOVED, "Kept as JSON")
                },
            });
        }
        let is_known =
            |value: &String| steps.iter().any(|step| step.hub.is_some() && step.value == *value);
        for arm in hub.arms.iter().filter(|arm| !is_known(&arm.value)) {
            rows.push(row(&arm.value, ["", &arm.ty.name], ARM_NEW, "Shown as JSON"));
        }
        rows
    }

    fn subject<'b>(&self, id: &'b PairId, properties: [&'b str; 2]) -> Subject<'b>
    where
        'a: 'b,
    {
        let has = |api: &Api| api.names.get(&id.spoke.name) == Some(&id.spoke);
        let versions = self.plan.group.versions.iter().filter(|(_, api)| has(api));
        let versions = versions.map(|(version, _)| version.as_str()).collect();
        Subject { types: [&id.spoke.name, &id.hub.name], properties, versions }
    }

    fn is_accepted(&mut self, subject: &Subject<'_>) -> bool {
        let mut any = false;
        for entry in &self.config.said.accept {
            let said = entry.get_ref();
            let (property, version) = (said.property.as_deref(), said.version.as_deref());
            if subject.types.contains(&said.ty.as_str())
                && property.is_none_or(|own| subject.properties.contains(&own))
                && version.is_none_or(|own| subject.versions.contains(&own))
            {
                self.uses.note(entry);
                any = true;
            }
        }
        any
    }
}

fn property<'a>(definition: &'a Definition, wire: &str) -> Option<&'a Property> {
    let Shape::Object(Object { properties, .. }) = &definition.shape else { return None };
    properties.iter().find(|property| property.wire == wire)
}
