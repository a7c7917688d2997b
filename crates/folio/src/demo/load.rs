//! Many requests while an alias moves: counts what was answered, by which version, and what was not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Change, Client, Wishes};
use crate::config::Config;
use crate::{http, output};

const CLIENTS: usize = 16;
const FLIPS: usize = 50;
const ALIAS: [&str; 6] = ["apps", "default", "functions", "hello", "aliases", "qa"];

/// What the clients saw.
#[derive(Default)]
struct Seen {
    by_version: BTreeMap<String, u64>,
    failed: u64,
}

/// Moves an alias to and fro while clients ask, and says what they saw.
pub(super) async fn run(config: &Config, url: &str) -> Result<()> {
    let client = http::plain().build()?;
    let address = config.url(None);
    let control = Client::new(&address, &config.access(&address, None)?, Wishes::default())?;
    let done = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(ask(client.clone(), url.to_owned(), Arc::clone(&done)));
    }
    for flip in 0..FLIPS {
        let version = if flip % 2 == 0 { "v1.0.2" } else { "v1.0.0" };
        let targets = json!({ "targets": [{ "version": version, "weight": 10_000 }] });
        let change = Change::new(Method::PUT).body(&targets)?;
        control.change::<Value>(&ALIAS, change).await?;
    }
    done.store(true, Ordering::Relaxed);
    let mut all = Seen::default();
    while let Some(seen) = clients.join_next().await {
        let Seen { by_version, failed } = seen?;
        all.failed += failed;
        for (version, count) in by_version {
            *all.by_version.entry(version).or_default() += count;
        }
    }
    let total: u64 = all.by_version.values().sum();
    let shares: Vec<_> =
        all.by_version.iter().map(|(version, count)| format!("{count} by {version}")).collect();
    output::print(&format!(
        "{FLIPS} moves of the alias, {total} requests answered ({}), {} errors",
        shares.join(", "),
        all.failed
    ))?;
    ensure!(all.failed == 0, "{} requests failed while the alias moved", all.failed);
    Ok(())
}

async fn ask(client: reqwest::Client, url: String, done: Arc<AtomicBool>) -> Seen {
    let mut seen = Seen::default();
    while !done.load(Ordering::Relaxed) {
        match client.get(&url).send().await {
            Ok(answer) if answer.status().is_success() => {
                let version = answer.headers().get("folio-version");
                let version = version.and_then(|version| version.to_str().ok()).unwrap_or("?");
                *seen.by_version.entry(version.to_owned()).or_default() += 1;
                if answer.bytes().await.is_err() {
                    seen.failed += 1;
                }
            }
            _ => seen.failed += 1,
        }
    }
    seen
}
