//! The mailboxes over a connection: the same handle, clients that go away, clients that are odd.

use std::sync::Arc;
use std::time::Duration;

use mailbox::remote::{self, ConnectionError};
use mailbox::{
    AckedBy, Appended, Done, EnvelopeState, FailureKind, Filter, Lessee, MailboxError, Mailboxes,
    ManualClock, Moment, Nack, Policy, Refusal, Replay, Seq,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

use crate::{draft, draft_of, name};

const PULL: Lessee = Lessee::Pull {
    for_: Duration::from_secs(600),
};

fn held() -> Mailboxes {
    Mailboxes::open_memory(Arc::new(ManualClock::at(Moment::from_millis(1_000_000))))
}

/// A small pipe: what goes over it does not fit at once.
fn connected(held: &Mailboxes) -> (Mailboxes, JoinHandle<Result<(), ConnectionError>>) {
    let (here, there) = tokio::io::duplex(512);
    let served = tokio::spawn(remote::serve(held.clone(), there));
    (Mailboxes::over(here), served)
}

/// The far end of a connection, for a client of one's own.
fn raw(held: &Mailboxes) -> (DuplexStream, JoinHandle<Result<(), ConnectionError>>) {
    let (here, there) = tokio::io::duplex(1 << 20);
    (here, tokio::spawn(remote::serve(held.clone(), there)))
}

async fn state(held: &Mailboxes, id: &str) -> EnvelopeState {
    let page = held
        .envelopes(&name(), Filter::id(id.parse().unwrap()))
        .await
        .unwrap();
    page.into_iter().next().unwrap().state
}

/// Waits until a message is in a state.
async fn until(held: &Mailboxes, id: &str, fits: impl Fn(&EnvelopeState) -> bool) {
    let mut changes = held.subscribe();
    while !fits(&state(held, id).await) {
        changes.changed().await;
    }
}

fn is_unread(state: &EnvelopeState) -> bool {
    matches!(state, EnvelopeState::Unread { .. })
}

#[tokio::test]
async fn a_remote_handle_does_what_a_local_one_does() {
    let held = held();
    let (remote, served) = connected(&held);
    assert_eq!(
        remote
            .append(vec![draft("a"), draft_of("b", 100_000)])
            .await
            .unwrap(),
        [Appended::Placed(Seq(1)), Appended::Placed(Seq(2))]
    );
    let delivery = remote.lease(&name(), PULL).await.unwrap();
    assert_eq!((delivery.attempt, delivery.lease.seq()), (1, Seq(1)));
    assert_eq!(delivery.envelope.message, draft("a").message);
    remote
        .extend(&delivery.lease, Moment::from_millis(9_000_000))
        .await
        .unwrap();
    remote.ack(delivery.lease, Done::new("greeted")).await.unwrap();

    let delivery = remote.try_lease(&name(), PULL).await.unwrap().unwrap();
    let failed = Nack::Failed {
        reason: "not now".to_owned(),
        retry_after: None,
        kind: FailureKind::Explained,
    };
    assert!(!remote.nack(delivery.lease, failed).await.unwrap().quarantined);
    assert!(remote.try_lease(&name(), PULL).await.unwrap().is_none());

    let again = remote
        .ack_by_id(
            &name(),
            &"a".parse().unwrap(),
            None,
            AckedBy::Pull,
            Done::new("x"),
        )
        .await;
    assert!(matches!(
        again,
        Err(MailboxError::Refused(Refusal::AlreadyAcked { .. }))
    ));
    assert_eq!(remote.status().await.unwrap(), held.status().await.unwrap());
    let page = remote.envelopes(&name(), Filter::all()).await.unwrap();
    assert_eq!(page, held.envelopes(&name(), Filter::all()).await.unwrap());
    let acks = remote.acks(&name(), 0, 10).await.unwrap();
    assert_eq!(acks, held.acks(&name(), 0, 10).await.unwrap());
    let mut replay = Replay::new(remote.clone(), name());
    let page = replay.next_page().await.unwrap().unwrap();
    let events: Vec<usize> = page.iter().map(|message| message.events.len()).collect();
    assert_eq!(events, [3, 2]);

    remote.close().await;
    served.await.unwrap().unwrap();
    // The holder's own handle goes on.
    assert_eq!(held.status().await.unwrap()[0].acked, 1);
}

#[tokio::test]
async fn requests_keep_their_order_and_many_are_answered() {
    let held = held();
    let (remote, _served) = connected(&held);
    let appends: Vec<_> = (0..200)
        .map(|at| {
            let remote = remote.clone();
            tokio::spawn(async move { remote.append(vec![draft(&format!("m-{at}"))]).await })
        })
        .collect();
    for (at, append) in appends.into_iter().enumerate() {
        assert_eq!(
            append.await.unwrap().unwrap(),
            [Appended::Placed(Seq(at as u64 + 1))]
        );
    }
}

#[tokio::test]
async fn a_long_list_comes_in_parts() {
    let held = held();
    let (remote, _served) = connected(&held);
    let drafts: Vec<_> = (0..100).map(|at| draft_of(&format!("m-{at}"), 20_000)).collect();
    held.append(drafts).await.unwrap();
    let page = remote.envelopes(&name(), Filter::all()).await.unwrap();
    assert_eq!(page, held.envelopes(&name(), Filter::all()).await.unwrap());
    let history = remote.history(&name(), Seq(1)..=Seq(100)).await.unwrap();
    assert_eq!(history.len(), 100);
}

#[tokio::test]
async fn what_belongs_to_the_holder_and_what_is_too_much_is_refused() {
    let held = held();
    let (remote, _served) = connected(&held);
    let declared = remote.declare(name(), Policy::default()).await;
    assert!(matches!(declared, Err(MailboxError::OwnersOnly)));
    let taken = remote.lease(&name(), Lessee::Process).await;
    assert!(matches!(taken, Err(MailboxError::OwnersOnly)));
    let endless = remote.history(&name(), Seq(1)..=Seq::MAX).await;
    assert!(matches!(endless, Err(MailboxError::TooMany)));
    let many = (0..30).map(|at| draft_of(&format!("m-{at}"), 700_000)).collect();
    assert!(matches!(
        remote.append(many).await,
        Err(MailboxError::TooLarge { .. })
    ));
    // The connection is none the worse.
    assert_eq!(
        remote.append(vec![draft("a")]).await.unwrap(),
        [Appended::Placed(Seq(1))]
    );
}

#[tokio::test]
async fn a_waiting_lease_is_served_and_changes_are_told() {
    let held = held();
    let (remote, _served) = connected(&held);
    let mut changes = remote.subscribe();
    let waiting = tokio::spawn({
        let remote = remote.clone();
        async move { remote.lease(&name(), PULL).await }
    });
    // Answered after the lease that was asked before it.
    remote.status().await.unwrap();
    held.append(vec![draft("a")]).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().lease.seq(), Seq(1));
    assert_eq!(changes.changed().await, [name()]);
}

#[tokio::test]
async fn a_lease_that_nobody_waits_for_any_more_takes_nothing() {
    let held = held();
    let (remote, _served) = connected(&held);
    let waiting = tokio::spawn({
        let remote = remote.clone();
        async move { remote.lease(&name(), PULL).await }
    });
    remote.status().await.unwrap();
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    remote.append(vec![draft("a")]).await.unwrap();
    // Whether the word came before the message or after it: it is to be had.
    let delivery = remote.lease(&name(), PULL).await.unwrap();
    assert_eq!((delivery.lease.seq(), delivery.attempt), (Seq(1), 1));
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_of_a_waiting_lease_holds_nothing() {
    let held = held();
    let (remote, served) = connected(&held);
    let waiting = tokio::spawn({
        let remote = remote.clone();
        async move { remote.lease(&name(), PULL).await }
    });
    remote.status().await.unwrap();
    served.abort();
    assert!(matches!(waiting.await.unwrap(), Err(MailboxError::Gone { .. })));
    assert!(matches!(remote.status().await, Err(MailboxError::Gone { .. })));
    held.append(vec![draft("a")]).await.unwrap();
    let delivery = held.lease(&name(), PULL).await.unwrap();
    assert_eq!(delivery.attempt, 1);
}

#[tokio::test]
async fn a_message_whose_arrival_is_not_confirmed_is_handed_back_with_its_attempt() {
    let held = held();
    held.append(vec![draft("a")]).await.unwrap();
    let (mut client, served) = raw(&held);
    let ask = r#"{"id":1,"ask":{"Lease":{"of":"greeter","lessee":{"Pull":{"for_":{"secs":600,"nanos":0}}},"wait":true}}}"#;
    client.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
    until(&held, "a", |state| matches!(state, EnvelopeState::Leased { .. })).await;
    drop(client);
    // It may find out by reading or by writing.
    let _ = served.await.unwrap();
    until(&held, "a", is_unread).await;
    let envelope = held.envelopes(&name(), Filter::all()).await.unwrap().remove(0);
    assert_eq!(envelope.attempts, 0);
}

#[tokio::test]
async fn a_message_that_arrived_stays_taken_though_its_taker_hangs_up_at_once() {
    let held = held();
    for round in 0..50 {
        let id = format!("m-{round}");
        held.append(vec![draft(&id)]).await.unwrap();
        let (remote, served) = connected(&held);
        let delivery = remote.try_lease(&name(), PULL).await.unwrap().unwrap();
        remote.close().await;
        served.await.unwrap().unwrap();
        let EnvelopeState::Leased { lease, .. } = state(&held, &id).await else {
            panic!("{id} went back");
        };
        assert_eq!(lease, delivery.lease.id());
    }
}

#[tokio::test]
async fn odd_clients_lose_their_connection_and_nothing_else() {
    let held = held();
    let check = async |bytes: &[u8], fault: fn(&ConnectionError) -> bool| {
        let (mut client, served) = raw(&held);
        client.write_all(bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let error = served.await.unwrap().unwrap_err();
        assert!(fault(&error), "{error:?}");
    };
    let malformed = |error: &ConnectionError| matches!(error, ConnectionError::Malformed(_));
    check(b"GET / HTTP/1.1\r\n\r\n", malformed).await;
    check(b"\0\xff\xfe\n", malformed).await;
    check(b"{}\n", malformed).await;
    check(b"{\"id\":1,\"ask\":\"Explode\"}\n", malformed).await;
    check(b"{\"id\":-1,\"ask\":\"Status\"}\n", malformed).await;
    check(
        b"{\"id\":1,\"ask\":{\"Envelopes\":{\"of\":\"../x\",\"filter\":{}}}}\n",
        malformed,
    )
    .await;
    check(b"{\"id\":1,\"ask\":\"Sta", |error| {
        matches!(error, ConnectionError::CutShort)
    })
    .await;
    // What is asked twice under one id, and words about leases that nobody asked for, harm nobody.
    let (mut client, served) = raw(&held);
    let odd = "{\"id\":7,\"ask\":\"Received\"}\n{\"id\":7,\"ask\":\"Cancel\"}\n{\"id\":7,\"ask\":\"Status\"}\n\
               {\"id\":7,\"ask\":\"Status\"}\n";
    client.write_all(odd.as_bytes()).await.unwrap();
    let mut answers = [0; 40];
    client.read_exact(&mut answers).await.unwrap();
    drop(client);
    let _ = served.await.unwrap();
    assert_eq!(
        held.append(vec![draft("a")]).await.unwrap(),
        [Appended::Placed(Seq(1))]
    );
}

#[tokio::test]
async fn a_line_without_end_is_not_kept() {
    let held = held();
    let (mut client, served) = raw(&held);
    let piece = vec![b'x'; 1 << 20];
    // Written until the other end has had enough.
    while client.write_all(&piece).await.is_ok() {}
    assert!(matches!(served.await.unwrap(), Err(ConnectionError::TooLong)));
}

#[tokio::test]
async fn more_leases_than_a_connection_takes_are_refused() {
    let held = held();
    let (remote, _served) = connected(&held);
    let waiting: Vec<_> = (0..remote::LEASES)
        .map(|_| {
            let remote = remote.clone();
            tokio::spawn(async move { remote.lease(&name(), PULL).await })
        })
        .collect();
    // Answered after all of them were asked, since requests keep their order.
    tokio::task::yield_now().await;
    remote.status().await.unwrap();
    let one_more = remote.lease(&name(), PULL).await;
    assert!(matches!(one_more, Err(MailboxError::TooMany)), "{one_more:?}");
    for lease in &waiting {
        lease.abort();
    }
    held.append(vec![draft("a")]).await.unwrap();
    // There is room again once the other end knows that nobody waits.
    let delivery = loop {
        match remote.lease(&name(), PULL).await {
            Err(MailboxError::TooMany) => {}
            taken => break taken.unwrap(),
        }
    };
    assert_eq!(delivery.lease.seq(), Seq(1));
}

#[tokio::test]
async fn an_odd_server_is_a_lost_connection() {
    let check = async |said: &[u8]| {
        let (here, mut there) = tokio::io::duplex(1 << 16);
        let remote = Mailboxes::over(here);
        let asked = tokio::spawn({
            let remote = remote.clone();
            async move { remote.append(vec![draft("a")]).await }
        });
        let mut some = [0; 8];
        there.read_exact(&mut some).await.unwrap();
        there.write_all(said).await.unwrap();
        let error = asked.await.unwrap().unwrap_err();
        assert!(matches!(error, MailboxError::Gone { .. }), "{error:?}");
    };
    check(b"hello\n").await;
    check(b"{\"Answer\":{\"id\":1,\"answer\":{\"Ok\":{\"Reply\":\"Declared\"}},\"more\":false}}\n").await;
    check(b"{\"Answer\":{\"id\":1,\"answer\":{\"Ok\":{\"Reply\":{\"Appended\":[]}}},\"more\":false}}\n")
        .await;
    check(b"{\"Answer\":{\"id\":1,\"answer\":{\"Ok\":{\"Status\":[]}},\"more\":true}}\n").await;
}
