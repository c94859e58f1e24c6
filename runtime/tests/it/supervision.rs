//! Failures, restarts, intensity, deadlines.

use std::collections::BTreeMap;
use std::time::Duration;

use mailbox::{EnvelopeState, FailureKind, Policy, QuarantineCause};
use runtime::{ChildSpec, Limits};

use crate::support::{Bench, Deed, Helper, Over, SECOND, Worker, endless, keys, name, state};

/// Restarts that do not wait, so that a test need not move the clock for them.
fn at_once() -> Limits {
    Limits {
        backoff_base: Duration::ZERO,
        backoff_cap: Duration::ZERO,
        ..Limits::default()
    }
}

async fn an_actor_that_panics_on_its_third_message(over: Over) {
    let bench = Bench::over(over);
    let running = bench.worker().await;
    for (work, deed) in [
        ("one", Deed::Succeed),
        ("two", Deed::Succeed),
        ("three", Deed::Panic),
        ("four", Deed::Succeed),
        ("five", Deed::Succeed),
    ] {
        bench.tell("worker", work, deed).await;
    }
    let all_over = |overview: &runtime::Overview| {
        let worker = overview.actor("worker").unwrap();
        worker.quarantined == 1 && worker.unread == 0
    };
    let overview = bench.moving_until(&running, SECOND, all_over).await;

    assert_eq!(
        bench.script.count("worker three"),
        5,
        "its fifth attempt was the last"
    );
    for work in ["one", "two", "four", "five"] {
        assert_eq!(bench.script.count(&format!("worker {work}")), 1);
        assert_eq!(bench.outcome("worker", work).await, "worked");
    }
    let three = bench.envelope("worker", "three").await;
    assert_eq!(three.attempts, 5);
    let EnvelopeState::Quarantined { cause, reason, .. } = three.state else {
        panic!("{three:?}")
    };
    assert_eq!(cause, QuarantineCause::Attempts);
    assert!(reason.contains("as asked"), "{reason}");
    assert_eq!(keys(&overview), ["quarantine/worker"]);
    // The fifth restart may be still to come: what follows the last failure is a backoff.
    let overview = bench
        .moving_until(&running, SECOND, |o| o.actor("worker").unwrap().restarts == 5)
        .await;
    assert!(
        overview
            .actor("worker")
            .unwrap()
            .last_failure
            .as_ref()
            .unwrap()
            .contains("as asked")
    );
    bench.until_noted("start worker", 6).await;
    assert_eq!(running.drain(SECOND).await, runtime::Drained::default());
}

#[tokio::test]
async fn an_actor_that_panics_on_its_third_message_is_restarted_and_the_message_set_aside_in_memory() {
    an_actor_that_panics_on_its_third_message(Over::Memory).await;
}

#[tokio::test]
async fn an_actor_that_panics_on_its_third_message_is_restarted_and_the_message_set_aside_over_sled() {
    an_actor_that_panics_on_its_third_message(Over::Sled).await;
}

#[tokio::test]
async fn a_failure_that_is_explained_restarts_nobody() {
    let bench = Bench::new();
    let running = bench.worker().await;
    bench.tell("worker", "never", Deed::Reject).await;
    bench.tell("worker", "later", Deed::RetryAfterSeconds(7)).await;
    bench.tell("worker", "sooner", Deed::Retry).await;
    bench.tell("worker", "fine", Deed::Succeed).await;
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("worker", "never").await, "quarantined: never");
    assert_eq!(bench.outcome("worker", "fine").await, "worked");
    let EnvelopeState::Unread {
        not_before: Some(rests),
    } = bench.envelope("worker", "later").await.state
    else {
        panic!("it does not rest")
    };
    assert_eq!(rests, mailbox::Clock::now(&*bench.clock).after(7 * SECOND));
    let overview = running.overview().await.unwrap();
    assert_eq!(overview.actor("worker").unwrap().restarts, 0);
    assert_eq!(bench.script.count("start worker"), 1);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_message_that_cannot_be_read_goes_to_quarantine_with_its_bytes() {
    let bench = Bench::new();
    let running = bench.worker().await;
    let line = r#"{"ts":"2026-05-14T17:45:00Z","from":"old","intent":"work","msg_id":"old","nome":"x"}"#;
    let message = mailbox::Message::parse(line.as_bytes()).unwrap();
    bench
        .mailboxes
        .append(vec![mailbox::Draft::new(name("worker"), message)])
        .await
        .unwrap();
    running.until_quiet().await.unwrap();
    let outcome = bench.outcome("worker", "old").await;
    assert!(
        outcome.starts_with(r#"quarantined: the payload is none of "work": missing field"#),
        "{outcome}"
    );
    assert_eq!(bench.envelope("worker", "old").await.message.line(), line);
    assert_eq!(bench.script.count("start worker"), 1);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn an_error_without_explanation_and_a_missed_deadline_each_cost_an_attempt_and_a_restart() {
    let bench = Bench::new();
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let spec = ChildSpec::default()
        .policy(once)
        .limits(at_once())
        .deadline_of("work", 30 * SECOND);
    let running = bench.worker_as(spec).await;
    bench.tell("worker", "crash", Deed::Crash).await;
    bench.tell("worker", "hang", Deed::Hang).await;
    bench.tell("worker", "fine", Deed::Succeed).await;
    bench.until_noted("worker hang", 1).await;
    bench.clock.advance(31 * SECOND);
    bench
        .until(&running, |o| o.actor("worker").unwrap().unread == 0)
        .await;
    assert_eq!(bench.outcome("worker", "crash").await, "quarantined: unexplained");
    assert_eq!(
        bench.outcome("worker", "hang").await,
        "quarantined: no progress within 30 s"
    );
    assert_eq!(bench.outcome("worker", "fine").await, "worked");
    let kinds: Vec<_> = bench
        .mailboxes
        .history(&name("worker"), mailbox::Seq::FIRST..=mailbox::Seq(3))
        .await
        .unwrap()
        .into_iter()
        .flat_map(|(_, events)| events)
        .filter_map(|stamped| match stamped.event {
            mailbox::DeliveryEvent::Failed { kind, .. } => Some(kind),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [FailureKind::Error, FailureKind::Deadline]);
    assert_eq!(bench.script.count("start worker"), 3);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_long_handler_that_shows_progress_keeps_its_deadline_away() {
    let bench = Bench::new();
    let spec = ChildSpec::default().deadline(60 * SECOND);
    let running = bench.worker_as(spec).await;
    bench.tell("worker", "long", Deed::Progress).await;
    bench.until_noted("worker long", 1).await;
    for _ in 0..20 {
        bench.clock.advance(30 * SECOND);
        let shown = bench.script.progress();
        bench
            .until(&running, |_| bench.script.progress() > shown + 1)
            .await;
    }
    bench.script.gate.open();
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("worker", "long").await, "got there");
    running.drain(SECOND).await;
}

#[tokio::test]
async fn beyond_its_intensity_an_actor_is_down_until_it_has_cooled_off_and_stops_no_other() {
    let bench = Bench::new();
    // Messages that failed rest for longer than it takes to be down, so every failure is a first delivery.
    let rests = Policy {
        backoff_base: 300 * SECOND,
        backoff_cap: 300 * SECOND,
        ..Policy::default()
    };
    let running = bench
        .host()
        .child(ChildSpec::default().policy(rests), Worker::build(&bench.script))
        .actor(Helper::build(&bench.script))
        .start()
        .await
        .unwrap();
    for n in 0..6 {
        bench.tell("worker", &format!("bad {n}"), Deed::PanicOnce).await;
    }
    bench.tell("worker", "good", Deed::Succeed).await;
    let down = |o: &runtime::Overview| state(o, "worker") == "down";
    let overview = bench
        .moving_until(&running, Duration::from_millis(10), down)
        .await;
    assert_eq!(overview.actor("worker").unwrap().restarts, 5);
    assert!(keys(&overview).contains(&"down/worker"), "{overview:?}");

    // Its mailbox keeps filling, and the other one works.
    bench.tell("worker", "meanwhile", Deed::Succeed).await;
    bench.tell("helper", "own", Deed::Succeed).await;
    bench.until_noted("helper own", 1).await;
    assert_eq!(bench.script.count("worker meanwhile"), 0);
    assert_eq!(state(&running.overview().await.unwrap(), "worker"), "down");

    bench.clock.advance(600 * SECOND);
    bench
        .until(&running, |o| o.actor("worker").unwrap().unread == 0)
        .await;
    assert_eq!(bench.outcome("worker", "meanwhile").await, "worked");
    assert_eq!(bench.outcome("worker", "bad 0").await, "worked at last");
    let overview = bench.until(&running, |o| state(o, "worker") == "idle").await;
    assert_eq!(keys(&overview), Vec::<&str>::new());
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_message_that_kills_its_actor_again_and_again_does_not_take_it_down() {
    let bench = Bench::new();
    let often = Policy {
        max_attempts: 20,
        backoff_base: Duration::ZERO,
        ..Policy::default()
    };
    let spec = ChildSpec::default().policy(often).limits(at_once());
    let running = bench.worker_as(spec).await;
    bench.tell("worker", "killer", Deed::Panic).await;
    bench
        .until(&running, |o| o.actor("worker").unwrap().quarantined == 1)
        .await;
    assert_eq!(bench.script.count("worker killer"), 20);
    bench.tell("worker", "after", Deed::Succeed).await;
    bench.until_noted("worker after", 1).await;
    running.drain(SECOND).await;
}

/// Ten thousand messages to an actor that fails one time in ten and panics one in a hundred, and now and then to a
/// message that does so always.
async fn many_messages_to_an_actor_that_fails(over: Over) {
    const MESSAGES: u64 = 10_000;
    let bench = Bench::over(over);
    let running = bench.worker_as(endless()).await;
    let deed = |n: u64| match n % 200 {
        99 => Deed::Panic,
        199 => Deed::Retry,
        _ => Deed::Dice(n),
    };
    let works: Vec<_> = (0..MESSAGES).map(|n| (format!("m{n}"), deed(n))).collect();
    bench.tell_all("worker", works).await;

    let over = |o: &runtime::Overview| {
        assert_ne!(state(o, "worker"), "down");
        o.actor("worker").unwrap().unread == 0
    };
    let overview = bench.moving_until(&running, SECOND, over).await;
    running.drain(SECOND).await;

    // Every message ends acked or in quarantine, and is done once or never.
    let worker = bench.status("worker").await;
    assert_eq!(
        (worker.acked + worker.quarantined, worker.unread),
        (MESSAGES, 0),
        "{worker:?}"
    );
    assert!(worker.quarantined >= MESSAGES / 100, "{worker:?}");
    let mut done: BTreeMap<String, u64> = BTreeMap::new();
    let mut firsts = Vec::new();
    let mut deliveries: BTreeMap<String, u64> = BTreeMap::new();
    for line in bench.script.log() {
        if let Some(key) = line.strip_prefix("done worker/") {
            *done.entry(key.to_owned()).or_default() += 1;
        } else if let Some(work) = line.strip_prefix("worker ") {
            let times = deliveries.entry(work.to_owned()).or_default();
            *times += 1;
            if *times == 1 {
                firsts.push(work.to_owned());
            }
        }
    }
    assert_eq!(done.len() as u64, worker.acked);
    assert!(done.values().all(|times| *times == 1), "one was done twice");
    assert!(
        deliveries.values().all(|times| *times <= 5),
        "one was delivered a sixth time"
    );
    // First deliveries are in order, whatever fails in between.
    let in_order: Vec<_> = (0..MESSAGES).map(|n| format!("m{n}")).collect();
    assert!(firsts == in_order, "first deliveries are out of order");
    assert!(
        overview.actor("worker").unwrap().restarts >= MESSAGES / 100,
        "{overview:?}"
    );
}

#[tokio::test]
async fn of_many_messages_a_tenth_fails_some_panic_and_the_actor_is_never_down() {
    many_messages_to_an_actor_that_fails(Over::Memory).await;
}

/// The same on a disk takes half a minute and more: with `SWEEP_LONG` set.
#[tokio::test]
async fn of_many_messages_on_the_disk_a_tenth_fails_and_the_actor_is_never_down() {
    if std::env::var_os("SWEEP_LONG").is_none() {
        eprintln!("skipped: SWEEP_LONG is not set");
        return;
    }
    many_messages_to_an_actor_that_fails(Over::Sled).await;
}

#[tokio::test]
async fn a_start_that_fails_is_tried_again_and_then_the_actor_is_down() {
    let bench = Bench::new();
    bench.script.fail_starts("worker", 7);
    bench.tell("worker", "one", Deed::Succeed).await;
    let running = bench.worker().await;
    let down = |o: &runtime::Overview| state(o, "worker") == "down";
    let overview = bench
        .moving_until(&running, Duration::from_millis(10), down)
        .await;
    let worker = overview.actor("worker").unwrap();
    assert_eq!((worker.restarts, worker.unread), (5, 1));
    assert_eq!(worker.last_failure.as_deref(), Some("cannot start: no luck"));
    assert_eq!(bench.script.count("start worker"), 6);
    assert_eq!(
        bench.envelope("worker", "one").await.attempts,
        0,
        "no message pays for that"
    );
    // After its cool-off it is tried once, and is down again at once.
    bench.clock.advance(600 * SECOND);
    bench.until_noted("start worker", 7).await;
    bench.until(&running, down).await;
    bench.clock.advance(599 * SECOND);
    bench.until(&running, down).await;
    assert_eq!(bench.script.count("start worker"), 7);
    bench.clock.advance(SECOND);
    bench
        .until(&running, |o| o.actor("worker").unwrap().unread == 0)
        .await;
    assert_eq!(bench.script.count("start worker"), 8);
    running.drain(SECOND).await;
}

/// An actor that fails again at once after its cool-off costs one more message an attempt, and not six.
#[tokio::test]
async fn an_actor_that_fails_at_once_after_its_cool_off_is_down_again_at_once() {
    let bench = Bench::new();
    let rests = Policy {
        backoff_base: 300_000 * SECOND,
        backoff_cap: 300_000 * SECOND,
        ..Policy::default()
    };
    let running = bench
        .host()
        .child(endless().policy(rests), Worker::build(&bench.script))
        .start()
        .await
        .unwrap();
    for n in 0..20 {
        bench.tell("worker", &format!("bad {n}"), Deed::Panic).await;
    }
    let down = |o: &runtime::Overview| state(o, "worker") == "down";
    bench
        .moving_until(&running, Duration::from_millis(10), down)
        .await;
    let tried = || {
        let log = bench.script.log();
        log.into_iter()
            .filter(|line| line.starts_with("worker bad"))
            .count()
    };
    assert_eq!(tried(), 6);
    for more in 1..4 {
        bench.clock.advance(600 * SECOND);
        bench.until(&running, |o| down(o) && tried() == 6 + more).await;
    }
    running.drain(SECOND).await;
}

#[tokio::test]
async fn handlers_that_block_their_threads_do_not_freeze_the_supervisor() {
    let bench = Bench::new();
    let spec = ChildSpec::default()
        .wip(3)
        .deadline(10 * SECOND)
        .limits(at_once());
    let running = bench
        .host()
        .child(spec, Worker::build(&bench.script))
        .actor(Helper::build(&bench.script))
        .start()
        .await
        .unwrap();
    for n in 0..3 {
        bench.tell("worker", &format!("block {n}"), Deed::Block).await;
        bench.until_noted(&format!("worker block {n}"), 1).await;
    }
    let stalled = |o: &runtime::Overview| state(o, "worker") == "stalled";
    let overview = bench.moving_until(&running, SECOND, stalled).await;
    assert!(keys(&overview).contains(&"stalled/worker"), "{overview:?}");
    // Their deliveries are failed though they run, and the other actor works.
    bench.tell("helper", "own", Deed::Succeed).await;
    bench.until_noted("helper own", 1).await;
    let starts = bench.script.count("start worker");
    bench.clock.advance(60 * SECOND);
    bench.until(&running, |o| state(o, "worker") == "stalled").await;
    assert_eq!(
        bench.script.count("start worker"),
        starts,
        "no successor until it ends"
    );
    assert_eq!(bench.envelope("worker", "block 0").await.attempts, 1);

    bench.script.gate.open();
    bench
        .moving_until(&running, SECOND, |o| o.actor("worker").unwrap().unread == 0)
        .await;
    assert_eq!(bench.outcome("worker", "block 0").await, "unblocked");
    assert_eq!(bench.envelope("worker", "block 0").await.attempts, 2);
    bench
        .until(&running, |o| !keys(o).contains(&"stalled/worker"))
        .await;
    running.drain(SECOND).await;
}

#[tokio::test]
async fn an_actor_that_waits_gives_its_attempt_back_and_takes_nothing_until_then() {
    let bench = Bench::new();
    let running = bench.worker().await;
    bench.tell("worker", "dry", Deed::WaitSeconds(100)).await;
    let waiting = |o: &runtime::Overview| state(o, "worker") == "waiting";
    let overview = bench.until(&running, waiting).await;
    assert_eq!(
        overview.actor("worker").unwrap().last_failure.as_deref(),
        Some("the well is dry")
    );
    assert_eq!(bench.envelope("worker", "dry").await.attempts, 0);
    bench.tell("worker", "behind", Deed::Succeed).await;
    // Quiet: whoever waits could do nothing now.
    running.until_quiet().await.unwrap();
    assert_eq!(bench.script.count("worker behind"), 0);

    bench.script.gate.open();
    bench.clock.advance(100 * SECOND);
    bench
        .until(&running, |o| o.actor("worker").unwrap().unread == 0)
        .await;
    assert_eq!(bench.outcome("worker", "dry").await, "waited");
    assert_eq!(bench.envelope("worker", "dry").await.attempts, 1);
    assert_eq!(bench.script.count("start worker"), 1);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn with_a_wip_of_two_two_messages_are_in_hand() {
    let bench = Bench::new();
    let running = bench
        .host()
        .child(ChildSpec::default().wip(2), Worker::build(&bench.script))
        .start()
        .await
        .unwrap();
    bench.tell("worker", "a", Deed::Await).await;
    bench.tell("worker", "b", Deed::Await).await;
    bench.tell("worker", "c", Deed::Succeed).await;
    bench.until_noted("worker a", 1).await;
    bench.until_noted("worker b", 1).await;
    assert_eq!(bench.status("worker").await.leased, 2);
    assert_eq!(bench.script.count("worker c"), 0);
    bench.script.gate.open();
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("worker", "c").await, "worked");
    running.drain(SECOND).await;
}

#[tokio::test]
async fn with_a_wip_of_two_one_subject_is_in_hand_once() {
    let bench = Bench::new();
    let spec = ChildSpec::default().wip(2);
    let host = bench.host().child(spec, Worker::build(&bench.script));
    let running = host.start().await.unwrap();
    bench.tell_about("worker", "a 1", "a", Deed::Await).await;
    bench.until_noted("worker a 1", 1).await;
    bench.tell_about("worker", "a 2", "a", Deed::Succeed).await;
    bench.tell_about("worker", "a 3", "a", Deed::Succeed).await;
    bench.tell_about("worker", "b 1", "b", Deed::Succeed).await;
    bench.until_noted("worker b 1", 1).await;
    assert_eq!(bench.script.count("worker a 3"), 0, "its subject is in hand");
    bench.script.gate.open();
    running.until_quiet().await.unwrap();
    let outcomes = [
        bench.outcome("worker", "a 1").await,
        bench.outcome("worker", "a 2").await,
        bench.outcome("worker", "a 3").await,
    ];
    assert_eq!(outcomes, ["let through", "superseded", "worked"]);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn it_is_quiet_when_only_what_failed_is_left() {
    let bench = Bench::new();
    // The actor rests longer than its message.
    let slow = Limits {
        backoff_base: 100 * SECOND,
        backoff_cap: 100 * SECOND,
        ..Limits::default()
    };
    let running = bench
        .host()
        .child(endless().limits(slow), Worker::build(&bench.script))
        .child(endless(), Helper::build(&bench.script))
        .start()
        .await
        .unwrap();
    bench.tell("helper", "busy", Deed::Await).await;
    bench.tell("worker", "bad", Deed::Crash).await;
    let meanwhile = async {
        bench
            .until(&running, |o| state(o, "worker") == "backing off")
            .await;
        // The message could be taken again now, and there is nobody who could.
        bench.clock.advance(2 * SECOND);
        bench.script.gate.open();
    };
    let (quiet, ()) = tokio::join!(running.until_quiet(), meanwhile);
    assert!(quiet.unwrap().is_empty());
    assert_eq!(bench.outcome("helper", "busy").await, "let through");
    assert_eq!(bench.script.count("worker bad"), 1);
    assert_eq!(bench.status("worker").await.unread, 1);
    running.drain(SECOND).await;
}
