//! A thousand actors with nothing to do.

use std::path::Path;
use std::time::Duration;

use rig::{Figure, Size, disk};
use runtime::{Actor, Done, Fault, Host, HostBuilder, Turn};
use serde::{Deserialize, Serialize};

use crate::child::{self, start};
use crate::ours::{Ours, ReceiverMessage};
use crate::tokio_runtime;

/// How many there are.
const ACTORS: usize = 1_000;
/// How long they settle before anybody looks.
const SETTLE: Duration = Duration::from_secs(3);

/// What a host of idle actors takes.
#[derive(Debug, Serialize, Deserialize)]
struct Taken {
    resident_mb: f64,
    most_resident_mb: f64,
    /// Of one core.
    processor: f64,
}

pub fn run(size: Size) {
    let dir = disk::folder();
    let seconds = size.of(10, 2);
    let mut idling = start("idle", dir.path(), seconds);
    let taken: Taken = idling.report();
    idling.end();
    let case = format!("{ACTORS} actors, {seconds} s");
    Figure::new("idle", &case, "runtime's host", taken.resident_mb, "MB resident")
        .note(format!("at most {:.1} MB", taken.most_resident_mb))
        .tell();
    Figure::new(
        "idle",
        &case,
        "runtime's host",
        taken.processor * 100.0,
        "% of a core",
    )
    .tell();
}

/// Hosts them and says what they take in so many seconds.
pub fn host(dir: &Path, seconds: usize) {
    tokio_runtime().block_on(async {
        let ours = Ours::open(dir).await;
        let builder = Host::builder(ours.mailboxes.clone(), ours.clock.clone(), dir.join("home"));
        let running = thousand(builder).start().await.expect("the host starts");
        let started = running
            .overview()
            .await
            .expect("the mailboxes answer")
            .actors
            .len();
        assert_eq!(started, ACTORS);
        tokio::time::sleep(SETTLE).await;
        let before = disk::processor_seconds();
        tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
        let processor = (disk::processor_seconds() - before) / seconds as f64;
        let (resident_mb, most_resident_mb) = disk::resident_mb();
        child::tell(&Taken {
            resident_mb,
            most_resident_mb,
            processor,
        });
        running.drain(Duration::from_secs(1)).await;
        ours.mailboxes.close().await;
    });
}

/// The actor with this number of three digits. An actor's name belongs to its type, so each is a type of its own.
struct Idle<const A: u8, const B: u8, const C: u8>;

impl<const A: u8, const B: u8, const C: u8> Idle<A, B, C> {
    const LETTERS: [u8; 8] = [b'i', b'd', b'l', b'e', b'-', b'0' + A, b'0' + B, b'0' + C];
}

impl<const A: u8, const B: u8, const C: u8> Actor for Idle<A, B, C> {
    const NAME: &'static str = match std::str::from_utf8(&Self::LETTERS) {
        Ok(name) => name,
        Err(_) => panic!("digits are text"),
    };
    type Message = ReceiverMessage;

    async fn handle(&mut self, _: ReceiverMessage, _: &mut Turn) -> Result<Done, Fault> {
        Ok(Done::new("done"))
    }
}

fn thousand(builder: HostBuilder) -> HostBuilder {
    let builder = hundred::<4>(hundred::<3>(hundred::<2>(hundred::<1>(hundred::<0>(builder)))));
    hundred::<9>(hundred::<8>(hundred::<7>(hundred::<6>(hundred::<5>(builder)))))
}

fn hundred<const A: u8>(builder: HostBuilder) -> HostBuilder {
    let builder = ten::<A, 4>(ten::<A, 3>(ten::<A, 2>(ten::<A, 1>(ten::<A, 0>(builder)))));
    ten::<A, 9>(ten::<A, 8>(ten::<A, 7>(ten::<A, 6>(ten::<A, 5>(builder)))))
}

fn ten<const A: u8, const B: u8>(builder: HostBuilder) -> HostBuilder {
    builder
        .actor(|_| Ok(Idle::<A, B, 0>))
        .actor(|_| Ok(Idle::<A, B, 1>))
        .actor(|_| Ok(Idle::<A, B, 2>))
        .actor(|_| Ok(Idle::<A, B, 3>))
        .actor(|_| Ok(Idle::<A, B, 4>))
        .actor(|_| Ok(Idle::<A, B, 5>))
        .actor(|_| Ok(Idle::<A, B, 6>))
        .actor(|_| Ok(Idle::<A, B, 7>))
        .actor(|_| Ok(Idle::<A, B, 8>))
        .actor(|_| Ok(Idle::<A, B, 9>))
}
