//! Where the token is while jobs run: in the program's own hands, and nowhere that anybody else can look.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use world::{Association, CommentSpec, ThreadSpec, hours_ago};

use super::site::{
    NOW, Repos, assert_nothing_left, at, basic, desk, failing, guarded, hosted, outcome, processes,
};
use crate::support::files;
use crate::support::wait_for;

/// Looks for a token, as it is and as HTTP writes it.
#[derive(Clone)]
struct Looker {
    needles: [String; 2],
}

impl Looker {
    fn of(token: &str) -> Self {
        Self {
            needles: [token.to_owned(), basic(token)],
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.needles.iter().any(|needle| text.contains(needle.as_str()))
    }

    /// Fails where it is in what the system shows of a child. The program itself was given it in its environment, and
    /// a child is still the program until it has become another one.
    fn at_processes(&self, place: &Path, own: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for process in processes(place) {
            if process.command == own || process.command.is_empty() {
                continue;
            }
            assert!(
                !self.is_in(&process.command),
                "in an argument: {}",
                process.command
            );
            assert!(
                !self.is_in(&process.environment),
                "in the environment of {} ({})",
                process.command,
                process.id
            );
            seen.insert(process.command);
        }
        seen
    }

    fn at_files(&self, home: &Path) {
        for file in files(home) {
            // A socket cannot be read.
            let bytes = fs::read(home.join(&file)).unwrap_or_default();
            assert!(!self.is_in(&String::from_utf8_lossy(&bytes)), "in {file}");
        }
    }
}

#[test]
fn the_token_is_in_no_file_no_log_and_no_other_process() {
    let repos = Repos::new();
    let gate = "touch \"$BESIDE/gating\"\nwhile test ! -e \"$BESIDE/go\"; do sleep 0.05; done\n";
    let gated = repos.pull(1, "topic-1", &[("gate.sh", gate)]);
    let clean = repos.pull(5, "topic-5", &[("a", "mine\n")]);
    let asked = repos.pull(9, "topic-9", &[("value", "42\n"), ("value", "43\n")]);
    let commented = repos.tip("ada/r", "refs/heads/topic-9~1");
    repos.base_moves("c", "theirs\n");
    let question = CommentSpec::new("grace", Association::Member, "Why 42?").at(hours_ago(5));
    let hosted = hosted([
        failing(1, "topic-1", &gated),
        at(5, "topic-5", &clean).conflicting(),
        at(9, "topic-9", &asked).thread(ThreadSpec::new("value", question).made_on(&commented)),
    ]);
    let token = hosted.served().token();
    let looker = Looker::of(token);

    // Whoever is at the door of the repositories stops and is looked at.
    let (came, looked_at) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let forge = {
        let (came, looked_at) = (Arc::clone(&came), Arc::clone(&looked_at));
        guarded(&repos, token, move |_| {
            let number = came.fetch_add(1, Ordering::SeqCst) + 1;
            wait_for("looked at", || looked_at.load(Ordering::SeqCst) >= number);
        })
    };
    let desk = desk(&hosted, &format!("http://127.0.0.1:{}", forge.port())).with("RUST_LOG", "trace");
    let beside = desk.home().parent().unwrap().to_owned();
    desk.write(
        "config.toml",
        &format!(
            "[drip]\npush = true\n\n\
             [investigate]\ncommand = \"touch {0}/drafting; while test ! -e {0}/go; do sleep 0.05; done; echo x\"\n\n\
             [[qa.gates]]\nrepo = \"o/r\"\ncommands = [\"sh gate.sh\"]\nenv = [\"BESIDE={0}\"]\n",
            beside.display()
        ),
    );
    let mut run = desk
        .command(&["run", "--once", "--now", NOW])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
        let mut stream = stream.unwrap();
        thread::spawn(move || {
            let mut text = Vec::new();
            stream.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let stdout = read(run.stdout.take().map(|it| Box::new(it) as _));
    let stderr = read(run.stderr.take().map(|it| Box::new(it) as _));
    // A program that is just being started has no arguments yet.
    let mut own = String::new();
    wait_for("started", || {
        let bytes = fs::read(format!("/proc/{}/cmdline", run.id())).unwrap();
        own = String::from_utf8_lossy(&bytes).replace('\0', " ");
        !own.is_empty()
    });

    let mut seen = BTreeSet::new();
    let mut let_go = false;
    while run.try_wait().unwrap().is_none() {
        let there = came.load(Ordering::SeqCst);
        seen.extend(looker.at_processes(&beside, &own));
        if there > looked_at.load(Ordering::SeqCst) {
            looker.at_files(&desk.home());
            looked_at.store(there, Ordering::SeqCst);
        }
        let both = ["gating", "drafting"]
            .iter()
            .all(|name| beside.join(name).exists());
        if both && !let_go {
            seen.extend(looker.at_processes(&beside, &own));
            looker.at_files(&desk.home());
            fs::write(beside.join("go"), "").unwrap();
            let_go = true;
        }
    }
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    assert!(run.wait().unwrap().success(), "{stderr}");
    assert!(!looker.is_in(&stdout) && !looker.is_in(&stderr), "in the log");
    assert!(stderr.contains("TRACE"), "{stderr}");
    looker.at_files(&desk.home());

    // They were there and were looked at.
    assert!(looked_at.load(Ordering::SeqCst) > 6, "{looked_at:?}");
    for program in [
        "git-remote-http",
        " fetch ",
        " push ",
        "sh gate.sh",
        "sh -c touch ",
    ] {
        assert!(
            seen.iter().any(|command| command.contains(program)),
            "{program} was not seen: {seen:#?}"
        );
    }
    assert_eq!(outcome(&desk, "qa", 1), "passed");
    assert!(outcome(&desk, "drip", 5).starts_with("rebased and pushed: 1 commit, "));
    assert!(outcome(&desk, "investigate", 9).contains("; draft: "));
    assert_nothing_left(&desk, "at the end");
}
