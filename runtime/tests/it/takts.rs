//! An actor's own tick.

use std::time::Duration;

use crate::support::{Bench, Deed, SECOND, Worker, keys, state};

const EVERY: Duration = Duration::from_secs(600);

fn instant(bench: &Bench, after: Duration) -> String {
    let at: chrono::DateTime<chrono::Utc> = mailbox::Clock::now(&*bench.clock).after(after).into();
    format!(
        "takt worker/{}",
        at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
    )
}

async fn hosted(bench: &Bench) -> runtime::Running {
    bench
        .host()
        .takt(EVERY, Worker::build(&bench.script))
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_takt_runs_at_the_start_and_then_at_its_distance_and_a_missed_one_once() {
    let bench = Bench::new();
    let (first, second) = (instant(&bench, Duration::ZERO), instant(&bench, EVERY));
    let fifth = instant(&bench, 4 * EVERY);
    let running = hosted(&bench).await;
    bench.until_noted(&first, 1).await;
    running.until_quiet().await.unwrap();
    bench.clock.advance(EVERY + SECOND);
    bench.until_noted(&second, 1).await;
    bench
        .until(&running, |o| {
            o.actor("worker").unwrap().takt.as_ref().unwrap().ended == 2
        })
        .await;
    // Two are missed: the third runs once, late, and the next is the fifth.
    let third = instant(&bench, EVERY - SECOND);
    bench.clock.advance(2 * EVERY + EVERY / 2);
    bench.until_noted(&third, 1).await;
    let overview = bench
        .until(&running, |o| {
            o.actor("worker").unwrap().takt.as_ref().unwrap().ended == 3
        })
        .await;
    assert_eq!(
        overview.actor("worker").unwrap().takt.as_ref().unwrap().last,
        Some(Ok("worked".into()))
    );
    bench.clock.advance(EVERY / 2);
    bench.until_noted(&fifth, 1).await;
    let takts = bench
        .script
        .log()
        .iter()
        .filter(|line| line.starts_with("takt"))
        .count();
    assert_eq!(takts, 4);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_takt_that_panics_restarts_the_actor_and_the_next_takes_its_place() {
    let bench = Bench::new();
    bench.script.takts.lock().unwrap().push(Deed::Panic);
    let second = instant(&bench, EVERY);
    let running = hosted(&bench).await;
    let reports = running.until_quiet().await.unwrap();
    assert_eq!(reports.len(), 1);
    assert!(
        reports[0]
            .result
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("as asked"),
        "{reports:?}"
    );
    bench
        .moving_until(&running, SECOND, |o| o.actor("worker").unwrap().restarts == 1)
        .await;
    bench.clock.advance(EVERY);
    bench.until_noted(&second, 1).await;
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_takt_that_waits_runs_again_under_its_own_instant() {
    let bench = Bench::new();
    bench.script.takts.lock().unwrap().push(Deed::WaitSeconds(60));
    let first = instant(&bench, Duration::ZERO);
    let running = hosted(&bench).await;
    let reports = running.until_quiet().await.unwrap();
    assert_eq!(
        reports[0].result.as_ref().unwrap_err().to_string(),
        "the well is dry"
    );
    assert_eq!(state(&running.overview().await.unwrap(), "worker"), "waiting");
    bench.clock.advance(60 * SECOND);
    bench.until_noted(&first, 2).await;
    running.until_quiet().await.unwrap();
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_takt_that_hangs_is_overdue_and_its_actor_is_seen() {
    let bench = Bench::new();
    bench.script.takts.lock().unwrap().push(Deed::Hang);
    let spec = runtime::ChildSpec::default().takt(EVERY).deadline(10 * EVERY);
    let running = bench.worker_as(spec).await;
    bench.until(&running, |o| state(o, "worker") == "running").await;
    assert_eq!(keys(&running.overview().await.unwrap()), Vec::<&str>::new());
    bench.clock.advance(EVERY + SECOND);
    assert_eq!(keys(&running.overview().await.unwrap()), ["overdue/worker"]);
    bench.clock.advance(9 * EVERY);
    bench
        .moving_until(&running, SECOND, |o| {
            keys(o).is_empty() && state(o, "worker") == "idle"
        })
        .await;
    running.drain(SECOND).await;
}

#[tokio::test]
async fn what_a_takt_sends_is_handled_before_it_is_quiet() {
    let bench = Bench::new();
    bench
        .script
        .takts
        .lock()
        .unwrap()
        .push(Deed::Report(Box::new(Deed::Succeed)));
    let script = std::sync::Arc::clone(&bench.script);
    let running = bench
        .host()
        .takt(EVERY, Worker::build(&bench.script))
        .actor(move |_| Ok(crate::support::Clerk(std::sync::Arc::clone(&script))))
        .start()
        .await
        .unwrap();
    let reports = running.until_quiet().await.unwrap();
    assert_eq!(reports[0].result.as_deref().ok(), Some("worked"));
    assert_eq!(bench.status("clerk").await.acked, 1);
    running.drain(SECOND).await;
}

runtime::message! {
    enum WatcherMessage {}
}

/// Says in its first takt what a person must look at, and in its second that all is well.
struct Watcher {
    takts: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl runtime::Actor for Watcher {
    const NAME: &'static str = "watcher";
    type Message = WatcherMessage;

    async fn handle(
        &mut self,
        message: WatcherMessage,
        _: &mut runtime::Turn,
    ) -> Result<runtime::Done, runtime::Fault> {
        match message {}
    }

    async fn takt(&mut self, turn: &mut runtime::Turn) -> Result<runtime::Done, runtime::Fault> {
        let is_first = self.takts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let since = turn.moment();
        turn.attend(if is_first {
            vec![runtime::Attention {
                key: "budget/watcher".to_owned(),
                since,
                text: "the budget is spent".to_owned(),
                mend: "raise it".to_owned(),
            }]
        } else {
            Vec::new()
        });
        Ok(runtime::Done::new("watched"))
    }
}

#[tokio::test]
async fn what_an_actor_says_of_itself_is_attention_until_it_says_otherwise() {
    let bench = Bench::new();
    let takts = std::sync::Arc::default();
    let running = bench
        .host()
        .takt(EVERY, move |_| {
            Ok(Watcher {
                takts: std::sync::Arc::clone(&takts),
            })
        })
        .start()
        .await
        .unwrap();
    let keys_of = |overview: &runtime::Overview| -> Vec<String> {
        overview.attention.iter().map(|one| one.key.clone()).collect()
    };
    let overview = bench.until(&running, |o| keys_of(o) == ["budget/watcher"]).await;
    assert_eq!(overview.attention[0].text, "the budget is spent");
    bench.clock.advance(EVERY);
    bench.until(&running, |o| keys_of(o).is_empty()).await;
    running.drain(SECOND).await;
}
