//! Lists in pages: `first`/`last`/`after`/`before`, cursors, counts.

use apollo_compiler::Name;
use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonValue;
use serde_json::{Map, Value};

use super::resolve::{Failure, Session, argument};
use crate::graph::Node;

/// One item of a connection: its object, references followed, and the node that it lies in.
#[derive(Clone, Copy)]
pub(crate) struct Item<'w> {
    pub value: &'w Value,
    pub root: &'w Node,
}

/// One page of a list.
pub(crate) struct Connection<'w> {
    session: &'w Session<'w>,
    ty: &'w str,
    items: Vec<Item<'w>>,
    root: &'w Node,
    start: usize,
    end: usize,
}

impl<'w> Connection<'w> {
    /// The page that the arguments ask for. A cursor finds its place by the item's id, or by its number
    /// where the item is gone, so that neither an item is shown twice nor one left out.
    pub fn page(
        session: &'w Session<'w>,
        items: Vec<Item<'w>>,
        root: &'w Node,
        info: &ResolveInfo<'_>,
    ) -> Result<Self, FieldError> {
        let declared = info.field_definition().ty.inner_named_type();
        let ty = session
            .schema
            .types
            .get_key_value(declared)
            .map_or("", |(name, _)| name.as_str());
        let cursor = |name: &str| -> Result<Option<Mark>, FieldError> {
            let Some(text) = argument(info, name).and_then(JsonValue::as_str) else {
                return Ok(None);
            };
            let mark = Mark::read(text, &items).ok_or_else(|| {
                session.fail(Failure {
                    kind: Some("INVALID_CURSOR_ARGUMENTS".to_owned()),
                    message: format!("`{text}` does not appear to be a valid cursor."),
                    extensions: Map::new(),
                })
            })?;
            Ok(Some(mark))
        };
        let count = |name: &str| {
            let number = argument(info, name).and_then(JsonValue::as_u64)?;
            usize::try_from(number).ok()
        };
        let mut start = cursor("after")?.map_or(0, |mark| mark.behind);
        let mut end = cursor("before")?.map_or(items.len(), |mark| mark.ahead);
        end = end.min(items.len());
        start = start.min(end);
        if let Some(skip) = count("skip") {
            start = (start + skip).min(end);
        }
        let cap = session.departures.page_cap.unwrap_or(usize::MAX);
        if let Some(first) = count("first") {
            end = end.min(start + first.min(cap));
        } else if let Some(last) = count("last") {
            start = start.max(end.saturating_sub(last.min(cap)));
        }
        Ok(Self {
            session,
            ty,
            items,
            root,
            start,
            end,
        })
    }

    fn shown(&self) -> impl Iterator<Item = (usize, Item<'w>)> + '_ {
        (self.start..self.end).map(|at| (at, self.items[at]))
    }

    fn counted<'a>(&self, typename: &str, word: fn(&Value) -> &str, ty: &'static str) -> ResolvedValue<'a> {
        let mut counts: Vec<(&str, u64)> = Vec::new();
        for item in &self.items {
            if is_a(item.value, typename) {
                let word = word(item.value);
                match counts.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((word, 1)),
                }
            }
        }
        let counts: Vec<(String, u64)> = counts
            .into_iter()
            .map(|(word, count)| (word.to_owned(), count))
            .collect();
        ResolvedValue::list(
            counts
                .into_iter()
                .map(move |(state, count)| ResolvedValue::object(StateCount { ty, state, count })),
        )
    }
}

impl ObjectValue for Connection<'_> {
    fn type_name(&self) -> &str {
        self.ty
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        let of_type = |typename: &str| {
            self.items
                .iter()
                .filter(|item| is_a(item.value, typename))
                .count()
        };
        let resolved = match info.field_name() {
            "nodes" => {
                let ty = info.field_definition().ty.item_type();
                let session = self.session;
                let items = self
                    .shown()
                    .map(move |(_, item)| session.complete(item.value, item.root, ty));
                ResolvedValue::List(Box::new(items))
            }
            "edges" => {
                let edge = info.field_definition().ty.inner_named_type();
                let items = self.shown().map(move |(at, item)| {
                    ResolvedValue::object(Edge {
                        session: self.session,
                        ty: edge,
                        at,
                        item,
                    })
                });
                ResolvedValue::list(items)
            }
            "pageInfo" => {
                let cursor = |at: usize| cursor_of(at, self.items[at].value);
                ResolvedValue::object(PageInfo {
                    next: self.end < self.items.len(),
                    previous: self.start > 0,
                    start: (self.start < self.end).then(|| cursor(self.start)),
                    end: (self.start < self.end).then(|| cursor(self.end - 1)),
                })
            }
            "totalCount" | "issueCount" | "filteredCount" => ResolvedValue::leaf(self.items.len()),
            "pageCount" => ResolvedValue::leaf(self.end - self.start),
            "checkRunCount" => ResolvedValue::leaf(of_type("CheckRun")),
            "statusContextCount" => ResolvedValue::leaf(of_type("StatusContext")),
            "checkRunCountsByState" => self.counted("CheckRun", run_state, "CheckRunStateCount"),
            "statusContextCountsByState" => {
                self.counted("StatusContext", status_state, "StatusContextStateCount")
            }
            "updatedAt" => match self.root.get("updatedAt").and_then(Value::as_str) {
                Some(at) => ResolvedValue::leaf(at),
                None => ResolvedValue::leaf(crate::graph::stamp(self.session.world.now())),
            },
            "authorCount" | "codeCount" | "discussionCount" | "repositoryCount" | "userCount"
            | "wikiCount" => ResolvedValue::leaf(0),
            _ => return Err(self.unknown_field_error(info)),
        };
        Ok(resolved)
    }
}

fn is_a(value: &Value, typename: &str) -> bool {
    value.get("__typename").and_then(Value::as_str) == Some(typename)
}

fn word<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}

fn run_state(run: &Value) -> &str {
    word(run, "conclusion")
        .or_else(|| word(run, "status"))
        .unwrap_or("QUEUED")
}

fn status_state(status: &Value) -> &str {
    word(status, "state").unwrap_or("PENDING")
}

struct Edge<'w> {
    session: &'w Session<'w>,
    ty: &'w Name,
    at: usize,
    item: Item<'w>,
}

impl ObjectValue for Edge<'_> {
    fn type_name(&self) -> &str {
        self.ty
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        match info.field_name() {
            "cursor" => Ok(ResolvedValue::leaf(cursor_of(self.at, self.item.value))),
            "node" => self
                .session
                .complete(self.item.value, self.item.root, &info.field_definition().ty),
            _ => Err(self.unknown_field_error(info)),
        }
    }
}

struct PageInfo {
    next: bool,
    previous: bool,
    start: Option<String>,
    end: Option<String>,
}

impl ObjectValue for PageInfo {
    fn type_name(&self) -> &'static str {
        "PageInfo"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        let cursor = |cursor: &Option<String>| match cursor {
            Some(cursor) => ResolvedValue::leaf(cursor.as_str()),
            None => ResolvedValue::null(),
        };
        Ok(match info.field_name() {
            "hasNextPage" => ResolvedValue::leaf(self.next),
            "hasPreviousPage" => ResolvedValue::leaf(self.previous),
            "startCursor" => cursor(&self.start),
            "endCursor" => cursor(&self.end),
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

struct StateCount {
    ty: &'static str,
    state: String,
    count: u64,
}

impl ObjectValue for StateCount {
    fn type_name(&self) -> &'static str {
        self.ty
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        match info.field_name() {
            "state" => Ok(ResolvedValue::leaf(self.state.as_str())),
            "count" => Ok(ResolvedValue::leaf(self.count)),
            _ => Err(self.unknown_field_error(info)),
        }
    }
}

fn id_of(value: &Value) -> &str {
    word(value, "id").unwrap_or_default()
}

/// Opaque to a client: the item's number and id, in hexadecimal.
fn cursor_of(at: usize, value: &Value) -> String {
    format!("v2:{at}:{}", id_of(value))
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Where a cursor points in a list as it is now.
struct Mark {
    /// What lies before the item ends here.
    ahead: usize,
    /// What lies after the item begins here.
    behind: usize,
}

impl Mark {
    fn read(cursor: &str, items: &[Item<'_>]) -> Option<Self> {
        if !cursor.is_ascii() || !cursor.len().is_multiple_of(2) {
            return None;
        }
        let bytes: Option<Vec<u8>> = (0..cursor.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&cursor[at..at + 2], 16).ok())
            .collect();
        let text = String::from_utf8(bytes?).ok()?;
        let (at, id) = text.strip_prefix("v2:")?.split_once(':')?;
        let at: usize = at.parse().ok()?;
        let same = |item: &Item<'_>| !id.is_empty() && id_of(item.value) == id;
        let found = match items.get(at) {
            Some(item) if id.is_empty() || same(item) => Some(at),
            _ => items.iter().position(same),
        };
        Some(match found {
            Some(at) => Self {
                ahead: at,
                behind: at + 1,
            },
            // The item is gone: what stands in its place now has not been seen yet.
            None => Self {
                ahead: at,
                behind: at,
            },
        })
    }
}
