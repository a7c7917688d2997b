//! What changed between the versions of a resource, and what is done about each change.
//!
//! A report is a reading of the [`Plan`]: every row is one property of one pair of types, with
//! the types on both sides, the change, and the handler. Properties have the names that documents
//! use, types those of the generated Rust. [`table`] prints it, `serde` writes it as JSON. Start
//! at [`Report::new`].

mod change;
mod rows;
pub mod table;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::config::{Config, Uses};
use crate::load::Loaded;
use crate::plan::{Conversion, Pair, PairId, Plan, PropertyStep, Step};
use crate::version::Version;
use rows::Reporter;

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
    pub notes: Vec<NoteReport>,
}

/// One resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ResourceReport {
    /// How it is stored.
    Stored {
        /// The kind.
        kind: String,
        /// The version that is stored.
        hub: String,
        /// The versions that are converted, oldest first.
        spokes: Vec<String>,
    },
    /// Which versions of it are compared.
    Compared {
        /// The kind.
        kind: String,
        /// The first version.
        from: String,
        /// The second.
        to: String,
    },
    /// It cannot be compared.
    Alone {
        /// The kind.
        kind: String,
        /// The one version of the two that has it.
        only: String,
    },
}

impl ResourceReport {
    fn kind(&self) -> &str {
        match self {
            Self::Stored { kind, .. } | Self::Compared { kind, .. } | Self::Alone { kind, .. } => {
                kind
            }
        }
    }
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
    /// Its properties, or the arms of a union.
    pub rows: Vec<Row>,
}

/// One property, or one arm of a union.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name in documents, both if it was renamed; the value of the tag for an arm.
    pub property: String,
    /// Its type on the spoke; empty if it is not there.
    pub spoke: String,
    /// Its type on the hub; empty if it is not there.
    pub hub: String,
    /// What changed.
    pub change: String,
    /// What is done about it; empty where versions are only compared.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub handler: String,
    /// The values of its enum that only the hub has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_added: Vec<String>,
    /// The values of its enum that only the spoke has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_removed: Vec<String>,
    /// Whether a person should look at it and nobody has yet.
    pub unreviewed: bool,
}

impl Row {
    /// Whether anything changed.
    pub fn is_change(&self) -> bool {
        self.change != change::NONE
    }
}

/// Something in a schema that was not taken as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoteReport {
    /// The version whose schema it is.
    pub version: String,
    /// Where in which schema.
    pub place: String,
    /// The type it concerns.
    #[serde(rename = "type")]
    pub ty: String,
    /// The property it concerns; empty if it is the whole type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub property: String,
    /// What was done instead, and why.
    pub text: String,
    /// Whether a person should look at it and nobody has yet.
    pub unreviewed: bool,
}

impl Report {
    /// Reads a plan. The entries that accept a change are noted as used where they meet one.
    pub fn new(config: &Config, plan: &Plan, loaded: &Loaded, uses: &mut Uses) -> Self {
        let mut reporter = Reporter::new(config, plan, uses);
        let types = plan.pairs.iter().map(|(id, pair)| reporter.pair(id, pair)).collect();
        let notes = loaded.notes.iter().map(|note| reporter.note(note)).collect();
        let resources = plan.resources.iter().map(|(kind, resource)| ResourceReport::Stored {
            kind: kind.clone(),
            hub: resource.hub.to_string(),
            spokes: resource.spokes.keys().map(ToString::to_string).collect(),
        });
        Self { group: plan.group.name.clone(), resources: resources.collect(), types, notes }
    }

    /// Keeps only the pairs that a resource's version needs, and of those only the named type.
    pub fn narrowed(mut self, plan: &Plan, kind: Option<&str>, ty: Option<&str>) -> Self {
        let same = |own: &str| kind.is_none_or(|kind| kind.eq_ignore_ascii_case(own));
        self.resources.retain(|resource| same(resource.kind()));
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
        self.notes.retain(|note| ty.is_none_or(|ty| ty == note.ty));
        self
    }

    /// Makes the report one of what changed from one version to another, whatever is stored.
    #[must_use]
    pub fn compared(mut self, plan: &Plan, from: &Version, to: &Version) -> Self {
        let kinds = |version: &Version| {
            let api = plan.group.versions.get(version);
            let kinds = api.into_iter().flat_map(|api| api.resources.keys());
            kinds.map(|kind| (kind.to_lowercase(), kind.clone()))
        };
        let shared: BTreeSet<_> = plan.resources.keys().map(|kind| kind.to_lowercase()).collect();
        let alone = [from, to].into_iter().flat_map(|version| {
            let alone = kinds(version).filter(|(small, _)| !shared.contains(small));
            alone.map(|(_, kind)| ResourceReport::Alone { kind, only: version.to_string() })
        });
        let compared = plan.resources.keys().map(|kind| ResourceReport::Compared {
            kind: kind.clone(),
            from: from.to_string(),
            to: to.to_string(),
        });
        self.resources = compared.chain(alone).collect();
        self.resources.sort_by(|left, right| left.kind().cmp(right.kind()));
        for row in self.types.iter_mut().flat_map(|own| &mut own.rows) {
            row.handler.clear();
            row.change = row.change.replace(change::NOT_IN_HUB, change::REMOVED);
        }
        let versions = [from.to_string(), to.to_string()];
        self.notes.retain(|note| versions.contains(&note.version));
        self.changes()
    }

    /// Keeps only what changed.
    #[must_use]
    pub fn changes(mut self) -> Self {
        for own in &mut self.types {
            own.rows.retain(Row::is_change);
        }
        self.types.retain(|own| !own.rows.is_empty());
        self
    }

    /// What somebody should have looked at and nobody has, as `Type.property` with the reason.
    pub fn unreviewed(&self) -> Vec<String> {
        let rows = self.types.iter().flat_map(|own| own.rows.iter().map(move |row| (own, row)));
        let rows = rows.filter(|(_, row)| row.unreviewed);
        let rows =
            rows.map(|(own, row)| format!("{}.{} ({})", own.spoke, row.property, row.change));
        let notes = self.notes.iter().filter(|note| note.unreviewed);
        let notes = notes.map(|note| format!("{} ({})", note.subject(), note.text));
        let named: BTreeSet<_> = rows.chain(notes).collect();
        named.into_iter().collect()
    }
}

impl NoteReport {
    /// What the note is about: `Type.property`, or the type alone.
    fn subject(&self) -> String {
        let dot = if self.property.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.ty, self.property)
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
