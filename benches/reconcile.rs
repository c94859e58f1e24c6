//! What a cycle of the maintainer's half asks of GitHub and of this machine: a first full pass, a cycle in which
//! nothing changed, and one in which 100 pull requests did.
//!
//! `cargo bench --bench reconcile` prints a markdown table. The embedded GitHub runs in a process of its own, so that
//! none of its work counts. The program's own work is the processor time of all its threads over the cycle: asking,
//! parsing, judging, and writing to a real ledger on a real disk.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark reports on stdout and may stop"
)]

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::reconciler::{Books, Reconciler, Report, Rules};
use chrono::{DateTime, TimeDelta, Utc};
use github::{Endpoints, FixedToken, Limits, Reader, Token};
use ledger::Ledger;
use mailbox::{Clock, Mailboxes, SystemClock};
use runtime::{OneShot, Registry};
use world::{Association, CommentSpec, Maintained, World, minutes_ago};

/// The open pull requests of the repository that the RFC describes.
const BUSY: u32 = 1_236;
/// As many as a repository may have.
const MANY: u32 = 10_000;
/// Pull requests that change between two cycles.
const CHANGED: u32 = 100;
/// Cycles in which nothing changed, of which the median counts.
const ROUNDS: usize = 9;

/// An embedded GitHub in a process of its own; it ends when its standard input does.
struct Elsewhere {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    api: String,
    graphql: String,
}

impl Elsewhere {
    fn start(pulls: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--world", &pulls.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let api = output.next().unwrap().unwrap();
        let graphql = output.next().unwrap().unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            child,
            output,
            api,
            graphql,
        }
    }

    fn reader(&self) -> Reader {
        let endpoints = Endpoints::new(Some(&self.api), Some(&self.graphql)).unwrap();
        let token = FixedToken(Token::new(world::TOKEN).unwrap());
        Reader::connect(endpoints, Arc::new(token), Limits::default()).unwrap()
    }

    /// Somebody comments on so many.
    fn change(&mut self, pulls: u32) {
        writeln!(self.input, "{pulls}").unwrap();
        self.output.next().unwrap().unwrap();
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The process of an embedded GitHub: says where it is, then serves, and changes what it is told to.
fn serve(pulls: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let served = World::maintained(pulls).serve().await.unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "{}\n{}", served.api_url(), served.graphql_url()).unwrap();
        out.flush().unwrap();
        tokio::task::spawn_blocking(move || {
            let mut ahead = 60;
            for line in std::io::stdin().lines() {
                let changed: u32 = line.unwrap().parse().unwrap();
                ahead += 10;
                served
                    .edit(|world| {
                        for at in world.pulls().into_iter().take(changed as usize) {
                            let comment = CommentSpec::new("grace", Association::Member, "Looks right.");
                            world.comment(at, comment.at(minutes_ago(-ahead)))?;
                        }
                        Ok::<_, world::EditError>(())
                    })
                    .unwrap();
                writeln!(out, "changed").unwrap();
                out.flush().unwrap();
            }
        })
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

/// The most memory that this process has held, in megabytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// A reconciler over one repository, and what its cycles cost.
struct Bench {
    github: Elsewhere,
    books: Books,
    actor: Reconciler,
    mailboxes: Mailboxes,
    turn: OneShot,
    now: DateTime<Utc>,
}

struct Cost {
    report: Report,
    wall: Duration,
    work: Duration,
}

impl Bench {
    fn new(home: &Path, pulls: u32) -> Self {
        let github = Elsewhere::start(pulls);
        let books = Books::kept(Ledger::open(&home.join("ledger.db")).unwrap());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let rules = Rules {
            repos: vec![Maintained::REPO.parse().unwrap()],
            request_budget: 20_000,
            ..Rules::default()
        };
        Self {
            actor: Reconciler::new(github.reader(), books.clone(), rules),
            github,
            books,
            mailboxes: Mailboxes::open_memory(Arc::clone(&clock)),
            turn: OneShot::new(Arc::new(Registry::new()), clock, home),
            now: world::DEMO_NOW.parse().unwrap(),
        }
    }

    async fn cycle(&mut self) -> Cost {
        self.now += TimeDelta::seconds(120);
        let (began, worked) = (Instant::now(), processor_time());
        let turn = self.turn.clone().evaluate_at(self.now);
        turn.takt(&mut self.actor, &self.mailboxes).await.unwrap();
        Cost {
            report: self.actor.report().unwrap().clone(),
            wall: began.elapsed(),
            work: processor_time().saturating_sub(worked),
        }
    }
}

fn millis(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1000.0)
}

fn row(what: &str, cost: &Cost) {
    let budget = cost.report.budget;
    println!(
        "| {what} | {} | {} | {} | {} | {} | {} |",
        cost.report.visited,
        cost.report.transitions.len(),
        budget.requests,
        budget.points,
        millis(cost.work),
        millis(cost.wall)
    );
}

async fn measure(pulls: u32) {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut bench = Bench::new(home.path(), pulls);
    row(&format!("{pulls}: first full pass"), &bench.cycle().await);
    row(
        &format!("{pulls}: the next, owners looked for"),
        &bench.cycle().await,
    );
    let mut unchanged = Vec::new();
    for _ in 0..ROUNDS {
        unchanged.push(bench.cycle().await);
    }
    assert!(unchanged.iter().all(|cost| cost.report.transitions.is_empty()));
    unchanged.sort_by_key(|cost| cost.wall);
    row(
        &format!("{pulls}: nothing changed, the median of {ROUNDS}"),
        &unchanged[ROUNDS / 2],
    );
    bench.github.change(CHANGED);
    row(&format!("{pulls}: {CHANGED} changed"), &bench.cycle().await);
    println!("\nThe most memory of the process so far: {} MB.\n", most_memory());
    let _ = &bench.books;
    bench.mailboxes.close().await;
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, pulls] = words.as_slice()
        && flag == "--world"
    {
        return serve(pulls.parse().unwrap());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for pulls in [BUSY, MANY] {
        println!(
            "| cycle over | read | transitions | requests | points | work, ms | whole, with the network, ms |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        runtime.block_on(measure(pulls));
    }
}
