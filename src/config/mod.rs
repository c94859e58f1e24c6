//! `<home>/config.toml`: every key optional, an unknown one an error, each value with its source
//! (contract, section 1). Variables of the environment go before `[lifecycle]`. `examples/config.toml` holds every key with its default.

mod actors;
mod environment;
mod error;
mod lifecycle;
mod reader;
mod size;
mod value;
mod work;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use mailbox::rotation::Rotation;
use pulls::Login;

pub use actors::{ActorFile, ActorFileError};
pub use environment::Environment;
pub use error::ConfigError;
pub use lifecycle::Lifecycle;
pub use reader::{Entry, Source};
pub use value::Backend;
pub use work::Work;

use crate::cli::MAX_LIMIT;
use crate::duration::Span;
use reader::{Reader, Section};
use size::Size;

/// The most bytes of a configuration that are read. The complete example has four thousand.
const MAX_BYTES: u64 = 1024 * 1024;

/// The configuration's file name within the home.
pub const FILE: &str = "config.toml";

/// The effective configuration.
#[derive(Debug)]
pub struct Config {
    /// The dispatcher.
    pub pr_state: PrState,
    /// What holds for every actor.
    pub actors: Actors,
    /// The mailboxes.
    pub mailbox: Mailbox,
    /// The files that only grow.
    pub files: Files,
    /// What the receiving actors may do.
    pub work: Work,
    /// The maintainer's half.
    pub lifecycle: Lifecycle,
    /// The actors that are no Rust types, each from a file of its own.
    pub declared: Vec<ActorFile>,
    /// Every value with its source, in the order of this structure.
    pub entries: Vec<Entry>,
}

/// `[pr_state]`.
#[derive(Debug)]
pub struct PrState {
    /// How often `sweep run` dispatches.
    pub every: Span,
    /// At most this many pull requests a run.
    pub limit: u16,
    /// Accounts of type User that are machines.
    pub machine_users: BTreeSet<Login>,
    /// Members who keep their membership private.
    pub private_members: BTreeSet<Login>,
}

/// `[actors]`.
#[derive(Debug)]
pub struct Actors {
    /// Built-in actors that are taken out.
    pub disable: BTreeSet<String>,
    /// Failures after which a message goes to quarantine.
    pub max_attempts: u32,
    /// The age of the oldest unread message beyond which a person should look.
    pub unread_limit: Span,
    /// How long running handlers get when the process is asked to stop.
    pub shutdown_grace: Span,
    /// Restarts within `restart_window` beyond which an actor is down.
    pub max_restarts: u32,
    /// See `max_restarts`.
    pub restart_window: Span,
    /// How long an actor that is down stays so before it is tried again.
    pub cool_off: Span,
}

/// `[mailbox]`.
#[derive(Debug)]
pub struct Mailbox {
    /// Where the mailboxes lie.
    pub backend: Backend,
    /// How long an acknowledged message is kept.
    pub keep: Span,
    /// How long a message's id is known at least.
    pub dedupe_horizon: Span,
    /// How long an unchanged message is not handled again.
    pub unchanged_for: Span,
    /// More unread messages in one mailbox than this are attention.
    pub soft_watermark: u32,
    /// At this many unread messages in one mailbox the dispatcher sends it nothing more.
    pub hard_watermark: u32,
}

/// `[files]`.
#[derive(Debug)]
pub struct Files {
    /// At this size a file makes room for a new one.
    pub rotate_at: Size,
}

/// What is said of a key that nothing goes by.
const NO_EFFECT: &str = "has no effect in this version";
/// What is said of a switch that is seen in what is wanted, and that opens nothing.
const OPENS_NOTHING: &str =
    "lets nothing out in this version, which says nothing on GitHub and reviews nothing";

/// Keys that are read and checked and do not do what they are for, each with what is said of it.
const WITHOUT_EFFECT: [(&str, &str); 17] = [
    ("drip.ping", NO_EFFECT),
    ("lifecycle.pr_state_write_budget", NO_EFFECT),
    ("lifecycle.owner_mention_enabled", OPENS_NOTHING),
    ("lifecycle.ci_note_enabled", OPENS_NOTHING),
    ("lifecycle.conflict_note_enabled", OPENS_NOTHING),
    ("lifecycle.ready_page_enabled", OPENS_NOTHING),
    ("lifecycle.stale_pr_enabled", OPENS_NOTHING),
    ("lifecycle.idle_ladder_enabled", OPENS_NOTHING),
    ("lifecycle.allow_post", NO_EFFECT),
    ("lifecycle.post_mode", NO_EFFECT),
    // Nothing is reviewed, so that there is nothing to dispute.
    ("lifecycle.dispute_scan_enabled", NO_EFFECT),
    ("lifecycle.dispute_scan_interval", NO_EFFECT),
    ("lifecycle.dispute_scan_request_budget", NO_EFFECT),
    ("lifecycle.auto_review_enabled", OPENS_NOTHING),
    ("lifecycle.auto_review_budget", NO_EFFECT),
    ("lifecycle.auto_review_mode", NO_EFFECT),
    ("lifecycle.auto_review_backfill_per_night", NO_EFFECT),
];

/// No period below this: a dispatch every second helps nobody, and GitHub counts the requests.
const SHORTEST: Span = Span::seconds(1);
/// No wait above this: it is longer than anyone would want it, and what is longer is a slip.
const LONGEST: Span = Span::days(3_650);

/// No watermark above this: so many unread messages are gigabytes, and what is more is a slip.
const MOST_UNREAD: u32 = 10_000_000;

impl Config {
    /// Reads `<home>/config.toml`; where there is none, every value is the default. Reads the declared actors too.
    pub fn load(home: &Path) -> Result<Self, ConfigError> {
        let file = home.join(FILE);
        let text = match read_bounded(&file) {
            Ok(text) => text,
            Err(ConfigError::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                String::new()
            }
            Err(error) => return Err(error),
        };
        let look_up = |name: &str| std::env::var_os(name);
        let mut config = Self::read(&file, &text, Environment::new(&look_up))?;
        config.declared = actors::load(home, &config.actors).map_err(Box::new)?;
        Ok(config)
    }

    /// When files that only grow are cut, and how long the pieces are kept: as long as messages.
    pub fn rotation(&self) -> Rotation {
        Rotation {
            size: self.files.rotate_at.get(),
            keep: self.mailbox.keep.get(),
        }
    }

    /// The settings that somebody made and that do not do what they are for in this version, each with its place and
    /// with what is said of it.
    pub fn without_effect(&self) -> impl Iterator<Item = (&Entry, &'static str)> {
        let made = self
            .entries
            .iter()
            .filter(|entry| entry.source != Source::Default);
        made.filter_map(|entry| {
            // `qa.gates[0].timeout` is one of `qa.gates.timeout`.
            let key: String = entry
                .key
                .split(['[', ']'])
                .filter(|part| part.parse::<usize>().is_err())
                .collect();
            let (_, said) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == key)?;
            Some((entry, *said))
        })
    }

    /// The file and the line, from 1, where a key is set; `None` where it is not.
    pub fn place_of(&self, key: &str) -> Option<(&Path, usize)> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        match &entry.source {
            Source::File { file, line } => Some((file, *line)),
            _ => None,
        }
    }

    /// Reads a configuration's text, and the variables that go before it; `file` is what errors and sources call it.
    pub fn read(file: &Path, text: &str, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let (reader, mut root) = Reader::parse(file, text)?;
        let mut reader = reader.beside(environment);
        let pr_state = PrState::read(&mut reader, &mut root)?;
        let config = Self {
            actors: Actors::read(&mut reader, &mut root)?,
            mailbox: Mailbox::read(&mut reader, &mut root)?,
            files: Files::read(&mut reader, &mut root)?,
            work: Work::read(&mut reader, &mut root)?,
            lifecycle: Lifecycle::read(&mut reader, &mut root, &pr_state)?,
            pr_state,
            declared: Vec::new(),
            entries: Vec::new(),
        };
        reader.leave(root);
        Ok(Self {
            entries: reader.finish()?,
            ..config
        })
    }
}

impl PrState {
    fn read<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Self, ConfigError> {
        let mut section = reader.section(root, "pr_state")?;
        let limit = reader.bounded(&mut section, "limit", 50, 1..=u32::from(MAX_LIMIT))?;
        let read = Self {
            every: reader.bounded(&mut section, "every", Span::minutes(10), SHORTEST..=LONGEST)?,
            limit: u16::try_from(limit).expect("it is at most MAX_LIMIT"),
            machine_users: reader.value(&mut section, "machine_users", BTreeSet::new())?,
            private_members: reader.value(&mut section, "private_members", BTreeSet::new())?,
        };
        reader.leave(section);
        Ok(read)
    }
}

impl Actors {
    fn read<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Self, ConfigError> {
        let mut section = reader.section(root, "actors")?;
        let read = Self {
            disable: reader.value(&mut section, "disable", BTreeSet::new())?,
            max_attempts: reader.bounded(&mut section, "max_attempts", 5, 1..=1_000)?,
            unread_limit: reader.bounded(
                &mut section,
                "unread_limit",
                Span::minutes(30),
                SHORTEST..=LONGEST,
            )?,
            shutdown_grace: reader.bounded(
                &mut section,
                "shutdown_grace",
                Span::seconds(30),
                Span::seconds(0)..=Span::hours(1),
            )?,
            max_restarts: reader.bounded(&mut section, "max_restarts", 5, 0..=1_000)?,
            restart_window: reader.bounded(
                &mut section,
                "restart_window",
                Span::seconds(60),
                SHORTEST..=LONGEST,
            )?,
            cool_off: reader.bounded(&mut section, "cool_off", Span::minutes(10), SHORTEST..=LONGEST)?,
        };
        reader.leave(section);
        Ok(read)
    }
}

impl Mailbox {
    fn read<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Self, ConfigError> {
        let mut section = reader.section(root, "mailbox")?;
        let backend = reader.value(&mut section, "backend", Backend::Sled)?;
        let read = Self {
            backend,
            keep: reader.bounded(&mut section, "keep", Span::days(90), SHORTEST..=LONGEST)?,
            dedupe_horizon: reader.bounded(
                &mut section,
                "dedupe_horizon",
                Span::days(90),
                SHORTEST..=LONGEST,
            )?,
            unchanged_for: reader.bounded(
                &mut section,
                "unchanged_for",
                Span::hours(24),
                Span::seconds(0)..=LONGEST,
            )?,
            soft_watermark: reader.bounded(&mut section, "soft_watermark", 10_000, 1..=MOST_UNREAD)?,
            hard_watermark: reader.bounded(&mut section, "hard_watermark", 100_000, 1..=MOST_UNREAD)?,
        };
        reader.leave(section);
        Ok(read)
    }
}

impl Files {
    fn read<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Self, ConfigError> {
        let mut section = reader.section(root, "files")?;
        let rotate_at = reader.bounded(
            &mut section,
            "rotate_at",
            Size::mib(64),
            Size::kib(1)..=Size::mib(64 * 1024),
        )?;
        reader.leave(section);
        Ok(Self { rotate_at })
    }
}

fn read_bounded(file: &Path) -> Result<String, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable {
        file: PathBuf::from(file),
        source,
    };
    let mut text = String::new();
    // A pipe in its place would be waited for without end.
    if !std::fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is no regular file")));
    }
    let opened = File::open(file).map_err(unreadable)?;
    let read = opened
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if read as u64 > MAX_BYTES {
        return Err(ConfigError::TooLarge {
            file: file.to_owned(),
            limit: MAX_BYTES,
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Config, String> {
        Config::read(Path::new("config.toml"), text, Environment::empty()).map_err(|error| match error {
            ConfigError::UnknownKey { ref nearest, .. } => format!("{error}; nearest {nearest}"),
            _ => error.to_string(),
        })
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            (
                "[pr_state]\nevry = \"1m\"",
                "config.toml:2: unknown key `pr_state.evry`; nearest pr_state.every",
            ),
            (
                "\n[pr-state]\nevery = \"1m\"",
                "config.toml:2: unknown key `pr-state`; nearest pr_state",
            ),
            (
                "limit = 3",
                "config.toml:1: unknown key `limit`; nearest pr_state.limit",
            ),
            (
                "[drip]\nb = 1\na = 1",
                "config.toml:2: unknown key `drip.b`; nearest drip",
            ),
            (
                "[pr_state]\nlimit = \"50\"",
                "config.toml:2: `pr_state.limit` wants a whole number, not a string",
            ),
            (
                "[pr_state]\nlimit = 201",
                "config.toml:2: `pr_state.limit`: 201 is not between 1 and 200",
            ),
            (
                "[pr_state]\nlimit = -1",
                "config.toml:2: `pr_state.limit`: -1 is not between 1 and 200",
            ),
            (
                "[actors]\nmax_attempts = 99999999999999999999",
                "config.toml:2: `actors.max_attempts`: 99999999999999999999 is not between 1 and 1000",
            ),
            (
                "[actors]\nmax_attempts = 5000000000",
                "config.toml:2: `actors.max_attempts`: 5000000000 is not between 1 and 1000",
            ),
            (
                "[actors]\nshutdown_grace = \"40000d\"",
                "config.toml:2: `actors.shutdown_grace`: 40000d is not between 0s and 1h",
            ),
            (
                "[pr_state]\nevery = \"0s\"",
                "config.toml:2: `pr_state.every`: 0s is not between 1s and 3650d",
            ),
            (
                "[pr_state]\nevery = 10",
                "config.toml:2: `pr_state.every` wants a span of time in quotes, like \"10m\", not a whole number",
            ),
            (
                "[pr_state]\nevery = \"soon\"",
                "config.toml:2: `pr_state.every`: \"soon\" is not a span of time; write it like \"90s\", \"10m\", \
                 \"1h30m\" or \"90d\"",
            ),
            (
                "pr_state = 3",
                "config.toml:1: `pr_state` wants a table, not a whole number",
            ),
            (
                "[qa]\ngates = 3",
                "config.toml:2: `qa.gates` wants a list of tables, not a whole number",
            ),
            (
                "[[qa.gates]]\ncommands = [\"true\"]",
                "config.toml:1: `qa.gates[0].repo` is missing",
            ),
            (
                "[[qa.gates]]\nrepo = \"a/b\"\ncommands = []",
                "config.toml:3: `qa.gates[0].commands`: no command in it",
            ),
            (
                "[mailbox]\nbackend = \"nats\"",
                "config.toml:2: `mailbox.backend`: \"nats\" is not available in this version; \"sled\" is the only \
                 backend",
            ),
        ] {
            assert_eq!(parsed(text).map(|_| ()), Err(expected.to_owned()), "{text}");
        }
        assert!(
            parsed("a = \n")
                .unwrap_err()
                .starts_with("config.toml:1: not TOML: ")
        );
        assert!(
            parsed("a = 1\na = 2")
                .unwrap_err()
                .starts_with("config.toml:2: not TOML: ")
        );
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        let config = parsed("").unwrap();
        assert_eq!(config.pr_state.every, Span::minutes(10));
        assert_eq!(config.pr_state.limit, 50);
        assert_eq!(config.actors.max_attempts, 5);
        assert!(config.entries.iter().all(|entry| entry.source == Source::Default));
    }

    #[test]
    fn each_value_knows_its_source() {
        let config = parsed("[drip]\n\npush = true\n").unwrap();
        let push = config
            .entries
            .iter()
            .find(|entry| entry.key == "drip.push")
            .unwrap();
        assert_eq!(push.value, serde_json::json!(true));
        assert_eq!(push.source.to_string(), "config.toml:3");
    }

    #[test]
    fn commands_are_words_or_lines_for_the_shell() {
        let config = parsed(
            "[[qa.gates]]\nrepo = \"a/b\"\ncommands = [\"cargo test && true\", [\"cargo\", \"fmt\", \"--check\"]]\n\
             timeout = \"5m\"",
        )
        .unwrap();
        assert!(config.work.gates.of(&"A/B".parse().unwrap()).len() == 2);
        for commands in ["[[]]", "[\"\"]", "[[\"\"]]", "[1]", "\"cargo test\""] {
            let text = format!("[[qa.gates]]\nrepo = \"a/b\"\ncommands = {commands}");
            assert!(parsed(&text).is_err(), "{commands}");
        }
    }

    #[test]
    fn what_has_no_effect_yet_is_known() {
        let config =
            parsed("[drip]\npush = true\nping = true\n[[qa.gates]]\nrepo = \"a/b\"\ncommands = [\"true\"]\n")
                .unwrap();
        let keys: Vec<&str> = config
            .without_effect()
            .map(|(entry, _)| entry.key.as_str())
            .collect();
        assert_eq!(keys, ["drip.ping"]);
    }

    /// `examples/config.toml` names every key, and with its default: whoever copies it changes nothing.
    #[test]
    fn the_example_is_complete_and_says_the_defaults() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/config.toml");
        let text = read_bounded(&file).unwrap();
        let example = Config::read(&file, &text, Environment::empty()).unwrap();
        let defaults = parsed("").unwrap();
        for entry in &defaults.entries {
            let same = example
                .entries
                .iter()
                .find(|other| other.key == entry.key)
                .unwrap();
            assert_eq!(same.value, entry.value, "{}", entry.key);
            if !entry.value.is_null() {
                assert!(
                    matches!(same.source, Source::File { .. }),
                    "{} is not in the example",
                    entry.key
                );
            }
        }
        // What has no default stands in it as a comment. With the comments taken off it is read too.
        let uncommented: String = text
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        let whole = Config::read(&file, &uncommented, Environment::empty()).unwrap();
        assert_eq!(whole.work.gates.repositories().count(), 1);
        let given = |key: &str| {
            whole
                .entries
                .iter()
                .any(|entry| entry.key == key && !entry.value.is_null())
        };
        assert!(given("investigate.command") && given("qa.gates[0].commands"));
        assert!(given("lifecycle.stale_coordinator_login") && given("lifecycle.owners[1].signal"));
    }
}
