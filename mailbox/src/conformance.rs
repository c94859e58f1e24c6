//! What every [`Store`] must do, as plain checks: run [`all`] from a test of your store.
//!
//! ```
//! use mailbox::conformance::{self, Fixture};
//! use mailbox::store::MemoryStore;
//!
//! struct InMemory;
//! impl Fixture for InMemory {
//!     type Store = MemoryStore;
//!     fn fresh(&mut self) -> MemoryStore {
//!         MemoryStore::default()
//!     }
//!     fn reopen(&mut self, store: MemoryStore) -> MemoryStore {
//!         store
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! conformance::all(&mut InMemory).await;
//! # });
//! ```

use crate::clock::Moment;
use crate::event::{AckedBy, DeliveryEvent, Holder, StampedEvent};
use crate::message::{Draft, MAX_MESSAGE, Message};
use crate::names::{Digest, Incarnation, LeaseId, MailboxName, MsgId, Seq};
use crate::store::{Cursor, Epoch, Fate, Record, Store, Stored, Write, Wrote};

/// How the suite gets at stores.
pub trait Fixture {
    /// The store.
    type Store: Store;

    /// An empty store, apart from all others.
    fn fresh(&mut self) -> Self::Store;

    /// The same store as after a restart of the program: closed or dropped, and opened again. A store
    /// that lives in memory stays what it is.
    fn reopen(&mut self, store: Self::Store) -> Self::Store;
}

/// Every check, each on a store of its own.
///
/// # Panics
/// When the store does not do what it must; the message says what.
pub async fn all<F: Fixture>(fixture: &mut F) {
    numbers_have_no_holes(fixture).await;
    a_log_reads_back_after_reopening(fixture).await;
    a_cursor_goes_on_where_it_was(fixture).await;
    ranges_read_exactly(fixture).await;
    messages_of_every_size_read_back(fixture).await;
    a_later_owner_fences_the_earlier(fixture).await;
    events_are_found_by_their_messages(fixture).await;
    what_is_pruned_keeps_its_number(fixture).await;
}

fn mailbox(name: &str) -> MailboxName {
    name.parse().expect("a mailbox's name")
}

/// A message with everything that can be declared about it.
fn stored(id: &str, padding: usize) -> Stored {
    let id: MsgId = id.parse().expect("an id");
    let ts = "2026-05-14T17:45:00Z".parse().expect("a time");
    let body = serde_json::json!({"text": "x".repeat(padding)});
    let message = Message::build(ts, "conformance", "check", &id, body).expect("a message");
    let draft = Draft {
        subject: Some("a subject".parse().expect("a subject")),
        evidence: Some(Digest::of(id.as_str().as_bytes())),
        cause: Some("what-led-to-it".parse().expect("an id")),
        ..Draft::new(mailbox("any"), message)
    };
    Stored::new(draft, Moment::from_millis(1_778_780_700_123))
}

fn write(to: &MailboxName, id: &str) -> Write {
    Write::Message {
        to: to.clone(),
        stored: stored(id, 10),
    }
}

fn event(of: &MailboxName, under: Epoch, seq: u64) -> Write {
    let event = DeliveryEvent::Leased {
        lease: LeaseId::from_u128(u128::from(seq)),
        holder: Holder::Process(Incarnation::from_u128(1)),
        attempt: 1,
        until: Some(Moment::from_millis(9)),
    };
    Write::Event {
        of: of.clone(),
        under,
        event: StampedEvent {
            seq: Seq(seq),
            at: Moment::from_millis(5),
            event,
        },
    }
}

/// One line a record, to compare logs.
async fn log<S: Store>(store: &mut S, after: Option<Cursor>) -> (Vec<String>, Cursor) {
    let mut lines = Vec::new();
    let mut each = |of: &MailboxName, record: Record<'_>| lines.push(format!("{of} {record:?}"));
    let cursor = store.load(after, &mut each).await.expect("a store loads");
    (lines, cursor)
}

async fn loaded<F: Fixture>(fixture: &mut F) -> F::Store {
    let mut store = fixture.fresh();
    let (lines, _) = log(&mut store, None).await;
    assert!(lines.is_empty(), "a fresh store is empty, this has {lines:?}");
    store
}

/// Messages of each mailbox are numbered from 1, in the order of the writes, within a group and from
/// group to group.
///
/// # Panics
/// When they are not.
pub async fn numbers_have_no_holes<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let (a, b) = (mailbox("a"), mailbox("b"));
    let group = [write(&a, "1"), write(&b, "1"), write(&a, "2")];
    let wrote = store.commit(&group).await.expect("a group commits");
    assert_eq!(wrote, [1, 1, 2].map(|seq| Wrote::Placed(Seq(seq))));
    let many: Vec<Write> = (3..=100).map(|n| write(&a, &n.to_string())).collect();
    let wrote = store.commit(&many).await.expect("a group commits");
    assert_eq!(
        wrote,
        (3..=100).map(|seq| Wrote::Placed(Seq(seq))).collect::<Vec<_>>()
    );
    let mut store = fixture.reopen(store);
    log(&mut store, None).await;
    let wrote = store
        .commit(&[write(&a, "101"), write(&b, "2")])
        .await
        .expect("a group commits");
    assert_eq!(wrote, [Wrote::Placed(Seq(101)), Wrote::Placed(Seq(2))]);
    assert_eq!(store.commit(&[]).await.expect("an empty group commits"), []);
}

/// What was committed is there after reopening, in its order, with everything that is known of it.
///
/// # Panics
/// When it is not.
pub async fn a_log_reads_back_after_reopening<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let (a, b) = (mailbox("a"), mailbox("b"));
    let epoch = store
        .own(&a, Incarnation::from_u128(1))
        .await
        .expect("a mailbox is owned");
    for n in 0..30 {
        let group = [
            write(&a, &format!("a-{n}")),
            event(&a, epoch, n + 1),
            write(&b, &format!("b-{n}")),
        ];
        store.commit(&group).await.expect("a group commits");
    }
    let acked = DeliveryEvent::Acked {
        lease: None,
        outcome: "done".into(),
        by: AckedBy::Line {
            from: "somebody".into(),
        },
        read: Some(Digest::of(b"read")),
    };
    let acked = StampedEvent {
        seq: Seq(1),
        at: Moment::from_millis(6),
        event: acked,
    };
    let acked = Write::Event {
        of: a.clone(),
        under: epoch,
        event: acked,
    };
    store.commit(&[acked]).await.expect("a group commits");
    let (before, _) = log(&mut store, None).await;
    assert_eq!(before.len(), 91, "every record is shown once");
    let mut store = fixture.reopen(store);
    let (after, _) = log(&mut store, None).await;
    assert_eq!(before, after, "a log is the same after reopening");
    let read = store.read(&a, Seq(1)..=Seq(30)).await.expect("messages read");
    let expected: Vec<(Seq, Stored)> = (0..30)
        .map(|n| (Seq(n + 1), stored(&format!("a-{n}"), 10)))
        .collect();
    assert_eq!(read, expected);
}

/// Loading from a cursor shows what was committed after it, and nothing else.
///
/// # Panics
/// When it does not.
pub async fn a_cursor_goes_on_where_it_was<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let a = mailbox("a");
    store
        .commit(&[write(&a, "1"), write(&a, "2")])
        .await
        .expect("a group commits");
    let (_, cursor) = log(&mut store, None).await;
    let (none, same) = log(&mut store, Some(cursor)).await;
    assert_eq!((none, same), (Vec::new(), cursor), "nothing is new");
    store.commit(&[write(&a, "3")]).await.expect("a group commits");
    let (lines, later) = log(&mut store, Some(cursor)).await;
    assert_eq!(lines.len(), 1, "one record is new: {lines:?}");
    assert!(later > cursor);
}

/// A range is read from its first to its last number, and may reach beyond what there is.
///
/// # Panics
/// When it is not.
pub async fn ranges_read_exactly<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let (a, b) = (mailbox("a"), mailbox("b"));
    for n in 1..=60 {
        let group = [write(&a, &n.to_string()), write(&b, &n.to_string())];
        store
            .commit(&group[..if n % 3 == 0 { 2 } else { 1 }])
            .await
            .expect("a group commits");
    }
    for (from, to) in [(1, 1), (1, 60), (7, 9), (60, 60), (59, u64::MAX), (61, 70)] {
        let read = store.read(&a, Seq(from)..=Seq(to)).await.expect("messages read");
        let seqs: Vec<u64> = read.iter().map(|(seq, _)| seq.0).collect();
        assert_eq!(seqs, (from..=to.min(60)).collect::<Vec<_>>(), "of {from} to {to}");
    }
    let read = store
        .read(&mailbox("c"), Seq(1)..=Seq::MAX)
        .await
        .expect("messages read");
    assert_eq!(read, [], "a mailbox that there is not has no messages");
}

/// From the smallest to the largest, also several in one group, also the same bytes twice.
///
/// # Panics
/// When one does not.
pub async fn messages_of_every_size_read_back<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let (a, b) = (mailbox("a"), mailbox("b"));
    let head = stored("10", 0).message.line().len();
    let sizes = [
        0,
        1,
        1_000,
        5_900,
        6_144,
        7_000,
        40_000,
        200_000,
        MAX_MESSAGE - head,
    ];
    let all: Vec<Stored> = (10..)
        .zip(sizes)
        .map(|(n, size)| stored(&n.to_string(), size))
        .collect();
    let mut group: Vec<Write> = all
        .iter()
        .map(|stored| Write::Message {
            to: a.clone(),
            stored: stored.clone(),
        })
        .collect();
    group.push(Write::Message {
        to: b.clone(),
        stored: all[8].clone(),
    });
    store.commit(&group).await.expect("a group commits");
    let mut store = fixture.reopen(store);
    log(&mut store, None).await;
    let read = store.read(&a, Seq(1)..=Seq::MAX).await.expect("messages read");
    assert_eq!(
        read.into_iter().map(|(_, stored)| stored).collect::<Vec<_>>(),
        all
    );
    let mut goes = |of: &MailboxName, record: &Record<'_>| match record {
        Record::Message { seq: Seq(9), .. } if *of == a => Fate::Goes,
        _ => Fate::Stays,
    };
    // The newest records need not be shown.
    store.commit(&[write(&b, "more")]).await.expect("a group commits");
    prune(&mut store, &mut goes).await;
    let read = store.read(&b, Seq(1)..=Seq(1)).await.expect("messages read");
    assert_eq!(read, [(Seq(1), all[8].clone())], "the same bytes elsewhere stay");
}

/// An event is written under the last right that was given, and under no other.
///
/// # Panics
/// When it is not.
pub async fn a_later_owner_fences_the_earlier<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let (a, b) = (mailbox("a"), mailbox("b"));
    store
        .commit(&[write(&a, "1"), write(&b, "1")])
        .await
        .expect("a group commits");
    let wrote = store
        .commit(&[event(&a, Epoch(0), 1)])
        .await
        .expect("a group commits");
    assert_eq!(wrote, [Wrote::Fenced], "nobody owns it");
    let first = store
        .own(&a, Incarnation::from_u128(1))
        .await
        .expect("a mailbox is owned");
    let other = store
        .own(&b, Incarnation::from_u128(1))
        .await
        .expect("a mailbox is owned");
    let later = store
        .own(&a, Incarnation::from_u128(2))
        .await
        .expect("a mailbox is owned");
    assert!(later > first);
    let group = [event(&a, first, 1), event(&a, later, 1), event(&b, other, 1)];
    let wrote = store.commit(&group).await.expect("a group commits");
    assert_eq!(
        wrote,
        [Wrote::Fenced, Wrote::Placed(Seq(1)), Wrote::Placed(Seq(1))]
    );
    let (lines, _) = log(&mut store, None).await;
    assert_eq!(lines.len(), 4, "what was fenced is not in the log: {lines:?}");
}

/// Goes through the whole log.
async fn prune<S: Store>(store: &mut S, fate: &mut (dyn FnMut(&MailboxName, &Record<'_>) -> Fate + Send)) {
    let mut from = None;
    loop {
        from = store.prune(from, fate).await.expect("a step of pruning");
        if from.is_none() {
            return;
        }
    }
}

/// The events of a range of messages, from wherever they are in the log.
///
/// # Panics
/// When they are not found, or others are.
pub async fn events_are_found_by_their_messages<F: Fixture>(fixture: &mut F) {
    let mut store = loaded(fixture).await;
    let (a, b) = (mailbox("a"), mailbox("b"));
    let by = Incarnation::from_u128(1);
    let (of_a, of_b) = (
        store.own(&a, by).await.expect("a mailbox is owned"),
        store.own(&b, by).await.expect("a mailbox is owned"),
    );
    let messages: Vec<Write> = (1..=200).map(|n| write(&a, &n.to_string())).collect();
    store.commit(&messages).await.expect("a group commits");
    store.commit(&[write(&b, "1")]).await.expect("a group commits");
    for seq in (1..=200).rev() {
        let group = [event(&a, of_a, seq), event(&b, of_b, 1), event(&a, of_a, seq)];
        store.commit(&group).await.expect("a group commits");
    }
    for _ in 0..2 {
        for (from, to, count) in [
            (1, 1, 2),
            (1, 200, 400),
            (64, 65, 4),
            (150, u64::MAX, 102),
            (201, 300, 0),
        ] {
            let seqs = Seq(from)..=Seq(to);
            let found = store.events(&a, seqs.clone()).await.expect("events read");
            assert_eq!(found.len(), count, "of {from} to {to}");
            assert!(found.iter().all(|event| seqs.contains(&event.seq)));
            assert!(
                found.is_sorted_by(|one, next| one.seq >= next.seq),
                "the log's order"
            );
        }
        store = fixture.reopen(store);
        log(&mut store, None).await;
    }
}

/// Pruning takes messages and events, leaves what is said to stay in its order, and never gives a number
/// again; also when it is cut short.
///
/// # Panics
/// When it does not.
pub async fn what_is_pruned_keeps_its_number<F: Fixture>(fixture: &mut F) {
    for steps in [1, usize::MAX] {
        let mut store = loaded(fixture).await;
        let (a, b) = (mailbox("a"), mailbox("b"));
        let epoch = store
            .own(&a, Incarnation::from_u128(1))
            .await
            .expect("a mailbox is owned");
        for n in 1..=1_500_u64 {
            let padding = if n % 100 == 7 { 9_000 } else { 9 };
            let message = Write::Message {
                to: if n % 10 == 0 { b.clone() } else { a.clone() },
                stored: stored(&n.to_string(), padding),
            };
            let mut group = vec![message];
            if n % 3 == 0 {
                group.push(event(&a, epoch, n / 3));
            }
            store.commit(&group).await.expect("a group commits");
        }
        let (before, _) = log(&mut store, None).await;
        let total = 1_350;
        let spared = |seq: Seq| seq.0.is_multiple_of(97);
        let known = |seq: Seq| seq.0 > 500 && seq.0 < 600;
        let mut fate = |of: &MailboxName, record: &Record<'_>| match record {
            Record::Tombstone { .. } => Fate::Stays,
            _ if *of == b => Fate::Stays,
            Record::Message { seq, .. } if spared(*seq) => Fate::Stays,
            Record::Message { seq, .. } if known(*seq) => Fate::Tombstone {
                outcome: "done".into(),
            },
            Record::Event(event) if spared(event.seq) => Fate::Stays,
            _ => Fate::Goes,
        };
        let mut from = None;
        for _ in 0..steps {
            from = store.prune(from, &mut fate).await.expect("a step of pruning");
            if from.is_none() {
                break;
            }
        }
        let mut store = fixture.reopen(store);
        let (after, _) = log(&mut store, None).await;
        let kept = |line: &&String| before.contains(line);
        let stayed: Vec<&String> = after.iter().filter(kept).collect();
        let mut order = stayed
            .iter()
            .map(|line| before.iter().position(|one| one == *line));
        let sorted = order.by_ref().collect::<Vec<_>>();
        // Events repeat word for word only if they are the same event.
        assert!(sorted.is_sorted(), "what stays is in its order");
        assert!(after.len() < before.len());
        prune(&mut store, &mut fate).await;
        // And once more, when all that is left is small.
        prune(&mut store, &mut fate).await;

        let mut store = fixture.reopen(store);
        let (mut ids, mut numbers, mut events) = (Vec::new(), Vec::new(), 0);
        let mut each = |of: &MailboxName, record: Record<'_>| {
            if *of == b {
                return;
            }
            match record {
                Record::Message { seq, .. } => numbers.push((seq, seq)),
                Record::Tombstone { seq, id, outcome, .. } => {
                    assert_eq!(outcome, "done");
                    numbers.push((seq, seq));
                    ids.push(id.to_owned());
                }
                Record::Gone { first, last } => numbers.push((first, last)),
                Record::Event(event) => {
                    assert!(spared(event.seq) || event.seq.0 > 450);
                    events += 1;
                }
            }
        };
        store.load(None, &mut each).await.expect("a store loads");
        let mut next = Seq::FIRST;
        for (first, last) in numbers {
            assert_eq!(first, next, "every number is accounted for");
            next = last.next();
        }
        assert_eq!(next, Seq(total + 1));
        assert!(
            ids.len() > 90 && events < 20,
            "{} ids, {events} events",
            ids.len()
        );
        let read = store.read(&a, Seq(1)..=Seq(1_300)).await.expect("messages read");
        let seqs: Vec<Seq> = read.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(
            seqs,
            (1..=1_300)
                .map(Seq)
                .filter(|seq| spared(*seq))
                .collect::<Vec<_>>()
        );
        let found = store.events(&a, Seq(1)..=Seq(400)).await.expect("events read");
        assert_eq!(
            found.iter().map(|event| event.seq.0).collect::<Vec<_>>(),
            [97, 194, 291, 388]
        );
        let others = store.read(&b, Seq(1)..=Seq::MAX).await.expect("messages read");
        assert_eq!(others.len(), 150, "the other mailbox is whole");
        let wrote = store.commit(&[write(&a, "new")]).await.expect("a group commits");
        assert_eq!(wrote, [Wrote::Placed(Seq(total + 1))]);
    }
}
