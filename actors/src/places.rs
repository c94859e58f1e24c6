//! Where actors put their files below the home, so that no two repositories share one.

use pulls::PrRef;
use runtime::{Fault, HomePath, Turn};

/// A file about one pull request: the owner is a folder of its own below `folder`, and `rest` ends the name.
pub(crate) fn of_pull(folder: &str, at: &PrRef, rest: &str) -> Result<HomePath, Fault> {
    let (owner, name) = (at.repo.owner(), at.repo.name());
    let path = format!("{folder}/{owner}/{name}-{}{rest}", at.number);
    Ok(path.to_ascii_lowercase().parse::<HomePath>()?)
}

/// A file under the first of two names, or under the second where the first is another repository's: two of them can
/// share a slug (`a-b/c` and `a/b-c`). `is_ours` looks at what is there under the first.
pub(crate) async fn told_apart(
    turn: &mut Turn,
    folder: &'static str,
    [plain, second]: [String; 2],
    is_ours: impl Fn(&[u8]) -> bool,
) -> Result<HomePath, Fault> {
    let folder = HomePath::fixed(folder);
    let plain = folder.join(&plain)?;
    let there = turn.read_file(&plain).await?;
    match there.is_none_or(|bytes| is_ours(&bytes)) {
        true => Ok(plain),
        false => Ok(folder.join(&second)?),
    }
}
