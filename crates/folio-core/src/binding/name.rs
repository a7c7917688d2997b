//! Names: aliases that are found by name alone, of whichever function of the app. One leads to a version, as an alias of a
//! function, or to whatever is newest, as a binding. Making the one of the other is a single entry, so that no job or
//! webhook ever finds its name gone. Start at [`Folio::lead`].

use folio_model::{
    Alias, AppName, Binding, BindingTerms, BoundTo, Edit, Entry, FULL_WEIGHT, Kind, Number, Place,
    Pointer, Qualifier, Timestamp, Unit, UnitUid, VersionId, Weights,
};
use uuid::Uuid;

use super::{Error, in_use, leads, living, newest, put};
use crate::Folio;
use crate::alias;
use crate::builder::Builder;
use crate::delete::guard;
use crate::ports::{StandingBinding, State, StoreError};
use crate::request::{AliasTarget, Caller, Expect};
use crate::view::Done;

/// What is known about a name beside where it leads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Story {
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When it was changed last, if ever.
    pub updated_at: Option<Timestamp>,
    /// What was said about it last.
    pub description: Option<String>,
}

/// What a name is.
#[derive(Debug, Clone)]
enum Stands {
    Alias(UnitUid, Alias),
    Newest(Box<StandingBinding>),
}

/// Where a name is to lead.
struct Lead<'a> {
    app: &'a AppName,
    name: &'a VersionId,
    function: Unit,
    description: Option<&'a str>,
}

impl Folio {
    /// Has a name lead elsewhere: to a version of a function, or to whatever is newest of it. Jobs and webhooks that
    /// follow the name go on; what names it as an alias of the function that it leaves is in the way.
    pub async fn lead(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &VersionId),
        (unit, number): (UnitUid, Option<Number>),
        description: Option<String>,
    ) -> Result<Done<()>, Error> {
        self.check_text("description", description.as_deref().unwrap_or_default())?;
        // What is said about an alias is why it points where it does.
        let caller = Caller { reason: description.clone(), ..caller.clone() };
        let (of, name, id) = (app.clone(), name.clone(), self.fresh_uuid());
        self.commit(&caller, app, move |builder| {
            leads(builder.state, &of, &BoundTo::Function { unit, number })?;
            let function = living(builder.state, &of, unit)?;
            let lead =
                Lead { app: &of, name: &name, function, description: description.as_deref() };
            builder.say(format!("move alias {name}"));
            match (stands(builder.state, &of, &name)?, number) {
                (Stands::Alias(from, alias), Some(number)) if from == unit => {
                    lead.turn(builder, alias, number)
                }
                (Stands::Newest(found), None) => lead.turn_newest(builder, *found),
                (from, Some(number)) => {
                    lead.leave(builder, &from)?;
                    let weights = lead.weigh(builder.state, number)?;
                    let (function, name) = (&lead.function, &name);
                    alias::expected(builder.state, function, name, Expect::Absent)?;
                    alias::place(builder, function, name, (None, weights))?;
                    Ok(())
                }
                (from, None) => {
                    lead.leave(builder, &from)?;
                    lead.arrive_newest(builder, id, &from)
                }
            }
        })
        .await
    }

    /// Tells since when an alias of a function goes by its name, wherever that led before.
    pub async fn story(&self, unit: UnitUid, name: &VersionId) -> Result<Story, Error> {
        let name = name.clone();
        self.look(move |state| Ok(story(state, unit, &name)?)).await
    }
}

impl Lead<'_> {
    /// Points an alias at another version of its function.
    fn turn(&self, builder: &mut Builder<'_>, from: Alias, number: Number) -> Result<(), Error> {
        let weights = self.weigh(builder.state, number)?;
        if from.weights != weights {
            alias::place(builder, &self.function, self.name, (Some(from), weights))?;
            return Ok(());
        }
        let said = story(builder.state, self.function.uid, self.name)?.description;
        if self.description.is_some() && self.description != said.as_deref() {
            // It stays where it is, and the entry says what is said about it.
            let pointer = Pointer::Alias { unit: self.function.uid, name: self.name.clone() };
            let place = Some(Place::Versions(weights));
            builder.push(Edit::Move { pointer, from: place.clone(), to: place })?;
        }
        Ok(())
    }

    /// Has a name for what is newest be that of another function, or be described in other words.
    fn turn_newest(&self, builder: &mut Builder<'_>, found: StandingBinding) -> Result<(), Error> {
        let mut to = found.binding.clone();
        to.to = BoundTo::Function { unit: self.function.uid, number: None };
        to.description = self.description.map(str::to_owned).or(to.description);
        if to != found.binding {
            to.updated_at = Some(builder.at());
            put(builder, (self.app, found.id), Some(found.binding), to)?;
        }
        Ok(())
    }

    /// Takes a name from where it is.
    fn leave(&self, builder: &mut Builder<'_>, from: &Stands) -> Result<(), Error> {
        let (pointer, place, unit) = match from {
            Stands::Alias(unit, alias) => (
                Pointer::Alias { unit: *unit, name: alias.name.clone() },
                Place::Versions(alias.weights.clone()),
                Some(*unit),
            ),
            Stands::Newest(found) => (
                Pointer::Binding { app: found.app.clone(), id: found.id },
                Place::Binding(Box::new(found.binding.clone())),
                found.binding.to.unit(),
            ),
        };
        let (gone, led) = ([pointer.clone()].into(), [self.name.clone()].into());
        let leaving = guard::Leaving { gone, led, ..guard::Leaving::default() };
        in_use(builder.state, (unit, self.name), &leaving)?;
        Ok(builder.point(pointer, Some(place), None)?)
    }

    /// Makes a name for what is newest of what was an alias.
    fn arrive_newest(
        &self,
        builder: &mut Builder<'_>,
        id: Uuid,
        from: &Stands,
    ) -> Result<(), Error> {
        let story = match from {
            Stands::Alias(unit, alias) => story(builder.state, *unit, &alias.name)?,
            Stands::Newest(_) => Story::default(),
        };
        let binding = Binding {
            to: BoundTo::Function { unit: self.function.uid, number: None },
            name: Some(self.name.to_string()),
            description: self.description.map(str::to_owned).or(story.description),
            terms: BindingTerms::Newest,
            created_at: story.created_at.unwrap_or(builder.at()),
            updated_at: Some(builder.at()),
        };
        put(builder, (self.app, id), None, binding)?;
        Ok(())
    }

    fn weigh(&self, state: &dyn State, number: Number) -> Result<Weights, alias::Error> {
        let target = AliasTarget { version: Qualifier::Number(number), weight: FULL_WEIGHT };
        alias::weigh(state, &self.function, &[target])
    }
}

/// What a name is now. One that splits calls belongs to its function alone.
fn stands(state: &dyn State, app: &AppName, name: &VersionId) -> Result<Stands, Error> {
    for unit in state.units(app, Kind::Function)?.into_iter().filter(Unit::is_visible) {
        let alias = state.alias(unit.uid, name)?;
        if let Some(alias) = alias.filter(|alias| alias.weights.shares().len() == 1) {
            return Ok(Stands::Alias(unit.uid, alias));
        }
    }
    let found = newest(state, app, name.as_str())?;
    found.map(|found| Stands::Newest(Box::new(found))).ok_or_else(|| Error::NoAlias(name.clone()))
}

/// Goes back along the moves of an alias, and of whatever had its name before it in the same hand.
fn story(state: &dyn State, unit: UnitUid, name: &VersionId) -> Result<Story, StoreError> {
    let mut story = Story::default();
    let mut pointer = Pointer::Alias { unit, name: name.clone() };
    let mut below = u64::MAX;
    'again: loop {
        let (moves, until) = (state.moves(&pointer)?, below);
        for entry in moves.into_iter().rev().filter(|entry| entry.seq < until) {
            story.description = story.description.or_else(|| entry.reason.clone());
            if makes(&entry, &pointer) {
                let Some((before, place)) = left(&entry, name) else {
                    story.created_at = Some(entry.at);
                    return Ok(story);
                };
                story.updated_at = story.updated_at.or(Some(entry.at));
                if let Place::Binding(binding) = place {
                    story.created_at = Some(binding.created_at);
                    story.description = story.description.or(binding.description);
                    return Ok(story);
                }
                (pointer, below) = (before, entry.seq);
                continue 'again;
            }
            story.updated_at = story.updated_at.or(Some(entry.at));
        }
        return Ok(story);
    }
}

/// Whether an entry makes a pointer.
fn makes(entry: &Entry, pointer: &Pointer) -> bool {
    let made = |edit: &Edit| matches!(edit, Edit::Move { pointer: moved, from: None, .. } if moved == pointer);
    entry.edits.iter().any(made)
}

/// What had a name until an entry that does nothing but have it lead elsewhere.
fn left(entry: &Entry, name: &VersionId) -> Option<(Pointer, Place)> {
    if entry.edits.len() != 2 {
        return None;
    }
    entry.edits.iter().find_map(|edit| match edit {
        Edit::Move { pointer, from: Some(place), to: None } => {
            let same = match (pointer, place) {
                (Pointer::Alias { name: own, .. }, _) => own == name,
                (_, Place::Binding(binding)) => binding.name.as_deref() == Some(name.as_str()),
                _ => false,
            };
            same.then(|| (pointer.clone(), place.clone()))
        }
        _ => None,
    })
}
