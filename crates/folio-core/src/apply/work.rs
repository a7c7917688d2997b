//! Which wishes an apply has to look at. What was as asked for after the app's last entry still is, unless
//! something it stands on is asked for differently.

use std::collections::{HashMap, HashSet};

use folio_model::{AppName, Kind, Name, Snapshot};

use super::{Error, Wanted};
use crate::ports::State;

/// Where each wish is, by what it is for.
pub(super) type Places<'a> = HashMap<(Kind, &'a Name), usize>;

/// What to look at.
pub(super) struct Work {
    /// Whether to look at each wish.
    wishes: Vec<bool>,
    /// Whether to look at how triggers lie to one another and to functions.
    pub(super) triggers: bool,
    /// Whether to look at how static items lie to one another.
    pub(super) statics: bool,
    /// Whether something may have to go.
    pub(super) removal: bool,
}

impl Work {
    /// Everything, or what differs from what was settled.
    pub(super) fn of(
        state: &dyn State,
        app: &AppName,
        wanted: &Wanted,
        places: &Places<'_>,
    ) -> Result<Self, Error> {
        match &wanted.settled {
            Some(settled) if state.last_entry(app)? == settled.entry => {
                let wishes = vec![false; wanted.wishes.len()];
                let mut work = Self { wishes, triggers: false, statics: false, removal: false };
                work.differing(wanted, &settled.differing, places);
                Ok(work)
            }
            _ => {
                let wishes = vec![true; wanted.wishes.len()];
                Ok(Self { wishes, triggers: true, statics: true, removal: true })
            }
        }
    }

    /// Whether to look at a wish.
    pub(super) fn has(&self, place: usize) -> bool {
        self.wishes[place]
    }

    /// How many wishes are as they were.
    pub(super) fn left_alone(&self) -> u64 {
        self.wishes.iter().filter(|asked| !**asked).count() as u64
    }

    /// Adds wishes that are new, what stands on them, and what all those stand on.
    fn differing(&mut self, wanted: &Wanted, differing: &[usize], places: &Places<'_>) {
        let mut news: HashSet<(Kind, &Name)> = HashSet::new();
        for &place in differing {
            let wish = &wanted.wishes[place];
            news.insert((wish.spec.kind(), &wish.name));
            self.wishes[place] = true;
        }
        self.triggers |= news.iter().any(|(kind, _)| *kind == Kind::Trigger);
        self.statics |= news.iter().any(|(kind, _)| *kind == Kind::Static);
        // Wishes lie all over the memory: to look at each of thousands takes longer than all else.
        let kinds: Vec<_> = wanted.wishes.iter().map(|wish| wish.spec.kind()).collect();
        for kind in [Kind::Package, Kind::Function, Kind::Trigger] {
            for (place, wish) in wanted.wishes.iter().enumerate() {
                if kinds[place] != kind {
                    continue;
                }
                let renewed = stands_on(&wish.spec).any(|below| news.contains(&below));
                if renewed || kind == Kind::Trigger && self.triggers {
                    news.insert((kind, &wish.name));
                    self.wishes[place] = true;
                }
            }
        }
        // From functions down, so that what a package stands on is found as well.
        for kind in [Kind::Function, Kind::Package] {
            for (place, wish) in wanted.wishes.iter().enumerate() {
                if kinds[place] == kind && self.wishes[place] {
                    let below = stands_on(&wish.spec).filter_map(|below| places.get(&below));
                    below.for_each(|&below| self.wishes[below] = true);
                }
            }
        }
    }
}

/// What a unit's snapshot names by digest, as far as manifests ask for it.
fn stands_on(spec: &Snapshot) -> impl Iterator<Item = (Kind, &Name)> {
    let (package, environment, configs) = match spec {
        Snapshot::Function(spec) => {
            (Some(&spec.package.name), Some(&spec.environment), spec.configs.as_slice())
        }
        Snapshot::Package(spec) => (None, Some(&spec.environment), &[][..]),
        _ => (None, None, &[][..]),
    };
    let package = package.map(|name| (Kind::Package, name));
    let environment = environment.map(|name| (Kind::Environment, name));
    let configs = configs.iter().map(|pin| (Kind::Config, &pin.name));
    package.into_iter().chain(environment).chain(configs)
}
