//! One state machine for the whole platform: random commands run on two worlds, which must answer alike and
//! look alike after every step, whatever was reopened or crashed in between. Start at [`run`].

mod command;
mod invariants;
mod perform;
mod workshop;

use std::sync::Arc;

use async_trait::async_trait;
use folio_core::{Folio, Settings};
use folio_model::Actor;
use serde_json::Value;

pub use self::command::{Command, any_commands};
pub use self::workshop::Workshop;
use crate::Depth;
use crate::clock::TestClock;

/// How a world is stopped before it is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// In order.
    Clean,
    /// As by `kill -9`: only what reached the files counts.
    Crash,
}

/// A platform whose stores can be stopped and started.
#[async_trait]
pub trait World: Send {
    /// The platform as it runs now.
    fn folio(&self) -> &Folio;

    /// Where its builds are done.
    fn workshop(&self) -> &Workshop;

    /// Stops it and starts it again on what it kept.
    async fn restart(&mut self, stop: Stop);

    /// The observable state.
    async fn dump(&self, depth: Depth) -> Value;
}

/// The settings worlds run with: no grace, so that every sweep removes all it may.
pub fn settings() -> Settings {
    Settings { grace: std::time::Duration::ZERO, ..Settings::default() }
}

/// Runs commands on two worlds and compares them after every step.
///
/// # Panics
/// As soon as the worlds differ, an invariant breaks, or a check finds damage.
pub async fn run(
    commands: &[Command],
    clocks: &[Arc<TestClock>],
    reference: &mut dyn World,
    subject: &mut dyn World,
) {
    for world in [&*reference, &*subject] {
        let token = world.folio().draw_token();
        let admitted =
            world.folio().admit(&"admin".parse::<Actor>().expect("well formed"), &token).await;
        admitted.expect("a new world admits its first token");
    }
    let mut before = reference.dump(Depth::Newest).await;
    for (step, command) in commands.iter().enumerate() {
        let context = || format!("step {step}: {command:?}");
        if let Command::Jump(seconds) = command {
            clocks.iter().for_each(|clock| clock.jump(*seconds));
        }
        let expected = perform::perform(reference, command).await;
        let found = perform::perform(subject, command).await;
        assert_eq!(expected, found, "the worlds answer differently at {}", context());
        let after = reference.dump(Depth::Newest).await;
        assert_eq!(
            after,
            subject.dump(Depth::Newest).await,
            "the worlds differ after {}",
            context()
        );
        invariants::check_step(&before, &after, &expected, &context());
        invariants::check_latest(&after, &context());
        invariants::check_state(reference.folio(), &context()).await;
        before = after;
    }
    let whole = (reference.dump(Depth::Whole).await, subject.dump(Depth::Whole).await);
    assert_eq!(whole.0, whole.1, "the worlds differ after {commands:?}");
    for world in [&*reference, &*subject] {
        let damage = world.folio().check().await.expect("a check runs");
        assert_eq!(damage, [], "a check finds damage after {commands:?}");
    }
}
