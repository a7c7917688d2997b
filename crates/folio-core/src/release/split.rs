//! Shares what is live among releases. All units move together, so no request ever sees two of them.

use folio_model::{AppName, Live, LiveMode, LiveShare, Sticky, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::live::refuse_if_rolling;
use super::make::go_live;
use super::{Error, ReleaseRef, Standing, known, reach_public};
use crate::Folio;
use crate::request::Caller;
use crate::view::Done;

/// Releases that are to share what is live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSplit {
    /// The releases, with their shares of 10,000.
    pub shares: Vec<(ReleaseRef, u32)>,
    /// What tells one client from another; chance decides if nothing does.
    pub sticky: Option<Sticky>,
}

/// What an app's own host shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveView {
    /// The releases, with their shares of 10,000.
    pub shares: Vec<LiveShare>,
    /// What tells one client from another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Sticky>,
    /// Whether a new release takes their place.
    pub mode: LiveMode,
    /// Since when it is so.
    pub since: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<Live> for LiveView {
    fn from(live: Live) -> Self {
        let Live { shares, sticky, mode, since, reason, before: _ } = live;
        Self { shares, sticky, mode, since, reason }
    }
}

impl Folio {
    /// Shows what is live.
    pub async fn show_live(&self, app: &AppName) -> Result<LiveView, Error> {
        let app = app.clone();
        self.look(move |state| {
            known(state, &app)?;
            let live = super::live(state, &app)?;
            live.map(|(live, _)| live.into()).ok_or_else(|| Error::None(app.clone()))
        })
        .await
    }

    /// Shares what is live among releases, and pins it: later releases do not take their place. A release with a
    /// share of nothing is kept ready, and reached by its name.
    pub async fn split_live(
        &self,
        caller: &Caller,
        app: &AppName,
        split: LiveSplit,
    ) -> Result<Done<LiveView>, Error> {
        let app = app.clone();
        if let Some(name) = split.sticky.as_ref().and_then(Sticky::odd_name) {
            return Err(Error::Sticky(name.to_owned()));
        }
        self.commit(caller, &app.clone(), move |builder| {
            refuse_if_rolling(builder.state, &app)?;
            let mut shares = Vec::new();
            for (release, weight) in &split.shares {
                let found = reach_public(builder.state, &app, release)?;
                shares.push(LiveShare { release: found.id, weight: *weight });
            }
            let live = Live::shared(shares, builder.at())?;
            let reason = builder.reason().map(str::to_owned);
            let live = Live { sticky: split.sticky.clone(), reason, ..live };
            let mut standing = Standing::read(builder.state, &app)?;
            let same = |now: &Live| {
                let what = |live: &Live| (live.shares.clone(), live.sticky.clone());
                now.mode == LiveMode::Pinned && what(now) == what(&live)
            };
            if let Some((now, _)) = standing.live.as_ref().filter(|(now, _)| same(now)) {
                return Ok(now.clone().into());
            }
            let names = live
                .shares
                .iter()
                .map(|share| format!("{} {}", share.release, folio_model::percent(share.weight)));
            builder.say(format!("split live: {}", names.collect::<Vec<_>>().join(", ")));
            go_live(builder, &mut standing, live)?;
            let (live, _) = standing.live.expect("it was made live");
            Ok::<_, Error>(live.into())
        })
        .await
    }
}
