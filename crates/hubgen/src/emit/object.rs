//! The conversion of an object: `up`, `down` and `overlay`, property by property in order.

use std::collections::BTreeSet;

use super::code::{Code, literal};
use super::conversion::{Expression, Spoke, leaf, spill_key};
use super::names::{Names, field};
use crate::ir::{Property, Type};
use crate::plan::{Conversion, Pair, PairId, Plan, PropertyStep, Step};

/// Properties that tell the items of a list apart where no schema says so, the first there is.
const KEYS: &[&str] = &["name", "id", "key"];

/// A pair of objects and what each property of either side needs.
struct Objects<'a> {
    plan: &'a Plan,
    names: &'a Names<'a>,
    id: &'a PairId,
    /// The stored type as the version's module writes it.
    stored: String,
    steps: Vec<Resolved<'a>>,
}

/// A step and the properties it is about. Neither side has properties with one value only.
struct Resolved<'a> {
    step: &'a PropertyStep,
    spoke: Option<Spoke<'a>>,
    hub: Option<&'a Property>,
}

/// Writes the conversion of a pair of objects.
pub(super) fn write(
    code: &mut Code,
    plan: &Plan,
    names: &Names<'_>,
    (id, steps): (&PairId, &[PropertyStep]),
) {
    let objects = Objects {
        plan,
        names,
        id,
        stored: format!("storage::{}", names.stored(&id.hub)),
        steps: resolve(names, id, steps),
    };
    let stored = &objects.stored;
    let start = format!("impl Spoke<{stored}> for {} {{", id.spoke.name);
    code.block(&start, "}", |code| {
        let kind = format!("const AUGMENT: Option<AugmentHook<Self, {stored}>> =");
        code.pair(&kind, &format!("Probe::<(Self, {stored})>::AUGMENT;"));
        code.blank();
        objects.up(code);
        code.blank();
        objects.down(code);
        code.blank();
        objects.overlay(code);
        objects.is_same(code);
    });
    objects.demand_hook(code);
}

fn resolve<'a>(
    names: &'a Names<'a>,
    id: &'a PairId,
    steps: &'a [PropertyStep],
) -> Vec<Resolved<'a>> {
    let (spokes, hubs) = (names.properties(&id.spoke), names.properties(&id.hub));
    let find = |properties: &[&'a Property], wire: &Option<String>| {
        properties.iter().copied().find(|it| Some(&it.wire) == wire.as_ref())
    };
    let resolved = steps.iter().map(|step| {
        let property = find(&spokes, &step.spoke);
        let default = step.default.as_ref();
        let spoke = property.map(|property| Spoke { names, owner: &id.spoke, property, default });
        Resolved { step, spoke, hub: find(&hubs, &step.hub) }
    });
    resolved.filter(|it| it.spoke.is_some() || it.hub.is_some()).collect()
}

impl Objects<'_> {
    fn up(&self, code: &mut Code) {
        let stored = &self.stored;
        code.block(&format!("fn up(self) -> Result<{stored}> {{"), "}", |code| {
            code.line("let mut bag = Bag::default();");
            for resolved in by_spoke(&self.steps) {
                self.put(code, resolved);
            }
            code.line(&format!("bag.put_unknown({}, self.unknown);", self.unknown_key()));
            code.block(&format!("Ok({stored} {{"), "})", |code| {
                let mut is_complete = true;
                for resolved in by_hub(&self.steps) {
                    is_complete &= self.assign_up(code, resolved);
                }
                code.line("bag,");
                if !is_complete {
                    code.line("..Default::default()");
                }
            });
        });
    }

    /// Puts a property into the bag that can go nowhere else.
    fn put(&self, code: &mut Code, resolved: &Resolved<'_>) {
        let (Some(spoke), Some(key)) = (resolved.spoke, self.bag_key(resolved)) else { return };
        if resolved.hub.is_none() || resolved.step.change.is_none() {
            code.line(&put(spoke, &key));
        }
    }

    /// Writes the hub's field, unless nothing goes there.
    fn assign_up(&self, code: &mut Code, resolved: &Resolved<'_>) -> bool {
        let (Some(spoke), Some(hub)) = (resolved.spoke, resolved.hub) else { return false };
        let name = field(hub);
        let otherwise = match &resolved.step.step {
            Step::Convert { conversion, .. } => {
                Some(spoke.up(hub, conversion, spill_key(resolved.step)))
            }
            Step::Bag { .. } => None,
            Step::Skip | Step::Manual => return false,
        };
        let Some(probe) = self.probe(resolved) else {
            if let Some(value) = &otherwise {
                code.line(&assignment(&name, value));
            }
            return otherwise.is_some();
        };
        code.block(&format!("{name}: match {probe} {{"), "},", |code| {
            let (source, at) = (spoke.source(), spoke.at());
            code.line(&format!("Some(hook) => {source}.try_map(hook.up){at},"));
            match (otherwise, self.bag_key(resolved)) {
                (None, Some(key)) => code.block("None => {", "}", |code| {
                    code.line(&put(spoke, &key));
                    code.line("Field::Absent");
                }),
                (value, _) => {
                    code.line(&format!("None => {},", value.unwrap_or_default()));
                }
            }
        });
        true
    }

    fn down(&self, code: &mut Code) {
        let stored = &self.stored;
        code.block(&format!("fn down(hub: {stored}) -> Result<Self> {{"), "}", |code| {
            code.line("let mut bag = hub.bag;");
            code.block("Ok(Self {", "})", |code| {
                for resolved in by_spoke(&self.steps) {
                    self.assign_down(code, resolved);
                }
                code.line(&format!("unknown: bag.take_unknown({})?,", self.unknown_key()));
            });
        });
    }

    fn assign_down(&self, code: &mut Code, resolved: &Resolved<'_>) {
        let Some(spoke) = resolved.spoke else { return };
        let name = field(spoke.property);
        let key = self.bag_key(resolved);
        let taken = key.as_ref().map(|key| spoke.required(take(key)));
        let otherwise = match (&resolved.step.step, resolved.hub, taken) {
            (_, _, Some(taken)) => taken,
            (Step::Convert { conversion, .. }, Some(hub), None) => {
                spoke.down(hub, conversion, spill_key(resolved.step))
            }
            _ => spoke.required(Expression::Field("Field::Absent".to_owned())),
        };
        let (Some(probe), Some(hub)) = (self.probe(resolved), resolved.hub) else {
            code.line(&assignment(&name, &otherwise));
            return;
        };
        code.block(&format!("{name}: match {probe} {{"), "},", |code| {
            let mut hooked = format!("hub.{}.try_map(hook.down)", field(hub));
            if let Some(key) = key.as_deref().or(spill_key(resolved.step)) {
                hooked.push_str(&format!(".and_then(|it| bag.or_take({}, it))", literal(key)));
            }
            let hooked = spoke.required(Expression::Result(hooked));
            code.line(&format!("Some(hook) => {hooked},"));
            code.line(&format!("None => {otherwise},"));
        });
    }

    fn overlay(&self, code: &mut Code) {
        let stored = &self.stored;
        let has_manual = self.steps.iter().any(|it| it.step.step == Step::Manual);
        let given = if has_manual { "mut stored" } else { "stored" };
        let start = format!("fn overlay({given}: {stored}, new: &mut {stored}) {{");
        let spilled = self.spilled_by_others();
        let bag = if spilled.is_empty() { "stored.bag" } else { "bag" };
        code.block(&start, "}", |code| {
            if has_manual {
                let start = "if let Some(hook) = Self::AUGMENT {";
                code.block(start, "}", |code| code.line("(hook.complete)(&mut stored, new);"));
            }
            if !spilled.is_empty() {
                code.line("let mut bag = stored.bag;");
            }
            for (wire, key) in &spilled {
                let hub = by_hub(&self.steps).into_iter().filter_map(|it| it.hub);
                for hub in hub.filter(|it| it.wire == *wire) {
                    let name = field(hub);
                    code.block(&format!("if stored.{name} != new.{name} {{"), "}", |code| {
                        code.line(&format!("bag.remove({});", literal(key)));
                    });
                }
            }
            for resolved in by_hub(&self.steps) {
                self.overlay_property(code, resolved);
            }
            let owned: Vec<_> = self.owned_keys().iter().map(|key| literal(key)).collect();
            code.list(&format!("new.bag.overlay({bag}, &["), &owned, "]);");
        });
    }

    fn overlay_property(&self, code: &mut Code, resolved: &Resolved<'_>) {
        let Some(hub) = resolved.hub else { return };
        let name = field(hub);
        let keep = format!("hub::keep(stored.{name}, &mut new.{name});");
        let (spoke, conversion) = match (&resolved.step.step, resolved.spoke) {
            (Step::Convert { conversion, .. }, Some(spoke)) => (spoke, conversion),
            // The hook writes it, and knows when there is nothing to write.
            (Step::Manual, _) => return,
            _ => {
                let Some(probe) = self.probe(resolved) else { return code.line(&keep) };
                let start = format!("if {probe}.is_none() {{");
                return code.block(&start, "}", |code| code.line(&keep));
            }
        };
        if let Some(default) = spoke.default {
            let default = literal(&default.to_string());
            let forget =
                format!("hub::forget_default(&stored.{name}, &mut new.{name}, {default});");
            code.line(&forget);
        }
        let is_nested = matches!(leaf(conversion), Conversion::Object(_) | Conversion::Union(_));
        if is_nested && spoke.property.recursive == hub.recursive {
            let ty = spoke.value_type();
            code.line(&format!("Field::<{ty}>::overlay(stored.{name}, &mut new.{name});"));
        }
    }

    /// Writes how items of this type are told apart in lists, where both sides have the keys.
    fn is_same(&self, code: &mut Code) {
        let Some(keys) = self.keys() else { return };
        let stored = &self.stored;
        code.blank();
        let start = format!("fn is_same(stored: &{stored}, new: &{stored}) -> bool {{");
        let same = keys.iter().map(|key| format!("stored.{key} == new.{key}"));
        code.block(&start, "}", |code| code.line(&same.collect::<Vec<_>>().join(" && ")));
    }

    /// The hub's fields that tell items apart: those that a schema names, the hub's before the
    /// version's, or else what is usually a key.
    fn keys(&self) -> Option<Vec<String>> {
        let is_assigned = |it: &&Resolved<'_>| {
            matches!(it.step.step, Step::Convert { .. }) && it.step.change.is_none()
        };
        let assigned: Vec<_> = self.steps.iter().filter(is_assigned).collect();
        let stored = |wire: &str| {
            assigned.iter().filter_map(|it| it.hub).find(|hub| hub.wire == wire).map(field)
        };
        let renamed = |wire: &str| {
            let step = assigned.iter().find(|it| it.step.spoke.as_deref() == Some(wire));
            step.and_then(|it| it.hub).map(field)
        };
        let guessed = |wire: &&str| {
            let is_text = |property: &Property| property.ty == Type::String;
            let step = assigned.iter().find(|it| it.hub.is_some_and(|hub| hub.wire == **wire))?;
            let (hub, spoke) = (step.hub?, step.spoke?.property);
            (is_text(hub) && is_text(spoke)).then(|| vec![field(hub)])
        };
        let all = |keys: &[String], find: &dyn Fn(&str) -> Option<String>| {
            let found: Option<Vec<_>> = keys.iter().map(|key| find(key)).collect();
            found.filter(|found| !found.is_empty())
        };
        all(self.names.keys(&self.id.hub), &stored)
            .or_else(|| all(self.names.keys(&self.id.spoke), &renamed))
            .or_else(|| KEYS.iter().find_map(guessed))
    }

    /// Fails the build where a property is left to a hook that is not there.
    fn demand_hook(&self, code: &mut Code) {
        let manual = self.steps.iter().filter(|it| it.step.step == Step::Manual);
        let manual: Vec<_> = manual.filter_map(|it| it.step.spoke.as_deref()).collect();
        if manual.is_empty() {
            return;
        }
        let spoke = &self.id.spoke.name;
        let message = format!(
            "`{}` of `{spoke}` is converted by hand: implement `hub::Augment`",
            manual.join("`, `")
        );
        code.blank();
        code.block("const _: () = assert!(", ");", |code| {
            code.line(&format!("Probe::<({spoke}, {})>::AUGMENT.is_some(),", self.stored));
            code.line(&literal(&message));
        });
    }

    fn unknown_key(&self) -> String {
        literal(&format!("*@{}", self.id.spoke.since))
    }

    /// The key of a property that goes to the bag.
    fn bag_key(&self, resolved: &Resolved<'_>) -> Option<String> {
        match &resolved.step.step {
            Step::Bag { key } => Some(key.clone()),
            // The hub writes this property itself, as the tag of an arm.
            Step::Convert { .. } if resolved.hub.is_none() => {
                resolved.spoke.map(|it| format!("{}@{}", it.property.wire, self.id.spoke.since))
            }
            Step::Convert { .. } | Step::Skip | Step::Manual => None,
        }
    }

    /// The question whether a property's converter is written.
    fn probe(&self, resolved: &Resolved<'_>) -> Option<String> {
        let is_generated = resolved.hub.is_some() && resolved.step.step != Step::Manual;
        let change = resolved.step.change.as_ref().filter(|_| is_generated)?;
        let name = self.names.marker(self.id, change);
        Some(format!("Probe::<change::{name}>::CONVERT"))
    }

    /// The keys in the bag that this version writes itself, or its hook for what is left to it.
    fn owned_keys(&self) -> BTreeSet<String> {
        let since = &self.id.spoke.since;
        let mut keys = BTreeSet::from([format!("*@{since}")]);
        for resolved in &self.steps {
            let Some(spoke) = resolved.spoke else { continue };
            keys.extend(self.bag_key(resolved));
            keys.extend(spill_key(resolved.step).map(str::to_owned));
            if resolved.step.step == Step::Manual {
                keys.insert(format!("{}@{since}", spoke.property.wire));
            }
        }
        keys
    }

    /// What other versions may have put into the bag because it did not fit: it is out of date
    /// when this version writes another value.
    fn spilled_by_others(&self) -> BTreeSet<(String, String)> {
        let owned = self.owned_keys();
        let pairs = self.plan.pairs.iter().filter(|(id, _)| id.hub == self.id.hub);
        let steps = pairs.flat_map(|(_, pair)| match pair {
            Pair::Object(steps) => steps.as_slice(),
            Pair::Union(_) => &[],
        });
        let spilled =
            steps.filter_map(|step| Some((step.hub.clone()?, spill_key(step)?.to_owned())));
        let expressed = |wire: &str| {
            let converts = |it: &&Resolved<'_>| matches!(it.step.step, Step::Convert { .. });
            self.steps.iter().filter(converts).any(|it| it.step.hub.as_deref() == Some(wire))
        };
        spilled.filter(|(wire, key)| !owned.contains(key) && expressed(wire)).collect()
    }
}

fn by_spoke<'a, 'b>(steps: &'b [Resolved<'a>]) -> Vec<&'b Resolved<'a>> {
    let mut steps: Vec<_> = steps.iter().filter(|it| it.spoke.is_some()).collect();
    steps.sort_by_key(|it| it.spoke.map(|it| &it.property.name));
    steps
}

fn by_hub<'a, 'b>(steps: &'b [Resolved<'a>]) -> Vec<&'b Resolved<'a>> {
    let mut steps: Vec<_> = steps.iter().filter(|it| it.hub.is_some()).collect();
    steps.sort_by_key(|it| it.hub.map(|it| &it.name));
    steps
}

fn assignment(name: &str, value: &str) -> String {
    if name == value { format!("{name},") } else { format!("{name}: {value},") }
}

fn put(spoke: Spoke<'_>, key: &str) -> String {
    format!("bag.put({}, {});", literal(key), spoke.source())
}

fn take(key: &str) -> Expression {
    Expression::Result(format!("bag.take({})", literal(key)))
}
