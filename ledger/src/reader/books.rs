//! Reading what is known beside states: cards, repositories, branches, the queue, turns, events.

use lifecycle::maintain::{Assignment, Owner};
use pulls::facts::Time;
use pulls::upkeep::{BranchFacts, RepositoryFacts};
use pulls::{PrRef, RepoName};
use rusqlite::{Row, params};

use super::Reader;
use crate::columns::{count, from_json, maybe, maybe_time, parsed, pull, text, time};
use crate::error::{Fault, LedgerError};
use crate::records::{Card, ClosedPull, Event, Pending, RepositoryBook};

/// Columns of a card, in the order in which [`card`] takes them.
macro_rules! select_cards {
    ($rest:literal) => {
        concat!(
            "SELECT repo, pr_number, title, url, author, updated_at, read_at, is_open, pending_since FROM pr_cards ",
            $rest
        )
    };
}

impl Reader {
    /// What a turn came to; `None` for one that was not recorded.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn outcome(&self, turn: &str) -> Result<Option<String>, LedgerError> {
        let sql = "SELECT outcome FROM turns WHERE key = ?1";
        self.one("reading a turn", sql, [turn], |row| Ok(row.get(0)?))
    }

    /// The card of a pull request.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn card(&self, at: &PrRef) -> Result<Option<Card>, LedgerError> {
        let key = params![at.repo.as_str(), at.number.get()];
        let sql = select_cards!("WHERE repo = ?1 AND pr_number = ?2");
        self.one("reading a card", sql, key, card)
    }

    /// The cards of one repository or of all, by repository and number.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn cards(&self, repo: Option<&RepoName>) -> Result<Vec<Card>, LedgerError> {
        match repo {
            Some(repo) => {
                let sql = select_cards!("WHERE repo = ?1 ORDER BY pr_number");
                self.all("reading cards", sql, [repo.as_str()], card)
            }
            None => self.all(
                "reading cards",
                select_cards!("ORDER BY repo, pr_number"),
                [],
                card,
            ),
        }
    }

    /// The open pull requests of a repository that were last read before a moment, the longest ago first, at most
    /// `limit` of them.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn read_before(&self, repo: &RepoName, before: Time, limit: usize) -> Result<Vec<Card>, LedgerError> {
        let sql = select_cards!(
            "WHERE repo = ?1 AND is_open AND read_at < ?2 ORDER BY read_at, pr_number LIMIT ?3"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(
            "reading cards",
            sql,
            params![repo.as_str(), text(before), limit],
            card,
        )
    }

    /// The open pull requests of a repository whose checks or mergeability are not final, those that have been so for
    /// longest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn pending(&self, repo: &RepoName) -> Result<Vec<Pending>, LedgerError> {
        let sql = "SELECT repo, pr_number, pending_since FROM pr_cards \
                   WHERE repo = ?1 AND is_open AND pending_since IS NOT NULL ORDER BY pending_since, pr_number";
        self.all("reading what is pending", sql, [repo.as_str()], |row| {
            Ok(Pending {
                at: pull(row, 0)?,
                since: time(row, 2, "pr_cards.pending_since")?,
            })
        })
    }

    /// Who owns what a pull request changes; `None` until that was looked for.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn assignment(&self, at: &PrRef) -> Result<Option<Assignment>, LedgerError> {
        let key = params![at.repo.as_str(), at.number.get()];
        let sql =
            "SELECT outcome, owner, reason, digest FROM pr_assignments WHERE repo = ?1 AND pr_number = ?2";
        self.one("reading an assignment", sql, key, |row| {
            let outcome = row.get_ref(0)?.as_str().unwrap_or_default();
            let owner = match outcome {
                "user" => Some(Owner::User(parsed(row, 1, "pr_assignments.owner")?)),
                "team" => Some(Owner::Team(row.get(1)?)),
                "no_owner" => None,
                other => {
                    return Err(Fault::strange("pr_assignments.outcome", other, "no such outcome"));
                }
            };
            Ok(Assignment {
                owner,
                reason: row.get(2)?,
                digest: row.get(3)?,
            })
        })
    }

    /// The pull requests that ended at a moment or later, in the order in which they ended.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn closed_since(&self, since: Time) -> Result<Vec<ClosedPull>, LedgerError> {
        let sql = "SELECT repo, pr_number, merged, opened_at, closed_at, by_login, human_comments, \
                   human_reviews FROM closed_pulls WHERE closed_at >= ?1 ORDER BY closed_at, repo, pr_number";
        self.all("reading what ended", sql, [text(since)], |row| {
            Ok(ClosedPull {
                at: pull(row, 0)?,
                merged: row.get(2)?,
                opened_at: time(row, 3, "closed_pulls.opened_at")?,
                closed_at: time(row, 4, "closed_pulls.closed_at")?,
                by: maybe(row, 5, "closed_pulls.by_login")?,
                human_comments: count(row, 6, "closed_pulls.human_comments")?,
                human_reviews: count(row, 7, "closed_pulls.human_reviews")?,
            })
        })
    }

    /// The pull requests that a spent budget left over, each with the moment since when it waits, the longest
    /// first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn waiting(&self) -> Result<Vec<(PrRef, Time)>, LedgerError> {
        let sql = "SELECT repo, pr_number, since FROM waiting_visits \
                   ORDER BY since, repo, pr_number";
        self.all("reading the queue", sql, [], |row| {
            Ok((pull(row, 0)?, time(row, 2, "waiting_visits.since")?))
        })
    }

    /// What is known of a repository, under its own name or one that it had.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn repository(&self, name: &RepoName) -> Result<Option<RepositoryBook>, LedgerError> {
        let sql = "SELECT repo, facts_json, read_at, feed_cursor, full_pass_at FROM repositories \
                   WHERE repo IN (?1, (SELECT repo FROM former_names WHERE former = ?1)) \
                   ORDER BY repo = ?1 DESC LIMIT 1";
        self.one("reading a repository", sql, [name.as_str()], repository)
    }

    /// The name that a repository has now, where this one is a former one of it (field case B108).
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn present_name(&self, of: &RepoName) -> Result<Option<RepoName>, LedgerError> {
        let sql = "SELECT repo FROM former_names WHERE former = ?1";
        self.one("reading names", sql, [of.as_str()], |row| {
            parsed(row, 0, "former_names.repo")
        })
    }

    /// What is known of a branch, and when that was read.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn branch(&self, of: &RepoName, branch: &str) -> Result<Option<(BranchFacts, Time)>, LedgerError> {
        let sql = "SELECT facts_json, read_at FROM branches WHERE repo = ?1 AND branch = ?2";
        self.one("reading a branch", sql, [of.as_str(), branch], |row| {
            let facts = from_json(row, 0, "branches.facts_json")?;
            Ok((facts, time(row, 1, "branches.read_at")?))
        })
    }

    /// What happened to the program itself from a moment on, the oldest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn events_since(&self, since: Time) -> Result<Vec<Event>, LedgerError> {
        let sql = "SELECT kind, detail_json, at FROM events WHERE at >= ?1 ORDER BY id";
        self.all("reading events", sql, [text(since)], |row| {
            Ok(Event {
                kind: row.get(0)?,
                detail: from_json(row, 1, "events.detail_json")?,
                at: time(row, 2, "events.at")?,
            })
        })
    }
}

fn card(row: &Row<'_>) -> Result<Card, Fault> {
    Ok(Card {
        at: pull(row, 0)?,
        title: row.get(2)?,
        url: row.get(3)?,
        author: maybe(row, 4, "pr_cards.author")?,
        updated_at: time(row, 5, "pr_cards.updated_at")?,
        read_at: time(row, 6, "pr_cards.read_at")?,
        is_open: row.get(7)?,
        pending_since: maybe_time(row, 8, "pr_cards.pending_since")?,
    })
}

fn repository(row: &Row<'_>) -> Result<RepositoryBook, Fault> {
    let facts: RepositoryFacts = from_json(row, 1, "repositories.facts_json")?;
    Ok(RepositoryBook {
        facts: RepositoryFacts {
            repo: parsed(row, 0, "repositories.repo")?,
            ..facts
        },
        read_at: time(row, 2, "repositories.read_at")?,
        feed_cursor: maybe_time(row, 3, "repositories.feed_cursor")?,
        full_pass_at: maybe_time(row, 4, "repositories.full_pass_at")?,
    })
}
