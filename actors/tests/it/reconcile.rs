//! The reconciler from the repository to the ledger, over HTTP against the embedded GitHub.

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::reconciler::{Books, Reconciler, Report, Rules};
use chrono::TimeDelta;
use ledger::{AttemptState, Ledger, Reader, ReviewAttempt};
use lifecycle::maintain::{State, StateRow, SubStatus};
use pulls::PrRef;
use pulls::facts::Time;
use runtime::OneShot;
use world::{
    Association, BranchSpec, CheckSpec, CommentSpec, CommitSpec, EventSpec, Fault, PullSpec, RepoSpec, Who,
    World, WorldBuilder, days_ago, hours_ago, minutes_ago,
};

use crate::stage::{Stage, now, registry};

const REPO: &str = "heron/engine";

/// GitHub Actions' app.
const ACTIONS: u64 = 15_368;

/// A maintained repository: `build` is required, and `olive` owns the sources.
fn world() -> WorldBuilder {
    World::builder(world::DEMO_NOW).viewer("keeper").repo(
        RepoSpec::new(REPO)
            .codeowners("/src/ @olive\n")
            .branch(BranchSpec::new("main").requires("build", Some(ACTIONS))),
    )
}

/// A green pull request on the sources by `pat`, opened two days ago.
fn pull(number: u32) -> PullSpec {
    PullSpec::new(REPO, number)
        .author("pat")
        .created(days_ago(2))
        .committed(days_ago(2))
        .file("src/lib.rs", 10, 2)
        .check(CheckSpec::run("build"))
}

fn at(number: u32) -> PrRef {
    format!("{REPO}#{number}").parse().unwrap()
}

/// A reconciler with its ledger beside the stage.
struct Keeping<'s> {
    stage: &'s Stage,
    books: Books,
    rules: Rules,
    now: Time,
    actor: Reconciler,
}

impl<'s> Keeping<'s> {
    fn on(stage: &'s Stage) -> Self {
        Self::with(stage, |_| {})
    }

    fn with(stage: &'s Stage, change: impl FnOnce(&mut Rules)) -> Self {
        let books = Books::kept(Ledger::open(&stage.home().join("ledger.db")).unwrap());
        let mut rules = Rules {
            repos: vec![REPO.parse().unwrap()],
            ..Rules::default()
        };
        change(&mut rules);
        Self {
            stage,
            actor: Reconciler::new(stage.reader(), books.clone(), rules.clone()),
            books,
            rules,
            now: now(),
        }
    }

    /// The same in another life: nothing is remembered but what the ledger holds.
    fn restarted(&mut self) {
        self.actor = Reconciler::new(self.stage.reader(), self.books.clone(), self.rules.clone());
    }

    /// One cycle, two minutes after the one before.
    async fn cycle(&mut self) -> Report {
        self.later(TimeDelta::minutes(2)).await
    }

    async fn later(&mut self, by: TimeDelta) -> Report {
        self.now += by;
        let turn = OneShot::new(Arc::new(registry()), self.stage.clock.clone(), self.stage.home())
            .evaluate_at(self.now);
        turn.takt(&mut self.actor, &self.stage.mailboxes).await.unwrap();
        self.stage.assert_nothing_said();
        self.actor.report().cloned().unwrap()
    }

    fn ledger(&self) -> Reader {
        Reader::open(&self.stage.home().join("ledger.db"))
            .unwrap()
            .unwrap()
    }

    fn row(&self, number: u32) -> StateRow {
        self.ledger().row(&at(number)).unwrap().unwrap()
    }

    fn states(&self) -> BTreeMap<u32, State> {
        let rows = self.ledger().rows(None).unwrap();
        rows.iter().map(|row| (row.at.number.get(), row.state)).collect()
    }

    /// The two tables as they stand.
    fn tables(&self) -> (Vec<StateRow>, usize) {
        let ledger = self.ledger();
        let log = ledger.transitions_since(Time::UNIX_EPOCH).unwrap();
        (ledger.rows(None).unwrap(), log.len())
    }

    /// Its head was reviewed without a finding.
    fn review(&self, number: u32) {
        let head = self.row(number).head_sha;
        let attempt = ReviewAttempt {
            at: at(number),
            head,
            state: AttemptState::Completed,
            time: self.now,
            quality: Some("ready".to_owned()),
        };
        self.books.put_review(&attempt).unwrap();
    }
}

fn moves(report: &Report) -> Vec<(u32, Option<State>, State)> {
    report
        .transitions
        .iter()
        .map(|moved| (moved.pr.get(), moved.from, moved.to))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_is_new_in_its_first_cycle_and_has_its_owner_in_the_next() {
    let stage = Stage::of(world().pull(pull(1)).pull(pull(2).author("olive")).build()).await;
    let mut keeping = Keeping::on(&stage);
    let first = keeping.cycle().await;
    assert_eq!(first.visited, 2);
    assert_eq!(moves(&first), [(1, None, State::New), (2, None, State::New)]);
    let second = keeping.cycle().await;
    assert_eq!(
        moves(&second),
        [
            (1, Some(State::New), State::OwnerRouted),
            (2, Some(State::New), State::NeedsOwner),
        ]
    );
    assert_eq!(second.visited, 0, "what was read is not read again for it");
    assert!(
        keeping.row(1).reason.contains("olive"),
        "{}",
        keeping.row(1).reason
    );
    let log = keeping.ledger().transitions(&at(1)).unwrap();
    assert_eq!(log.len(), 2);
    assert!(log.iter().all(|row| row.evidence.is_some()));
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_evidence_writes_nothing_and_asks_once() {
    let stage = Stage::of(world().pulls((1..=40).map(pull)).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.cycle().await;
    let before = keeping.tables();
    for _ in 0..3 {
        let report = keeping.cycle().await;
        assert_eq!((report.visited, report.budget.requests), (0, 1), "{report:?}");
        assert_eq!(report.transitions, []);
    }
    assert_eq!(keeping.tables(), before);
    // In another life too.
    keeping.restarted();
    keeping.cycle().await;
    assert_eq!(keeping.tables(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_moves_and_nothing_else_is_read() {
    let stage = Stage::of(world().pulls((1..=5).map(pull)).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.cycle().await;
    stage
        .served
        .edit(|world| {
            world.happen(
                (REPO, 3),
                EventSpec::converted_to_draft().by("pat").at(minutes_ago(-3)),
            )
        })
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(report.visited, 1);
    assert_eq!(moves(&report), [(3, Some(State::OwnerRouted), State::Draft)]);
    stage
        .served
        .edit(|world| {
            world.happen(
                (REPO, 3),
                EventSpec::ready_for_review().by("pat").at(minutes_ago(-5)),
            )
        })
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), [(3, Some(State::Draft), State::OwnerRouted)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_moves_one_of_which_nothing_changed() {
    let quiet = pull(1)
        .created(days_ago(6))
        .committed(days_ago(6))
        .updated(days_ago(6));
    let stage = Stage::of(world().pull(quiet).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.cycle().await;
    assert_eq!(keeping.row(1).state, State::OwnerRouted);
    let report = keeping.later(TimeDelta::days(1)).await;
    assert_eq!(moves(&report), [(1, Some(State::OwnerRouted), State::Stale)]);
    let report = keeping.later(TimeDelta::days(7)).await;
    assert_eq!(moves(&report), [(1, Some(State::Stale), State::Parked)]);
    // Day 30 is a notice and no state.
    let report = keeping.later(TimeDelta::days(16)).await;
    assert_eq!(moves(&report), []);
    let wanted: Vec<String> = report.wanted.iter().map(|one| one.artifact.key.clone()).collect();
    assert!(wanted.iter().any(|key| key.ends_with("/close")), "{wanted:?}");
    assert_eq!(keeping.row(1).next_deadline_at, None);
    // A person says something: the ladder begins anew.
    let comment =
        CommentSpec::new("grace", Association::Member, "Still wanted.").at(minutes_ago(-24 * 24 * 60));
    stage
        .served
        .edit(|world| world.comment((REPO, 1), comment))
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), [(1, Some(State::Parked), State::OwnerRouted)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b069_a_bot_wakes_nobody() {
    let quiet = pull(1)
        .created(days_ago(9))
        .committed(days_ago(9))
        .updated(days_ago(9));
    let stage = Stage::of(world().pull(quiet).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    assert_eq!(keeping.row(1).state, State::Stale);
    let comment = CommentSpec::new(Who::bot("mergify"), Association::None, "Rebase?").at(minutes_ago(-3));
    stage
        .served
        .edit(|world| world.comment((REPO, 1), comment))
        .unwrap();
    let labeled = EventSpec::labeled("stale")
        .by(Who::bot("mergify"))
        .at(minutes_ago(-3));
    stage
        .served
        .edit(|world| world.happen((REPO, 1), labeled))
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!((report.visited, moves(&report)), (1, vec![]));
    assert_eq!(keeping.row(1).state, State::Stale);
}

#[tokio::test(flavor = "multi_thread")]
async fn b021_a_head_with_pending_checks_is_looked_at_until_they_end() {
    let running = PullSpec::new(REPO, 1)
        .author("pat")
        .created(days_ago(2))
        .committed(hours_ago(1))
        .file("src/lib.rs", 1, 1)
        .check(CheckSpec::run("build").in_progress());
    let stage = Stage::of(world().pull(running).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.review(1);
    keeping.cycle().await;
    let row = keeping.row(1);
    assert_eq!(
        (row.state, row.sub_status),
        (State::UnderReview, Some(SubStatus::CiPending))
    );
    let before = keeping.tables();
    let report = keeping.cycle().await;
    assert_eq!(report.budget.requests, 2, "the list and one look at the heads");
    assert_eq!(keeping.tables(), before);
    // No list of updates tells that a check ended.
    stage
        .served
        .edit(|world| world.check((REPO, 1), CheckSpec::run("build").failure()))
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), [(1, Some(State::UnderReview), State::CiFailing)]);
    assert_eq!(report.visited, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_is_entered_once_an_entry_and_a_push_leaves_it() {
    let stage = Stage::of(world().pull(pull(1)).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.review(1);
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), [(1, Some(State::New), State::ReadyForMaintainer)]);
    assert_eq!(
        (keeping.row(1).ready_entry_seq, keeping.row(1).ready_paged_seq),
        (1, 0)
    );
    let page = report
        .wanted
        .iter()
        .find(|one| one.artifact.key.ends_with("/ready"))
        .unwrap();
    assert_eq!(page.artifact.to.len(), 1);
    assert!(!page.artifact.is_on);
    stage
        .served
        .edit(|world| world.push((REPO, 1), CommitSpec::at(minutes_ago(-3)).by("pat")))
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(
        moves(&report),
        [(1, Some(State::ReadyForMaintainer), State::UnderReview)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_ends_is_read_once_more_and_kept_for_the_metrics() {
    let talked = pull(1)
        .comment(CommentSpec::new("grace", Association::Member, "Nice.").at(hours_ago(20)))
        .comment(CommentSpec::new("pat", Association::Contributor, "Thanks.").at(hours_ago(19)))
        .comment(CommentSpec::new(Who::bot("codecov"), Association::None, "80 %").at(hours_ago(18)));
    let stage = Stage::of(world().pull(talked).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    stage
        .served
        .edit(|world| world.happen((REPO, 1), EventSpec::merged().by("grace").at(minutes_ago(-3))))
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), [(1, Some(State::New), State::Closed)]);
    let closed = keeping.ledger().closed_since(Time::UNIX_EPOCH).unwrap();
    assert_eq!(closed.len(), 1);
    assert_eq!(
        (
            closed[0].merged,
            closed[0].human_comments,
            closed[0].human_reviews
        ),
        (true, 1, 0)
    );
    assert_eq!(closed[0].by.as_ref().unwrap().as_str(), "grace");
    let before = keeping.tables();
    keeping.later(TimeDelta::hours(7)).await;
    keeping.cycle().await;
    assert_eq!(keeping.tables(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn b078_a_budget_that_is_too_small_reaches_everybody_and_says_so() {
    let stage = Stage::of(world().pulls((1..=300).map(pull)).build()).await;
    let mut keeping = Keeping::with(&stage, |rules| rules.request_budget = 14);
    let first = keeping.cycle().await;
    assert!(first.budget.exhausted, "{:?}", first.budget);
    assert!(first.budget.requests <= 14, "{:?}", first.budget);
    assert_eq!(first.visited + first.budget.left, 300);
    assert_eq!(first.attention[0].key, "budget/PR_STATE_BUDGET_EXHAUSTED");
    let events = keeping.ledger().events_since(Time::UNIX_EPOCH).unwrap();
    assert_eq!(events[0].kind, "PR_STATE_BUDGET_EXHAUSTED");
    let waiting = keeping.ledger().waiting().unwrap();
    assert_eq!(waiting.len(), first.budget.left);
    let second = keeping.cycle().await;
    assert_eq!(
        second.visited, first.budget.left,
        "who waited comes first: {:?}",
        second.budget
    );
    keeping.cycle().await;
    assert_eq!(keeping.states().len(), 300);
    assert_eq!(keeping.ledger().waiting().unwrap(), []);
    let last = keeping.cycle().await;
    assert_eq!(last.attention, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn b031_mergeability_that_is_not_known_changes_nothing() {
    let conflicting = pull(1).conflicting();
    let stage = Stage::of(world().pull(conflicting).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.review(1);
    keeping.cycle().await;
    let row = keeping.row(1);
    assert_eq!(
        (row.state, row.sub_status),
        (State::ChangesRequested, Some(SubStatus::Conflict))
    );
    stage
        .served
        .edit(|world| {
            world.bump((REPO, 1), minutes_ago(-4))?;
            world.mergeable((REPO, 1), "UNKNOWN")
        })
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), []);
    assert_eq!(keeping.row(1).state, State::ChangesRequested);
    let seen = keeping.ledger().evidence(&at(1)).unwrap().unwrap().evidence;
    assert!(seen.mergeability.is_stale);
    // It is looked at again soon.
    stage
        .served
        .edit(|world| world.mergeable((REPO, 1), "MERGEABLE"))
        .unwrap();
    let report = keeping.cycle().await;
    assert_eq!(
        moves(&report),
        [(1, Some(State::ChangesRequested), State::ReadyForMaintainer)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b098_one_that_cannot_be_read_stays_where_it_is() {
    let stage = Stage::of(world().pull(pull(1)).pull(pull(2)).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.cycle().await;
    stage
        .served
        .faults()
        .add(Fault::field_error("PullRequest.labels", Some("FORBIDDEN"), "no access").on_pull((REPO, 1)));
    for number in [1, 2] {
        let draft = EventSpec::converted_to_draft().by("pat").at(minutes_ago(-5));
        stage
            .served
            .edit(|world| world.happen((REPO, number), draft))
            .unwrap();
    }
    let report = keeping.cycle().await;
    assert_eq!(report.skipped.len(), 1, "{report:?}");
    assert_eq!(moves(&report), [(2, Some(State::OwnerRouted), State::Draft)]);
    assert_eq!(keeping.row(1).state, State::OwnerRouted);
    // When it can be read again it is: it was not read since it changed.
    stage.served.faults().clear();
    let report = keeping.cycle().await;
    assert_eq!(moves(&report), [(1, Some(State::OwnerRouted), State::Draft)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b108_a_renamed_repository_keeps_its_rows() {
    let stage = Stage::of(world().pull(pull(1)).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.cycle().await;
    stage
        .served
        .edit(|world| world.rename(REPO, "heron/motor"))
        .unwrap();
    keeping.later(TimeDelta::hours(2)).await;
    let rows = keeping.ledger().rows(None).unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0].at.to_string(), "heron/motor#1");
    assert_eq!(rows[0].state, State::OwnerRouted);
    let log = keeping.ledger().transitions(&rows[0].at).unwrap();
    assert_eq!(log.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_shows_it_and_touches_no_file() {
    let stage = Stage::of(world().pull(pull(1)).build()).await;
    let rules = Rules {
        repos: vec![REPO.parse().unwrap()],
        ..Rules::default()
    };
    let files = |stage: &Stage| -> Vec<String> {
        let entries = std::fs::read_dir(stage.home()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let before = files(&stage);
    let mut actor = Reconciler::new(stage.reader(), Books::seen(Reader::empty().unwrap()), rules);
    let turn = OneShot::new(Arc::new(registry()), stage.clock.clone(), stage.home()).evaluate_at(now());
    turn.rehearse_takt(&mut actor).await.unwrap();
    assert_eq!(moves(actor.report().unwrap()), [(1, None, State::New)]);
    assert_eq!(files(&stage), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn b014_a_required_check_that_reports_hours_later_is_seen() {
    let silent = PullSpec::new(REPO, 1)
        .author("pat")
        .created(days_ago(2))
        .committed(days_ago(2))
        .file("src/lib.rs", 1, 1)
        .check(CheckSpec::run("lint"));
    let stage = Stage::of(world().pull(silent).build()).await;
    let mut keeping = Keeping::on(&stage);
    keeping.cycle().await;
    keeping.review(1);
    keeping.later(TimeDelta::hours(2)).await;
    let row = keeping.row(1);
    assert!(row.reason.contains("never reported"), "{}", row.reason);
    stage
        .served
        .edit(|world| world.check((REPO, 1), CheckSpec::run("build")))
        .unwrap();
    // The longer it was silent the seldomer it is looked at, but no list of updates shows it.
    let mut report = keeping.later(TimeDelta::minutes(30)).await;
    for _ in 0..3 {
        report
            .transitions
            .extend(keeping.later(TimeDelta::minutes(30)).await.transitions);
    }
    assert_eq!(
        moves(&report),
        [(1, Some(State::UnderReview), State::ReadyForMaintainer)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_ends_before_the_base_branch_is_read_judges_nobody_by_half() {
    let stage = Stage::of(world().pulls((1..=3).map(pull)).build()).await;
    let mut keeping = Keeping::with(&stage, |rules| rules.request_budget = 4);
    let report = keeping.cycle().await;
    assert_eq!((report.visited, report.budget.left), (0, 3), "{report:?}");
    assert!(report.budget.exhausted && report.skipped.is_empty());
    let text = &report.attention[0].text;
    assert!(text.contains("3 pull requests wait"), "{text}");
    assert_eq!(keeping.states(), BTreeMap::new());
    keeping.rules.request_budget = 0;
    keeping.restarted();
    let report = keeping.cycle().await;
    assert_eq!((report.visited, report.budget.requests), (0, 0));
    assert!(report.budget.exhausted);
}
