//! What users of durable actors and job queues ran into, as far as it concerns supervision: a test a report. The
//! table is `docs/field-notes.md`.

use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

use mailbox::{Appended, Lessee, Policy, Seq};
use runtime::{Actor, ChildSpec, Done, Fault, Turn, Watermarks, message};

use crate::support::{
    Bench, Clerk, Deed, Helper, Over, Report, SECOND, Script, Work, Worker, endless, keys, name, state,
};

#[tokio::test]
async fn a_thousand_messages_that_rest_hide_none_behind_them() {
    let bench = Bench::new();
    let running = bench.worker().await;
    for n in 0..1_000 {
        let deed = Deed::RetryAfterSeconds(1_000_000);
        bench.tell("worker", &format!("rests {n}"), deed).await;
    }
    bench.tell("worker", "behind", Deed::Succeed).await;
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("worker", "behind").await, "worked");
    assert_eq!(bench.status("worker").await.backing_off, 1_000);
    running.drain(SECOND).await;
}

message! { enum Mixed { Work(Work), Report(Report) } }

/// Hangs with whatever it gets.
struct Slow(Arc<Script>);
impl Actor for Slow {
    const NAME: &'static str = "slow";
    type Message = Mixed;
    async fn handle(&mut self, message: Mixed, _: &mut Turn) -> Result<Done, Fault> {
        self.0.note(match message {
            Mixed::Work(Work { name, .. }) => format!("work {name}"),
            Mixed::Report(Report { about }) => format!("report {about}"),
        });
        std::future::pending().await
    }
}

#[tokio::test]
async fn each_intent_has_a_deadline_of_its_own() {
    let bench = Bench::new();
    let once = Policy {
        max_attempts: 1,
        ..Policy::default()
    };
    let spec = ChildSpec::default()
        .policy(once)
        .wip(2)
        .deadline(1_000 * SECOND)
        .deadline_of("report", 10 * SECOND);
    let script = Arc::clone(&bench.script);
    let host = bench.host().child(spec, move |_| Ok(Slow(Arc::clone(&script))));
    let running = host.start().await.unwrap();
    bench.tell("slow", "long", Deed::Succeed).await;
    bench.report("slow", "short").await;
    bench.until_noted("work long", 1).await;
    bench.until_noted("report short", 1).await;
    bench.clock.advance(11 * SECOND);
    bench
        .until(&running, |o| o.actor("slow").unwrap().quarantined == 1)
        .await;
    assert_eq!(
        bench.outcome("slow", "short").await,
        "quarantined: no progress within 10 s"
    );
    assert_eq!(bench.status("slow").await.leased, 1, "the other one runs on");
    running.drain(Duration::ZERO).await;
}

/// A value that takes its time to go.
struct Clinging {
    script: Arc<Script>,
    let_go: Arc<(Mutex<bool>, Condvar)>,
}
impl Drop for Clinging {
    fn drop(&mut self) {
        self.script.note("going");
        let (gone, told) = &*self.let_go;
        let _gone = told.wait_while(gone.lock().unwrap(), |gone| !*gone).unwrap();
        self.script.note("gone");
    }
}
message! { enum OnlyWork { Work(Work) } }
impl Actor for Clinging {
    const NAME: &'static str = "clinging";
    type Message = OnlyWork;
    async fn handle(&mut self, message: OnlyWork, turn: &mut Turn) -> Result<Done, Fault> {
        let OnlyWork::Work(Work { name, .. }) = message;
        match turn.attempt() {
            1 => Err(Fault::crash("the first time")),
            _ => Ok(Done::new(format!("{name} after all"))),
        }
    }
}

#[tokio::test]
async fn the_next_instance_starts_after_the_one_before_has_ended() {
    let bench = Bench::new();
    let let_go = Arc::new((Mutex::new(false), Condvar::new()));
    let (script, holds) = (Arc::clone(&bench.script), Arc::clone(&let_go));
    let build = move |_: &runtime::Context| {
        script.note("start");
        Ok(Clinging {
            script: Arc::clone(&script),
            let_go: Arc::clone(&holds),
        })
    };
    let running = bench.host().child(endless(), build).start().await.unwrap();
    bench.tell("clinging", "one", Deed::Succeed).await;
    bench.until_noted("going", 1).await;
    // However long that takes: there is one of it.
    bench.clock.advance(100 * SECOND);
    running.overview().await.unwrap();
    assert_eq!(bench.script.count("start"), 1);
    *let_go.0.lock().unwrap() = true;
    let_go.1.notify_all();
    bench
        .moving_until(&running, SECOND, |o| o.actor("clinging").unwrap().unread == 0)
        .await;
    assert_eq!(bench.outcome("clinging", "one").await, "one after all");
    running.drain(SECOND).await;
    assert_eq!(
        bench.script.log(),
        ["start", "going", "gone", "start", "going", "gone"]
    );
}

#[tokio::test]
async fn a_mailbox_that_is_full_gets_nothing_more_from_takts_and_acks_pass() {
    let bench = Bench::new();
    let every = Duration::from_secs(600);
    let report = |bench: &Bench| {
        let deed = Deed::Report(Box::new(Deed::Succeed));
        bench.script.takts.lock().unwrap().push(deed);
    };
    // The clerk is declared and lives elsewhere, so its mailbox fills.
    let running = bench
        .host()
        .watermarks(Watermarks { soft: 1, hard: 3 })
        .registry(|registry| registry.external(name("clerk"), ["report"]).map(drop))
        .child(endless().takt(every), Worker::build(&bench.script))
        .start()
        .await
        .unwrap();
    running.until_quiet().await.unwrap();
    for n in 1..=2_u64 {
        report(&bench);
        bench.clock.advance(every);
        bench
            .until(&running, |o| {
                o.actor("worker").unwrap().takt.as_ref().unwrap().ended == n + 1
            })
            .await;
    }
    let overview = running.overview().await.unwrap();
    assert_eq!(overview.actor("clerk").unwrap().unread, 2);
    assert!(keys(&overview).contains(&"filling/clerk"), "{overview:?}");

    // A turn's message goes with its ack, above the marks too.
    for n in 0..2 {
        let deed = Deed::Report(Box::new(Deed::Succeed));
        bench.tell("worker", &format!("turn {n}"), deed).await;
    }
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("worker", "turn 1").await, "worked");
    let overview = running.overview().await.unwrap();
    assert_eq!(overview.actor("clerk").unwrap().unread, 4);
    assert!(keys(&overview).contains(&"full/clerk"), "{overview:?}");

    // A takt sends it nothing, and says so.
    report(&bench);
    bench.clock.advance(every);
    let overview = bench
        .until(&running, |o| {
            o.actor("worker").unwrap().takt.as_ref().unwrap().ended == 4
        })
        .await;
    let said = "worked; not sent, the mailbox being full: 1 to clerk";
    let last = overview.actor("worker").unwrap().takt.clone().unwrap().last;
    assert_eq!(last, Some(Ok(said.to_owned())));
    assert_eq!(bench.status("clerk").await.unread, 4);

    // When messages are taken out it goes on.
    for _ in 0..2 {
        let lessee = Lessee::Pull { for_: every };
        let taken = bench
            .mailboxes
            .try_lease(&name("clerk"), lessee)
            .await
            .unwrap()
            .unwrap();
        bench
            .mailboxes
            .ack(taken.lease, mailbox::Done::new("filed"))
            .await
            .unwrap();
    }
    let overview = running.overview().await.unwrap();
    assert!(!keys(&overview).contains(&"full/clerk"), "{overview:?}");
    report(&bench);
    bench.clock.advance(every);
    bench
        .until(&running, |o| {
            o.actor("worker").unwrap().takt.as_ref().unwrap().ended == 5
        })
        .await;
    assert_eq!(bench.status("clerk").await.unread, 3);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_turn_that_was_given_up_overwrites_nothing_when_it_ends_after_all() {
    let bench = Bench::new();
    let spec = ChildSpec::default().deadline(10 * SECOND);
    let running = bench.worker_as(spec).await;
    bench.tell("worker", "block", Deed::Block).await;
    bench.until_noted("worker block", 1).await;
    bench
        .moving_until(&running, SECOND, |o| state(o, "worker") == "stalled")
        .await;
    // Its attempt has failed, and the message rests; then somebody else handles it for good.
    while bench.status("worker").await.leased > 0 {
        tokio::task::yield_now().await;
    }
    bench.clock.advance(300 * SECOND);
    let lessee = Lessee::Pull { for_: 60 * SECOND };
    let taken = bench.mailboxes.lease(&name("worker"), lessee).await.unwrap();
    bench
        .mailboxes
        .ack(taken.lease, mailbox::Done::new("by hand"))
        .await
        .unwrap();
    bench.script.gate.open();
    bench
        .moving_until(&running, SECOND, |o| state(o, "worker") == "idle")
        .await;
    assert_eq!(bench.outcome("worker", "block").await, "by hand");
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_drain_starts_nothing_while_it_waits() {
    let bench = Bench::new();
    let script = Arc::clone(&bench.script);
    let running = bench
        .host()
        .child(endless(), Worker::build(&bench.script))
        .child(endless(), Helper::build(&bench.script))
        .actor(move |_| Ok(Clerk(Arc::clone(&script))))
        .start()
        .await
        .unwrap();
    let last = Deed::Report(Box::new(Deed::Await));
    bench.tell("worker", "last", last).await;
    bench.until_noted("worker last", 1).await;
    let mut drained = Box::pin(running.drain(30 * SECOND));
    crate::drain::begin(&mut drained).await;
    // What comes in now, and what the last turn sends, waits for the next start.
    bench.tell("helper", "late", Deed::Succeed).await;
    bench.script.gate.open();
    assert_eq!(drained.await, runtime::Drained::default());
    assert_eq!(bench.outcome("worker", "last").await, "let through");
    assert_eq!(bench.script.count("helper late"), 0);
    assert_eq!(
        (
            bench.status("clerk").await.unread,
            bench.status("clerk").await.acked
        ),
        (1, 0)
    );
}

/// Threads and not tasks: they ask at the same moment, each over a handle of its own.
#[tokio::test]
async fn of_those_who_append_one_id_at_once_one_is_told_that_it_is_in() {
    const AT_ONCE: usize = 8;
    let bench = Bench::over(Over::Sled);
    let barrier = Arc::new(Barrier::new(AT_ONCE));
    for round in 1..=20_u64 {
        let asked: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let draft = bench.draft("worker", &format!("m-{round}"), Deed::Succeed);
                let (mailboxes, barrier) = (bench.mailboxes.clone(), Arc::clone(&barrier));
                let append = move || {
                    barrier.wait();
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    runtime.block_on(mailboxes.append(vec![draft])).unwrap()
                };
                std::thread::spawn(append)
            })
            .collect();
        let told: Vec<_> = asked
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let placed = |one: &&Appended| matches!(one, Appended::Placed(_));
        assert_eq!(told.iter().filter(placed).count(), 1, "{told:?}");
        assert!(told.iter().all(|one| one.seq() == Seq(round)), "{told:?}");
    }
    assert_eq!(bench.status("worker").await.total, 20);
}
