//! Reading a repository that is maintained, and the branches that its pull requests go to.

use pulls::facts::Checks;
use pulls::upkeep::{BranchFacts, CodeownersFile, RepositoryFacts, RequiredCheck, RequiredChecks};
use pulls::{RepoName, required};

use crate::allow::escaped;
use crate::allowance::Allowance;
use crate::answer;
use crate::assembly::CommitReading;
use crate::batch::{self, Of};
use crate::error::ReadError;
use crate::reader::Reader;
use crate::shape;

/// Rules on one page, GitHub's own bound.
const RULES_PAGE: usize = 100;

/// Pages of rules: no branch has 1,000.
const MAX_RULES_PAGES: u32 = 10;

/// Further pages of a branch's checks and suites together.
const MAX_CHECK_PAGES: u32 = 200;

impl Reader {
    /// What a repository is called now, and its `CODEOWNERS`: the first of `.github/`, the root and `docs/`
    /// on the default branch, as GitHub looks for it. One request.
    ///
    /// # Errors
    /// [`ReadError::NoRepository`] where it is not there, [`ReadError::Spent`] where `allowance` has no request
    /// left, [`ReadError::Malformed`] for a `CODEOWNERS` that
    /// GitHub gives only a part of, else those of one request.
    pub async fn repository_facts(
        &self,
        repo: &RepoName,
        allowance: &Allowance,
    ) -> Result<RepositoryFacts, ReadError> {
        let answer = self
            .persist_in(&batch::repository_facts(repo), repo, allowance)
            .await?;
        if let Some(error) = answer.spoiling() {
            return Err(error);
        }
        let kept: shape::Kept = answer
            .field("repository")?
            .ok_or_else(|| ReadError::NoRepository(repo.clone()))?;
        let found = [
            (".github/CODEOWNERS", kept.hidden),
            ("CODEOWNERS", kept.root),
            ("docs/CODEOWNERS", kept.docs),
        ]
        .into_iter()
        .find_map(|(path, file)| Some((path, file.filter(|file| file.typename == "Blob")?)));
        Ok(RepositoryFacts {
            repo: kept.name_with_owner,
            asked_as: repo.clone(),
            is_archived: kept.is_archived,
            default_branch: kept.default_branch_ref.map(|branch| branch.name),
            codeowners: found
                .map(|(path, file)| codeowners(path, file))
                .transpose()?
                .flatten(),
        })
    }

    /// A branch with the checks of its head, and those that a pull request onto it must pass: what branch
    /// protection, rulesets and the branch's own summary say together. Where one of them is not there or not
    /// for this token, the others count; where none is, the set is [unknown](RequiredChecks::Unknown).
    ///
    /// Four requests. A branch that is not there has no head, and takes one.
    ///
    /// # Errors
    /// [`ReadError::NoRepository`] where the repository is not there, [`ReadError::Spent`] where `allowance`
    /// ends first, else those of any of the requests: a
    /// place that fails to answer is not one that requires nothing.
    pub async fn branch(
        &self,
        repo: &RepoName,
        branch: &str,
        allowance: &Allowance,
    ) -> Result<BranchFacts, ReadError> {
        let Some((repo, sha, checks)) = self.branch_head(repo, branch, allowance).await? else {
            return Ok(BranchFacts {
                branch: branch.to_owned(),
                sha: None,
                required: RequiredChecks::Unknown {
                    why: format!("there is no branch {branch}"),
                },
                checks: Checks {
                    contexts: None,
                    suites: Vec::new(),
                },
            });
        };
        let name = escaped(branch);
        // Under the repository's name of now, so that nothing is answered from elsewhere.
        let protection = self.protection(&repo, &name, allowance).await?;
        let rulesets = self.rulesets(&repo, &name, allowance).await?;
        let summary = self.summary(&repo, &name, allowance).await?;
        Ok(BranchFacts {
            branch: branch.to_owned(),
            sha: Some(sha),
            required: required::merge(protection, rulesets, summary),
            checks,
        })
    }

    async fn branch_head(
        &self,
        repo: &RepoName,
        branch: &str,
        allowance: &Allowance,
    ) -> Result<Option<(RepoName, pulls::Sha, Checks)>, ReadError> {
        let answer = self
            .persist_in(&batch::branch(repo, branch), repo, allowance)
            .await?;
        if let Some(error) = answer.spoiling() {
            return Err(error);
        }
        let found: shape::InBranch = answer
            .field("repository")?
            .ok_or_else(|| ReadError::NoRepository(repo.clone()))?;
        let Some(head) = found.branch.and_then(|branch| branch.target) else {
            return Ok(None);
        };
        let sha = head.oid.clone();
        let mut reading = CommitReading::new(sha.clone());
        let mut wants = Vec::new();
        reading.begin(Some(head), &mut wants)?;
        let mut pages = 0;
        while let Some((of, after)) = wants.pop() {
            pages += 1;
            if pages > MAX_CHECK_PAGES {
                return Err(ReadError::TooManyPages {
                    list: "checks of a branch",
                    pages: MAX_CHECK_PAGES,
                });
            }
            let page = self.check_page(repo, &of, after.as_deref(), allowance).await?;
            reading.absorb(&of, &page, &mut wants)?;
        }
        Ok(Some((found.name_with_owner, sha, reading.checks())))
    }

    /// One further page, as the text that stands under its alias.
    async fn check_page(
        &self,
        repo: &RepoName,
        of: &Of,
        after: Option<&str>,
        allowance: &Allowance,
    ) -> Result<String, ReadError> {
        let document = batch::commit_page(repo, of, after);
        let alias = batch::page_alias(0);
        let answer = self.persist(&document, &alias, allowance).await?;
        if let Some(error) = answer.spoiling() {
            return Err(error);
        }
        Ok(answer
            .data
            .get(&alias)
            .map_or_else(|| "null".to_owned(), |raw| raw.get().to_owned()))
    }

    /// The checks that branch protection requires; for administrators.
    async fn protection(
        &self,
        repo: &RepoName,
        branch: &str,
        allowance: &Allowance,
    ) -> Result<Option<Vec<RequiredCheck>>, ReadError> {
        let path = format!("/repos/{repo}/branches/{branch}/protection/required_status_checks");
        let Some(reply) = self.persist_get(&path, allowance).await? else {
            return Ok(None);
        };
        let checks: shape::StatusChecks = answer::json(&reply)?;
        Ok(Some(checks.required()))
    }

    /// The checks that rulesets require.
    async fn rulesets(
        &self,
        repo: &RepoName,
        branch: &str,
        allowance: &Allowance,
    ) -> Result<Option<Vec<RequiredCheck>>, ReadError> {
        let mut required = Vec::new();
        for page in 1..=MAX_RULES_PAGES {
            let path = format!("/repos/{repo}/rules/branches/{branch}?per_page={RULES_PAGE}&page={page}");
            let Some(reply) = self.persist_get(&path, allowance).await? else {
                return Ok(None);
            };
            let rules: Vec<shape::Rule> = answer::json(&reply)?;
            let is_last = rules.len() < RULES_PAGE;
            for rule in rules {
                required.extend(rule.required()?);
            }
            if is_last {
                return Ok(Some(required));
            }
        }
        Err(ReadError::TooManyPages {
            list: "rules of a branch",
            pages: MAX_RULES_PAGES,
        })
    }

    /// The checks that the branch itself says it requires, as everybody who sees it is told.
    async fn summary(
        &self,
        repo: &RepoName,
        branch: &str,
        allowance: &Allowance,
    ) -> Result<Option<Vec<RequiredCheck>>, ReadError> {
        let path = format!("/repos/{repo}/branches/{branch}");
        let Some(reply) = self.persist_get(&path, allowance).await? else {
            return Ok(None);
        };
        let summary: shape::Summary = answer::json(&reply)?;
        Ok(match summary.protection {
            _ if !summary.protected => Some(Vec::new()),
            // What protects it is a ruleset, of which a summary tells nothing.
            Some(protection) if !protection.enabled && protection.required_status_checks.is_none() => None,
            Some(protection) => {
                let checks = protection
                    .required_status_checks
                    .map(shape::StatusChecks::required)
                    .unwrap_or_default();
                (protection.enabled || !checks.is_empty()).then_some(checks)
            }
            None => None,
        })
    }
}

/// `None` for a file that GitHub does not take for one: it is binary.
fn codeowners(path: &str, file: shape::Blob) -> Result<Option<CodeownersFile>, ReadError> {
    if file.is_truncated {
        return Err(ReadError::Malformed {
            what: format!("{path} is too long to be read whole"),
        });
    }
    Ok(file.text.map(|text| CodeownersFile {
        path: path.to_owned(),
        text,
    }))
}
