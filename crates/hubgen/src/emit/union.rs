//! The conversion of a union, arm by arm. An arm that only one side lists is kept as JSON by the
//! other.

use super::code::Code;
use super::names::Names;
use super::types::variant;
use crate::ir::{Arm, Shape};
use crate::plan::{ArmStep, PairId};

/// An arm that both sides list.
struct Both<'a> {
    spoke: &'a Arm,
    hub: &'a Arm,
}

/// The arms of a pair of unions.
struct Unions<'a> {
    both: Vec<Both<'a>>,
    only_spoke: Vec<String>,
    only_hub: Vec<String>,
}

/// Writes the conversion of a pair of unions.
pub(super) fn write(code: &mut Code, names: &Names<'_>, id: &PairId, steps: &[ArmStep]) {
    let unions = resolve(names, id, steps);
    let stored = format!("storage::{}", names.stored(&id.hub));
    let start = format!("impl Spoke<{stored}> for {} {{", id.spoke.name);
    code.block(&start, "}", |code| {
        up(code, &unions, &stored);
        code.blank();
        down(code, &unions, &stored);
        overlay(code, names, id, (&unions, &stored));
    });
}

fn resolve<'a>(names: &Names<'a>, id: &PairId, steps: &[ArmStep]) -> Unions<'a> {
    let arms = |id| match &names.definition(id).shape {
        Shape::Union(shape) => shape.arms.as_slice(),
        Shape::Object(_) | Shape::Enum(_) => &[],
    };
    let (spoke, hub) = (arms(&id.spoke), arms(&id.hub));
    let is_converted = |value: &str| steps.iter().any(|it| it.value == value && it.hub.is_some());
    let counterpart = |arm: &Arm| {
        hub.iter().find(|it| it.value == arm.value).filter(|it| is_converted(&it.value))
    };
    let both: Vec<_> =
        spoke.iter().filter_map(|spoke| Some(Both { spoke, hub: counterpart(spoke)? })).collect();
    let is_both = |value: &str| both.iter().any(|it| it.spoke.value == value);
    let only = |arms: &[Arm]| {
        arms.iter().filter(|it| !is_both(&it.value)).map(|it| variant(&it.name)).collect()
    };
    Unions { only_spoke: only(spoke), only_hub: only(hub), both }
}

fn up(code: &mut Code, unions: &Unions<'_>, stored: &str) {
    code.block(&format!("fn up(self) -> Result<{stored}> {{"), "}", |code| {
        code.block("Ok(match self {", "})", |code| {
            for Both { spoke, hub } in &unions.both {
                let value = match (spoke.recursive, hub.recursive) {
                    (true, false) => "(*arm).into_hub()?",
                    (false, true) => "Box::new(arm.into_hub()?)",
                    (true, true) | (false, false) => "arm.into_hub()?",
                };
                let (spoke, hub) = (variant(&spoke.name), variant(&hub.name));
                code.line(&format!("Self::{spoke}(arm) => {stored}::{hub}({value}),"));
            }
            if let Some(arms) = alternatives(&unions.only_spoke, "Self") {
                code.pair(
                    &format!("arm @ {arms} =>"),
                    &format!("{stored}::Unlisted(hub::unlist(arm)?),"),
                );
            }
            let listed = unions.only_hub.is_empty();
            let value = if listed {
                format!("{stored}::Unlisted(object)")
            } else {
                "hub::relist(object)?".to_owned()
            };
            code.line(&format!("Self::Unlisted(object) => {value},"));
        });
    });
}

fn down(code: &mut Code, unions: &Unions<'_>, stored: &str) {
    code.block(&format!("fn down(hub: {stored}) -> Result<Self> {{"), "}", |code| {
        code.block("Ok(match hub {", "})", |code| {
            for Both { spoke, hub } in &unions.both {
                let value = match (spoke.recursive, hub.recursive) {
                    (true, false) => "Box::new(Spoke::from_hub(arm)?)",
                    (false, true) => "Spoke::from_hub(*arm)?",
                    (true, true) | (false, false) => "Spoke::from_hub(arm)?",
                };
                let (spoke, hub) = (variant(&spoke.name), variant(&hub.name));
                code.line(&format!("{stored}::{hub}(arm) => Self::{spoke}({value}),"));
            }
            if let Some(arms) = alternatives(&unions.only_hub, stored) {
                code.pair(&format!("arm @ {arms} =>"), "Self::Unlisted(hub::unlist(arm)?),");
            }
            let listed = unions.only_spoke.is_empty();
            let value = if listed { "Self::Unlisted(object)" } else { "hub::relist(object)?" };
            code.line(&format!("{stored}::Unlisted(object) => {value},"));
        });
    });
}

fn overlay(code: &mut Code, names: &Names<'_>, id: &PairId, (unions, stored): (&Unions<'_>, &str)) {
    let same: Vec<_> =
        unions.both.iter().filter(|it| it.spoke.recursive == it.hub.recursive).collect();
    if same.is_empty() {
        return;
    }
    let call = |arm: &Both<'_>| {
        let ty = names.spoke(&arm.spoke.ty, &id.spoke.since);
        let ty = if arm.spoke.recursive { format!("Box::<{ty}>") } else { ty };
        format!("{ty}::overlay(stored, new)")
    };
    let pattern = |arm: &Both<'_>| {
        let hub = variant(&arm.hub.name);
        format!("({stored}::{hub}(stored), {stored}::{hub}(new))")
    };
    code.blank();
    let start = format!("fn overlay(stored: {stored}, new: &mut {stored}) {{");
    code.block(&start, "}", |code| match same.as_slice() {
        [one] => {
            let start = format!("if let {} = (stored, new) {{", pattern(one));
            code.block(&start, "}", |code| code.line(&format!("{};", call(one))));
        }
        _ => code.block("match (stored, new) {", "}", |code| {
            for arm in &same {
                code.pair(&format!("{} =>", pattern(arm)), &format!("{},", call(arm)));
            }
            code.line("_ => {}");
        }),
    });
}

/// A pattern for any of some arms, whatever is in them.
fn alternatives(arms: &[String], ty: &str) -> Option<String> {
    let patterns: Vec<_> = arms.iter().map(|arm| format!("{ty}::{arm}(_)")).collect();
    match patterns.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(format!("({})", patterns.join(" | "))),
    }
}
