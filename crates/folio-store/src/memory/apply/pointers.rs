//! Moves pointers in memory.

use folio_core::ports::{StandingBinding, StandingCanary, StoreError};
use folio_model::{Alias, Place, Pointer, Tag};

use super::ensure;
use crate::memory::rows::Rows;

impl Rows {
    pub(super) fn move_pointer(
        &mut self,
        pointer: &Pointer,
        from: Option<&Place>,
        to: Option<&Place>,
        seq: u64,
    ) -> Result<(), StoreError> {
        ensure(self.points_to(pointer).as_ref() == from, || pointer.to_string())?;
        for target in from.into_iter().flat_map(|place| place.versions(pointer)) {
            self.targets.update(target, |pointers| pointers.remove(pointer));
        }
        ensure(is_same_release(pointer, from, to), || pointer.to_string())?;
        match to {
            Some(to) => self.set_pointer(pointer, to, seq)?,
            None => self.remove_pointer(pointer),
        }
        self.moves.update(pointer.clone(), |moves| moves.insert(seq));
        Ok(())
    }

    /// Where a pointer points.
    pub(in crate::memory) fn points_to(&self, pointer: &Pointer) -> Option<Place> {
        match pointer {
            Pointer::Alias { unit, name } => {
                let alias = self.aliases.get(unit)?.get(name)?;
                Some(Place::Versions(alias.weights.clone()))
            }
            Pointer::Tag { app, name } => {
                let tag = self.tags.get(app)?.get(name)?;
                Some(Place::Members(tag.members.clone()))
            }
            Pointer::Split { unit } => self.splits.get(unit).cloned().map(Place::Targets),
            Pointer::Canary { app, name } => {
                let found = self.canaries.get(&(app.clone(), name.clone()))?;
                Some(Place::Canary(Box::new(found.canary.clone())))
            }
            Pointer::Binding { app, id } => {
                let found = self.bindings.get(&(app.clone(), *id))?;
                Some(Place::Binding(Box::new(found.binding.clone())))
            }
            Pointer::Release { .. }
            | Pointer::ReleaseTag { .. }
            | Pointer::Live { .. }
            | Pointer::Plan { .. }
            | Pointer::Marks { .. }
            | Pointer::Domain { .. } => self.app_pointers.get(pointer).cloned(),
        }
    }

    fn set_pointer(
        &mut self,
        pointer: &Pointer,
        to: &Place,
        revision: u64,
    ) -> Result<(), StoreError> {
        match (pointer, to) {
            (Pointer::Alias { unit, name }, Place::Versions(weights)) => {
                self.living(*unit)?;
                let alias = Alias { name: name.clone(), weights: weights.clone(), revision };
                self.aliases.update(*unit, |aliases| aliases.insert(name.clone(), alias));
            }
            (Pointer::Tag { app, name }, Place::Members(members)) => {
                let tag = Tag { name: name.clone(), members: members.clone(), revision };
                self.tags.update(app.clone(), |tags| tags.insert(name.clone(), tag));
            }
            (Pointer::Split { unit }, Place::Targets(targets)) => {
                self.living(*unit)?;
                self.splits.put(*unit, targets.clone());
            }
            (Pointer::Canary { app, name }, Place::Canary(canary)) => {
                let (app, name, canary) = (app.clone(), name.clone(), (**canary).clone());
                let key = (app.clone(), name.clone());
                self.canaries.put(key, StandingCanary { app, name, canary, revision });
            }
            (Pointer::Binding { app, id }, Place::Binding(binding)) => {
                let (app, id, binding) = (app.clone(), *id, (**binding).clone());
                let key = (app.clone(), id);
                self.bindings.put(key, StandingBinding { app, id, binding, revision });
            }
            (Pointer::Release { .. }, Place::Release(_))
            | (Pointer::ReleaseTag { .. }, Place::Tagged(_))
            | (Pointer::Live { .. }, Place::Live(_))
            | (Pointer::Plan { .. }, Place::Plan(_))
            | (Pointer::Marks { .. }, Place::Marks(_))
            | (Pointer::Domain { .. }, Place::App(_)) => {
                self.app_pointers.put(pointer.clone(), to.clone());
            }
            _ => ensure(false, || pointer.to_string())?,
        }
        for target in to.versions(pointer) {
            ensure(self.surviving.has(&target), || format!("the target of {pointer}"))?;
            self.targets.update(target, |pointers| pointers.insert(pointer.clone()));
        }
        Ok(())
    }

    fn remove_pointer(&mut self, pointer: &Pointer) {
        match pointer {
            Pointer::Alias { unit, name } => {
                self.aliases.update(*unit, |aliases| aliases.remove(name));
            }
            Pointer::Tag { app, name } => {
                self.tags.update(app.clone(), |tags| tags.remove(name));
            }
            Pointer::Split { unit } => self.splits.remove(unit),
            Pointer::Canary { app, name } => self.canaries.remove(&(app.clone(), name.clone())),
            Pointer::Binding { app, id } => self.bindings.remove(&(app.clone(), *id)),
            Pointer::Release { .. }
            | Pointer::ReleaseTag { .. }
            | Pointer::Live { .. }
            | Pointer::Plan { .. }
            | Pointer::Marks { .. }
            | Pointer::Domain { .. } => self.app_pointers.remove(pointer),
        }
    }
}

/// Whether a move leaves a release what it is. None is ever removed, and what it is of never changes.
fn is_same_release(pointer: &Pointer, from: Option<&Place>, to: Option<&Place>) -> bool {
    match (pointer, from, to) {
        (Pointer::Release { .. }, Some(Place::Release(from)), Some(Place::Release(to))) => {
            (&from.app_version, from.entry) == (&to.app_version, to.entry)
        }
        (Pointer::Release { .. }, None, Some(_)) => true,
        (Pointer::Release { .. }, _, _) => false,
        _ => true,
    }
}
