//! Turns outside a host.

use std::sync::Arc;

use mailbox::{Clock, MailboxName};
use runtime::{
    Actor, Done, Fault, OneShot, OneShotError, Recorded, Registry, Stamp, Turn, TurnFailure, message,
};

use crate::support::{Bench, Clerk, Deed, Report, Worker, name};

message! {
    /// A dispatcher has only a takt.
    pub enum Nothing {}
}

/// Reads a file, reports under an id of its own and writes another file.
#[derive(Default)]
struct Dispatcher {
    found: Option<String>,
}
impl Actor for Dispatcher {
    const NAME: &'static str = "dispatcher";
    type Message = Nothing;

    async fn handle(&mut self, message: Nothing, _: &mut Turn) -> Result<Done, Fault> {
        match message {}
    }

    async fn takt(&mut self, turn: &mut Turn) -> Result<Done, Fault> {
        let text = turn
            .read_file(&"in.txt".parse().map_err(Fault::crash)?)
            .await?
            .unwrap_or_default();
        self.found = Some(String::from_utf8_lossy(&text).into_owned());
        let stamp = Stamp {
            msg_id: "minute-1".parse().map_err(Fault::crash)?,
            ts: turn.now(),
            from: "dispatcher".into(),
        };
        let to = turn.send_as(
            stamp,
            Report {
                about: "in.txt".into(),
            },
        )?;
        turn.write_file(&"out.md".parse().map_err(Fault::crash)?, "seen")
            .await?;
        turn.append_line(
            &"runs.jsonl".parse().map_err(Fault::crash)?,
            turn.key().to_owned(),
            turn.key().to_owned(),
        )
        .await?;
        Ok(Done::new(format!("{} reported", to.len())))
    }
}

fn one_shot(bench: &Bench) -> OneShot {
    let mut registry = Registry::new();
    registry
        .declare::<Dispatcher>()
        .unwrap()
        .declare::<Clerk>()
        .unwrap();
    let clock = Arc::clone(&bench.clock) as Arc<dyn Clock>;
    let now = "2026-05-14T17:45:00Z".parse().unwrap();
    OneShot::new(Arc::new(registry), clock, bench.home.path()).evaluate_at(now)
}

#[tokio::test]
async fn one_takt_for_real() {
    let bench = Bench::new();
    std::fs::write(bench.home.path().join("in.txt"), "hello").unwrap();
    let mut dispatcher = Dispatcher::default();
    let ran = one_shot(&bench)
        .takt(&mut dispatcher, &bench.mailboxes)
        .await
        .unwrap();
    assert_eq!(dispatcher.found.as_deref(), Some("hello"));
    assert_eq!(ran.done.outcome(), "1 reported");
    assert_eq!(
        ran.sent[0].0.message.line(),
        r#"{"ts":"2026-05-14T17:45:00Z","from":"dispatcher","intent":"report","msg_id":"minute-1","about":"in.txt"}"#
    );
    assert_eq!(bench.status("clerk").await.unread, 1);
    assert_eq!(
        std::fs::read_to_string(bench.home.path().join("out.md")).unwrap(),
        "seen"
    );

    // The same minute again: the message is known, the line is there.
    let again = one_shot(&bench)
        .takt(&mut dispatcher, &bench.mailboxes)
        .await
        .unwrap();
    assert!(matches!(again.sent[0].1, mailbox::Appended::Known { .. }));
    let runs = std::fs::read_to_string(bench.home.path().join("runs.jsonl")).unwrap();
    assert_eq!(runs, "dispatcher/2026-05-14T17:45:00Z\n");
}

#[tokio::test]
async fn a_rehearsal_shows_everything_and_does_nothing() {
    let bench = Bench::new();
    let rehearsed = one_shot(&bench)
        .rehearse_takt(&mut Dispatcher::default())
        .await
        .unwrap();
    assert_eq!(rehearsed.messages.len(), 1);
    assert_eq!(rehearsed.messages[0].to, name("clerk"));
    assert!(matches!(
        &rehearsed.effects[..],
        [Recorded::WriteFile { .. }, Recorded::AppendLines { .. }]
    ));
    assert!(rehearsed.read.is_some());
    assert_eq!(std::fs::read_dir(bench.home.path()).unwrap().count(), 0);
    assert_eq!(bench.mailboxes.status().await.unwrap(), Vec::new());
}

#[tokio::test]
async fn a_message_is_rehearsed_as_it_was_handled() {
    let bench = Bench::new();
    bench
        .tell("worker", "w", Deed::Report(Box::new(Deed::Succeed)))
        .await;
    let envelope = bench.envelope("worker", "w").await;
    let build = Worker::build(&bench.script);
    let hosted = bench
        .host()
        .actor(move |context| build(context))
        .start()
        .await
        .unwrap();
    hosted.until_quiet().await.unwrap();
    hosted.drain(crate::support::SECOND).await;

    struct Again;
    impl Actor for Again {
        const NAME: &'static str = "worker";
        type Message = crate::support::WorkerMessage;
        async fn handle(&mut self, _: Self::Message, turn: &mut Turn) -> Result<Done, Fault> {
            turn.send(Report {
                about: turn.key().to_owned(),
            })?;
            Ok(Done::new("worked"))
        }
    }
    let rehearsed = one_shot(&bench).rehearse(&mut Again, envelope).await.unwrap();
    assert_eq!(rehearsed.done.outcome(), bench.outcome("worker", "w").await);
    assert_eq!(rehearsed.messages[0].message.msg_id().as_str(), "worker/w/1");
    let letters = bench.envelopes(MailboxName::dead_letter().as_str()).await;
    assert_eq!(letters.len(), 1, "the rehearsal sent none");
}

#[tokio::test]
async fn a_panic_is_a_failure_of_the_turn() {
    struct Clumsy;
    impl Actor for Clumsy {
        const NAME: &'static str = "clumsy";
        type Message = Nothing;
        async fn handle(&mut self, message: Nothing, _: &mut Turn) -> Result<Done, Fault> {
            match message {}
        }
        async fn takt(&mut self, _: &mut Turn) -> Result<Done, Fault> {
            panic!("dropped it")
        }
    }
    let bench = Bench::new();
    let error = one_shot(&bench)
        .takt(&mut Clumsy, &bench.mailboxes)
        .await
        .unwrap_err();
    assert!(
        matches!(error, OneShotError::Turn(TurnFailure::Panicked { .. })),
        "{error:?}"
    );
    assert!(error.to_string().contains("dropped it"));
}
