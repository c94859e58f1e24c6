use super::*;
use crate::build;

fn hears(body: &str) -> bool {
    let own = "o/r#7".parse().unwrap();
    let author = "author".parse().unwrap();
    words_to_close(body, &own, Some(&author)).is_some()
}

#[test]
fn plain_words_to_the_author() {
    for body in [
        "please close this",
        "Please close this.",
        "Please close this PR.",
        "Please close this pull request!",
        "please close the PR",
        "Please close your PR",
        "PLEASE CLOSE THIS",
        "**Please close this**",
        "Please, close this.",
        "Please just close this PR.",
        "Please go ahead and close this.",
        "Pls close this",
        "Kindly close this PR.",
        "Close this PR, please.",
        "Close this PR in favour of #12.",
        "Please close.",
        "This is a duplicate of #12, please close.",
        "This PR duplicates #12, please close it.",
        "This PR duplicates #12. Please close it.",
        "Thanks for the patch, but please close this PR.",
        "Thanks for the patch but please close this PR.",
        "We are not going to merge this, so please close it: the PR is out of scope.",
        "We don't want this feature. Please close this.",
        "We won't take this. Please close.",
        "Please close this in favour of #12.",
        "Please close this in favor of https://github.com/o/r/pull/12.",
        "Please close this, it is done in #12.",
        "Please close this and open a new one against develop.",
        "Please close this as a duplicate of #12.",
        "Please close this for now.",
        "Please close this since it is done already.",
        "Please close #7.",
        "Please close PR #7",
        "Please close o/r#7",
        "@author please close this",
        "@Author, please close this.",
        "Hi @author, please close this PR.",
        "closing in favour of #12",
        "Closing in favour of #12",
        "Closing in favor of #12.",
        "Closing in favor of the other approach",
        "Closing this in favor of #12",
        "I'm closing this in favour of #12.",
        "I’m closing this PR as a duplicate.",
        "Thanks for the work, closing in favour of #12.",
        "Closing this.",
        "I'll close this in favor of #12.",
        "superseded by #9",
        "Superseded by #9.",
        "This is superseded by #9",
        "This PR has been superseded by #9.",
        "This was superseded by other/repo#9.",
        "Superseded by https://github.com/o/r/pull/9",
        "superseded by PR 9",
        "Superseded by another PR.",
        "Superseded by GH-9.",
        "You can close this PR",
        "You should close this.",
        "I think you should close this PR.",
        "Let's close this.",
        "I suggest closing this PR.",
        "I'd like you to close this.",
        "Feel free to close this PR.",
        "This PR should be closed.",
        "This should be closed in favour of #12.",
        "Some findings:\n\n- please close this",
        "> Could you review?\n\nPlease close this.",
        "> Could you review?\nPlease close this.",
        "Why was this opened? Please close this.",
        "Please close this at once.",
        "Please close this as soon as possible.",
        "Please close this ❤️",
        "Please close this PR and I'll merge #12.",
        "Please close this :)",
        "Closing due to inactivity.",
        "Closed in favour of #12.",
        "After discussing it with the team, please close this PR.",
    ] {
        assert!(hears(body), "should be heard: {body:?}");
    }
}

#[test]
fn negations_questions_conditions_and_other_things() {
    for body in [
        "",
        "Needs work.",
        // Negations.
        "I'd rather not close this",
        "I’d rather not close this.",
        "Please don't close this yet",
        "Please do not close this.",
        "please do not, under any circumstances, close this",
        "Don't close this PR.",
        "Never close this.",
        "We should not close this.",
        "There is no need to close this.",
        "I don't think you should close this PR.",
        "I am against closing in favour of #12.",
        "Rather than closing this, rebase it.",
        "Instead of closing this PR, please rebase.",
        "Nobody said you should close this.",
        "This is not superseded by #9.",
        "Please don't close this, closing in favour of #12 was wrong.",
        "Please close this. No wait, don't close this!",
        "You can't close this.",
        // Questions.
        "Could you close this?",
        "Could you please close this",
        "Can you please close this?",
        "Would you mind closing this?",
        "Should we close this?",
        "Please close this?",
        "Close this?",
        "Is this superseded by #9?",
        "Superseded by #9?",
        "Closing in favour of #12?",
        "Could you, please, close this",
        "Shall we? Then close this",
        // Conditions and alternatives.
        "If CI stays red please close this",
        "If CI stays red, please close this.",
        "Please close this if it is not needed.",
        "You can close this PR if you want.",
        "Once #12 is merged, please close this.",
        "When #12 lands please close this.",
        "Please close this when done.",
        "Please close this after #12 lands.",
        "After #12 lands, please close this.",
        "Please close this unless you plan to work on it.",
        "Should CI fail, please close this.",
        "Please rebase or close this.",
        "Please rebase this, or close this PR.",
        "Either fix the tests or close this PR.",
        "Otherwise please close this.",
        "As soon as #12 is in, please close this.",
        "Still red tomorrow? Then please close this.",
        "If CI stays red:\n\n- ping me\n- please close this",
        "Please don't:\n\n- close this",
        // Issues that it closes.
        "closes #12",
        "Closes #12",
        "this PR closes #12",
        "This closes #12, superb.",
        "Please close #12 with this.",
        "Please add \"closes #12\" to the description.",
        "Please close #12.",
        "fixes and closes o/r#12",
        // Something else is to be closed.
        "please close the file handle",
        "Please close this connection in the destructor.",
        "please close this connection in the destructor",
        "Please close this bracket.",
        "Please close this `fd`.",
        "Please close `this`.",
        "Please close it in the destructor.",
        "The file handle leaks, please close it.",
        "Please close the tag.",
        "Please close tags properly.",
        "Close the socket.",
        "Please close this issue.",
        "Please close this for loop properly.",
        "Please close this and the other handle.",
        "Closing the file in favour of RAII.",
        "Closing this would be a mistake.",
        "Closing this PR is wrong.",
        "Closing this, I think, would be a mistake.",
        "This socket should be closed.",
        "You open a file here. This should be closed.",
        "The old option was superseded by #9, please update.",
        "The foo option, superseded by #9, is gone.",
        "#12 is superseded by this PR.",
        "This will be superseded by #9.",
        "Superseded by #7.",
        "This call is superseded by `foo`.",
        "Superseded by the new API.",
        "We are close to merging this.",
        "Very close. This needs one more test.",
        // Somebody else's words, or said to somebody else.
        "> please close this\n\nI disagree with that.",
        "He wrote \"please close this\" above.",
        "“Please close this” is what the bot says.",
        "`please close this`",
        "```\nplease close this\n```",
        "    please close this",
        "<!-- please close this -->",
        "see https://x.example/please-close-this",
        "@maintainer2 please close this",
        "@maintainer2, please close this.",
        "I would not say please close this.",
        "Perhaps close this.",
        "~~Please close this.~~ Please add a test.",
        "Let's not close this.",
        "Whatever you do, don't please close this.",
        "Please close this PR's file handle.",
        "Please close the PR template's bracket.",
        "The API of this PR is superseded by #9.",
        "This supersedes #9.",
        "I was about to write please close this, but then I read the code.",
        "Maybe close this PR.",
    ] {
        assert!(!hears(body), "should not be heard: {body:?}");
    }
}

#[test]
fn the_sentence_is_shown_safely() {
    let own = "o/r#7".parse().unwrap();
    let words = words_to_close(
        "Thanks.\n\nPlease close this in favour of https://x.example/p.",
        &own,
        None,
    );
    assert_eq!(words.as_deref(), Some("Please close this in favour of …."));
}

#[test]
fn only_the_latest_review_that_says_anything_counts() {
    use build::{hours_ago, review};
    let people = People::default();
    let asked = |reviews: Vec<build::ReviewBuilder>| {
        let mut pull = build::pull("o/r", 7).changes_requested();
        for review in reviews {
            pull = pull.review(review);
        }
        asked_to_close(&pull.build(), &people).map(|asked| asked.by.to_string())
    };
    let request = |hours| review("m1", "CHANGES_REQUESTED", "Please close this.").at(hours_ago(hours));
    let m1 = Some("m1".to_owned());
    assert_eq!(asked(vec![request(5)]), m1, "alone");
    assert_eq!(
        asked(vec![
            request(5),
            review("m2", "COMMENTED", "I see.").at(hours_ago(4))
        ]),
        None,
        "a later word"
    );
    assert_eq!(
        asked(vec![
            review("m2", "COMMENTED", "I see.").at(hours_ago(4)),
            request(5)
        ]),
        None,
        "any order"
    );
    assert_eq!(
        asked(vec![
            request(5),
            review("m2", "COMMENTED", " \n").at(hours_ago(4))
        ]),
        m1,
        "an empty one"
    );
    assert_eq!(
        asked(vec![request(5), review("m2", "APPROVED", "").at(hours_ago(4))]),
        None,
        "an approval"
    );
    assert_eq!(
        asked(vec![
            request(5),
            review("m2", "DISMISSED", "Hm.").at(hours_ago(4))
        ]),
        m1,
        "a dismissed one"
    );
    assert_eq!(
        asked(vec![request(5), review("m2", "PENDING", "Hm.")]),
        m1,
        "a pending one"
    );
    assert_eq!(
        asked(vec![
            request(5),
            review("b[bot]", "COMMENTED", "Hm.").at(hours_ago(4))
        ]),
        m1,
        "a bot"
    );
    let outsider = review("x", "COMMENTED", "Hm.")
        .association("CONTRIBUTOR")
        .at(hours_ago(4));
    assert_eq!(asked(vec![request(5), outsider]), m1, "an outsider");
    assert_eq!(
        asked(vec![review("m1", "COMMENTED", "Please close this.")]),
        None,
        "not requesting changes"
    );
    let outsider = review("x", "CHANGES_REQUESTED", "Please close this.").association("NONE");
    assert_eq!(asked(vec![outsider]), None, "asked by an outsider");
    assert_eq!(
        asked(vec![
            request(5),
            review("m1", "CHANGES_REQUESTED", "Add a test.").at(hours_ago(4))
        ]),
        None
    );
}

/// GitHub's bound on a text, filled with what would take the square of it in time if anything did.
#[test]
fn long_texts_take_no_square_time() {
    const BODY: usize = 65_536;
    for piece in [
        "(",
        ")",
        "<",
        ">",
        "> ",
        "*a",
        "[",
        "`",
        "\"",
        "“",
        "«",
        "please ",
        "so ",
        "no ",
        "close ",
        "a.b/",
        "a.bc(",
        "@",
        "#1 ",
        "!",
        "please close ",
        "<!--",
        "superseded by ",
        "> *a",
        "- ",
        "\n",
        "&",
        "|",
        "www.",
        "://",
        "it ",
    ] {
        let text = piece.repeat(BODY / piece.len());
        assert!(!hears(&text), "{piece:?}");
        let _ = prose::asks(&format!("http://x/{text}?"));
    }
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "\\PC{0,80}") {
        let _ = hears(&text);
    }

    #[test]
    fn never_panics_on_near_misses(text in "(please|close|this|PR|#7|#|@a|it|\\.|,|\\?|or|and|in favour of|superseded by|\"|“|”| ){0,16}") {
        let _ = hears(&text);
    }
}
