//! Cases from the field: shapes of data on which programs of this kind went wrong in public, each through
//! the world, the reader and the rules. The list of them is shared with other projects; those of the
//! maintainer's half alone are not here.

mod checks;
mod people;
mod shapes;
mod wire;

use std::collections::BTreeSet;

use crate::support::shared_text;

/// The table: every case with its test, whose name begins with the case's.
macro_rules! cases {
    ($($id:literal $module:ident::$name:ident;)+) => {
        const TABLE: &[(&str, &str)] = &[$(($id, stringify!($name))),+];

        $(
            #[tokio::test]
            async fn $name() {
                $module::$name().await;
            }
        )+
    };
}

cases! {
    "B001" checks::b001_the_newest_run_of_a_check_counts;
    "B002" checks::b002_the_rollups_own_state_decides_nothing;
    "B003" checks::b003_newest_by_start_then_id_and_not_started_is_newest;
    "B004" checks::b004_one_name_in_two_workflows_is_two_checks;
    "B005" checks::b005_kinds_and_apps_are_never_merged;
    "B008" checks::b008_skipped_and_neutral_pass_and_are_shown_apart;
    "B010" checks::b010_a_lone_cancelled_run_fails;
    "B011" checks::b011_a_stale_check_is_pending;
    "B013" checks::b013_workflows_that_wait_for_approval;
    "B015" checks::b015_no_statuses_are_no_signal;
    "B016" checks::b016_no_checks_at_all;
    "B017" checks::b017_checks_beyond_a_page;
    "B020" checks::b020_pending_for_more_than_a_day_is_stuck;
    "B029" checks::b029_words_that_are_not_known;
    "B030" shapes::b030_mergeable_is_not_computed_yet;
    "B039" shapes::b039_behind_is_a_signal_up_to_fifty_commits;
    "B043" people::b043_a_comment_changes_no_verdict;
    "B048" people::b048_an_open_request_takes_no_approval_back;
    "B049" people::b049_no_decision_in_two_dresses;
    "B052" people::b052_threads_ask_and_any_word_answers;
    "B053" people::b053_changes_requested_without_a_word;
    "B054" people::b054_one_bucket_and_every_signal;
    "B055" people::b055_a_members_comment_that_asks_nothing;
    "B056" people::b056_a_question_mark_in_prose;
    "B057" people::b057_a_bot_is_known_by_its_kind;
    "B059" people::b059_association_decides_and_members_can_be_listed;
    "B060" people::b060_the_bot_test_comes_first;
    "B061" people::b061_threads_beyond_a_page;
    "B063" people::b063_a_reviewer_of_any_kind_or_none;
    "B065" shapes::b065_a_deleted_fork;
    "B067" shapes::b067_a_mention_supersedes_nothing;
    "B074" shapes::b074_when_the_head_came;
    "B075" shapes::b075_more_commits_than_a_list_holds;
    "B080" shapes::b080_an_archived_repository;
    "B082" shapes::b082_names_with_odd_characters;
    "B096" wire::b096_a_batch_that_is_too_much;
    "B098" wire::b098_single_sign_on;
    "B099" wire::b099_data_beside_errors;
    "B100" wire::b100_an_error_without_a_type;
    "B103" wire::b103_403_and_429_alike;
    "B104" wire::b104_a_batch_and_its_budget;
    "B106" shapes::b106_the_search_lags;
    "B108" shapes::b108_names_fold_and_follow;
}

#[test]
fn every_case_of_this_half_has_its_test() {
    let Some(list) = shared_text("spec/field-cases.md") else {
        return;
    };
    let rows = list.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        Some((cells.next()?, cells.next()?)).filter(|(id, _)| id.starts_with('B'))
    });
    let ours: BTreeSet<&str> = rows
        .filter(|(_, half)| matches!(*half, "author" | "both"))
        .map(|(id, _)| id)
        .collect();
    let tested: BTreeSet<&str> = TABLE.iter().map(|(id, _)| *id).collect();
    assert_eq!(tested, ours);
}

#[test]
fn every_test_begins_with_its_case() {
    for (id, name) in TABLE {
        assert!(
            name.starts_with(&format!("{}_", id.to_ascii_lowercase())),
            "{id}: {name}"
        );
    }
}
