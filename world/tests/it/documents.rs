//! The documents that this project's client sends, on this world.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use world::{Lists, World, demo_answers};

/// The client's fragments and whole operations, with an operation that reads a batch of `n` pull requests.
fn document(n: usize) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../github/queries");
    let mut text = String::new();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|file| Some(file.ok()?.path()))
        .collect();
    files.sort();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|it| it == "graphql"))
    {
        text.push_str(&std::fs::read_to_string(file).ok()?);
    }
    let variables: Vec<String> = (0..n)
        .map(|at| format!("$o{at}: String!, $n{at}: String!, $p{at}: Int!, $h{at}: String!"))
        .collect();
    text.push_str(&format!("query Batch({}) {{\n", variables.join(", ")));
    for at in 0..n {
        text.push_str(&format!(
            "pr{at}: repository(owner: $o{at}, name: $n{at}) {{ ...RepositoryFields pullRequest(number: $p{at}) {{
                ...PullFields baseRef {{ compare(headRef: $h{at}) {{ behindBy }} }} }} }}\n"
        ));
    }
    text.push_str("rateLimit { ...BudgetFields } }\n");
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
    for batch in answers.chunks(25) {
        let Some(document) = document(batch.len()) else {
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
    let Some(document) = document(25) else {
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
