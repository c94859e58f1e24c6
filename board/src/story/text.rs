//! A story for a terminal.

use std::collections::{BTreeSet, HashSet};

use lifecycle::maintain::{State, SubStatus};
use pulls::escape;

use super::{Changed, Delivery, Entry, Saw, Story, What};
use crate::words::{count, minute, moment};

impl Story {
    /// The story as text, a line an entry. Messages with which nothing was done are told together. What others wrote
    /// cannot steer a terminal.
    pub fn text(&self) -> String {
        let mut out = format!("{}#{}", self.repo, self.pr);
        if let Some(title) = &self.title {
            out.push_str(&format!("  {}", escape::line(title)));
        }
        out.push('\n');
        if let Some(url) = &self.url {
            out.push_str(&format!("{}\n", escape::line(url)));
        }
        if let Some(now) = &self.now {
            let (since, seen) = (moment(now.since), moment(now.seen));
            let why = escape::line(&format!("{} ({}): {}", now.bucket, now.rule, now.reason));
            out.push_str(&format!("{why}\n  so since {since}, last seen {seen}\n"));
        }
        if let Some(held) = &self.state {
            let why = escape::line(&format!(
                "{}: {}",
                state(held.state, held.sub_status),
                held.reason
            ));
            let next = held
                .next
                .map(|next| format!(", looked at again at {}", moment(next)));
            let since = moment(held.since);
            out.push_str(&format!(
                "{why}\n  so since {since}{}\n",
                next.unwrap_or_default()
            ));
        }
        out.push('\n');
        if self.left_out > 0 {
            out.push_str(&format!("({} left out)\n", count(self.left_out, "earlier part")));
        }
        let lines = self.lines();
        let width = lines.iter().map(|line| line.source.chars().count()).max();
        let width = width.unwrap_or(0);
        for line in lines {
            let text = format!("{:<23}  {:<width$}  {}", line.at, line.source, line.text);
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }

    fn lines(&self) -> Vec<Line> {
        let idle = self.idle();
        let mut lines: Vec<Line> = Vec::new();
        let mut together: Option<Idle<'_>> = None;
        for entry in &self.entries {
            let seq = match &entry.what {
                What::Appended { seq, .. } => Some(*seq),
                What::Delivery(delivery) => Some(delivery.seq),
                _ => None,
            };
            if seq.is_some_and(|seq| idle.contains(&(entry.source.as_str(), seq))) {
                let mut idle = match together.take() {
                    Some(idle) if idle.first.source == entry.source => idle,
                    _ => {
                        lines.push(Line::default());
                        Idle::begin(entry, lines.len() - 1)
                    }
                };
                idle.add(entry);
                lines[idle.place] = idle.line();
                together = Some(idle);
                continue;
            }
            together = None;
            lines.push(Line::of(entry, words(entry)));
        }
        lines
    }

    /// The messages with which nothing was done, by mailbox and number.
    fn idle(&self) -> HashSet<(&str, u64)> {
        let deliveries = || {
            self.entries.iter().filter_map(|entry| match &entry.what {
                What::Delivery(delivery) => Some(((entry.source.as_str(), delivery.seq), delivery.idle)),
                _ => None,
            })
        };
        let mut idle: HashSet<_> = deliveries()
            .filter(|(_, idle)| *idle)
            .map(|(message, _)| message)
            .collect();
        // One that was tried before it gave way has more to tell.
        for (message, _) in deliveries().filter(|(_, idle)| !idle) {
            idle.remove(&message);
        }
        idle
    }
}

/// A line of the text.
#[derive(Debug, Default)]
struct Line {
    at: String,
    source: String,
    text: String,
}

impl Line {
    fn of(entry: &Entry, text: String) -> Self {
        Self {
            at: entry.at.map_or_else(|| "-".to_owned(), moment),
            source: escape::line(match entry.source.split_once('/') {
                // Which file of a folder is said in words.
                Some((folder, _)) if folder != "mailbox" => folder,
                _ => &entry.source,
            }),
            text: escape::line(&text),
        }
    }
}

/// Messages of one mailbox, one after the other, with which nothing was done.
#[derive(Debug)]
struct Idle<'a> {
    first: &'a Entry,
    last: &'a Entry,
    messages: BTreeSet<u64>,
    outcomes: Vec<(&'a str, u64)>,
    /// Its place among the lines.
    place: usize,
}

impl<'a> Idle<'a> {
    fn begin(first: &'a Entry, place: usize) -> Self {
        Self {
            first,
            last: first,
            messages: BTreeSet::new(),
            outcomes: Vec::new(),
            place,
        }
    }

    fn add(&mut self, entry: &'a Entry) {
        self.last = entry;
        match &entry.what {
            What::Appended { seq, .. } => {
                self.messages.insert(*seq);
            }
            What::Delivery(delivery) => {
                self.messages.insert(delivery.seq);
                let outcome = delivery.outcome.as_deref().unwrap_or_default();
                match self.outcomes.iter_mut().find(|(known, _)| *known == outcome) {
                    Some((_, number)) => *number += 1,
                    None if outcome.is_empty() => {}
                    None => self.outcomes.push((outcome, 1)),
                }
            }
            _ => {}
        }
    }

    fn line(&self) -> Line {
        let outcomes: Vec<String> = self
            .outcomes
            .iter()
            .map(|(outcome, number)| format!("{number} {outcome}"))
            .collect();
        let until = match (self.first.at, self.last.at) {
            (Some(first), Some(last)) if (last - first).num_seconds() > 0 => {
                format!(", until {}", moment(last))
            }
            _ => String::new(),
        };
        let messages = count(self.messages.len() as u64, "message");
        let ended = if outcomes.is_empty() {
            String::new()
        } else {
            format!(": {}", outcomes.join(", "))
        };
        Line::of(self.first, format!("{messages}{ended}{until}"))
    }
}

fn words(entry: &Entry) -> String {
    let file = entry.source.split_once('/').map_or("", |(_, file)| file);
    match &entry.what {
        What::Classified {
            bucket,
            rule,
            reason,
            head,
            ci,
            review,
            mergeable,
            changed,
        } => {
            let new = |signal: &Option<String>| signal.clone().unwrap_or_else(|| "none".to_owned());
            let short = head.as_deref().map(|head| head.get(..7).unwrap_or(head));
            let news: Vec<String> = changed
                .iter()
                .filter_map(|changed| match changed {
                    Changed::Bucket | Changed::Rule => None,
                    Changed::Head => Some(format!("head {}", short.unwrap_or("unknown"))),
                    Changed::Ci => Some(format!("checks {}", new(ci))),
                    Changed::Review => Some(format!("review {}", new(review))),
                    Changed::Mergeable => Some(format!("mergeable {}", new(mergeable))),
                })
                .collect();
            let news = match (changed.is_empty(), news.is_empty()) {
                (true, _) => format!("first seen, head {}; ", short.unwrap_or("unknown")),
                (false, true) => String::new(),
                (false, false) => format!("{}; ", news.join(", ")),
            };
            format!("{news}{bucket} ({rule}): {reason}")
        }
        What::Moved {
            from,
            to,
            reason,
            head,
            saw,
            said,
        } => {
            let moved = match from {
                Some(from) if from == to => to.to_string(),
                Some(from) => format!("{from} → {to}"),
                None => format!("first seen, {to}"),
            };
            let short = head.get(..7).unwrap_or(head);
            let saw = saw.as_ref().map(|saw| format!("; saw {}", seen(saw)));
            let said = match said.is_empty() {
                true => String::new(),
                false => format!("; said {}", said.join(", ")),
            };
            format!("{moved}, head {short}: {reason}{}{said}", saw.unwrap_or_default())
        }
        What::Appended {
            seq,
            intent,
            msg_id,
            from,
            ..
        } => format!("seq {seq}: {intent} from {from}, {msg_id}"),
        What::Delivery(delivery) => happened(delivery),
        What::Decision { asked, done, text } => {
            let done = if *done { ", done" } else { "" };
            format!("for a person ({asked}{done}): {text}")
        }
        What::Gate { head, commands } => {
            let short = head.get(..7).unwrap_or(head);
            format!("{file}: passed on {short}: {}", commands.join(", "))
        }
        What::Investigation { why } => match why {
            Some(why) => format!("{file}: {why}"),
            None => file.to_owned(),
        },
        What::Audited { rule, reason, .. } => format!("for the record ({rule}): {reason}"),
        What::Queued { line, status, branch } => {
            let branch = branch.as_ref().map(|branch| format!(", branch {branch}"));
            let status = status.as_deref().unwrap_or("no status");
            format!("{file}:{line}: {status}{}", branch.unwrap_or_default())
        }
    }
}

fn state(state: State, sub: Option<SubStatus>) -> String {
    match sub {
        Some(sub) => format!("{state} ({sub})"),
        None => state.to_string(),
    }
}

/// What a decision saw: `checks green, MERGEABLE, a person at …, owner @olive`.
fn seen(saw: &Saw) -> String {
    let mut seen = vec![
        format!("checks {}", saw.ci.as_str()),
        saw.mergeable.as_str().to_owned(),
        format!("a person at {}", minute(saw.active)),
    ];
    seen.extend(saw.owner.as_ref().map(|owner| format!("owner {owner}")));
    if saw.open_findings + saw.disputed_findings > 0 {
        seen.push(format!(
            "{} open findings, {} disputed",
            saw.open_findings, saw.disputed_findings
        ));
    }
    seen.join(", ")
}

fn happened(delivery: &Delivery) -> String {
    let seq = delivery.seq;
    let reason = delivery.reason.as_deref().unwrap_or_default();
    let until = delivery.until.map(moment).unwrap_or_default();
    let how = delivery.how.as_deref().unwrap_or_default();
    let by = delivery.by.as_deref().unwrap_or_default();
    match delivery.event.as_str() {
        "taken" => {
            let attempt = delivery.attempt.unwrap_or(0);
            format!("seq {seq}: taken by the {by} side, attempt {attempt}")
        }
        "extended" => format!("seq {seq}: held until {until}"),
        "acked" => format!(
            "seq {seq}: acked by {by}: {}",
            delivery.outcome.as_deref().unwrap_or_default()
        ),
        "failed" => format!("seq {seq}: failed ({how}), rests until {until}: {reason}"),
        "handed_back" => format!("seq {seq}: handed back, the attempt does not count: {reason}"),
        "expired" => format!("seq {seq}: the lease expired"),
        "voided" => format!("seq {seq}: the process that had it ended"),
        "quarantined" => format!("seq {seq}: to quarantine ({how}): {reason}"),
        "retried" => format!("seq {seq}: out of quarantine, to be tried again"),
        "dropped" => format!("seq {seq}: out of quarantine, dropped: {reason}"),
        other => format!("seq {seq}: {other}"),
    }
}
