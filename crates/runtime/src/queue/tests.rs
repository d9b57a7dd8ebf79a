use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;

fn queue() -> Queue<&'static str> {
    let queue = Queue::new(Backoff::default(), None);
    queue.open();
    queue
}

async fn within(queue: &Queue<&'static str>, wait: Duration) -> Option<&'static str> {
    tokio::time::timeout(wait, queue.next()).await.ok().flatten()
}

const NOW: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_key_added_many_times_is_worked_on_once() {
    let queue = queue();
    for _ in 0..5 {
        queue.add(&"a", Trigger::Changed);
    }
    assert_eq!(queue.next().await, Some("a"));
    queue.done(&"a", Done::Settled);
    assert_eq!(within(&queue, Duration::from_hours(1)).await, None);
}

#[tokio::test(start_paused = true)]
async fn news_during_work_bring_one_more_turn_after_it() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    assert_eq!(queue.next().await, Some("a"));
    queue.add(&"a", Trigger::Related);
    queue.add(&"a", Trigger::Related);
    assert_eq!(within(&queue, NOW).await, None, "nobody else gets it meanwhile");
    queue.done(&"a", Done::Settled);
    assert_eq!(within(&queue, NOW).await, Some("a"));
    queue.done(&"a", Done::Settled);
    assert_eq!(within(&queue, Duration::from_hours(1)).await, None);
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_and_longer_and_are_never_forgotten() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let asked = Instant::now();
        assert_eq!(queue.next().await, Some("a"));
        waits.push(asked.elapsed().as_secs());
        queue.done(&"a", Done::Failed);
    }
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 300, 300]);
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_api_server_never_brings_the_slow_pace() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let asked = Instant::now();
        assert_eq!(queue.next().await, Some("a"));
        waits.push(asked.elapsed().as_secs());
        queue.done(&"a", Done::Unreached);
    }
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 16, 16]);
}

#[tokio::test(start_paused = true)]
async fn another_object_of_the_name_of_one_that_failed_for_good_starts_afresh() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    assert_eq!(queue.next().await, Some("a"));
    queue.done(&"a", Done::Parked);
    queue.add(&"a", Trigger::Resync);
    assert_eq!(within(&queue, NOW).await, None);
    queue.forget(&"a");
    queue.add(&"a", Trigger::Resync);
    assert_eq!(within(&queue, NOW).await, Some("a"));
    assert_eq!(queue.failures(&"a"), 0);
}

#[tokio::test(start_paused = true)]
async fn only_a_change_of_the_object_cuts_its_backoff_short() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    for _ in 0..3 {
        assert_eq!(queue.next().await, Some("a"));
        queue.done(&"a", Done::Failed);
    }
    queue.add(&"a", Trigger::Related);
    queue.add(&"a", Trigger::Resync);
    assert_eq!(within(&queue, Duration::from_millis(3900)).await, None);
    queue.add(&"a", Trigger::Changed);
    assert_eq!(within(&queue, NOW).await, Some("a"));
    assert_eq!(queue.failures(&"a"), 0, "a changed object starts afresh");
}

#[tokio::test(start_paused = true)]
async fn news_of_a_child_hurry_what_is_at_the_slow_pace_to_the_last_quick_one() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    for _ in 0..6 {
        assert_eq!(queue.next().await, Some("a"));
        queue.done(&"a", Done::Failed);
    }
    queue.add(&"a", Trigger::Related);
    assert_eq!(within(&queue, Duration::from_secs(15)).await, None);
    assert_eq!(within(&queue, Duration::from_secs(2)).await, Some("a"));
    assert_eq!(queue.failures(&"a"), 6);
}

#[tokio::test(start_paused = true)]
async fn what_failed_for_good_waits_for_a_change_of_the_object() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    assert_eq!(queue.next().await, Some("a"));
    queue.done(&"a", Done::Parked);
    queue.add(&"a", Trigger::Related);
    queue.add(&"a", Trigger::Resync);
    assert_eq!(within(&queue, Duration::from_hours(24)).await, None);
    assert_eq!(queue.snapshot().parked, ["a"]);
    queue.add(&"a", Trigger::Changed);
    assert_eq!(within(&queue, NOW).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_failing_turn_is_not_lost() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    assert_eq!(queue.next().await, Some("a"));
    queue.add(&"a", Trigger::Changed);
    queue.done(&"a", Done::Parked);
    assert_eq!(within(&queue, NOW).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_look_again_is_kept_and_news_come_first() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    assert_eq!(queue.next().await, Some("a"));
    queue.done(&"a", Done::After(Duration::from_secs(30)));
    assert_eq!(within(&queue, Duration::from_secs(29)).await, None);
    queue.add(&"a", Trigger::Related);
    assert_eq!(within(&queue, NOW).await, Some("a"));
    queue.done(&"a", Done::After(Duration::from_secs(30)));
    assert_eq!(within(&queue, Duration::from_secs(31)).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn changes_overtake_the_first_list_without_starving_it() {
    let queue: Queue<String> = Queue::new(Backoff::default(), None);
    queue.open();
    for number in 0..20 {
        queue.add(&format!("old-{number}"), Trigger::Resync);
    }
    for number in 0..20 {
        queue.add(&format!("new-{number}"), Trigger::Changed);
    }
    let mut order = Vec::new();
    for _ in 0..16 {
        order.push(queue.next().await.unwrap());
    }
    assert_eq!(order.iter().filter(|key| key.starts_with("old")).count(), 2);
    assert!(order[0].starts_with("new"));
}

#[tokio::test(start_paused = true)]
async fn a_follower_takes_nothing_and_forgets_what_waited() {
    let queue = queue();
    queue.add(&"a", Trigger::Changed);
    queue.add(&"b", Trigger::Changed);
    assert_eq!(queue.next().await, Some("a"));
    queue.shut();
    queue.add(&"c", Trigger::Changed);
    queue.done(&"a", Done::Failed);
    assert_eq!(within(&queue, Duration::from_hours(1)).await, None);
    queue.open();
    queue.add(&"a", Trigger::Resync);
    assert_eq!(within(&queue, NOW).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn closing_wakes_every_worker() {
    let queue = queue();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for worker in workers {
        assert_eq!(worker.await.unwrap(), None);
    }
}

struct Counted(Arc<[AtomicUsize; 4]>);

impl QueueObserver for Counted {
    fn depth(&self, depth: usize) {
        self.0[0].store(depth, Ordering::SeqCst);
    }
    fn processing(&self, processing: usize) {
        self.0[3].store(processing, Ordering::SeqCst);
    }
    fn added(&self) {
        self.0[1].fetch_add(1, Ordering::SeqCst);
    }
    fn retried(&self) {
        self.0[2].fetch_add(1, Ordering::SeqCst);
    }
    fn waited(&self, _: Duration) {}
}

#[tokio::test(start_paused = true)]
async fn depth_adds_and_retries_are_told() {
    let counts = Arc::new([const { AtomicUsize::new(0) }; 4]);
    let queue = Queue::new(Backoff::default(), Some(Box::new(Counted(Arc::clone(&counts)))));
    queue.open();
    queue.add(&"a", Trigger::Changed);
    queue.add(&"b", Trigger::Changed);
    queue.add(&"b", Trigger::Changed);
    assert_eq!(counts[0].load(Ordering::SeqCst), 2);
    queue.next().await;
    assert_eq!(counts[3].load(Ordering::SeqCst), 1);
    queue.done(&"a", Done::Failed);
    let seen: Vec<_> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    assert_eq!(seen, [1, 2, 1, 0]);
}

#[derive(Debug, Clone)]
enum Step {
    Add(u8, Trigger),
    Take,
    Finish(Done),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let trigger = prop_oneof![Just(Trigger::Resync), Just(Trigger::Related), Just(Trigger::Changed)];
    let done = prop_oneof![
        Just(Done::Settled),
        Just(Done::After(Duration::from_secs(7))),
        Just(Done::Again),
        Just(Done::Failed),
        Just(Done::Parked),
    ];
    prop_oneof![
        (0_u8..4, trigger).prop_map(|(key, trigger)| Step::Add(key, trigger)),
        Just(Step::Take),
        done.prop_map(Step::Finish),
        (0_u64..400).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever happens in whatever order: no key is with two workers, a change is always followed by a
    /// turn that began after it, and the queue's own books agree.
    #[test]
    fn no_key_is_doubled_and_no_change_is_lost(steps in proptest::collection::vec(step(), 1..200)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let queue: Queue<u8> = Queue::new(Backoff::default(), None);
            queue.open();
            let mut held: Vec<u8> = Vec::new();
            let mut changed: HashSet<u8> = HashSet::new();
            for step in steps {
                match step {
                    Step::Add(key, trigger) => {
                        queue.add(&key, trigger);
                        if trigger == Trigger::Changed {
                            changed.insert(key);
                        }
                    }
                    Step::Take => {
                        if let Ok(Some(key)) = tokio::time::timeout(NOW, queue.next()).await {
                            assert!(!held.contains(&key), "{key} is with two workers");
                            changed.remove(&key);
                            held.push(key);
                        }
                    }
                    Step::Finish(done) => {
                        if let Some(key) = held.pop() {
                            queue.done(&key, done);
                        }
                    }
                    Step::Wait(seconds) => tokio::time::advance(Duration::from_secs(seconds)).await,
                }
            }
            while let Some(key) = held.pop() {
                queue.done(&key, Done::Settled);
            }
            while let Ok(Some(key)) = tokio::time::timeout(NOW, queue.next()).await {
                changed.remove(&key);
                queue.done(&key, Done::Settled);
            }
            assert!(changed.is_empty(), "changes without a turn: {changed:?}");
        });
    }
}
