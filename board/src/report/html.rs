//! A report as one page with plots.

use std::fmt::Write as _;

use super::Report;
use super::plots;
use crate::html::{Table, escaped, page};
use crate::spread::Spread;
use crate::words::{count, minute, span};

impl Report {
    /// The report as one HTML page that needs no network and no script, in light and in dark.
    pub fn html(&self) -> String {
        let title = format!("sweep report, {} to {}", minute(self.since), minute(self.until));
        let mut body = String::from("<header>\n<h1>sweep report</h1>\n");
        let seen = match self.last_dispatch {
            Some(at) => format!("Pull requests as last seen {}.", minute(at)),
            None => "No pull request was seen before the end of the range.".to_owned(),
        };
        put(
            &mut body,
            &format!(
                "<p class=\"soft\">{} to {}. {seen}</p>\n",
                minute(self.since),
                minute(self.until)
            ),
        );
        self.attention_html(&mut body);
        self.tiles_html(&mut body);
        body.push_str("</header>\n<main>\n<section>\n<h2>Mailboxes</h2>\n");
        body.push_str(&plots::messages(self));
        body.push_str(&plots::latency(self));
        body.push_str(&self.days_table());
        body.push_str(&plots::unread(self));
        body.push_str(&self.actors_table());
        body.push_str(&self.latency_table());
        body.push_str(&self.failures_table());
        body.push_str("</section>\n<section>\n<h2>Pull requests</h2>\n");
        body.push_str(&plots::buckets(self));
        body.push_str(&plots::time_in_bucket(self));
        body.push_str(&self.buckets_table());
        body.push_str(&self.moves_table());
        body.push_str(&self.flapping_table());
        body.push_str("</section>\n<section>\n<h2>Audit trail</h2>\n");
        body.push_str(&self.audit_table());
        for (file, lines) in &self.unreadable {
            let left_out = count(*lines, "unreadable line");
            put(
                &mut body,
                &format!("<p class=\"soft\">{}: {left_out} left out.</p>\n", escaped(file)),
            );
        }
        body.push_str("</section>\n</main>\n");
        page(&title, &body)
    }

    fn attention_html(&self, body: &mut String) {
        if self.attention.is_empty() {
            return;
        }
        body.push_str("<section class=\"attention\" aria-label=\"attention\">\n<h3>Attention</h3>\n<ul>\n");
        for one in &self.attention {
            put(
                body,
                &format!("<li>{}; {}</li>\n", escaped(&one.text), escaped(&one.mend)),
            );
        }
        body.push_str("</ul>\n</section>\n");
    }

    fn tiles_html(&self, body: &mut String) {
        let sum = |of: fn(&super::ActorNumbers) -> u64| self.actors.iter().map(of).sum::<u64>();
        let oldest = self
            .actors
            .iter()
            .filter_map(|actor| actor.oldest_unread_ms)
            .max();
        let open: u64 = self.buckets.iter().map(|bucket| bucket.now).sum();
        body.push_str("<dl class=\"tiles\">\n");
        for (what, number) in [
            ("messages appended", sum(|actor| actor.appended).to_string()),
            ("acked", sum(|actor| actor.acked).to_string()),
            ("failed attempts", sum(|actor| actor.failures.total()).to_string()),
            ("restarts", sum(|actor| actor.restarts).to_string()),
            ("unread now", sum(|actor| actor.unread).to_string()),
            ("oldest unread", oldest.map_or_else(dash, span)),
            ("open pull requests", open.to_string()),
            ("back and forth", self.flapping_total.to_string()),
        ] {
            put(body, &format!("<div><dt>{what}</dt><dd>{number}</dd></div>\n"));
        }
        body.push_str("</dl>\n");
    }

    fn days_table(&self) -> String {
        let headings = [
            "day",
            "appended",
            "acked",
            "failed",
            "median latency",
            "9 of 10 within",
            "longest",
            "audit records",
        ];
        let mut table = Table::new("Day by day", &headings);
        for day in self.days.iter().rev() {
            let latency = |of: fn(&Spread) -> u64| time(day.ack_latency_ms.as_ref(), of);
            table.row(&[
                day.day.to_string(),
                day.appended.to_string(),
                day.acked.to_string(),
                day.failed.to_string(),
                latency(|spread| spread.median),
                latency(|spread| spread.p90),
                latency(|spread| spread.max),
                day.audited.to_string(),
            ]);
        }
        folded("The days as a table", &table.end())
    }

    fn actors_table(&self) -> String {
        let headings = [
            "actor",
            "<state",
            "appended",
            "acked",
            "superseded",
            "unchanged",
            "quarantined",
            "failed",
            "restarts",
            "unread",
            "oldest unread",
        ];
        let mut table = Table::new("Actors", &headings);
        for actor in &self.actors {
            table.row(&[
                actor.name.clone(),
                actor.state.clone().unwrap_or_else(dash),
                actor.appended.to_string(),
                actor.acked.to_string(),
                actor.superseded.to_string(),
                actor.unchanged.to_string(),
                actor.quarantined.to_string(),
                actor.failures.total().to_string(),
                actor.restarts.to_string(),
                actor.unread.to_string(),
                actor.oldest_unread_ms.map_or_else(dash, span),
            ]);
        }
        table.end()
    }

    fn latency_table(&self) -> String {
        let headings = [
            "actor",
            "acked",
            "median",
            "9 of 10 within",
            "longest",
            "median attempts",
            "9 of 10 within",
            "most",
        ];
        let mut table = Table::new("From append to ack, and attempts a message", &headings);
        for actor in self
            .actors
            .iter()
            .filter(|actor| actor.attempts.is_some() || actor.acked > 0)
        {
            let latency = |of: fn(&Spread) -> u64| time(actor.ack_latency_ms.as_ref(), of);
            let tries = |of: fn(&Spread) -> u64| {
                let spread = actor.attempts.as_ref();
                spread.map_or_else(dash, |spread| of(spread).to_string())
            };
            table.row(&[
                actor.name.clone(),
                actor.acked.to_string(),
                latency(|spread| spread.median),
                latency(|spread| spread.p90),
                latency(|spread| spread.max),
                tries(|spread| spread.median),
                tries(|spread| spread.p90),
                tries(|spread| spread.max),
            ]);
        }
        table.end()
    }

    fn failures_table(&self) -> String {
        let failing: Vec<_> = self
            .actors
            .iter()
            .filter(|actor| actor.failures.total() > 0)
            .collect();
        if failing.is_empty() {
            return String::new();
        }
        let mut headings = vec!["actor"];
        headings.extend(failing[0].failures.kinds().map(|(kind, _)| kind));
        let mut table = Table::new("Failures by kind", &headings);
        for actor in failing {
            let numbers = actor.failures.kinds().map(|(_, number)| number.to_string());
            let mut cells = vec![actor.name.clone()];
            cells.extend(numbers);
            table.row(&cells);
        }
        table.end()
    }

    fn buckets_table(&self) -> String {
        let headings = [
            "bucket",
            "now",
            "entered",
            "median time",
            "9 of 10 within",
            "longest",
            "<which",
        ];
        let mut table = Table::new("Buckets", &headings);
        for bucket in &self.buckets {
            let there = |of: fn(&Spread) -> u64| time(bucket.time_in_bucket_ms.as_ref(), of);
            let longest = bucket.longest.as_ref();
            table.row(&[
                bucket.bucket.to_string(),
                bucket.now.to_string(),
                bucket.entered.to_string(),
                there(|spread| spread.median),
                there(|spread| spread.p90),
                longest.map_or_else(dash, |stay| span(stay.ms)),
                longest.map_or_else(dash, |stay| {
                    format!("{}, since {}", stay.at(), minute(stay.since))
                }),
            ]);
        }
        table.end()
    }

    fn moves_table(&self) -> String {
        if self.moves.is_empty() {
            return String::new();
        }
        let mut table = Table::new("Moves between buckets", &["from", "<to", "times"]);
        for one in &self.moves {
            table.row(&[one.from.to_string(), one.to.to_string(), one.count.to_string()]);
        }
        table.end()
    }

    fn flapping_table(&self) -> String {
        if self.flapping.is_empty() {
            return String::new();
        }
        let caption = format!("Back and forth: {}", count(self.flapping_total, "pull request"));
        let mut table = Table::new(&caption, &["pull request", "changes", "returns", "<buckets"]);
        for one in &self.flapping {
            table.row(&[
                one.at().to_string(),
                one.changes.to_string(),
                one.returns.to_string(),
                one.path_text(),
            ]);
        }
        table.end()
    }

    fn audit_table(&self) -> String {
        let total = count(self.audit.total, "record");
        let mut html = format!("<p>{total} in the range, of pull requests that needed nothing.</p>\n");
        if !self.audit.newest.is_empty() {
            let mut table = Table::new("The newest", &["pull request", "<seen", "<why"]);
            for entry in &self.audit.newest {
                table.row(&[
                    format!("{}#{}", entry.repo, entry.pr),
                    minute(entry.ts),
                    entry.reason.clone(),
                ]);
            }
            html.push_str(&table.end());
        }
        html
    }
}

/// Something that is there for whoever asks.
fn folded(summary: &str, html: &str) -> String {
    format!(
        "<details>\n<summary>{}</summary>\n{html}</details>\n",
        escaped(summary)
    )
}

fn time(spread: Option<&Spread>, of: fn(&Spread) -> u64) -> String {
    spread.map_or_else(dash, |spread| span(of(spread)))
}

fn dash() -> String {
    "–".to_owned()
}

fn put(body: &mut String, html: &str) {
    body.write_str(html).expect("writing to a string cannot fail");
}
