//! What a document asks for, reckoned before it is run, as GitHub does: page sizes, the number of nodes,
//! the cost, and which pull requests are meant.

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast;
use apollo_compiler::executable::{Field, Operation, Selection, SelectionSet};
use apollo_compiler::response::{JsonMap, JsonValue};

use crate::graph::At;

/// The most items of one page.
const MOST_A_PAGE: i64 = 100;
/// The most nodes that one document may ask for.
const MOST_NODES: u64 = 500_000;

/// What a document asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// The operation's name.
    pub operation: Option<String>,
    /// Repositories, as the document names them.
    pub repos: Vec<String>,
    /// Pull requests, as the document names them, one entry each time it does.
    pub pulls: Vec<At>,
    /// Global ids looked up.
    pub ids: Vec<String>,
}

/// The reckoning.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub asked: Asked,
    pub cost: u64,
    pub node_count: u64,
    /// `type`, message and path of what is refused before it runs.
    pub refusals: Vec<(&'static str, String, Vec<String>)>,
}

impl Audit {
    /// `variables` are coerced: defaults are in.
    pub fn of(document: &ExecutableDocument, operation: &Operation, variables: &JsonMap) -> Self {
        let mut walk = Walk {
            document,
            variables,
            audit: Self::default(),
            requests: 0,
            path: Vec::new(),
            depth: 0,
        };
        walk.path.push(match &operation.name {
            Some(name) => format!("query {name}"),
            None => "query".to_owned(),
        });
        walk.set(&operation.selection_set, 1, None);
        let Walk {
            mut audit, requests, ..
        } = walk;
        audit.asked.operation = operation.name.as_ref().map(ToString::to_string);
        audit.cost = ((requests + 50) / 100).max(1);
        if audit.node_count > MOST_NODES {
            let message = format!(
                "This query requests up to {} possible nodes which exceeds the maximum limit of {}.",
                grouped(audit.node_count),
                grouped(MOST_NODES)
            );
            audit
                .refusals
                .push(("MAX_NODE_LIMIT_EXCEEDED", message, Vec::new()));
        }
        audit
    }
}

struct Walk<'d> {
    document: &'d ExecutableDocument,
    variables: &'d JsonMap,
    audit: Audit,
    requests: u64,
    path: Vec<String>,
    depth: usize,
}

impl<'d> Walk<'d> {
    fn set(&mut self, set: &'d SelectionSet, times: u64, repo: Option<&str>) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    self.path.push(field.response_key().to_string());
                    self.field(field, times, repo);
                    self.path.pop();
                }
                Selection::InlineFragment(inline) => self.set(&inline.selection_set, times, repo),
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.document.fragments.get(&spread.fragment_name) {
                        self.set(&fragment.selection_set, times, repo);
                    }
                }
            }
        }
    }

    fn field(&mut self, field: &'d Field, times: u64, repo: Option<&str>) {
        self.depth += 1;
        let text = |name: &str| {
            self.argument(field, name)
                .and_then(|value| value.as_str().map(str::to_owned))
        };
        match field.name.as_str() {
            "repository" if self.depth == 1 => {
                let (owner, name) = (
                    text("owner").unwrap_or_default(),
                    text("name").unwrap_or_default(),
                );
                let full = format!("{owner}/{name}");
                self.audit.asked.repos.push(full.clone());
                self.set(&field.selection_set, times, Some(&full));
            }
            "node" if self.depth == 1 => {
                let id = text("id");
                self.audit.asked.ids.extend(id);
                self.set(&field.selection_set, times, repo);
            }
            "pullRequest" if self.depth == 2 && repo.is_some() => {
                let number = self.argument(field, "number").and_then(|value| value.as_u64());
                let number = number.and_then(|number| u32::try_from(number).ok());
                if let (Some(repo), Some(number)) = (repo, number) {
                    self.audit.asked.pulls.push(At {
                        repo: repo.to_owned(),
                        number,
                    });
                }
                self.set(&field.selection_set, times, repo);
            }
            _ if field.definition.ty.inner_named_type().ends_with("Connection") => {
                let size = self.page_size(field);
                self.requests += times;
                self.audit.node_count += times * size;
                self.set(&field.selection_set, times.saturating_mul(size), repo);
            }
            _ => self.set(&field.selection_set, times, repo),
        }
        self.depth -= 1;
    }

    fn page_size(&mut self, field: &Field) -> u64 {
        let number = |name: &str| self.argument(field, name).and_then(|value| value.as_i64());
        let (bound, size) = match (number("first"), number("last")) {
            (Some(first), _) => ("first", first),
            (None, Some(last)) => ("last", last),
            (None, None) => {
                let message = format!(
                    "You must provide a `first` or `last` value to properly paginate the `{}` connection.",
                    field.name
                );
                self.audit
                    .refusals
                    .push(("MISSING_PAGINATION_BOUNDARIES", message, self.path.clone()));
                return 0;
            }
        };
        if !(0..=MOST_A_PAGE).contains(&size) {
            let message = if size < 0 {
                format!(
                    "`{bound}` on the `{}` connection cannot be less than zero.",
                    field.name
                )
            } else {
                format!(
                    "Requesting {size} records on the `{}` connection exceeds the `{bound}` limit of \
                     {MOST_A_PAGE} records.",
                    field.name
                )
            };
            self.audit
                .refusals
                .push(("EXCESSIVE_PAGINATION", message, self.path.clone()));
        }
        u64::try_from(size).unwrap_or(0)
    }

    fn argument(&self, field: &Field, name: &str) -> Option<JsonValue> {
        let value = &field
            .arguments
            .iter()
            .find(|argument| argument.name == name)?
            .value;
        match value.as_ref() {
            ast::Value::Variable(name) => self.variables.get(name.as_str()).cloned(),
            ast::Value::Int(number) => number.as_str().parse::<i64>().ok().map(JsonValue::from),
            ast::Value::String(text) => Some(JsonValue::from(text.as_str())),
            _ => None,
        }
        .filter(|value| !value.is_null())
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
