//! Named cases; random histories are in the model test.

use super::*;
use crate::index::Index;
use crate::message::Message;
use crate::names::{Digest, Incarnation};

/// An index that owns one mailbox.
struct Bench {
    index: Index,
    now: u64,
    leases: u128,
    log: Vec<(MailboxName, Write)>,
}

fn qa() -> MailboxName {
    "qa".parse().unwrap()
}

impl Bench {
    fn new() -> Bench {
        let mut index = Index::new(Incarnation::from_u128(1), 1);
        index.owned(&qa(), Epoch(1));
        Bench {
            index,
            now: 1_000_000,
            leases: 0,
            log: Vec::new(),
        }
    }

    fn say(&mut self, command: Command) -> Reply {
        let (writes, reply) = apply(&mut self.index, command, Moment::from_millis(self.now));
        self.log.extend(writes.into_iter().map(|write| (qa(), write)));
        reply
    }

    fn append(&mut self, id: &str, subject: Option<&str>, intent: &str, evidence: &str) -> Appended {
        let ts = "2026-05-14T17:45:00Z".parse().unwrap();
        let message = Message::build(ts, "lab", intent, &id.parse().unwrap(), serde_json::json!({})).unwrap();
        let draft = Draft {
            subject: subject.map(|subject| subject.parse().unwrap()),
            evidence: Some(Digest::of(evidence.as_bytes())),
            ..Draft::new(qa(), message)
        };
        match self.say(Command::Append { drafts: vec![draft] }) {
            Reply::Appended(mut appended) => appended.remove(0),
            reply => panic!("{reply:?}"),
        }
    }

    fn lease(&mut self) -> Option<Granted> {
        self.lease_for(Lessee::Process)
    }

    fn lease_for(&mut self, lessee: Lessee) -> Option<Granted> {
        self.leases += 1;
        let lease = LeaseId::from_u128(self.leases);
        match self.say(Command::Lease {
            of: qa(),
            lessee,
            lease,
        }) {
            Reply::Leased(granted) => Some(granted),
            Reply::Nothing { .. } => None,
            reply => panic!("{reply:?}"),
        }
    }

    fn ack(&mut self, granted: Granted) -> Reply {
        let claim = Claim::Lease {
            seq: granted.seq,
            lease: granted.lease,
        };
        self.say(Command::Ack {
            of: qa(),
            claim,
            by: AckedBy::Actor,
            done: Done::new("done"),
        })
    }

    fn nack(&mut self, granted: Granted, nack: Nack) -> Nacked {
        let claim = Claim::Lease {
            seq: granted.seq,
            lease: granted.lease,
        };
        match self.say(Command::Nack {
            of: qa(),
            claim,
            nack,
        }) {
            Reply::Nacked(nacked) => nacked,
            reply => panic!("{reply:?}"),
        }
    }

    fn outcome(&self, seq: u64) -> Option<String> {
        self.index
            .outcome(&qa(), Seq(seq))
            .map(|outcome| outcome.to_string())
    }

    /// The process dies, and the next one reads the log.
    fn crash(&mut self) {
        let mut index = Index::new(Incarnation::fresh(), 1);
        let mut next = Seq::FIRST;
        for (of, write) in &self.log {
            match write {
                Write::Message { stored, .. } => {
                    index.message(of, next, stored.head());
                    next = next.next();
                }
                Write::Event { event, .. } => index.event(of, event),
            }
        }
        index.owned(&qa(), Epoch(2));
        let writes = begin(&mut index, Moment::from_millis(self.now));
        self.log.extend(writes.into_iter().map(|write| (qa(), write)));
        self.index = index;
    }
}

fn failed() -> Nack {
    Nack::Failed {
        reason: "no".to_owned(),
        retry_after: None,
        kind: FailureKind::Error,
    }
}

#[test]
fn of_several_with_one_intent_and_subject_the_newest_is_handled() {
    let mut bench = Bench::new();
    bench.append("a", Some("pr"), "ask", "1");
    bench.append("other", None, "ask", "1");
    bench.append("b", Some("pr"), "ask", "2");
    bench.append("c", Some("pr"), "tell", "2");
    // The newest keeps its own place in the order.
    assert_eq!(bench.lease().unwrap().seq, Seq(2));
    assert_eq!(bench.outcome(1).as_deref(), Some(SUPERSEDED));
    let newest = bench.lease().unwrap();
    assert_eq!(newest.seq, Seq(3));
    // The other intent's is about the same subject: not while that is in hand.
    assert!(bench.lease().is_none());
    bench.ack(newest);
    assert_eq!(bench.lease().unwrap().seq, Seq(4));
}

#[test]
fn a_subject_in_hand_waits_and_its_older_one_is_superseded_by_the_newer() {
    let mut bench = Bench::new();
    bench.append("a", Some("pr"), "ask", "1");
    let first = bench.lease().unwrap();
    bench.append("b", Some("pr"), "ask", "2");
    assert!(bench.lease().is_none());
    bench.nack(first, failed());
    // The failed one rests, and is the older.
    assert_eq!(bench.lease().unwrap().seq, Seq(2));
    assert_eq!(bench.outcome(1).as_deref(), Some(SUPERSEDED));
}

#[test]
fn unchanged_evidence_is_not_handled_again_for_a_day() {
    let check = |later_ms: u64, evidence: &str, outcome: Option<&str>| {
        let mut bench = Bench::new();
        bench.append("a", Some("pr"), "ask", "head 1");
        let first = bench.lease().unwrap();
        bench.ack(first);
        bench.now += later_ms;
        bench.append("b", Some("pr"), "ask", evidence);
        let second = bench.lease();
        assert_eq!(bench.outcome(2).as_deref(), outcome, "{later_ms} {evidence}");
        assert_eq!(second.is_none(), outcome.is_some());
    };
    let day = 24 * 60 * 60 * 1_000;
    check(1_000, "head 1", Some(UNCHANGED));
    check(day, "head 1", Some(UNCHANGED));
    check(day + 1, "head 1", None);
    check(1_000, "head 2", None);
}

#[test]
fn an_ack_by_the_policy_is_not_something_finished() {
    let mut bench = Bench::new();
    let day = 24 * 60 * 60 * 1_000;
    bench.append("a", Some("pr"), "ask", "1");
    let first = bench.lease().unwrap();
    bench.ack(first);
    bench.now += day - 10;
    bench.append("b", Some("pr"), "ask", "1");
    assert!(bench.lease().is_none());
    bench.now += 20;
    bench.append("c", Some("pr"), "ask", "1");
    assert_eq!(
        bench.lease().unwrap().seq,
        Seq(3),
        "the day runs from what was handled"
    );
}

#[test]
fn an_attempt_in_flight_at_every_death_ends_in_quarantine() {
    let mut bench = Bench::new();
    bench.append("poison", None, "ask", "1");
    bench.append("good", None, "ask", "1");
    for attempt in 1..=5 {
        assert_eq!(bench.lease().unwrap().attempt, attempt);
        bench.crash();
    }
    assert_eq!(bench.lease().unwrap().seq, Seq(2));
    assert!(matches!(
        bench.index.state(&qa(), Seq(1)),
        Some((EnvelopeState::Quarantined { .. }, 5))
    ));
}

#[test]
fn a_stale_lease_is_refused() {
    let mut bench = Bench::new();
    bench.append("a", None, "ask", "1");
    let old = bench.lease().unwrap();
    bench.crash();
    let new = bench.lease().unwrap();
    assert_eq!((new.seq, new.attempt), (Seq(1), 2));
    assert!(matches!(
        bench.ack(old),
        Reply::Refused(Refusal::NotCurrent { .. })
    ));
    assert_eq!(bench.ack(new), Reply::Acked(Vec::new()));
    assert!(matches!(
        bench.ack(new),
        Reply::Refused(Refusal::AlreadyAcked { .. })
    ));
}

#[test]
fn a_pull_lease_outlives_the_process_until_its_time() {
    let mut bench = Bench::new();
    bench.append("a", None, "ask", "1");
    let pull = bench
        .lease_for(Lessee::Pull {
            for_: Duration::from_secs(600),
        })
        .unwrap();
    bench.crash();
    assert!(bench.lease().is_none());
    bench.now += 599_999;
    assert!(bench.lease().is_none());
    bench.now += 1;
    assert_eq!(bench.lease().unwrap().attempt, 2);
    assert!(matches!(
        bench.ack(pull),
        Reply::Refused(Refusal::NotCurrent { .. })
    ));
}

#[test]
fn no_more_is_in_hand_than_the_wip_allows_whoever_takes_it() {
    let mut bench = Bench::new();
    let wip = |bench: &mut Bench, wip| {
        let policy = Policy {
            wip: Some(wip),
            ..Policy::default()
        };
        let mailbox = qa();
        bench.say(Command::Declare { mailbox, policy });
    };
    let pull = Lessee::Pull {
        for_: Duration::from_millis(1_000),
    };
    wip(&mut bench, 1);
    for id in ["a", "b", "c"] {
        bench.append(id, None, "greet", id);
    }
    let first = bench.lease_for(pull).unwrap();
    assert_eq!((bench.lease_for(pull), bench.lease()), (None, None));
    let status = |bench: &Bench| bench.index.status(Moment::from_millis(bench.now))[0].next_deliverable;
    assert_eq!(status(&bench), Some(Moment::from_millis(bench.now + 1_000)));

    // Acked, expired or with a larger limit there is room again.
    bench.ack(first);
    let second = bench.lease_for(pull).unwrap();
    assert_eq!((second.seq, bench.lease_for(pull)), (Seq(2), None));
    bench.now += 1_000;
    assert_eq!(
        bench
            .lease_for(pull)
            .map(|granted| (granted.seq, granted.attempt)),
        Some((Seq(2), 2))
    );
    wip(&mut bench, 2);
    assert_eq!(bench.lease().map(|granted| granted.seq), Some(Seq(3)));
    assert_eq!(status(&bench), Some(Moment::from_millis(bench.now + 1_000)));
}

#[test]
fn a_hand_back_gives_the_attempt_back() {
    let mut bench = Bench::new();
    bench.append("a", None, "ask", "1");
    for _ in 0..20 {
        let granted = bench.lease().unwrap();
        assert_eq!(granted.attempt, 1);
        bench.nack(
            granted,
            Nack::HandBack {
                reason: "draining".to_owned(),
                until: None,
            },
        );
    }
}

#[test]
fn what_is_emitted_is_appended_with_the_ack_and_deduplicated() {
    let mut bench = Bench::new();
    bench.append("a", None, "ask", "1");
    let granted = bench.lease().unwrap();
    let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"qa","intent":"tell","msg_id":"qa/a/0"}"#;
    let emit = Draft::new("drip".parse().unwrap(), Message::parse(line).unwrap());
    let done = Done {
        emits: vec![emit.clone(), emit],
        ..Done::new("done")
    };
    let claim = Claim::Lease {
        seq: granted.seq,
        lease: granted.lease,
    };
    let before = bench.log.len();
    let reply = bench.say(Command::Ack {
        of: qa(),
        claim,
        by: AckedBy::Actor,
        done,
    });
    let known = Appended::Known {
        seq: Seq(1),
        outcome: None,
    };
    assert_eq!(reply, Reply::Acked(vec![Appended::Placed(Seq(1)), known]));
    assert_eq!(bench.log.len() - before, 2, "one ack, one message");
}

#[test]
fn a_clock_that_was_set_back_makes_nothing_wait_for_it() {
    let hour = 60 * 60 * 1_000;
    let mut bench = Bench::new();
    bench.now += 365 * 24 * hour;
    bench.append("rests", None, "ask", "1");
    bench.append("pulled", None, "ask", "1");
    let first = bench.lease().unwrap();
    let rest = bench.nack(first, failed()).next.unwrap().as_millis() - bench.now;
    bench
        .lease_for(Lessee::Pull {
            for_: Duration::from_secs(60),
        })
        .unwrap();
    bench.now -= hour;
    bench.crash();
    assert!(bench.lease().is_none());
    bench.now += rest;
    assert_eq!(bench.lease().unwrap().seq, Seq(1));
    bench.now += 60_000 - rest;
    assert_eq!(bench.lease().unwrap().seq, Seq(2));
}

#[test]
fn a_text_is_cut_at_a_character() {
    let long = "ä".repeat(MAX_TEXT);
    assert_eq!(text(long).len(), MAX_TEXT);
    assert_eq!(text(format!("a{}", "ä".repeat(MAX_TEXT))).len(), MAX_TEXT - 1);
    assert_eq!(&*text("short".to_owned()), "short");
}
