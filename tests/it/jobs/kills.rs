//! The program is killed while it fetches, runs a gate, rebases and pushes: after a restart the end is the same, a
//! branch is pushed once, and nothing stays behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use world::{CommitSpec, hours_ago};

use super::forge::Forge;
use super::site::{NOW, Repos, assert_nothing_left, at, desk, failing, guarded, hosted, message, processes};
use crate::support::{Desk, Hosted, files, wait_for};

/// Kills in an ordinary test run.
const KILLS: u32 = 10;
/// Kills with `SWEEP_LONG` set.
const LONG_KILLS: u32 = 200;

const JOBS: [&str; 6] = ["run", "--once", "--actors", "qa,drip", "--now", NOW];

/// The pull requests of the scene: whose, and which actor has a message about it.
const GATED: u32 = 1;
const CLEAN: u32 = 5;
const CONFLICTING: u32 = 6;
const ASKED: [(&str, u32); 3] = [("qa", GATED), ("drip", CLEAN), ("drip", CONFLICTING)];
const BRANCH: &str = "topic-5";

/// When the program is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After this part of the time that it takes undisturbed.
    After(f64),
    /// While the gate sleeps.
    InTheGate,
    /// When this request, from 1, has come to the repositories: git waits for its answer.
    Asking(usize),
    /// When a hook of the repository has the push in hand. It lets go before the restart.
    PushingThen,
    /// The same; it lets go when the restart is over.
    PushingStill,
    /// When a file of this name is in a work tree.
    Seen(&'static str),
}

impl Moment {
    /// Each kind in turn, at a moment within it that is drawn.
    fn draw(number: u32, dice: &mut fastrand::Rng) -> Self {
        const SEEN: [&str; 3] = ["index.lock", "rebase-merge", "REBASE_HEAD"];
        match number % 6 {
            0 => Self::InTheGate,
            1 => Self::Asking(dice.usize(1..=6)),
            2 => Self::PushingThen,
            3 => Self::PushingStill,
            4 => Self::Seen(SEEN[dice.usize(..SEEN.len())]),
            _ => Self::After(dice.f64()),
        }
    }
}

/// Holds one request until it is opened.
struct Valve {
    at: usize,
    count: AtomicUsize,
    reached: AtomicBool,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Valve {
    fn at(at: usize) -> Arc<Self> {
        Arc::new(Self {
            at,
            count: AtomicUsize::new(0),
            reached: AtomicBool::new(false),
            open: Mutex::new(false),
            opened: Condvar::new(),
        })
    }

    fn pass(&self) {
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.reached.store(true, Ordering::SeqCst);
            let open = self.open.lock().unwrap();
            drop(self.opened.wait_while(open, |open| !*open).unwrap());
        }
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// A home with three messages, and everything around it.
struct Scene {
    repos: Repos,
    hosted: Hosted,
    desk: Desk,
    valve: Arc<Valve>,
    _forge: Forge,
    head: String,
}

impl Scene {
    /// The messages are there and nothing is done yet.
    fn new(master: &Repos, hold: usize) -> Self {
        let repos = master.copy();
        let tip = |number: u32| repos.tip("o/r", &format!("refs/pull/{number}/head"));
        let head = tip(CLEAN);
        let hosted = hosted([
            failing(GATED, "topic-1", &tip(GATED)),
            at(CLEAN, BRANCH, &head).conflicting(),
            at(CONFLICTING, "topic-6", &tip(CONFLICTING)).conflicting(),
        ]);
        let valve = Valve::at(hold);
        let forge = {
            let valve = Arc::clone(&valve);
            guarded(&repos, hosted.served().token(), move |_| valve.pass())
        };
        let desk = desk(&hosted, &format!("http://127.0.0.1:{}", forge.port()));
        desk.write(
            "config.toml",
            &format!(
                "[drip]\npush = true\n\n[[qa.gates]]\nrepo = \"o/r\"\ncommands = [\"sh gate.sh\"]\nenv = [\"HOLD={}\"]\n",
                desk.beside("hold").display()
            ),
        );
        let queued = r#"{"repo":"o/r","pr_number":5,"branch":"topic-5","status":"open"}"#;
        desk.write("drip-queue/mine.jsonl", &format!("{queued}\n"));
        desk.good(&["pr-state", "--now", NOW]);
        Self {
            repos,
            hosted,
            desk,
            valve,
            _forge: forge,
            head,
        }
    }

    fn start(&self) -> Child {
        let mut command = self.desk.command(&JOBS);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// What GitHub does by itself: the pull request is where its branch is.
    fn github_sees_the_push(&self) {
        let tip = self.repos.pull_follows_its_branch(CLEAN, BRANCH);
        if tip != self.head {
            self.hosted.served().edit(|world| {
                let commit = CommitSpec::at(hours_ago(1)).oid(&tip);
                world.force_push(("o/r", CLEAN), commit).unwrap();
            });
        }
    }

    /// Runs until every message is done; what failed because of the kill rests for a moment.
    fn finish(&self) {
        wait_for("done", || {
            self.desk.good(&JOBS);
            ASKED
                .iter()
                .all(|(actor, number)| message(&self.desk, actor, *number)["state"] != "unread")
        });
    }

    fn end(&self) -> End {
        let about = |(actor, number): &(&str, u32)| {
            let message = message(&self.desk, actor, *number);
            let end = format!("{}: {}", message["state"], message["outcome"]);
            (format!("{actor} {number}"), end)
        };
        let kept = |file: &String| {
            ["DECISIONS.md", "pushes.jsonl"].contains(&file.as_str())
                || ["rebases/", "drip-queue/"]
                    .iter()
                    .any(|folder| file.starts_with(folder))
        };
        let home = self.desk.home();
        let mut kept: BTreeMap<String, String> = files(&home)
            .into_iter()
            .filter(kept)
            .map(|file| (file.clone(), self.desk.read(&file)))
            .collect();
        let mut attested: Value = serde_json::from_str(&self.desk.read("gates/o-r.gate")).unwrap();
        attested["commands"][0]["seconds"] = Value::Null;
        kept.insert("gate".to_owned(), attested.to_string());
        End {
            outcomes: ASKED.iter().map(about).collect(),
            files: kept,
            branch: self.repos.reflog(BRANCH),
        }
    }
}

/// What is there when everything is done.
#[derive(Debug, PartialEq, Eq)]
struct End {
    outcomes: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
    branch: Vec<String>,
}

/// A gate that can be held, a branch of eight commits that rebases cleanly, and one that does not.
fn repos() -> Repos {
    let repos = Repos::new();
    let gate = "while test -e \"$HOLD\"; do sleep 0.1; done\ntest \"$(cat value)\" = 42\n";
    repos.pull(GATED, "topic-1", &[("value", "42\n"), ("gate.sh", gate)]);
    let steps = ["1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n", "8\n"];
    repos.pull(CLEAN, BRANCH, &steps.map(|text| ("b", text)));
    repos.pull(CONFLICTING, "topic-6", &[("README", "one\nmine\nthree\n")]);
    repos.base_moves("README", "one\ntheirs\nthree\n");
    repos
}

#[test]
fn jobs_killed_at_any_moment_come_to_the_same_end_and_push_once() {
    let master = repos();
    let undisturbed = Scene::new(&master, usize::MAX);
    let began = Instant::now();
    undisturbed.desk.good(&JOBS);
    let whole = began.elapsed();
    let expected = undisturbed.end();
    assert_eq!(expected.branch.len(), 2, "{expected:?}");
    assert_nothing_left(&undisturbed.desk, "undisturbed");

    let kills = match std::env::var_os("SWEEP_LONG") {
        Some(_) => LONG_KILLS,
        None => KILLS,
    };
    let seed = std::env::var("SWEEP_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SWEEP_SEED={seed}, undisturbed it takes {whole:?}");
    let mut dice = fastrand::Rng::with_seed(seed);
    for number in 0..kills {
        let moment = Moment::draw(number, &mut dice);
        let when = format!("SWEEP_SEED={seed}, kill {number}, {moment:?}");
        let scene = killed(&master, moment, whole);
        assert_eq!(scene.end(), expected, "{when}");
        assert_nothing_left(&scene.desk, &when);
    }
}

/// Kills the program at this moment and lets another one do the rest.
fn killed(master: &Repos, moment: Moment, whole: Duration) -> Scene {
    let hold = match moment {
        Moment::Asking(which) => which,
        _ => usize::MAX,
    };
    let scene = Scene::new(master, hold);
    let place = scene.desk.home();
    let holding = scene.repos.path().join("holding");
    let held = match moment {
        Moment::InTheGate => scene.desk.beside("hold"),
        _ => scene.repos.path().join("held"),
    };
    fs::write(&held, "").unwrap();
    if matches!(moment, Moment::PushingThen | Moment::PushingStill) {
        hold_the_first_push(&scene, &holding, &held);
    }
    let mut child = scene.start();
    let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
    match moment {
        // The moment of the kill is what is drawn: this is no wait for a condition.
        Moment::After(part) => std::thread::sleep(whole.mul_f64(part)),
        Moment::InTheGate => wait_for("in the gate", || {
            processes(&place)
                .iter()
                .any(|process| process.command.starts_with("sleep 0.1"))
        }),
        Moment::Asking(_) => wait_for("asked", || {
            scene.valve.reached.load(Ordering::SeqCst) || ended(&mut child)
        }),
        Moment::PushingThen | Moment::PushingStill => wait_for("pushing", || holding.exists()),
        Moment::Seen(name) => wait_for("seen", || {
            appeared(place.join("work/trees"), name) || ended(&mut child)
        }),
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let let_go = || {
        let _ = fs::remove_file(&held);
        scene.valve.open();
    };
    if !matches!(moment, Moment::PushingStill | Moment::Asking(_)) {
        let_go();
    }
    if matches!(moment, Moment::PushingThen) {
        no_server_works(&scene);
    }
    scene.github_sees_the_push();
    scene.finish();
    let_go();
    no_server_works(&scene);
    scene
}

/// The first push is in the hands of the repository until the file is gone; later ones pass.
fn hold_the_first_push(scene: &Scene, holding: &Path, held: &Path) {
    let script = format!(
        "mkdir \"{}\" 2>/dev/null || exit 0\nwhile test -e \"{}\"; do sleep 0.05; done",
        holding.display(),
        held.display()
    );
    scene.repos.hook("ada/r", "pre-receive", &script);
}

/// What the server does for a client that is gone comes to its end too.
fn no_server_works(scene: &Scene) {
    wait_for("over at the server", || processes(scene.repos.path()).is_empty());
}

fn appeared(root: PathBuf, name: &str) -> bool {
    let Ok(listed) = fs::read_dir(root) else {
        return false;
    };
    listed.flatten().any(|entry| {
        entry.file_name() == name
            || entry.file_type().is_ok_and(|kind| kind.is_dir()) && appeared(entry.path(), name)
    })
}
