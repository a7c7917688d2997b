//! What every queue must do. Each fact uses a topic of its own, so they may share one queue.

use std::time::Duration;

use folio_core::ports::{Lease, Queue, Task};
use folio_model::Timestamp;
use futures::future::join_all;
use serde_json::json;
use uuid::Uuid;

/// Runs every fact.
pub async fn all(queue: &dyn Queue) {
    a_task_is_leased_once_and_done(queue).await;
    a_name_waits_once(queue).await;
    nothing_is_leased_before_it_is_due(queue).await;
    the_longest_due_comes_first(queue).await;
    topics_do_not_mix(queue).await;
    a_lease_that_ends_passes_the_task_on(queue).await;
    a_task_can_be_given_back(queue).await;
    the_next_due_moment_follows_tasks_and_leases(queue).await;
    a_push_wakes_whoever_waits(queue).await;
    every_task_goes_to_exactly_one_of_many_workers(queue).await;
    a_task_can_be_claimed_by_name_before_it_is_due(queue).await;
    a_task_is_replaced_by_others_all_or_nothing(queue).await;
    a_replacement_wakes_whoever_waits(queue).await;
}

const LEASE: Duration = Duration::from_secs(30);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("within range")
}

fn topic() -> String {
    Uuid::new_v4().to_string()
}

fn task(topic: &str, name: &str, due: i64) -> Task {
    let (name, topic) = (format!("{topic}/{name}"), topic.to_owned());
    Task { name, topic, body: json!({"n": due}), due: at(due) }
}

async fn push(queue: &dyn Queue, task: Task) -> bool {
    queue.push(task).await.expect("pushing works")
}

async fn lease(queue: &dyn Queue, topic: &str, now: i64) -> Option<Lease> {
    queue.lease(topic, at(now), LEASE).await.expect("leasing works")
}

async fn done(queue: &dyn Queue, lease: &Lease) -> bool {
    queue.done(lease.token).await.expect("finishing works")
}

/// A leased task is nobody else's, and gone when it is done.
pub async fn a_task_is_leased_once_and_done(queue: &dyn Queue) {
    let topic = topic();
    let task = task(&topic, "one", 10);
    assert!(push(queue, task.clone()).await);
    let held = lease(queue, &topic, 10).await.expect("it is due");
    assert_eq!((&held.task, held.attempt), (&task, 1));
    assert_eq!(lease(queue, &topic, 10).await, None);
    assert_eq!(queue.peek(&task.name).await.expect("looking works"), Some(task.clone()));
    assert!(done(queue, &held).await);
    assert_eq!(queue.peek(&task.name).await.expect("looking works"), None);
    assert!(!done(queue, &held).await);
    assert_eq!(lease(queue, &topic, 1_000).await, None);
}

/// A name that waits or is leased cannot be pushed; one that is done can.
pub async fn a_name_waits_once(queue: &dyn Queue) {
    let topic = topic();
    assert!(push(queue, task(&topic, "one", 10)).await);
    assert!(!push(queue, task(&topic, "one", 5)).await);
    let held = lease(queue, &topic, 10).await.expect("it is due");
    assert_eq!(held.task.due, at(10));
    assert!(!push(queue, task(&topic, "one", 5)).await);
    assert!(done(queue, &held).await);
    assert!(push(queue, task(&topic, "one", 5)).await);
}

/// A task waits for its moment.
pub async fn nothing_is_leased_before_it_is_due(queue: &dyn Queue) {
    let topic = topic();
    push(queue, task(&topic, "one", 10)).await;
    assert_eq!(lease(queue, &topic, 9).await, None);
    assert!(lease(queue, &topic, 10).await.is_some());
}

/// Tasks are leased in the order they are due, then in the order they came.
pub async fn the_longest_due_comes_first(queue: &dyn Queue) {
    let topic = topic();
    for (name, due) in [("late", 30), ("z", 20), ("a", 20), ("early", 10)] {
        push(queue, task(&topic, name, due)).await;
    }
    let mut names = Vec::new();
    while let Some(held) = lease(queue, &topic, 40).await {
        names.push(held.task.name.rsplit('/').next().unwrap_or_default().to_owned());
    }
    assert_eq!(names, ["early", "z", "a", "late"]);
}

/// Workers see their own topic only.
pub async fn topics_do_not_mix(queue: &dyn Queue) {
    let (mine, other) = (topic(), topic());
    push(queue, task(&mine, "one", 10)).await;
    assert_eq!(lease(queue, &other, 10).await, None);
    assert!(lease(queue, &mine, 10).await.is_some());
}

/// When a lease ends, the next worker gets the task, and the first one's word no longer counts.
pub async fn a_lease_that_ends_passes_the_task_on(queue: &dyn Queue) {
    let topic = topic();
    push(queue, task(&topic, "one", 10)).await;
    let first = lease(queue, &topic, 10).await.expect("it is due");
    assert_eq!(lease(queue, &topic, 39).await, None);
    let second = lease(queue, &topic, 40).await.expect("the lease ended");
    assert_eq!((second.attempt, &second.task), (2, &first.task));
    assert!(!done(queue, &first).await);
    assert!(!queue.retry(first.token, at(50)).await.expect("giving back works"));
    assert!(done(queue, &second).await);
}

/// A task given back is leased again from its new moment on.
pub async fn a_task_can_be_given_back(queue: &dyn Queue) {
    let topic = topic();
    push(queue, task(&topic, "one", 10)).await;
    let first = lease(queue, &topic, 10).await.expect("it is due");
    assert!(queue.retry(first.token, at(15)).await.expect("giving back works"));
    assert!(!done(queue, &first).await);
    assert_eq!(lease(queue, &topic, 14).await, None);
    let second = lease(queue, &topic, 15).await.expect("it is due again");
    assert_eq!((second.attempt, second.task.due), (2, at(15)));
}

/// The next moment is when a task is due or the lease on it ends, whichever is later, of the first of all.
pub async fn the_next_due_moment_follows_tasks_and_leases(queue: &dyn Queue) {
    let topic = topic();
    let next = || async { queue.next_due(&topic).await.expect("asking works") };
    assert_eq!(next().await, None);
    push(queue, task(&topic, "one", 20)).await;
    push(queue, task(&topic, "two", 10)).await;
    assert_eq!(next().await, Some(at(10)));
    let held = lease(queue, &topic, 15).await.expect("it is due");
    assert_eq!(next().await, Some(at(20)));
    let other = lease(queue, &topic, 21).await.expect("it is due");
    assert_eq!(next().await, Some(at(45)));
    assert!(done(queue, &held).await);
    assert_eq!(next().await, Some(at(51)));
    assert!(queue.retry(other.token, at(30)).await.expect("giving back works"));
    assert_eq!(next().await, Some(at(30)));
}

/// Pushing and giving back are told; what changed nothing is not.
pub async fn a_push_wakes_whoever_waits(queue: &dyn Queue) {
    let topic = topic();
    let mut pushed = queue.pushed();
    let mut heard = || {
        let heard = pushed.has_changed().expect("the queue lives");
        pushed.mark_unchanged();
        heard
    };
    heard();
    push(queue, task(&topic, "one", 10)).await;
    assert!(heard());
    push(queue, task(&topic, "one", 10)).await;
    let held = lease(queue, &topic, 10).await.expect("it is due");
    assert!(!heard());
    assert!(queue.retry(held.token, at(10)).await.expect("giving back works"));
    assert!(heard());
    assert!(!queue.retry(held.token, at(10)).await.expect("giving back works"));
    assert!(!heard());
}

/// However many workers ask at once, each task goes to one.
pub async fn every_task_goes_to_exactly_one_of_many_workers(queue: &dyn Queue) {
    let topic = topic();
    let pushes = (0..32).map(|n| push(queue, task(&topic, &n.to_string(), 10)));
    assert_eq!(join_all(pushes).await, [true; 32]);
    let leases = join_all((0..64).map(|_| lease(queue, &topic, 10))).await;
    let mut names: Vec<_> = leases.into_iter().flatten().map(|held| held.task.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 32);
}

/// A claim needs the name and no due moment; it holds like any lease, and does not move the due moment.
pub async fn a_task_can_be_claimed_by_name_before_it_is_due(queue: &dyn Queue) {
    let topic = topic();
    let task = task(&topic, "one", 100);
    push(queue, task.clone()).await;
    let claim = async |now: i64| queue.claim(&task.name, at(now), LEASE).await.expect("it works");
    assert_eq!(queue.claim("nobody", at(10), LEASE).await.expect("it works"), None);
    let first = claim(10).await.expect("it is free");
    assert_eq!((&first.task, first.attempt), (&task, 1));
    assert_eq!(claim(39).await, None);
    let second = claim(40).await.expect("the lease ended");
    assert!(!done(queue, &first).await);
    assert!(queue.retry(second.token, at(100)).await.expect("giving back works"));
    assert_eq!(lease(queue, &topic, 99).await, None);
    let third = lease(queue, &topic, 100).await.expect("it is due");
    assert_eq!(claim(101).await, None);
    assert!(done(queue, &third).await);
    assert_eq!(claim(101).await, None);
}

/// Whoever holds a task can put others in its place, also one of the same name; whoever held it cannot.
pub async fn a_task_is_replaced_by_others_all_or_nothing(queue: &dyn Queue) {
    let topic = topic();
    push(queue, task(&topic, "one", 10)).await;
    push(queue, task(&topic, "taken", 90)).await;
    let late = lease(queue, &topic, 10).await.expect("it is due");
    let held = lease(queue, &topic, 40).await.expect("the lease ended");
    let next = || vec![task(&topic, "one", 50), task(&topic, "two", 50), task(&topic, "taken", 50)];
    assert!(!queue.replace(late.token, next()).await.expect("replacing works"));
    assert_eq!(lease(queue, &topic, 50).await, None, "nothing was added");
    assert!(queue.replace(held.token, next()).await.expect("replacing works"));
    assert!(!queue.replace(held.token, next()).await.expect("replacing works"));
    let mut found = Vec::new();
    while let Some(held) = lease(queue, &topic, 60).await {
        found.push((held.task.name.clone(), held.attempt));
        assert!(done(queue, &held).await);
    }
    assert_eq!(found, [(format!("{topic}/one"), 1), (format!("{topic}/two"), 1)]);
    let held = lease(queue, &topic, 90).await.expect("what waited is as it was");
    assert!(queue.replace(held.token, Vec::new()).await.expect("replacing works"));
    assert_eq!(queue.next_due(&topic).await.expect("asking works"), None);
}

/// A replacement is told, one that changed nothing is not.
pub async fn a_replacement_wakes_whoever_waits(queue: &dyn Queue) {
    let topic = topic();
    push(queue, task(&topic, "one", 10)).await;
    let held = lease(queue, &topic, 10).await.expect("it is due");
    let mut pushed = queue.pushed();
    pushed.mark_unchanged();
    assert!(queue.replace(held.token, vec![task(&topic, "two", 20)]).await.expect("it works"));
    assert!(pushed.has_changed().expect("the queue lives"));
    pushed.mark_unchanged();
    assert!(!queue.replace(held.token, vec![task(&topic, "three", 20)]).await.expect("it works"));
    assert!(!pushed.has_changed().expect("the queue lives"));
}
