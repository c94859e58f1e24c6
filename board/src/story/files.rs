//! What other files of the home say of a pull request.

use chrono::{DateTime, Utc};
use pulls::{PrRef, RepoName};
use serde_json::Value;

use super::{DECISIONS_FILE, Telling, What, some};

/// A gate attestation, which is of a repository until its head is known to be the pull request's.
#[derive(Debug)]
pub(super) struct Gate {
    pub at: Option<DateTime<Utc>>,
    pub source: String,
    pub what: What,
    head: String,
}

impl Gate {
    /// Whether it is of this head. Either may be short.
    pub(super) fn is_of(&self, head: &str) -> bool {
        head.starts_with(&self.head) || self.head.starts_with(head)
    }
}

/// The shortest beginning of a commit id that says which commit it is.
const SHORT_HEAD: usize = 7;

impl Telling {
    /// A line of `DECISIONS.md`. One that no actor wrote, being without a key, is nobody's.
    pub fn decision(&mut self, line: &str) {
        let Some(decision) = Decision::parse(line) else {
            return;
        };
        if decision.about == self.at {
            let what = What::Decision {
                asked: decision.asked,
                done: decision.done,
                text: decision.text,
            };
            self.push(decision.at, DECISIONS_FILE, what);
        }
    }

    /// A line of a file of the drip queue, by the file's path within the home and the line's number, from 1.
    pub fn queued(&mut self, source: &str, number: u64, line: &str) {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let repo = value.get("repo").and_then(Value::as_str);
        let is_its = repo.and_then(|repo| repo.parse::<RepoName>().ok()).as_ref() == Some(&self.at.repo)
            && value.get("pr_number").and_then(Value::as_u64) == Some(self.at.number.into());
        if !is_its {
            return;
        }
        let text = |field: &str| value.get(field).and_then(Value::as_str).and_then(some);
        let what = What::Queued {
            line: number,
            status: text("status"),
            branch: text("branch"),
        };
        let at = ["ts", "at", "updated_at"]
            .iter()
            .find_map(|field| value.get(field)?.as_str()?.parse().ok());
        self.push(at, source, what);
    }

    /// A gate attestation, by its path within the home, and when it was last written.
    ///
    /// It is of a repository. It belongs to the story where its head is one that the pull request had.
    pub fn gate(&mut self, source: &str, text: &str, written: DateTime<Utc>) {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return;
        };
        let field = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str());
        let repo = field(&["repo"]).and_then(|repo| repo.parse::<RepoName>().ok());
        let Some(head) = field(&["head", "head_sha"]).filter(|head| head.len() >= SHORT_HEAD) else {
            return;
        };
        if repo.is_some_and(|repo| repo != self.at.repo) {
            return;
        }
        let commands = value.get("commands").and_then(Value::as_array);
        let commands = commands.into_iter().flatten().map(|command| {
            let part = |name: &str| command.get(name).and_then(Value::as_str);
            match (command.as_str().or(part("command")), part("result")) {
                (Some(command), Some(result)) => format!("{command}: {result}"),
                (Some(command), None) => command.to_owned(),
                (None, _) => command.to_string(),
            }
        });
        let finished = field(&["finished", "finished_at", "ts"]).and_then(|at| at.parse().ok());
        self.gates.push(Gate {
            at: Some(finished.unwrap_or(written)),
            source: source.to_owned(),
            what: What::Gate {
                head: head.to_owned(),
                commands: commands.collect(),
            },
            head: head.to_owned(),
        });
    }

    /// A brief for whoever answers a reviewer, by its path within the home and how it begins, and when it was last
    /// written. Two repositories can share a file's name; the brief's first line says whose it is.
    pub fn investigation(&mut self, source: &str, text: &str, written: DateTime<Utc>) {
        let title = text.lines().next().unwrap_or_default();
        let about = title
            .strip_prefix("# ")
            .and_then(|title| title.split(": ").next());
        let about = about.map(|about| about.replace('\\', ""));
        if about
            .and_then(|about| about.trim().parse::<PrRef>().ok())
            .as_ref()
            != Some(&self.at)
        {
            return;
        }
        let why = text.lines().find_map(|line| line.strip_prefix("- why: "));
        let what = What::Investigation {
            why: why.map(unescaped),
        };
        self.push(Some(written), source, what);
    }
}

/// An entry of `DECISIONS.md`.
#[derive(Debug, PartialEq, Eq)]
struct Decision {
    at: Option<DateTime<Utc>>,
    about: PrRef,
    asked: String,
    done: bool,
    text: String,
}

impl Decision {
    /// `- [ ] o/r#7: **close** it — why (2026-05-14T17:45:00Z) <!-- close/o/r#7/abc1234 -->`
    fn parse(line: &str) -> Option<Self> {
        let (done, rest) = match line.trim_start() {
            line if line.starts_with("- [ ] ") => (false, &line[6..]),
            line if line.starts_with("- [x] ") || line.starts_with("- [X] ") => (true, &line[6..]),
            _ => return None,
        };
        let (entry, key) = rest.rsplit_once("<!--")?;
        // The key's own hyphens are parted by a space of no width where two would end the comment.
        let key = key.split("-->").next()?.trim().replace('\u{200B}', "");
        let (asked, rest) = key.split_once('/')?;
        let (about, _head) = rest.rsplit_once('/')?;
        let entry = entry.trim();
        let (text, at) = match entry.strip_suffix(')').and_then(|entry| entry.rsplit_once(" (")) {
            Some((text, at)) => match at.parse() {
                Ok(at) => (text, Some(at)),
                Err(_) => (entry, None),
            },
            None => (entry, None),
        };
        let text = text.split_once(": ").map_or(text, |(_, text)| text);
        Some(Self {
            at,
            about: about.parse().ok()?,
            asked: asked.to_owned(),
            done,
            text: unescaped(text),
        })
    }
}

/// Markdown of ours as the words that it shows.
fn unescaped(text: &str) -> String {
    let plain = text
        .replace("**", "")
        .replace("@\u{200B}", "@")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let mut out = String::with_capacity(plain.len());
    let mut escaped = false;
    for c in plain.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            // A backslash before anything but punctuation is itself.
            if escaped && !c.is_ascii_punctuation() {
                out.push('\\');
            }
            out.push(c);
            escaped = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_list_of_decisions_are_read() {
        let parsed = |line: &str| Decision::parse(line);
        let line = "- [x] o/r--s#7: **close** it, or say why it stays open — asked: &lt;b&gt;@\u{200B}you \\*now\\* \
                    (2026-05-14T17:45:00Z) <!-- close/o/r-\u{200B}-s#7/abc1234 -->";
        assert_eq!(
            parsed(line),
            Some(Decision {
                at: Some("2026-05-14T17:45:00Z".parse().unwrap()),
                about: "o/r--s#7".parse().unwrap(),
                asked: "close".to_owned(),
                done: true,
                text: "close it, or say why it stays open — asked: <b>@you *now*".to_owned(),
            })
        );
        let undated = parsed("- [ ] o/r#7: **rebase** it (soon) <!-- rebase/o/r#7/abc -->").unwrap();
        assert_eq!((undated.at, undated.text.as_str()), (None, "rebase it (soon)"));
        for no in [
            "",
            "# Decisions",
            "- [ ] buy milk",
            "- [ ] o/r#7: close <!-- note -->",
            "- [ ] o/r#7: close <!-- close/o/r/abc -->",
            "- [ ] o/r#7: close <!-- close/o/r#7/abc",
        ] {
            // What is cut off after the key is still the entry that it was.
            assert_eq!(
                parsed(no).is_some(),
                no.ends_with("abc") && no.contains("#7/"),
                "{no}"
            );
        }
    }
}
