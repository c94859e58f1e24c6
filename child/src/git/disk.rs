//! Files of the keeper's own: how much they take, and how they go.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Bytes on the disk below this path, 0 where there is nothing. What vanishes while it is counted is not counted.
pub(super) fn usage(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    // POSIX counts blocks of 512 bytes, whatever the file system's own are.
    let own = metadata.blocks().saturating_mul(512);
    if !metadata.is_dir() {
        return own;
    }
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    below.fold(own, |sum, entry| sum.saturating_add(usage(&entry.path())))
}

/// So little room is none: git writes its smallest files in blocks of this size.
const NEXT_TO_NOTHING: u64 = 64 * 1024;

/// Whether the disk that this path is on has no room left for this user.
pub(super) fn is_full(path: &Path) -> bool {
    let room = rustix::fs::statvfs(path).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    room.is_ok_and(|room| room < NEXT_TO_NOTHING)
}

/// Removes what is there, also where a program took its own directories' write permission; symbolic links are
/// removed and never followed. Nothing there is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path);
            fs::remove_dir_all(path)
        }
        // A program that is still ending may have written once more.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => fs::remove_dir_all(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn open_up(directory: &Path) {
    let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // Not the type of what a symbolic link points to.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Copies a directory of directories of files, as git keeps recorded resolutions. Nothing there is fine.
pub(super) fn copy_two_levels(from: &Path, to: &Path) -> io::Result<()> {
    let listed = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for one in listed {
        let one = one?;
        if !one.file_type()?.is_dir() {
            continue;
        }
        let into = to.join(one.file_name());
        fs::create_dir_all(&into)?;
        for file in fs::read_dir(one.path())? {
            let file = file?;
            if file.file_type()?.is_file() {
                fs::copy(file.path(), into.join(file.file_name()))?;
            }
        }
    }
    Ok(())
}

/// Removes everything in this directory.
pub(super) fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        remove(&entry?.path())?;
    }
    Ok(())
}

/// Removes what a git that was killed leaves in a repository: locks, and packs and objects half written. Only the
/// process that holds the keeper's root does this, when no git of it runs.
pub(super) fn clear_leftovers(repository: &Path) -> io::Result<()> {
    // No ref ends in `.lock`, but one may well begin as a temporary file's name does.
    clear(repository, &|name| name.ends_with(".lock"))?;
    clear(&repository.join("objects"), &|name| {
        ["tmp_", ".tmp-", "incoming-"]
            .iter()
            .any(|begin| name.starts_with(begin))
    })
}

fn clear(directory: &Path, is_leftover: &dyn Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_leftover(&entry.file_name().to_string_lossy()) {
            remove(&entry.path())?;
        } else if entry.file_type()?.is_dir() {
            clear(&entry.path(), is_leftover)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_go_and_the_rest_stays() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("refs/pull/7")).unwrap();
        fs::create_dir_all(at("objects/pack")).unwrap();
        fs::create_dir_all(at("objects/tmp_objdir-incoming-x")).unwrap();
        let kept = [
            "refs/pull/7/head",
            "refs/pull/7/tmp_1",
            "packed-refs",
            "objects/pack/pack-1.pack",
        ];
        for file in kept {
            fs::write(at(file), "x").unwrap();
        }
        let gone = [
            "refs/pull/7/head.lock",
            "packed-refs.lock",
            "objects/pack/tmp_pack_Ab",
            "objects/pack/.tmp-1-x",
        ];
        for file in gone {
            fs::write(at(file), "x").unwrap();
        }
        clear_leftovers(root.path()).unwrap();
        assert!(gone.iter().all(|file| !at(file).exists()) && !at("objects/tmp_objdir-incoming-x").exists());
        assert!(kept.iter().all(|file| at(file).exists()));
    }

    #[test]
    fn a_link_is_removed_and_not_followed_and_read_only_folders_go() {
        let root = tempfile::tempdir().unwrap();
        let (kept, gone) = (root.path().join("kept"), root.path().join("gone"));
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        fs::create_dir_all(gone.join("sealed")).unwrap();
        fs::write(gone.join("sealed/file"), "x").unwrap();
        std::os::unix::fs::symlink(&kept, gone.join("link")).unwrap();
        fs::set_permissions(gone.join("sealed"), fs::Permissions::from_mode(0o500)).unwrap();
        remove(&gone).unwrap();
        assert!(!gone.exists() && kept.join("file").exists());
        remove(&gone).unwrap();
    }

    #[test]
    fn usage_is_of_the_disk() {
        let root = tempfile::tempdir().unwrap();
        let before = usage(root.path());
        fs::write(root.path().join("file"), vec![1; 100_000]).unwrap();
        assert!(usage(root.path()) >= before + 100_000);
        assert_eq!(usage(&root.path().join("nothing")), 0);
    }
}
