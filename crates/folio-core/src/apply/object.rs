//! Puts one object: what a single manifest asks for, with what is said about it, as one entry.
//!
//! Unlike a deployment, an object stands in the app as it is: a function finds its package there, and what a package
//! gives to its functions reaches them in the same entry. Start at [`Folio::put_object`].

use std::sync::Arc;

use folio_kinds::spec::{Part, Words};
use folio_model::{
    Digest, Kind, Labels, Marks, Owner, Place, Pointer, Snapshot, Timestamp, Unit, UnitKey,
    VersionKey,
};
use serde_json::Value;

use super::read::Reading;
use super::{
    Applied, Document, Error, Form, Others, Outcome, Rest, Scope, Unread, Wanted, Wish, carry_out,
    plan,
};
use crate::builder::Builder;
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::view::{self, Done};
use crate::{Folio, compose, publish, resolve};

/// One object to put.
#[derive(Debug, Clone, PartialEq)]
pub struct PutObject {
    /// Which.
    pub key: UnitKey,
    /// Its manifest; none if only what is said about it changes.
    pub document: Option<Document>,
    /// The manifest that was changed into this one. What it does not show of the object stays as it is.
    pub before: Option<Document>,
    /// The deployment it says it belongs to.
    pub owner: Option<Owner>,
    /// What becomes of a function or package that differs.
    pub form: Form,
    /// Its labels.
    pub labels: Labels,
    /// Its annotations.
    pub annotations: Labels,
    /// Who wrote which of its fields.
    pub managers: Vec<Value>,
    /// What must hold.
    pub expected: Expected,
}

/// What must hold for an object to be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It must not exist yet.
    Absent,
    /// It must exist.
    Present,
    /// It must exist and not have changed since this entry.
    Since(u64),
}

impl Folio {
    /// Makes an object what its manifest asks for, with the functions that stand on it, and notes what is said about
    /// it. Changes nothing if all of it is so already.
    pub async fn put_object(
        &self,
        caller: &Caller,
        put: PutObject,
    ) -> Result<Done<Applied>, Error> {
        let mut remarks = Vec::new();
        let mut wishes = Vec::new();
        if let Some(document) = &put.document {
            let mut reading = Reading::default();
            self.read(&put.key.app, document, &mut reading).await?;
            if !reading.faults.is_empty() {
                return Err(Error::Faults(reading.faults));
            }
            remarks = reading.remarks();
            wishes = reading.wishes;
            self.measure_wishes(&wishes).await?;
        }
        let mut shown = Reading::default();
        if let Some(before) = put.before.as_ref().filter(|_| !wishes.is_empty()) {
            self.read(&put.key.app, before, &mut shown).await?;
        }
        let shown = shown.wishes.into_iter().next();
        let app = put.key.app.clone();
        self.commit(caller, &app, move |builder| {
            let mut applied = perform(builder, &put, (&wishes, shown.as_deref()))?;
            applied.remarks.splice(0..0, remarks.iter().cloned());
            Ok::<_, Error>(applied)
        })
        .await
    }

    async fn measure_wishes(&self, wishes: &[Arc<Wish>]) -> Result<(), Error> {
        for wish in wishes {
            for content in wish.spec.contents() {
                match self.measure(content).await {
                    Ok(()) => {}
                    Err(compose::Error::Store(error)) => return Err(error.into()),
                    Err(error) => {
                        let fault = wish.fault(Part::Whole, error.to_string());
                        return Err(Error::Faults(vec![fault]));
                    }
                }
            }
        }
        Ok(())
    }
}

fn perform(
    builder: &mut Builder<'_>,
    put: &PutObject,
    (wishes, before): (&[Arc<Wish>], Option<&Wish>),
) -> Result<Applied, Error> {
    let key = &put.key;
    let unit = builder.state.unit(key)?.filter(Unit::is_visible);
    check(builder.state, put, unit.as_ref())?;
    let mut of = match &unit {
        Some(unit) => shown(builder.state, unit)?,
        None => None,
    };
    let mut applied = Applied::nothing();
    if !wishes.is_empty() {
        let mut wishes = wishes.to_vec();
        if let (Some(before), Some(of), Some(wish)) = (before, of, wishes.first_mut()) {
            let current = view::snapshot(builder.state, of)?;
            *wish = Arc::new(rebased(&current, before, wish));
        }
        if key.kind == Kind::Package {
            wishes.extend(functions_on(builder.state, unit.as_ref(), put.form)?);
        }
        let wanted = Wanted {
            owner: put.owner.clone(),
            scope: Scope::App,
            wishes,
            pointers: Vec::new(),
            form: put.form,
            rest: Rest::Keep,
            others: Others::Adopt,
            settled: None,
            faults: Vec::new(),
            unread: Unread::default(),
        };
        let plan = plan::plan(builder.state, &key.app, &wanted)?;
        let step = plan.steps.iter().find(|step| step.key == *key);
        of = step.map(|step| step.snapshot.digest()).or(of);
        applied = carry_out::carry_out(builder, &key.app, plan, &wanted)?;
        say(builder, key, &applied);
    }
    if let Some(of) = of {
        mark(builder, put, unit.as_ref(), of)?;
    }
    Ok(applied)
}

/// A wish for what an object is now, changed as one manifest differs from another. A version of the API does not show
/// all that an object says, and what it does not show is not meant to go.
fn rebased(current: &Snapshot, before: &Wish, after: &Wish) -> Wish {
    let value = |snapshot: &Snapshot| serde_json::to_value(snapshot).unwrap_or_default();
    let mut changed = value(current);
    rebase(&mut changed, &value(&before.spec), &value(&after.spec));
    let spec = serde_json::from_value(changed).unwrap_or_else(|_| after.spec.clone());
    let (at, name) = (after.at.clone(), after.name.clone());
    Wish { at, words: after.words, name, spec, archive: after.archive }
}

fn rebase(target: &mut Value, from: &Value, to: &Value) {
    if from == to {
        return;
    }
    let (Value::Object(entries), Value::Object(from), Value::Object(to)) = (&mut *target, from, to)
    else {
        *target = to.clone();
        return;
    };
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        entries.remove(key);
    }
    for (key, value) in to {
        let before = from.get(key).unwrap_or(&Value::Null);
        if before != value {
            rebase(entries.entry(key.clone()).or_insert(Value::Null), before, value);
        }
    }
}

fn say(builder: &mut Builder<'_>, key: &UnitKey, applied: &Applied) {
    let made = applied.units.iter().any(|unit| unit.what == Outcome::Created);
    let verb = if made { "create" } else { "change" };
    builder.say(match &applied.id {
        Some(id) => format!("{verb} {} {} as {id}", key.kind, key.name),
        None => format!("{verb} {} {}", key.kind, key.name),
    });
}

fn check(state: &dyn State, put: &PutObject, unit: Option<&Unit>) -> Result<(), Error> {
    let UnitKey { kind, name, .. } = put.key.clone();
    match (put.expected, unit) {
        (Expected::Absent, Some(_)) => Err(Error::Exists { kind, name }),
        (Expected::Absent, None) => Ok(()),
        (_, None) => Err(resolve::unit(state, &put.key).map(|_| ()).err().map_or_else(
            || StoreError::Conflict { what: put.key.to_string() }.into(),
            Error::from,
        )),
        (Expected::Present, Some(_)) => Ok(()),
        (Expected::Since(expected), Some(unit)) => {
            let (_, marked) = marks(state, unit)?.unzip();
            let found = unit.revision.max(marked.unwrap_or(0));
            if found > expected {
                return Err(publish::Error::Stale { kind, name, expected, found }.into());
            }
            Ok(())
        }
    }
}

/// What an unqualified reference to a unit shows, whether it can be called or not: its draft, else its newest version.
fn shown(state: &dyn State, unit: &Unit) -> Result<Option<Digest>, StoreError> {
    if let Some(draft) = &unit.draft {
        return Ok(Some(draft.snapshot));
    }
    let Some(number) = unit.newest else { return Ok(None) };
    let version = state.version(VersionKey { unit: unit.uid, number })?;
    Ok(version.map(|version| version.snapshot))
}

/// What is said about a unit, and the entry that last changed that.
pub(crate) fn marks(state: &dyn State, unit: &Unit) -> Result<Option<(Marks, u64)>, StoreError> {
    let pointer = Pointer::Marks { app: unit.key.app.clone(), object: unit.uid.0 };
    Ok(state.place(&pointer)?.and_then(|(place, revision)| match place {
        Place::Marks(marks) => Some((*marks, revision)),
        _ => None,
    }))
}

/// When a unit was made, as far as that is known: when it was first marked or published, or else last touched.
pub(crate) fn made_at(state: &dyn State, unit: &Unit) -> Result<Timestamp, StoreError> {
    let first = state.versions(unit.uid, crate::ports::Page { after: 0, limit: 1 })?;
    if let Some(first) = first.first() {
        return Ok(first.created_at);
    }
    let touched = state.entry(unit.revision)?;
    Ok(touched.map_or(Timestamp::UNIX_EPOCH, |entry| entry.at))
}

fn mark(
    builder: &mut Builder<'_>,
    put: &PutObject,
    unit: Option<&Unit>,
    of: Digest,
) -> Result<(), Error> {
    let before = match unit {
        Some(unit) => marks(builder.state, unit)?.map(|(marks, _)| marks),
        None => None,
    };
    let (generation, since) = match (&before, unit) {
        (Some(before), _) => (before.generation + u64::from(before.of != of), before.since),
        (None, Some(unit)) => (1, made_at(builder.state, unit)?),
        (None, None) => (1, builder.at()),
    };
    let marks = Marks {
        of,
        labels: put.labels.clone(),
        annotations: put.annotations.clone(),
        managers: put.managers.clone(),
        generation,
        since,
        made_in: None,
    };
    if !builder.has_edits() {
        builder.say(format!("mark {} {}", put.key.kind, put.key.name));
    }
    let object = builder.uid_of(&put.key)?.0;
    let pointer = Pointer::Marks { app: put.key.app.clone(), object };
    let place = |marks| Place::Marks(Box::new(marks));
    Ok(builder.point(pointer, before.map(place), Some(place(marks)))?)
}

/// The functions that a change of a package reaches: published ones if it is published, drafts if it is a draft.
fn functions_on(
    state: &dyn State,
    package: Option<&Unit>,
    form: Form,
) -> Result<Vec<Arc<Wish>>, StoreError> {
    let Some(package) = package else { return Ok(Vec::new()) };
    let mut wishes = Vec::new();
    for unit in state.units(&package.key.app, Kind::Function)? {
        let reached = match form {
            Form::Versions => unit.draft.is_none() && unit.newest.is_some(),
            Form::Drafts => unit.draft.is_some(),
        };
        let Some(digest) = shown(state, &unit)?.filter(|_| reached) else { continue };
        let spec = view::snapshot(state, digest)?;
        if matches!(&spec, Snapshot::Function(spec) if spec.package.name == package.key.name) {
            let at = unit.key.to_string();
            let (words, name) = (Words::Folio, unit.key.name);
            wishes.push(Arc::new(Wish { at, words, name, spec, archive: None }));
        }
    }
    Ok(wishes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_manifest_does_not_show_stays() {
        let mut object = json!({"a": 1, "hidden": {"x": 1}, "list": [1], "b": {"c": 1, "kept": 2}});
        let from = json!({"a": 1, "list": [1], "b": {"c": 1}});
        let to = json!({"list": [2, 3], "b": {"c": 5, "d": {"e": 6}}});
        rebase(&mut object, &from, &to);
        let expected = json!({
            "hidden": {"x": 1}, "list": [2, 3], "b": {"c": 5, "kept": 2, "d": {"e": 6}},
        });
        assert_eq!(object, expected);
    }
}
