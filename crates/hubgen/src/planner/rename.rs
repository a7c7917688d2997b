//! Follows configured renames, one after the other, from one version's names to another's.
//!
//! A rename is written once, for the step between two versions in which it happened. A spoke may
//! be older or newer than the hub, so renames are followed both ways.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::entry::{Entry, RenameProperty, RenameType};
use crate::config::{Config, Uses};
use crate::ir::{Object, Property};
use crate::plan::PairId;

pub(super) struct Renames<'a> {
    types: &'a [Entry<RenameType>],
    properties: &'a [Entry<RenameProperty>],
}

/// Which way a rename is read.
#[derive(Clone, Copy)]
enum Way {
    Forward,
    Back,
}

impl<'a> Renames<'a> {
    pub(super) fn new(config: &'a Config) -> Self {
        Self { types: &config.said.rename_type, properties: &config.said.rename_property }
    }

    /// Whether two type names are one, by themselves or by renames.
    pub(super) fn join_types(&self, spoke: &str, hub: &str, uses: &mut Uses) -> bool {
        if spoke == hub {
            return true;
        }
        let paths = [Way::Forward, Way::Back].into_iter();
        let mut paths = paths.filter_map(|way| self.type_path(spoke, hub, way));
        let Some(path) = paths.next() else { return false };
        path.into_iter().for_each(|entry| uses.note(entry));
        true
    }

    /// For each property of the spoke, by wire name, the hub's property it corresponds to.
    pub(super) fn partners<'h>(
        &self,
        id: &PairId,
        spoke: &Object,
        hub: &'h Object,
        uses: &mut Uses,
    ) -> BTreeMap<String, &'h Property> {
        let by_wire: BTreeMap<&str, &Property> =
            hub.properties.iter().map(|property| (property.wire.as_str(), property)).collect();
        let same_name = |property: &&Property| by_wire.contains_key(property.wire.as_str());
        let mut partners: BTreeMap<String, &Property> = BTreeMap::new();
        for property in spoke.properties.iter().filter(same_name) {
            partners.insert(property.wire.clone(), by_wire[property.wire.as_str()]);
        }
        let mut taken: BTreeSet<&str> = partners.keys().map(String::as_str).collect();
        let mut found = Vec::new();
        for property in spoke.properties.iter().filter(|property| !same_name(property)) {
            let ways = [Way::Forward, Way::Back].into_iter();
            let mut ends = ways.filter_map(|way| self.property_path(id, property, &by_wire, way));
            if let Some((end, path)) = ends.next()
                && taken.insert(end)
            {
                path.into_iter().for_each(|entry| uses.note(entry));
                found.push((property.wire.clone(), by_wire[end]));
            }
        }
        partners.extend(found);
        partners
    }

    fn type_path(&self, from: &str, to: &str, way: Way) -> Option<Vec<&Entry<RenameType>>> {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let mut name = from;
        while seen.insert(name) {
            let entry = self.types.iter().find(|entry| way.start(entry.get_ref()) == name)?;
            path.push(entry);
            name = way.end(entry.get_ref());
            if name == to {
                return Some(path);
            }
        }
        None
    }

    fn property_path<'h>(
        &self,
        id: &PairId,
        property: &Property,
        hub: &BTreeMap<&'h str, &'h Property>,
        way: Way,
    ) -> Option<(&'h str, Vec<&Entry<RenameProperty>>)> {
        let mut path = Vec::new();
        let mut seen = BTreeSet::new();
        let mut name = property.wire.as_str();
        while seen.insert(name) {
            let entry = self.properties.iter().find(|entry| {
                let entry = entry.get_ref();
                let start = match way {
                    Way::Forward => &entry.from,
                    Way::Back => &entry.to,
                };
                start == name && self.concerns(&entry.ty, id)
            })?;
            path.push(entry);
            name = match way {
                Way::Forward => &entry.get_ref().to,
                Way::Back => &entry.get_ref().from,
            };
            if let Some((end, _)) = hub.get_key_value(name) {
                return Some((end, path));
            }
        }
        None
    }

    /// Whether a type's name is one of a pair's, or a name that one of them had or will have.
    fn concerns(&self, ty: &str, id: &PairId) -> bool {
        [&id.spoke.name, &id.hub.name].into_iter().any(|own| {
            own == ty
                || self.type_path(own, ty, Way::Forward).is_some()
                || self.type_path(own, ty, Way::Back).is_some()
        })
    }
}

impl Way {
    fn start(self, entry: &RenameType) -> &str {
        match self {
            Self::Forward => &entry.from,
            Self::Back => &entry.to,
        }
    }

    fn end(self, entry: &RenameType) -> &str {
        match self {
            Self::Forward => &entry.to,
            Self::Back => &entry.from,
        }
    }
}
