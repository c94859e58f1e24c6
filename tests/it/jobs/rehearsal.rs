//! `replay --rerun` of actors that act on the world: it ends where the act would be, and says so.

use serde_json::Value;
use world::{CommitSpec, hours_ago};

use super::site::{NOW, Repos, at, desk, failing, hosted, round};

fn rerun(replayed: &Value, number: u32) -> &Value {
    let messages = replayed["messages"].as_array().unwrap();
    let about = |message: &&Value| message["message"]["pr"] == number;
    &messages.iter().find(about).unwrap()["rerun"]
}

#[test]
fn a_rerun_goes_as_far_as_the_act_and_says_what_it_left_undone() {
    let repos = Repos::new();
    let gated = repos.pull(1, "topic-1", &[("gate.sh", "true\n")]);
    let clean = repos.pull(5, "topic-5", &[("a", "mine\n")]);
    repos.base_moves("c", "theirs\n");
    let hosted = hosted([
        failing(1, "topic-1", &gated),
        at(5, "topic-5", &clean).conflicting(),
    ]);
    let desk = desk(&hosted, &repos.base());
    desk.write(
        "config.toml",
        "[drip]\npush = true\n\n[[qa.gates]]\nrepo = \"o/r\"\ncommands = [\"sh gate.sh\"]\n",
    );
    round(&desk);
    let pushed = repos.reflog("topic-5");

    for (actor, number, act) in [
        ("qa", 1, "check out o/r#1"),
        ("drip", 5, "rebase o/r#5 onto main"),
    ] {
        let replayed = desk.json(&["replay", actor, "--rerun", "--json", "--now", NOW]);
        let rerun = rerun(&replayed, number);
        assert_eq!(
            (&rerun["verdict"], &rerun["stopped_at"], &rerun["read"]),
            (&"stopped".into(), &act.into(), &"unknown".into()),
            "{rerun}"
        );
        assert_eq!(replayed["summary"]["stopped"], 1);
        let text = desk.good(&["replay", actor, "--rerun", "--now", NOW]);
        let said = format!(
            "  now   comes as far as this: {act}\n  why   a replay does nothing outside; what would come of it is not known\n"
        );
        assert!(text.contains(&said), "{text}");
        assert_eq!(text.matches(act).count(), 1, "{text}");
        assert!(
            text.ends_with("1 ended before an act outside, which a replay does not do\n"),
            "{text}"
        );
    }
    assert_eq!(repos.reflog("topic-5"), pushed);

    // When GitHub shows the push, the rerun knows it for its own.
    let tip = repos.pull_follows_its_branch(5, "topic-5");
    hosted.served().edit(|world| {
        let commit = CommitSpec::at(hours_ago(1)).oid(&tip);
        world.force_push(("o/r", 5), commit).unwrap();
    });
    let replayed = desk.json(&["replay", "drip", "--rerun", "--json", "--now", NOW]);
    assert_eq!(rerun(&replayed, 5)["verdict"], "same", "{replayed}");
}
