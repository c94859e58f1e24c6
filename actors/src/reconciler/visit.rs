//! One pull request in one cycle: what is known of it, what it is judged to be, what is written down.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Card, ClosedPull, LedgerError, Visit};
use lifecycle::maintain::{
    self, Assignment, BadGlob, Before, Epoch, Evidence, FindingCounts, Remembered, Reviews, Routes, Settings,
    StateRow, Taxonomy, Wanted, step,
};
use pulls::facts::{Account, PullFacts, PullState, ReviewState, Time};
use pulls::people::People;
use pulls::upkeep::{BranchFacts, RepositoryFacts};
use pulls::{PrRef, RepoName, Sha};

use super::books::Books;

/// What the ledger knows of a pull request.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) row: Option<StateRow>,
    pub(super) evidence: Option<Evidence>,
    pub(super) assignment: Option<Assignment>,
    pub(super) card: Option<Card>,
    pub(super) findings: FindingCounts,
}

impl Known {
    pub(super) async fn of(books: &Books, at: &PrRef) -> Result<Self, LedgerError> {
        let at = at.clone();
        books.read(move |ledger| Self::read(ledger, &at)).await
    }

    /// What is known of several, in one turn at the ledger.
    pub(super) async fn of_all(books: &Books, all: Vec<PrRef>) -> Result<BTreeMap<PrRef, Self>, LedgerError> {
        books
            .read(move |ledger| {
                let known = |at: PrRef| Ok((at.clone(), Self::read(ledger, &at)?));
                all.into_iter().map(known).collect()
            })
            .await
    }

    fn read(ledger: &ledger::Reader, at: &PrRef) -> Result<Self, LedgerError> {
        Ok(Self {
            row: ledger.row(at)?,
            evidence: ledger.evidence(at)?.map(|recorded| recorded.evidence),
            assignment: ledger.assignment(at)?,
            card: ledger.card(at)?,
            findings: ledger.findings(at)?,
        })
    }
}

/// The program's own reviews of one head.
pub(super) async fn reviews(books: &Books, at: &PrRef, head: &Sha) -> Result<Reviews, LedgerError> {
    let (at, head) = (at.clone(), head.clone());
    books.read(move |ledger| ledger.reviews(&at, &head)).await
}

/// Who owns what, in every repository of the cycle, and the content labels of files.
#[derive(Debug, Default)]
pub(super) struct Routing {
    routes: BTreeMap<RepoName, Routes>,
    taxonomy: Taxonomy,
}

impl Routing {
    pub(super) fn compile_labels(settings: &Settings) -> Result<Self, BadGlob> {
        Ok(Self {
            routes: BTreeMap::new(),
            taxonomy: Taxonomy::compile(&settings.labels)?,
        })
    }

    pub(super) fn add(&mut self, facts: &RepositoryFacts, settings: &Settings) -> Result<(), BadGlob> {
        let (routes, bad) = Routes::compile(facts.codeowners.as_ref(), &settings.owners)?;
        for line in bad {
            tracing::debug!(repo = %facts.repo, line = line.line, "CODEOWNERS: {}", line.why);
        }
        self.routes.insert(facts.repo.clone(), routes);
        Ok(())
    }

    /// Whose it is by the files that it changes now; what was found before, where they could not all be read.
    fn assign(&self, pull: &PullFacts, before: Option<&Assignment>) -> Option<Assignment> {
        let files = pull.upkeep.as_ref().and_then(|upkeep| upkeep.files.as_ref());
        let routes = self.routes.get(&pull.at.repo);
        match (files, routes) {
            (Some(files), Some(routes)) => {
                Some(routes.assign(pull.author.as_ref().map(|author| &author.login), files))
            }
            _ => before.cloned(),
        }
    }

    fn labels(&self, pull: &PullFacts, before: Option<&StateRow>) -> Vec<String> {
        match pull.upkeep.as_ref().and_then(|upkeep| upkeep.files.as_ref()) {
            Some(files) => self.taxonomy.infer(files),
            None => before.map_or_else(Vec::new, |row| row.content_labels.clone()),
        }
    }
}

/// What every visit of a cycle goes by.
pub(super) struct Ground<'a> {
    pub(super) settings: &'a Settings,
    pub(super) routing: &'a Routing,
    pub(super) epoch: Epoch,
    pub(super) now: Time,
}

/// What a visit came to.
pub(super) struct Visited {
    pub(super) visit: Visit,
    pub(super) wanted: Vec<Wanted>,
    /// Whether anything of it is to be written.
    pub(super) is_news: bool,
}

impl Ground<'_> {
    /// A pull request that was read in whole.
    pub(super) fn read(
        &self,
        pull: &PullFacts,
        branch: Option<&BranchFacts>,
        known: &Known,
        reviews: &Reviews,
    ) -> Visited {
        let assignment = self.routing.assign(pull, known.assignment.as_ref());
        let remembered = Remembered {
            previous: known.evidence.as_ref(),
            read_at: known.card.as_ref().map(|card| card.read_at),
            // The first cycle that sees one records it as new; its owner is taken up in the next.
            assignment: assignment.as_ref().filter(|_| known.row.is_some()),
            reviews: Some(reviews),
            findings: known.findings,
            is_legacy: known.evidence.as_ref().is_some_and(|before| before.is_legacy),
        };
        let evidence = maintain::gather(pull, branch, remembered, self.settings, self.now);
        let labels = self.routing.labels(pull, known.row.as_ref());
        let card = Card {
            at: pull.at.clone(),
            title: pull.title.clone(),
            url: pull.url.clone(),
            author: pull.author.as_ref().map(|author| author.login.clone()),
            updated_at: pull.updated_at,
            read_at: self.now,
            is_open: pull.state == PullState::Open,
            pending_since: pending_since(&evidence, known),
        };
        let mut visited = self.judge(evidence, &labels, known, Some(card));
        visited.visit.assignment = assignment.filter(|new| known.assignment.as_ref() != Some(new));
        let has_ended = known.card.as_ref().is_none_or(|card| card.is_open) && pull.state != PullState::Open;
        if has_ended {
            visited.visit.closed = closed(pull, &self.settings.people);
        }
        // That it was read is written too: the full pass goes by it.
        visited.is_news = true;
        visited
    }

    /// One that is judged from what is recorded, perhaps with what a look at its head found.
    pub(super) fn judged(&self, evidence: Evidence, known: &Known, reviews: &Reviews) -> Visited {
        let evidence = Evidence {
            now: self.now,
            assignment: known.assignment.clone().filter(|_| known.row.is_some()),
            reviews: reviews.clone(),
            findings: known.findings,
            ..evidence
        };
        let labels = known
            .row
            .as_ref()
            .map_or_else(Vec::new, |row| row.content_labels.clone());
        let pending = pending_since(&evidence, known);
        let card = known
            .card
            .clone()
            .filter(|card| card.pending_since != pending)
            .map(|card| Card {
                pending_since: pending,
                ..card
            });
        self.judge(evidence, &labels, known, card)
    }

    fn judge(&self, evidence: Evidence, labels: &[String], known: &Known, card: Option<Card>) -> Visited {
        let before = Before {
            row: known.row.as_ref(),
            evidence: known.evidence.as_ref(),
        };
        // Nothing is said on GitHub yet.
        let said = BTreeSet::new();
        let step = step(before, &evidence, labels, &said, self.epoch, self.settings);
        let row = step.row.filter(|_| !step.is_unchanged);
        Visited {
            is_news: row.is_some() || !step.rows.is_empty() || step.is_new_evidence || card.is_some(),
            visit: Visit {
                at: evidence.at.clone(),
                row,
                transitions: step.rows,
                evidence: step.is_new_evidence.then_some(evidence),
                assignment: None,
                card,
                closed: None,
            },
            wanted: step.wanted,
        }
    }
}

/// Since when its checks or mergeability are not final.
fn pending_since(evidence: &Evidence, known: &Known) -> Option<Time> {
    let since = known
        .card
        .as_ref()
        .and_then(|card| card.pending_since)
        .filter(|_| {
            known
                .evidence
                .as_ref()
                .is_some_and(|before| before.head == evidence.head)
        });
    evidence.is_pending().then(|| since.unwrap_or(evidence.now))
}

/// How it ended, for the metrics: what people said about it before, beside its author.
fn closed(pull: &PullFacts, people: &People) -> Option<ClosedPull> {
    let closing = pull.upkeep.as_ref()?.closing.clone()?;
    let is_touch = |account: Option<&Account>| match account {
        Some(account) => {
            !people.is_bot(account) && Some(&account.login) != pull.author.as_ref().map(|a| &a.login)
        }
        None => false,
    };
    let before = |at: Time| at <= closing.at;
    let replies = pull
        .threads
        .iter()
        .flat_map(|thread| &thread.comments)
        .map(|reply| &reply.comment);
    let comments = pull.comments.iter().chain(replies);
    let reviews = pull.reviews.iter().filter(|review| {
        is_touch(review.author.as_ref())
            && review.state != ReviewState::Pending
            && review.submitted_at.is_some_and(before)
    });
    Some(ClosedPull {
        at: pull.at.clone(),
        merged: pull.state == PullState::Merged,
        closed_at: closing.at,
        by: closing.by.map(|by| by.login),
        human_comments: comments
            .filter(|comment| is_touch(comment.author.as_ref()) && before(comment.created_at))
            .count() as u64,
        human_reviews: reviews.count() as u64,
        opened_at: pull.created_at,
    })
}
