//! Who says what: comments, reviews, review threads.

use serde_json::{Map, Value, json};

use super::when::{IntoWhen, When, hours_ago};
use super::{Raw, apply};
use crate::graph::{AVATARS, SITE, World, node_id, reference, stamp};

/// How an account stands to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are GitHub's")]
pub enum Association {
    Collaborator,
    Contributor,
    FirstTimer,
    FirstTimeContributor,
    Mannequin,
    Member,
    None,
    Owner,
}

impl Association {
    /// GraphQL's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Collaborator => "COLLABORATOR",
            Self::Contributor => "CONTRIBUTOR",
            Self::FirstTimer => "FIRST_TIMER",
            Self::FirstTimeContributor => "FIRST_TIME_CONTRIBUTOR",
            Self::Mannequin => "MANNEQUIN",
            Self::Member => "MEMBER",
            Self::None => "NONE",
            Self::Owner => "OWNER",
        }
    }
}

/// An account, or nobody where it was deleted. A plain text is a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A person, or a machine user that looks like one.
    User(String),
    /// A GitHub App. GraphQL gives its login without `[bot]`.
    Bot(String),
    /// A placeholder for an account of another site.
    Mannequin(String),
    /// A team, where a review is asked for.
    Team(String),
    /// A deleted account: null in GraphQL.
    Deleted,
}

impl Who {
    /// A person.
    pub fn user(login: &str) -> Self {
        Self::User(login.to_owned())
    }

    /// A GitHub App.
    pub fn bot(login: &str) -> Self {
        Self::Bot(login.to_owned())
    }

    pub(crate) fn node(&self, world: &mut World) -> Value {
        match self {
            Self::User(login) => reference(&world.account("User", login)),
            Self::Bot(login) => reference(&world.account("Bot", login)),
            Self::Mannequin(login) => reference(&world.account("Mannequin", login)),
            Self::Team(slug) => reference(&world.account("Team", slug)),
            Self::Deleted => Value::Null,
        }
    }
}

impl Who {
    /// The picture beside a commit status, which alone says which app made it: an app's lies under `in/` and
    /// its number, a person's under `u/`.
    pub(crate) fn avatar(&self, world: &mut World) -> Option<String> {
        let (folder, key) = match self {
            Self::Bot(slug) => ("in", world.app(slug)),
            Self::User(login) | Self::Mannequin(login) => ("u", world.account("User", login)),
            Self::Team(_) | Self::Deleted => return None,
        };
        let id = world.node(&key)?.get("databaseId")?.as_u64()?;
        Some(format!("{AVATARS}/{folder}/{id}?s=40&v=4"))
    }
}

/// An edit after the fact.
struct Edited {
    by: Option<Who>,
    at: When,
}

/// Says on a comment or review that it was edited: by its author, where nobody else is named.
fn say_edited(world: &mut World, node: &mut Value, edited: Option<Edited>) {
    let Some((edited, node)) = edited.zip(node.as_object_mut()) else {
        return;
    };
    let at = json!(stamp(edited.at.on(world.now())));
    let editor = match edited.by {
        Some(who) => who.node(world),
        None => node.get("author").cloned().unwrap_or_default(),
    };
    node.insert("lastEditedAt".into(), at.clone());
    node.insert("updatedAt".into(), at);
    node.insert("editor".into(), editor);
}

impl From<&str> for Who {
    fn from(login: &str) -> Self {
        Self::user(login)
    }
}

impl From<String> for Who {
    fn from(login: String) -> Self {
        Self::User(login)
    }
}

impl From<&Who> for Who {
    fn from(who: &Who) -> Self {
        who.clone()
    }
}

/// A comment of a conversation or of a review thread. By default an hour old.
pub struct CommentSpec {
    who: Who,
    association: Association,
    body: String,
    at: When,
    minimized: Option<String>,
    edited: Option<Edited>,
    raw: Vec<Raw>,
}

impl CommentSpec {
    /// Somebody says something.
    pub fn new(who: impl Into<Who>, association: Association, body: &str) -> Self {
        Self {
            who: who.into(),
            association,
            body: body.to_owned(),
            at: hours_ago(1),
            minimized: None,
            edited: None,
            raw: Vec::new(),
        }
    }

    /// When it was written.
    #[must_use]
    pub fn at(mut self, at: impl IntoWhen) -> Self {
        self.at = at.into_when();
        self
    }

    /// Edited since, by its author.
    #[must_use]
    pub fn edited(mut self, at: impl IntoWhen) -> Self {
        self.edited = Some(Edited {
            by: None,
            at: at.into_when(),
        });
        self
    }

    /// Edited since, by somebody else.
    #[must_use]
    pub fn edited_by(mut self, who: impl Into<Who>, at: impl IntoWhen) -> Self {
        self.edited = Some(Edited {
            by: Some(who.into()),
            at: at.into_when(),
        });
        self
    }

    /// Hidden by somebody, for a reason such as `outdated` or `off-topic`.
    #[must_use]
    pub fn minimized(mut self, reason: &str) -> Self {
        self.minimized = Some(reason.to_owned());
        self
    }

    /// Any other field.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }

    pub(crate) fn node(self, world: &mut World, on: &On<'_>, typename: &str) -> Value {
        let id = world.next_id();
        let at = stamp(self.at.on(world.now()));
        let anchor = if typename == "IssueComment" {
            "issuecomment-"
        } else {
            "discussion_r"
        };
        let mut node = json!({
            "__typename": typename, "id": node_id(typename, id), "databaseId": id,
            "url": format!("{}#{anchor}{id}", on.url),
            "author": self.who.node(world), "authorAssociation": self.association.as_str(),
            "body": self.body, "createdAt": at, "updatedAt": at,
            "isMinimized": self.minimized.is_some(), "minimizedReason": self.minimized,
        });
        say_edited(world, &mut node, self.edited);
        apply(self.raw, &mut node);
        node
    }
}

/// What a comment or a review hangs on.
pub(crate) struct On<'a> {
    pub url: &'a str,
    pub commit: &'a str,
}

/// A review. By default an hour old and of the head commit.
pub struct ReviewSpec {
    who: Who,
    association: Association,
    state: String,
    body: String,
    at: When,
    minimized: bool,
    edited: Option<Edited>,
    raw: Vec<Raw>,
}

impl ReviewSpec {
    /// A review that says one of GitHub's words, known today or not.
    pub fn new(who: impl Into<Who>, association: Association, state: &str, body: &str) -> Self {
        Self {
            who: who.into(),
            association,
            state: state.to_owned(),
            body: body.to_owned(),
            at: hours_ago(1),
            minimized: false,
            edited: None,
            raw: Vec::new(),
        }
    }

    /// A member approves.
    pub fn approved(who: impl Into<Who>) -> Self {
        Self::new(who, Association::Member, "APPROVED", "")
    }

    /// A member asks for changes.
    pub fn changes_requested(who: impl Into<Who>, body: &str) -> Self {
        Self::new(who, Association::Member, "CHANGES_REQUESTED", body)
    }

    /// A member comments. With an empty body, it is what a reply in a thread leaves.
    pub fn commented(who: impl Into<Who>, body: &str) -> Self {
        Self::new(who, Association::Member, "COMMENTED", body)
    }

    /// When it was sent.
    #[must_use]
    pub fn at(mut self, at: impl IntoWhen) -> Self {
        self.at = at.into_when();
        self
    }

    /// How its author stands to the repository.
    #[must_use]
    pub fn by_a(mut self, association: Association) -> Self {
        self.association = association;
        self
    }

    /// Edited since, by its author.
    #[must_use]
    pub fn edited(mut self, at: impl IntoWhen) -> Self {
        self.edited = Some(Edited {
            by: None,
            at: at.into_when(),
        });
        self
    }

    /// Edited since, by somebody else.
    #[must_use]
    pub fn edited_by(mut self, who: impl Into<Who>, at: impl IntoWhen) -> Self {
        self.edited = Some(Edited {
            by: Some(who.into()),
            at: at.into_when(),
        });
        self
    }

    /// Dismissed since.
    #[must_use]
    pub fn dismissed(mut self) -> Self {
        "DISMISSED".clone_into(&mut self.state);
        self
    }

    /// Not sent yet: it has no time.
    #[must_use]
    pub fn pending(mut self) -> Self {
        "PENDING".clone_into(&mut self.state);
        self
    }

    /// Hidden by somebody.
    #[must_use]
    pub fn minimized(mut self) -> Self {
        self.minimized = true;
        self
    }

    /// Any other field.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }

    pub(crate) fn node(self, world: &mut World, on: &On<'_>) -> Value {
        let id = world.next_id();
        let at = stamp(self.at.on(world.now()));
        let submitted = (self.state != "PENDING").then_some(&at);
        let mut node = json!({
            "__typename": "PullRequestReview", "id": node_id("PullRequestReview", id), "databaseId": id,
            "url": format!("{}#pullrequestreview-{id}", on.url),
            "author": self.who.node(world), "authorAssociation": self.association.as_str(),
            "state": self.state, "body": self.body,
            "submittedAt": submitted, "createdAt": at, "updatedAt": at,
            "isMinimized": self.minimized, "commit": reference(on.commit), "comments": [],
            "authorCanPushToRepository":
                matches!(self.association, Association::Member | Association::Owner | Association::Collaborator),
        });
        say_edited(world, &mut node, self.edited);
        apply(self.raw, &mut node);
        node
    }
}

/// A review thread on line 12 of a file, unresolved.
pub struct ThreadSpec {
    path: String,
    line: u32,
    comments: Vec<CommentSpec>,
    resolved: Option<Who>,
    outdated: bool,
    hunk: String,
    made_on: Option<String>,
    raw: Vec<Raw>,
}

impl ThreadSpec {
    /// A thread on a file, begun by a comment.
    pub fn new(path: &str, comment: CommentSpec) -> Self {
        Self {
            path: path.to_owned(),
            line: 12,
            comments: vec![comment],
            resolved: None,
            outdated: false,
            hunk: "@@ -10,3 +10,4 @@ fn main() {\n     let a = 1;\n+    let b = a;\n".to_owned(),
            made_on: None,
            raw: Vec::new(),
        }
    }

    /// A reply.
    #[must_use]
    pub fn reply(mut self, comment: CommentSpec) -> Self {
        self.comments.push(comment);
        self
    }

    /// Resolved by somebody.
    #[must_use]
    pub fn resolved(mut self, by: impl Into<Who>) -> Self {
        self.resolved = Some(by.into());
        self
    }

    /// The code has changed since: it has no line any more.
    #[must_use]
    pub fn outdated(mut self) -> Self {
        self.outdated = true;
        self
    }

    /// The line that it is about.
    #[must_use]
    pub fn line(mut self, line: u32) -> Self {
        self.line = line;
        self
    }

    /// The diff hunk that it is about.
    #[must_use]
    pub fn hunk(mut self, hunk: &str) -> Self {
        hunk.clone_into(&mut self.hunk);
        self
    }

    /// The commit that it was written on, where that is not the head.
    #[must_use]
    pub fn made_on(mut self, oid: &str) -> Self {
        self.made_on = Some(oid.to_owned());
        self
    }

    /// Any other field.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }

    pub(crate) fn node(self, world: &mut World, on: &On<'_>) -> Value {
        let id = world.next_id();
        let made_on = match &self.made_on {
            Some(oid) => json!({"__typename": "Commit", "oid": oid}),
            None => reference(on.commit),
        };
        let line = (!self.outdated).then_some(self.line);
        let mut first: Option<Value> = None;
        let mut comments = Vec::new();
        for comment in self.comments {
            let mut node = comment.node(world, on, "PullRequestReviewComment");
            if let Some(map) = node.as_object_mut() {
                map.insert("path".into(), json!(self.path));
                map.insert("line".into(), json!(line));
                map.insert("originalLine".into(), json!(self.line));
                map.insert("outdated".into(), json!(self.outdated));
                map.insert("diffHunk".into(), json!(self.hunk));
                map.insert("commit".into(), reference(on.commit));
                map.insert("originalCommit".into(), made_on.clone());
                map.insert("replyTo".into(), first.clone().unwrap_or(Value::Null));
            }
            first.get_or_insert_with(|| node.clone());
            comments.push(node);
        }
        let resolver = self.resolved.as_ref().map(|who| who.node(world));
        let mut node = json!({
            "__typename": "PullRequestReviewThread", "id": node_id("PullRequestReviewThread", id),
            "isResolved": self.resolved.is_some(), "isOutdated": self.outdated, "isCollapsed": self.outdated,
            "resolvedBy": resolver, "path": self.path, "line": line, "originalLine": self.line,
            "viewerCanReply": true, "viewerCanResolve": true, "comments": comments,
            "url": format!("{SITE}/{id}"),
        });
        apply(self.raw, &mut node);
        node
    }
}
