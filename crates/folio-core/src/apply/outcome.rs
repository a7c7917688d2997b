//! What a plan comes to, in the words of whoever asked for it.

use folio_model::{Unit, VersionId};

use super::plan::Plan;
use super::pointers::PointerStep;
use super::removal::Doomed;
use super::{AdoptedUnit, Applied, AppliedUnit, Outcome, Wanted};

impl Plan {
    /// What the plan comes to, under the id of the versions that it makes.
    pub(super) fn outcome(&self, wanted: &Wanted, id: Option<VersionId>) -> Applied {
        let changed = self.steps.iter().map(|step| {
            let what = if step.unit.is_some() { Outcome::Updated } else { Outcome::Created };
            AppliedUnit { kind: step.key.kind, name: step.key.name.clone(), what, versions: 0 }
        });
        let removed = self.removal.doomed().map(Doomed::outcome);
        let gone = self.removal.doomed().flat_map(Doomed::pointers);
        let moved = self.pointers.iter().filter_map(PointerStep::outcome);
        Applied {
            id,
            units: changed.chain(removed).collect(),
            pointers: moved.chain(gone).collect(),
            waiting: Vec::new(),
            adopted: self.adopted(wanted),
            unchanged: self.unchanged,
            late: None,
            remarks: self.remarks.clone(),
            base: None,
        }
    }

    /// The units that become the deployment's own, whether or not they change besides. Whoever is no deployment takes
    /// nothing over, and one that only got another name has what it had.
    fn adopted(&self, wanted: &Wanted) -> Vec<AdoptedUnit> {
        let changed = self.steps.iter().filter_map(|step| step.unit.as_ref());
        let taken = |unit: &&Unit| wanted.owner.is_some() && !wanted.owns(unit.owner.as_ref());
        let unit = |unit: &Unit| AdoptedUnit {
            kind: unit.key.kind,
            name: unit.key.name.clone(),
            from: unit.owner.clone(),
        };
        changed.chain(&self.adopted).filter(taken).map(unit).collect()
    }
}
