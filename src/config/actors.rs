//! `<home>/actors/NAME.toml`: actors without Rust, one a file (contract, section 3). The file's name is the actor's;
//! whatever else lies in the folder, such as a script, is left alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mailbox::{MailboxName, NameError};
use serde_json::json;
use toml::de::DeValue;

use super::error::ConfigError;
use super::reader::{Reader, Source};
use super::value::{Command, Refusal, Value};
use super::{Actors, LONGEST, SHORTEST, read_bounded};
use crate::duration::Span;

/// The folder of these files within the home.
pub const FOLDER: &str = "actors";

/// The most files that are read: each is a mailbox and a supervised actor.
const MOST: usize = 256;

/// The most messages that are in hand at once: each may be a process.
const MOST_AT_ONCE: u32 = 64;

/// The key that says how a command is run.
const OF_A_COMMAND: &str = "timeout";

/// One declared actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorFile {
    /// The file that declares it.
    pub file: PathBuf,
    /// Its name.
    pub name: MailboxName,
    /// The intents that it consumes.
    pub consumes: Vec<String>,
    /// The program that is run for each message, and its arguments; `None` for the pull side.
    pub command: Option<Vec<String>>,
    /// How long the program may run.
    pub timeout: Span,
    /// How many messages are in hand at once, whoever takes them.
    pub wip: u32,
    /// Failures after which a message goes to quarantine.
    pub max_attempts: u32,
}

/// Why an actor's file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ActorFileError {
    /// What is in it.
    #[error(transparent)]
    Content(ConfigError),
    /// The folder is there and cannot be listed.
    #[error("cannot list {}", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There are too many.
    #[error("{} has more than {MOST} actors", folder.display())]
    TooMany {
        /// Where.
        folder: PathBuf,
    },
    /// The file's name is no actor's.
    #[error("{}: the file's name is not the name of an actor", file.display())]
    Name {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        source: NameError,
    },
    /// The name belongs to a built-in actor, or to the dead letters.
    #[error("{}: the name {name} is taken by a built-in", file.display())]
    Taken {
        /// Which file.
        file: PathBuf,
        /// Its actor's name.
        name: MailboxName,
    },
}

/// Reads every declaration in the home's folder, by name; none where there is no folder. What a file leaves out is
/// as `[actors]` has it.
pub fn load(home: &Path, actors: &Actors) -> Result<Vec<ActorFile>, ActorFileError> {
    let folder = home.join(FOLDER);
    let unlisted = |source| ActorFileError::Folder {
        folder: folder.clone(),
        source,
    };
    let listed = match fs::read_dir(&folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unlisted(error)),
    };
    let mut files = Vec::new();
    for entry in listed {
        let file = entry.map_err(unlisted)?.path();
        if declares(&file) {
            files.push(file);
        }
        if files.len() > MOST {
            return Err(ActorFileError::TooMany { folder });
        }
    }
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let name = name_of(&file)?;
            let text = read_bounded(&file).map_err(ActorFileError::Content)?;
            parse(file, name, &text, actors).map_err(ActorFileError::Content)
        })
        .collect()
}

/// A file that an editor left behind (`.notes.toml.swp`, `notes.toml~`) declares nobody.
fn declares(file: &Path) -> bool {
    let hidden = file
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && file.extension().is_some_and(|extension| extension == "toml")
}

fn name_of(file: &Path) -> Result<MailboxName, ActorFileError> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name: MailboxName = stem.parse().map_err(|source| ActorFileError::Name {
        file: file.to_owned(),
        source,
    })?;
    if name == MailboxName::dead_letter() {
        return Err(ActorFileError::Taken {
            file: file.to_owned(),
            name,
        });
    }
    Ok(name)
}

fn parse(file: PathBuf, name: MailboxName, text: &str, actors: &Actors) -> Result<ActorFile, ConfigError> {
    let (mut reader, mut root) = Reader::parse(&file, text)?;
    let Intents(consumes) = reader.required(&mut root, "consumes")?;
    let command: Option<Command> = reader.optional(&mut root, "command", None)?;
    let timeout = reader.bounded(&mut root, "timeout", Span::minutes(10), SHORTEST..=LONGEST)?;
    let wip = reader.bounded(&mut root, "wip", 1, 1..=MOST_AT_ONCE)?;
    let max_attempts = reader.bounded(&mut root, "max_attempts", actors.max_attempts, 1..=1_000)?;
    reader.leave(root);
    let entries = reader.finish()?;
    if command.is_none() {
        for entry in entries {
            if let (OF_A_COMMAND, Source::File { file, line }) = (entry.key.as_str(), entry.source) {
                return Err(ConfigError::Value {
                    file,
                    line,
                    key: entry.key,
                    reason: "it says how a `command` is run, and there is none".to_owned(),
                });
            }
        }
    }
    let command = command.map(|command| argv(command, &file));
    Ok(ActorFile {
        file,
        name,
        consumes,
        command,
        timeout,
        wip,
        max_attempts,
    })
}

/// The words of a command. A program with a slash is meant from the file's folder, wherever the program itself runs.
fn argv(command: Command, file: &Path) -> Vec<String> {
    match command {
        Command::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line],
        Command::Words(mut words) => {
            if let (Some(folder), Some(program)) = (file.parent(), words.first_mut())
                && program.contains('/')
            {
                *program = folder
                    .join(program.trim_start_matches("./"))
                    .display()
                    .to_string();
            }
            words
        }
    }
}

/// Intents: at least one, each a word that a message can have as its own.
struct Intents(Vec<String>);

impl Intents {
    /// The longest intent, in bytes, that a message has.
    const LONGEST: usize = 256;
}

impl Value for Intents {
    const WANTED: &'static str = "a list of intents, each in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Array(items) = value else {
            return Err(Refusal::Type);
        };
        let mut intents: Vec<String> = Vec::new();
        for item in items {
            let intent = String::read(item.get_ref())?;
            let refused = match intent.as_str() {
                "" => "an empty intent",
                word if word.len() > Self::LONGEST => "an intent is at most 256 bytes long",
                word if word.chars().any(char::is_control) => "an intent has no control character",
                "ack" => "`ack` is what the mirror calls an acknowledgement",
                word if intents.iter().any(|known| known == word) => "an intent stands there twice",
                _ => {
                    intents.push(intent);
                    continue;
                }
            };
            return Err(Refusal::Value(refused.to_owned()));
        }
        match intents.is_empty() {
            true => Err(Refusal::Value("no intent in it".to_owned())),
            false => Ok(Self(intents)),
        }
    }

    fn show(&self) -> serde_json::Value {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Environment};
    use super::*;

    fn parsed(text: &str) -> Result<ActorFile, String> {
        let config = Config::read(Path::new("config.toml"), "", Environment::empty()).unwrap();
        let file = PathBuf::from("/home/actors/notes.toml");
        parse(file, "notes".parse().unwrap(), text, &config.actors).map_err(|error| match error {
            ConfigError::UnknownKey { ref nearest, .. } => format!("{error}; nearest {nearest}"),
            _ => error.to_string(),
        })
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("", "/home/actors/notes.toml:1: `consumes` is missing"),
            (
                "consumes = []",
                "/home/actors/notes.toml:1: `consumes`: no intent in it",
            ),
            (
                "consumes = [\"a\", \"a\"]",
                "/home/actors/notes.toml:1: `consumes`: an intent stands there twice",
            ),
            (
                "consumes = \"a\"",
                "/home/actors/notes.toml:1: `consumes` wants a list of intents, each in quotes, not a string",
            ),
            (
                "consumes = [\"a\"]\ncomand = [\"b\"]",
                "/home/actors/notes.toml:2: unknown key `comand`; nearest command",
            ),
            (
                "consumes = [\"a\"]\n\ncommand = []",
                "/home/actors/notes.toml:3: `command`: an empty command",
            ),
            (
                "consumes = [\"a\"]\ncommand = [\"b\"]\nwip = 0",
                "/home/actors/notes.toml:3: `wip`: 0 is not between 1 and 64",
            ),
            (
                "consumes = [\"a\"]\ntimeout = \"1m\"",
                "/home/actors/notes.toml:2: `timeout`: it says how a `command` is run, and there is none",
            ),
        ] {
            assert_eq!(parsed(text).map(|_| ()), Err(expected.to_owned()), "{text}");
        }
        let no_toml = parsed("consumes = [\"a\"]\ncommand = [").unwrap_err();
        assert!(
            no_toml.starts_with("/home/actors/notes.toml:2: not TOML: "),
            "{no_toml}"
        );
    }

    #[test]
    fn without_a_command_several_may_be_taken_at_once_too() {
        assert_eq!(parsed("consumes = [\"a\"]\nwip = 3").unwrap().wip, 3);
    }

    #[test]
    fn what_is_left_out_is_as_for_the_other_actors() {
        let pulled = parsed("consumes = [\"b\", \"a\"]").unwrap();
        assert_eq!(
            (pulled.consumes.join(" ").as_str(), pulled.command),
            ("b a", None)
        );
        assert_eq!(
            (pulled.max_attempts, pulled.wip, pulled.timeout),
            (5, 1, Span::minutes(10))
        );
    }

    #[test]
    fn a_program_with_a_slash_is_meant_from_the_files_folder() {
        for (command, expected) in [
            ("[\"./n.sh\", \"./x\"]", &["/home/actors/n.sh", "./x"][..]),
            ("[\"/bin/cat\"]", &["/bin/cat"]),
            ("[\"cat\"]", &["cat"]),
            ("\"cat | wc\"", &["/bin/sh", "-c", "cat | wc"]),
        ] {
            let actor = parsed(&format!("consumes = [\"a\"]\ncommand = {command}")).unwrap();
            assert_eq!(actor.command.unwrap(), expected, "{command}");
        }
    }

    #[test]
    fn one_file_is_one_actor_and_nothing_else_in_the_folder_is() {
        let home = tempfile::tempdir().unwrap();
        let config = Config::read(Path::new("config.toml"), "", Environment::empty()).unwrap();
        let load = || load(home.path(), &config.actors);
        assert_eq!(load().unwrap(), []);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(home.path().join(FOLDER)).unwrap();
            fs::write(home.path().join(FOLDER).join(name), text).unwrap();
        };
        for name in ["notes.sh", ".notes.toml", "notes.toml~", "README"] {
            write(name, "not TOML");
        }
        write("notes.toml", "consumes = [\"a\"]");
        write("desk.toml", "consumes = [\"a\"]");
        let names: Vec<_> = load().unwrap().into_iter().map(|actor| actor.name).collect();
        assert_eq!(
            names.iter().map(MailboxName::as_str).collect::<Vec<_>>(),
            ["desk", "notes"]
        );
        write("Big Name.toml", "consumes = [\"a\"]");
        assert!(matches!(load(), Err(ActorFileError::Name { file, .. }) if file.ends_with("Big Name.toml")));
        fs::remove_file(home.path().join(FOLDER).join("Big Name.toml")).unwrap();
        write("dead-letter.toml", "consumes = [\"a\"]");
        assert!(matches!(load(), Err(ActorFileError::Taken { .. })));
    }
}
