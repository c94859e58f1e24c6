//! What can change of a head without a trace in the list of pull requests, while it is being read.

use pulls::PrRef;
use pulls::facts::Checks;
use pulls::upkeep::HeadFacts;

use super::commit::CommitReading;
use super::{Reads, Want};
use crate::answer::Answer;
use crate::batch::{Of, Profile};
use crate::error::ReadError;
use crate::shape;

/// One head while it is being read.
#[derive(Debug)]
pub(crate) struct HeadAssembly {
    facts: HeadFacts,
    commit: CommitReading,
    outstanding: usize,
}

impl Reads for HeadAssembly {
    type Facts = HeadFacts;

    fn begin(
        _: Profile,
        asked: &PrRef,
        answer: &Answer,
        alias: &str,
    ) -> Result<(Self, Vec<Want>), ReadError> {
        let repository: Option<shape::RepositoryWith<shape::Polled>> = answer.field(alias)?;
        let repository = repository.ok_or_else(|| ReadError::NoRepository(asked.repo.clone()))?;
        let pull = *repository
            .pull_request
            .ok_or_else(|| ReadError::NoPull(asked.clone()))?;
        let mut commit = CommitReading::new(pull.head_ref_oid.clone());
        let mut wants = Vec::new();
        commit.begin(pull.head_commit.last().map(|last| last.commit), &mut wants)?;
        let facts = HeadFacts {
            at: PrRef {
                repo: repository.name_with_owner,
                number: pull.number,
            },
            state: pull.state,
            head: pull.head_ref_oid,
            created_at: pull.created_at,
            mergeable: pull.mergeable,
            merge_state: pull.merge_state_status,
            merge_queue_position: pull.merge_queue_entry.map(|entry| entry.position),
            // Until they are read, which is before anything is handed out.
            checks: Checks {
                contexts: None,
                suites: Vec::new(),
            },
        };
        let outstanding = wants.len();
        let this = Self {
            facts,
            commit,
            outstanding,
        };
        Ok((this, wants))
    }

    fn at(&self) -> &PrRef {
        &self.facts.at
    }

    fn absorb(&mut self, of: &Of, page: &str) -> Result<Vec<Want>, ReadError> {
        let mut wants = Vec::new();
        self.commit.absorb(of, page, &mut wants)?;
        self.outstanding = self.outstanding - 1 + wants.len();
        Ok(wants)
    }

    fn is_whole(&self) -> bool {
        self.outstanding == 0 && self.commit.is_read()
    }

    fn finish(self) -> HeadFacts {
        debug_assert!(self.is_whole());
        HeadFacts {
            checks: self.commit.checks(),
            ..self.facts
        }
    }

    fn place(facts: &HeadFacts) -> &PrRef {
        &facts.at
    }
}
