//! What code is told that looks for a network its environment does not give it.

use folio_core::ports::runtime::Plan;
use folio_model::Network;

use crate::jail::Mode;

/// Why a plan's code reaches nothing and what to do about that; nothing to say if it has a network.
pub(crate) fn denial(plan: &Plan) -> Option<String> {
    let environment = &plan.environment;
    let why = || {
        format!("the environment `{environment}` has no network: allow it with --network egress")
    };
    (plan.spec.network == Network::None).then(why)
}

/// The same for a process, from which only a jail takes the network.
pub(crate) fn denial_inside(mode: Mode, plan: &Plan) -> Option<String> {
    match mode {
        Mode::Enforced => denial(plan),
        Mode::Off => None,
    }
}
