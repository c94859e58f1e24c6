//! What happens to a pull request and who did it, as the maintainer's half reads it.

use serde_json::{Value, json};
use world::{
    Association, CommentSpec, CommitSpec, EditError, EventSpec, PullSpec, ReviewSpec, ThreadSpec, Who, World,
    days_ago, hours_ago, minutes_ago,
};

const FIELDS: &str = "state isDraft locked title baseRefName updatedAt closedAt mergedAt merged mergedBy { login }
    mergeQueueEntry { position } changedFiles additions labels(first: 10) { nodes { name } }
    files(first: 10) { totalCount nodes { path additions deletions changeType } }
    assignees(first: 5) { nodes { login } } reviewRequests(first: 5) { totalCount }
    comments(first: 10) { nodes { body createdAt updatedAt lastEditedAt editor { __typename login } } }
    reviews(first: 10) { nodes { state body author { login } lastEditedAt updatedAt editor { login } } }
    commits(last: 10) { nodes { commit { committedDate author { name user { login } } } } }
    events: timelineItems(last: 100, itemTypes: [ADDED_TO_MERGE_QUEUE_EVENT, ASSIGNED_EVENT, BASE_REF_CHANGED_EVENT,
        CLOSED_EVENT, CONVERT_TO_DRAFT_EVENT, HEAD_REF_FORCE_PUSHED_EVENT, LABELED_EVENT, MERGED_EVENT,
        READY_FOR_REVIEW_EVENT, REMOVED_FROM_MERGE_QUEUE_EVENT, RENAMED_TITLE_EVENT, REOPENED_EVENT,
        REVIEW_REQUESTED_EVENT, UNLABELED_EVENT]) { nodes { __typename
        ... on AddedToMergeQueueEvent { createdAt actor { login } } ... on AssignedEvent { createdAt actor { login } }
        ... on BaseRefChangedEvent { createdAt actor { login } currentRefName }
        ... on ClosedEvent { createdAt actor { login } } ... on ConvertToDraftEvent { createdAt actor { login } }
        ... on HeadRefForcePushedEvent { createdAt actor { login } }
        ... on LabeledEvent { createdAt actor { __typename login } label { name } }
        ... on MergedEvent { createdAt actor { login } mergeRefName }
        ... on ReadyForReviewEvent { createdAt actor { login } }
        ... on RemovedFromMergeQueueEvent { createdAt actor { login } reason }
        ... on RenamedTitleEvent { createdAt actor { login } previousTitle currentTitle }
        ... on ReopenedEvent { createdAt actor { login } } ... on ReviewRequestedEvent { createdAt actor { login } }
        ... on UnlabeledEvent { createdAt actor { login } label { name } } } }";

fn pull(world: &World) -> Value {
    let text =
        format!("{{ repository(owner: \"o\", name: \"r\") {{ pullRequest(number: 7) {{ {FIELDS} }} }} }}");
    let answer = world.ask(&text);
    assert!(answer.get("errors").is_none(), "{:#}", answer["errors"]);
    answer["data"]["repository"]["pullRequest"].clone()
}

fn world(spec: PullSpec) -> World {
    World::builder("2026-05-14T17:45:00Z").pull(spec).build()
}

#[test]
fn every_event_happens_with_its_effect_and_moves_updated_at() {
    let mut world = world(PullSpec::new("o/r", 7).author("ada").created(days_ago(9)));
    type Step = (&'static str, EventSpec, fn(&Value) -> bool);
    let steps: Vec<Step> = vec![
        (
            "LabeledEvent",
            EventSpec::labeled("bug").by(Who::bot("toad")),
            |pull| pull["labels"]["nodes"] == json!([{ "name": "bug" }]),
        ),
        ("UnlabeledEvent", EventSpec::unlabeled("bug"), |pull| {
            pull["labels"]["nodes"] == json!([])
        }),
        ("ConvertToDraftEvent", EventSpec::converted_to_draft(), |pull| {
            pull["isDraft"] == true
        }),
        ("ReadyForReviewEvent", EventSpec::ready_for_review(), |pull| {
            pull["isDraft"] == false
        }),
        ("RenamedTitleEvent", EventSpec::renamed("Better"), |pull| {
            pull["title"] == "Better"
        }),
        ("BaseRefChangedEvent", EventSpec::base_changed("next"), |pull| {
            pull["baseRefName"] == "next"
        }),
        ("AssignedEvent", EventSpec::assigned("grace"), |pull| {
            pull["assignees"]["nodes"] == json!([{ "login": "grace" }])
        }),
        (
            "ReviewRequestedEvent",
            EventSpec::review_requested("grace"),
            |pull| pull["reviewRequests"]["totalCount"] == 1,
        ),
        ("AddedToMergeQueueEvent", EventSpec::queued(3), |pull| {
            pull["mergeQueueEntry"]["position"] == 3
        }),
        ("RemovedFromMergeQueueEvent", EventSpec::dequeued(), |pull| {
            pull["mergeQueueEntry"].is_null()
        }),
        ("ClosedEvent", EventSpec::closed(), |pull| {
            pull["state"] == "CLOSED" && pull["closedAt"].is_string()
        }),
        ("ReopenedEvent", EventSpec::reopened(), |pull| {
            pull["state"] == "OPEN" && pull["closedAt"].is_null()
        }),
        ("MergedEvent", EventSpec::merged(), |pull| {
            pull["merged"] == true && pull["mergedBy"]["login"] == "grace" && pull["mergedAt"].is_string()
        }),
    ];
    let count = steps.len();
    for (at, (name, event, holds)) in steps.into_iter().enumerate() {
        let when = world.now() - chrono::TimeDelta::minutes(i64::try_from(count - at).unwrap());
        let event = if name == "LabeledEvent" {
            event
        } else {
            event.by("grace")
        };
        world.happen(("o/r", 7), event.at(when)).unwrap();
        let pull = pull(&world);
        assert!(holds(&pull), "{name}: {pull:#}");
        let newest = pull["events"]["nodes"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        assert_eq!(newest["__typename"], name);
        assert_eq!(newest["createdAt"], pull["updatedAt"], "{name}");
        let actor = if name == "LabeledEvent" { "toad" } else { "grace" };
        assert_eq!(newest["actor"]["login"], actor, "{name}");
    }
}

#[test]
fn words_pushes_and_edits_move_updated_at_to_when_they_were_made() {
    let said = CommentSpec::new("grace", Association::Member, "One.").at(days_ago(5));
    let thread = ThreadSpec::new(
        "a.rs",
        CommentSpec::new("grace", Association::Member, "nit").at(days_ago(5)),
    );
    let mut world = world(
        PullSpec::new("o/r", 7)
            .created(days_ago(9))
            .comment(said)
            .thread(thread),
    );
    let updated = |world: &World| pull(world)["updatedAt"].as_str().unwrap().to_owned();
    assert_eq!(updated(&world), "2026-05-09T17:45:00Z");
    let bot = CommentSpec::new(Who::bot("heron"), Association::None, "Covered.").at(hours_ago(40));
    world.comment(("o/r", 7), bot).unwrap();
    assert_eq!(updated(&world), "2026-05-13T01:45:00Z");
    let reply = CommentSpec::new("ada", Association::Contributor, "Done.").at(hours_ago(4));
    world.reply(("o/r", 7), 0, reply).unwrap();
    assert_eq!(updated(&world), "2026-05-14T13:45:00Z");
    let left = &pull(&world)["reviews"]["nodes"][0];
    assert_eq!(
        (&left["state"], &left["body"], &left["author"]["login"]),
        (&json!("COMMENTED"), &json!(""), &json!("ada"))
    );
    world.resolve(("o/r", 7), 0, "ada").unwrap();
    world
        .review(("o/r", 7), ReviewSpec::approved("grace").at(hours_ago(9)))
        .unwrap();
    assert_eq!(updated(&world), "2026-05-14T13:45:00Z", "never back");
    world
        .edit_comment(("o/r", 7), 0, Who::bot("heron"), "One!")
        .unwrap();
    let pull_now = pull(&world);
    assert_eq!(pull_now["updatedAt"], "2026-05-14T17:45:00Z");
    let edited = &pull_now["comments"]["nodes"][0];
    assert_eq!(
        (&edited["body"], &edited["editor"]["login"]),
        (&json!("One!"), &json!("heron"))
    );
    assert_eq!(
        (&edited["createdAt"], &edited["lastEditedAt"]),
        (&json!("2026-05-09T17:45:00Z"), &pull_now["updatedAt"])
    );
    assert_eq!(
        world.edit_comment(("o/r", 7), 9, "ada", "?"),
        Err(EditError::NotThere(("o/r", 7).into(), "comment 9".to_owned()))
    );
    assert!(
        world
            .reply(("o/r", 7), 4, CommentSpec::new("ada", Association::None, "?"))
            .is_err()
    );
    world.set_now(world.now() + chrono::TimeDelta::hours(1));
    world.bump(("o/r", 7), minutes_ago(10)).unwrap();
    assert_eq!(updated(&world), "2026-05-14T18:35:00Z");
    world
        .push(
            ("o/r", 7),
            CommitSpec::at(minutes_ago(1)).by(Who::bot("dependable")),
        )
        .unwrap();
    let pull_now = pull(&world);
    assert_eq!(pull_now["updatedAt"], "2026-05-14T18:45:00Z");
    let authors: Vec<Value> = pull_now["commits"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["commit"]["author"].clone())
        .collect();
    let bot = json!({ "name": "dependable[bot]", "user": null });
    assert_eq!(
        authors,
        [json!({ "name": "ada", "user": { "login": "ada" } }), bot]
    );
}

#[test]
fn a_spec_says_files_history_edits_and_who_ended_it() {
    let spec = PullSpec::new("o/r", 7)
        .created(days_ago(9))
        .file("src/a.rs", 40, 2)
        .file("docs/b.md", 1, 1)
        .label("bug")
        .happened(EventSpec::labeled("bug").by(Who::bot("toad")).at(days_ago(2)))
        .comment(
            CommentSpec::new("grace", Association::Member, "Hm.")
                .at(days_ago(8))
                .edited_by("edith", days_ago(3)),
        )
        .review(ReviewSpec::approved("grace").at(days_ago(8)).edited(days_ago(4)))
        .thread(ThreadSpec::new(
            "a.rs",
            CommentSpec::new("wim", Association::Member, "nit").at(days_ago(7)),
        ))
        .thread_reviews();
    let shown = pull(&world(spec));
    assert_eq!(
        shown["updatedAt"], "2026-05-12T17:45:00Z",
        "the label is the newest"
    );
    assert_eq!(
        (&shown["changedFiles"], &shown["additions"]),
        (&json!(2), &json!(41))
    );
    assert_eq!(shown["files"]["nodes"][0]["path"], "src/a.rs");
    assert_eq!(shown["files"]["nodes"][0]["changeType"], "MODIFIED");
    assert_eq!(shown["comments"]["nodes"][0]["editor"]["login"], "edith");
    let reviews = shown["reviews"]["nodes"].as_array().unwrap();
    assert_eq!(reviews[0]["editor"]["login"], "grace");
    assert_eq!(
        (&reviews[1]["author"]["login"], &reviews[1]["body"]),
        (&json!("wim"), &json!(""))
    );
    assert_eq!(shown["events"]["nodes"][0]["actor"]["__typename"], "Bot");

    let merged = pull(&world(
        PullSpec::new("o/r", 7).merged(hours_ago(2)).ended_by("grace"),
    ));
    assert_eq!(
        (&merged["mergedBy"]["login"], &merged["merged"]),
        (&json!("grace"), &json!(true))
    );
    assert_eq!(merged["events"]["nodes"][0]["mergeRefName"], "main");
    let closed = pull(&world(PullSpec::new("o/r", 7).author("eve").closed(hours_ago(2))));
    assert_eq!(closed["events"]["nodes"][0]["actor"]["login"], "eve");
    let unread = pull(&world(PullSpec::new("o/r", 7).files_unread()));
    assert_eq!(unread["files"], Value::Null);
}

#[test]
fn a_status_shows_its_app_in_its_picture_alone() {
    let spec = PullSpec::new("o/r", 7)
        .check(world::CheckSpec::status("preview").by(Who::bot("preview-pelican")))
        .check(world::CheckSpec::status("by hand").by("grace"))
        .check(world::CheckSpec::run("size").app("preview-pelican"));
    let answer = world(spec).ask(
        "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { statusCheckRollup { contexts(first: 5) { nodes {
            ... on StatusContext { avatarUrl } ... on CheckRun { checkSuite { databaseId app { databaseId } } } } } } } } }",
    );
    let nodes = &answer["data"]["repository"]["pullRequest"]["statusCheckRollup"]["contexts"]["nodes"];
    let app = nodes[2]["checkSuite"]["app"]["databaseId"].as_u64().unwrap();
    assert!(
        nodes[0]["avatarUrl"]
            .as_str()
            .unwrap()
            .contains(&format!("/in/{app}?")),
        "{nodes}"
    );
    assert!(nodes[1]["avatarUrl"].as_str().unwrap().contains("/u/"), "{nodes}");
}
