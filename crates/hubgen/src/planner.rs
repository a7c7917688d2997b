//! Decides how each version's types become the stored types and come back.
//!
//! Starts from the resources and follows what their properties need, so every pair of types is
//! planned once. `convert` answers whether one type can become another, `rename` follows the
//! configured renames, `keys` names entries of the bag. Start at [`plan`].

mod convert;
mod defaults;
mod keys;
mod rename;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::config::{Config, Uses};
use crate::error::Error;
use crate::ir::{Definition, Group, Object, Property, Resource, Shape, TypeId, Union};
use crate::load::Loaded;
use crate::naming::{distinct, pascal};
use crate::plan::{
    ArmStep, Change, Conversion, Pair, PairId, Plan, PropertyStep, ResourcePlan, Step,
};
use crate::shape::{label, mentioned};
use crate::version::Version;
use convert::{Converted, Converter};
use keys::Keys;
use rename::Renames;

/// Versions to look at instead of all. Kinds that do not have them are left out.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The version to store, instead of what the configuration says.
    pub hub: Option<Version>,
    /// The one version to convert.
    pub spoke: Option<Version>,
}

/// A plan and the entries of the configuration that it used.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The entries that decided something, those of loading included.
    pub uses: Uses,
}

/// Plans every resource of a group.
pub fn plan(config: &Config, loaded: &Loaded, choice: &Choice) -> Result<Planned, Error> {
    let group = loaded.shared();
    let types = types(&group);
    let mut uses = loaded.uses.clone();
    let resources = resources(config, &group, choice, &mut uses);
    let mut planner = Planner {
        config,
        types: &types,
        keys: Keys::new(&group, &types),
        renames: Renames::new(config),
        uses,
        queue: VecDeque::new(),
        pairs: BTreeMap::new(),
    };
    for resource in resources.values() {
        for spoke in resource.spokes.values() {
            let id = PairId { spoke: spoke.root.clone(), hub: resource.storage.clone() };
            planner.queue.push_back(id);
        }
    }
    planner.run()?;
    let (pairs, uses) = (planner.pairs, planner.uses);
    keys::check(&pairs, &types)?;
    let storage = storage(&types, resources.values().map(|resource| &resource.storage));
    drop(types);
    Ok(Planned { plan: Plan { group, storage, pairs, resources }, uses })
}

/// Every type by its name and first version.
pub type Types<'a> = BTreeMap<&'a TypeId, &'a Definition>;

/// Indexes the types of a group whose equal types are shared.
pub fn types(group: &Group) -> Types<'_> {
    let definitions = group.versions.values().flat_map(|api| api.definitions.values());
    definitions.map(|definition| (&definition.id, definition)).collect()
}

fn resources(
    config: &Config,
    group: &Group,
    choice: &Choice,
    uses: &mut Uses,
) -> BTreeMap<String, ResourcePlan> {
    let mut chains: BTreeMap<String, BTreeMap<Version, Resource>> = BTreeMap::new();
    for (version, api) in &group.versions {
        for resource in api.resources.values() {
            let chain = chains.entry(resource.kind.to_lowercase()).or_default();
            chain.insert(version.clone(), resource.clone());
        }
    }
    let mut plans = BTreeMap::new();
    for (kind, mut spokes) in chains {
        let wanted = [&choice.hub, &choice.spoke].into_iter().flatten();
        if wanted.into_iter().any(|version| !spokes.contains_key(version)) {
            continue;
        }
        let configured = configured_hub(config, &kind, &spokes, uses);
        let latest = spokes.keys().rfind(|version| version.is_stable());
        let hub = choice.hub.clone().or(configured).or_else(|| latest.cloned());
        let hub = hub.or_else(|| spokes.keys().next_back().cloned());
        let hub = hub.expect("a kind is in at least one version");
        let storage = spokes[&hub].root.clone();
        let kind = spokes[&hub].kind.clone();
        if let Some(only) = &choice.spoke {
            spokes.retain(|version, _| version == only);
        }
        plans.insert(kind, ResourcePlan { hub, storage, spokes });
    }
    plans
}

fn configured_hub(
    config: &Config,
    kind: &str,
    spokes: &BTreeMap<Version, Resource>,
    uses: &mut Uses,
) -> Option<Version> {
    let mut found = None;
    for entry in &config.said.hub {
        let version = Version::new(&entry.get_ref().version);
        let own = entry.get_ref().kind.as_ref();
        let same = own.is_none_or(|own| own.eq_ignore_ascii_case(kind));
        if same && spokes.contains_key(&version) {
            uses.note(entry);
            // What is said of one kind goes before what is said of all.
            if found.is_none() || own.is_some() {
                found = Some(version);
            }
        }
    }
    found
}

/// The stored types within reach of the roots; enums are stored as strings.
fn storage<'a>(types: &Types<'_>, roots: impl Iterator<Item = &'a TypeId>) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    let mut rest: Vec<&TypeId> = roots.filter_map(|id| types.get(id).map(|own| &own.id)).collect();
    while let Some(id) = rest.pop() {
        let Some(definition) = types.get(id) else { continue };
        if !matches!(definition.shape, Shape::Enum(_)) && found.insert(id.clone()) {
            rest.extend(mentioned(definition));
        }
    }
    found
}

struct Planner<'a> {
    config: &'a Config,
    types: &'a Types<'a>,
    keys: Keys<'a>,
    renames: Renames<'a>,
    uses: Uses,
    queue: VecDeque<PairId>,
    pairs: BTreeMap<PairId, Pair>,
}

impl Planner<'_> {
    fn run(&mut self) -> Result<(), Error> {
        while let Some(id) = self.queue.pop_front() {
            if self.pairs.contains_key(&id) {
                continue;
            }
            let (spoke, hub) = (self.types[&id.spoke], self.types[&id.hub]);
            let pair = match (&spoke.shape, &hub.shape) {
                (Shape::Object(spoke), Shape::Object(hub)) => self.object(&id, spoke, hub)?,
                (Shape::Union(spoke), Shape::Union(hub)) => self.union(spoke, hub),
                _ => {
                    return Err(Error::refused(
                        format!(
                            "`{}` of {} is not the same kind of type as `{}` of {}, which is stored",
                            id.spoke.name, id.spoke.since, id.hub.name, id.hub.since
                        ),
                        "exclude the version, or choose another with [[hub]]",
                    ));
                }
            };
            self.pairs.insert(id, pair);
        }
        Ok(())
    }

    fn union(&mut self, spoke: &Union, hub: &Union) -> Pair {
        let mut steps = Vec::new();
        for arm in &spoke.arms {
            let other = hub.arms.iter().find(|other| other.value == arm.value);
            let other = other.filter(|_| spoke.tag == hub.tag).map(|other| other.ty.clone());
            if let Some(hub) = &other {
                self.queue.push_back(PairId { spoke: arm.ty.clone(), hub: hub.clone() });
            }
            steps.push(ArmStep { value: arm.value.clone(), spoke: arm.ty.clone(), hub: other });
        }
        Pair::Union(steps)
    }

    fn object(&mut self, id: &PairId, spoke: &Object, hub: &Object) -> Result<Pair, Error> {
        let partners = self.renames.partners(id, spoke, hub, &mut self.uses);
        let mut steps = Vec::new();
        let mut markers = BTreeSet::new();
        for property in &spoke.properties {
            let partner = partners.get(property.wire.as_str()).copied();
            let mut step = match partner {
                Some(partner) => self.both(id, property, partner, &mut markers),
                None => self.spoke_only(id, property),
            };
            step.default = defaults::find(self.config, &id.spoke, property, &mut self.uses)?;
            steps.push((property.name.clone(), step));
        }
        let taken: BTreeSet<_> = partners.values().map(|partner| &partner.wire).collect();
        for property in hub.properties.iter().filter(|property| !taken.contains(&property.wire)) {
            let manual = self.is_manual(id, &[(&id.hub, property)], false);
            let step = if manual { Step::Manual } else { Step::Skip };
            let hub = Some(property.wire.clone());
            let step = PropertyStep { spoke: None, hub, step, change: None, default: None };
            steps.push((property.name.clone(), step));
        }
        steps.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(Pair::Object(steps.into_iter().map(|(_, step)| step).collect()))
    }

    fn spoke_only(&mut self, id: &PairId, property: &Property) -> PropertyStep {
        let step = if self.is_manual(id, &[(&id.spoke, property)], true) {
            Step::Manual
        } else {
            Step::Bag { key: self.keys.of(&id.spoke, property) }
        };
        let spoke = Some(property.wire.clone());
        PropertyStep { spoke, hub: None, step, change: None, default: None }
    }

    fn both(
        &mut self,
        id: &PairId,
        spoke: &Property,
        hub: &Property,
        markers: &mut BTreeSet<String>,
    ) -> PropertyStep {
        let mut converter = Converter {
            types: self.types,
            renames: &self.renames,
            uses: &mut self.uses,
            structural: self.config.said.structural,
            equal_enums: self.config.equal_enums(),
            depth: 0,
        };
        let converted = converter.convert(&spoke.ty, &hub.ty);
        let changed = converted.is_none() || label(&spoke.ty) != label(&hub.ty);
        let change = changed.then(|| Change {
            name: distinct(pascal(&spoke.wire), markers),
            spoke: spoke.ty.clone(),
            hub: hub.ty.clone(),
        });
        let same = spoke.wire == hub.wire && spoke.ty == hub.ty;
        let step = if self.is_manual(id, &[(&id.spoke, spoke), (&id.hub, hub)], !same) {
            Step::Manual
        } else {
            self.step(id, spoke, converted)
        };
        PropertyStep {
            spoke: Some(spoke.wire.clone()),
            hub: Some(hub.wire.clone()),
            step,
            change,
            default: None,
        }
    }

    fn step(&mut self, id: &PairId, spoke: &Property, converted: Option<Converted>) -> Step {
        let key = self.keys.of(&id.spoke, spoke);
        let Some(Converted { conversion, partial }) = converted else {
            return Step::Bag { key };
        };
        if let Some(pair) = pair_of(&conversion) {
            self.queue.push_back(pair.clone());
        }
        let bag = partial.then_some(key);
        Step::Convert { conversion, bag }
    }

    /// Whether a property is left to a hook. Where both sides agree, as in the stored version
    /// itself, there is nothing to do by hand, unless the entry names the version.
    fn is_manual(&mut self, id: &PairId, places: &[(&TypeId, &Property)], changed: bool) -> bool {
        let mut any = false;
        for entry in &self.config.said.manual {
            let version = entry.get_ref().version.as_deref();
            if !version.map_or(changed, |version| version == id.spoke.since.as_str()) {
                continue;
            }
            let named = |(ty, property): &(&TypeId, &Property)| {
                entry.get_ref().ty == ty.name && entry.get_ref().property == property.wire
            };
            if places.iter().any(named) {
                self.uses.note(entry);
                any = true;
            }
        }
        any
    }
}

fn pair_of(conversion: &Conversion) -> Option<&PairId> {
    match conversion {
        Conversion::List(inner) | Conversion::Map(inner) => pair_of(inner),
        Conversion::Object(pair) | Conversion::Union(pair) => Some(pair),
        Conversion::Copy
        | Conversion::Text
        | Conversion::IntegerToNumber
        | Conversion::NumberToInteger
        | Conversion::ToAny => None,
    }
}
