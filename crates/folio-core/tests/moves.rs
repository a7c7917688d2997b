//! Moves of pointers: who moved a tag where, when and why, and what becomes of live when several move it at once.

use folio_core::moves::{Error, TagMove, TagName};
use folio_core::release::ReleaseRef;
use folio_core::request::Releasing;
use folio_core::{Caller, Explain as _};

use crate::runtime::{reference, running, running_on_disk};
use crate::world::{World, app, function, refused, request};

impl World {
    async fn told(&self, tag: &TagName) -> Result<Vec<TagMove>, Error> {
        self.folio.tag_moves(&app(), tag).await
    }

    fn because(&self, reason: &str) -> Caller {
        Caller { reason: Some(reason.to_owned()), ..self.caller.clone() }
    }
}

/// Moves as `r1 -> r2 (why)`, with who and when checked on the way.
fn words(moves: &[TagMove]) -> Vec<String> {
    let mut before = u64::MAX;
    let word = |step: &TagMove| {
        assert!(step.entry < before, "newest first");
        before = step.entry;
        assert_eq!(step.by.as_str(), "ada");
        let reason = step.reason.as_deref().unwrap_or("-");
        format!("{} -> {} ({reason})", step.from.join(","), step.to.join(","))
    };
    moves.iter().map(word).collect()
}

#[tokio::test]
async fn every_move_of_a_release_tag_is_told_also_after_it_is_gone() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let mut made = Vec::new();
        for version in ["v1", "v2"] {
            world.version(&function("hello"), version, version).await;
            let view = world.folio.show_release(&app(), &ReleaseRef::Latest).await.unwrap();
            made.push(view.label.id);
        }
        let beta: folio_model::ReleaseId = "beta".parse().unwrap();
        for (release, why) in made.iter().zip(["try it", "better"]) {
            let on = release.as_str().parse().unwrap();
            let tag = (&app(), &beta);
            world.folio.tag_release(&world.because(why), tag, &on, None).await.unwrap();
        }
        world.folio.untag_release(&world.caller, &app(), &beta).await.unwrap();
        let told = world.told(&TagName::Release(beta)).await.unwrap();
        let [one, two] = &made[..] else { panic!("two were made") };
        let expected = [
            format!("{two} ->  (-)"),
            format!("{one} -> {two} (better)"),
            format!(" -> {one} (try it)"),
        ];
        assert_eq!(words(&told), expected);
        assert_eq!(told[0].message, format!("remove tag beta from release {two}"));
        let never = TagName::Release("gamma".parse().unwrap());
        assert_eq!(refused(world.told(&never).await).0, "release_tag_not_found");
    }
}

#[tokio::test]
async fn every_move_of_a_function_tag_is_told_with_its_members() {
    let running = running().await;
    let world = &running.world;
    for name in ["hello", "other"] {
        world.version(&function(name), "one", "v1").await;
        world.version(&function(name), "two", "v2").await;
    }
    let name: folio_model::VersionId = "stable".parse().unwrap();
    let tag = (&app(), &name);
    let add = |members: &[&str], why: &str| {
        let members = members.iter().map(|member| reference(member)).collect();
        let caller = world.because(why);
        async move { world.folio.tag(&caller, tag, members, None).await.unwrap() }
    };
    add(&["hello@v1", "other@v1"], "first").await;
    add(&["hello@v2"], "newer").await;
    let told = world.told(&TagName::Functions(name.clone())).await.unwrap();
    let expected =
        ["hello@v1,other@v1 -> hello@v2,other@v1 (newer)", " -> hello@v1,other@v1 (first)"];
    assert_eq!(words(&told), expected);
    let error = world.told(&TagName::Functions("stabel".parse().unwrap())).await.unwrap_err();
    assert_eq!(error.code().0, "tag_not_found");
    assert_eq!(error.hint().as_deref(), Some("did you mean `stable`?"));
}

#[tokio::test]
async fn two_releasing_deploys_at_the_same_moment_both_succeed_and_the_later_is_live() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        world.version(&function("hello"), "zero", "v0").await;
        let code = (world.code("one").await, world.code("two").await);
        let caller = Caller { releasing: Releasing::Release, ..world.caller.clone() };
        let (hello, other) = (function("hello"), function("other"));
        let (one, two) = tokio::join!(
            world.folio.publish(&caller, &hello, request(code.0)),
            world.folio.publish(&caller, &other, request(code.1)),
        );
        let mut made = [one.unwrap(), two.unwrap()].map(|done| (done.entry, done.release.unwrap()));
        made.sort_by_key(|(entry, _)| *entry);
        let [(_, earlier), (_, later)] = made;
        let history = world.folio.live_history(&app()).await.unwrap();
        let live = |shares: &[folio_model::LiveShare]| shares[0].release.clone();
        // One line: each begins where the one before it ended.
        assert_eq!((live(&history[0].from), live(&history[0].to)), (earlier.id.clone(), later.id));
        assert_eq!(live(&history[1].to), earlier.id);
        let versions = world.folio.app_versions(&app(), None, usize::MAX).await.unwrap();
        let newest = world.folio.show_release(&app(), &ReleaseRef::Live).await.unwrap();
        assert_eq!(newest.shows, versions[0].version.id);
        assert!(newest.label.latest);
        for function in ["hello", "other"] {
            running.answers(function).await.unwrap();
        }
    }
}
