//! What holds for any records.

use board::{Fold, Range};
use chrono::TimeDelta;
use mailbox::{FailureKind, QuarantineCause};
use proptest::prelude::*;
use runtime::Overview;

use crate::build::{Sent, ago, at, audited, seen};

fn messages() -> impl Strategy<Value = Vec<(u8, i64, i64, u8)>> {
    prop::collection::vec((0_u8..3, -500_i64..20_000, 0_i64..5_000, 0_u8..7), 0..40)
}

fn lines() -> impl Strategy<Value = Vec<(i64, u32, usize)>> {
    prop::collection::vec((-500_i64..20_000, 1_u32..6, 0_usize..6), 0..60)
}

const BUCKETS: [&str; 6] = ["close", "investigate", "rebase", "qa", "ship", "wait"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_message_is_somewhere_and_every_part_agrees(
        messages in messages(), lines in lines(), days in 1_i64..20
    ) {
        let until = at(crate::build::UNTIL);
        let mut fold = Fold::over(Range::new(until - TimeDelta::days(days), until).unwrap());
        let mut appended = 0;
        for (seq, (actor, began, after, end)) in (1..).zip(&messages) {
            let ended = began - after;
            let sent = Sent::to(["qa", "drip", "retro"][usize::from(*actor)], seq, *began);
            let sent = match end {
                0 => sent,
                1 => sent.passed_over(ended, "superseded"),
                2 => sent.taken(ended, 1).acked(ended, "done"),
                3 => sent.taken(*began, 1).quarantined(ended, QuarantineCause::Attempts),
                4 => sent.taken(*began, 1).quarantined(*began, QuarantineCause::Rejected).retried(ended),
                5 => sent.taken(*began, 1).failed(ended, FailureKind::Panic),
                _ => sent.taken(*began, 1).voided(ended).taken(ended, 2).acked(ended, "done"),
            };
            appended += u64::from(*began > 0 && *began <= days * 24 * 60);
            fold.message(&sent.done());
        }
        for (minutes, pr, bucket) in &lines {
            fold.state(&seen(*minutes, "o/r", *pr, BUCKETS[*bucket]));
            fold.audited(&audited(*minutes, *pr, "<b>"));
        }
        let report = fold.finish(&Overview::default());
        let sum = |of: fn(&board::report::ActorNumbers) -> u64| report.actors.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|actor| actor.appended), appended);
        prop_assert_eq!(report.days.iter().map(|day| day.appended).sum::<u64>(), appended);
        prop_assert_eq!(report.days.iter().map(|day| day.acked).sum::<u64>(), sum(|actor| actor.acked));
        let failed = report.actors.iter().map(|actor| actor.failures.total()).sum::<u64>();
        prop_assert_eq!(report.days.iter().map(|day| day.failed).sum::<u64>(), failed);
        prop_assert_eq!(report.days.iter().map(|day| day.audited).sum::<u64>(), report.audit.total);
        let last = report.samples.last().unwrap();
        prop_assert_eq!(last.unread, sum(|actor| actor.unread));
        let oldest = report.actors.iter().filter_map(|actor| actor.oldest_unread_ms).max();
        prop_assert!(oldest <= last.longest_wait_ms);
        let looks = report.last_dispatch.is_some_and(|latest| until - latest <= TimeDelta::days(1));
        for (bucket, at_the_end) in report.buckets.iter().zip(last.buckets) {
            prop_assert_eq!(if looks { bucket.now } else { 0 }, at_the_end);
        }
        let latest = lines.iter().map(|(minutes, ..)| ago(*minutes)).filter(|ts| *ts < until).max();
        prop_assert_eq!(report.last_dispatch, latest);
        // A document is read back as it was.
        let json = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(&serde_json::from_str::<board::Report>(&json).unwrap(), &report);
        prop_assert!(!report.html().contains("<b>"));
        prop_assert!(report.text().ends_with('\n'));
    }
}
