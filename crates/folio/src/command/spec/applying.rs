//! One apply of a directory: read or only looked at, sent, and said what came of it.

use std::path::PathBuf;

use anyhow::Result;
use folio_core::apply::{Applied, AppliedUnit, DeployedUnit, Form, Others, Outcome, Rest, Run};
use folio_core::view::Done;
use folio_kinds::spec::move_into;
use folio_model::{AppName, Git, Kind, Owner};
use serde_json::json;

use super::{Applying, owner, show, watch};
use crate::client::Items;
use crate::command::{Session, version};
use crate::output;
use crate::spec::{self, Labels, Manifest, News, Prepared, Recall, Spec, Wanted, Whose};

/// One way to apply a directory.
pub(super) struct Applier<'a> {
    pub(super) session: &'a Session,
    pub(super) directory: PathBuf,
    pub(super) form: Form,
    pub(super) rest: Rest,
    pub(super) applying: Applying,
}

impl Applier<'_> {
    pub(super) async fn run(&self) -> Result<()> {
        if !self.applying.watch {
            return self.apply().await;
        }
        watch::run(&self.directory, watch::PAUSE, || async {
            // A directory that is just being edited may make no sense for a moment.
            if let Err(error) = self.apply().await {
                output::failure(&error);
            }
        })
        .await
    }

    pub(super) async fn apply(&self) -> Result<()> {
        let (deployment, done) = self.once().await?;
        let Applying { wait, dry_run, .. } = self.applying;
        if wait && !dry_run {
            self.wait(&self.session.app(None), (deployment.uid, &done)).await?;
            if !done.result.waiting.is_empty() {
                self.once().await?;
            }
        }
        Ok(())
    }

    /// Applies the directory as it is now, and says what came of it.
    async fn once(&self) -> Result<(Owner, Done<Applied>)> {
        let Self { session, applying, .. } = self;
        // Git looks at as many files as we do, so it looks while we do everything else.
        let directory = self.directory.clone();
        let git = tokio::task::spawn_blocking(move || spec::provenance(&directory));
        let app = session.app(None);
        let (wanted, done) = match self.news(&app).await {
            Some(news) => {
                let wanted = self.wanted(news.deployment().clone(), git.await?);
                warn(news.remarks());
                let done = match news.apply(session, &wanted).await {
                    Err(error) if spec::is_forgotten(&error) => {
                        let spec = self.read(&app, self.recall())?;
                        let prepared = spec::prepare(session, &spec, wanted.dry_run).await?;
                        self.send(prepared, &wanted).await
                    }
                    sent => sent,
                };
                (wanted, done)
            }
            None => {
                let spec = self.read(&app, self.recall())?;
                let deployment = owner(&spec)?;
                let prepared = spec::prepare(session, &spec, applying.dry_run).await?;
                let wanted = self.wanted(deployment, git.await?);
                warn(&spec.remarks);
                let done = self.send(prepared, &wanted).await;
                (wanted, done)
            }
        };
        let done = done?;
        warn(&done.result.remarks);
        let dry_run = applying.dry_run;
        session.output.item(&done, |done| show::applied(&done.result, dry_run))?;
        Ok((wanted.deployment, done))
    }

    /// How the directory differs from what was applied of it, if only files of packages do.
    async fn news(&self, app: &AppName) -> Option<News> {
        let Applying { specignore, commitlabel, force_namespace, no_cache, .. } = &self.applying;
        if *commitlabel || *force_namespace || *no_cache || self.directory.is_file() {
            return None;
        }
        let (session, directory) = (self.session, self.directory.as_path());
        let whose = Whose { session, app, directory, ignore_file: specignore.as_deref() };
        let run = if self.applying.dry_run { Run::Dry } else { Run::Real };
        spec::look(whose, run).await
    }

    fn recall(&self) -> Recall<'_> {
        match self.session.cache.as_deref() {
            memories if self.applying.no_cache => Recall::Afresh(memories),
            Some(memories) => Recall::Before(memories),
            None => Recall::Nothing,
        }
    }

    /// What is to be done with the directory; says where that stands in git.
    fn wanted(&self, deployment: Owner, git: Option<Git>) -> Wanted {
        match &git {
            // Who writes an app's own file need not know of git.
            None if self.directory.is_file() => {}
            None => output::talk("Spec doesn't belong to Git Tree."),
            Some(git) if !git.clean => output::talk(
                "Worktree is not clean, please ensure you have committed the changes to git.",
            ),
            Some(_) => {}
        }
        Wanted {
            app: self.session.app(None),
            deployment,
            form: self.form,
            rest: self.rest,
            others: if self.applying.allowconflicts { Others::Adopt } else { Others::Refuse },
            dry_run: self.applying.dry_run,
            git,
        }
    }

    /// Sends a spec, and everything of it if the server has forgotten what it was sent.
    async fn send(&self, prepared: Prepared<'_>, wanted: &Wanted) -> Result<Done<Applied>> {
        match prepared.apply(self.session, wanted).await {
            Err(error) if spec::is_forgotten(&error) => {
                let spec = self.read(&wanted.app, Recall::Afresh(self.session.cache.as_deref()))?;
                spec::send(self.session, &spec, wanted).await
            }
            sent => sent,
        }
    }

    /// Reads the directory, except what is remembered of it.
    fn read(&self, app: &AppName, recall: Recall<'_>) -> Result<Spec> {
        let Applying { specignore, commitlabel, force_namespace, .. } = &self.applying;
        // What the command itself writes into manifests cannot be remembered of files.
        let recall = match recall {
            Recall::Before(_) if *commitlabel || *force_namespace => Recall::Nothing,
            Recall::Afresh(_) if *commitlabel || *force_namespace => Recall::Afresh(None),
            other => other,
        };
        let mut spec = match self.directory.is_file() {
            true => {
                let mut spec = spec::AppManifest::read(&self.directory)?;
                spec.trust = recall.trust();
                spec
            }
            false => Spec::gather(&self.directory, specignore.as_deref(), recall)?,
        };
        if *commitlabel {
            label(&mut spec);
        }
        if *force_namespace {
            into_namespace(&mut spec, app);
        }
        Ok(spec)
    }

    /// Waits until every package that changed is built, and those that earlier applies left to be built.
    async fn wait(&self, app: &AppName, (uid, done): (String, &Done<Applied>)) -> Result<()> {
        let is_changed =
            |unit: &&AppliedUnit| unit.kind == Kind::Package && unit.what != Outcome::Deleted;
        let changed: Vec<_> = done.result.units.iter().filter(is_changed).collect();
        let id = done.result.id.as_ref().filter(|_| self.form == Form::Versions);
        for unit in &changed {
            version::await_build(self.session, (app, &unit.name), id).await?;
        }
        if self.form == Form::Drafts {
            return Ok(());
        }
        let path = ["apps", app.as_str(), "deployments"];
        let owned: Items<DeployedUnit> = self.session.client.get(&path, &[("uid", uid)]).await?;
        let left = owned.items.iter().filter(|unit| unit.unbuilt.is_some());
        for unit in left.filter(|unit| changed.iter().all(|other| other.name != unit.name)) {
            let id = unit.unbuilt.as_ref();
            version::await_build(self.session, (app, &unit.name), id).await?;
        }
        Ok(())
    }
}

/// Says what there is to say about something that is not wrong.
pub(super) fn warn(remarks: &[String]) {
    remarks.iter().for_each(|remark| output::talk(&format!("warning: {remark}")));
}

fn label(spec: &mut Spec) {
    let mut labels = Labels::default();
    for manifest in &mut spec.manifests {
        let label = labels.of(&manifest.file).to_owned();
        let Some(value) = manifest.value_mut() else { continue };
        let metadata = &mut value["metadata"];
        if !metadata["labels"].is_object() {
            metadata["labels"] = json!({});
        }
        metadata["labels"]["commit"] = label.into();
    }
}

fn into_namespace(spec: &mut Spec, app: &AppName) {
    let manifests = spec.manifests.iter_mut().chain(&mut spec.rests);
    for value in manifests.filter_map(Manifest::value_mut) {
        move_into(value, app.as_str());
    }
}
