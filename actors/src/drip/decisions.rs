//! What a person must decide or do: a task each in `<home>/DECISIONS.md`.

use chrono::SecondsFormat;
use pulls::escape;
use runtime::{Fault, HomePath, Turn};

use crate::intents::AboutPull;

/// What a person has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Todo {
    /// Decide whether it is closed.
    Close,
    /// Rebase the branch themselves.
    Rebase,
    /// Resolve the conflicts of a rebase, which are described in this file of the home.
    Resolve(HomePath),
    /// Push a branch that rebases cleanly, for pushing is not allowed.
    Push,
}

impl Todo {
    fn verb(&self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Rebase | Self::Resolve(_) | Self::Push => "rebase",
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Close => "**close** it, or say why it stays open".to_owned(),
            Self::Rebase => "**rebase** the branch and push it".to_owned(),
            Self::Resolve(page) => format!(
                "**rebase** the branch and resolve its conflicts ({})",
                escape::markdown(page.as_str())
            ),
            Self::Push => {
                "**rebase** the branch and push it; it rebases cleanly, and `[drip] push = true` allows this program \
                 to push it"
                    .to_owned()
            }
        }
    }
}

/// One entry, once for a head and what is to be done: a person who deletes it sees it again only when the
/// dispatcher says so again after a day.
pub(super) async fn list(turn: &mut Turn, todo: &Todo, about: &impl AboutPull) -> Result<bool, Fault> {
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
fn entry(key: &str, ts: &str, todo: &Todo, about: &impl AboutPull) -> String {
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
    use crate::intents::{Close, Rebase};

    #[test]
    fn an_entry_shows_the_words_of_others_and_does_nothing_with_them() {
        let mut close = Close::about("o/r#7".parse().unwrap());
        close.reason = "asked: <b>@you</b> *close*".to_owned();
        assert_eq!(
            entry("close/o/r#7/abc", "2026-05-14T17:45:00Z", &Todo::Close, &close),
            "- [ ] o/r#7: **close** it, or say why it stays open — asked: &lt;b&gt;@\u{200B}you&lt;/b&gt; \
             \\*close\\* (2026-05-14T17:45:00Z) <!-- close/o/r#7/abc -->"
        );
    }

    #[test]
    fn an_entry_about_conflicts_names_where_they_are_described() {
        let rebase = Rebase::about("o/r#7".parse().unwrap());
        let todo = Todo::Resolve(HomePath::fixed("rebases/o-r-7.md"));
        assert_eq!(
            entry("k", "2026-05-14T17:45:00Z", &todo, &rebase),
            "- [ ] o/r#7: **rebase** the branch and resolve its conflicts (rebases/o-r-7.md) \
             (2026-05-14T17:45:00Z) <!-- k -->"
        );
    }
}
