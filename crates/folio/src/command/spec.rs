//! `folio spec` and `folio deploy`: a directory of manifests, applied as one.

mod applying;
pub(crate) mod dev;
pub(super) mod show;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use folio_core::apply::{DeployedUnit, Form, Others, Rest};
use folio_model::Owner;
use serde_json::Value;

use self::applying::{Applier, warn};
use super::Session;
use crate::client::Items;
use crate::output;
use crate::problem::Problem;
use crate::spec::{self, APP_FILE, CONFIG_FILE, Recall, Spec, Wanted};

/// What can be done with a directory of manifests.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a spec directory
    Init(Init),
    /// Say everything that is wrong with a spec directory
    Validate(Validate),
    /// Make functions and packages what the manifests say, as drafts
    Apply(Apply),
    /// Delete everything that the deployment owns
    Destroy(Destroy),
    /// List what the deployment owns
    List(List),
    /// Make versions of what the manifests say
    #[command(subcommand)]
    Version(VersionCommand),
}

/// What can be done with versions of a whole directory.
#[derive(Debug, Subcommand)]
pub(crate) enum VersionCommand {
    /// Give everything that changed a version, all under one id, in one step
    Apply(VersionApply),
}

/// Where the manifests are.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// The directory with the manifests
    #[arg(long, value_name = "DIR", default_value = "specs")]
    specdir: PathBuf,
    /// A file with patterns of files to leave out [default: `.specignore` in the directory]
    #[arg(long, value_name = "FILE")]
    specignore: Option<PathBuf>,
}

/// How to make a directory.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The deployment's name [default: that of the current directory]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The deployment's identity [default: a random one]
    #[arg(long, value_name = "UID", visible_alias = "id")]
    deployid: Option<String>,
    /// The directory to make
    #[arg(long, value_name = "DIR", default_value = "specs")]
    specdir: PathBuf,
}

/// Where to write an app's file.
#[derive(Debug, Args)]
pub(crate) struct InitApp {
    /// The directory of the app
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// The deployment's name [default: that of the directory]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    place: Place,
    /// Do not mind units that belong to others
    #[arg(long)]
    allowconflicts: bool,
}

/// How to apply.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Applying {
    /// A file with patterns of files to leave out [default: `.specignore` in the directory]
    #[arg(long, value_name = "FILE")]
    specignore: Option<PathBuf>,
    /// Wait until everything is built
    #[arg(long)]
    wait: bool,
    /// Apply again whenever a file changes
    #[arg(long)]
    watch: bool,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// Take over units that belong to others
    #[arg(long)]
    allowconflicts: bool,
    /// Label every object with the commit of its file
    #[arg(long)]
    commitlabel: bool,
    /// Work in the app whatever namespace a manifest names
    #[arg(long, visible_alias = "force")]
    force_namespace: bool,
    /// Read every file again, even if it has not changed since it was last applied, and have the server read back
    /// what it has of them: what is damaged there is sent again
    #[arg(long)]
    no_cache: bool,
}

/// Changes drafts.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The directory with the manifests
    #[arg(long, value_name = "DIR", default_value = "specs")]
    specdir: PathBuf,
    /// Delete what the deployment owns and the manifests no longer name
    #[arg(long)]
    delete: bool,
    #[command(flatten)]
    applying: Applying,
}

/// Makes versions.
#[derive(Debug, Args)]
pub(crate) struct VersionApply {
    /// The directory with the manifests
    #[arg(value_name = "DIR", default_value = "specs")]
    directory: PathBuf,
    /// The directory with the manifests
    #[arg(long, value_name = "DIR", conflicts_with = "directory")]
    specdir: Option<PathBuf>,
    #[command(flatten)]
    applying: Applying,
}

/// What to delete.
#[derive(Debug, Args)]
pub(crate) struct Destroy {
    #[command(flatten)]
    place: Place,
    /// Delete by the deployment's identity, whatever its manifests say
    #[arg(long)]
    force: bool,
}

/// What to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,
    /// A deployment's identity [default: that of the directory]
    #[arg(long, value_name = "UID", visible_alias = "id")]
    deployid: Option<String>,
}

/// The directory that is meant where none is named.
const USUAL_DIRECTORY: &str = "specs";

/// Runs one command.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Init(command) => init(&command),
        Command::Validate(command) => validate(session, command).await,
        Command::Apply(Apply { specdir, delete, applying }) => {
            let rest = if delete { Rest::Delete } else { Rest::Keep };
            Applier { session, directory: specdir, form: Form::Drafts, rest, applying }.run().await
        }
        Command::Destroy(command) => destroy(session, command).await,
        Command::List(command) => list(session, command).await,
        Command::Version(VersionCommand::Apply(command)) => deploy(session, command).await,
    }
}

/// Gives everything that changed a version.
pub(crate) async fn deploy(session: &Session, command: VersionApply) -> Result<()> {
    let VersionApply { directory, specdir, applying } = command;
    let directory = app_file(specdir.unwrap_or(directory));
    let (form, rest) = (Form::Versions, Rest::Delete);
    Applier { session, directory, form, rest, applying }.run().await
}

/// The app's own file, where there is one beside or in a directory.
fn app_file(directory: PathBuf) -> PathBuf {
    let beside = directory.parent().map(|above| above.join(APP_FILE)).unwrap_or_default();
    let usual = directory.as_os_str() == USUAL_DIRECTORY && beside.is_file();
    let inside = directory.join(APP_FILE);
    match (usual, inside.is_file()) {
        (true, _) => beside,
        (_, true) => inside,
        _ => directory,
    }
}

/// Writes an app's file, with every field explained.
pub(crate) fn init_app(init: &InitApp) -> Result<()> {
    let file = init.directory.join(APP_FILE);
    if file.exists() {
        let problem = Problem::new(format!("`{}` exists already", file.display()));
        return Err(problem.hint("edit it, then `folio deploy`").into());
    }
    let current = init.directory.canonicalize();
    let current = current.with_context(|| format!("there is no `{}`", init.directory.display()))?;
    let own = current.file_name().and_then(|name| name.to_str()).unwrap_or("app");
    let name = init.name.clone().unwrap_or_else(|| kubified(own));
    for (path, text) in [("functions/hello.js", HELLO), ("public/index.html", PAGE)] {
        let path = init.directory.join(path);
        let context = || format!("cannot write `{}`", path.display());
        if !path.exists() {
            std::fs::create_dir_all(path.parent().unwrap_or(&path)).with_context(context)?;
            std::fs::write(&path, text).with_context(context)?;
        }
    }
    let text = spec::STARTER.replacen("NAME", &name, 1);
    std::fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    output::print(&format!("{} written; `folio deploy` deploys it", file.display()))
}

const HELLO: &str = "module.exports = async () => ({ status: 200, body: \"hello\\n\" });\n";
const PAGE: &str = "<!doctype html>\n<title>hello</title>\n<h1>hello</h1>\n";

/// Prints the JSON Schema of an app's file.
pub(crate) fn schema() -> Result<()> {
    output::print(&format!("{:#}", spec::AppManifest::schema()))
}

fn init(init: &Init) -> Result<()> {
    let Init { name, deployid, specdir } = init;
    let config = specdir.join(CONFIG_FILE);
    if config.exists() {
        let problem = Problem::new(format!("`{}` exists already", config.display()));
        return Err(problem.hint("the directory is ready; put manifests into it").into());
    }
    let current = std::env::current_dir().context("the current directory is gone")?;
    let own = current.file_name().and_then(|name| name.to_str()).unwrap_or("deployment");
    let name = name.clone().unwrap_or_else(|| kubified(own));
    let uid = deployid.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    output::talk(&format!("Creating fission spec directory '{}'", specdir.display()));
    let context = || format!("cannot write into `{}`", specdir.display());
    std::fs::create_dir_all(specdir).with_context(context)?;
    std::fs::write(specdir.join("README"), README).with_context(context)?;
    let quoted = |text: &str| serde_saphyr::to_string(&text).map(|text| text.trim().to_owned());
    let (written_name, written_uid) = (quoted(&name)?, quoted(&uid)?);
    let text = format!(
        "# This file says which deployment the manifests beside it are.\n\
         # Whoever applies them under the same uid changes the same objects.\n\
         # Commit it together with the manifests.\n\
         apiVersion: fission.io/v1\nkind: DeploymentConfig\nname: {written_name}\nuid: {written_uid}\n"
    );
    std::fs::write(&config, text).with_context(context)?;
    output::print(&format!("deployment {name} {uid}"))
}

/// A name that objects can have.
fn kubified(name: &str) -> String {
    let letters = name.to_lowercase();
    let letters = letters.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let name: String = letters.collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "deployment".to_owned() } else { name.chars().take(63).collect() }
}

const README: &str = "\
Manifests of functions, packages, environments and triggers, and of the archives that packages are made of.

    folio spec validate          says everything that is wrong
    folio spec version apply     gives everything that changed a version, all under one id
    folio spec apply             changes drafts only
    folio spec destroy           deletes everything that this deployment owns
";

/// The deployment of a directory.
fn owner(spec: &Spec) -> Result<Owner> {
    spec.deployment.clone().ok_or_else(|| {
        if let Some(refusal) = spec.refusal() {
            return refusal;
        }
        let file = spec.directory.join(CONFIG_FILE);
        let problem = Problem::new(format!(
            "nothing says which deployment `{}` is",
            spec.directory.display()
        ));
        problem.hint(format!("`folio spec init` writes {}", file.display())).into()
    })
}

async fn validate(session: &Session, command: Validate) -> Result<()> {
    let Validate { place, allowconflicts } = command;
    let ignore = place.specignore.as_deref();
    let spec = Spec::gather(&place.specdir, ignore, Recall::Afresh(None))?;
    let deployment = owner(&spec)?;
    output::talk(&show::resources(&spec, &deployment));
    warn(&spec.remarks);
    let wanted = Wanted {
        app: session.app(None),
        deployment,
        form: Form::Versions,
        rest: Rest::Keep,
        others: if allowconflicts { Others::Adopt } else { Others::Refuse },
        dry_run: true,
        git: None,
    };
    let done = spec::send(session, &spec, &wanted).await?;
    warn(&done.result.remarks);
    output::print("Validation Successful")
}

async fn destroy(session: &Session, command: Destroy) -> Result<()> {
    let Destroy { place, force } = command;
    // What goes is what the deployment owns, whatever its manifests say by now.
    let deployment = match config(&place.specdir) {
        Err(_) if !force => owner(&Spec::read(&place.specdir, place.specignore.as_deref())?)?,
        found => found?,
    };
    let wanted = Wanted {
        app: session.app(None),
        deployment,
        form: Form::Versions,
        rest: Rest::Delete,
        others: Others::Refuse,
        dry_run: false,
        git: None,
    };
    let done = spec::send(session, &Spec::default(), &wanted).await?;
    session.output.item(&done, |done| show::destroyed(&done.result, &wanted.app))
}

/// The deployment that a directory's own file names, whatever else is in it.
fn config(directory: &Path) -> Result<Owner> {
    let path = directory.join(CONFIG_FILE);
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read `{}`", path.display()))?;
    let value: Value = serde_saphyr::from_str(&text)
        .with_context(|| format!("`{}` makes no sense", path.display()))?;
    let taken = folio_kinds::spec::taken(value, &["uid", "name"]).known;
    let word = |key: &str| taken.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Owner { uid: word("uid"), name: word("name") })
}

async fn list(session: &Session, command: List) -> Result<()> {
    let List { place, deployid } = command;
    let uid = match deployid {
        Some(uid) => uid,
        None => config(&place.specdir)?.uid,
    };
    let app = session.app(None);
    let path = ["apps", app.as_str(), "deployments"];
    let units: Items<DeployedUnit> = session.client.get(&path, &[("uid", uid)]).await?;
    session.output.items(&units.items, show::deployed)
}
