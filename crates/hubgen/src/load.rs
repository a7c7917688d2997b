//! Makes the versions of a group from its schemas: the first stage after reading files.
//!
//! Start at [`load`]. Which file belongs to which version, and which resources are taken, is
//! decided here; what a schema means is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapter::{arm, crd, json_schema};
use crate::config::entry::{Entry, Kept};
use crate::config::{Config, Format, Uses};
use crate::error::Error;
use crate::ir::Group;
use crate::naming::reserved;
use crate::schema::documents::{Documents, Node};
use crate::schema::flat::{Dialect, Reader};
use crate::schema::lower::{Directives, Lowering, Note, Root};
use crate::share::share;
use crate::version::Version;

/// Everything that was read, and how to read it.
pub struct Input {
    /// The schema files.
    pub documents: Documents,
    /// The files the configuration names, with what it says of each.
    pub files: Vec<SchemaFile>,
    /// Blessed schemas by version, among `documents`: they stand in for versions that the
    /// schemas have dropped.
    pub blessed: BTreeMap<Version, String>,
}

/// A schema file of the configuration.
#[derive(Clone, Debug)]
pub struct SchemaFile {
    /// Its path among the documents.
    pub path: String,
    /// The version, if the configuration says it or the name of the file does.
    pub version: Option<Version>,
    /// The kind, if the configuration says it.
    pub kind: Option<String>,
}

/// A group as its schemas have it, and what was found on the way.
#[derive(Debug)]
pub struct Loaded {
    /// Every version with all of its types, shared with none.
    pub group: Group,
    /// What was not taken as it stands.
    pub notes: BTreeSet<Note>,
    /// The entries that decided something.
    pub uses: Uses,
}

impl Loaded {
    /// The group with equal types shared between versions.
    pub fn shared(&self) -> Group {
        share(self.group.clone())
    }
}

/// One version's schemas.
#[derive(Default)]
struct Parts<'a> {
    files: Vec<Node<'a>>,
    roots: Vec<Root<'a>>,
    blessed: bool,
}

/// Reads every version of the group.
pub fn load(config: &Config, input: &Input) -> Result<Loaded, Error> {
    let mut versions: BTreeMap<Version, Parts<'_>> = BTreeMap::new();
    for file in &input.files {
        let root = input.documents.root(&file.path).expect("every named file was read");
        for (version, found) in roots(config, file, &root)? {
            let parts = versions.entry(version).or_default();
            parts.files.push(root.clone());
            parts.roots.push(found);
        }
    }
    for (version, parts) in blessed_parts(input)? {
        versions.entry(version).or_insert(parts);
    }
    let loaded = lowered(config, input, versions, Whole::Yes)?;
    modules(config, loaded.group.versions.keys())?;
    Ok(loaded)
}

/// Refuses versions whose files or modules would be one, or cannot be.
fn modules<'a>(config: &Config, versions: impl Iterator<Item = &'a Version>) -> Result<(), Error> {
    let refused = |what: String| {
        let hint = "spell one of them otherwise, by `version` in its [[schema]] entry";
        Error::refused(format!("{}: {what}", config.file), hint)
    };
    let mut taken: BTreeMap<String, &Version> = BTreeMap::new();
    for version in versions {
        let module = version.module();
        let read_back = Version::from_file_stem(&version.file_stem(), config.spelling());
        if read_back != *version || !version.is_plain() {
            return Err(refused(format!(
                "{version:?} cannot be the name of a version: letters, digits, `.`, `_` and `-` \
                 can, and with `qualified = true` the API group and a `/` in front, without `_`"
            )));
        }
        if reserved::is_used_module(&module) || !reserved::is_module(&module) {
            return Err(refused(format!(
                "the version `{version}` would be the module `{module}`, which is taken"
            )));
        }
        if let Some(other) = taken.insert(module.clone(), version) {
            return Err(refused(format!(
                "the versions `{other}` and `{version}` would both be the module `{module}`"
            )));
        }
    }
    Ok(())
}

/// Reads the versions as they are published, which may be none.
pub fn load_blessed(config: &Config, input: &Input) -> Result<Loaded, Error> {
    lowered(config, input, blessed_parts(input)?, Whole::No)
}

fn blessed_parts(input: &Input) -> Result<BTreeMap<Version, Parts<'_>>, Error> {
    let mut versions = BTreeMap::new();
    for (version, path) in &input.blessed {
        let root = input.documents.root(path).expect("every named file was read");
        let found = json_schema::roots(&root, None)?;
        let parts = Parts { files: vec![root], roots: found, blessed: true };
        versions.insert(version.clone(), parts);
    }
    Ok(versions)
}

/// Whether the versions are the whole group, so that what is left out is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

fn lowered<'a>(
    config: &Config,
    input: &'a Input,
    versions: BTreeMap<Version, Parts<'a>>,
    whole: Whole,
) -> Result<Loaded, Error> {
    let mut uses = Uses::default();
    let mut directives = directives(config);
    let mut group = Group { name: config.group().to_owned(), versions: BTreeMap::new() };
    let mut notes = BTreeSet::new();
    for (version, mut parts) in versions {
        if whole == Whole::Yes {
            parts.roots.retain(|root| is_kept(config, &mut uses, &root.kind, &version));
        }
        if parts.roots.is_empty() {
            continue;
        }
        let dialect = if parts.blessed { Dialect::JsonSchema } else { dialect(config) };
        let reader = Reader { documents: &input.documents, dialect };
        let mut lowering = Lowering::new(reader, version.clone(), &mut directives);
        parts.files.iter().for_each(|file| lowering.reserve(file));
        parts.roots.sort_by_key(|root| (root.kind.to_lowercase(), root.node.place.clone()));
        one_of_each(&parts.roots, &version)?;
        for root in parts.roots {
            lowering.add(root)?;
        }
        let (api, found) = lowering.finish()?;
        notes.extend(found);
        group.versions.insert(version, api);
    }
    note_uses(config, &directives, &mut uses);
    if whole == Whole::Yes && group.versions.is_empty() {
        return Err(Error::refused(
            format!("{}: the schemas hold no resource", config.file),
            "name schemas under [[schema]], and see that [[include]] and [[exclude]] leave some",
        ));
    }
    Ok(Loaded { group, notes, uses })
}

fn roots<'a>(
    config: &Config,
    file: &SchemaFile,
    root: &Node<'a>,
) -> Result<Vec<(Version, Root<'a>)>, Error> {
    let format = config.said.format;
    if format == Format::Crd {
        let documents = root.value.as_array().into_iter().flatten().enumerate();
        let mut found = Vec::new();
        for (index, value) in documents.filter(|(_, value)| crd::is_definition(value)) {
            let place = root.place.at(index);
            found.extend(crd::roots(&Node { value, place }, config.spelling())?);
        }
        let renamed = found
            .into_iter()
            .map(|(version, root)| (file.version.clone().unwrap_or(version), root));
        return Ok(renamed.collect());
    }
    if !json_schema::is_known_draft(root.value) {
        return Err(Error::schema(
            &root.place.at("$schema"),
            format!("the schema is of an unknown draft: {}", root.text("$schema")),
            "use draft-04, draft-07 or 2020-12",
        ));
    }
    let Some(version) = &file.version else {
        return Err(Error::schema(
            &root.place,
            "nothing says which API version this schema is of",
            "add `version = \"…\"` to its [[schema]] entry",
        ));
    };
    let roots = match format {
        Format::Arm => arm::roots(root)?,
        Format::Crd | Format::JsonSchema => json_schema::roots(root, file.kind.as_deref())?,
    };
    Ok(roots.into_iter().map(|root| (version.clone(), root)).collect())
}

fn dialect(config: &Config) -> Dialect {
    match config.said.format {
        Format::Crd => Dialect::Kubernetes,
        Format::JsonSchema => Dialect::JsonSchema,
        Format::Arm => Dialect::Arm,
    }
}

fn one_of_each(roots: &[Root<'_>], version: &Version) -> Result<(), Error> {
    for pair in roots.windows(2) {
        let [first, second] = pair else { continue };
        if first.kind.eq_ignore_ascii_case(&second.kind) {
            return Err(Error::schema(
                &second.node.place,
                format!("version {version} has `{}` twice: also {}", second.kind, first.node.place),
                "name one of the two files only, or exclude one kind",
            ));
        }
    }
    Ok(())
}

fn is_kept(config: &Config, uses: &mut Uses, kind: &str, version: &Version) -> bool {
    let mut matching = |entries: &[Entry<Kept>]| {
        let mut any = false;
        for entry in entries {
            let Kept { kind: only_kind, version: only_version, .. } = entry.get_ref();
            let same_kind = only_kind.as_ref().is_none_or(|only| only.eq_ignore_ascii_case(kind));
            let same_version = only_version.as_ref().is_none_or(|only| only == version.as_str());
            if same_kind && same_version {
                uses.note(entry);
                any = true;
            }
        }
        any
    };
    let included = config.said.include.is_empty() || matching(&config.said.include);
    let excluded = matching(&config.said.exclude);
    included && !excluded
}

fn directives(config: &Config) -> Directives {
    let said = &config.said;
    let mut directives = Directives::default();
    for entry in &said.opaque {
        directives.opaque.insert((entry.get_ref().ty.clone(), entry.get_ref().property.clone()));
    }
    for entry in &said.name {
        let entry = entry.get_ref();
        match &entry.property {
            Some(property) => {
                let key = (entry.ty.clone(), property.clone());
                directives.field_names.insert(key, entry.name.clone());
            }
            None => {
                directives.type_names.insert(entry.ty.clone(), entry.name.clone());
            }
        }
    }
    directives
}

fn note_uses(config: &Config, directives: &Directives, uses: &mut Uses) {
    for entry in &config.said.opaque {
        let key = (entry.get_ref().ty.clone(), entry.get_ref().property.clone());
        if directives.used.contains(&key) {
            uses.note(entry);
        }
    }
    for entry in &config.said.name {
        let property = entry.get_ref().property.clone().unwrap_or_default();
        if directives.used.contains(&(entry.get_ref().ty.clone(), property)) {
            uses.note(entry);
        }
    }
}
