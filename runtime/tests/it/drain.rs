//! Order of start and stop, and what a drain hands back.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use mailbox::EnvelopeState;

use runtime::Drained;

use crate::support::{Bench, Deed, Helper, SECOND, Third, Worker, endless, name};

/// Begins a drain without waiting for its end: from its first poll on nobody takes anything.
pub async fn begin(drain: &mut Pin<Box<impl Future<Output = Drained>>>) {
    std::future::poll_fn(|context| Poll::Ready(drain.as_mut().poll(context).is_pending())).await;
}

#[tokio::test]
async fn actors_are_started_in_order_and_stopped_in_reverse() {
    let bench = Bench::new();
    let running = bench
        .host()
        .actor(Worker::build(&bench.script))
        .actor(Helper::build(&bench.script))
        .actor(Third::build(&bench.script))
        .start()
        .await
        .unwrap();
    bench.until_noted("start third", 1).await;
    running.drain(SECOND).await;
    let expected = [
        "start worker",
        "start helper",
        "start third",
        "end third",
        "end helper",
        "end worker",
    ];
    assert_eq!(bench.script.log(), expected);
}

#[tokio::test]
async fn a_drain_lets_the_running_handler_finish_and_takes_nothing_new() {
    let bench = Bench::new();
    let running = bench.worker().await;
    bench.tell("worker", "in hand", Deed::Await).await;
    bench.tell("worker", "behind", Deed::Succeed).await;
    bench.until_noted("worker in hand", 1).await;
    let mut drained = Box::pin(running.drain(30 * SECOND));
    begin(&mut drained).await;
    bench.script.gate.open();
    assert_eq!(drained.await, Drained::default());
    assert_eq!(bench.outcome("worker", "in hand").await, "let through");
    let behind = bench.envelope("worker", "behind").await;
    assert_eq!(
        (behind.attempts, behind.state),
        (0, EnvelopeState::Unread { not_before: None })
    );
}

#[tokio::test]
async fn a_drain_hands_back_what_does_not_finish_with_its_attempt() {
    let bench = Bench::new();
    let running = bench
        .host()
        .child(endless(), Worker::build(&bench.script))
        .child(endless(), Helper::build(&bench.script))
        .start()
        .await
        .unwrap();
    bench.tell("worker", "endless", Deed::Hang).await;
    bench.tell("helper", "endless too", Deed::Hang).await;
    bench.until_noted("worker endless", 1).await;
    bench.until_noted("helper endless too", 1).await;
    let mut drained = Box::pin(running.drain(30 * SECOND));
    begin(&mut drained).await;
    // One grace for all of them together; the clock then stands still, so both end for being stopped.
    bench.clock.advance(31 * SECOND);
    let drained = drained.await;
    let expected = [(name("helper"), "endless too"), (name("worker"), "endless")];
    let mut handed_back: Vec<_> = drained
        .handed_back
        .iter()
        .map(|(actor, id)| (actor.clone(), id.as_str()))
        .collect();
    handed_back.sort();
    assert_eq!(handed_back, expected);
    assert!(drained.left_running.is_empty());
    for (actor, id) in expected {
        let envelope = bench.envelope(actor.as_str(), id).await;
        assert_eq!(
            (envelope.attempts, envelope.state),
            (0, EnvelopeState::Unread { not_before: None })
        );
    }
    // The next host takes it up, as its first delivery.
    bench.script.gate.open();
    let running = bench.worker().await;
    bench.until_noted("worker endless", 2).await;
    drop(running);
}

#[tokio::test]
async fn a_drain_does_not_wait_for_a_handler_that_cannot_be_stopped() {
    let bench = Bench::new();
    let running = bench.worker_as(endless()).await;
    bench.tell("worker", "block", Deed::Block).await;
    bench.until_noted("worker block", 1).await;
    let mut drained = tokio::spawn(running.drain(SECOND));
    let drained = loop {
        bench.clock.advance(Duration::from_secs(2));
        tokio::task::yield_now().await;
        if drained.is_finished() {
            break (&mut drained).await.unwrap();
        }
    };
    assert_eq!(drained.left_running, [name("worker")]);
    assert_eq!(drained.handed_back.len(), 1);
    assert_eq!(bench.envelope("worker", "block").await.attempts, 0);
    bench.script.gate.open();
}
