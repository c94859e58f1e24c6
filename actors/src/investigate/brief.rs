//! What somebody who answers a reviewer needs to see, in one page (contract, section 5, `investigate`).
//!
//! The page is made of other people's words. All of them are escaped or fenced, so that it is safe to
//! open in a viewer and a mention in it notifies nobody when a part of it is pasted into an answer.

use std::fmt::Write as _;

use pulls::checks::{self, Standing};
use pulls::escape;
use pulls::facts::{Account, Association, Comment, ReviewState, Thread, ThreadComment, Time};
use pulls::{Login, PrRef, PullFacts, Sha};

use super::changes::{self, Changes};
use crate::intents::Respond;

/// How many comments of a thread, and remarks since, are shown; the newest ones.
const SHOWN: usize = 30;
/// How much of one remark is shown, in characters.
const REMARK: usize = 4_000;
/// The kind of a remark in a review thread.
const ON_CODE: &str = "comment on the code";

/// One thing that somebody said, wherever it was said.
struct Remark<'a> {
    at: Time,
    by: Option<&'a Login>,
    association: &'a Association,
    kind: &'static str,
    url: &'a str,
    body: &'a str,
    thread: Option<&'a Thread>,
}

/// Renders the brief of one pull request as of `now`.
///
/// What the message asks about is found by its URL, or it is the reviewer's newest remark, or the newest
/// remark that requests changes; where nothing of that is there (any more), the brief says so. `changes` are those
/// of the file that [`commented`] names.
pub(super) fn render(pull: &PullFacts, asked: &Respond, changes: Option<&Changes>, now: Time) -> String {
    let remarks = remarks(pull);
    let question = find(&remarks, asked);
    let mut page = String::new();
    heading(&mut page, pull, asked, now);
    match question {
        Some(question) => {
            question_section(&mut page, question);
            if let Some(thread) = question.thread {
                thread_section(&mut page, thread);
                if let Some(changes) = changes {
                    changes::section(&mut page, &thread.path, changes);
                }
            }
        }
        None => page.push_str(
            "## The question\n\nThe remark that was asked about is not on the pull request any more.\n\n",
        ),
    }
    checks_section(&mut page, pull, now);
    since_section(&mut page, pull, question, &remarks);
    page
}

/// The file that the question is about and the commit that it was asked on, where it is about code.
pub(super) fn commented<'a>(pull: &'a PullFacts, asked: &Respond) -> Option<(&'a str, &'a Sha)> {
    let remarks = remarks(pull);
    let question = find(&remarks, asked)?;
    let thread = question.thread?;
    let made_on = |reply: &'a ThreadComment| reply.made_on.as_ref();
    let own = thread
        .comments
        .iter()
        .find(|reply| reply.comment.url == question.url)
        .and_then(made_on);
    let commit = own.or_else(|| thread.comments.iter().find_map(made_on))?;
    Some((&thread.path, commit))
}

impl<'a> Remark<'a> {
    fn of(comment: &'a Comment, kind: &'static str, thread: Option<&'a Thread>) -> Self {
        Self {
            at: comment.created_at,
            by: comment.author.as_ref().map(|by| &by.login),
            association: &comment.association,
            kind,
            url: &comment.url,
            body: &comment.body,
            thread,
        }
    }
}

fn remarks(pull: &PullFacts) -> Vec<Remark<'_>> {
    let mut all: Vec<Remark<'_>> = pull
        .comments
        .iter()
        .map(|comment| Remark::of(comment, "comment", None))
        .collect();
    for thread in &pull.threads {
        all.extend(
            thread
                .comments
                .iter()
                .map(|reply| Remark::of(&reply.comment, ON_CODE, Some(thread))),
        );
    }
    for review in &pull.reviews {
        let Some(at) = review.submitted_at else { continue };
        let kind = match review.state {
            ReviewState::ChangesRequested => "review that requests changes",
            ReviewState::Approved => "approval",
            ReviewState::Dismissed => "dismissed review",
            _ => "review",
        };
        all.push(Remark {
            at,
            by: review.author.as_ref().map(|Account { login, .. }| login),
            association: &review.association,
            kind,
            url: &review.url,
            body: &review.body,
            thread: None,
        });
    }
    all.sort_by(|a, b| (a.at, a.url).cmp(&(b.at, b.url)));
    all
}

fn find<'a, 'b>(remarks: &'b [Remark<'a>], asked: &Respond) -> Option<&'b Remark<'a>> {
    let by_url = asked
        .comment_url
        .as_deref()
        .and_then(|url| remarks.iter().find(|remark| remark.url == url));
    let by_reviewer = || {
        let reviewer = asked.reviewer.as_ref()?;
        remarks.iter().rev().find(|remark| remark.by == Some(reviewer))
    };
    let by_verdict = || {
        remarks
            .iter()
            .rev()
            .find(|remark| remark.kind == "review that requests changes")
    };
    by_url.or_else(by_reviewer).or_else(by_verdict)
}

/// How the brief of a pull request begins, by which its file is known again.
pub(super) fn first_words(at: &PrRef) -> String {
    format!("# {}:", escape::markdown(&at.to_string()))
}

fn heading(page: &mut String, pull: &PullFacts, asked: &Respond, now: Time) {
    let title = escape::markdown(&escape::clamp(&pull.title, 200));
    let branch = escape::markdown(&pull.head.branch);
    writeln!(page, "{} {title}\n", first_words(&pull.at)).expect("a string takes every write");
    if !asked.reason.is_empty() {
        writeln!(page, "- why: {}", escape::markdown(&asked.reason)).expect("a string takes every write");
    }
    if let Some(rule) = &asked.rule {
        writeln!(page, "- rule: {}", escape::markdown(rule)).expect("a string takes every write");
    }
    writeln!(
        page,
        "- head: {} on {branch}\n- page: {}\n- written: {}\n",
        pull.head.sha.short(),
        escape::address(&pull.url),
        minute(now),
    )
    .expect("a string takes every write");
}

fn question_section(page: &mut String, question: &Remark<'_>) {
    page.push_str("## The question\n\n");
    said(page, question);
}

/// One remark: who, what kind, when and where, then the words in a block that only shows them.
fn said(page: &mut String, remark: &Remark<'_>) {
    let by = remark.by.map_or_else(
        || "a deleted account".to_owned(),
        |by| escape::markdown(by.as_str()),
    );
    writeln!(
        page,
        "{by} ({}), {} of {}, {}\n",
        escape::markdown(&remark.association.as_str().to_ascii_lowercase()),
        remark.kind,
        minute(remark.at),
        escape::address(remark.url),
    )
    .expect("a string takes every write");
    if remark.body.trim().is_empty() {
        page.push_str("(without words)\n\n");
    } else {
        page.push_str(&escape::fenced(&escape::clamp(remark.body, REMARK)));
        page.push('\n');
    }
}

fn thread_section(page: &mut String, thread: &Thread) {
    let place = match thread.line {
        Some(line) => format!("{}, line {line}", escape::markdown(&thread.path)),
        None => format!(
            "{}, on code that has changed since",
            escape::markdown(&thread.path)
        ),
    };
    writeln!(page, "## The code\n\n{place}\n").expect("a string takes every write");
    if let Some(first) = thread
        .comments
        .first()
        .filter(|first| !first.diff_hunk.is_empty())
    {
        page.push_str(&escape::fenced(&first.diff_hunk));
        page.push('\n');
    }
    if thread.comments.len() > 1 {
        page.push_str("## The thread\n\n");
        let hidden = thread.comments.len().saturating_sub(SHOWN);
        if hidden > 0 {
            writeln!(page, "({hidden} earlier ones are left out)\n").expect("a string takes every write");
        }
        for reply in &thread.comments[hidden..] {
            said(page, &Remark::of(&reply.comment, ON_CODE, None));
        }
    }
}

fn checks_section(page: &mut String, pull: &PullFacts, now: Time) {
    let verdict = checks::verdict(&pull.checks, pull.created_at, now);
    writeln!(
        page,
        "## Checks\n\n{}: {}\n",
        verdict.ci.as_str(),
        escape::markdown(&verdict.why)
    )
    .expect("a string takes every write");
    let mut listed = false;
    for check in verdict
        .checks
        .iter()
        .filter(|check| !matches!(check.standing, Standing::Passed | Standing::Skipped))
    {
        let link = check
            .url
            .as_deref()
            .map(|url| format!(", {}", escape::address(url)))
            .unwrap_or_default();
        writeln!(
            page,
            "- {}: {}{link}",
            escape::markdown(&check.name),
            escape::markdown(&check.word)
        )
        .expect("a string takes every write");
        listed = true;
    }
    if listed {
        page.push('\n');
    }
}

fn since_section(page: &mut String, pull: &PullFacts, question: Option<&Remark<'_>>, remarks: &[Remark<'_>]) {
    page.push_str("## Since then\n\n");
    let since = question.map(|question| question.at);
    let mut anything = false;
    if since.is_some_and(|since| pull.head.committed_at > since) {
        writeln!(
            page,
            "- the head commit {} is newer: {}",
            pull.head.sha.short(),
            minute(pull.head.committed_at)
        )
        .expect("a string takes every write");
        anything = true;
    }
    if let Some(pushed) = pull
        .head
        .last_force_push_at
        .filter(|pushed| since.is_some_and(|since| *pushed > since))
    {
        writeln!(page, "- the branch was force-pushed: {}", minute(pushed))
            .expect("a string takes every write");
        anything = true;
    }
    let later: Vec<_> = remarks
        .iter()
        .filter(|remark| since.is_some_and(|since| remark.at > since))
        .collect();
    let hidden = later.len().saturating_sub(SHOWN);
    if hidden > 0 {
        writeln!(page, "- {hidden} earlier remarks are left out").expect("a string takes every write");
    }
    for remark in &later[hidden..] {
        let by = remark.by.map_or_else(
            || "a deleted account".to_owned(),
            |by| escape::markdown(by.as_str()),
        );
        let words = escape::markdown(&escape::clamp(&escape::line(remark.body), 120));
        writeln!(page, "- {}: {by}, {}: {words}", minute(remark.at), remark.kind)
            .expect("a string takes every write");
        anything = true;
    }
    if !anything {
        page.push_str("Nothing was pushed and nothing was said.\n");
    }
}

fn minute(at: Time) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}
