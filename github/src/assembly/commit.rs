//! The checks of a commit while they are being read.

use pulls::Sha;
use pulls::facts::{Account, Check, Checks, Suite, Time};

use super::reading::Reading;
use super::{Want, in_object};
use crate::batch::Of;
use crate::error::ReadError;
use crate::shape;

/// One commit with its checks and suites.
#[derive(Debug)]
pub(crate) struct CommitReading {
    sha: Sha,
    /// Its committer date, once the commit itself was read.
    pub(super) committed_at: Option<Time>,
    /// Whose it is, where it was read by its id.
    pub(super) by: Option<Account>,
    /// `None` where GitHub has no rollup.
    contexts: Option<Reading<Check>>,
    suites: Reading<Suite>,
}

impl CommitReading {
    pub(crate) fn new(sha: Sha) -> Self {
        Self {
            sha,
            committed_at: None,
            by: None,
            contexts: None,
            suites: Reading::new("check suites"),
        }
    }

    /// Takes the commit where `found` is it, and wants it by its id where it is not: the list of a pull
    /// request's commits ends before the head where there are too many (field case B075).
    pub(crate) fn begin(
        &mut self,
        found: Option<shape::Head>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        match found {
            Some(head) if head.oid == self.sha => self.take_head(head, wants),
            _ => {
                wants.push((Of::Head(self.sha.clone()), None));
                Ok(())
            }
        }
    }

    pub(super) fn is_read(&self) -> bool {
        self.committed_at.is_some()
    }

    /// Takes a page that is the commit's; another one is none of its business.
    pub(crate) fn absorb(&mut self, of: &Of, page: &str, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        match of {
            Of::Head(sha) => {
                let head: shape::Head = in_object(page, "head commit")?;
                if head.oid != *sha {
                    return Err(ReadError::Malformed {
                        what: "another commit than the one asked for".to_owned(),
                    });
                }
                self.take_head(head, wants)
            }
            Of::Contexts(_) => {
                let rollup = in_object::<shape::InContexts>(page, "checks")?.list;
                self.take_contexts(rollup, wants)
            }
            Of::Suites(_) => {
                let suites = in_object::<shape::InSuites>(page, "check suites")?.list;
                self.take_suites(suites, wants)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn checks(self) -> Checks {
        Checks {
            contexts: self.contexts.map(|reading| reading.entries),
            suites: self.suites.entries,
        }
    }

    fn take_head(&mut self, head: shape::Head, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        self.committed_at = Some(head.committed_date);
        self.by = head.author.and_then(shape::CommitAuthor::account);
        self.contexts = None;
        if let Some(rollup) = head.status_check_rollup {
            self.take_contexts(rollup, wants)?;
        }
        if let Some(suites) = head.check_suites {
            self.take_suites(suites, wants)?;
        }
        Ok(())
    }

    fn take_contexts(&mut self, rollup: shape::Rollup, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        let contexts = self.contexts.get_or_insert_with(|| Reading::new("checks"));
        let next = contexts.take(rollup.contexts, |context| Some(shape::check(context)))?;
        next.want(|| Of::Contexts(self.sha.clone()), wants);
        Ok(())
    }

    fn take_suites(
        &mut self,
        page: shape::List<shape::SuiteShape>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let next = self.suites.take(page, |suite| suite.map(Into::into))?;
        next.want(|| Of::Suites(self.sha.clone()), wants);
        Ok(())
    }
}
