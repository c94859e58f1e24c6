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
                list(turn, "close", "close it, or say why it stays open", &close).await?;
                Ok(Done::new("listed for a decision: close"))
            }
            DripMessage::Rebase(rebase) => {
                list(turn, "rebase", "rebase the branch and push it", &rebase).await?;
                Ok(Done::new("listed for a person: rebase"))
            }
            // Nobody is reminded before 48 hours of silence, and nothing else is due.
            DripMessage::Ship(_) => Ok(Done::new("ready: a maintainer can merge it")),
        }
    }
}

/// One entry, once for a head and what is to be decided: a person who deletes it sees it again only when the
/// dispatcher says so again after a day.
async fn list(turn: &mut Turn, verb: &str, todo: &str, about: &impl AboutPull) -> Result<bool, Fault> {
    let at = about.at();
    let head = about
        .head()
        .map_or_else(|| turn.key().to_owned(), |head| head.short().to_owned());
    // Two hyphens, which only a repository's name can bring, would end the comment that holds the key.
    let key = format!("{verb}/{at}/{head}").replace("--", "-\u{200B}-");
    let said = turn
        .envelope()
        .map_or_else(|| turn.now(), |envelope| envelope.message.ts());
    let entry = entry(
        &key,
        &said.to_rfc3339_opts(SecondsFormat::Secs, true),
        verb,
        todo,
        about,
    );
    Ok(turn
        .append_line(&HomePath::fixed("DECISIONS.md"), key, entry)
        .await?)
}

/// A task of a markdown list, with its key in a comment that a viewer does not show.
fn entry(key: &str, ts: &str, verb: &str, todo: &str, about: &impl AboutPull) -> String {
    let at = escape::markdown(&about.at().to_string());
    let why = match about.reason() {
        "" => String::new(),
        reason => format!(" — {}", escape::markdown(reason)),
    };
    format!("- [ ] **{verb}** {at}{why}: {todo} ({ts}) <!-- {key} -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_shows_the_words_of_others_and_does_nothing_with_them() {
        let mut close = Close::about("o/r#7".parse().unwrap());
        close.reason = "asked: <b>@you</b> *close*".to_owned();
        assert_eq!(
            entry(
                "close/o/r#7/abc",
                "2026-05-14T17:45:00Z",
                "close",
                "decide",
                &close
            ),
            "- [ ] **close** o/r#7 — asked: &lt;b&gt;@\u{200B}you&lt;/b&gt; \\*close\\*: decide \
             (2026-05-14T17:45:00Z) <!-- close/o/r#7/abc -->"
        );
    }
}
