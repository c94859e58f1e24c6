//! The trimmed schema against GitHub's whole one, and the world against its own.

use std::path::PathBuf;

use apollo_compiler::Schema;
use apollo_compiler::schema::ExtendedType;

/// Where data lies that is too large for the repository.
fn shared() -> PathBuf {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    std::env::var_os("SWEEP_SHARED").map_or(beside, PathBuf::from)
}

#[test]
fn what_is_left_of_the_schema_is_as_github_has_it() {
    let path = shared().join("data/github-schema.graphql");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let whole = Schema::parse(text, "whole.graphql").unwrap();
    let trimmed = Schema::parse_and_validate(world::SCHEMA, "schema.graphql").unwrap();
    let mut compared = 0;
    for (name, ours) in trimmed.types.iter().filter(|(_, ty)| !ty.is_built_in()) {
        let theirs = whole
            .types
            .get(name)
            .unwrap_or_else(|| panic!("GitHub has no type {name}"));
        compared += 1;
        match (ours, theirs) {
            (ExtendedType::Scalar(_), ExtendedType::Scalar(_)) => {}
            (ExtendedType::Enum(ours), ExtendedType::Enum(theirs)) => {
                let words =
                    |def: &apollo_compiler::schema::EnumType| def.values.keys().cloned().collect::<Vec<_>>();
                assert_eq!(words(ours), words(theirs), "the words of {name}");
            }
            (ExtendedType::Union(ours), ExtendedType::Union(theirs)) => {
                for member in &ours.members {
                    assert!(theirs.members.contains(member), "{member} is no {name}");
                }
            }
            (ExtendedType::InputObject(ours), ExtendedType::InputObject(theirs)) => {
                for (field, definition) in &ours.fields {
                    assert_eq!(definition.ty, theirs.fields[field].ty, "{name}.{field}");
                }
                assert_eq!(ours.fields.len(), theirs.fields.len(), "the fields of {name}");
            }
            (ExtendedType::Interface(ours), ExtendedType::Interface(theirs)) => {
                same_fields(name, &ours.fields, &theirs.fields);
            }
            (ExtendedType::Object(ours), ExtendedType::Object(theirs)) => {
                same_fields(name, &ours.fields, &theirs.fields);
                for interface in &ours.implements_interfaces {
                    assert!(
                        theirs.implements_interfaces.contains(interface),
                        "{name} is no {interface}"
                    );
                }
            }
            _ => panic!("{name} is of another kind in GitHub's schema"),
        }
    }
    assert!(compared > 100, "only {compared} types were compared");
}

#[test]
fn a_number_beyond_32_bits_is_served_as_github_does() {
    let run = world::CheckSpec::run("build").id(73_273_549_971);
    let pull = world::PullSpec::new("o/r", 7).check(run);
    let world = world::World::builder("2026-05-14T17:45:00Z").pull(pull).build();
    let answer = world.ask(
        "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { commits(last: 1) { nodes { commit {
            statusCheckRollup { contexts(first: 1) { nodes { ... on CheckRun { databaseId } } } } } } } } } }",
    );
    let path =
        "/data/repository/pullRequest/commits/nodes/0/commit/statusCheckRollup/contexts/nodes/0/databaseId";
    assert_eq!(answer.pointer(path), Some(&73_273_549_971_u64.into()), "{answer}");
}

type Fields = apollo_compiler::collections::IndexMap<
    apollo_compiler::Name,
    apollo_compiler::schema::Component<apollo_compiler::schema::FieldDefinition>,
>;

fn same_fields(name: &str, ours: &Fields, theirs: &Fields) {
    for (field, definition) in ours {
        let other = theirs
            .get(field)
            .unwrap_or_else(|| panic!("GitHub has no {name}.{field}"));
        assert_eq!(definition.ty, other.ty, "{name}.{field}");
        let arguments = |definition: &apollo_compiler::schema::FieldDefinition| {
            let arguments = definition.arguments.iter();
            arguments
                .map(|it| (it.name.clone(), it.ty.clone(), it.default_value.clone()))
                .collect::<Vec<_>>()
        };
        let (mine, others) = (arguments(definition), arguments(other));
        let sorted = |mut list: Vec<(apollo_compiler::Name, _, _)>| {
            list.sort_by(|a, b| a.0.cmp(&b.0));
            list
        };
        assert_eq!(sorted(mine), sorted(others), "the arguments of {name}.{field}");
    }
}
