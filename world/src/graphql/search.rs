//! The search for pull requests: the qualifiers that a reader of open pull requests uses.

use serde_json::Value;

use super::connection::Item;
use crate::graph::World;

/// No search answers with more, however many match.
const MOST_RESULTS: usize = 1_000;

/// What a query finds, newest first. Like GitHub's, the index may say other things than the pull request
/// itself: what it says lies in the pull request's `_search`.
pub(crate) fn run<'w>(world: &'w World, query: &str, kind: &str) -> Vec<Item<'w>> {
    if !kind.starts_with("ISSUE") {
        return Vec::new();
    }
    let terms: Vec<Term> = words(query).into_iter().map(|word| Term::of(&word)).collect();
    let mut found: Vec<(&str, Item<'w>)> = ["pull:", "issue:"]
        .iter()
        .flat_map(|prefix| world.nodes_under(prefix))
        .filter(|(_, value)| terms.iter().all(|term| term.holds(world, value)))
        .filter_map(|(_, value)| Some((text(value, "createdAt"), Item::node(value)?)))
        .collect();
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.truncate(MOST_RESULTS);
    found.into_iter().map(|(_, item)| item).collect()
}

/// Words parted by blanks, a quoted one whole.
fn words(query: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in query.chars() {
        match letter {
            '"' => quoted = !quoted,
            letter if letter.is_whitespace() && !quoted => words.push(String::new()),
            letter => words.last_mut().expect("begins with one word").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

struct Term {
    negated: bool,
    qualifier: String,
    value: String,
}

impl Term {
    fn of(word: &str) -> Self {
        let (negated, word) = match word.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        let (qualifier, value) = word.split_once(':').unwrap_or(("", word));
        Self {
            negated,
            qualifier: qualifier.to_ascii_lowercase(),
            value: value.to_ascii_lowercase(),
        }
    }

    fn holds(&self, world: &World, item: &Value) -> bool {
        self.matches(world, item)
            .is_none_or(|matches| matches != self.negated)
    }

    /// `None` where the term filters nothing, as `sort:` does.
    fn matches(&self, world: &World, item: &Value) -> Option<bool> {
        let says = |field: &str| {
            item.get("_search")
                .and_then(|index| index.get(field))
                .or_else(|| item.get(field))
        };
        let state = says("state")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_ascii_lowercase();
        let draft = says("isDraft").and_then(Value::as_bool).unwrap_or(false);
        let repo = item.get("repository").and_then(|repo| world.follow(repo));
        let pull = text(item, "__typename") == "PullRequest";
        let archived = repo
            .and_then(|repo| repo.get("isArchived"))
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let full = repo
            .map_or("", |repo| text(repo, "nameWithOwner"))
            .to_ascii_lowercase();
        Some(match (self.qualifier.as_str(), self.value.as_str()) {
            ("is" | "type", "pr") => pull,
            ("is" | "type", "issue") => !pull,
            ("is" | "state", "open") => state == "open",
            ("is" | "state", "closed") => state != "open",
            ("is", "merged") => state == "merged",
            ("is" | "draft", "draft" | "true") => draft,
            ("draft", _) => !draft,
            ("is", "archived") => archived,
            ("archived", value) => archived == (value == "true"),
            ("author", login) => {
                let login = if login == "@me" {
                    world.viewer().to_ascii_lowercase()
                } else {
                    login.to_owned()
                };
                let author = item.get("author").and_then(|author| world.follow(author));
                author.is_some_and(|author| text(author, "login").eq_ignore_ascii_case(&login))
            }
            ("repo", name) => world.repo_number(name).is_some_and(|number| {
                repo.and_then(|repo| repo.get("databaseId"))
                    .and_then(Value::as_u64)
                    == Some(number)
            }),
            ("user" | "org", owner) => full.split('/').next() == Some(owner),
            ("", word) => text(item, "title").to_ascii_lowercase().contains(word),
            _ => return None,
        })
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
