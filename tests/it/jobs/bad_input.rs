//! What jobs meet in the wild: each a clear outcome, and a message comes again only where that can help.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine as _;
use serde_json::Value;
use world::{Association, CommitSpec, PullSpec, RepoSpec, ReviewSpec, World, hours_ago};

use super::site::{
    NOW, Repos, assert_nothing_left, at, desk, failing, hosted, message, outcome, processes, round,
};
use crate::support::{Desk, Hosted, wait_for};

const GATE: &str = "[drip]\npush = true\n\n[[qa.gates]]\nrepo = \"o/r\"\ncommands = [\"sh gate.sh\"]\n";

/// A pull request for `qa` (1) and one for `drip` (5) that rebases cleanly.
fn two(repos: &Repos) -> [PullSpec; 2] {
    let gated = repos.pull(1, "topic-1", &[("value", "42\n"), ("gate.sh", "grep 42 value\n")]);
    let clean = repos.pull(5, "topic-5", &[("a", "mine\n")]);
    repos.base_moves("c", "theirs\n");
    [
        failing(1, "topic-1", &gated),
        at(5, "topic-5", &clean).conflicting(),
    ]
}

/// Asks `qa` again, by hand.
fn ask_again(desk: &Desk, id: &str) {
    let about = ["--repo", "o/r", "--pr", "1", "--msg-id", id];
    desk.good(&[&["send", "qa", "reattest"], &about[..]].concat());
}

/// The message with this id.
fn by_id(desk: &Desk, id: &str) -> Value {
    let listed = desk.json(&["inbox", "qa", "--json"]);
    let mut messages = listed["messages"].as_array().unwrap().clone();
    messages.retain(|message| message["message"]["msg_id"] == id);
    messages.remove(0)
}

/// `qa` waits, since with git all of it can be done; a branch can be rebased by its author meanwhile.
#[test]
fn without_git_gates_wait_and_rebases_are_a_persons() {
    let repos = Repos::new();
    let hosted = hosted(two(&repos));
    let desk = hosted
        .desk()
        .with("SWEEP_GIT_BASE", &repos.base())
        .with("RUST_LOG", "warn");
    desk.write("config.toml", GATE);
    let ended = round(&desk);
    let waiting = message(&desk, "qa", 1);
    assert_eq!(
        (&waiting["state"], &waiting["attempts"]),
        (&"unread".into(), &0.into()),
        "{waiting}"
    );
    assert!(
        ended.stderr.contains("git is not there (or not in PATH)"),
        "{ended:?}"
    );
    assert_eq!(
        outcome(&desk, "drip", 5),
        "listed for a person: rebase (git is not there (or not in PATH))"
    );
    assert!(
        desk.read("DECISIONS.md")
            .contains("**rebase** the branch and push it")
    );
}

/// One repository alone is larger than `[work] disk` allows: no retry makes it smaller.
#[test]
fn a_repository_larger_than_the_room_allowed_is_set_aside_and_said() {
    let repos = Repos::new();
    // Nothing makes it smaller than it was before it became text.
    let mut noise = vec![0; 18 * 1024 * 1024];
    fastrand::Rng::with_seed(7).fill(&mut noise);
    let noise = base64::engine::general_purpose::STANDARD.encode(noise);
    repos.base_moves("noise", &noise);
    let hosted = hosted(two(&repos));
    let desk = desk(&hosted, &repos.base());
    desk.write("config.toml", &format!("{GATE}\n[work]\ndisk = \"16 MiB\"\n"));
    round(&desk);
    let set_aside = message(&desk, "qa", 1);
    assert_eq!(set_aside["state"], "quarantined", "{set_aside}");
    assert!(
        set_aside["reason"]
            .as_str()
            .unwrap()
            .contains("o/r is larger than the 16777216 bytes allowed"),
        "{set_aside}"
    );
    assert_eq!(
        outcome(&desk, "drip", 5),
        "listed for a person: rebase (o/r is larger than the 16777216 bytes allowed)"
    );
    assert_nothing_left(&desk, "at the end");
}

/// A file system in memory, gone with this.
struct Small(PathBuf);

impl Small {
    fn at(path: PathBuf) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"])
            .arg(&path)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

#[test]
fn on_a_full_disk_jobs_wait_and_go_on_when_there_is_room() {
    let repos = Repos::new();
    let hosted = hosted(two(&repos));
    let desk = desk(&hosted, &repos.base()).with("RUST_LOG", "warn");
    desk.write("config.toml", GATE);
    let Some(small) = Small::at(desk.home().join("work")) else {
        eprintln!("skipped: a small file system cannot be mounted here");
        return;
    };
    let filler = small.0.join("filler");
    // Until nothing more fits.
    assert!(fs::write(&filler, vec![1; 4 << 20]).is_err());
    let ended = round(&desk);
    for (actor, number) in [("qa", 1), ("drip", 5)] {
        let waiting = message(&desk, actor, number);
        assert_eq!(
            (&waiting["state"], &waiting["attempts"]),
            (&"unread".into(), &0.into()),
            "{waiting}"
        );
    }
    assert!(ended.stderr.contains("the disk is full"), "{ended:?}");
    assert_eq!(repos.reflog("topic-5").len(), 1);
    fs::remove_file(filler).unwrap();
    ask_again(&desk, "again");
    round(&desk);
    assert_eq!(by_id(&desk, "again")["outcome"], "passed");
}

#[test]
fn a_deleted_fork_is_gated_and_its_branch_left_to_a_person() {
    let repos = Repos::new();
    let [gated, clean] = two(&repos);
    let hosted = hosted([gated.fork_deleted(), clean.fork_deleted()]);
    fs::remove_dir_all(repos.bare("ada/r")).unwrap();
    let desk = desk(&hosted, &repos.base());
    desk.write("config.toml", GATE);
    round(&desk);
    assert_eq!(outcome(&desk, "qa", 1), "passed");
    assert_eq!(
        outcome(&desk, "drip", 5),
        "listed for a person: rebase (the fork of its branch is deleted)"
    );
}

#[test]
fn a_branch_is_pushed_under_its_own_name_whatever_it_is() {
    let repos = Repos::new();
    let names = ["--force", "-f/x", "ünïcödé/枝", "quote'\"$(touch-x)`y`;"];
    let pulls: Vec<PullSpec> = (1_u32..)
        .zip(names)
        .map(|(number, name)| {
            let head = repos.pull(number, name, &[("a", &format!("{number}\n"))]);
            at(number, name, &head).conflicting()
        })
        .collect();
    repos.base_moves("c", "theirs\n");
    let hosted = hosted(pulls);
    let desk = desk(&hosted, &repos.base());
    desk.write("config.toml", GATE);
    round(&desk);
    for (number, name) in (1_u32..).zip(names) {
        let said = outcome(&desk, "drip", number);
        assert!(
            said.starts_with("rebased and pushed: 1 commit, "),
            "{name}: {said}"
        );
        assert_eq!(repos.reflog(name).len(), 2, "{name}");
    }
}

/// Titles, words and files of others steer no terminal that shows what became of them.
#[test]
fn what_would_steer_a_terminal_is_shown_and_does_nothing() {
    const RED: &str = "\u{1b}[31mred\u{1b}]0;owned\u{7}";
    let repos = Repos::new();
    let script = format!("printf 'error: {RED}\\n'\nexit 1\n");
    let gated = repos.pull(1, "topic-1", &[("gate.sh", &script)]);
    let file = format!("a{RED}");
    let conflicting = repos.pull(6, "topic-6", &[(&file, "mine\n")]);
    let unwanted = repos.pull(10, "topic-10", &[("f", "mine\n")]);
    repos.base_moves(&file, "theirs\n");
    let title = format!("Paint it {RED}");
    let no = ReviewSpec::changes_requested("grace", &format!("Please close this {RED}"))
        .by_a(Association::Member)
        .at(hours_ago(5));
    let hosted = hosted([
        failing(1, "topic-1", &gated).title(&title),
        at(6, "topic-6", &conflicting).conflicting().title(&title),
        at(10, "topic-10", &unwanted).review(no).title(&title),
    ]);
    let desk = desk(&hosted, &repos.base());
    desk.write("config.toml", GATE);
    round(&desk);
    let (failed, conflict) = (outcome(&desk, "qa", 1), outcome(&desk, "drip", 6));
    assert!(failed.contains("error: \\u{1b}[31mred"), "{failed}");
    assert!(conflict.starts_with("conflict: a\\u{1b}[31mred"), "{conflict}");
    let decisions = desk.read("DECISIONS.md");
    assert_eq!(decisions.matches("- [ ] ").count(), 2, "{decisions}");
    let mut shown = vec![failed, conflict, decisions];
    shown.extend(["rebases/o/r-6.md", "PR_STATE.md", "pr-state.jsonl"].map(|file| desk.read(file)));
    shown.extend(["inbox/qa.jsonl", "inbox/drip.jsonl", "inbox/_acks.jsonl"].map(|file| desk.read(file)));
    shown.extend([
        desk.good(&["inbox", "qa"]),
        desk.good(&["inbox", "drip"]),
        desk.good(&["replay", "drip"]),
        desk.good(&["pr", "o/r#6"]),
    ]);
    for text in shown {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}

#[test]
fn a_gate_that_asks_for_input_reads_its_end() {
    let repos = Repos::new();
    let script = "read answer && exit 0\necho \"error: nobody answered [$answer]\"\nexit 1\n";
    let gated = repos.pull(1, "topic-1", &[("gate.sh", script)]);
    let hosted = hosted([failing(1, "topic-1", &gated)]);
    let desk = desk(&hosted, &repos.base());
    desk.write("config.toml", GATE);
    round(&desk);
    assert_eq!(
        outcome(&desk, "qa", 1),
        "failed: sh gate.sh: error: nobody answered [] (log: gates/logs/o/r-1-1.log)"
    );
}

/// A daemon that a gate leaves behind goes with it, and what it prints without end is read and cut.
#[test]
fn a_gate_that_leaves_a_daemon_or_prints_without_end_ends() {
    let repos = Repos::new();
    let script = "setsid sleep 1000 > /dev/null 2>&1 &\nhead -c 200000000 /dev/zero | tr '\\0' x\necho; echo 'FAILED: at last'\nexit 1\n";
    let gated = repos.pull(1, "topic-1", &[("gate.sh", script)]);
    let hosted = hosted([failing(1, "topic-1", &gated)]);
    let desk = desk(&hosted, &repos.base());
    desk.write("config.toml", GATE);
    round(&desk);
    assert!(outcome(&desk, "qa", 1).contains("FAILED: at last"));
    assert!(desk.read("gates/logs/o/r-1-1.log").len() < 10_000_000);
    wait_for("ended", || processes(&desk.home()).is_empty());
}

/// A message under the old name finds the repository, and gates may be configured under either.
#[test]
fn a_repository_that_was_renamed_is_found_under_its_new_name() {
    for configured in ["o/r", "o/new"] {
        let repos = Repos::new();
        let gated = repos.pull(1, "topic-1", &[("gate.sh", "true\n")]);
        fs::rename(repos.bare("o/r"), repos.bare("o/new")).unwrap();
        let pull = PullSpec::new("o/new", 1)
            .branch("topic-1")
            .from_fork_of("ada")
            .head(CommitSpec::at(hours_ago(30)).oid(&gated));
        let world = World::builder(NOW)
            .viewer("ada")
            .repo(RepoSpec::new("o/new").renamed_from("o/r"))
            .pull(pull)
            .build();
        let hosted = Hosted::new(world);
        let desk = desk(&hosted, &repos.base());
        desk.write("config.toml", &GATE.replace("o/r", configured));
        ask_again(&desk, "old-name");
        desk.good(&["run", "--once", "--actors", "qa", "--now", NOW]);
        assert_eq!(by_id(&desk, "old-name")["outcome"], "passed", "{configured}");
        assert!(desk.read("gates/o-new.gate").contains("\"repo\": \"o/new\""));
    }
}
