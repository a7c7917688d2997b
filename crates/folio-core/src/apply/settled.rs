//! An apply that finds everything as it should be: what is remembered so that the next need not look, and what was kept
//! from being released and is released by asking for it again.

use folio_model::{AppName, Owner};

use super::memory::{Documents, Last, Manner};
use super::plan::Plan;
use super::{Applied, Apply, Error, Wanted};
use crate::Folio;
use crate::ports::StoreError;
use crate::release::{Late, late};
use crate::request::{Caller, Run};

impl Wanted {
    /// Whether every unit that is asked for is as it should be, so that there is no new app version to release.
    pub(super) fn is_settled_by(&self, plan: &Plan) -> bool {
        !plan.makes_an_app_version() && !self.asks_for_nothing()
    }
}

impl Folio {
    /// What an apply comes to that asks for nothing new, in the same manner, if nothing happened in the app since and
    /// nothing is left to be released.
    pub(super) async fn still_so(
        &self,
        (caller, app): (&Caller, &AppName),
        apply: &Apply,
        run: Run,
    ) -> Result<Option<Applied>, Error> {
        let Apply { deployment, base, documents, known, form, rest, others, .. } = apply;
        let last = self.applied.recall(app, &deployment.uid);
        let is_same = base.is_some() && *base == last.base();
        let manner = Manner { form: *form, rest: *rest, others: *others };
        let settled = last.settled.filter(|(_, then)| *then == manner);
        let Some((entry, _)) = settled.filter(|_| is_same) else { return Ok(None) };
        let of = app.clone();
        if !documents.is_empty()
            || !known.is_empty()
            || self.look(move |state| state.last_entry(&of)).await? != entry
        {
            return Ok(None);
        }
        let late = self.owed(caller, app, Some(deployment)).await?;
        if run == Run::Real && late.is_some() {
            return Ok(None);
        }
        let (unchanged, remarks) = (last.documents.len() as u64, last.remarks.clone());
        Ok(Some(Applied { unchanged, late, remarks, base: *base, ..Applied::nothing() }))
    }

    /// What an apply that changes nothing would release or make live.
    pub(super) async fn owed(
        &self,
        caller: &Caller,
        app: &AppName,
        owner: Option<&Owner>,
    ) -> Result<Option<Late>, StoreError> {
        let (of, releasing, owner) = (app.clone(), caller.releasing.clone(), owner.cloned());
        self.look(move |state| late::owed(state, (&of, owner.as_ref()), &releasing)).await
    }

    /// Remembers what was asked for, and after which entry it is so. Where something was left alone, that may change
    /// the next time, and nothing is settled.
    pub(super) fn remember(
        &self,
        app: &AppName,
        wanted: &Wanted,
        (documents, remarks): (Documents, Vec<String>),
        entry: Option<u64>,
    ) {
        let settled = entry.map(|entry| (entry, wanted.manner()));
        let max = self.limits().remembered_documents_max;
        if let Some(owner) = &wanted.owner {
            let last = Last { documents, remarks, settled };
            self.applied.remember(app, &owner.uid, last, max);
        }
    }
}
