//! The board: one column a state in projection order, and for the author's half one a bucket (contract, section 7).

use chrono::{DateTime, TimeDelta, Utc};
use lifecycle::Bucket;
use lifecycle::maintain::{
    Deadline, DeadlineKind, Evidence, Settings, State, StateRow, SubStatus, deadlines,
};
use pulls::{Login, PrNumber, PrRef, RepoName, Sha, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::records::Classified;
use crate::words::{moment, span};

/// The version of the document that `--json` prints.
pub const VERSION: u32 = 1;

/// How long a pull request that has ended keeps its card. It is counted for ever.
pub const ENDED_FOR: TimeDelta = TimeDelta::days(7);

/// The board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Board {
    /// The version of this document, [`VERSION`].
    pub v: u32,
    /// The moment as of which ages and deadlines are told.
    pub ts: DateTime<Utc>,
    /// The maintainer's half: every state, in projection order.
    pub columns: Vec<Column>,
    /// How many pull requests no rule matched (RFC, "Projection order").
    pub unclassified: u64,
    /// The author's half, as the dispatcher's last run found it; null where it never ran.
    pub author: Option<AuthorsHalf>,
}

/// The pull requests in one state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// The state.
    pub state: State,
    /// How many are in it.
    pub count: u64,
    /// They, those that have been in it longest first.
    pub cards: Vec<Card>,
    /// How many of them have no card, because they ended longer than [`ENDED_FOR`] ago.
    pub left_out: u64,
}

/// One maintained pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    /// Its repository.
    pub repo: RepoName,
    /// Its number.
    pub pr: PrNumber,
    /// Its title, where it is known.
    pub title: Option<String>,
    /// Its head commit.
    pub head: Sha,
    /// The state.
    pub state: State,
    /// What is said beside it.
    pub sub_status: Option<SubStatus>,
    /// Why, for a person.
    pub reason: String,
    /// Since when it is in this state.
    pub since_at: DateTime<Utc>,
    /// Our labels for its content.
    pub content_labels: Vec<String>,
    /// Unresolved findings of weight that nobody disputes.
    pub open_findings: u32,
    /// Those that its author disputes.
    pub disputed_findings: u32,
    /// Who was paged.
    pub pager: Option<Login>,
    /// What happens next by itself.
    pub next: Option<Next>,
}

/// What happens next by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Next {
    /// When. It may have passed: then it is the next cycle's.
    pub at: DateTime<Utc>,
    /// What; null where the evidence of it is not at hand.
    pub what: Option<DeadlineKind>,
    /// Both in words.
    pub says: String,
}

/// The author's half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthorsHalf {
    /// When the dispatcher last ran.
    pub seen: DateTime<Utc>,
    /// Every bucket, in the order in which the rules are tried.
    pub columns: Vec<AuthorColumn>,
}

/// The pull requests in one bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthorColumn {
    /// The bucket.
    pub bucket: Bucket,
    /// How many are in it.
    pub count: u64,
    /// They, by repository and number.
    pub cards: Vec<AuthorCard>,
}

/// One pull request of the author's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthorCard {
    /// Its repository.
    pub repo: RepoName,
    /// Its number.
    pub pr: PrNumber,
    /// Its title.
    pub title: String,
    /// Its head commit, where it was recorded.
    pub head: Option<String>,
    /// The rule that decided.
    pub rule: String,
    /// Why, for a person.
    pub reason: String,
}

/// A maintained pull request, as it is recorded.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its row.
    pub row: StateRow,
    /// Its title, where it is known.
    pub title: Option<String>,
    /// Its evidence, where it is at hand, and when it was first recorded.
    pub evidence: Option<(Evidence, DateTime<Utc>)>,
}

/// What of the dispatcher's lines is the last run.
#[derive(Debug, Default)]
pub struct LastRun {
    seen: Option<DateTime<Utc>>,
    cards: Vec<(Bucket, AuthorCard)>,
}

impl LastRun {
    /// A line of `pr-state.jsonl`, in the order of the file.
    pub fn classified(&mut self, line: &Classified) {
        self.begin(line.ts);
        if self.seen != Some(line.ts) {
            return;
        }
        let card = AuthorCard {
            repo: line.repo.clone(),
            pr: line.pr,
            title: line.title.clone(),
            head: (!line.head_sha.is_empty()).then(|| line.head_sha.clone()),
            rule: line.rule.clone(),
            reason: line.reason.clone(),
        };
        self.cards.push((line.bucket, card));
    }

    /// A run that found nothing, or the first line of one that found something.
    pub fn begin(&mut self, ts: DateTime<Utc>) {
        if self.seen.is_none_or(|seen| seen < ts) {
            self.seen = Some(ts);
            self.cards.clear();
        }
    }

    fn finish(mut self) -> Option<AuthorsHalf> {
        let seen = self.seen?;
        self.cards
            .sort_by(|(_, a), (_, b)| (&a.repo, a.pr).cmp(&(&b.repo, b.pr)));
        let columns = Bucket::ALL
            .into_iter()
            .map(|bucket| {
                let own = self.cards.iter().filter(|(in_, _)| *in_ == bucket);
                let cards: Vec<AuthorCard> = own.map(|(_, card)| card.clone()).collect();
                AuthorColumn {
                    bucket,
                    count: cards.len() as u64,
                    cards,
                }
            })
            .collect();
        Some(AuthorsHalf { seen, columns })
    }
}

/// The columns of the maintainer's half, filled card by card.
#[derive(Debug)]
pub struct Columns<'s> {
    settings: &'s Settings,
    now: DateTime<Utc>,
    columns: Vec<Column>,
    unclassified: u64,
}

impl<'s> Columns<'s> {
    /// Empty columns, as of a moment.
    pub fn new(settings: &'s Settings, now: DateTime<Utc>) -> Self {
        let columns = State::ALL
            .into_iter()
            .map(|state| Column {
                state,
                count: 0,
                cards: Vec::new(),
                left_out: 0,
            })
            .collect();
        Self {
            settings,
            now,
            columns,
            unclassified: 0,
        }
    }

    /// Puts a pull request into its column.
    pub fn add(&mut self, recorded: Recorded) {
        let state = recorded.row.state;
        if recorded.row.sub_status == Some(SubStatus::Unclassified) {
            self.unclassified += 1;
        }
        let Some(column) = self.columns.iter_mut().find(|column| column.state == state) else {
            return;
        };
        column.count += 1;
        if state == State::Closed && self.now - recorded.row.since_at > ENDED_FOR {
            column.left_out += 1;
            return;
        }
        let next = next(&recorded, self.settings, self.now);
        let Recorded { row, title, .. } = recorded;
        column.cards.push(Card {
            repo: row.at.repo,
            pr: row.at.number,
            title,
            head: row.head_sha,
            state,
            sub_status: row.sub_status,
            reason: row.reason,
            since_at: row.since_at,
            content_labels: row.content_labels,
            open_findings: row.open_findings,
            disputed_findings: row.disputed_findings,
            pager: row.pager_login,
            next,
        });
    }

    /// The board, with the dispatcher's last run beside the columns.
    pub fn finish(mut self, author: LastRun) -> Board {
        for column in &mut self.columns {
            column
                .cards
                .sort_by(|a, b| (a.since_at, &a.repo, a.pr).cmp(&(b.since_at, &b.repo, b.pr)));
        }
        Board {
            v: VERSION,
            ts: self.now,
            columns: self.columns,
            unclassified: self.unclassified,
            author: author.finish(),
        }
    }
}

/// What a card says that happens next: what a person would call an event, before what is only read again.
fn next(recorded: &Recorded, settings: &Settings, now: DateTime<Utc>) -> Option<Next> {
    let due = recorded.row.next_deadline_at?;
    let known = recorded.evidence.as_ref().map(|(evidence, first_seen)| {
        let mut evidence = evidence.clone();
        evidence.now = evidence.now.max(now);
        deadlines(&evidence, *first_seen, settings)
    });
    let is_event = |deadline: &&Deadline| !matches!(deadline.what, DeadlineKind::Reread);
    let chosen = known
        .as_deref()
        .and_then(|known| known.iter().find(is_event).or(known.first()));
    let (at, what) = match chosen {
        Some(chosen) => (chosen.at, Some(chosen.what)),
        None => (due, None),
    };
    let says = format!(
        "{}: {}",
        when(at, now),
        what.map_or("it is looked at again", DeadlineKind::says)
    );
    Some(Next { at, what, says })
}

/// When something is: `in 3d 2h`, or `in the next cycle` where that has passed.
pub fn when(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    match u64::try_from((at - now).num_milliseconds()) {
        Ok(ms) if ms > 0 => format!("in {}", span(ms - ms % 1_000)),
        _ => "in the next cycle".to_owned(),
    }
}

impl Card {
    /// Which pull request it is.
    pub fn at(&self) -> PrRef {
        PrRef {
            repo: self.repo.clone(),
            number: self.pr,
        }
    }
}

impl Board {
    /// The board for a terminal: a block a column, a line or two a card. What others wrote cannot steer a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let maintained: u64 = self.columns.iter().map(|column| column.count).sum();
        out.push_str(&format!("maintained: {maintained} as of {}", moment(self.ts)));
        if self.unclassified > 0 {
            out.push_str(&format!(", {} unclassified", self.unclassified));
        }
        out.push('\n');
        for column in &self.columns {
            out.push_str(&format!("\n{} ({})\n", column.state, column.count));
            for card in &column.cards {
                out.push_str(&self.card(card));
            }
            if column.left_out > 0 {
                out.push_str(&format!("  … and {} that ended earlier\n", column.left_out));
            }
        }
        let Some(author) = &self.author else {
            return out;
        };
        out.push_str(&format!("\nyours, as of {}\n", moment(author.seen)));
        for column in &author.columns {
            out.push_str(&format!("\n{} ({})\n", column.bucket, column.count));
            for card in &column.cards {
                let (title, reason) = (escape::line(&card.title), escape::line(&card.reason));
                out.push_str(&format!("  {}#{}  {title}\n    {reason}\n", card.repo, card.pr));
            }
        }
        out
    }

    fn card(&self, card: &Card) -> String {
        let title = card.title.as_deref().map(escape::line).unwrap_or_default();
        let mut text = format!("  {}#{}  {title}", card.repo, card.pr);
        let mut said = vec![escape::line(&card.reason)];
        if let Some(sub) = card.sub_status {
            said[0] = format!("{sub}: {}", said[0]);
        }
        let since = u64::try_from((self.ts - card.since_at).num_milliseconds()).unwrap_or(0);
        said.push(format!("since {}", span(since - since % 1_000)));
        if card.open_findings + card.disputed_findings > 0 {
            said.push(format!(
                "{} open findings, {} disputed",
                card.open_findings, card.disputed_findings
            ));
        }
        if let Some(pager) = &card.pager {
            said.push(format!("paged {pager}"));
        }
        if let Some(next) = &card.next {
            said.push(format!("next {}", next.says));
        }
        text.truncate(text.trim_end().len());
        format!("{text}\n    {}\n", said.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use lifecycle::maintain::{Before, Epoch, build, step};

    use super::*;

    fn recorded(evidence: Evidence, title: &str) -> Recorded {
        let settings = Settings::default();
        let first = step(
            Before::default(),
            &evidence,
            &["docs".to_owned()],
            &Default::default(),
            Epoch(1),
            &settings,
        );
        let now = evidence.now;
        let mut row = first.row.unwrap();
        row.reason = "the evidence in words".to_owned();
        Recorded {
            row,
            title: Some(title.to_owned()),
            evidence: Some((evidence, now)),
        }
    }

    fn board() -> Board {
        let settings = Settings::default();
        let now = build::ready("o/r#1").done().now;
        let mut columns = Columns::new(&settings, now + TimeDelta::hours(2));
        for (evidence, title) in [
            (build::ready("o/r#7").done(), "Mend \u{1b}[31mit"),
            (build::ready("o/r#8").idle_days(9).done(), "Rest"),
            (build::ready("o/r#9").idle_days(40).done(), "Rest on"),
            (
                build::evidence("o/r#5").conflicting().reviewed().done(),
                "Collide",
            ),
            (build::evidence("o/a#2").unrouted().done(), "Begin"),
            (build::ready("o/a#3").findings(0, 2).done(), "Dispute"),
        ] {
            columns.add(recorded(evidence, title));
        }
        let ended = build::ready("o/r#4").ended(pulls::facts::PullState::Merged, now);
        let mut old = recorded(ended.clone().done(), "Done");
        columns.add(old.clone());
        old.row.since_at -= TimeDelta::days(8);
        columns.add(old);
        let mut author = LastRun::default();
        for (ts, pr, bucket) in [
            ("2026-05-14T17:40:00Z", 1, "wait"),
            ("2026-05-14T17:45:00Z", 2, "ship"),
            ("2026-05-14T17:45:00Z", 3, "wait"),
        ] {
            let line = serde_json::json!({
                "ts": ts, "repo": "p/q", "pr": pr, "bucket": bucket, "rule": "r", "reason": "because", "title": "T",
            });
            author.classified(&serde_json::from_value(line).unwrap());
        }
        columns.finish(author)
    }

    #[test]
    fn every_column_is_there_in_order_with_its_cards() {
        insta::assert_snapshot!(board().text());
    }

    #[test]
    fn the_document_has_every_field() {
        let document = serde_json::to_value(board()).unwrap();
        let states: Vec<&str> = document["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["state"].as_str().unwrap())
            .collect();
        assert_eq!(states, State::ALL.map(State::as_str));
        assert_eq!(document["columns"][0]["count"], 2);
        assert_eq!(document["columns"][0]["left_out"], 1);
        let ready = &document["columns"][10]["cards"];
        insta::assert_json_snapshot!(ready[1]);
        assert_eq!(ready.as_array().unwrap().len(), 2);
    }

    #[test]
    fn the_last_run_is_the_authors_half_though_it_found_nothing() {
        let mut author = LastRun::default();
        let line =
            serde_json::json!({"ts": "2026-05-14T17:40:00Z", "repo": "p/q", "pr": 1, "bucket": "wait"});
        author.classified(&serde_json::from_value(line).unwrap());
        author.begin("2026-05-14T17:50:00Z".parse().unwrap());
        let half = author.finish().unwrap();
        assert!(half.columns.iter().all(|column| column.count == 0));
        assert_eq!(LastRun::default().finish(), None);
    }

    #[test]
    fn what_is_due_is_the_next_cycles() {
        let now: DateTime<Utc> = "2026-05-14T17:45:00Z".parse().unwrap();
        for (seconds, said) in [
            (-60, "in the next cycle"),
            (0, "in the next cycle"),
            (90, "in 1m 30s"),
            (3 * 86_400 + 7_200, "in 3d 2h"),
        ] {
            assert_eq!(when(now + TimeDelta::seconds(seconds), now), said);
        }
    }
}
