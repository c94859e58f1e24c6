//! `sweep config`: the effective configuration, each value with its source.

use serde::Serialize;
use serde_json::json;

use super::Context;
use crate::cli::Listing;
use crate::config::{Entry, Source};
use crate::failure::Failure;
use crate::print::{self, Table};
use crate::token;
use crate::wiring::{API_VARIABLE, GIT_VARIABLE, GRAPHQL_VARIABLE, endpoints, git_base};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    values: &'a [Entry],
}

/// Prints it. Nothing is made or written, and no credential is shown or asked for.
pub fn run(context: &Context, listing: &Listing) -> Result<(), Failure> {
    let config = context.config()?;
    let mut entries = surroundings(context)?;
    entries.extend(config.entries);
    if listing.json {
        return print::json(&Document { values: &entries });
    }
    let mut table = Table::new(["key", "value", "source"]);
    for entry in entries {
        let value = match entry.value {
            serde_json::Value::Null => "-".to_owned(),
            value => value.to_string(),
        };
        table.row([entry.key, value, entry.source.to_string()]);
    }
    print::text(&table.render())
}

/// What is configured outside the file.
fn surroundings(context: &Context) -> Result<Vec<Entry>, Failure> {
    let endpoints = endpoints()?;
    let named_by = |variable: &'static str| match std::env::var_os(variable) {
        Some(value) if !value.is_empty() => Source::Environment {
            variable: variable.into(),
        },
        _ => Source::Default,
    };
    let entry = |key: &str, value: String, source| Entry {
        key: key.to_owned(),
        value: json!(value),
        source,
    };
    Ok(vec![
        entry(
            "home",
            context.home.path.display().to_string(),
            context.home.source.clone(),
        ),
        entry("github.api", endpoints.rest().to_string(), named_by(API_VARIABLE)),
        entry(
            "github.graphql",
            endpoints.graphql().to_string(),
            named_by(GRAPHQL_VARIABLE),
        ),
        entry("git.base", git_base()?.base().to_owned(), named_by(GIT_VARIABLE)),
        entry("github.token", token::shown().to_owned(), token::source()),
    ])
}
