//! Checks static items among each other.

use std::collections::HashMap;
use std::sync::Arc;

use folio_kinds::spec::Part;
use folio_model::Snapshot;

use super::{Fault, Wish};

/// What is wrong with the static items that are asked for: two cannot be at one path.
pub(super) fn faults(wishes: &[Arc<Wish>]) -> Vec<Fault> {
    let (mut paths, mut faults) = (HashMap::new(), Vec::new());
    for wish in wishes {
        let Snapshot::Static(spec) = &wish.spec else { continue };
        let path = (spec.path.trim_end_matches('/'), spec.content.layout);
        if let Some(other) = paths.insert(path, &wish.name) {
            let what = format!("static '{other}' is at `{}` as well", spec.path);
            faults.push(wish.fault(Part::Path, what));
        }
    }
    faults
}
