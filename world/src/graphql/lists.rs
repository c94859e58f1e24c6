//! Lists before they are cut into pages: gathered, filtered, put in order.

use apollo_compiler::resolvers::ResolveInfo;
use apollo_compiler::response::JsonValue;
use serde_json::Value;

use super::connection::Item;
use super::resolve::{Thing, argument};
use crate::graph::{Node, World};

impl<'w> Item<'w> {
    /// A whole node.
    pub fn node(value: &'w Value) -> Option<Self> {
        Some(Self {
            value,
            root: value.as_object()?,
        })
    }
}

/// What an array of the graph holds, references followed. An item whose node is gone is left out.
pub(crate) fn stored<'w>(world: &'w World, list: Option<&'w Value>, root: &'w Node) -> Vec<Item<'w>> {
    let items = list
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let item = |value: &'w Value| match value.get("$ref").and_then(Value::as_str) {
        Some(key) => world.value(key).and_then(Item::node),
        None => Some(Item { value, root }),
    };
    items.iter().filter_map(item).collect()
}

/// Several lists as one, oldest first.
pub(crate) fn timeline<'w>(thing: &Thing<'w>, fields: &[&str]) -> Vec<Item<'w>> {
    let world = thing.session.world;
    let lists = fields
        .iter()
        .flat_map(|field| stored(world, thing.json.get(*field), thing.root));
    let mut items: Vec<Item<'w>> = lists.collect();
    items.sort_by_key(|item| time_of(world, item.value).to_owned());
    items
}

/// When an entry of a timeline happened. A commit has no time of its own but its committer's date.
fn time_of<'w>(world: &'w World, value: &'w Value) -> &'w str {
    let field = |value: &'w Value, name: &str| value.get(name).and_then(Value::as_str);
    if field(value, "__typename") == Some("PullRequestCommit") {
        let commit = value.get("commit").and_then(|commit| world.follow(commit));
        return commit
            .and_then(|commit| field(commit, "committedDate"))
            .unwrap_or_default();
    }
    field(value, "submittedAt")
        .or_else(|| field(value, "createdAt"))
        .unwrap_or_default()
}

/// One review an author, the newest, of those whose authors are not asked again; pending ones and, where
/// only opinions count, mere comments are no reviews.
pub(crate) fn latest_reviews<'w>(thing: &Thing<'w>, opinions: bool) -> Vec<Item<'w>> {
    let world = thing.session.world;
    let login = |value: &'w Value, field: &str| {
        let account = value.get(field).and_then(|account| world.follow(account));
        account
            .and_then(|account| account.get("login"))
            .and_then(Value::as_str)
    };
    let asked: Vec<&str> = stored(world, thing.json.get("reviewRequests"), thing.root)
        .iter()
        .filter_map(|item| login(item.value, "requestedReviewer"))
        .collect();
    let mut latest: Vec<Item<'w>> = Vec::new();
    for item in stored(world, thing.json.get("reviews"), thing.root) {
        let author = login(item.value, "author");
        let state = item
            .value
            .get("state")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let counts = state != "PENDING" && !(opinions && state == "COMMENTED");
        if counts && !author.is_some_and(|author| asked.contains(&author)) {
            latest.retain(|other| login(other.value, "author") != author);
            latest.push(item);
        }
    }
    latest
}

/// Drops what the field's arguments ask to leave out.
pub(crate) fn filter(world: &World, items: &mut Vec<Item<'_>>, info: &ResolveInfo<'_>) {
    let words = |name: &str| -> Option<Vec<String>> {
        let list = argument(info, name)?.as_array()?;
        Some(
            list.iter()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect(),
        )
    };
    let word = |name: &str| argument(info, name).and_then(JsonValue::as_str);
    let is = |item: &Item<'_>, field: &str, wanted: &str| field_text(item.value, field) == wanted;
    if let Some(states) = words("states") {
        items.retain(|item| states.iter().any(|state| is(item, "state", state)));
    }
    if let Some(author) = word("author") {
        items.retain(|item| {
            let account = item.value.get("author").and_then(|author| world.follow(author));
            account.is_some_and(|account| field_text(account, "login").eq_ignore_ascii_case(author))
        });
    }
    if let Some(types) = words("itemTypes") {
        items.retain(|item| types.contains(&screaming(field_text(item.value, "__typename"))));
    }
    if let Some(since) = word("since") {
        items.retain(|item| time_of(world, item.value) >= since);
    }
    for field in ["headRefName", "baseRefName"] {
        if let Some(name) = word(field) {
            items.retain(|item| is(item, field, name));
        }
    }
    if let Some(labels) = words("labels") {
        items.retain(|item| {
            let own = item
                .value
                .get("labels")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let mut names = own.map(|label| field_text(label, "name"));
            names.any(|name| labels.iter().any(|label| label == name))
        });
    }
    if let Some(wanted) = argument(info, "filterBy") {
        items.retain(|item| passes_check_filter(world, item.value, wanted));
    }
}

fn passes_check_filter(world: &World, value: &Value, filter: &JsonValue) -> bool {
    let follow = |value: &Value, field: &str| value.get(field).and_then(|inner| world.follow(inner)).cloned();
    let suite = follow(value, "checkSuite").unwrap_or_else(|| value.clone());
    let app = follow(&suite, "app").and_then(|app| app.get("databaseId").and_then(Value::as_u64));
    let any_of = |field: &str, among: &str| match filter.get(among).and_then(JsonValue::as_array) {
        Some(words) => words
            .iter()
            .any(|word| word.as_str() == Some(field_text(value, field))),
        None => true,
    };
    let wanted = |name: &str| filter.get(name).filter(|value| !value.is_null());
    wanted("appId").is_none_or(|id| id.as_u64() == app)
        && wanted("status").is_none_or(|word| word.as_str() == Some(field_text(value, "status")))
        && wanted("checkName").is_none_or(|name| {
            let runs = value
                .get("checkRuns")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let mut names = runs
                .iter()
                .filter_map(|run| world.follow(run))
                .map(|run| field_text(run, "name"));
            name.as_str() == Some(field_text(value, "name")) || names.any(|own| name.as_str() == Some(own))
        })
        && any_of("status", "statuses")
        && any_of("conclusion", "conclusions")
}

/// Puts a list into the order that `orderBy` asks for; without it, the graph's own order holds.
pub(crate) fn order(items: &mut [Item<'_>], info: &ResolveInfo<'_>) {
    let Some(order) = argument(info, "orderBy") else {
        return;
    };
    let word = |name: &str| order.get(name).and_then(JsonValue::as_str).unwrap_or_default();
    let field = match word("field") {
        "CREATED_AT" => "createdAt",
        "UPDATED_AT" => "updatedAt",
        "NAME" => "name",
        _ => return,
    };
    // What is compared is looked up once an item and not once a comparison.
    let mut keyed: Vec<(&str, Item<'_>)> = items
        .iter()
        .map(|item| (field_text(item.value, field), *item))
        .collect();
    keyed.sort_by_key(|(text, _)| *text);
    if word("direction") == "DESC" {
        keyed.reverse();
    }
    for (place, (_, item)) in items.iter_mut().zip(keyed) {
        *place = item;
    }
}

fn field_text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// `HeadRefForcePushedEvent` as `HEAD_REF_FORCE_PUSHED_EVENT`.
fn screaming(typename: &str) -> String {
    let mut word = String::with_capacity(typename.len() + 8);
    for (at, letter) in typename.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            word.push('_');
        }
        word.push(letter.to_ascii_uppercase());
    }
    word
}
