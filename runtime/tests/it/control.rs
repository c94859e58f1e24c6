//! The control socket: who is let in, who is told what, and what odd clients do to it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use mailbox::{EnvelopeState, Lessee, Mailboxes, SystemClock};
use runtime::control::{self, Control, ControlError, PROTOCOL, SOCKET};
use runtime::{Host, Running};

use crate::support::{Deed, Helper, SECOND, Worker, name};

/// A host without actors, at whose socket in `home` others may ask.
async fn listening(home: &Path) -> (Running, Control) {
    let clock = Arc::new(SystemClock::start());
    let mailboxes = Mailboxes::open_memory(clock.clone());
    let running = Host::builder(mailboxes, clock, home).start().await.unwrap();
    let control = running.listen(home).unwrap();
    (running, control)
}

/// What the holder says to these bytes until it hangs up.
fn said(home: &Path, bytes: &[u8]) -> String {
    let mut client = UnixStream::connect(home.join(SOCKET)).unwrap();
    // It may hang up before it has heard everything.
    let _ = client.write_all(bytes);
    let _ = client.shutdown(std::net::Shutdown::Write);
    let mut said = String::new();
    let _ = client.read_to_string(&mut said);
    said
}

#[tokio::test]
async fn another_process_sees_the_actors_and_uses_the_mailboxes() {
    let home = tempfile::tempdir().unwrap();
    let bench = crate::support::Bench::new();
    let running = bench
        .host()
        .actor(Worker::build(&bench.script))
        .actor(Helper::build(&bench.script))
        .start()
        .await
        .unwrap();
    let control = running.listen(home.path()).unwrap();
    bench.tell("worker", "in hand", Deed::Await).await;
    bench.until_noted("worker in hand", 1).await;
    let connected = control::connect(home.path()).await.unwrap();
    assert_eq!(connected.holder().pid, std::process::id());
    let overview = connected.overview().await.unwrap();
    assert_eq!(overview, *running.overview().await.unwrap());
    assert_eq!(overview.actor("worker").unwrap().state.word(), "running");

    let remote = control::connect(home.path())
        .await
        .unwrap()
        .mailboxes()
        .await
        .unwrap();
    let page = remote
        .envelopes(&name("worker"), mailbox::Filter::all())
        .await
        .unwrap();
    assert!(matches!(page[0].state, EnvelopeState::Leased { .. }));
    assert!(remote.try_lease(&name("worker"), Lessee::Process).await.is_err());
    bench.script.gate.open();
    control.close().await;
    assert!(!home.path().join(SOCKET).exists());
    assert!(remote.status().await.is_err());
    running.drain(30 * SECOND).await;
}

#[tokio::test]
async fn the_socket_is_its_owners_alone_and_a_dead_one_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    // A process that died left its socket, and what it had of the next.
    drop(UnixListener::bind(home.path().join(SOCKET)).unwrap());
    fs::create_dir(home.path().join("control.new")).unwrap();
    drop(UnixListener::bind(home.path().join("control.new").join(SOCKET)).unwrap());
    let absent = control::connect(home.path()).await.unwrap_err();
    assert!(matches!(absent, ControlError::Absent { .. }), "{absent}");

    let (running, control) = listening(home.path()).await;
    let found = fs::metadata(home.path().join(SOCKET)).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    let second = running.listen(home.path()).unwrap_err();
    assert!(matches!(second, ControlError::InUse { .. }), "{second}");
    control::connect(home.path()).await.unwrap();
    drop(control);
    assert!(!home.path().join(SOCKET).exists());
}

#[tokio::test]
async fn a_home_with_a_long_path_has_a_socket_too() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("h".repeat(120));
    fs::create_dir(&home).unwrap();
    let (_running, control) = listening(&home).await;
    let connected = control::connect(&home).await.unwrap();
    assert_eq!(connected.overview().await.unwrap().actors.len(), 0);
    control.close().await;
}

#[tokio::test]
async fn another_version_is_refused_on_both_sides() {
    let home = tempfile::tempdir().unwrap();
    let (_running, control) = listening(home.path()).await;
    let refusal = said(home.path(), b"sweep-control 2\noverview\n");
    assert!(refusal.starts_with(&format!("{PROTOCOL}\n")), "{refusal}");
    assert!(
        refusal.ends_with(
            "this process speaks sweep-control 1: ask it with the program that it was started with, or stop it first\n"
        ),
        "{refusal}"
    );
    control.close().await;

    let listener = UnixListener::bind(home.path().join(SOCKET)).unwrap();
    let newer = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(b"sweep-control 2\n").unwrap();
    });
    let error = control::connect(home.path()).await.unwrap_err();
    newer.join().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "process {} speaks \"sweep-control 2\", this program speaks \"sweep-control 1\"",
            std::process::id()
        )
    );
}

#[tokio::test]
async fn odd_clients_are_shown_out_and_others_are_served() {
    let home = tempfile::tempdir().unwrap();
    let (_running, control) = listening(home.path()).await;
    for odd in [
        &b""[..],
        b"\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"sweep-control 1",
        b"sweep-control 1\n",
        b"sweep-control 1\nexplode\n",
        b"sweep-control 1\nmail",
        b"sweep-control 1\nmailboxes\n\xff\xff\xff\xff{}\n",
        b"sweep-control 1\nmailboxes\n{\"id\":1,\"ask\":",
        &[b'x'; 100_000],
    ] {
        assert!(said(home.path(), odd).starts_with(PROTOCOL), "{odd:?}");
    }
    // Some that say nothing and stay.
    let idle: Vec<_> = (0..8)
        .map(|_| UnixStream::connect(home.path().join(SOCKET)).unwrap())
        .collect();
    let overview = control::connect(home.path()).await.unwrap().overview().await;
    assert_eq!(overview.unwrap().actors.len(), 0);
    drop(idle);
    control.close().await;
}

#[tokio::test]
async fn one_who_says_nothing_sensible_does_not_answer() {
    for words in [&b""[..], b"sweep-control 1\nnobody\n", b"\xff\n", &[b'x'; 10_000]] {
        let home = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(home.path().join(SOCKET)).unwrap();
        let other = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            // The other side may have heard enough.
            let _ = client.write_all(words);
        });
        let error = control::connect(home.path()).await.unwrap_err();
        other.join().unwrap();
        let expected = format!("process {} does not answer", std::process::id());
        assert_eq!(error.to_string(), expected, "{words:?}");
    }
}
