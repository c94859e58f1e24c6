//! The documents that this project's client sends, on this world.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use world::{Lists, World, demo_answers};

/// What the client asks of each pull request of a batch.
#[derive(Clone, Copy)]
enum Batch {
    Author,
    Maintainer,
    Heads,
}

impl Batch {
    /// The file of its fragments, and what stands within `pullRequest`.
    fn parts(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Author => (
                &["pull", "head", "budget"],
                "...PullFields baseRef { compare(headRef: $h) { behindBy } }",
            ),
            Self::Maintainer => (&["upkeep", "pull", "head", "budget"], "...UpkeepFields"),
            Self::Heads => (&["upkeep", "pull", "head", "budget"], "...PollFields"),
        }
    }
}

/// The client's fragments, those that are used, with an operation that reads a batch of `n` pull requests.
fn document(kind: Batch, n: usize) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../github/queries");
    let (files, fields) = kind.parts();
    let mut fragments = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(folder.join(format!("{file}.graphql"))).ok()?;
        for fragment in text.split("\nfragment ").skip(1) {
            let name = fragment.split_whitespace().next()?.to_owned();
            // A comment of the next fragment is none of the selection.
            fragments.insert(name, format!("fragment {fragment}\n"));
        }
    }
    let head = matches!(kind, Batch::Author);
    let variables: Vec<String> = (0..n)
        .map(|at| {
            let head = if head {
                format!(", $h{at}: String!")
            } else {
                String::new()
            };
            format!("$o{at}: String!, $n{at}: String!, $p{at}: Int!{head}")
        })
        .collect();
    let mut text = format!("query Batch({}) {{\n", variables.join(", "));
    for at in 0..n {
        let fields = fields.replace("$h", &format!("$h{at}"));
        text.push_str(&format!(
            "pr{at}: repository(owner: $o{at}, name: $n{at}) {{ ...RepositoryFields pullRequest(number: $p{at}) {{
                {fields} }} }}\n"
        ));
    }
    text.push_str("rateLimit { ...BudgetFields } }\n");
    while let Some((name, fragment)) = fragments
        .iter()
        .find(|(name, _)| {
            text.contains(&format!("...{name}")) && !text.contains(&format!("fragment {name} "))
        })
        .map(|(name, fragment)| (name.clone(), fragment.clone()))
    {
        fragments.remove(&name);
        text.push_str(&fragment);
    }
    Some(text)
}

fn variables<'a>(pulls: impl Iterator<Item = (&'a str, u32)>) -> Map<String, Value> {
    let mut variables = Map::new();
    for (at, (repo, number)) in pulls.enumerate() {
        let (owner, name) = repo.split_once('/').expect("an owner and a name");
        variables.insert(format!("o{at}"), json!(owner));
        variables.insert(format!("n{at}"), json!(name));
        variables.insert(format!("p{at}"), json!(number));
        variables.insert(format!("h{at}"), json!(format!("refs/pull/{number}/head")));
    }
    variables
}

#[test]
fn the_whole_demo_is_read_without_an_error() {
    let world = World::demo();
    let answers = demo_answers();
    let kinds = [Batch::Author, Batch::Maintainer, Batch::Heads];
    for (kind, batch) in kinds
        .into_iter()
        .flat_map(|kind| answers.chunks(25).map(move |batch| (kind, batch)))
    {
        let Some(document) = document(kind, batch.len()) else {
            println!("skipped: the client's documents are not there");
            return;
        };
        let variables = variables(
            batch
                .iter()
                .map(|answer| (answer.at.repo.as_str(), answer.at.number)),
        );
        let answer = world.ask_operation(&document, "Batch", variables);
        assert!(answer.get("errors").is_none(), "{:#}", answer["errors"]);
        for (at, expected) in batch.iter().enumerate() {
            assert_eq!(
                answer["data"][format!("pr{at}")]["pullRequest"]["number"],
                expected.at.number
            );
        }
    }
}

#[test]
fn a_batch_is_answered_quickly() {
    let world = World::many(25, Lists::Medium);
    let Some(document) = document(Batch::Author, 25) else {
        println!("skipped: the client's documents are not there");
        return;
    };
    let pulls = world.pulls();
    let variables = variables(pulls.iter().map(|at| (at.repo.as_str(), at.number)));
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let answer = world.ask_operation(&document, "Batch", variables.clone());
        best = best.min(started.elapsed());
        assert!(answer.get("errors").is_none(), "{:#}", answer["errors"]);
    }
    println!("25 pull requests of medium size, parsed and answered, without optimisation: {best:?}");
    // A generous bound, for a machine under load: it is there to catch something quadratic.
    assert!(best < Duration::from_secs(2), "{best:?}");
}
