//! Tests: every document that this crate can send, against GitHub's published schema.

use std::path::Path;

use apollo_compiler::ast::{Definition, Selection, Value};
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};

use crate::batch::tests::{at, one_of_each, one_of_each_upkeep};
use crate::batch::{self, BATCH, Document, HEADS, List, Of, Page, Profile};
use crate::fixture::shared;

/// Nodes that GitHub lets one document ask for.
const NODE_LIMIT: u64 = 500_000;

fn documents() -> Vec<(String, Document)> {
    let refs: Vec<_> = (1..=BATCH).map(at).collect();
    let mut documents = vec![
        ("viewer".to_owned(), batch::viewer()),
        ("repository".to_owned(), batch::repository(&at(1).repo)),
        (
            "repository facts".to_owned(),
            batch::repository_facts(&at(1).repo),
        ),
        ("branch".to_owned(), batch::branch(&at(1).repo, "main")),
        ("search".to_owned(), batch::search("is:pr", 100, Some("cursor"))),
        ("search, first page".to_owned(), batch::search("is:pr", 1, None)),
        (
            "one pull request".to_owned(),
            batch::pulls(Profile::Author, &refs[..1]),
        ),
        ("a batch of 25".to_owned(), batch::pulls(Profile::Author, &refs)),
        (
            "one page of each kind".to_owned(),
            batch::pages(Profile::Author, &one_of_each()),
        ),
    ];
    for list in [List::Open, List::Touched] {
        documents.push((format!("{list:?}"), batch::listed(list, &at(1).repo, None)));
        documents.push((
            format!("{list:?}, a further page"),
            batch::listed(list, &at(1).repo, Some("cursor")),
        ));
    }
    for (profile, sizes) in [
        (Profile::Maintainer, vec![1, BATCH, 100]),
        (Profile::Heads, vec![1, 25, HEADS]),
    ] {
        for size in sizes {
            let refs: Vec<_> = (1..=size).map(at).collect();
            documents.push((format!("{profile:?}, {size}"), batch::pulls(profile, &refs)));
        }
        documents.push((
            format!("{profile:?}, one page of each kind"),
            batch::pages(profile, &one_of_each_upkeep()),
        ));
    }
    for page in one_of_each() {
        documents.push((
            format!("one page of {:?}", page.of),
            batch::pages(Profile::Author, &[page]),
        ));
    }
    let page = |of: Of| Page {
        slot: 0,
        at: at(1),
        of,
        after: None,
        is_retry: false,
    };
    let threads = vec![page(Of::Threads); 100];
    let fitting = batch::fitting(&threads);
    documents.push((
        "all the threads that fit".to_owned(),
        batch::pages(Profile::Author, &threads[..fitting]),
    ));
    documents
}

fn check_against(schema: &Valid<Schema>) {
    for (name, document) in documents() {
        let parsed = ExecutableDocument::parse_and_validate(schema, &document.text, "document.graphql");
        if let Err(error) = parsed {
            panic!("{name}: {}", error.errors);
        }
    }
}

#[test]
fn every_document_is_valid_against_githubs_schema() {
    let path = shared().join("data/github-schema.graphql");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no schema at {}", path.display());
        return;
    };
    let schema = Schema::parse_and_validate(text, path).unwrap();
    check_against(&schema);
}

#[test]
fn every_document_is_valid_against_the_worlds_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../world/schema.graphql");
    let schema = Schema::parse_and_validate(std::fs::read_to_string(&path).unwrap(), path).unwrap();
    check_against(&schema);
}

#[test]
fn no_document_is_one_that_writes() {
    for (name, document) in documents() {
        assert_eq!(crate::document::only_queries(&document.text), Ok(()), "{name}");
    }
}

#[test]
fn no_document_asks_for_more_nodes_than_github_allows() {
    for (name, document) in documents() {
        let nodes = nodes(&document);
        assert!(nodes <= NODE_LIMIT, "{name}: {nodes}");
    }
    // The sums of the tables in `batch.rs`.
    assert_eq!(nodes(&batch::pulls(Profile::Author, &[at(1)])), 5_592);
    assert_eq!(
        nodes(&batch::pulls(
            Profile::Author,
            &(1..=BATCH).map(at).collect::<Vec<_>>()
        )),
        139_800
    );
    assert_eq!(nodes(&batch::pulls(Profile::Maintainer, &[at(1)])), UPKEEP_NODES);
    assert_eq!(nodes(&batch::pulls(Profile::Heads, &[at(1)])), 141);
}

/// What one pull request of the maintainer's may return.
const UPKEEP_NODES: u64 = 1_072;

/// What GitHub charges: a point for every hundred lists, at least one.
#[test]
fn a_busy_repository_is_read_for_less_than_a_thousand_points() {
    let points = |profile: Profile, pulls: usize| {
        let refs: Vec<_> = (1..=pulls).map(at).collect();
        let batches = refs.chunks(profile.batch());
        batches
            .map(|batch| lists(&batch::pulls(profile, batch)).div_ceil(100).max(1))
            .sum::<u64>()
    };
    assert_eq!(lists(&batch::pulls(Profile::Author, &[at(1)])), 129);
    assert_eq!(lists(&batch::pulls(Profile::Maintainer, &[at(1)])), 61);
    assert_eq!(lists(&batch::pulls(Profile::Heads, &[at(1)])), 23);
    assert_eq!(points(Profile::Maintainer, 1_236), 791);
    assert_eq!(points(Profile::Heads, 1_236), 285);
}

/// Nodes as GitHub reckons them: each list's page size times those of the lists around it.
fn nodes(document: &Document) -> u64 {
    reckoned(document, false)
}

/// Lists as GitHub reckons them: each as often as the lists around it can hold.
fn lists(document: &Document) -> u64 {
    reckoned(document, true)
}

fn reckoned(document: &Document, of_lists: bool) -> u64 {
    let parsed = apollo_compiler::ast::Document::parse(&document.text, "document.graphql").unwrap();
    let fragment = |name: &str| {
        parsed.definitions.iter().find_map(|definition| match definition {
            Definition::FragmentDefinition(found) if found.name == name => Some(found.selection_set.clone()),
            _ => None,
        })
    };
    fn count(
        selections: &[Selection],
        around: u64,
        of_lists: bool,
        fragment: &dyn Fn(&str) -> Option<Vec<Selection>>,
    ) -> u64 {
        selections
            .iter()
            .map(|selection| match selection {
                Selection::Field(field) => {
                    let size = field.arguments.iter().find_map(|argument| {
                        match (&*argument.name, &*argument.value) {
                            ("first" | "last", Value::Int(size)) => {
                                Some(size.as_str().parse::<u64>().unwrap())
                            }
                            ("first" | "last", _) => Some(100),
                            _ => None,
                        }
                    });
                    let here = around * size.unwrap_or(1);
                    let own = match size {
                        Some(_) if of_lists => around,
                        Some(_) => here,
                        None => 0,
                    };
                    own + count(&field.selection_set, here, of_lists, fragment)
                }
                Selection::FragmentSpread(spread) => count(
                    &fragment(&spread.fragment_name).unwrap(),
                    around,
                    of_lists,
                    fragment,
                ),
                Selection::InlineFragment(inline) => count(&inline.selection_set, around, of_lists, fragment),
            })
            .sum()
    }
    parsed
        .definitions
        .iter()
        .map(|definition| match definition {
            Definition::OperationDefinition(operation) => {
                count(&operation.selection_set, 1, of_lists, &fragment)
            }
            _ => 0,
        })
        .sum()
}

#[test]
fn a_document_reads_like_this() {
    insta::assert_snapshot!("one_pull_request", batch::pulls(Profile::Author, &[at(1)]).text);
    insta::assert_snapshot!("one_maintained", batch::pulls(Profile::Maintainer, &[at(1)]).text);
    insta::assert_snapshot!("one_head", batch::pulls(Profile::Heads, &[at(1)]).text);
    insta::assert_snapshot!(
        "one_maintained_page_of_each_kind",
        batch::pages(Profile::Maintainer, &one_of_each_upkeep()).text
    );
    insta::assert_snapshot!(
        "one_page_of_each_kind",
        batch::pages(Profile::Author, &one_of_each()).text
    );
}
