//! Runs one command on a world and turns its outcome into something two worlds can be compared by.

use folio_core::environment::EnvironmentFields;
use folio_core::request::{
    AliasTarget, Caller, Cascade, ContentRef, Expect, Fields, IfSame, Onto, Publish, Repeat, Start,
    Which,
};
use folio_core::route::RouteFields;
use folio_core::{Explain, Folio};
use folio_model::{
    AppName, Digest, Kind, Name, Number, Qualifier, RoutePath, RuntimeKind, Target, UnitKey,
    VersionId,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::command::{Code, Command, Expectation, Index, PublishCommand};
use super::{Stop, World};
use crate::sample;

/// What a command answered: a value, or a code and a message.
pub(super) type Outcome = Result<Value, (String, String)>;

pub(super) async fn perform(world: &mut dyn World, command: &Command) -> Outcome {
    match command {
        Command::Reopen => {
            world.restart(Stop::Clean).await;
            Ok(Value::Null)
        }
        Command::Crash => {
            world.restart(Stop::Crash).await;
            Ok(Value::Null)
        }
        Command::Build { succeed } => {
            let built = world.workshop().work(world.folio(), *succeed).await;
            built.map(|()| json!({ "builds": "done" })).map_err(|error| explain(&error))
        }
        Command::Jump(_) => Ok(Value::Null),
        other => on_folio(world.folio(), other).await,
    }
}

async fn on_folio(folio: &Folio, command: &Command) -> Outcome {
    let caller = Caller::new("ada".parse().expect("well formed"));
    match command {
        Command::Publish(command) => publish(folio, caller, command).await,
        Command::Draft { unit, code, create } => {
            let fields = fields(folio, *code).await;
            let onto = if *create { Onto::Nothing } else { Onto::Existing };
            outcome(folio.set_draft(&caller, &key(*unit), fields, (onto, None)).await)
        }
        Command::DeleteVersion { unit, number } => {
            let which = number.map_or(Which::All, |number| Which::One(version(number)));
            outcome(folio.delete_versions(&caller, &key(*unit), which, None).await)
        }
        Command::Delete { unit, cascade } => {
            let cascade = if *cascade { Cascade::Yes } else { Cascade::No };
            outcome(folio.delete(&caller, &key(*unit), cascade, None).await)
        }
        Command::Describe { unit, number, words } => {
            let words = format!("words {words}");
            outcome(folio.describe(&caller, &key(*unit), &version(*number), words).await)
        }
        Command::Undo(back) => undo(folio, &caller, *back).await,
        Command::Sweep => {
            // What was removed depends on packing, which is each store's own affair.
            folio.sweep().await.map(|_| Value::Null).map_err(|error| explain(&error))
        }
        Command::Environment { .. }
        | Command::DeleteEnvironment(_)
        | Command::Route { .. }
        | Command::DeleteRoute(_) => around(folio, &caller, command).await,
        pointers => on_pointers(folio, &caller, pointers).await,
    }
}

/// What functions run in, and what leads to them.
async fn around(folio: &Folio, caller: &Caller, command: &Command) -> Outcome {
    let app = AppName::default_app();
    let onto = |create: bool| if create { Onto::Nothing } else { Onto::Existing };
    match command {
        Command::Environment { name, poolsize, create } => {
            let fields = EnvironmentFields {
                runtime: Some(RuntimeKind::Nodejs),
                poolsize: Some(*poolsize),
                ..EnvironmentFields::default()
            };
            let (key, onto) = (environment(*name), (onto(*create), None));
            outcome(folio.set_environment(caller, &key, fields, onto).await)
        }
        Command::DeleteEnvironment(name) => {
            outcome(folio.delete_environment(caller, &environment(*name), None).await)
        }
        Command::Route { name, function, number, create } => {
            let at = number.map_or_else(String::new, |number| format!("@{number}"));
            let reference = format!("{}{at}", key(*function).name).parse().expect("well formed");
            let fields = RouteFields {
                path: Some(RoutePath::Exact(format!("/{name}"))),
                targets: Some(vec![Target::only(reference)]),
                ..RouteFields::default()
            };
            let to = (&app, Some(&route(*name)));
            outcome(folio.set_route(caller, to, fields, (onto(*create), None)).await)
        }
        Command::DeleteRoute(name) => {
            outcome(folio.delete_route(caller, (&app, &route(*name)), None).await)
        }
        other => unreachable!("{other:?} is handled above"),
    }
}

/// One of two environments; the second takes the place of one that is built in.
fn environment(index: Index) -> UnitKey {
    let name = ["runner", "nodejs"][index].parse().expect("well formed");
    UnitKey { app: AppName::default_app(), kind: Kind::Environment, name }
}

fn route(index: Index) -> Name {
    ["shop", "admin"][index].parse().expect("well formed")
}

async fn on_pointers(folio: &Folio, caller: &Caller, command: &Command) -> Outcome {
    let app = AppName::default_app();
    match command {
        Command::Point { function, alias, targets, expect } => {
            let target =
                |&(number, weight): &(u64, u32)| AliasTarget { version: version(number), weight };
            let targets = targets.iter().map(target).collect();
            let expect = match expect {
                Expectation::Absent => Expect::Absent,
                Expectation::Present => Expect::Present,
                Expectation::Revision(revision) => Expect::Revision(*revision),
            };
            let (key, alias) = (key(*function), word(*alias));
            outcome(folio.point(caller, (&key, &alias), targets, expect).await)
        }
        Command::RollBack { function, alias } => {
            let (key, alias) = (key(*function), word(*alias));
            outcome(folio.roll_back(caller, (&key, &alias), None, Expect::Present).await)
        }
        Command::DeleteAlias { function, alias } => {
            let (key, alias) = (key(*function), word(*alias));
            outcome(folio.delete_alias(caller, (&key, &alias), Expect::Present).await)
        }
        Command::Tag { tag, function, number } => {
            let at = number.map_or_else(String::new, |number| format!("@{number}"));
            let reference = format!("{}{at}", key(*function).name).parse().expect("well formed");
            outcome(folio.tag(caller, (&app, &word(*tag)), vec![reference], None).await)
        }
        Command::Untag { tag, function } => {
            let functions = vec![key(*function).name];
            outcome(folio.untag(caller, (&app, &word(*tag)), functions, None).await)
        }
        other => unreachable!("{other:?} is handled above"),
    }
}

async fn publish(folio: &Folio, mut caller: Caller, command: &PublishCommand) -> Outcome {
    caller.repeat = command.key.map(|key| Repeat {
        key: format!("key {key}"),
        request: Digest::of(format!("{command:?}").as_bytes()),
    });
    let request = Publish {
        start: if command.update { Start::Latest } else { Start::Fresh },
        id: command.id.map(word),
        if_same: if command.if_changed { IfSame::Keep } else { IfSame::Publish },
        tag: command.tag.map(word),
        expect: command.expect,
        ..Publish::fresh(fields(folio, command.code).await)
    };
    outcome(folio.publish(&caller, &key(command.unit), request).await)
}

async fn undo(folio: &Folio, caller: &Caller, back: Option<u64>) -> Outcome {
    let head = *folio.head().borrow();
    let seq = back.map(|back| head.saturating_sub(back));
    outcome(folio.undo(caller, &AppName::default_app(), seq).await)
}

async fn fields(folio: &Folio, code: Option<Code>) -> Fields {
    // One of the contents runs in an environment that may not be there.
    let odd = matches!(code, Some(Code::Files(4) | Code::Source(4)));
    let environment = Some(environment(usize::from(!odd)).name);
    match code {
        None => Fields::default(),
        Some(Code::Files(content)) => {
            let deployment = Some(stored(folio, content).await);
            Fields { environment, deployment, ..Fields::default() }
        }
        Some(Code::Source(content)) => Fields {
            environment,
            source: Some(stored(folio, content).await),
            build_command: Some("./build.sh".to_owned()),
            ..Fields::default()
        },
        Some(Code::Package(package)) => {
            Fields { package: Some(key(package).name), ..Fields::default() }
        }
    }
}

/// Stores one of the five contents. All share a file, so that deleting one must not harm another.
async fn stored(folio: &Folio, content: Index) -> ContentRef {
    let main = format!("content {content}");
    sample::directory(folio, &[("shared.js", "shared"), ("main.js", &main)]).await
}

fn key(unit: Index) -> UnitKey {
    let (kind, name) = [
        (Kind::Function, "f"),
        (Kind::Function, "g"),
        (Kind::Function, "f-one"),
        (Kind::Package, "p"),
        (Kind::Package, "q"),
        (Kind::Package, "f-pkg"),
    ][unit];
    let name: Name = name.parse().expect("well formed");
    UnitKey { app: AppName::default_app(), kind, name }
}

/// Ids, aliases and tags are drawn from the same words, so that they collide.
fn word(index: Index) -> VersionId {
    ["one", "two", "v1.0.0", "qa"][index].parse().expect("well formed")
}

fn version(number: u64) -> Qualifier {
    Qualifier::Number(Number::new(number).expect("well formed"))
}

fn outcome<T: Serialize, E: Explain>(result: Result<T, E>) -> Outcome {
    result.map(|value| json!(value)).map_err(|error| explain(&error))
}

fn explain(error: &dyn Explain) -> (String, String) {
    (error.code().0.to_owned(), error.to_string())
}
