//! Who gets what, and what is committed when.

use std::sync::Arc;

use mailbox::{Appended, EnvelopeState, MailboxName};

use crate::support::{Bench, Clerk, Deed, SECOND, Worker, keys, name};

#[tokio::test]
async fn every_actor_that_declares_an_intent_gets_the_message() {
    let bench = Bench::new();
    let script = Arc::clone(&bench.script);
    let running = bench
        .host()
        .registry(|registry| registry.external(name("archive"), ["report"]).map(drop))
        .actor(Worker::build(&bench.script))
        .actor(move |_| Ok(Clerk(Arc::clone(&script))))
        .start()
        .await
        .unwrap();
    bench
        .tell("worker", "w1", Deed::Report(Box::new(Deed::Succeed)))
        .await;
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("clerk", "worker/w1/1").await, "filed");
    let archived = bench.envelope("archive", "worker/w1/1").await;
    assert_eq!(
        archived.state,
        EnvelopeState::Unread { not_before: None },
        "nobody here hosts the archive"
    );
    assert_eq!(archived.cause.unwrap().as_str(), "w1");
    running.drain(SECOND).await;
}

#[tokio::test]
async fn an_intent_that_nobody_declares_is_a_dead_letter_and_seen() {
    let bench = Bench::new();
    let running = bench.worker().await;
    bench
        .tell("worker", "w1", Deed::Report(Box::new(Deed::Succeed)))
        .await;
    running.until_quiet().await.unwrap();
    let letters = bench.envelopes(MailboxName::dead_letter().as_str()).await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].message.intent(), "report");
    assert_eq!(keys(&running.overview().await.unwrap()), ["dead-letter"]);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_turn_that_fails_has_sent_nothing_and_one_that_runs_again_sends_once() {
    let bench = Bench::new();
    let script = Arc::clone(&bench.script);
    let running = bench
        .host()
        .actor(Worker::build(&bench.script))
        .actor(move |_| Ok(Clerk(Arc::clone(&script))))
        .start()
        .await
        .unwrap();
    bench
        .tell("worker", "w1", Deed::Report(Box::new(Deed::PanicOnce)))
        .await;
    bench.until_noted("worker w1", 1).await;
    bench
        .until(&running, |o| o.actor("worker").unwrap().last_failure.is_some())
        .await;
    assert_eq!(bench.envelopes("clerk").await.len(), 0);
    bench
        .moving_until(&running, SECOND, |o| o.actor("worker").unwrap().unread == 0)
        .await;
    running.until_quiet().await.unwrap();
    assert_eq!(bench.script.count("worker w1"), 2);
    assert_eq!(bench.script.count("clerk worker/w1"), 1);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_message_from_outside_is_taken_once() {
    let bench = Bench::new();
    let running = bench.worker().await;
    let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"me","intent":"work","msg_id":"m","name":"m","deed":"succeed"}"#;
    let draft = running
        .registry()
        .accept(&name("worker"), mailbox::Message::parse(line).unwrap())
        .unwrap();
    bench.mailboxes.append(vec![draft.clone()]).await.unwrap();
    running.until_quiet().await.unwrap();
    let again = bench.mailboxes.append(vec![draft]).await.unwrap();
    let Appended::Known { outcome, .. } = &again[0] else {
        panic!("{again:?}")
    };
    assert_eq!(outcome.as_deref(), Some("worked"));
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_wrong_declaration_is_found_at_the_start() {
    let bench = Bench::new();
    let twice = bench
        .host()
        .actor(Worker::build(&bench.script))
        .actor(Worker::build(&bench.script));
    let error = twice.start().await.unwrap_err();
    assert_eq!(error.to_string(), "the name worker is taken");
    let shadowed = bench
        .host()
        .registry(|registry| registry.external(name("worker"), ["other"]).map(drop))
        .actor(Worker::build(&bench.script));
    assert!(shadowed.start().await.is_err());
}

/// The ack of a message and the lease of the next are one group, with one sync.
#[tokio::test]
async fn messages_that_wait_cost_one_group_each() {
    const MESSAGES: u64 = 20;
    let bench = Bench::new();
    for number in 0..MESSAGES {
        bench.tell("worker", &format!("w{number}"), Deed::Succeed).await;
    }
    let before = bench.mailboxes.counters().groups;
    let running = bench.worker().await;
    running.until_quiet().await.unwrap();
    let groups = bench.mailboxes.counters().groups - before;
    // And one for the first lease; the supervisor's own are a few.
    assert!((MESSAGES..MESSAGES + 5).contains(&groups), "{groups}");
    running.drain(SECOND).await;
}
