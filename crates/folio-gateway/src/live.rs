//! Which release answers on an app's own host: the one that is live, one of several that share it, or the one that
//! the client began with.

use std::collections::BTreeMap;
use std::sync::Arc;

use folio_core::serving::{Site, SiteSkew};
use folio_model::ReleaseId;
use http::HeaderValue;

use crate::choose::Client;
use crate::served::{Stickiness, key_of};
use crate::table::{Absent, Fallback, Release};

/// What an app's own host shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live {
    shares: Vec<Share>,
    sticky: Option<Arc<Stickiness>>,
    skew: Option<SiteSkew>,
}

#[derive(Debug, Clone)]
struct Share {
    release: Arc<Release>,
    weight: u32,
    /// Tells this release from others in a hash, the same on every node and after every restart.
    seed: u64,
}

/// The release that answers a request.
pub(crate) struct Chosen<'t> {
    pub(crate) release: &'t Arc<Release>,
    /// What keeps the client with it.
    pub(crate) cookie: Option<HeaderValue>,
    /// Why it is not the one that the client began with.
    pub(crate) fallback: Option<Fallback>,
}

impl Live {
    pub(crate) fn of(site: &Site, releases: &BTreeMap<ReleaseId, Arc<Release>>) -> Self {
        let share = |(shown, weight): &(Arc<folio_core::serving::Shown>, u32)| {
            let release = Arc::clone(releases.get(&shown.id)?);
            let seed = key_of(format!("{}/{}", site.app, shown.id).as_bytes());
            Some(Share { release, weight: *weight, seed })
        };
        let shares = site.live.iter().filter_map(share).collect();
        let sticky = site.sticky.as_ref().map(|sticky| Arc::new(Stickiness::of(sticky)));
        Self { shares, sticky, skew: site.skew.clone() }
    }

    /// The release that is named first.
    pub(crate) fn first(&self) -> Option<&Arc<Release>> {
        self.shares.first().map(|share| &share.release)
    }

    /// Every release that is live.
    pub(crate) fn releases(&self) -> impl Iterator<Item = &Arc<Release>> {
        self.shares.iter().map(|share| &share.release)
    }

    /// Whether one address may show different things to different clients.
    pub(crate) fn varies(&self) -> bool {
        self.skew.is_some() || self.shares.iter().filter(|share| share.weight > 0).count() > 1
    }

    /// The release that answers a client, among all that can be reached.
    pub(crate) fn choose<'t>(
        &'t self,
        site: &Site,
        all: &'t BTreeMap<ReleaseId, Arc<Release>>,
        client: &Client<'_>,
    ) -> Option<Chosen<'t>> {
        let mut fallback = None;
        if let Some(skew) = &self.skew
            && let Some(pin) = client.pin()
        {
            match pinned((site, skew), all, pin) {
                Ok(release) => return Some(Chosen { release, cookie: None, fallback }),
                Err(why) => fallback = Some(why),
            }
        }
        let mut cookie = None;
        let release = match self.shares.as_slice() {
            [] => return None,
            [only] => &only.release,
            shares => {
                let key = client.key(self.sticky.as_deref(), &mut cookie);
                let at = key.pick(shares.iter().map(|share| (share.weight, share.seed)));
                &shares[at].release
            }
        };
        if let Some(skew) = &self.skew {
            cookie = client.pin_to(release.shown.id.as_str(), skew.max_age_s);
        }
        Some(Chosen { release, cookie, fallback })
    }
}

/// The release that a client began with, by its id or a tag on it, or why the client does not stay with it.
fn pinned<'t>(
    (site, skew): (&Site, &SiteSkew),
    all: &'t BTreeMap<ReleaseId, Arc<Release>>,
    pin: &str,
) -> Result<&'t Arc<Release>, Fallback> {
    let name: ReleaseId = pin.parse().map_err(|_| Fallback::Told("unknown"))?;
    let found = all.get(site.tags.get(&name).unwrap_or(&name));
    let absent = || Absent { app: site.app.to_string(), release: name.to_string() };
    let release = found.ok_or_else(|| Fallback::Absent(absent()))?;
    match release.shown.made < skew.oldest {
        _ if release.shown.aside => Err(Fallback::Told("unknown")),
        true => Err(Fallback::Told("too-old")),
        false => Ok(release),
    }
}
