//! Reads manifests into units. All that is wrong with any of them is said at once.

use std::collections::{BTreeMap, HashMap};

use folio_kinds::spec::{self, Contents};
use folio_kinds::{ManifestError, Mismatch};
use folio_model::{AppName, Content, Digest, Layout, Snapshot, TriggerSpec};

use super::{Apply, Document, Error, Fault, PointerWish, Wanted, Wish};
use crate::Folio;
use crate::request::ContentRef;

impl Folio {
    /// Reads what a deployment asks for, with what there is to say about it.
    pub(super) async fn read_wishes(
        &self,
        app: &AppName,
        apply: Apply,
    ) -> Result<(Wanted, Vec<String>), Error> {
        let mut reading = Reading::default();
        for document in &apply.documents {
            match self.contents(document, &mut reading.unpacked).await? {
                Ok(contents) => reading.read(app, document, contents),
                Err(what) => reading.faults.push(Fault { at: document.at.clone(), what }),
            }
        }
        if !reading.faults.is_empty() {
            return Err(Error::Faults(reading.faults));
        }
        let Apply { deployment: owner, form, rest, others, .. } = apply;
        let mut remarks = reading.remarks();
        remarks.extend(self.unheard(&reading.wishes));
        let Reading { wishes, pointers, .. } = reading;
        Ok((Wanted { owner, wishes, pointers, form, rest, others }, remarks))
    }

    /// Says which triggers wait for messages that this server never hears of.
    fn unheard(&self, wishes: &[Wish]) -> Vec<String> {
        let waits = |wish: &&Wish| matches!(wish.spec, Snapshot::Trigger(TriggerSpec::Queue(_)));
        let unheard = wishes.iter().filter(|_| self.messages.is_none()).filter(waits);
        let said = |wish: &Wish| {
            format!(
                "trigger `{}` hears nothing: this server is connected to no message queue; \
                 start it with `folio serve --nats URL`",
                wish.name
            )
        };
        unheard.map(said).collect()
    }

    /// Finds the files of a package, or says what is wrong with them.
    async fn contents(
        &self,
        document: &Document,
        unpacked: &mut HashMap<Digest, Digest>,
    ) -> Result<Result<Found, String>, Error> {
        let mut found = Found::default();
        for (given, content) in [
            (document.source, &mut found.contents.source),
            (document.deployment, &mut found.contents.deployment),
        ] {
            *content = match given {
                None => continue,
                Some(ContentRef::Tree { tree, layout }) => Some(Content { tree, layout }),
                Some(ContentRef::Archive { archive }) => {
                    let tree = match unpacked.get(&archive) {
                        Some(tree) => *tree,
                        None => {
                            let blobs = self.blobs.as_ref();
                            match crate::content::unpack(blobs, archive, self.limits()).await {
                                Ok(tree) => tree,
                                Err(crate::archive::Error::Store(error)) => {
                                    return Err(error.into());
                                }
                                Err(error) => return Ok(Err(error.to_string())),
                            }
                        }
                    };
                    unpacked.insert(archive, tree);
                    // The archive belongs to the main part: what runs, or else what is built.
                    found.archive = Some(archive);
                    Some(Content { tree, layout: Layout::Directory })
                }
            };
        }
        if document.deployment.is_some_and(|given| matches!(given, ContentRef::Tree { .. })) {
            found.archive = None;
        }
        Ok(Ok(found))
    }
}

/// The files of a package.
#[derive(Default)]
struct Found {
    contents: Contents,
    archive: Option<Digest>,
}

#[derive(Default)]
struct Reading {
    wishes: Vec<Wish>,
    pointers: Vec<PointerWish>,
    faults: Vec<Fault>,
    /// The trees of archives.
    unpacked: HashMap<Digest, Digest>,
    /// What folio keeps and does not act on, with how many units say it.
    idle: BTreeMap<String, u64>,
    unknown: Vec<String>,
}

impl Reading {
    fn read(&mut self, app: &AppName, document: &Document, found: Found) {
        if let Err(faults) = self.unit(app, document, found) {
            let at = |what| Fault { at: document.at.clone(), what };
            self.faults.extend(faults.into_iter().map(at));
        }
    }

    fn unit(
        &mut self,
        app: &AppName,
        document: &Document,
        found: Found,
    ) -> Result<(), Vec<String>> {
        let written = spec::written(document.manifest.clone()).map_err(said)?;
        let Some(written) = written else {
            return Err(vec!["it is of a kind that cannot be applied".to_owned()]);
        };
        let namespace = written.manifest.namespace().unwrap_or_default();
        if !namespace.is_empty() && namespace != app.as_str() {
            return Err(vec![format!(
                "it is in namespace `{namespace}`, and app `{app}` is worked in; \
                 use --app {namespace}, or --force-namespace"
            )]);
        }
        if let Some(asked) = spec::pointer(&written.manifest).map_err(said)? {
            let at = document.at.clone();
            self.unknown.extend(written.unknown.iter().map(|path| {
                format!("{at}: unknown field {path} is not kept, since no version holds it")
            }));
            self.pointers.push(PointerWish { at, asked });
            return Ok(());
        }
        let unit = spec::unit(&written.manifest, found.contents).map_err(said)?;
        let kind = unit.spec.kind();
        for path in unit.idle {
            *self.idle.entry(format!("{kind} {path}")).or_default() += 1;
        }
        for path in written.unknown {
            self.unknown.push(format!("{kind} `{}`: unknown field {path} is kept", unit.name));
        }
        let archive = found.archive.filter(|_| matches!(unit.spec, Snapshot::Package(_)));
        let at = document.at.clone();
        self.wishes.push(Wish { at, name: unit.name, spec: unit.spec, archive });
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let idle = self.idle.iter().map(|(what, count)| {
            let (kind, path) = what.split_once(' ').unwrap_or((what, ""));
            let several = if *count == 1 { "" } else { "s" };
            format!("{path} of {count} {kind}{several} is kept; folio does not act on it")
        });
        self.unknown.iter().cloned().chain(idle).collect()
    }
}

/// Everything that is wrong with a manifest, one by one.
fn said(error: ManifestError) -> Vec<String> {
    match error {
        ManifestError::Mismatches { mismatches, .. } => {
            mismatches.iter().map(Mismatch::to_string).collect()
        }
        other => vec![other.to_string()],
    }
}
