//! The state of a world: GitHub's objects as JSON, named by keys, pointing at each other.
//!
//! A node is one JSON object with a `__typename` and GraphQL's own field names. Where a field holds
//! another node, the JSON says `{"$ref": "<key>"}`; where it holds a list or a connection, it is an
//! array. Fields whose name begins with `_` are the world's own and no query can ask for them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::OnceLock;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

/// One JSON object of the graph.
pub(crate) type Node = Map<String, Value>;

/// Where pictures of accounts lie: an app's under `in/`, a person's under `u/`.
pub(crate) const AVATARS: &str = "https://avatars.github.example";

/// The site that every address in a world lies on. The domain is reserved (RFC 2606), so that no link
/// leads to a real page.
pub const SITE: &str = "https://github.example";

/// Where one pull request or issue is: a repository and a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// The repository, `owner/name`, in any case and under any name that it ever had.
    pub repo: String,
    /// The number.
    pub number: u32,
}

impl From<(&str, u32)> for At {
    fn from((repo, number): (&str, u32)) -> Self {
        Self {
            repo: repo.to_owned(),
            number,
        }
    }
}

impl From<(String, u32)> for At {
    fn from((repo, number): (String, u32)) -> Self {
        Self { repo, number }
    }
}

impl From<&At> for At {
    fn from(at: &At) -> Self {
        at.clone()
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

/// Why a world could not be changed as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no repository of that name.
    #[error("this world has no repository {0}")]
    NoRepository(String),
    /// There is no pull request of that number.
    #[error("this world has no pull request {0}")]
    NoPull(At),
    /// The pull request has no comment, thread or check of that name or number.
    #[error("{0} has no {1}")]
    NotThere(At, String),
    /// The new name is taken.
    #[error("this world already has a repository {0}")]
    NameTaken(String),
}

/// A whole GitHub, small enough for a test: accounts, repositories, pull requests and what hangs on
/// them, seen by one viewer at one fixed time.
///
/// ```
/// use world::{Association, CheckSpec, CommentSpec, PullSpec, World, hours_ago};
///
/// let world = World::builder("2026-05-14T17:45:00Z")
///     .viewer("ada")
///     .pull(
///         PullSpec::new("o/r", 7)
///             .author("ada")
///             .check(CheckSpec::run("build").failure())
///             .comment(CommentSpec::new("grace", Association::Member, "Really?").at(hours_ago(2))),
///     )
///     .build();
///
/// let answer = world.ask("{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { title } } }");
/// assert_eq!(answer["data"]["repository"]["pullRequest"]["title"], "Change 7");
/// ```
#[derive(Debug, Clone)]
pub struct World {
    now: DateTime<Utc>,
    viewer: String,
    nodes: BTreeMap<String, Value>,
    /// Every name that a repository has or had, in lower case, and the repository's number.
    names: BTreeMap<String, u64>,
    last_id: u64,
    by_id: OnceLock<HashMap<String, Place>>,
}

/// Where an object with an id lies: the node's key, and the way down into it.
#[derive(Debug, Clone)]
struct Place {
    key: String,
    pointer: String,
}

impl World {
    /// A world with a viewer and nothing else.
    pub(crate) fn bare(now: DateTime<Utc>, viewer: &str) -> Self {
        let mut world = Self {
            now,
            viewer: String::new(),
            nodes: BTreeMap::new(),
            names: BTreeMap::new(),
            last_id: 1_000,
            by_id: OnceLock::new(),
        };
        world.set_viewer(viewer);
        world
    }

    /// The time in this world. It stands still until [`World::set_now`] moves it.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Moves the world's clock. Nothing that happened before moves with it.
    pub fn set_now(&mut self, now: DateTime<Utc>) {
        self.now = now;
    }

    /// The login of the account that the token belongs to.
    pub fn viewer(&self) -> &str {
        self.node(&self.viewer)
            .and_then(|node| node["login"].as_str())
            .unwrap_or_default()
    }

    /// Makes another account the viewer, and the account where there is none of that login.
    pub fn set_viewer(&mut self, login: &str) {
        self.viewer = self.account("User", login);
    }

    pub(crate) fn viewer_key(&self) -> &str {
        &self.viewer
    }

    /// A number that no other object of this world has.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn node(&self, key: &str) -> Option<&Node> {
        self.nodes.get(key).and_then(Value::as_object)
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.nodes.get(key)
    }

    pub(crate) fn node_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.by_id = OnceLock::new();
        self.nodes.get_mut(key).and_then(Value::as_object_mut)
    }

    pub(crate) fn put(&mut self, key: &str, node: Value) {
        self.by_id = OnceLock::new();
        self.nodes.insert(key.to_owned(), node);
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.by_id = OnceLock::new();
        self.nodes.remove(key)
    }

    /// Every node whose key begins with `prefix`, in key order.
    pub(crate) fn nodes_under(&self, prefix: &str) -> impl Iterator<Item = (&str, &Value)> + use<'_> {
        let prefix = prefix.to_owned();
        self.nodes
            .range(prefix.clone()..)
            .take_while(move |(key, _)| key.starts_with(&prefix))
            .map(|(key, value)| (key.as_str(), value))
    }

    /// Every pull request of one repository.
    pub(crate) fn nodes_under_repo(&self, repo: u64) -> impl Iterator<Item = &Node> {
        self.nodes_under(&format!("pull:{repo}#"))
            .filter_map(|(_, value)| value.as_object())
    }

    /// The node that a reference points at, or the object itself where it is none.
    pub(crate) fn follow<'w>(&'w self, value: &'w Value) -> Option<&'w Value> {
        match value.get("$ref").and_then(Value::as_str) {
            Some(key) => self.nodes.get(key),
            None => Some(value),
        }
    }

    /// The object with this global id, and the node that it lies in.
    pub(crate) fn by_id(&self, id: &str) -> Option<(&Value, &Node)> {
        let index = self.by_id.get_or_init(|| {
            let mut index = HashMap::new();
            for (key, node) in &self.nodes {
                index_ids(key, &mut String::new(), node, &mut index);
            }
            index
        });
        let place = index.get(id)?;
        let root = self.nodes.get(&place.key)?;
        Some((root.pointer(&place.pointer)?, root.as_object()?))
    }

    /// The key of an account, which is made where there is none of that login.
    pub(crate) fn account(&mut self, typename: &str, login: &str) -> String {
        let key = format!(
            "account:{}:{}",
            typename.to_ascii_lowercase(),
            login.to_ascii_lowercase()
        );
        if !self.nodes.contains_key(&key) {
            let id = self.next_id();
            let created = stamp(self.now - chrono::Duration::days(1_500));
            let node = json!({
                "__typename": typename, "id": node_id(typename, id), "databaseId": id,
                "login": login, "name": login, "slug": login, "combinedSlug": login,
                "url": format!("{SITE}/{login}"), "createdAt": created, "updatedAt": created,
            });
            self.put(&key, node);
        }
        key
    }

    /// The key of an app, which is made where there is none of that slug.
    pub(crate) fn app(&mut self, slug: &str) -> String {
        let key = format!("app:{slug}");
        if !self.nodes.contains_key(&key) {
            let id = if slug == "github-actions" {
                GITHUB_ACTIONS
            } else {
                self.next_id()
            };
            let created = stamp(self.now - chrono::Duration::days(1_500));
            let node = json!({
                "__typename": "App", "id": node_id("App", id), "databaseId": id, "slug": slug, "name": slug,
                "url": format!("{SITE}/apps/{slug}"), "createdAt": created, "updatedAt": created,
            });
            self.put(&key, node);
        }
        key
    }

    /// The number of the repository that has or had this name.
    pub(crate) fn repo_number(&self, name: &str) -> Option<u64> {
        self.names.get(&name.to_ascii_lowercase()).copied()
    }

    pub(crate) fn name_repo(&mut self, name: &str, number: u64) {
        self.names.insert(name.to_ascii_lowercase(), number);
    }

    pub(crate) fn repo_key(number: u64) -> String {
        format!("repo:{number}")
    }

    /// The key of a pull request under any name of its repository.
    pub(crate) fn pull_key(&self, at: &At) -> Result<String, EditError> {
        let repo = self
            .repo_number(&at.repo)
            .ok_or_else(|| EditError::NoRepository(at.repo.clone()))?;
        let key = format!("pull:{repo}#{}", at.number);
        if self.nodes.contains_key(&key) {
            Ok(key)
        } else {
            Err(EditError::NoPull(at.clone()))
        }
    }

    /// Gives a repository another name. The old one goes on answering, with the new `nameWithOwner`.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), EditError> {
        let number = self
            .repo_number(from)
            .ok_or_else(|| EditError::NoRepository(from.to_owned()))?;
        if self.repo_number(to).is_some_and(|other| other != number) {
            return Err(EditError::NameTaken(to.to_owned()));
        }
        let (owner, name) = split_name(to);
        let owner_key = self.account("Organization", owner);
        let name = name.to_owned();
        self.name_repo(to, number);
        if let Some(node) = self.node_mut(&Self::repo_key(number)) {
            node.insert("nameWithOwner".into(), to.into());
            node.insert("name".into(), name.into());
            node.insert("owner".into(), reference(&owner_key));
            node.insert("url".into(), format!("{SITE}/{to}").into());
        }
        Ok(())
    }

    /// A repository's JSON, to change any field of it.
    pub fn repo_json(&mut self, name: &str) -> Result<&mut Map<String, Value>, EditError> {
        let missing = EditError::NoRepository(name.to_owned());
        let number = self.repo_number(name).ok_or_else(|| missing.clone())?;
        self.node_mut(&Self::repo_key(number)).ok_or(missing)
    }

    /// A pull request's JSON, to change any field of it.
    pub fn pull_json(&mut self, at: impl Into<At>) -> Result<&mut Map<String, Value>, EditError> {
        let at = at.into();
        let key = self.pull_key(&at)?;
        self.node_mut(&key).ok_or(EditError::NoPull(at))
    }

    /// The JSON of a pull request's head commit, where its checks hang.
    pub fn head_json(&mut self, at: impl Into<At>) -> Result<&mut Map<String, Value>, EditError> {
        let at = at.into();
        let key = self.head_key(&at)?;
        self.node_mut(&key).ok_or(EditError::NoPull(at))
    }

    pub(crate) fn head_key(&self, at: &At) -> Result<String, EditError> {
        let pull = self.pull_key(at)?;
        let repo = self
            .repo_number(&at.repo)
            .ok_or_else(|| EditError::NoRepository(at.repo.clone()))?;
        let oid = self
            .node(&pull)
            .and_then(|node| node["headRefOid"].as_str())
            .unwrap_or_default();
        Ok(commit_key(repo, oid))
    }

    /// Every pull request of this world, as repository (under its name of now) and number.
    pub fn pulls(&self) -> Vec<At> {
        self.nodes_under("pull:")
            .filter_map(|(_, node)| {
                let repo = self.follow(node.get("repository")?)?;
                let number = u32::try_from(node.get("number")?.as_u64()?).ok()?;
                Some(At {
                    repo: repo.get("nameWithOwner")?.as_str()?.to_owned(),
                    number,
                })
            })
            .collect()
    }
}

/// GitHub's own number for the app that runs workflows.
const GITHUB_ACTIONS: u64 = 15_368;

/// `{"$ref": key}`.
pub(crate) fn reference(key: &str) -> Value {
    json!({ "$ref": key })
}

pub(crate) fn commit_key(repo: u64, oid: &str) -> String {
    format!("commit:{repo}@{oid}")
}

pub(crate) fn blob_key(repo: u64, path: &str) -> String {
    format!("blob:{repo}:{path}")
}

/// A global id in the look of GitHub's: a short word for the type and an opaque rest.
pub(crate) fn node_id(typename: &str, number: u64) -> String {
    let word: String = typename.chars().filter(char::is_ascii_uppercase).collect();
    format!(
        "{word}_kwDO{:010x}",
        number.wrapping_mul(0x9E37_79B9) & 0xff_ffff_ffff
    )
}

/// A time as GitHub writes it.
pub(crate) fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// `owner/name`, split; a name without a slash is its own owner's.
pub(crate) fn split_name(full: &str) -> (&str, &str) {
    full.split_once('/').unwrap_or((full, full))
}

/// A commit id of 40 digits that depends on the words alone.
pub(crate) fn oid_of(words: &str) -> String {
    // FNV-1a, stretched: ids need to be distinct and stable, not secure.
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in words.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut text = String::with_capacity(48);
    while text.len() < 40 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        text.push_str(&format!("{:016x}", mixed ^ (mixed >> 31)));
    }
    text.truncate(40);
    text
}

fn index_ids(key: &str, pointer: &mut String, value: &Value, index: &mut HashMap<String, Place>) {
    match value {
        Value::Object(map) => {
            if let Some(id) = map.get("id").and_then(Value::as_str) {
                let place = Place {
                    key: key.to_owned(),
                    pointer: pointer.clone(),
                };
                index.entry(id.to_owned()).or_insert(place);
            }
            for (name, inner) in map
                .iter()
                .filter(|(_, inner)| inner.is_object() || inner.is_array())
            {
                descend(pointer, name, |pointer| index_ids(key, pointer, inner, index));
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                descend(pointer, &at.to_string(), |pointer| {
                    index_ids(key, pointer, inner, index)
                });
            }
        }
        _ => {}
    }
}

fn descend(pointer: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    then(pointer);
    pointer.truncate(length);
}
