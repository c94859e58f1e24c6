//! What to do when the system refused: that depends on what it said.

use std::error::Error;
use std::io;

/// What it said, in kinds that want something else of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// The disk, a quota or the largest size of a file is reached.
    Full,
    /// This process, or the machine, has as many files open as it may.
    TooManyOpen,
    /// What is named, or the folder that it is to be in, is not there.
    Missing,
    /// A folder is in the place of a file.
    Folder,
    /// A file is in the place of a folder.
    NoFolder,
    /// It is somebody else's, or cannot be written by anybody.
    Forbidden,
    /// Anything else.
    Other,
}

/// The numbers of Unix for too many open files: in the whole system, and in a process.
const TOO_MANY_OPEN: [i32; 2] = [23, 24];

impl Refused {
    fn of(error: &io::Error) -> Self {
        if error
            .raw_os_error()
            .is_some_and(|code| TOO_MANY_OPEN.contains(&code))
        {
            return Self::TooManyOpen;
        }
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full
            }
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::IsADirectory => Self::Folder,
            io::ErrorKind::NotADirectory => Self::NoFolder,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Forbidden,
            _ => Self::Other,
        }
    }

    fn mend(self) -> &'static str {
        match self {
            Self::Full => "Make room on the disk",
            Self::TooManyOpen => {
                "Raise the limit of open files (`ulimit -n`), or end programs that have many open"
            }
            Self::Missing => "Make the folder that is not there, or mend the path",
            Self::Folder => "Move the folder away that is in the place of the file",
            Self::NoFolder => "Move the file away that is in the place of a folder",
            Self::Forbidden => "Make it writable for you",
            Self::Other => "Mend what the system names",
        }
    }
}

/// What to do about an error, or another way out of it, as a whole sentence. What the system said is the last of its
/// causes that is an [`io::Error`].
pub fn mend(error: &(dyn Error + 'static), instead: &str) -> String {
    let mut said = None;
    let mut next = Some(error);
    while let Some(error) = next {
        said = error.downcast_ref::<io::Error>().or(said);
        next = error.source();
    }
    let refused = said.map_or(Refused::Other, Refused::of);
    match refused {
        // Another file would be one more.
        Refused::TooManyOpen => format!("{}, and run it again.", refused.mend()),
        _ => format!("{}, or {instead}.", refused.mend()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot write")]
    struct Outer(#[source] io::Error);

    #[test]
    fn room_is_asked_for_where_there_is_none_and_nowhere_else() {
        for (code, wanted) in [
            (28, "Make room on the disk"),
            (122, "Make room on the disk"),
            (27, "Make room on the disk"),
            (23, "Raise the limit of open files"),
            (24, "Raise the limit of open files"),
            (2, "Make the folder"),
            (21, "Move the folder away"),
            (20, "Move the file away"),
            (13, "Make it writable"),
            (30, "Make it writable"),
            (5, "Mend what the system names"),
        ] {
            let error = Outer(io::Error::from_raw_os_error(code));
            let said = mend(&error, "name another file");
            assert!(said.starts_with(wanted), "{code}: {said}");
            assert_eq!(said.contains("room"), wanted.contains("room"), "{code}: {said}");
        }
    }

    #[test]
    fn what_a_library_wrapped_is_found() {
        let inner = Outer(io::Error::from_raw_os_error(24));
        let wrapped = io::Error::other(inner);
        assert!(mend(&wrapped, "name another file").starts_with("Raise the limit"));
        let kept = io::Error::new(io::ErrorKind::NotFound, "no such folder");
        assert!(mend(&kept, "name another file").starts_with("Make the folder"));
    }
}
