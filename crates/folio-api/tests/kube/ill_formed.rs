//! Conditions, selectors and metadata that are not formed as they should be: each is refused, since what is not
//! understood cannot be obeyed, and nothing is changed.

use super::*;

#[tokio::test]
async fn an_archive_in_a_manifest_is_as_small_as_in_a_spec() {
    let world = World::memory().await;
    let packages = format!("{FISSION}/packages");
    let most = "x".repeat(256 * 1024);
    ask(&world, "POST", &packages, package("most", &most)).await.ok();
    let entries = world.entries();
    for (method, path) in [("POST", packages.clone()), ("PUT", format!("{packages}/most"))] {
        let name = if method == "POST" { "more" } else { "most" };
        let answer = ask(&world, method, &path, package(name, &format!("{most}x"))).await;
        let refused = answer.refused(422, "Invalid");
        let cause = &refused["details"]["causes"][0];
        assert_eq!(cause["field"], "spec.deployment.literal", "{refused:#}");
    }
    assert_eq!(world.entries(), entries);
}
