//! What is told of the rounds.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::said::Tally;
use crate::cli::Full;
use crate::failure::{Exit, Failure};
use crate::print;

/// How it went.
#[derive(Debug)]
pub struct Report {
    /// What the random moments came from.
    pub seed: u64,
    /// Rounds of a kill that were asked for.
    pub kill: u32,
    /// Rounds of a full disk that were.
    pub full_disk: u32,
    /// How the disk was made full; `None` where it was not.
    pub full_by: Option<Full>,
    /// Rounds that were done.
    pub done: u32,
    /// How long they took.
    pub took: Duration,
    /// What was seen.
    pub tally: Tally,
}

/// How a disk is made full, in words.
fn words(by: Full) -> &'static str {
    match by {
        Full::Disk => "a small file system in memory",
        Full::Files => "a limit on the size of files",
    }
}

/// And for programs.
fn word(by: Full) -> &'static str {
    match by {
        Full::Disk => "tmpfs",
        Full::Files => "file_size_limit",
    }
}

impl Report {
    /// Prints it.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        let tally = &self.tally;
        if json {
            return print::json(&json!({
                "seed": self.seed,
                "rounds": { "kill": self.kill, "full_disk": self.full_disk, "done": self.done },
                "full_disk_by": self.full_by.map(word),
                "acknowledged": tally.acknowledged, "handled": tally.handled, "repeated": tally.repeated,
                "lost": tally.lost, "doubled": tally.doubled, "out_of_order": tally.out_of_order,
                "changed": tally.changed, "unread_again": tally.unread_again,
                "opened": tally.opened, "failed_opens": tally.failed_opens,
                "worst_open_s": tally.worst_open.as_secs_f64(),
                "failures": tally.failures, "words": tally.words, "took_s": self.took.as_secs_f64(),
            }));
        }
        let by = self
            .full_by
            .map(|by| format!(", by {}", words(by)))
            .unwrap_or_default();
        let mut table = print::Table::new(["what was seen", "times"]);
        for (what, times) in [
            ("appends acknowledged", tally.acknowledged),
            ("acks acknowledged", tally.handled),
            ("repeats recognised", tally.repeated),
            ("openings", tally.opened),
            ("lost", tally.lost),
            ("doubled", tally.doubled),
            ("out of order", tally.out_of_order),
            ("changed", tally.changed),
            ("handled and unread again", tally.unread_again),
            ("failed openings", tally.failed_opens),
            ("other failures", tally.failures),
        ] {
            table.row([what.to_owned(), times.to_string()]);
        }
        print::text(&format!(
            "{} kill rounds, {} full-disk rounds{by}, seed {}\n\n{}\nThe worst opening took {:.3} s, all of it {:.1} s. Power cuts \
             are not tried here: they need a disk of their own.",
            self.kill,
            self.full_disk,
            self.seed,
            table.render(),
            tally.worst_open.as_secs_f64(),
            self.took.as_secs_f64(),
        ))
    }

    /// Whether all is well; `kept` is where the mailboxes lie that are not.
    pub fn verdict(&self, kept: Option<&Path>) -> Result<(), Failure> {
        if let Some(first) = self.tally.words.first() {
            let kept = kept
                .map(|kept| format!(" What was left is in {}.", kept.display()))
                .unwrap_or_default();
            return Err(Failure::new(
                Exit::Other,
                format!("a promise was broken ({} in all): {first}", self.tally.broken()),
            )
            .mend(format!(
                "Again with `sweep torture --kill {} --full-disk {} --seed {}`; report it with the disk and its file system.{kept}",
                self.kill, self.full_disk, self.seed
            )));
        }
        let all = self.kill + self.full_disk;
        if self.done < all {
            return Err(Failure::new(
                Exit::Other,
                format!("interrupted after {} of {all} rounds", self.done),
            )
            .mend("What was seen until then is above; run it again for the rest."));
        }
        Ok(())
    }
}
