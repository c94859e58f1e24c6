//! Actors that are programs, or are pulled.

use mailbox::{DeliveryEvent, FailureKind, Policy, Seq};
use runtime::{ActorState, ChildSpec, External};

use crate::support::{Bench, Deed, SECOND, keys, name, state};

fn script(text: &str) -> External {
    External::program(name("script"), ["work"], ["sh", "-c", text])
}

/// One attempt, and no rest before a restart.
fn once() -> ChildSpec {
    ChildSpec::default()
        .policy(Policy {
            max_attempts: 1,
            ..Policy::default()
        })
        .limits(runtime::Limits {
            backoff_base: std::time::Duration::ZERO,
            backoff_cap: std::time::Duration::ZERO,
            ..runtime::Limits::default()
        })
}

#[tokio::test]
async fn a_program_is_run_for_each_message() {
    let bench = Bench::new();
    let text = "cat >> got; echo \"$SWEEP_ACTOR $SWEEP_MSG_ID $SWEEP_ATTEMPT\"";
    let host = bench.host().external(ChildSpec::default(), script(text));
    let running = host.start().await.unwrap();
    bench.tell("script", "one", Deed::Succeed).await;
    bench.tell("script", "two", Deed::Succeed).await;
    running.until_quiet().await.unwrap();
    assert_eq!(bench.outcome("script", "one").await, "script one 1");
    assert_eq!(bench.outcome("script", "two").await, "script two 1");
    let got = std::fs::read_to_string(bench.home.path().join("got")).unwrap();
    let lines: Vec<_> = bench
        .envelopes("script")
        .await
        .into_iter()
        .map(|envelope| envelope.message.line().to_owned())
        .collect();
    assert_eq!(got.lines().collect::<Vec<_>>(), lines);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn how_a_program_fails_is_kept_with_its_kind() {
    let bench = Bench::new();
    let text = "case $SWEEP_MSG_ID in slow) echo wait >&2; sleep 600;; *) echo why >&2; exit 4;; esac";
    let spec = once().deadline(SECOND / 5);
    let running = bench.host().external(spec, script(text)).start().await.unwrap();
    bench.tell("script", "bad", Deed::Succeed).await;
    bench.tell("script", "slow", Deed::Succeed).await;
    bench
        .until(&running, |o| o.actor("script").unwrap().quarantined == 2)
        .await;
    let history = bench
        .mailboxes
        .history(&name("script"), Seq::FIRST..=Seq(2))
        .await
        .unwrap();
    let failures: Vec<_> = history
        .into_iter()
        .flat_map(|(_, events)| events)
        .filter_map(|stamped| match stamped.event {
            DeliveryEvent::Failed { kind, reason, .. } => Some((kind, reason.to_string())),
            _ => None,
        })
        .collect();
    let expected = [
        (FailureKind::Error, "sh ended with exit code 4: why".to_owned()),
        (
            FailureKind::Deadline,
            "sh ran longer than 0.2 s and was ended: wait".to_owned(),
        ),
    ];
    assert_eq!(failures, expected);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn programs_run_side_by_side_as_declared() {
    let bench = Bench::new();
    // Each waits until the other is there.
    let text = "touch \"$SWEEP_MSG_ID\"; while [ ! -e a ] || [ ! -e b ]; do sleep 0.01; done";
    let spec = ChildSpec::default().wip(2);
    let running = bench.host().external(spec, script(text)).start().await.unwrap();
    bench.tell("script", "a", Deed::Succeed).await;
    bench.tell("script", "b", Deed::Succeed).await;
    bench
        .until(&running, |o| o.actor("script").unwrap().unread == 0)
        .await;
    assert_eq!(bench.outcome("script", "a").await, "done");
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_takes_its_actor_down_and_costs_no_attempt() {
    let bench = Bench::new();
    let absent = External::program(name("script"), ["work"], ["./not-there"]);
    bench.tell("script", "one", Deed::Succeed).await;
    let running = bench.host().external(once(), absent).start().await.unwrap();
    let overview = bench.until(&running, |o| state(o, "script") == "down").await;
    assert_eq!(keys(&overview), ["down/script"]);
    assert_eq!(
        overview.attention[0].text,
        "script is down, it failed too often: cannot start: ./not-there is not there, or not executable"
    );
    assert_eq!(bench.envelope("script", "one").await.attempts, 0);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn an_actor_that_is_pulled_is_elsewhere_and_its_messages_wait() {
    let bench = Bench::new();
    let spec = ChildSpec::default().policy(Policy {
        max_attempts: 1,
        ..Policy::default()
    });
    let desk = External::pulled(name("desk"), ["work"]);
    let running = bench.host().external(spec, desk).start().await.unwrap();
    bench.tell("desk", "one", Deed::Succeed).await;
    running.until_quiet().await.unwrap();
    let overview = running.overview().await.unwrap();
    let desk = overview.actor("desk").unwrap();
    assert_eq!((&desk.state, desk.unread), (&ActorState::Elsewhere, 1));
    bench.clock.advance(31 * 60 * SECOND);
    let overview = running.overview().await.unwrap();
    assert_eq!(keys(&overview), ["unread/desk"]);
    assert_eq!(
        overview.attention[0].mend,
        "start desk, or take its messages one by one with `sweep next desk`"
    );
    // Its policy is its own: the first failure was its last.
    let lessee = mailbox::Lessee::Pull { for_: SECOND };
    let taken = bench
        .mailboxes
        .try_lease(&name("desk"), lessee)
        .await
        .unwrap()
        .unwrap();
    let nack = mailbox::Nack::Failed {
        reason: "no".into(),
        retry_after: None,
        kind: FailureKind::Explained,
    };
    assert!(bench.mailboxes.nack(taken.lease, nack).await.unwrap().quarantined);
    running.drain(SECOND).await;
}

/// What somebody outside has in hand does not keep a round from ending.
#[tokio::test]
async fn a_pulled_message_does_not_keep_a_host_from_being_quiet() {
    let bench = Bench::new();
    bench
        .mailboxes
        .declare("script".parse().unwrap(), Policy::default())
        .await
        .unwrap();
    bench.tell("script", "pulled", Deed::Succeed).await;
    let lessee = mailbox::Lessee::Pull { for_: SECOND * 600 };
    let pulled = bench
        .mailboxes
        .try_lease(&"script".parse().unwrap(), lessee)
        .await
        .unwrap()
        .unwrap();
    bench.tell("script", "here", Deed::Succeed).await;
    let running = bench
        .host()
        .external(ChildSpec::default(), script("true"))
        .start()
        .await
        .unwrap();
    running.until_quiet().await.unwrap();
    // It counts as in hand, so nothing else is taken meanwhile.
    assert_eq!(bench.status("script").await.unread, 2);
    bench
        .mailboxes
        .ack(pulled.lease, mailbox::Done::new("by hand"))
        .await
        .unwrap();
    bench
        .until(&running, |o| o.actor("script").unwrap().unread == 0)
        .await;
    running.drain(SECOND).await;
}

/// Contract, section 3, rule 4: one at a time unless an actor declares more, for those who pull too.
#[tokio::test]
async fn of_those_who_pull_at_once_as_many_get_a_message_as_the_actor_declares() {
    let bench = Bench::new();
    let running = bench
        .host()
        .external(ChildSpec::default(), External::pulled(name("desk"), ["work"]))
        .external(
            ChildSpec::default().wip(2),
            External::pulled(name("counter"), ["work"]),
        )
        .registry(|registry| registry.external(name("elsewhere"), ["work"]).map(drop))
        .start()
        .await
        .unwrap();
    for (actor, most) in [("desk", 1), ("counter", 2), ("elsewhere", 1)] {
        for n in 0..3 {
            bench.tell(actor, &format!("{actor} {n}"), Deed::Succeed).await;
        }
        let of = name(actor);
        let lessee = mailbox::Lessee::Pull { for_: 60 * SECOND };
        let all = tokio::join!(
            bench.mailboxes.try_lease(&of, lessee),
            bench.mailboxes.try_lease(&of, lessee),
            bench.mailboxes.try_lease(&of, lessee),
        );
        let all = [all.0, all.1, all.2].map(Result::unwrap);
        assert_eq!(all.iter().flatten().count(), most, "{actor}");
        // An ack makes room.
        let first = all.into_iter().flatten().next().unwrap();
        bench
            .mailboxes
            .ack(first.lease, mailbox::Done::new("done"))
            .await
            .unwrap();
        assert!(bench.mailboxes.try_lease(&of, lessee).await.unwrap().is_some());
        assert!(bench.mailboxes.try_lease(&of, lessee).await.unwrap().is_none());
    }
    running.drain(SECOND).await;
}
