//! Advances an open pull request's status (contract, section 5, `drip`). What a person must decide or do is
//! listed in `<home>/DECISIONS.md`; this actor closes nothing, merges nothing and pushes nothing.

use chrono::SecondsFormat;
use pulls::escape;
use runtime::{Actor, Done, Fault, HomePath, Turn, message};

use crate::intents::{AboutPull, Close, Rebase, Ship};

message! {
    /// What the drip consumes.
    pub enum DripMessage {
        /// This pull request should be closed, and a person decides it.
        Close(Close),
        /// The branch must be rebased.
        Rebase(Rebase),
        /// A maintainer can merge.
        Ship(Ship),
    }
}

/// The drip.
#[derive(Debug, Default)]
pub struct Drip;

impl Actor for Drip {
    const NAME: &'static str = "drip";
    type Message = DripMessage;

    async fn handle(&mut self, message: DripMessage, turn: &mut Turn) -> Result<Done, Fault> {
        match message {
            DripMessage::Close(close) => {
                list(turn, Todo::Close, &close).await?;
                Ok(Done::new("listed for a decision: close"))
            }
            DripMessage::Rebase(rebase) => {
                list(turn, Todo::Rebase, &rebase).await?;
                Ok(Done::new("listed for a person: rebase"))
            }
            // Nobody is reminded before 48 hours of silence, and nothing else is due.
            DripMessage::Ship(_) => Ok(Done::new("ready: a maintainer can merge it")),
        }
    }
}

/// What a person has to do.
#[derive(Debug, Clone, Copy)]
enum Todo {
    Close,
    Rebase,
}

impl Todo {
    fn verb(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Rebase => "rebase",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Close => "**close** it, or say why it stays open",
            Self::Rebase => "**rebase** the branch and push it",
        }
    }
}

/// One entry, once for a head and what is to be done: a person who deletes it sees it again only when the
/// dispatcher says so again after a day.
async fn list(turn: &mut Turn, todo: Todo, about: &impl AboutPull) -> Result<bool, Fault> {
    let at = about.at();
    let head = about
        .head()
        .map_or_else(|| turn.key().to_owned(), |head| head.short().to_owned());
    // Two hyphens, which only a repository's name or an id can bring, would end the comment that holds the key.
    let key = format!("{}/{at}/{head}", todo.verb()).replace("--", "-\u{200B}-");
    let said = turn
        .envelope()
        .map_or_else(|| turn.now(), |envelope| envelope.message.ts());
    let ts = said.to_rfc3339_opts(SecondsFormat::Secs, true);
    let entry = entry(&key, &ts, todo, about);
    Ok(turn
        .append_line(&HomePath::fixed("DECISIONS.md"), key, entry)
        .await?)
}

/// A task of a markdown list, with its key in a comment that a viewer does not show.
fn entry(key: &str, ts: &str, todo: Todo, about: &impl AboutPull) -> String {
    let at = escape::markdown(&about.at().to_string());
    let why = match about.reason() {
        "" => String::new(),
        reason => format!(" — {}", escape::markdown(reason)),
    };
    format!("- [ ] {at}: {}{why} ({ts}) <!-- {key} -->", todo.what())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_shows_the_words_of_others_and_does_nothing_with_them() {
        let mut close = Close::about("o/r#7".parse().unwrap());
        close.reason = "asked: <b>@you</b> *close*".to_owned();
        assert_eq!(
            entry("close/o/r#7/abc", "2026-05-14T17:45:00Z", Todo::Close, &close),
            "- [ ] o/r#7: **close** it, or say why it stays open — asked: &lt;b&gt;@\u{200B}you&lt;/b&gt; \
             \\*close\\* (2026-05-14T17:45:00Z) <!-- close/o/r#7/abc -->"
        );
    }
}
