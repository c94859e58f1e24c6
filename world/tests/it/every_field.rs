//! Every field of every type that the schema has and the graph reaches answers something.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use apollo_compiler::Schema;
use apollo_compiler::schema::{ExtendedType, FieldDefinition};
use world::{
    Association, CheckSpec, ClosesSpec, CommentSpec, EventSpec, PullSpec, RepoSpec, ReviewSpec, SuiteSpec,
    ThreadSpec, World, days_ago, hours_ago,
};

/// Fields that may not be null and have nothing plain to say: an event that a spec makes by its type
/// alone names no issue.
const UNSAID: [&str; 3] = [
    "CrossReferencedEvent.source",
    "IssueComment.issue",
    "WorkflowRun.checkSuite",
];

fn world() -> World {
    let events = [
        "BaseRefForcePushedEvent",
        "CrossReferencedEvent",
        "HeadRefDeletedEvent",
        "HeadRefRestoredEvent",
        "MentionedEvent",
        "ReviewDismissedEvent",
        "ReviewRequestRemovedEvent",
        "SubscribedEvent",
        "UnassignedEvent",
    ];
    let happened = [
        EventSpec::queued(1),
        EventSpec::dequeued(),
        EventSpec::assigned("grace"),
        EventSpec::base_changed("next"),
        EventSpec::closed(),
        EventSpec::converted_to_draft(),
        EventSpec::ready_for_review(),
        EventSpec::labeled("bug"),
        EventSpec::unlabeled("bug"),
        EventSpec::locked(),
        EventSpec::unlocked(),
        EventSpec::merged(),
        EventSpec::renamed("Other"),
        EventSpec::reopened(),
        EventSpec::review_requested("grace"),
    ];
    let pull = PullSpec::new("o/r", 7)
        .check(CheckSpec::run("build").failure())
        .check(CheckSpec::status("legacy"))
        .suite(SuiteSpec::action_required("Release"))
        .comment(CommentSpec::new("grace", Association::Member, "Why?"))
        .review(ReviewSpec::approved("grace"))
        .thread(
            ThreadSpec::new("a.rs", CommentSpec::new("grace", Association::Member, "nit")).resolved("grace"),
        )
        .closes(ClosesSpec::issue(3).closed_by(6, days_ago(1)))
        .force_pushed(hours_ago(2))
        .review_request("edith")
        .label("bug")
        .in_merge_queue(1);
    let pull = events
        .into_iter()
        .fold(pull, |pull, event| pull.event(event, hours_ago(3)));
    let pull = happened
        .into_iter()
        .fold(pull, |pull, event| pull.happened(event.at(hours_ago(2))));
    World::builder("2026-05-14T17:45:00Z")
        .viewer("ada")
        .repo(RepoSpec::new("o/r").codeowners("* @grace"))
        .pull(pull)
        .build()
}

/// What a field's arguments have to be to lead somewhere.
fn arguments(ty: &str, field: &FieldDefinition) -> Option<String> {
    let fixed = match (ty, field.name.as_str()) {
        ("Query", "repository") => "(owner: \"o\", name: \"r\")",
        ("Query", "search") => "(first: 5, type: ISSUE, query: \"is:open\")",
        ("Query", "user") => "(login: \"ada\")",
        ("Query", "organization" | "repositoryOwner") => "(login: \"o\")",
        // They lead anywhere, and so nowhere in particular.
        ("Query", "node" | "nodes") => return None,
        ("Repository", "pullRequest" | "issueOrPullRequest") => "(number: 7)",
        ("Repository", "issue") => "(number: 3)",
        ("Repository", "ref") => "(qualifiedName: \"main\")",
        ("Repository", "object") => "(expression: \"HEAD:.github/CODEOWNERS\")",
        ("Organization" | "RepositoryOwner", "repository") => "(name: \"r\")",
        ("Ref", "compare") => "(headRef: \"refs/pull/7/head\")",
        // A person of this world owns no repository.
        ("User", "repository") => return None,
        (_, "timelineItems") => "(first: 100)",
        _ if field.ty.inner_named_type().ends_with("Connection") => "(first: 5)",
        _ => "",
    };
    Some(fixed.to_owned())
}

/// Opens the braces of a field on the way from the root to a type.
#[derive(Clone)]
struct Way(Vec<String>);

impl Way {
    fn then(&self, step: String) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    fn around(&self, selection: &str) -> String {
        let mut text = self.0.iter().rev().fold(selection.to_owned(), |inner, step| {
            format!("{step} {{ {inner} }}")
        });
        text.insert_str(0, "{ ");
        text.push_str(" }");
        text
    }
}

#[test]
fn no_field_answers_with_an_error() {
    let schema = Schema::parse_and_validate(world::SCHEMA, "schema.graphql").unwrap();
    let implementers = schema.implementers_map();
    let world = world();
    let mut ways: BTreeMap<String, Way> = BTreeMap::new();
    let mut queue = VecDeque::from([("Query".to_owned(), Way(Vec::new()))]);
    let mut failures = BTreeSet::new();
    let mut asked = 0;
    while let Some((name, way)) = queue.pop_front() {
        if ways.contains_key(&name) {
            continue;
        }
        ways.insert(name.clone(), way.clone());
        match &schema.types[name.as_str()] {
            ExtendedType::Union(union) => {
                for member in &union.members {
                    queue.push_back((member.to_string(), way.then(format!("... on {member}"))));
                }
            }
            ExtendedType::Interface(_) => {
                for object in implementers
                    .get(name.as_str())
                    .into_iter()
                    .flat_map(|it| &it.objects)
                {
                    queue.push_back((object.to_string(), way.then(format!("... on {object}"))));
                }
            }
            ExtendedType::Object(object) => {
                for field in object.fields.values() {
                    let Some(arguments) = arguments(&name, field) else {
                        continue;
                    };
                    let call = format!("{}{arguments}", field.name);
                    let inner = field.ty.inner_named_type();
                    let leaf = schema.types[inner].is_leaf();
                    let answer = world.ask(&way.around(&if leaf {
                        call.clone()
                    } else {
                        format!("{call} {{ __typename }}")
                    }));
                    asked += 1;
                    let id = format!("{name}.{}", field.name);
                    let expected = UNSAID.contains(&id.as_str());
                    if answer.get("errors").is_some() && !expected {
                        failures.insert(format!("{id}: {}", answer["errors"][0]["message"]));
                    }
                    if !leaf {
                        queue.push_back((inner.to_string(), way.then(call)));
                    }
                }
            }
            _ => {}
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(asked > 500, "only {asked} fields were reached");
}
