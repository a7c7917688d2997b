//! `folio watch`: functions that are called when folio's own objects change.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::trigger::{TriggerFields, TriggerType, TriggerView, WatchFields};
use folio_model::{Name, TriggerSpec};

use super::{Called, Calls, Which};
use crate::command::Session;
use crate::command::deleting::Deleting;
use crate::command::saving::Creating;
use crate::output::{Details, Format, Table};

/// What one can do with watches.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a function for every change of an object
    Create(Creating<Set>),
    /// Change a watch; what is left out stays
    Update(Set),
    /// List watches
    List,
    /// Show one watch
    #[command(visible_alias = "get")]
    Show(Which),
    /// Delete a watch; the functions stay
    Delete(Deleting),
}

/// A watch as it shall be.
#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    called: Called,
    /// Watch objects of this kind: function, package, environment or trigger
    #[arg(long = "type", visible_alias = "objtype", value_name = "KIND")]
    object_type: Option<String>,
    /// Watch the object of this name only
    #[arg(long, value_name = "NAME")]
    object: Option<Name>,
    #[command(flatten)]
    calls: Calls,
}

/// Runs a command on watches.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(Creating { what, saving }) => {
            let (called, fields) = what.fields()?;
            super::create(session, called, fields, saving).await
        }
        Command::Update(set) => {
            let (called, fields) = set.fields()?;
            super::update(session, called, fields).await
        }
        Command::List => super::list(session, TriggerType::Watch, table).await,
        Command::Show(which) => super::show(session, &which, details).await,
        Command::Delete(deleting) => super::delete(session, &deleting, TriggerType::Watch).await,
    }
}

impl Set {
    fn fields(self) -> Result<(Called, TriggerFields)> {
        let targets = self.calls.targets()?;
        let (object_type, object_name) = (self.object_type, self.object);
        let fields = WatchFields { object_type, object_name, targets };
        Ok((self.called, TriggerFields::Watch(fields)))
    }
}

fn table(watches: &[TriggerView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "NAMESPACE", "OBJTYPE", "OBJECT", "FUNCTION_NAME"]);
    for view in watches {
        let TriggerSpec::Watch(watch) = &view.spec else { continue };
        table.row([
            view.name.to_string(),
            view.app.to_string(),
            watch.object_type.clone(),
            watch.object_name.as_ref().map(ToString::to_string).unwrap_or_default(),
            super::leads(&view.spec),
        ]);
    }
    table
}

fn details(view: &TriggerView) -> Details {
    Details::default()
        .line("Name", &view.name)
        .line("App", &view.app)
        .line("Version", view.version.number)
        .line("Watches", super::starts(&view.spec))
        .line("Calls", super::leads(&view.spec))
        .line("Revision", view.revision)
}
