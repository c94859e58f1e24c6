//! The whole path once: what is dispatched, what is done about it, and what is in the repositories afterwards.

use std::fs;

use serde_json::Value;
use world::{Association, CommentSpec, ReviewSpec, ThreadSpec, hours_ago};

use super::site::{Repos, assert_nothing_left, at, desk, failing, hosted, outcome, round};
use crate::support::wait_for;

/// Starts one process in the gate's group and one outside of it, and waits for both.
const NEVER_ENDS: &str = "sleep 1000 & echo $! >> \"$PIDS\"\nsetsid sleep 1000 & echo $! >> \"$PIDS\"\necho $$ >> \"$PIDS\"\nwait\n";

#[test]
fn gates_are_run_branches_rebased_questions_briefed_and_decisions_listed() {
    let repos = Repos::new();
    let main = repos.tip("o/r", "main");
    let gate = |number: u32, script: &str| {
        let files = [("value", "42\n"), ("gate.sh", script)];
        repos.pull(number, &format!("topic-{number}"), &files)
    };
    let moves = "git -C \"$BARE\" update-ref refs/pull/4/head refs/heads/main\n";
    let gated = [
        gate(1, "test \"$(cat value)\" = 42\n"),
        gate(2, "echo building\necho 'error: no such thing' >&2\nexit 3\n"),
        gate(3, NEVER_ENDS),
        gate(4, moves),
    ];
    let clean = repos.pull(5, "topic-5", &[("a", "mine\n"), ("b", "mine\n")]);
    let conflicting = repos.pull(6, "topic-6", &[("README", "one\nmine\nthree\n")]);
    let moved = repos.pull(7, "topic-7", &[("d", "mine\n")]);
    let other = repos.moved_by_another("topic-7");
    let refused = repos.pull(8, "topic-8", &[("e", "mine\n")]);
    let protect = "case \"$1\" in refs/heads/topic-8) echo 'this branch is protected' >&2; exit 1;; esac";
    repos.hook("ada/r", "update", protect);
    let asked = repos.pull(9, "topic-9", &[("value", "42\n"), ("value", "43\n")]);
    let commented = repos.tip("ada/r", "refs/heads/topic-9~1");
    let unwanted = repos.pull(10, "topic-10", &[("f", "mine\n")]);
    repos.base_moves("README", "one\ntheirs\nthree\n");
    let base = repos.tip("o/r", "refs/heads/main");

    let question = CommentSpec::new("grace", Association::Member, "Why 42?").at(hours_ago(5));
    let thread = ThreadSpec::new("value", question)
        .made_on(&commented)
        .hunk("@@ -0,0 +1 @@\n+42");
    let no = ReviewSpec::changes_requested("grace", "Please close this, it is not needed any more.")
        .by_a(Association::Member)
        .at(hours_ago(5));
    let mut pulls: Vec<_> = (1_u32..)
        .zip(&gated)
        .map(|(number, head)| failing(number, &format!("topic-{number}"), head))
        .collect();
    pulls.extend([
        at(5, "topic-5", &clean).conflicting(),
        at(6, "topic-6", &conflicting).conflicting(),
        at(7, "topic-7", &moved).conflicting(),
        at(8, "topic-8", &refused).conflicting(),
        at(9, "topic-9", &asked).thread(thread),
        at(10, "topic-10", &unwanted).review(no),
    ]);
    let hosted = hosted(pulls);
    let desk = desk(&hosted, &repos.base());
    let pids = desk.beside("pids");
    desk.write(
        "config.toml",
        &format!(
            "[drip]\npush = true\n\n[investigate]\ncommand = \"grep -q 'Why 42' && echo Since 41 was taken\"\n\n\
             [[qa.gates]]\nrepo = \"o/r\"\ncommands = [\"sh gate.sh\"]\ntimeout = \"4s\"\n\
             env = [\"PIDS={}\", \"BARE={}\"]\n",
            pids.display(),
            repos.bare("o/r").display()
        ),
    );
    let queued = r#"{"repo":"o/r","pr_number":5,"branch":"topic-5","status":"open"}"#;
    desk.write("drip-queue/mine.jsonl", &format!("{queued}\n"));
    round(&desk);

    assert_eq!(outcome(&desk, "qa", 1), "passed");
    let attested: Value = serde_json::from_str(&desk.read("gates/o-r.gate")).unwrap();
    assert_eq!(
        (&attested["pr"], &attested["head"]),
        (&1.into(), &gated[0].clone().into())
    );
    assert_eq!(
        outcome(&desk, "qa", 2),
        "failed: sh gate.sh: error: no such thing (log: gates/logs/o/r-2-1.log)"
    );
    assert!(desk.read("gates/logs/o/r-2-1.log").contains("building"));
    assert_eq!(
        outcome(&desk, "qa", 3),
        "failed: sh gate.sh (ended after 4 s, its limit) (log: gates/logs/o/r-3-1.log)"
    );
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 3);
    for pid in pids.lines() {
        let runs =
            || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        wait_for("ended", || !runs());
    }
    assert_eq!(
        outcome(&desk, "qa", 4),
        format!("moot: the head moved to {} while the gates ran", &base[..7])
    );

    let pushed = repos.tip("ada/r", "refs/heads/topic-5");
    assert_eq!(
        outcome(&desk, "drip", 5),
        format!("rebased and pushed: 2 commits, now at {}", &pushed[..7])
    );
    assert_eq!(repos.reflog("topic-5"), [pushed.clone(), clean]);
    assert_eq!(repos.tip("ada/r", "refs/heads/topic-5~2"), base);
    assert_ne!(base, main);
    let line: Value =
        serde_json::from_str(desk.read("drip-queue/mine.jsonl").lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        (&line["rebase"], &line["head_sha"], &line["status"]),
        (&"pushed".into(), &pushed.into(), &"open".into())
    );
    assert_eq!(outcome(&desk, "drip", 6), "conflict: README");
    assert_eq!(repos.reflog("topic-6"), [conflicting]);
    let page = desk.read("rebases/o/r-6.md");
    assert!(
        page.contains("Refactor README") && page.contains("Change README"),
        "{page}"
    );
    assert_eq!(
        outcome(&desk, "drip", 7),
        format!("moot: not pushed, the branch moved to {} meanwhile", &other[..7])
    );
    assert_eq!(repos.reflog("topic-7"), [other, moved]);
    let said = outcome(&desk, "drip", 8);
    assert!(
        said.starts_with("listed for a person: rebase (the push was refused: "),
        "{said}"
    );
    assert!(said.contains("this branch is protected"), "{said}");
    assert_eq!(repos.reflog("topic-8"), [refused]);
    assert_eq!(outcome(&desk, "drip", 10), "listed for a decision: close");
    let decisions = desk.read("DECISIONS.md");
    assert_eq!(decisions.matches("- [ ] ").count(), 3, "{decisions}");
    assert_eq!(
        desk.read("pushes.jsonl").lines().count(),
        3,
        "each before it is tried"
    );

    assert_eq!(
        outcome(&desk, "investigate", 9),
        "briefed: investigations/o-r-9.md; draft: investigations/o-r-9.draft.md"
    );
    assert!(desk.read("investigations/o-r-9.md").contains("-42\n+43"));
    assert_eq!(desk.read("investigations/o-r-9.draft.md"), "Since 41 was taken\n");
    assert_nothing_left(&desk, "at the end");

    // A second round finds all of it done.
    round(&desk);
    assert_eq!(repos.reflog("topic-5").len(), 2);
    assert_eq!(desk.read("DECISIONS.md"), decisions);
}
