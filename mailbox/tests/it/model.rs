//! The transition, over both stores, against a plain model: random histories of everything that can
//! be asked, with crashes before and after a commit. After every step each message must stand as the
//! model says.
//!
//! `SWEEP_LONG=1` runs 10,000 histories a store instead of a few hundred.

use std::collections::BTreeMap;
use std::time::Duration;

use mailbox::conformance::Fixture;
use mailbox::store::{Store, Write};
use mailbox::{
    AckedBy, Appended, Claim, Command, Digest, Done, Draft, EnvelopeState, FailureKind, Holder, Incarnation,
    Index, LeaseId, Lessee, MailboxName, Message, Moment, Nack, Pass, Policy, Reply, Seq, apply, begin,
    prune,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixtures::{InMemory, OnDisk};

const MAX_ATTEMPTS: u32 = 3;
/// The WIP limit of each mailbox.
const WIP: [Option<u32>; 2] = [None, Some(2)];
const UNCHANGED_MS: u64 = 20_000;
const KEEP_MS: u64 = 60_000;
const BRIEF_MS: u64 = 30_000;
const HORIZON_MS: u64 = 90_000;

fn policy(wip: Option<u32>) -> Policy {
    Policy {
        max_attempts: MAX_ATTEMPTS,
        wip,
        unchanged_for: Duration::from_millis(UNCHANGED_MS),
        process_lease: Some(Duration::from_secs(30)),
        keep: Duration::from_millis(KEEP_MS),
        keep_brief: Duration::from_millis(BRIEF_MS),
        dedupe_horizon: Duration::from_millis(HORIZON_MS),
        ..Policy::default()
    }
}

fn boxes() -> [MailboxName; 2] {
    ["alpha".parse().unwrap(), "beta".parse().unwrap()]
}

#[derive(Debug, Clone)]
enum Op {
    Append {
        of: usize,
        id: u8,
        subject: Option<u8>,
        evidence: u8,
    },
    Lease {
        of: usize,
        pull: bool,
    },
    /// What is done with one of the leases given out so far, current or not.
    With {
        lease: usize,
        what: Deed,
    },
    AckLine {
        of: usize,
        id: u8,
    },
    Advance {
        ms: u64,
    },
    Retry {
        of: usize,
        id: u8,
    },
    Drop {
        of: usize,
        id: u8,
    },
    /// Everything that may go is pruned, or the first steps of that.
    Prune {
        steps: u32,
    },
    /// The process dies, and the next one opens the store.
    Crash,
    /// The process dies when the next command is applied and not yet committed.
    CrashBeforeCommit,
}

#[derive(Debug, Clone)]
enum Deed {
    Ack,
    AckById,
    AckPullById,
    Fail { retry_after: Option<u64> },
    Reject,
    HandBack { rest: Option<u64> },
    Extend { ms: u64 },
}

fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => Just(Deed::Ack),
        1 => Just(Deed::AckById),
        1 => Just(Deed::AckPullById),
        3 => proptest::option::of(0..5_000_u64).prop_map(|retry_after| Deed::Fail { retry_after }),
        1 => Just(Deed::Reject),
        1 => proptest::option::of(0..5_000_u64).prop_map(|rest| Deed::HandBack { rest }),
        1 => (0..60_000_u64).prop_map(|ms| Deed::Extend { ms }),
    ]
}

fn ops() -> impl Strategy<Value = Op> {
    let of = 0..2_usize;
    prop_oneof![
        8 => (of.clone(), 0..24_u8, proptest::option::of(0..3_u8), 0..2_u8)
            .prop_map(|(of, id, subject, evidence)| Op::Append { of, id, subject, evidence }),
        8 => (of.clone(), any::<bool>()).prop_map(|(of, pull)| Op::Lease { of, pull }),
        10 => (any::<prop::sample::Index>(), deeds())
            .prop_map(|(lease, what)| Op::With { lease: lease.index(1 << 16), what }),
        1 => (of.clone(), 0..24_u8).prop_map(|(of, id)| Op::AckLine { of, id }),
        4 => (0..40_000_u64).prop_map(|ms| Op::Advance { ms }),
        1 => (of.clone(), 0..24_u8).prop_map(|(of, id)| Op::Retry { of, id }),
        1 => (of.clone(), 0..24_u8).prop_map(|(of, id)| Op::Drop { of, id }),
        2 => (0..3_u32).prop_map(|steps| Op::Prune { steps }),
        1 => Just(Op::Crash),
        1 => Just(Op::CrashBeforeCommit),
    ]
}

/// A message as the model sees it.
#[derive(Debug, Clone)]
struct Plain {
    id: u8,
    appended_at: u64,
    subject: Option<u8>,
    evidence: u8,
    attempts: u32,
    stands: Stands,
}

#[derive(Debug, Clone, PartialEq)]
enum Stands {
    Unread {
        not_before: u64,
    },
    Leased {
        lease: LeaseId,
        pull: bool,
        until: u64,
    },
    Acked {
        outcome: &'static str,
        at: u64,
    },
    Quarantined,
    /// The message is gone; its id and outcome are known.
    Buried(&'static str),
    /// Nothing of it is known.
    Gone,
}

impl Stands {
    fn outcome(&self) -> Option<&'static str> {
        match self {
            Stands::Acked { outcome, .. } | Stands::Buried(outcome) => Some(outcome),
            _ => None,
        }
    }
}

/// One mailbox as the model sees it: a list, looked through from its beginning every time.
#[derive(Debug, Clone, Default)]
struct Model {
    wip: Option<u32>,
    messages: Vec<Plain>,
    finished: BTreeMap<u8, (u8, u64)>,
}

impl Model {
    /// The message that has this id, as far as that is known.
    fn known(&self, id: u8) -> Option<usize> {
        self.messages
            .iter()
            .position(|message| message.id == id && message.stands != Stands::Gone)
    }

    /// What is no longer to be kept goes.
    fn prune(&mut self, now: u64) {
        for message in &mut self.messages {
            let horizon = now >= message.appended_at + HORIZON_MS;
            match message.stands {
                Stands::Acked { outcome, at } => {
                    let brief = matches!(outcome, "superseded" | "unchanged");
                    if now >= at + if brief { BRIEF_MS } else { KEEP_MS } {
                        message.stands = if horizon {
                            Stands::Gone
                        } else {
                            Stands::Buried(outcome)
                        };
                    }
                }
                Stands::Buried(_) if horizon => message.stands = Stands::Gone,
                _ => {}
            }
        }
    }

    fn expire(&mut self, now: u64) {
        for message in &mut self.messages {
            if matches!(message.stands, Stands::Leased { until, .. } if until <= now) {
                message.stands = Stands::Unread { not_before: 0 };
                if message.attempts >= MAX_ATTEMPTS {
                    message.stands = Stands::Quarantined;
                }
            }
        }
    }

    /// The next message to be taken, after everything that the policy acks or sets aside on the way.
    fn next(&mut self, now: u64) -> Option<usize> {
        self.expire(now);
        let leased = self
            .messages
            .iter()
            .filter(|message| matches!(message.stands, Stands::Leased { .. }));
        if self.wip.is_some_and(|wip| leased.count() >= wip as usize) {
            return None;
        }
        loop {
            let in_hand = |subject: u8| {
                self.messages.iter().any(|other| {
                    other.subject == Some(subject) && matches!(other.stands, Stands::Leased { .. })
                })
            };
            let at = self.messages.iter().position(|message| {
                matches!(message.stands, Stands::Unread { not_before } if not_before <= now)
                    && message.subject.is_none_or(|subject| !in_hand(subject))
            })?;
            let Plain {
                subject, evidence, ..
            } = self.messages[at];
            if let Some(subject) = subject {
                let is_kin = |message: &Plain| {
                    message.subject == Some(subject) && matches!(message.stands, Stands::Unread { .. })
                };
                let newest = self.messages.iter().rposition(is_kin).unwrap();
                for older in &mut self.messages[..newest] {
                    if is_kin(older) {
                        older.stands = Stands::Acked {
                            outcome: "superseded",
                            at: now,
                        };
                    }
                }
                if newest != at {
                    continue;
                }
                if let Some((last, when)) = self.finished.get(&subject)
                    && *last == evidence
                    && now - when <= UNCHANGED_MS
                {
                    self.messages[at].stands = Stands::Acked {
                        outcome: "unchanged",
                        at: now,
                    };
                    continue;
                }
            }
            if self.messages[at].attempts >= MAX_ATTEMPTS {
                self.messages[at].stands = Stands::Quarantined;
                continue;
            }
            return Some(at);
        }
    }

    fn finish(&mut self, at: usize, outcome: &'static str, now: u64) {
        let message = &mut self.messages[at];
        message.stands = Stands::Acked { outcome, at: now };
        if let Some(subject) = message.subject {
            self.finished.insert(subject, (message.evidence, now));
        }
    }

    fn holding(&self, lease: LeaseId) -> Option<usize> {
        self.messages
            .iter()
            .position(|message| matches!(message.stands, Stands::Leased { lease: held, .. } if held == lease))
    }
}

struct World<S> {
    store: S,
    index: Index,
    incarnation: Incarnation,
    now: u64,
    models: [Model; 2],
    /// Every lease ever given out: mailbox, number, lease.
    leases: Vec<(usize, Seq, LeaseId)>,
    fresh: u128,
    lives: u128,
    /// The next command is applied and never committed.
    doomed: bool,
}

impl<S: Store> World<S> {
    async fn new(store: S) -> World<S> {
        let incarnation = Incarnation::from_u128(1);
        let mut world = World {
            store,
            index: Index::new(incarnation, 7),
            incarnation,
            now: 1_000_000,
            models: WIP.map(|wip| Model {
                wip,
                ..Model::default()
            }),
            leases: Vec::new(),
            fresh: 0,
            lives: 1,
            doomed: false,
        };
        world.open().await;
        world
    }

    async fn open(&mut self) {
        let mut index = Index::new(self.incarnation, 7);
        self.store
            .load(None, &mut |of, record| index.absorb(of, record))
            .await
            .unwrap();
        for name in boxes() {
            let epoch = self.store.own(&name, self.incarnation).await.unwrap();
            index.owned(&name, epoch);
        }
        let writes = begin(&mut index, Moment::from_millis(self.now));
        self.index = index;
        self.commit(writes).await;
        for (mailbox, wip) in boxes().into_iter().zip(WIP) {
            let (writes, _) = self.apply(Command::Declare {
                mailbox,
                policy: policy(wip),
            });
            self.commit(writes).await;
        }
    }

    fn apply(&mut self, command: Command) -> (Vec<Write>, Reply) {
        // What is spoken survives being written down.
        let command = serde_json::from_str(&serde_json::to_string(&command).unwrap()).unwrap();
        let (writes, reply) = apply(&mut self.index, command, Moment::from_millis(self.now));
        assert_eq!(
            serde_json::from_str::<Reply>(&serde_json::to_string(&reply).unwrap()).unwrap(),
            reply
        );
        (writes, reply)
    }

    async fn commit(&mut self, writes: Vec<Write>) {
        let wrote = self.store.commit(&writes).await.unwrap();
        assert_eq!(wrote.len(), writes.len());
    }

    /// Asks, unless the process dies on the way: then `None`, and nothing happened.
    async fn ask(&mut self, command: Command) -> Option<Reply> {
        let (writes, reply) = self.apply(command);
        if self.doomed {
            return None;
        }
        self.commit(writes).await;
        Some(reply)
    }

    fn crash_in_the_model(&mut self) {
        for model in &mut self.models {
            for message in &mut model.messages {
                if matches!(message.stands, Stands::Leased { pull: false, .. }) {
                    message.stands = Stands::Unread { not_before: 0 };
                }
                let waits = matches!(message.stands, Stands::Unread { .. });
                if waits && message.attempts >= MAX_ATTEMPTS {
                    message.stands = Stands::Quarantined;
                }
            }
        }
    }

    async fn step(&mut self, op: &Op) {
        match op {
            Op::Append {
                of,
                id,
                subject,
                evidence,
            } => self.append(*of, *id, *subject, *evidence).await,
            Op::Lease { of, pull } => self.lease(*of, *pull).await,
            Op::With { lease, what } => {
                if !self.leases.is_empty() {
                    self.with(self.leases[lease % self.leases.len()], what).await;
                }
            }
            Op::AckLine { of, id } => self.ack_line(*of, *id).await,
            Op::Advance { ms } => self.now += ms,
            Op::Retry { of, id } => self.release(*of, *id, true).await,
            Op::Drop { of, id } => self.release(*of, *id, false).await,
            Op::Prune { steps } => self.prune(*steps).await,
            Op::Crash | Op::CrashBeforeCommit => {}
        }
    }

    async fn append(&mut self, of: usize, id: u8, subject: Option<u8>, evidence: u8) {
        let text = format!("m-{id}").parse().unwrap();
        let ts = "2026-05-14T17:45:00Z".parse().unwrap();
        let message = Message::build(ts, "lab", "greet", &text, serde_json::json!({})).unwrap();
        let draft = Draft {
            subject: subject.map(|subject| format!("s-{subject}").parse().unwrap()),
            evidence: Some(Digest::of(&[evidence])),
            ..Draft::new(boxes()[of].clone(), message)
        };
        let Some(reply) = self.ask(Command::Append { drafts: vec![draft] }).await else {
            return;
        };
        let messages = &mut self.models[of].messages;
        let known = messages
            .iter()
            .position(|message| message.id == id && message.stands != Stands::Gone);
        let expected = match known {
            Some(at) => Appended::Known {
                seq: Seq(at as u64 + 1),
                outcome: messages[at].stands.outcome().map(str::to_owned),
            },
            None => {
                let stands = Stands::Unread { not_before: 0 };
                messages.push(Plain {
                    id,
                    appended_at: self.now,
                    subject,
                    evidence,
                    attempts: 0,
                    stands,
                });
                Appended::Placed(Seq(messages.len() as u64))
            }
        };
        assert_eq!(reply, Reply::Appended(vec![expected]));
    }

    async fn lease(&mut self, of: usize, pull: bool) {
        self.fresh += 1;
        let lease = LeaseId::from_u128(self.fresh);
        let for_ = Duration::from_secs(45);
        let lessee = if pull {
            Lessee::Pull { for_ }
        } else {
            Lessee::Process
        };
        let Some(reply) = self
            .ask(Command::Lease {
                of: boxes()[of].clone(),
                lessee,
                lease,
            })
            .await
        else {
            return;
        };
        let until = self.now + if pull { 45_000 } else { 30_000 };
        match (self.models[of].next(self.now), reply) {
            (None, Reply::Nothing { .. }) => {}
            (Some(at), Reply::Leased(granted)) => {
                let message = &mut self.models[of].messages[at];
                message.attempts += 1;
                message.stands = Stands::Leased { lease, pull, until };
                assert_eq!(
                    (granted.seq, granted.attempt),
                    (Seq(at as u64 + 1), message.attempts)
                );
                self.leases.push((of, granted.seq, lease));
            }
            (expected, reply) => panic!("{reply:?} where the model says {expected:?}"),
        }
    }

    async fn with(&mut self, (of, seq, lease): (usize, Seq, LeaseId), what: &Deed) {
        let name = boxes()[of].clone();
        let number = usize::try_from(seq.0).unwrap() - 1;
        let id = format!("m-{}", self.models[of].messages[number].id)
            .parse()
            .unwrap();
        let now = self.now;
        let by_lease = Claim::Lease { seq, lease };
        let ack = |claim, by| Command::Ack {
            of: name.clone(),
            claim,
            by,
            done: Done::new("done"),
        };
        let nack = |nack| Command::Nack {
            of: name.clone(),
            claim: by_lease.clone(),
            nack,
        };
        let reason = "because".to_owned();
        let command = match what {
            Deed::Ack => ack(by_lease.clone(), AckedBy::Actor),
            Deed::AckById => ack(
                Claim::Id {
                    id,
                    lease: Some(lease),
                },
                AckedBy::Pull,
            ),
            Deed::AckPullById => ack(Claim::Id { id, lease: None }, AckedBy::Pull),
            Deed::Fail { retry_after } => nack(Nack::Failed {
                reason,
                retry_after: retry_after.map(Duration::from_millis),
                kind: FailureKind::Error,
            }),
            Deed::Reject => nack(Nack::Reject { reason }),
            Deed::HandBack { rest } => nack(Nack::HandBack {
                reason,
                until: rest.map(|rest| Moment::from_millis(now + rest)),
            }),
            Deed::Extend { ms } => Command::Extend {
                of: name.clone(),
                seq,
                lease,
                until: Moment::from_millis(now + ms),
            },
        };
        let Some(reply) = self.ask(command).await else {
            return;
        };
        let model = &mut self.models[of];
        model.expire(now);
        // Without a lease, whatever pull lease is current is meant.
        let current = match what {
            Deed::AckPullById => {
                matches!(model.messages[number].stands, Stands::Leased { pull: true, .. }).then_some(number)
            }
            _ => model.holding(lease),
        };
        let Some(at) = current else {
            assert!(
                matches!(reply, Reply::Refused(_)),
                "a lease that is not current: {reply:?}"
            );
            return;
        };
        assert_eq!(at, number);
        let message = &mut model.messages[at];
        match what {
            Deed::Ack | Deed::AckById | Deed::AckPullById => {
                assert_eq!(reply, Reply::Acked(Vec::new()));
                model.finish(at, "done", now);
            }
            Deed::Reject => message.stands = Stands::Quarantined,
            Deed::HandBack { rest } => {
                message.attempts -= 1;
                message.stands = Stands::Unread {
                    not_before: rest.map_or(0, |rest| now + rest),
                };
            }
            Deed::Extend { ms } => {
                let Stands::Leased { until, .. } = &mut message.stands else {
                    unreachable!()
                };
                *until = now + ms;
            }
            Deed::Fail { retry_after } => {
                let Reply::Nacked(nacked) = reply else {
                    panic!("{reply:?}")
                };
                assert_eq!(nacked.quarantined, message.attempts >= MAX_ATTEMPTS);
                if nacked.quarantined {
                    message.stands = Stands::Quarantined;
                    return;
                }
                let rest = nacked.next.unwrap().as_millis() - now;
                let full = 1_000 << (message.attempts - 1);
                match retry_after {
                    Some(wish) => assert_eq!(rest, *wish),
                    None => assert!(rest >= full / 2 && rest <= full, "{rest} of {full}"),
                }
                message.stands = Stands::Unread {
                    not_before: now + rest,
                };
            }
        }
    }

    async fn ack_line(&mut self, of: usize, id: u8) {
        let claim = Claim::Id {
            id: format!("m-{id}").parse().unwrap(),
            lease: None,
        };
        let by = AckedBy::Line {
            from: "script".into(),
        };
        let command = Command::Ack {
            of: boxes()[of].clone(),
            claim,
            by,
            done: Done::new("by line"),
        };
        let Some(reply) = self.ask(command).await else {
            return;
        };
        let model = &mut self.models[of];
        model.expire(self.now);
        match model.known(id) {
            None => assert!(matches!(reply, Reply::Refused(_))),
            Some(at) => match model.messages[at].stands {
                Stands::Quarantined | Stands::Gone => assert!(matches!(reply, Reply::Refused(_))),
                Stands::Acked { .. } | Stands::Buried(_) => assert_eq!(reply, Reply::Acked(Vec::new())),
                Stands::Unread { .. } | Stands::Leased { .. } => model.finish(at, "by line", self.now),
            },
        }
    }

    /// Out of quarantine, to be tried again or for good.
    async fn release(&mut self, of: usize, id: u8, again: bool) {
        let name = boxes()[of].clone();
        let text = format!("m-{id}").parse().unwrap();
        let command = if again {
            Command::RetryQuarantined { of: name, id: text }
        } else {
            Command::DropQuarantined {
                of: name,
                id: text,
                reason: "hopeless".to_owned(),
            }
        };
        let Some(reply) = self.ask(command).await else {
            return;
        };
        let (now, model) = (self.now, &mut self.models[of]);
        model.expire(now);
        match model.known(id) {
            Some(at) if model.messages[at].stands == Stands::Quarantined => {
                let message = &mut model.messages[at];
                if again {
                    assert_eq!(reply, Reply::Retried);
                    message.attempts = 0;
                    message.stands = Stands::Unread { not_before: 0 };
                } else {
                    assert_eq!(reply, Reply::Dropped);
                    message.stands = Stands::Acked {
                        outcome: "dropped",
                        at: now,
                    };
                }
            }
            _ => assert!(matches!(reply, Reply::Refused(_)), "{reply:?}"),
        }
    }

    /// A whole pass when `steps` is 0; else so many steps of one, and the process dies before it can
    /// see what became of them.
    async fn prune(&mut self, steps: u32) {
        let now = Moment::from_millis(self.now);
        let mut pass = Pass::new(now);
        let mut made = 0;
        while prune(&mut self.store, &mut self.index, &mut pass).await.unwrap() {
            made += 1;
            if made == steps {
                break;
            }
        }
        // What one step prunes is the store's matter; a further pass makes it all that is due.
        let mut pass = Pass::new(now);
        while prune(&mut self.store, &mut self.index, &mut pass).await.unwrap() {}
        for (name, model) in boxes().iter().zip(&mut self.models) {
            let mut pruned = model.clone();
            pruned.prune(self.now);
            for (seq, (message, after)) in (1..).map(Seq).zip(model.messages.iter_mut().zip(pruned.messages))
            {
                // The newest records of the log may stay until there are newer ones.
                let known = self.index.outcome(name, seq);
                let kept = self.index.stands(name, seq).is_some();
                match after.stands {
                    Stands::Gone | Stands::Buried(_) if kept => {}
                    Stands::Gone if known.is_some() => {
                        message.stands = Stands::Buried(message.stands.outcome().unwrap());
                    }
                    _ => *message = after,
                }
            }
        }
    }

    fn compare(&self) {
        for (name, model) in boxes().iter().zip(&self.models) {
            for (seq, message) in (1..).zip(&model.messages) {
                if let Stands::Buried(_) | Stands::Gone = message.stands {
                    assert_eq!(self.index.state(name, Seq(seq)), None);
                    assert_eq!(
                        self.index.outcome(name, Seq(seq)).as_deref(),
                        message.stands.outcome()
                    );
                    continue;
                }
                let (state, attempts) = self.index.state(name, Seq(seq)).expect("it is there");
                let stands = match state {
                    EnvelopeState::Unread { not_before } => Stands::Unread {
                        not_before: not_before.map_or(0, Moment::as_millis),
                    },
                    EnvelopeState::Leased { lease, holder, until } => Stands::Leased {
                        lease,
                        pull: holder == Holder::Pull,
                        until: until.unwrap().as_millis(),
                    },
                    EnvelopeState::Acked { outcome, at, .. } => Stands::Acked {
                        outcome: match &*outcome {
                            "done" => "done",
                            "by line" => "by line",
                            "superseded" => "superseded",
                            "unchanged" => "unchanged",
                            "dropped" => "dropped",
                            other => panic!("{other}"),
                        },
                        at: at.as_millis(),
                    },
                    EnvelopeState::Quarantined { .. } => Stands::Quarantined,
                };
                assert_eq!(
                    (&stands, attempts),
                    (&message.stands, message.attempts),
                    "{name} {seq}"
                );
            }
            assert!(
                self.index
                    .state(name, Seq(model.messages.len() as u64 + 1))
                    .is_none()
            );
        }
        for (status, model) in self
            .index
            .status(Moment::from_millis(self.now))
            .iter()
            .zip(&self.models)
        {
            let count = |what: fn(&Stands) -> bool| {
                model
                    .messages
                    .iter()
                    .filter(|message| what(&message.stands))
                    .count() as u64
            };
            assert_eq!(status.total, model.messages.len() as u64);
            assert_eq!(
                status.leased,
                count(|stands| matches!(stands, Stands::Leased { .. }))
            );
            let pruned = count(|stands| matches!(stands, Stands::Buried(_) | Stands::Gone));
            assert_eq!(status.pruned, pruned);
            let acked = count(|stands| matches!(stands, Stands::Acked { .. }));
            assert_eq!(status.acked, acked + pruned);
            assert_eq!(
                status.quarantined,
                count(|stands| matches!(stands, Stands::Quarantined))
            );
            assert_eq!(status.unread, status.total - status.acked - status.quarantined);
        }
    }
}

async fn run<F: Fixture>(fixture: &mut F, history: &[Op]) {
    let store = fixture.fresh();
    let mut world = World::new(store).await;
    for op in history.iter().chain([&Op::Crash]) {
        match op {
            Op::CrashBeforeCommit => {
                world.doomed = true;
                continue;
            }
            Op::Advance { .. } | Op::Prune { .. } if world.doomed => continue,
            _ => world.step(op).await,
        }
        if world.doomed || matches!(op, Op::Crash) {
            world.doomed = false;
            world.crash_in_the_model();
            world.lives += 1;
            world.incarnation = Incarnation::from_u128(world.lives);
            let World {
                store,
                index,
                incarnation,
                now,
                models,
                leases,
                fresh,
                lives,
                doomed,
            } = world;
            let store = fixture.reopen(store);
            world = World {
                store,
                index,
                incarnation,
                now,
                models,
                leases,
                fresh,
                lives,
                doomed,
            };
            world.open().await;
        }
        world.compare();
    }
}

fn check<F: Fixture>(mut fixture: F, cases: u32) {
    let cases = if std::env::var_os("SWEEP_LONG").is_some() {
        10_000
    } else {
        cases
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let fixture = std::cell::RefCell::new(&mut fixture);
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
    .run(&proptest::collection::vec(ops(), 1..80), |history| {
        runtime.block_on(run(*fixture.borrow_mut(), &history));
        Ok(())
    })
    .unwrap();
}

#[test]
fn random_histories_in_memory() {
    check(InMemory, 256);
}

#[test]
fn random_histories_on_the_disk() {
    check(OnDisk::default(), 24);
}
