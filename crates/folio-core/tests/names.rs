//! Names: aliases that jobs and webhooks follow wherever they lead, from version to version and from function to function.

use folio_core::Explain as _;
use folio_core::binding::{BindingKind, BindingView, NewBinding, NewTerms, WebhookCall};
use folio_core::request::{AliasTarget, Caller, Expect};
use folio_model::{AppName, BoundTo, FULL_WEIGHT, Number, UnitUid, Webhook};

use crate::runtime::{Running, running, running_on_disk};
use crate::world::{app, function, id, refused};

/// Where `prod` can lead.
struct Functions {
    hello: UnitUid,
    other: UnitUid,
}

impl Running {
    async fn functions(&self) -> Functions {
        for (name, at) in [("hello", "v1"), ("hello", "v2"), ("other", "v1")] {
            self.world.version(&function(name), &format!("{name} {at}"), at).await;
        }
        let uid = async |name| self.world.folio.show(&function(name)).await.unwrap().uid;
        let functions = Functions { hello: uid("hello").await, other: uid("other").await };
        let target = AliasTarget { version: "1".parse().unwrap(), weight: FULL_WEIGHT };
        let caller = self.saying("first");
        let at = (&function("hello"), &id("prod"));
        self.world.folio.point(&caller, at, vec![target], Expect::Absent).await.unwrap();
        functions
    }

    fn saying(&self, reason: &str) -> Caller {
        Caller { reason: Some(reason.to_owned()), ..self.world.caller.clone() }
    }

    async fn hook(&self, app: &AppName, to: BoundTo) -> BindingView {
        let terms = NewTerms::Webhook(Webhook::default());
        let new = NewBinding { to, name: None, description: None, terms };
        self.world.folio.bind(&self.world.caller, app, new).await.unwrap().result
    }

    async fn led(
        &self,
        to: (UnitUid, u64),
        description: Option<&str>,
    ) -> Result<(), folio_core::binding::Error> {
        let (unit, number) = (to.0, Number::new(to.1));
        let (caller, said) = (&self.world.caller, description.map(str::to_owned));
        let (of, name) = (app(), id("prod"));
        let led = self.world.folio.lead(caller, (&of, &name), (unit, number), said).await;
        led.map(|_| ())
    }

    /// What a webhook runs, by function and number; 0 is whatever is newest.
    async fn runs(&self, hook: &BindingView) -> (UnitUid, u64) {
        let called = self.world.folio.call_webhook(hook.id, WebhookCall::default()).await;
        let run = called.unwrap();
        (run.unit, run.number.filter(|_| run.asked.pinned).map_or(0, Number::get))
    }

    fn head(&self) -> u64 {
        *self.world.folio.head().borrow()
    }
}

async fn a_name_leads_anywhere_in_one_entry(running: Running) {
    let Functions { hello, other } = running.functions().await;
    let hook = running.hook(&app(), BoundTo::Alias(id("prod"))).await;
    assert_eq!(running.runs(&hook).await, (hello, 1));
    let made = running.world.folio.story(hello, &id("prod")).await.unwrap();
    assert_eq!((made.description.as_deref(), made.updated_at), (Some("first"), None));
    let places =
        [(hello, 2), (hello, 0), (other, 0), (other, 1), (hello, 1), (other, 1), (hello, 0)];
    for to in places {
        running.world.clock.jump(5);
        let before = running.head();
        running.led(to, None).await.unwrap();
        assert_eq!(running.head(), before + 1, "one request is one entry");
        assert_eq!(running.runs(&hook).await, to);
        let newest = running.world.folio.bindings(&app(), BindingKind::Newest).await.unwrap();
        let (created_at, updated_at, description) = match newest.as_slice() {
            [] => {
                let story = running.world.folio.story(to.0, &id("prod")).await.unwrap();
                (story.created_at, story.updated_at, story.description)
            }
            [one] => {
                let binding = one.binding.clone();
                (Some(binding.created_at), binding.updated_at, binding.description)
            }
            more => panic!("a name is there once: {more:?}"),
        };
        assert_eq!(created_at, made.created_at, "it is the same name");
        assert_eq!(updated_at, Some(running.world.folio.now()));
        assert_eq!(description.as_deref(), Some("first"), "and what was said of it is kept");
        running.led(to, None).await.unwrap();
        assert_eq!(running.head(), before + 1, "what leads there already is not moved");
    }
}

#[tokio::test]
async fn a_name_leads_anywhere_in_one_entry_in_memory() {
    a_name_leads_anywhere_in_one_entry(running().await).await;
}

#[tokio::test]
async fn a_name_leads_anywhere_in_one_entry_on_disk() {
    a_name_leads_anywhere_in_one_entry(running_on_disk().await).await;
}

async fn what_is_said_of_a_name_can_change_alone(running: Running) {
    let Functions { hello, .. } = running.functions().await;
    running.led((hello, 2), None).await.unwrap();
    let before = running.head();
    running.led((hello, 2), Some("second")).await.unwrap();
    let story = running.world.folio.story(hello, &id("prod")).await.unwrap();
    assert_eq!(story.description.as_deref(), Some("second"));
    running.led((hello, 2), Some("second")).await.unwrap();
    assert_eq!(running.head(), before + 1, "the same words again change nothing");
    let (folio, caller) = (&running.world.folio, &running.world.caller);
    let at = (&function("hello"), &id("prod"));
    let back = folio.roll_back(caller, at, None, Expect::Present).await.unwrap().result;
    assert_eq!(back.targets[0].number.get(), 1, "words are no move that could be rolled back");
}

#[tokio::test]
async fn what_is_said_of_a_name_can_change_alone_in_memory() {
    what_is_said_of_a_name_can_change_alone(running().await).await;
}

#[tokio::test]
async fn what_is_said_of_a_name_can_change_alone_on_disk() {
    what_is_said_of_a_name_can_change_alone(running_on_disk().await).await;
}

#[tokio::test]
async fn a_name_stays_with_a_function_that_something_finds_it_at() {
    let running = running().await;
    let Functions { hello, other } = running.functions().await;
    let hook =
        running.hook(&app(), BoundTo::FunctionAlias { unit: hello, alias: id("prod") }).await;
    let before = running.head();
    for to in [(other, 1), (hello, 0)] {
        let error = running.led(to, None).await.unwrap_err();
        assert_eq!((error.code().0, &*error.referrers()[0].kind), ("in_use", "webhook"));
    }
    assert_eq!(running.head(), before, "nothing was changed");
    running.led((hello, 2), None).await.unwrap();
    assert_eq!(running.runs(&hook).await, (hello, 2));
    assert_eq!(refused(running.led((hello, 9), None).await).0, "version_not_found");
    running.world.point("other", "later", "v1").await;
    let (caller, at) = (&running.world.caller, (&app(), &id("nobody")));
    let led = running.world.folio.lead(caller, at, (other, None), None).await;
    assert_eq!(refused(led).0, "alias_not_found");
}

#[tokio::test]
async fn followers_come_back_with_a_move_that_is_undone() {
    let running = running().await;
    let Functions { hello, other } = running.functions().await;
    let hook = running.hook(&app(), BoundTo::Alias(id("prod"))).await;
    for to in [(other, 1), (hello, 0)] {
        let from = running.runs(&hook).await;
        running.led(to, None).await.unwrap();
        let (folio, caller) = (&running.world.folio, &running.world.caller);
        let undone = folio.undo(caller, &app(), None).await;
        undone.unwrap_or_else(|error| panic!("{to:?}: {error}"));
        assert_eq!(running.runs(&hook).await, from);
    }
}

#[tokio::test]
async fn a_name_for_what_is_newest_is_kept_while_it_is_followed() {
    let running = running().await;
    let Functions { hello, .. } = running.functions().await;
    let (folio, caller) = (&running.world.folio, &running.world.caller);
    let to = BoundTo::Function { unit: hello, number: None };
    let (name, terms) = (Some("newest".to_owned()), NewTerms::Newest);
    let new = NewBinding { to, name, description: None, terms };
    let made = folio.bind(caller, &app(), new).await.unwrap();
    let hook = running.hook(&app(), BoundTo::Alias(id("newest"))).await;
    let at = (&app(), made.result.id);
    let error = folio.unbind(caller, at, BindingKind::Newest).await.unwrap_err();
    assert_eq!(error.code().0, "in_use");
    assert_eq!(error.referrers()[0].name, hook.id.to_string());
    assert!(folio.undo(caller, &app(), made.entry).await.is_err(), "nor can it be taken back");
    folio.unbind(caller, (&app(), hook.id), BindingKind::Webhook).await.unwrap();
    folio.unbind(caller, at, BindingKind::Newest).await.unwrap();
}

#[tokio::test]
async fn a_name_of_one_app_is_not_held_by_those_of_another() {
    let running = running().await;
    let Functions { .. } = running.functions().await;
    let (folio, caller) = (&running.world.folio, &running.world.caller);
    let shop: AppName = "shop".parse().unwrap();
    folio.create_app(caller, &shop).await.unwrap();
    let key = folio_model::UnitKey { app: shop.clone(), ..function("hello") };
    running.world.version(&key, "one", "v1").await;
    let unit = folio.show(&key).await.unwrap().uid;
    let (to, terms) = (BoundTo::Function { unit, number: None }, NewTerms::Newest);
    let new = NewBinding { to, name: Some("prod".to_owned()), description: None, terms };
    folio.bind(caller, &shop, new).await.unwrap();
    running.hook(&shop, BoundTo::Alias(id("prod"))).await;
    let at = (&function("hello"), &id("prod"));
    folio.delete_alias(caller, at, Expect::Present).await.unwrap();
}
