//! What is read of a ledger.

use lifecycle::maintain::{
    Assignment, Epoch, FindingCounts, HeadReview, Reviews, State, StateRow, Transition,
};
use pulls::facts::Time;
use pulls::upkeep::BranchFacts;
use pulls::{PrRef, RepoName, Sha};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::{LedgerError, damaged};
use crate::open::Reader;
use crate::records::{Card, ClosedPull, Event, Logged, Pending, Recorded, RepositoryBook};
use crate::rows::{at, count, from_json, moment, moment_or_none, repo_named, stamp};

const STATE_COLUMNS: &str = "repo, pr_number, state, sub_status, head_sha, since_at, reason, pager_login, \
    last_human_activity_at, next_deadline_at, parked_at, state_label, content_labels_json, open_findings, \
    disputed_findings, ready_entry_seq, ready_paged_seq, updated_at";

const CARD_COLUMNS: &str = "repo, pr_number, title, url, author, updated_at, read_at, is_open, pending_since";

const LOG_COLUMNS: &str =
    "repo, pr_number, id, from_state, to_state, head_sha, reason, created_at, evidence_json, actions_json";

impl Reader {
    /// The epoch of the two tables.
    ///
    /// # Errors
    /// When the ledger does not answer.
    pub fn epoch(&self) -> Result<Epoch, LedgerError> {
        let sql = "SELECT value FROM meta WHERE key = 'pr_state_epoch'";
        let epoch: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
        Ok(Epoch(count("meta", "pr_state_epoch", epoch)?))
    }

    /// The row of a pull request.
    ///
    /// # Errors
    /// When the ledger does not answer, or holds what cannot be read; so for all that follow.
    pub fn row(&self, of: &PrRef) -> Result<Option<StateRow>, LedgerError> {
        let sql = format!("SELECT {STATE_COLUMNS} FROM pr_state WHERE repo = ?1 AND pr_number = ?2");
        self.one(&sql, of, state_row)
    }

    /// Every row, of one repository or of all, by repository and number.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn rows(&self, of: Option<&RepoName>) -> Result<Vec<StateRow>, LedgerError> {
        let sql = format!(
            "SELECT {STATE_COLUMNS} FROM pr_state WHERE ?1 IS NULL OR repo = ?1 ORDER BY repo, pr_number"
        );
        self.all(&sql, params![of.map(RepoName::as_str)], state_row)
    }

    /// The open pull requests of a repository whose deadline has passed, the longest due first.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn due(&self, of: &RepoName, now: Time, limit: usize) -> Result<Vec<PrRef>, LedgerError> {
        let sql = "SELECT repo, pr_number FROM pr_state WHERE repo = ?1 AND next_deadline_at <= ?2 \
                   ORDER BY next_deadline_at, pr_number LIMIT ?3";
        self.all(sql, params![of.as_str(), stamp(now), limit as i64], |row| {
            at("pr_state", row)
        })
    }

    /// The newest evidence of a pull request.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn evidence(&self, of: &PrRef) -> Result<Option<Recorded>, LedgerError> {
        let sql = "SELECT repo, pr_number, evidence_json, recorded_at FROM pr_evidence \
                   WHERE repo = ?1 AND pr_number = ?2 ORDER BY id DESC LIMIT 1";
        self.one(sql, of, recorded)
    }

    /// The newest evidence of every pull request, or of those of which evidence was recorded since a moment.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn evidence_since(&self, since: Option<Time>) -> Result<Vec<Recorded>, LedgerError> {
        let sql = "SELECT repo, pr_number, evidence_json, recorded_at FROM pr_evidence WHERE id IN \
                   (SELECT max(id) FROM pr_evidence GROUP BY repo, pr_number) \
                   AND (?1 IS NULL OR recorded_at >= ?1) ORDER BY repo, pr_number";
        self.all(sql, params![since.map(stamp)], recorded)
    }

    /// Every different evidence of a pull request, oldest first.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn evidence_of(&self, of: &PrRef) -> Result<Vec<Recorded>, LedgerError> {
        let sql = "SELECT repo, pr_number, evidence_json, recorded_at FROM pr_evidence \
                   WHERE repo = ?1 AND pr_number = ?2 ORDER BY id";
        self.all(sql, params![of.repo.as_str(), of.number.get()], recorded)
    }

    /// The log of a pull request, oldest first.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn transitions(&self, of: &PrRef) -> Result<Vec<Logged>, LedgerError> {
        let sql = format!(
            "SELECT {LOG_COLUMNS} FROM pr_state_transitions WHERE repo = ?1 AND pr_number = ?2 ORDER BY id"
        );
        self.all(&sql, params![of.repo.as_str(), of.number.get()], logged)
    }

    /// Every row of the log since a moment, oldest first, without its evidence.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn transitions_since(&self, since: Time) -> Result<Vec<Transition>, LedgerError> {
        let sql =
            format!("SELECT {LOG_COLUMNS} FROM pr_state_transitions WHERE created_at >= ?1 ORDER BY id");
        self.all(&sql, params![stamp(since)], transition)
    }

    /// What a pull request is recognised by.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn card(&self, of: &PrRef) -> Result<Option<Card>, LedgerError> {
        let sql = format!("SELECT {CARD_COLUMNS} FROM pr_cards WHERE repo = ?1 AND pr_number = ?2");
        self.one(&sql, of, card)
    }

    /// All of them, of one repository or of all.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn cards(&self, of: Option<&RepoName>) -> Result<Vec<Card>, LedgerError> {
        let sql = format!(
            "SELECT {CARD_COLUMNS} FROM pr_cards WHERE ?1 IS NULL OR repo = ?1 ORDER BY repo, pr_number"
        );
        self.all(&sql, params![of.map(RepoName::as_str)], card)
    }

    /// The open pull requests of a repository that were last read before a moment, the longest ago first.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn read_before(&self, of: &RepoName, before: Time, limit: usize) -> Result<Vec<Card>, LedgerError> {
        let sql = format!(
            "SELECT {CARD_COLUMNS} FROM pr_cards WHERE repo = ?1 AND is_open AND read_at < ?2 \
             ORDER BY read_at, pr_number LIMIT ?3"
        );
        self.all(&sql, params![of.as_str(), stamp(before), limit as i64], card)
    }

    /// The heads of a repository whose checks or mergeability are not final.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn pending(&self, of: &RepoName) -> Result<Vec<Pending>, LedgerError> {
        let sql = "SELECT repo, pr_number, pending_since FROM pr_cards \
                   WHERE repo = ?1 AND pending_since IS NOT NULL ORDER BY pr_number";
        self.all(sql, params![of.as_str()], |row| {
            let since: String = row.get(2)?;
            Ok(Pending {
                at: at("pr_cards", row)?,
                since: moment("pr_cards", "pending_since", &since)?,
            })
        })
    }

    /// Who owns what a pull request changes, where that was looked for.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn assignment(&self, of: &PrRef) -> Result<Option<Assignment>, LedgerError> {
        let sql = "SELECT assignment_json FROM pr_assignments WHERE repo = ?1 AND pr_number = ?2";
        self.one(sql, of, |row| {
            let text: String = row.get(0)?;
            from_json("pr_assignments", "assignment_json", &text)
        })
    }

    /// The program's own reviews of a pull request, as they concern one head.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn reviews(&self, of: &PrRef, head: &Sha) -> Result<Reviews, LedgerError> {
        let sql = "SELECT head_sha, state, at, quality FROM review_attempts \
                   WHERE repo = ?1 AND pr_number = ?2 ORDER BY id";
        let attempts = self.all(sql, params![of.repo.as_str(), of.number.get()], |row| {
            let at: String = row.get(2)?;
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                moment("review_attempts", "at", &at)?,
                row.get::<_, Option<String>>(3)?,
            ))
        })?;
        let of_head: Vec<_> = attempts.iter().filter(|(on, ..)| on == head.as_str()).collect();
        let last = of_head
            .iter()
            .rev()
            .find(|(_, state, ..)| state == "completed")
            .or(of_head.last());
        let review = match last {
            None => HeadReview::None,
            Some((_, state, at, quality)) => match state.as_str() {
                "queued" => HeadReview::Queued,
                "running" => HeadReview::Running,
                "failed" => HeadReview::Failed,
                "completed" => HeadReview::Completed {
                    at: *at,
                    quality: quality.clone(),
                },
                other => {
                    return Err(damaged("review_attempts", "state")(format!(
                        "{other:?} is no state"
                    )));
                }
            },
        };
        Ok(Reviews {
            attempts: count("review_attempts", "count", attempts.len() as i64)?,
            is_claimed: !of_head.is_empty(),
            of_head: review,
        })
    }

    /// The unresolved findings of weight of a pull request, whatever head they were made on.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn findings(&self, of: &PrRef) -> Result<FindingCounts, LedgerError> {
        let sql = "SELECT count(*) FILTER (WHERE NOT is_disputed), count(*) FILTER (WHERE is_disputed) FROM findings \
                   WHERE repo = ?1 AND pr_number = ?2 AND NOT is_fixed AND severity IN ('blocker', 'major')";
        let counts = self.one(sql, of, |row| {
            Ok(FindingCounts {
                open: count("findings", "count", row.get(0)?)?,
                disputed: count("findings", "count", row.get(1)?)?,
            })
        })?;
        Ok(counts.unwrap_or_default())
    }

    /// How pull requests ended since a moment.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn closed_since(&self, since: Time) -> Result<Vec<ClosedPull>, LedgerError> {
        let sql = "SELECT repo, pr_number, merged, closed_at, by_login, human_comments, human_reviews, opened_at \
                   FROM closed_pulls WHERE closed_at >= ?1 ORDER BY closed_at, repo, pr_number";
        self.all(sql, params![stamp(since)], |row| {
            const TABLE: &str = "closed_pulls";
            let (closed_at, opened_at): (String, String) = (row.get(3)?, row.get(7)?);
            let by: Option<String> = row.get(4)?;
            Ok(ClosedPull {
                at: at(TABLE, row)?,
                merged: row.get(2)?,
                closed_at: moment(TABLE, "closed_at", &closed_at)?,
                by: by
                    .map(|by| by.parse())
                    .transpose()
                    .map_err(damaged(TABLE, "by_login"))?,
                human_comments: count(TABLE, "human_comments", row.get(5)?)?,
                human_reviews: count(TABLE, "human_reviews", row.get(6)?)?,
                opened_at: moment(TABLE, "opened_at", &opened_at)?,
            })
        })
    }

    /// What is known of a repository, under its name or a former one.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn repository(&self, of: &RepoName) -> Result<Option<RepositoryBook>, LedgerError> {
        let sql = "SELECT facts_json, read_at, feed_cursor, full_pass_at FROM repositories WHERE repo = ?1 \
                   OR repo = (SELECT repo FROM former_names WHERE former = ?1) ORDER BY repo = ?1 DESC LIMIT 1";
        let found = self.all(sql, params![of.as_str()], |row| {
            const TABLE: &str = "repositories";
            let (facts, read_at): (String, String) = (row.get(0)?, row.get(1)?);
            Ok(RepositoryBook {
                facts: from_json(TABLE, "facts_json", &facts)?,
                read_at: moment(TABLE, "read_at", &read_at)?,
                feed_cursor: moment_or_none(TABLE, "feed_cursor", row.get(2)?)?,
                full_pass_at: moment_or_none(TABLE, "full_pass_at", row.get(3)?)?,
            })
        })?;
        Ok(found.into_iter().next())
    }

    /// What is known of a branch, and when it was read.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn branch(&self, of: &RepoName, branch: &str) -> Result<Option<(BranchFacts, Time)>, LedgerError> {
        let sql = "SELECT facts_json, read_at FROM branches WHERE repo = ?1 AND branch = ?2";
        let found = self.all(sql, params![of.as_str(), branch], |row| {
            let (facts, read_at): (String, String) = (row.get(0)?, row.get(1)?);
            Ok((
                from_json("branches", "facts_json", &facts)?,
                moment("branches", "read_at", &read_at)?,
            ))
        })?;
        Ok(found.into_iter().next())
    }

    /// Whom a spent budget did not reach, and since when they wait, the longest first.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn waiting(&self) -> Result<Vec<(PrRef, Time)>, LedgerError> {
        let sql = "SELECT repo, pr_number, since FROM waiting_visits ORDER BY since, repo, pr_number";
        self.all(sql, [], |row| {
            let since: String = row.get(2)?;
            Ok((
                at("waiting_visits", row)?,
                moment("waiting_visits", "since", &since)?,
            ))
        })
    }

    /// What happened to the reconciler since a moment, oldest first.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn events_since(&self, since: Time) -> Result<Vec<Event>, LedgerError> {
        let sql = "SELECT kind, detail_json, at FROM events WHERE at >= ?1 ORDER BY id";
        self.all(sql, params![stamp(since)], |row| {
            let (detail, at): (String, String) = (row.get(1)?, row.get(2)?);
            Ok(Event {
                kind: row.get(0)?,
                detail: from_json("events", "detail_json", &detail)?,
                at: moment("events", "at", &at)?,
            })
        })
    }

    /// What a turn came to, where it was run before.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn outcome(&self, turn: &str) -> Result<Option<String>, LedgerError> {
        let mut statement = self
            .db
            .prepare_cached("SELECT outcome FROM turns WHERE key = ?1")?;
        Ok(statement.query_row([turn], |row| row.get(0)).optional()?)
    }

    fn one<T>(
        &self,
        sql: &str,
        of: &PrRef,
        read: impl Fn(&Row<'_>) -> Result<T, LedgerError>,
    ) -> Result<Option<T>, LedgerError> {
        let found = self.all(sql, params![of.repo.as_str(), of.number.get()], read)?;
        Ok(found.into_iter().next())
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> Result<T, LedgerError>,
    ) -> Result<Vec<T>, LedgerError> {
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }
}

fn state_row(row: &Row<'_>) -> Result<StateRow, LedgerError> {
    const TABLE: &str = "pr_state";
    let (state, sub_status): (String, Option<String>) = (row.get(2)?, row.get(3)?);
    let (head, since): (String, String) = (row.get(4)?, row.get(5)?);
    let pager: Option<String> = row.get(7)?;
    let (labels, updated): (Option<String>, String) = (row.get(12)?, row.get(17)?);
    Ok(StateRow {
        at: at(TABLE, row)?,
        state: state.parse().map_err(damaged(TABLE, "state"))?,
        sub_status: sub_status
            .map(|sub| sub.parse())
            .transpose()
            .map_err(damaged(TABLE, "sub_status"))?,
        head_sha: head.parse().map_err(damaged(TABLE, "head_sha"))?,
        since_at: moment(TABLE, "since_at", &since)?,
        reason: row.get(6)?,
        pager_login: pager
            .map(|login| login.parse())
            .transpose()
            .map_err(damaged(TABLE, "pager_login"))?,
        last_human_activity_at: moment_or_none(TABLE, "last_human_activity_at", row.get(8)?)?,
        next_deadline_at: moment_or_none(TABLE, "next_deadline_at", row.get(9)?)?,
        parked_at: moment_or_none(TABLE, "parked_at", row.get(10)?)?,
        state_label: row.get(11)?,
        content_labels: match labels {
            Some(labels) => from_json(TABLE, "content_labels_json", &labels)?,
            None => Vec::new(),
        },
        open_findings: count(TABLE, "open_findings", row.get(13)?)?,
        disputed_findings: count(TABLE, "disputed_findings", row.get(14)?)?,
        ready_entry_seq: count(TABLE, "ready_entry_seq", row.get(15)?)?,
        ready_paged_seq: count(TABLE, "ready_paged_seq", row.get(16)?)?,
        updated_at: moment(TABLE, "updated_at", &updated)?,
    })
}

fn card(row: &Row<'_>) -> Result<Card, LedgerError> {
    const TABLE: &str = "pr_cards";
    let author: Option<String> = row.get(4)?;
    let (updated, read): (String, String) = (row.get(5)?, row.get(6)?);
    Ok(Card {
        at: at(TABLE, row)?,
        title: row.get(2)?,
        url: row.get(3)?,
        author: author
            .map(|login| login.parse())
            .transpose()
            .map_err(damaged(TABLE, "author"))?,
        updated_at: moment(TABLE, "updated_at", &updated)?,
        read_at: moment(TABLE, "read_at", &read)?,
        is_open: row.get(7)?,
        pending_since: moment_or_none(TABLE, "pending_since", row.get(8)?)?,
    })
}

fn recorded(row: &Row<'_>) -> Result<Recorded, LedgerError> {
    let (evidence, at): (String, String) = (row.get(2)?, row.get(3)?);
    Ok(Recorded {
        evidence: from_json("pr_evidence", "evidence_json", &evidence)?,
        recorded_at: moment("pr_evidence", "recorded_at", &at)?,
    })
}

fn transition(row: &Row<'_>) -> Result<Transition, LedgerError> {
    const TABLE: &str = "pr_state_transitions";
    let state = |word: String| word.parse::<State>().map_err(damaged(TABLE, "state"));
    let from: Option<String> = row.get(3)?;
    let (head, created): (String, String) = (row.get(5)?, row.get(7)?);
    Ok(Transition {
        at: at(TABLE, row)?,
        from_state: from.map(state).transpose()?,
        to_state: state(row.get(4)?)?,
        head_sha: head.parse().map_err(damaged(TABLE, "head_sha"))?,
        reason: row.get(6)?,
        created_at: moment(TABLE, "created_at", &created)?,
    })
}

fn logged(row: &Row<'_>) -> Result<Logged, LedgerError> {
    let (evidence, actions): (String, String) = (row.get(8)?, row.get(9)?);
    Ok(Logged {
        id: row.get(2)?,
        transition: transition(row)?,
        // Of an earlier form it may be; the row itself counts all the same.
        evidence: serde_json::from_str(&evidence).ok(),
        actions: from_json("pr_state_transitions", "actions_json", &actions)?,
    })
}

impl Reader {
    /// The name that a repository has now, where this one is a former one of it.
    ///
    /// # Errors
    /// As for [`Reader::row`].
    pub fn present_name(&self, of: &RepoName) -> Result<Option<RepoName>, LedgerError> {
        let mut statement = self
            .db
            .prepare_cached("SELECT repo FROM former_names WHERE former = ?1")?;
        let name: Option<String> = statement.query_row([of.as_str()], |row| row.get(0)).optional()?;
        name.map(|name| repo_named("former_names", &name)).transpose()
    }
}
