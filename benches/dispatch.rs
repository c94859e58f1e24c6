//! What a dispatch of 200 pull requests asks of GitHub and of this machine, and how long the program takes
//! from start to exit when there is nothing to dispatch.
//!
//! `cargo bench --bench dispatch` prints markdown tables. The embedded GitHub runs in a process of its own,
//! so that none of its work counts. The program's own work is the processor time of all its threads over a
//! dispatch: asking, parsing, classifying, and delivering to real mailboxes on a real disk; the waiting for
//! the disk's syncs is shown beside it, as the time that the append of all messages took.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark reports on stdout and may stop"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::drip::Drip;
use actors::investigate::Investigate;
use actors::pr_state::{PrState, Rules, Selection, WorkingSet};
use actors::qa::Qa;
use actors::retro::Retro;
use github::{Endpoints, FixedToken, Limits, Reader, Token};
use mailbox::{Clock, Mailboxes, SystemClock};
use runtime::{OneShot, Registry};
use world::{Lists, World};

/// Pull requests of one dispatch, the most there can be.
const PULLS: u32 = 200;
/// Dispatches, of which the median counts.
const ROUNDS: usize = 9;
/// Starts of the program, of which the median counts.
const STARTS: usize = 31;

/// An embedded GitHub in a process of its own; it ends when its standard input does.
struct Elsewhere {
    child: Child,
    api: String,
    graphql: String,
}

impl Elsewhere {
    fn start(pulls: u32, lists: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--world", &pulls.to_string(), lists])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let api = lines.next().unwrap().unwrap();
        let graphql = lines.next().unwrap().unwrap();
        Self { child, api, graphql }
    }

    fn reader(&self) -> Reader {
        let endpoints = Endpoints::new(Some(&self.api), Some(&self.graphql)).unwrap();
        let token = FixedToken(Token::new(world::TOKEN).unwrap());
        Reader::connect(endpoints, Arc::new(token), Limits::default()).unwrap()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The process of an embedded GitHub: says where it is, then serves until nobody holds its input.
fn serve(pulls: u32, lists: Lists) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let served = World::many(pulls, lists).serve().await.unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "{}\n{}", served.api_url(), served.graphql_url()).unwrap();
        out.flush().unwrap();
        tokio::task::spawn_blocking(|| std::io::stdin().lines().for_each(drop))
            .await
            .unwrap();
    });
}

/// Processor time of every thread of this process that is alive, as the scheduler counts it.
fn processor_time() -> Duration {
    let nanos = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("schedstat")).ok())
        .filter_map(|stat| stat.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    Duration::from_nanos(nanos)
}

fn registry() -> Arc<Registry> {
    let mut registry = Registry::new();
    registry.declare::<Qa>().unwrap();
    registry.declare::<Investigate>().unwrap();
    registry.declare::<Drip>().unwrap();
    registry.declare::<Retro>().unwrap();
    Arc::new(registry)
}

/// What one dispatch took.
struct Measured {
    requests: u64,
    in_flight: usize,
    work: Duration,
    wall: Duration,
    syncs: u64,
    appended: Duration,
}

async fn dispatch(github: &Elsewhere, home: &Path) -> Measured {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mailboxes = Mailboxes::open_sled(&home.join("mailbox"), Arc::clone(&clock)).unwrap();
    let reader = github.reader();
    let selection = Selection {
        from: WorkingSet::Everywhere,
        limit: PULLS as usize,
    };
    let mut dispatcher = PrState::new(reader.clone(), Rules::default(), selection);
    let turn = OneShot::new(registry(), clock, home).evaluate_at(world::DEMO_NOW.parse().unwrap());

    let syncs = mailboxes.counters().syncs;
    let (began, worked) = (Instant::now(), processor_time());
    let ran = turn.takt(&mut dispatcher, &mailboxes).await.unwrap();
    let (wall, work) = (began.elapsed(), processor_time() - worked);
    let syncs = mailboxes.counters().syncs - syncs;
    assert_eq!(ran.sent.len(), PULLS as usize);

    // The same messages once more, in a mailbox that does not know them: what the append alone takes.
    let again = Mailboxes::open_sled(&home.join("again"), Arc::new(SystemClock::start())).unwrap();
    let began = Instant::now();
    again
        .append(ran.sent.into_iter().map(|(draft, _)| draft).collect())
        .await
        .unwrap();
    let appended = began.elapsed();
    let requests = reader.requests();
    again.close().await;
    mailboxes.close().await;
    Measured {
        requests: requests.total,
        in_flight: requests.most_in_flight,
        work,
        wall,
        syncs,
        appended,
    }
}

fn median<T: Ord>(mut values: Vec<T>) -> T {
    values.sort();
    values.swap_remove(values.len() / 2)
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

fn measure_dispatch(lists: &str) {
    let github = Elsewhere::start(PULLS, lists);
    // One thread, so that the work is what one core would do.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            runtime.block_on(dispatch(&github, home.path()))
        })
        .collect();
    println!(
        "| {lists} | {} | {} | {} | {} | {} | {} |",
        rounds.iter().map(|round| round.requests).max().unwrap(),
        rounds.iter().map(|round| round.in_flight).max().unwrap(),
        millis(median(rounds.iter().map(|round| round.work).collect())),
        millis(median(rounds.iter().map(|round| round.appended).collect())),
        median(rounds.iter().map(|round| round.syncs).collect()),
        millis(median(rounds.iter().map(|round| round.wall).collect())),
    );
}

fn measure_start() {
    let github = Elsewhere::start(0, "medium");
    let home = tempfile::tempdir().unwrap();
    let took: Vec<_> = (0..STARTS)
        .map(|_| {
            let began = Instant::now();
            let status = Command::new(env!("CARGO_BIN_EXE_sweep"))
                .args(["pr-state", "--dry-run"])
                .env_clear()
                .env("HOME", home.path())
                .env("GITHUB_API_URL", &github.api)
                .env("GITHUB_GRAPHQL_URL", &github.graphql)
                .env("GITHUB_TOKEN", world::TOKEN)
                .status()
                .unwrap();
            assert!(status.success());
            began.elapsed()
        })
        .collect();
    println!(
        "| {} | {} |",
        millis(median(took.clone())),
        millis(took.into_iter().max().unwrap())
    );
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, pulls, lists] = words.as_slice()
        && flag == "--world"
    {
        let lists = if lists == "full" {
            Lists::Full
        } else {
            Lists::Medium
        };
        return serve(pulls.parse().unwrap(), lists);
    }
    println!("A dispatch of {PULLS} pull requests, the median of {ROUNDS}:\n");
    println!(
        "| lists | requests | at most in flight | work, ms | append of all messages, ms | syncs | whole, with the network, ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    measure_dispatch("medium");
    measure_dispatch("full");
    println!("\n`sweep pr-state --dry-run` with no pull request, start to exit, of {STARTS}:\n");
    println!("| median, ms | worst, ms |");
    println!("| --- | --- |");
    measure_start();
}
