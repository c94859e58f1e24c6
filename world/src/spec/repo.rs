//! Repositories, and the builder of a whole world.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::branch::{BranchSpec, blob_node};
use super::pull::PullSpec;
use super::when::IntoWhen;
use super::{Raw, apply};
use crate::graph::{SITE, World, blob_key, commit_key, node_id, oid_of, reference, split_name, stamp};

/// A repository: public, its default branch `main`.
pub struct RepoSpec {
    name: String,
    archived: bool,
    private: bool,
    branch: String,
    old_names: Vec<String>,
    owner: &'static str,
    admin: bool,
    files: Vec<(String, String)>,
    branches: Vec<BranchSpec>,
    raw: Vec<Raw>,
}

impl RepoSpec {
    /// A repository of this `owner/name`, of an organisation.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            archived: false,
            private: false,
            branch: "main".to_owned(),
            old_names: Vec::new(),
            owner: "Organization",
            admin: false,
            files: Vec::new(),
            branches: Vec::new(),
            raw: Vec::new(),
        }
    }

    /// Read-only.
    #[must_use]
    pub fn archived(mut self) -> Self {
        self.archived = true;
        self
    }

    /// Private.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// A person's, not an organisation's.
    #[must_use]
    pub fn of_a_person(mut self) -> Self {
        self.owner = "User";
        self
    }

    /// The default branch.
    #[must_use]
    pub fn default_branch(mut self, name: &str) -> Self {
        name.clone_into(&mut self.branch);
        self
    }

    /// A name that it had, which still leads to it.
    #[must_use]
    pub fn renamed_from(mut self, old: &str) -> Self {
        self.old_names.push(old.to_owned());
        self
    }

    /// The viewer administers it, and may read its branch protection.
    #[must_use]
    pub fn administered(mut self) -> Self {
        self.admin = true;
        self
    }

    /// Its `.github/CODEOWNERS`.
    #[must_use]
    pub fn codeowners(self, text: &str) -> Self {
        self.file(".github/CODEOWNERS", text)
    }

    /// A file, on every branch alike.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// What one of its branches asks for.
    #[must_use]
    pub fn branch(mut self, branch: BranchSpec) -> Self {
        self.branches.push(branch);
        self
    }

    /// Any other field.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }
}

impl World {
    /// Adds a repository, or changes the one of that name to what the spec says. Answers its number.
    pub(crate) fn put_repo(&mut self, spec: RepoSpec) -> u64 {
        let number = match self.repo_number(&spec.name) {
            Some(number) => number,
            None => self.next_id(),
        };
        let (owner, name) = split_name(&spec.name);
        let owner_key = self.account(spec.owner, owner);
        let created = stamp(self.now() - chrono::Duration::days(1_000));
        let branch = self.put_branch(number, &spec.branch);
        let mut node = json!({
            "__typename": "Repository", "id": node_id("Repository", number), "databaseId": number,
            "name": name, "nameWithOwner": spec.name, "owner": reference(&owner_key),
            "url": format!("{SITE}/{}", spec.name), "isArchived": spec.archived,
            "archivedAt": spec.archived.then(|| stamp(self.now() - chrono::Duration::days(3))),
            "isPrivate": spec.private, "visibility": if spec.private { "PRIVATE" } else { "PUBLIC" },
            "isInOrganization": spec.owner == "Organization", "viewerPermission": if spec.admin { "ADMIN" } else { "WRITE" }, "viewerCanAdminister": spec.admin,
            "mergeCommitAllowed": true, "squashMergeAllowed": true, "rebaseMergeAllowed": true,
            "createdAt": created, "updatedAt": created, "pushedAt": stamp(self.now()),
            "defaultBranchRef": reference(&branch),
        });
        apply(spec.raw, &mut node);
        self.name_repo(&spec.name, number);
        for old in spec.old_names {
            self.name_repo(&old, number);
        }
        self.put(&Self::repo_key(number), node);
        for (path, text) in spec.files {
            let blob = blob_node(self, number, &path, &text);
            self.put(&blob_key(number, &path), blob);
        }
        for branch in spec.branches {
            branch.install(self, number);
        }
        number
    }

    /// The number of the repository of this name, which is made if need be.
    pub(crate) fn ensure_repo(&mut self, name: &str) -> u64 {
        match self.repo_number(name) {
            Some(number) => number,
            None => self.put_repo(RepoSpec::new(name)),
        }
    }

    /// The key of a branch of a repository, which is made, with a commit, if need be.
    pub(crate) fn put_branch(&mut self, repo: u64, branch: &str) -> String {
        let key = format!("ref:{repo}:refs/heads/{branch}");
        if self.node(&key).is_none() {
            let oid = oid_of(&format!("{repo} {branch}"));
            let commit = self.put_commit(
                repo,
                &oid,
                self.now() - chrono::Duration::hours(5),
                "Release notes",
            );
            self.put_ref(&key, repo, "refs/heads/", branch, &commit);
        }
        key
    }

    pub(crate) fn put_ref(&mut self, key: &str, repo: u64, prefix: &str, name: &str, commit: &str) {
        let id = self.next_id();
        let node = json!({
            "__typename": "Ref", "id": node_id("Ref", id), "name": name, "prefix": prefix,
            "target": reference(commit), "repository": reference(&Self::repo_key(repo)),
        });
        self.put(key, node);
    }

    pub(crate) fn put_commit(&mut self, repo: u64, oid: &str, at: DateTime<Utc>, message: &str) -> String {
        let key = commit_key(repo, oid);
        let at = stamp(at);
        let repo_key = Self::repo_key(repo);
        let url = self
            .node(&repo_key)
            .and_then(|repo| repo["url"].as_str())
            .unwrap_or(SITE)
            .to_owned();
        let person = json!({ "name": "A committer", "email": "committer@example.invalid", "date": at });
        let id = self.next_id();
        self.put(
            &key,
            json!({
                "__typename": "Commit", "id": node_id("Commit", id), "oid": oid, "message": message,
                "committedDate": at, "authoredDate": at, "pushedDate": null,
                "author": person, "committer": person, "url": format!("{url}/commit/{oid}"),
                "repository": reference(&repo_key), "statusCheckRollup": null, "checkSuites": [],
            }),
        );
        key
    }
}

/// Gathers repositories and pull requests into a world.
pub struct WorldBuilder {
    now: DateTime<Utc>,
    viewer: String,
    repos: Vec<RepoSpec>,
    pulls: Vec<PullSpec>,
}

impl World {
    /// An empty world at this time, its viewer `ada`. A text is RFC 3339.
    pub fn builder(now: impl IntoWhen) -> WorldBuilder {
        let now = now.into_when().on(Utc::now());
        WorldBuilder {
            now,
            viewer: "ada".to_owned(),
            repos: Vec::new(),
            pulls: Vec::new(),
        }
    }

    /// A world with a viewer, `ada`, and nothing else, at the demo's time.
    pub fn empty() -> Self {
        Self::builder(crate::DEMO_NOW).build()
    }
}

impl WorldBuilder {
    /// The account that the token belongs to, and that opens a pull request whose spec names nobody.
    #[must_use]
    pub fn viewer(mut self, login: &str) -> Self {
        login.clone_into(&mut self.viewer);
        self
    }

    /// A repository. One that a pull request names need not be added, unless it has to be special.
    #[must_use]
    pub fn repo(mut self, repo: RepoSpec) -> Self {
        self.repos.push(repo);
        self
    }

    /// A pull request.
    #[must_use]
    pub fn pull(mut self, pull: PullSpec) -> Self {
        self.pulls.push(pull);
        self
    }

    /// Several pull requests.
    #[must_use]
    pub fn pulls(mut self, pulls: impl IntoIterator<Item = PullSpec>) -> Self {
        self.pulls.extend(pulls);
        self
    }

    /// The world.
    pub fn build(self) -> World {
        let mut world = World::bare(self.now, &self.viewer);
        for repo in self.repos {
            world.put_repo(repo);
        }
        for pull in self.pulls {
            world.add_pull(pull);
        }
        world
    }
}
