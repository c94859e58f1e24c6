//! A report for a terminal.

use pulls::PrRef;
use pulls::escape;

use super::{Report, Stay};
use crate::columns::{Columns, Side};
use crate::spread::Spread;
use crate::words::{count, minute, span};

/// How many moves and pull requests that flap are printed; `--json` has all that are named.
const PRINTED: usize = 20;

impl Report {
    /// The report as text. What others wrote cannot steer a terminal.
    pub fn text(&self) -> String {
        let range = u64::try_from((self.until - self.since).num_milliseconds()).unwrap_or(0);
        let mut out = format!(
            "{} to {} ({})\n",
            minute(self.since),
            minute(self.until),
            span(range)
        );
        if !self.attention.is_empty() {
            section(&mut out, "attention");
            for one in &self.attention {
                let line = format!("{}; {}", one.text, one.mend);
                out.push_str(&format!("  {}\n", escape::line(&line)));
            }
        }
        self.actors_text(&mut out);
        self.pulls_text(&mut out);
        section(
            &mut out,
            &format!("audit trail: {}", count(self.audit.total, "record")),
        );
        let mut newest = Columns::new([
            ("at", Side::Left),
            ("pull request", Side::Left),
            ("why", Side::Left),
        ]);
        for entry in &self.audit.newest {
            newest.row([
                minute(entry.ts),
                format!("{}#{}", entry.repo, entry.pr),
                entry.reason.clone(),
            ]);
        }
        if !self.audit.newest.is_empty() {
            out.push_str(&newest.render());
        }
        for (file, lines) in &self.unreadable {
            let file = escape::line(file);
            out.push_str(&format!(
                "\n{file}: {} left out\n",
                count(*lines, "unreadable line")
            ));
        }
        out
    }

    fn actors_text(&self, out: &mut String) {
        section(out, "actors");
        let left = |heading| (heading, Side::Left);
        let right = |heading| (heading, Side::Right);
        let mut table = Columns::new([
            left("actor"),
            left("state"),
            right("appended"),
            right("acked"),
            right("superseded"),
            right("unchanged"),
            right("quarantined"),
            right("failed"),
            right("restarts"),
            right("unread"),
            right("oldest unread"),
        ]);
        for actor in &self.actors {
            table.row([
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
        out.push_str(&table.render());

        section(out, "from append to ack");
        let mut table = Columns::new([
            left("actor"),
            right("acked"),
            right("median"),
            right("9 of 10 within"),
            right("longest"),
            right("attempts: median"),
            right("9 of 10 within"),
            right("most"),
        ]);
        for actor in &self.actors {
            let time = |of: fn(&Spread) -> u64| {
                let spread = actor.ack_latency_ms.as_ref();
                spread.map_or_else(dash, |spread| span(of(spread)))
            };
            let tries = |of: fn(&Spread) -> u64| {
                let spread = actor.attempts.as_ref();
                spread.map_or_else(dash, |spread| of(spread).to_string())
            };
            table.row([
                actor.name.clone(),
                actor.acked.to_string(),
                time(|spread| spread.median),
                time(|spread| spread.p90),
                time(|spread| spread.max),
                tries(|spread| spread.median),
                tries(|spread| spread.p90),
                tries(|spread| spread.max),
            ]);
        }
        out.push_str(&table.render());

        let failing = self.actors.iter().filter(|actor| actor.failures.total() > 0);
        let mut table = Columns::new([left("actor"), left("failures by kind")]);
        for actor in failing.clone() {
            let kinds = actor.failures.kinds();
            let kinds = kinds.iter().filter(|(_, number)| *number > 0);
            let kinds: Vec<String> = kinds.map(|(kind, number)| format!("{kind} {number}")).collect();
            table.row([actor.name.clone(), kinds.join(", ")]);
        }
        if failing.count() > 0 {
            section(out, "failures");
            out.push_str(&table.render());
        }
    }

    fn pulls_text(&self, out: &mut String) {
        let dispatched = match self.last_dispatch {
            Some(at) => format!("pull requests, as last seen {}", minute(at)),
            None => "pull requests: none were seen".to_owned(),
        };
        section(out, &dispatched);
        let left = |heading| (heading, Side::Left);
        let right = |heading| (heading, Side::Right);
        let mut table = Columns::new([
            left("bucket"),
            right("now"),
            right("entered"),
            right("time there: median"),
            right("9 of 10 within"),
            right("longest"),
            left("which"),
        ]);
        for bucket in &self.buckets {
            let time = |of: fn(&Spread) -> u64| {
                let spread = bucket.time_in_bucket_ms.as_ref();
                spread.map_or_else(dash, |spread| span(of(spread)))
            };
            table.row([
                bucket.bucket.to_string(),
                bucket.now.to_string(),
                bucket.entered.to_string(),
                time(|spread| spread.median),
                time(|spread| spread.p90),
                bucket.longest.as_ref().map_or_else(dash, |stay| span(stay.ms)),
                bucket
                    .longest
                    .as_ref()
                    .map_or_else(dash, |stay| stay.at().to_string()),
            ]);
        }
        out.push_str(&table.render());

        if !self.moves.is_empty() {
            section(out, "moves");
            let mut table = Columns::new([left("from"), left("to"), right("times")]);
            for one in self.moves.iter().take(PRINTED) {
                table.row([one.from.to_string(), one.to.to_string(), one.count.to_string()]);
            }
            out.push_str(&table.render());
        }
        if !self.flapping.is_empty() {
            section(
                out,
                &format!("back and forth: {}", count(self.flapping_total, "pull request")),
            );
            let mut table = Columns::new([
                left("pull request"),
                right("changes"),
                right("returns"),
                left("buckets"),
            ]);
            for one in self.flapping.iter().take(PRINTED) {
                table.row([
                    one.at().to_string(),
                    one.changes.to_string(),
                    one.returns.to_string(),
                    one.path_text(),
                ]);
            }
            out.push_str(&table.render());
        }
    }
}

impl super::Flapping {
    /// Its buckets in order: `wait → qa → wait`.
    pub(super) fn path_text(&self) -> String {
        let names: Vec<&str> = self.path.iter().map(|bucket| bucket.as_str()).collect();
        names.join(" → ")
    }
}

impl Stay {
    /// The pull request.
    pub fn at(&self) -> PrRef {
        PrRef {
            repo: self.repo.clone(),
            number: self.pr,
        }
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn section(out: &mut String, heading: &str) {
    out.push_str(&format!("\n{heading}\n"));
}
