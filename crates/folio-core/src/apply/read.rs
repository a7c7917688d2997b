//! Reads manifests into units. All that is wrong with any of them is said at once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use folio_kinds::spec::{self, Contents, PointerAsked, Stray, Words};
use folio_kinds::{Manifest, ManifestError, Mismatch};
use folio_model::{AppName, Content, Digest, Layout, Snapshot, TriggerSpec};

use super::memory::{Asked, Documents, Manner, ReadDocument};
use super::said::Said;
use super::{
    Apply, Document, Error, Fault, KnownDocument, PointerWish, Read, Run, Scope, Settled, Unread,
    UnreadDocument, Wanted, Wish,
};
use crate::Folio;
use crate::ports::StoreError;
use crate::request::ContentRef;

impl Folio {
    /// Reads what a deployment asks for. What it asked for the last time is not read again.
    pub(super) async fn read_wishes(
        &self,
        app: &AppName,
        apply: Apply,
        run: Run,
    ) -> Result<Read, Error> {
        let Apply { deployment: owner, base, documents, known, unread, form, rest, others } = apply;
        let last = self.applied.recall(app, &owner.uid);
        let mut reading = Reading::with_room(documents.len() + known.len());
        reading.run = run;
        unread.into_iter().for_each(|document| reading.unread.add(document));
        if base.is_some() {
            if last.base() != base {
                return Err(Error::BaseUnknown);
            }
            reading.build_on(&last.documents, &known);
        }
        for document in documents {
            self.read(app, &document, &mut reading).await?;
        }
        let mut lost = 0;
        for KnownDocument { digest, source, deployment } in known {
            match last.documents.get(&digest) {
                Some(found) if found.has((source, deployment)) => {
                    reading.add(digest, Arc::clone(found), News::Old);
                }
                Some(found) => {
                    let document = found.with((source, deployment));
                    self.read(app, &document, &mut reading).await?;
                }
                None => lost += 1,
            }
        }
        if lost > 0 {
            return Err(Error::Unknown(lost));
        }
        let mut remarks = reading.remarks();
        remarks.extend(self.unheard(&reading.wishes));
        let Reading { wishes, pointers, documents, differing, faults, unread, .. } = reading;
        let manner = Manner { form, rest, others };
        let settled = last.settled.filter(|(_, then)| *then == manner);
        // What is no longer asked for may be missed by anything.
        let is_dropped = || dropped(&last.documents, &documents, (&wishes, &differing));
        let settled = settled.filter(|_| base.is_some() || !is_dropped());
        let settled = settled.map(|(entry, _)| Settled { entry, differing });
        let (owner, scope) = (Some(owner), Scope::Manifests);
        let wanted =
            Wanted { owner, scope, wishes, pointers, form, rest, others, settled, faults, unread };
        Ok(Read { wanted, documents, remarks })
    }

    pub(super) async fn read(
        &self,
        app: &AppName,
        document: &Document,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let read = match self.contents(document, reading).await? {
            Ok(found) => read(app, document, found),
            Err(what) => Err(vec![what]),
        };
        let read = match read {
            Ok(read) => self.complete_static(read, reading.run).await?,
            Err(faults) => Err(faults),
        };
        match read {
            Ok(read) => reading.add(document.digest(), Arc::new(read), News::New),
            Err(faults) => {
                reading.unread.add(UnreadDocument::of(&document.manifest));
                let at = |what| Fault::new(document.at.clone(), what);
                reading.faults.extend(faults.into_iter().map(at));
            }
        }
        Ok(())
    }

    /// Refuses a static item that names a file it does not have.
    async fn complete_static(
        &self,
        read: ReadDocument,
        run: Run,
    ) -> Result<Result<ReadDocument, Vec<String>>, Error> {
        let Asked::Unit(wish) = &read.asked else { return Ok(Ok(read)) };
        let Snapshot::Static(spec) = &wish.spec else { return Ok(Ok(read)) };
        Ok(match self.missing_file(spec).await {
            Ok(Some(file)) => Err(vec![format!("static '{}' has no file `{file}`", wish.name)]),
            Ok(None) => Ok(read),
            Err(StoreError::MissingBlob { .. }) if run == Run::Dry => Ok(read),
            Err(error) => return Err(error.into()),
        })
    }

    /// Says which triggers wait for messages that this server never hears of.
    fn unheard(&self, wishes: &[Arc<Wish>]) -> Vec<String> {
        let waits =
            |wish: &&Arc<Wish>| matches!(wish.spec, Snapshot::Trigger(TriggerSpec::Queue(_)));
        let unheard = wishes.iter().filter(|_| self.messages.is_none()).filter(waits);
        let said = |wish: &Arc<Wish>| {
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
        reading: &mut Reading,
    ) -> Result<Result<Found, String>, Error> {
        let Reading { unpacked, run, .. } = reading;
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
                                // It is something new, whatever it holds.
                                Err(crate::archive::Error::Store(StoreError::MissingBlob {
                                    ..
                                })) if *run == Run::Dry => archive,
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

/// Whether a document is as it was the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Old,
    New,
}

#[derive(Default)]
pub(super) struct Reading {
    pub(super) wishes: Vec<Arc<Wish>>,
    pub(super) pointers: Vec<Arc<PointerWish>>,
    documents: Documents,
    /// The wishes that are not as they were.
    differing: Vec<usize>,
    pub(super) faults: Vec<Fault>,
    unread: Unread,
    /// Whether files that are named have to be here: they have not if it is only asked what would happen.
    run: Run,
    /// The trees of archives.
    unpacked: HashMap<Digest, Digest>,
    /// What folio keeps and does not act on, with how many units say it.
    idle: BTreeMap<String, u64>,
    unknown: Vec<String>,
}

impl Reading {
    fn with_room(documents: usize) -> Self {
        Self {
            wishes: Vec::with_capacity(documents),
            documents: Documents::with_capacity(documents),
            ..Self::default()
        }
    }

    /// Adds everything that was asked for before, but for what is named again.
    fn build_on(&mut self, before: &Documents, again: &[KnownDocument]) {
        let again: HashSet<_> = again.iter().map(|known| known.digest).collect();
        self.wishes.reserve(before.len());
        for (digest, document) in before.iter().filter(|(digest, _)| !again.contains(*digest)) {
            self.add(*digest, Arc::clone(document), News::Old);
        }
    }

    fn add(&mut self, digest: Digest, document: Arc<ReadDocument>, news: News) {
        for what in &document.idle {
            *self.idle.entry(what.clone()).or_default() += 1;
        }
        self.unknown.extend(document.unknown.iter().cloned());
        match &document.asked {
            Asked::Unit(wish) => {
                if news == News::New {
                    self.differing.push(self.wishes.len());
                }
                self.wishes.push(Arc::clone(wish));
            }
            Asked::Pointer(wish) => self.pointers.push(Arc::clone(wish)),
        }
        self.documents.insert(digest, document);
    }

    pub(super) fn remarks(&mut self) -> Vec<String> {
        self.unknown.sort();
        let idle = self.idle.iter().map(|(what, count)| {
            let (kind, path) = what.split_once(' ').unwrap_or((what, ""));
            let several = if *count == 1 { "" } else { "s" };
            format!("{path} of {count} {kind}{several} is kept; folio does not act on it")
        });
        self.unknown.iter().cloned().chain(idle).collect()
    }
}

/// Whether a unit was asked for the last time and is not now. One whose document changed is among those that differ.
fn dropped(
    before: &Documents,
    now: &Documents,
    (wishes, differing): (&[Arc<Wish>], &[usize]),
) -> bool {
    let gone = before.iter().filter(|(digest, _)| now.get(digest).is_none());
    let mut units = gone.filter_map(|(_, document)| match &document.asked {
        Asked::Unit(wish) => Some(wish),
        Asked::Pointer(_) => None,
    });
    units.any(|gone| {
        let is_same = |wish: &Wish| wish.name == gone.name && wish.spec.kind() == gone.spec.kind();
        !differing.iter().any(|place| is_same(&wishes[*place]))
    })
}

/// Reads one manifest, or says everything that is wrong with it.
fn read(app: &AppName, document: &Document, found: Found) -> Result<ReadDocument, Vec<String>> {
    let written = spec::written(document.manifest.clone()).map_err(said)?;
    let Some(written) = written else {
        return Err(vec!["it is of a kind that cannot be applied".to_owned()]);
    };
    let strays = strays(app, &written.manifest);
    if !strays.is_empty() {
        let checked = spec::checked(&written.manifest).map_err(said).err();
        return Err(strays.into_iter().chain(checked.into_iter().flatten()).collect());
    }
    let at = document.at.clone();
    let words = Words::of(written.manifest.version().map_err(said)?);
    if let Some(asked) = spec::pointer(&written.manifest).map_err(said)? {
        let said = Said::of(&written.manifest, &written.unknown);
        let named = match &asked {
            PointerAsked::Alias(asked) => format!("alias `{}@{}`", asked.function, asked.alias),
            PointerAsked::Canary(asked) => format!("canary `{}`", asked.name),
        };
        let unknown = written.unknown.iter();
        let unknown = unknown.map(|path| format!("{named}: unknown field {path} is kept"));
        let unknown = unknown.collect();
        let asked = Asked::Pointer(Arc::new(PointerWish { at, words, asked, said }));
        return Ok(ReadDocument::new(document, asked, (Vec::new(), unknown)));
    }
    let unit = spec::unit(&spec::lasting(&written.manifest), found.contents).map_err(said)?;
    let kind = unit.spec.kind();
    let idle = unit.idle.iter().map(|path| format!("{kind} {path}")).collect();
    let unknown = written.unknown.iter();
    let unknown =
        unknown.map(|path| format!("{kind} `{}`: unknown field {path} is kept", unit.name));
    let unknown = unknown.collect();
    let archive = found.archive.filter(|_| matches!(unit.spec, Snapshot::Package(_)));
    let wish = Wish { at, words, name: unit.name, spec: unit.spec, archive };
    Ok(ReadDocument::new(document, Asked::Unit(Arc::new(wish)), (idle, unknown)))
}

/// What is in another namespace than the app, which is one of its own.
fn strays(app: &AppName, manifest: &Manifest) -> Vec<String> {
    let namespace = manifest.namespace().unwrap_or_default();
    if !namespace.is_empty() && namespace != app.as_str() {
        return vec![format!(
            "metadata.namespace: it is in namespace `{namespace}`, and app `{app}` is worked in; \
             use --app {namespace}, or --force-namespace"
        )];
    }
    let stray = |Stray { path, namespace }| {
        format!(
            "{path}: it is in namespace `{namespace}`, and nothing outside app `{app}` can be named; \
             leave it out, or use --force-namespace"
        )
    };
    spec::strays(manifest, app.as_str()).into_iter().map(stray).collect()
}

/// Everything that is wrong with a manifest, one by one.
fn said(error: ManifestError) -> Vec<String> {
    match error {
        ManifestError::Mismatches { mismatches, .. } => {
            mismatches.iter().map(Mismatch::to_string).collect()
        }
        // What it lacks is said by the field that lacks it.
        ManifestError::Unreadable(what) if !spec::path_of(&what).is_empty() => vec![what],
        other => vec![other.to_string()],
    }
}
