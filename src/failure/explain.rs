//! Each kind of error that a command can end with: its exit code and what to do next.

use github::{EndpointError, ErrorClass, ReadError, TokenError};
use ledger::LedgerError;
use mailbox::mirror::MirrorError;
use mailbox::store::StoreError;
use mailbox::{MailboxError, MessageError, OpenError, Refusal};
use runtime::control::ControlError;
use runtime::{Refused, RegistryError, StartError};

use super::{Exit, Failure, system};
use crate::config::{ActorFileError, ConfigError};
use crate::home::HomeError;

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let mend = match &error {
            ConfigError::Unreadable { .. } => {
                "Make it readable for you, or remove it: every key is optional.".to_owned()
            }
            ConfigError::TooLarge { .. } => "See examples/config.toml for a complete one.".to_owned(),
            ConfigError::Syntax { .. } => "Mend the line; `sweep config` reads the file again.".to_owned(),
            ConfigError::UnknownKey { nearest, .. } => format!("The nearest known key is `{nearest}`."),
            ConfigError::Missing { .. } => "Add it; examples/config.toml shows how it is written.".to_owned(),
            ConfigError::Type { .. } | ConfigError::Value { .. } => {
                "Mend the value, or remove the line for the default.".to_owned()
            }
            ConfigError::Variable { variable, .. } => format!("Mend {variable}, or unset it."),
            ConfigError::Actor(error) => of_actor_file(error),
        };
        Self::of(Exit::Usage, error).mend(mend)
    }
}

/// Another process holds the home. One line says so, with its number and what to do.
const IN_USE: &str = "the home is in use; wait for the other process, or end it";

/// What to do where the mailboxes are not read or written.
fn of_store(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { path, .. } => {
            let whole = path.display();
            format!(
                "Keep a copy of all of {whole}, and report it. Then put an earlier copy of the whole folder in its place; or move the whole folder away and run it again: what inbox/*.jsonl and _acks.jsonl have comes back, without attempts and quarantine."
            )
        }
        StoreError::Full { .. } => {
            "What was acknowledged before is safe. Make room on the disk, then run it again.".to_owned()
        }
        StoreError::Io { .. } => {
            let mend = system::mend(error, "see why it cannot be reached");
            format!("What was acknowledged before is safe. {mend}")
        }
        StoreError::Stopped { .. } => {
            "What was acknowledged before is safe. Run it again; if it stays so, keep a copy of the home and report it."
                .to_owned()
        }
    }
}

/// What to do about an actor's file.
fn of_actor_file(error: &ActorFileError) -> String {
    match error {
        ActorFileError::Content(ConfigError::UnknownKey { nearest, .. }) => {
            format!("The nearest known key is `{nearest}`.")
        }
        ActorFileError::Content(ConfigError::Unreadable { .. }) => {
            "Make it readable for you, or move it out of the folder.".to_owned()
        }
        ActorFileError::Content(_) => {
            "Mend it as in examples/actors/notes.toml, or move it out of the folder.".to_owned()
        }
        ActorFileError::Folder { .. } => "Make it a folder that you may read, or remove it.".to_owned(),
        ActorFileError::TooMany { .. } => "Let one actor consume several intents.".to_owned(),
        ActorFileError::Name { .. } => {
            "Name it like notes.toml: small letters, digits, `-` and `_`, a letter first.".to_owned()
        }
        ActorFileError::Taken { name, .. } => {
            format!(
                "Give the file another name, or take the built-in out with `[actors] disable = [\"{name}\"]`."
            )
        }
    }
}

impl From<ActorFileError> for Failure {
    fn from(error: ActorFileError) -> Self {
        ConfigError::from(Box::new(error)).into()
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        let mend = match &error {
            HomeError::Make { .. } | HomeError::Write { .. } => {
                system::mend(&error, "name another home with --home")
            }
            HomeError::Nowhere => "Name a directory with --home.".to_owned(),
            HomeError::Relative { .. } => "Name the home by an absolute path.".to_owned(),
            HomeError::NotADirectory { .. } => {
                "Name another home with --home, or SWEEP_HOME, or mend the path.".to_owned()
            }
        };
        Self::of(Exit::Other, error).mend(mend)
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        Self::new(Exit::Usage, "GITHUB_API_URL or GITHUB_GRAPHQL_URL")
            .because(error)
            .mend("Unset it for the public API, or write the API's whole address.")
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        let failure = match error {
            TokenError::Missing => Self::new(
                Exit::Credentials,
                "no token for GitHub: none in GITHUB_TOKEN or GH_TOKEN, and none from `gh auth token`",
            ),
            TokenError::Unusable | TokenError::Program { .. } => {
                Self::new(Exit::Credentials, "no token for GitHub").because(error)
            }
        };
        failure.mend("Set GITHUB_TOKEN, or sign in with `gh auth login`; `sweep run --demo` needs neither.")
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        if let ReadError::Token(error) = error {
            return error.into();
        }
        let exit = match error.class() {
            ErrorClass::Credentials => Exit::Credentials,
            ErrorClass::Unavailable => Exit::GitHub,
            ErrorClass::Other => Exit::Other,
        };
        let mend = match &error {
            ReadError::Refused { message } if message.contains("scope") => {
                "Give the token the scope that is named, at github.com/settings/tokens or with `gh auth refresh --scopes SCOPE`."
            }
            ReadError::Refused { .. } => {
                "Give a token that is still valid in GITHUB_TOKEN, or sign in again with `gh auth login`."
            }
            ReadError::RateLimited { .. } => {
                "Run it again after that time; what was delivered stays delivered."
            }
            ReadError::Unreachable { .. } | ReadError::TimedOut { .. } => {
                "Check the network, and GITHUB_API_URL if it is set; then run it again."
            }
            ReadError::Server { .. } | ReadError::CutShort { .. } => {
                "Run it again later; githubstatus.com tells how GitHub is."
            }
            ReadError::NotJson { .. } => {
                "Something else than GitHub's API answered: check GITHUB_API_URL, and proxies on the way."
            }
            ReadError::NoRepository(_) => "Check its name, and that the token may see it.",
            ReadError::NoAccess { sso: true, .. } => {
                "Authorise the token for the organisation's single sign-on."
            }
            ReadError::NoAccess { .. } => "Give a token that may read it.",
            ReadError::Redirect { .. } => "Set GITHUB_API_URL to where it leads, if that is GitHub.",
            _ => "Run it again; RUST_LOG=debug shows each request.",
        };
        Self::new(exit, "cannot read from GitHub")
            .because(error)
            .mend(mend)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let mend = match &error {
            OpenError::Held { .. } => return Self::new(Exit::Held, IN_USE).because(error),
            OpenError::Unwritable { .. } => system::mend(&error, "name another home with --home"),
            OpenError::Version { .. } => {
                "Use the version of sweep that wrote it, or another home.".to_owned()
            }
            OpenError::Store(error) => of_store(error),
            OpenError::Thread(_) => {
                "End some programs, or raise the limit of threads, and run it again.".to_owned()
            }
        };
        Self::new(Exit::Other, "cannot open the mailboxes")
            .because(error)
            .mend(mend)
    }
}

impl From<ledger::OpenError> for Failure {
    fn from(error: ledger::OpenError) -> Self {
        let mend = match &error {
            ledger::OpenError::Held { .. } => {
                return Self::of(Exit::Held, error).mend("Run it again when the other process is done.");
            }
            ledger::OpenError::Newer { .. } => {
                "Use the version of sweep that wrote it, or another home.".to_owned()
            }
            ledger::OpenError::Older { .. } => {
                "Run `sweep reconcile --once`, which brings it up to date.".to_owned()
            }
            ledger::OpenError::Foreign { .. } => {
                "Move the file away, or name another home with --home.".to_owned()
            }
            ledger::OpenError::Io { .. } => system::mend(&error, "name another home with --home"),
            ledger::OpenError::Ledger(error) => of_ledger(error).to_owned(),
        };
        Self::of(Exit::Other, error).mend(mend)
    }
}

/// What to do about a ledger that cannot be read. It holds what GitHub says, and what followed from it.
const LEDGER_DAMAGED: &str = "Keep a copy of ledger.db and ledger.db-wal, and report it. Then move both away: states are \
                              read again from GitHub, and their history begins anew.";

fn of_ledger(error: &LedgerError) -> &'static str {
    match error {
        LedgerError::Busy { .. } => {
            "End the program that has it open, such as a shell of SQLite, and run it again."
        }
        LedgerError::Full { .. } => "Make room on the disk, then run it again.",
        LedgerError::Io { .. } => "Make it and its folder readable and writable for you, then run it again.",
        LedgerError::Restless { .. } | LedgerError::Gone { .. } | LedgerError::Retired { .. } => {
            "Run it again."
        }
        LedgerError::Damaged { .. }
        | LedgerError::Refused { .. }
        | LedgerError::Strange { .. }
        | LedgerError::NoEvidence { .. } => LEDGER_DAMAGED,
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let mend = of_ledger(&error);
        Self::of(Exit::Other, error).mend(mend)
    }
}

impl From<MailboxError> for Failure {
    fn from(error: MailboxError) -> Self {
        let mend = match &error {
            MailboxError::Refused(refusal) => match refusal {
                Refusal::NoSuchMessage { of, .. } | Refusal::NoSuchNumber { of, .. } => {
                    format!("`sweep inbox {of}` lists its messages.")
                }
                Refusal::NotCurrent { of, .. } => {
                    format!("Take it with `sweep next {of}`; what somebody else holds is theirs to settle.")
                }
                Refusal::NotTaken { of, .. } => format!(
                    "`sweep next {of}` takes the next message that is unread, and prints it with its lease; then it can be settled."
                ),
                Refusal::WithItsActor { .. } => {
                    "Its actor settles it, or gives it back at its deadline.".to_owned()
                }
                Refusal::AlreadyAcked { .. } => "There is nothing left to do.".to_owned(),
                Refusal::Quarantined { of, .. } => format!(
                    "`sweep quarantine show {of} MSG_ID` shows each failure; `retry` makes it unread."
                ),
                Refusal::NotQuarantined { of, .. } => format!("`sweep inbox {of}` shows where it stands."),
                Refusal::NoHistory { .. } => "Take it from an export that nobody edited.".to_owned(),
            },
            MailboxError::Closed => "Run it again.".to_owned(),
            MailboxError::Store(error) => of_store(error),
            MailboxError::Fenced { .. } | MailboxError::Contended { .. } => {
                "Run it again when the other process is done.".to_owned()
            }
            MailboxError::Elsewhere { .. } => {
                "What was acknowledged before is safe. The log of the process that holds the home says more."
                    .to_owned()
            }
            MailboxError::Gone { .. } => {
                return Self::of(Exit::Held, error).mend(
                    "If that process is stopped, it goes on with `kill -CONT` and its number; if it has ended, run this again.",
                );
            }
            MailboxError::OwnersOnly => "Stop `sweep run`, and run it again.".to_owned(),
            MailboxError::TooMany | MailboxError::TooLarge { .. } => {
                "Ask for less at once, or stop `sweep run` and run it again.".to_owned()
            }
            MailboxError::Unreadable { of, .. } => {
                format!("Keep a copy of the home, and report it; `sweep inbox {of}` shows the rest.")
            }
        };
        Self::of(Exit::Other, error).mend(mend)
    }
}

impl From<MirrorError> for Failure {
    fn from(error: MirrorError) -> Self {
        let mend = match error {
            MirrorError::Mailbox(error) => return error.into(),
            MirrorError::Io { .. } => {
                let mend = system::mend(&error, "see what else is in the way");
                format!("The mailboxes are as they were. {mend}")
            }
            MirrorError::Busy { .. } => "Run it again when the other process is done.".to_owned(),
        };
        Self::new(Exit::Other, "the mirror was not written")
            .because(error)
            .mend(mend)
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let mend = match &error {
            ControlError::Absent { .. } | ControlError::InUse { .. } => {
                return Self::new(Exit::Held, IN_USE).because(error);
            }
            ControlError::Silent { pid: Some(pid) } => {
                format!("Stopped, it goes on with `kill -CONT {pid}`; ended, it leaves the home to others.")
            }
            ControlError::Silent { pid: None } => {
                "See what that process does; ended, it leaves the home to others.".to_owned()
            }
            ControlError::Version { .. } => {
                "Use the version of sweep that it was started with, or stop it and start this one.".to_owned()
            }
            ControlError::Failed { .. } => "The log of the process that holds the home says more.".to_owned(),
            ControlError::Io { .. } => {
                "Make the home and its control.sock yours, or name another home with --home.".to_owned()
            }
        };
        let exit = match &error {
            ControlError::Failed { .. } => Exit::Other,
            _ => Exit::Held,
        };
        Self::new(exit, "the home is in use").because(error).mend(mend)
    }
}

impl From<Refused> for Failure {
    fn from(error: Refused) -> Self {
        let mend = match &error {
            Refused::NoSuchActor { .. } | Refused::Undeclared { .. } | Refused::ConsumesNothing { .. } => {
                "`sweep actors` lists every actor with what it consumes."
            }
            Refused::Payload { .. } => "Give what the intent needs with --repo, --pr and --payload.",
        };
        Self::new(Exit::Usage, "the message was not taken")
            .because(error)
            .mend(mend)
    }
}

impl From<MessageError> for Failure {
    fn from(error: MessageError) -> Self {
        let (exit, mend) = match &error {
            MessageError::TooLarge { .. } => (Exit::Other, "Send where it lies instead of what it is."),
            _ => (
                Exit::Usage,
                "Mend what is named; `sweep send --help` tells what it takes.",
            ),
        };
        Self::new(exit, "this is no message").because(error).mend(mend)
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        Self::new(Exit::Usage, "the actors cannot be declared")
            .because(error)
            .mend("Give each actor a name and intents of its own.")
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Declaration(error) => error.into(),
            StartError::Mailbox(error) => error.into(),
            StartError::Thread(_) => Self::new(Exit::Other, "the actors cannot be started")
                .because(error)
                .mend("End some programs, or raise the limit of threads, and run it again."),
        }
    }
}
