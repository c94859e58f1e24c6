//! How one object of the graph answers for its fields.

use std::cell::RefCell;
use std::collections::BTreeSet;

use apollo_compiler::Schema;
use apollo_compiler::ast::Type;
use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonValue;
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::validation::Valid;
use serde_json::{Map, Value};

use super::connection::Connection;
use super::{computed, defaults};
use crate::graph::{At, Node, World};

/// What is left of an hour's requests, as the `rateLimit` field and the headers say it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub limit: u64,
    pub used: u64,
    pub reset_at: chrono::DateTime<chrono::Utc>,
}

/// A field that answers with an error instead of its value.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// `Type.field`.
    pub field: String,
    /// Only within this pull request, or in all.
    pub pull: Option<At>,
    pub failure: Failure,
}

/// How an execution departs from the graph.
#[derive(Debug, Clone, Default)]
pub(crate) struct Departures {
    pub refusals: Vec<Refusal>,
    /// The most items of one page, where that is fewer than asked for.
    pub page_cap: Option<usize>,
}

/// What GitHub writes beside a field error's message and path.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// The word in `type`; some errors have none.
    pub kind: Option<String>,
    pub message: String,
    pub extensions: Map<String, Value>,
}

/// What was met on the way, besides the data.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub failures: Vec<Failure>,
    /// Schema text for words that the graph uses and the schema does not know.
    pub tomorrow: BTreeSet<String>,
    /// Numbers too large for what the schema calls an `Int`, which GitHub writes all the same.
    pub large: Vec<u64>,
}

impl Notes {
    /// What stands for a large number while the schema is kept to.
    fn stand_in(&mut self, number: u64) -> i64 {
        self.large.push(number);
        STAND_INS + i64::try_from(self.large.len() - 1).unwrap_or(0)
    }

    /// Puts the large numbers in their places.
    pub fn restore(&self, value: &mut JsonValue) {
        match value {
            JsonValue::Number(number) => {
                let at = number
                    .as_i64()
                    .and_then(|number| usize::try_from(number - STAND_INS).ok());
                if let Some(large) = at.and_then(|at| self.large.get(at)) {
                    *value = (*large).into();
                }
            }
            JsonValue::Array(items) => items.iter_mut().for_each(|item| self.restore(item)),
            JsonValue::Object(map) => map.iter_mut().for_each(|(_, value)| self.restore(value)),
            _ => {}
        }
    }
}

/// The first of the numbers that stand for large ones: no field of GitHub's is anywhere near.
const STAND_INS: i64 = i32::MIN as i64;

/// One execution.
pub(crate) struct Session<'w> {
    pub world: &'w World,
    pub schema: &'w Valid<Schema>,
    pub budget: Budget,
    pub cost: u64,
    pub node_count: u64,
    pub departures: &'w Departures,
    pub notes: RefCell<Notes>,
}

impl<'w> Session<'w> {
    /// An error for a field, with what a [`FieldError`] has no room for kept aside.
    pub fn fail(&self, failure: Failure) -> FieldError {
        let mut notes = self.notes.borrow_mut();
        notes.failures.push(failure);
        FieldError {
            message: format!("{FAILURE_MARK}{}", notes.failures.len() - 1),
        }
    }

    pub fn not_found(&self, message: String) -> FieldError {
        self.fail(Failure {
            kind: Some("NOT_FOUND".to_owned()),
            message,
            extensions: Map::new(),
        })
    }

    /// A value of the graph as the value of a field of this type.
    pub fn complete<'a>(
        &'w self,
        value: &'w Value,
        root: &'w Node,
        ty: &'a Type,
    ) -> Result<ResolvedValue<'a>, FieldError>
    where
        'w: 'a,
    {
        match (value, ty) {
            (Value::Null, _) => Ok(ResolvedValue::null()),
            (Value::Array(items), Type::List(inner) | Type::NonNullList(inner)) => {
                let items = items.iter().map(move |item| self.complete(item, root, inner));
                Ok(ResolvedValue::List(Box::new(items)))
            }
            _ => Ok(self.complete_named(value, root, ty)),
        }
    }

    fn complete_named<'a>(&'w self, value: &'w Value, root: &'w Node, ty: &'a Type) -> ResolvedValue<'a>
    where
        'w: 'a,
    {
        let name = ty.inner_named_type();
        match self.schema.types.get(name) {
            Some(ExtendedType::Enum(def)) => match value.as_str() {
                Some(word) if !def.values.contains_key(word) => {
                    self.foresee(format!("extend enum {name} {{ {word} }}"));
                    ResolvedValue::null()
                }
                _ => ResolvedValue::Leaf(leaf(value)),
            },
            Some(ExtendedType::Scalar(_)) => match value.as_u64() {
                Some(number) if name == "Int" && i32::try_from(number).is_err() => {
                    ResolvedValue::leaf(self.notes.borrow_mut().stand_in(number))
                }
                _ => ResolvedValue::Leaf(leaf(value)),
            },
            _ => match self.object(value, root, name) {
                Some(thing) => ResolvedValue::object(thing),
                None => ResolvedValue::null(),
            },
        }
    }

    /// An object of the graph, its reference followed.
    pub fn object(&'w self, value: &'w Value, root: &'w Node, declared: &str) -> Option<Thing<'w>> {
        let (json, root) = match value.get("$ref").and_then(Value::as_str) {
            Some(key) => {
                let node = self.world.node(key)?;
                (node, node)
            }
            None => (value.as_object()?, root),
        };
        let (ty, definition) = match json.get("__typename").and_then(Value::as_str) {
            Some(name) => match self.schema.types.get_key_value(name) {
                Some((name, definition)) => (name.as_str(), definition),
                None => {
                    self.foresee_member(name, declared);
                    return None;
                }
            },
            None => self
                .schema
                .types
                .get_key_value(declared)
                .map(|(name, def)| (name.as_str(), def))?,
        };
        matches!(definition, ExtendedType::Object(_)).then_some(Thing {
            session: self,
            json,
            root,
            ty,
        })
    }

    fn foresee(&self, addition: String) {
        self.notes.borrow_mut().tomorrow.insert(addition);
    }

    fn foresee_member(&self, name: &str, declared: &str) {
        match self.schema.types.get(declared) {
            Some(ExtendedType::Union(_)) => {
                self.foresee(format!("type {name} {{ id: ID }}"));
                self.foresee(format!("extend union {declared} = {name}"));
            }
            Some(ExtendedType::Interface(interface)) => {
                let fields: Vec<String> = interface.fields.values().map(|field| field.to_string()).collect();
                let also: String = interface
                    .implements_interfaces
                    .iter()
                    .map(|name| format!(" & {name}"))
                    .collect();
                self.foresee(format!(
                    "type {name} implements {declared}{also} {{ {} }}",
                    fields.join("\n")
                ));
            }
            _ => tracing::warn!(
                name,
                declared,
                "the graph holds an object of a type that nothing declares"
            ),
        }
    }
}

/// What a failed field's message begins with; the number of the failure follows.
pub(crate) const FAILURE_MARK: &str = "\u{1}failure ";

fn leaf(value: &Value) -> JsonValue {
    match value {
        Value::String(text) => JsonValue::String(text.as_str().into()),
        other => other.clone().into(),
    }
}

/// One object of the graph in one execution.
#[derive(Clone, Copy)]
pub(crate) struct Thing<'w> {
    pub session: &'w Session<'w>,
    pub json: &'w Node,
    /// The node that the object lies in: where a comment finds its pull request.
    pub root: &'w Node,
    pub ty: &'w str,
}

impl<'w> Thing<'w> {
    pub fn text(&self, field: &str) -> &'w str {
        self.json.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// The object that a field of this one points at.
    pub fn get(&self, field: &str) -> Option<&'w Value> {
        self.session.world.follow(self.json.get(field)?)
    }

    fn refusal(&self, info: &ResolveInfo<'_>) -> Option<&'w Refusal> {
        let refusals = &self.session.departures.refusals;
        refusals.iter().find(|refusal| {
            let (ty, field) = refusal.field.split_once('.').unwrap_or(("", &refusal.field));
            field == info.field_name()
                && ty == self.ty
                && refusal.pull.as_ref().is_none_or(|at| self.lies_in(at, info))
        })
    }

    /// Whether this object is, or lies in, that pull request or its head; a repository's
    /// `pullRequest(number:)` does, and a query's `repository(owner:, name:)` where it is the same one.
    fn lies_in(&self, at: &At, info: &ResolveInfo<'_>) -> bool {
        let world = self.session.world;
        let (Some(repo), Ok(pull)) = (world.repo_number(&at.repo), world.pull_key(at)) else {
            return false;
        };
        let text = |name: &str| {
            argument(info, name)
                .and_then(JsonValue::as_str)
                .unwrap_or_default()
        };
        match self.ty {
            "Query" => world.repo_number(&format!("{}/{}", text("owner"), text("name"))) == Some(repo),
            "Repository" => {
                let number = argument(info, "number").and_then(JsonValue::as_u64);
                number == Some(u64::from(at.number)) && same(world.node(&World::repo_key(repo)), self.json)
            }
            _ => {
                let head = world.head_key(at).ok().and_then(|key| world.node(&key));
                same(world.node(&pull), self.root) || self.commit().is_some_and(|commit| same(head, commit))
            }
        }
    }

    /// The commit that this object hangs on, where it is a check or in one.
    fn commit(&self) -> Option<&'w Node> {
        let world = self.session.world;
        let follow = |node: &'w Node, field: &str| world.follow(node.get(field)?)?.as_object();
        match self.root.get("__typename").and_then(Value::as_str)? {
            "Commit" => Some(self.root),
            "CheckSuite" => follow(self.root, "commit"),
            "CheckRun" => follow(follow(self.root, "checkSuite")?, "commit"),
            _ => None,
        }
    }
}

/// Whether two nodes are one and not merely alike.
fn same(a: Option<&Node>, b: &Node) -> bool {
    a.is_some_and(|a| std::ptr::eq(a, b))
}

impl ObjectValue for Thing<'_> {
    fn type_name(&self) -> &str {
        self.ty
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        if !self.session.departures.refusals.is_empty()
            && let Some(refusal) = self.refusal(info)
        {
            return Err(self.session.fail(refusal.failure.clone()));
        }
        let ty = &info.field_definition().ty;
        if let Some(items) = computed::items(self, info) {
            return Connection::page(self.session, items, self.root, info).map(ResolvedValue::object);
        }
        if let Some(value) = self.json.get(info.field_name()) {
            return self.session.complete(value, self.root, ty);
        }
        if let Some(resolved) = computed::field(self, info) {
            return resolved;
        }
        defaults::field(self, info)
    }
}

pub(crate) fn argument<'a>(info: &ResolveInfo<'a>, name: &str) -> Option<&'a JsonValue> {
    info.arguments().get(name).filter(|value| !value.is_null())
}
