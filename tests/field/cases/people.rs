//! Who said what, and whose turn it is.

use lifecycle::{Hints, Settings};
use pulls::facts::AccountKind;
use world::{
    Association, CheckSpec, CommentSpec, CommitSpec, Fault, PullSpec, ReviewSpec, ThreadSpec, Who, hours_ago,
};

use crate::support::{
    AT, Judged, NOW, at, every_object, judge, judge_with, judged, pr, quiet, read, read_one, reader, ready,
    rewrite, serve_one,
};

const ASK: &str = "Could this be done in another way?";
const ASKED: &str = "mia asked a question: Could this be done in another way?";

/// Mia, a member, says something.
fn mia(body: &str) -> CommentSpec {
    CommentSpec::new("mia", Association::Member, body).at(hours_ago(5))
}

/// Asserts that a maintainer's question decides.
#[track_caller]
fn asks(it: &Judged) {
    it.is("investigate", "investigate.question", ASKED);
}

pub async fn b043_a_comment_changes_no_verdict() {
    let approved = || ReviewSpec::approved("mia").at(hours_ago(9));
    let commented = || ReviewSpec::commented("mia", "Nice.").at(hours_ago(8));
    judged(ready().review(approved()).review(commented()))
        .await
        .ships();

    let requested = || ReviewSpec::changes_requested("mia", "Tests, please.").at(hours_ago(9));
    let decided = || quiet().decision("CHANGES_REQUESTED");
    let it = judged(decided().review(requested()).review(commented())).await;
    it.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by mia",
    );
    // Who approved afterwards is not the one who waits.
    let it = judged(
        decided()
            .review(requested())
            .review(ReviewSpec::approved("mia").at(hours_ago(8)))
            .review(ReviewSpec::changes_requested("noa", "Docs, please.").at(hours_ago(20))),
    )
    .await;
    assert_eq!(it.who_waits().0, Some("noa"));
}

pub async fn b048_an_open_request_takes_no_approval_back() {
    let code_owner = ready().review_request("noa").raw(|pull| {
        let requests = pull.get_mut("reviewRequests").and_then(|it| it.as_array_mut());
        let request = requests.unwrap()[0].as_object_mut().unwrap();
        request.insert("asCodeOwner".into(), true.into());
    });
    judged(code_owner).await.ships();
}

pub async fn b049_no_decision_in_two_dresses() {
    let served = serve_one(quiet().check(CheckSpec::run("test"))).await;
    let null = judge(read_one(&served, AT).await, at(NOW));
    null.waits("no review required and none given");
    let mut empty_words = 0;
    rewrite(&served, AT, |answer| {
        every_object(answer, &mut |object| {
            if let Some(decision) = object.get_mut("reviewDecision") {
                *decision = "".into();
                empty_words += 1;
            }
        });
    })
    .await;
    let empty = judge(read_one(&served, AT).await, at(NOW));
    assert_eq!((empty_words, &empty.verdict), (1, &null.verdict));
    assert_eq!(empty.verdict.signals.review, None);
    // The other rules decide as ever.
    judged(quiet().conflicting())
        .await
        .is("rebase", "rebase.conflict", "conflicts with main");
    judged(quiet().comment(mia(ASK)))
        .await
        .is("investigate", "investigate.question", ASKED);
}

pub async fn b052_threads_ask_and_any_word_answers() {
    let ada = || CommentSpec::new("ada", Association::Contributor, "It is like that elsewhere.");
    let thread = || ThreadSpec::new("src/a.rs", ada().at(hours_ago(9))).reply(mia(ASK));
    // Of the reply in the thread the conversation shows an empty review alone.
    let asked = || {
        ready()
            .thread(thread())
            .review(ReviewSpec::commented("mia", "").at(hours_ago(5)))
    };
    let it = judged(asked()).await;
    asks(&it);
    let reply = &it.facts.threads[0].comments[1].comment.url;
    assert_eq!(it.who_waits(), (Some("mia"), Some(reply.as_str())));
    assert!(reply.contains("#discussion_r"));
    // Any later word of the author answers, wherever it stands.
    let one_thread = "1 unresolved review thread";
    let in_thread = ready().thread(thread().reply(ada().at(hours_ago(4))));
    judged(in_thread).await.waits(one_thread);
    judged(asked().comment(ada().at(hours_ago(4))))
        .await
        .waits(one_thread);
    let review = ReviewSpec::new("ada", Association::Contributor, "COMMENTED", "").at(hours_ago(4));
    judged(asked().review(review)).await.waits(one_thread);
    // An earlier one does not, nor another's.
    asks(&judged(asked().comment(ada().at(hours_ago(6)))).await);
    let noa = CommentSpec::new("noa", Association::Member, "No.").at(hours_ago(4));
    asks(&judged(asked().comment(noa)).await);
    // In a thread that somebody resolved nobody waits.
    judged(ready().thread(thread().resolved("mia"))).await.ships();
}

pub async fn b053_changes_requested_without_a_word() {
    let it = judged(
        ready()
            .decision("CHANGES_REQUESTED")
            .review(ReviewSpec::changes_requested("mia", "").at(hours_ago(5))),
    )
    .await;
    it.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by mia",
    );
    assert_eq!(
        it.who_waits(),
        (Some("mia"), Some(it.facts.reviews[0].url.as_str()))
    );
}

pub async fn b054_one_bucket_and_every_signal() {
    let failing = (1..=9).map(|n| CheckSpec::run(&format!("job {n}")).failure());
    let it = judged(
        quiet()
            .decision("CHANGES_REQUESTED")
            .review(ReviewSpec::changes_requested("mia", "Tests, please.").at(hours_ago(30)))
            .head(CommitSpec::at(hours_ago(3)))
            .behind(51)
            .checks(failing),
    )
    .await;
    it.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by mia",
    );
    assert_eq!(it.also(), ["rebase.behind", "qa.ci"]);
    let signals = &it.verdict.signals;
    assert_eq!(
        (it.ci(), signals.failing.len(), signals.behind_by),
        ("failing", 9, Some(51))
    );
    assert_eq!(signals.check.as_deref(), Some("job 1"));
}

pub async fn b055_a_members_comment_that_asks_nothing() {
    let it = judged(quiet().comment(mia("I will look at it on Monday."))).await;
    it.waits("no review required and none given");
    assert!(!it.is_asked());
    assert_eq!(it.verdict.bucket.intent(), "audit");
}

pub async fn b056_a_question_mark_in_prose() {
    for body in [
        "See https://x.example/?a=b for it.",
        "See [the run](https://x.example/run?check=1&attempt=2).",
        "Use `a ? b : c` here.",
        "```rust\nlet x = maybe?;\n```\nThat will do.",
        "    let x = maybe?;\n",
        "> Is that quoted?\n\nYes, it is.",
        "<!-- Did you read CONTRIBUTING? -->\nThanks.",
        "![why?](https://x.example/a.png)",
    ] {
        let it = judged(quiet().comment(mia(body))).await;
        it.waits("no review required and none given");
        assert!(!it.is_asked(), "{body}");
    }
    for (body, shown) in [
        ("Why?", "Why?"),
        ("なぜですか？", "なぜですか？"),
        ("لماذا؟", "لماذا؟"),
        ("> Is that quoted?\n\nAnd is this?", "And is this?"),
        ("Does `a ? b : c` work?", "Does … work?"),
    ] {
        let it = judged(quiet().comment(mia(body))).await;
        let reason = format!("mia asked a question: {shown}");
        it.is("investigate", "investigate.question", &reason);
    }
}

pub async fn b057_a_bot_is_known_by_its_kind() {
    let bot = CommentSpec::new(Who::bot("coderabbitai"), Association::Member, ASK).at(hours_ago(5));
    let it = judged(ready().comment(bot)).await;
    it.ships();
    let author = it.facts.comments[0].author.clone().unwrap();
    assert_eq!(author.kind, AccountKind::Bot);
    // REST's form of the name is the same account.
    assert_eq!(author.login, "coderabbitai[bot]".parse().unwrap());
    // A person may be called what they like.
    let person = CommentSpec::new("robotham", Association::Member, ASK).at(hours_ago(5));
    assert!(judged(ready().comment(person)).await.is_asked());
}

pub async fn b059_association_decides_and_members_can_be_listed() {
    let quiet_member = CommentSpec::new("mia", Association::Contributor, ASK).at(hours_ago(5));
    let it = judged(ready().comment(quiet_member)).await;
    it.ships();
    let mut settings = Settings::default();
    settings.people.private_members.insert("Mia".parse().unwrap());
    asks(&judge_with(it.facts, &Hints::default(), &settings, at(NOW)));
    for word in [Association::Member, Association::Owner, Association::Collaborator] {
        asks(&judged(ready().comment(CommentSpec::new("mia", word, ASK))).await);
    }
    for word in [
        Association::None,
        Association::FirstTimer,
        Association::FirstTimeContributor,
        Association::Mannequin,
    ] {
        judged(ready().comment(CommentSpec::new("mia", word, ASK)))
            .await
            .ships();
    }
}

pub async fn b060_the_bot_test_comes_first() {
    for association in [Association::None, Association::Member, Association::Owner] {
        let said = || Who::bot("helper");
        let it = judged(
            ready()
                .comment(CommentSpec::new(said(), association, ASK).at(hours_ago(5)))
                .review(ReviewSpec::new(said(), association, "COMMENTED", ASK).at(hours_ago(5)))
                .thread(ThreadSpec::new("a.rs", CommentSpec::new(said(), association, ASK)).resolved("ada")),
        )
        .await;
        it.ships();
    }
    // A machine user looks like a person until it is listed.
    let it = judged(ready().comment(mia(ASK))).await;
    asks(&it);
    let mut settings = Settings::default();
    settings.people.machine_users.insert("mia".parse().unwrap());
    judge_with(it.facts, &Hints::default(), &settings, at(NOW)).ships();
}

pub async fn b061_threads_beyond_a_page() {
    let threads = |last: ThreadSpec| -> PullSpec {
        let thread = || ThreadSpec::new("a.rs", mia("So."));
        (1..130)
            .fold(ready(), |pull, _| pull.thread(thread()))
            .thread(last)
    };
    let served = serve_one(threads(ThreadSpec::new("b.rs", mia("So.")))).await;
    let it = judge(read_one(&served, AT).await, at(NOW));
    it.waits("130 unresolved review threads");
    assert_eq!(it.verdict.signals.unresolved_threads, 130, "exact");
    // A question in the last of them is seen.
    asks(&judged(threads(ThreadSpec::new("b.rs", mia(ASK)))).await);
    // Where the number is not known, nothing is said from the rest.
    served.faults().add(Fault::status(502).on_operation("Pages"));
    let got = read(&reader(&served), &[pr(AT)]).await;
    assert_eq!((got.found.len(), got.skipped.len()), (0, 1));
}

pub async fn b063_a_reviewer_of_any_kind_or_none() {
    let it = judged(
        ready()
            .review_request(Who::Deleted)
            .review_request(Who::bot("helper"))
            .review_request(Who::Mannequin("wax".to_owned()))
            .review_request("noa"),
    )
    .await;
    it.ships();
    // Reviews and comments of such accounts are read as well, and a deleted one is nobody.
    let it = judged(
        ready()
            .review(ReviewSpec::approved(Who::Deleted))
            .comment(CommentSpec::new(Who::Deleted, Association::Member, ASK))
            .comment(CommentSpec::new(
                Who::Mannequin("wax".to_owned()),
                Association::Mannequin,
                ASK,
            )),
    )
    .await;
    it.ships();
    assert_eq!(it.facts.reviews[0].author, None);
    let wax = it
        .facts
        .comments
        .iter()
        .find_map(|comment| comment.author.clone())
        .unwrap();
    assert_eq!((wax.login.as_str(), wax.kind), ("wax", AccountKind::Other));
}
