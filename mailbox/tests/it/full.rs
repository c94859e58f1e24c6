//! A disk that is full, and what happens when there is space again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use mailbox::{Appended, Done, Filter, Lessee, MailboxError, Mailboxes, Seq, SystemClock};

use crate::{draft_of, name};

/// A small file system in memory.
pub(crate) struct Small<'a>(pub(crate) &'a Path);

impl Small<'_> {
    pub(crate) fn mount(dir: &Path) -> Option<Small<'_>> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=40m", "tmpfs"])
            .arg(dir)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Small(dir))
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{how}")])
            .arg(self.0)
            .status();
        assert!(done.unwrap().success());
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        // What is still open is gone with the last file.
        let _ = Command::new("umount").arg("--lazy").arg(self.0).output();
    }
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_mends_itself_with_space() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path()) else {
        println!("skipped: no small file system can be mounted here");
        return;
    };
    let home = small.0.join("mailbox");
    let mailboxes = Mailboxes::open_sled(&home, Arc::new(SystemClock::start())).unwrap();
    mailboxes.append(vec![draft_of("before", 100)]).await.unwrap();
    let filler = small.0.join("filler");
    fs::write(&filler, vec![1; 12 * 1024 * 1024]).unwrap();

    let mut placed = 1;
    let error = loop {
        assert!(placed < 100_000, "the disk is never full");
        let drafts = (0..20)
            .map(|n| draft_of(&format!("m-{placed}-{n}"), 5_000))
            .collect();
        match mailboxes.append(drafts).await {
            Ok(_) => placed += 20,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, MailboxError::Store(_)));
    assert!(error.to_string().contains("no space left"), "{error}");
    assert!(error.to_string().contains("free some"), "{error}");

    // What was set aside for this is for acks, the way out of it, and not for more messages.
    for n in 0..100 {
        let more = mailboxes.append(vec![draft_of("more", 100)]).await;
        assert!(
            more.is_err_and(|error| error.to_string().contains("no space left")),
            "{n}"
        );
        let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
        mailboxes.ack(delivery.lease, Done::new("handled")).await.unwrap();
    }

    fs::remove_file(&filler).unwrap();
    // What was refused may or may not be found; what was acknowledged is, and the next one follows.
    let appended = mailboxes.append(vec![draft_of("after", 100)]).await.unwrap();
    let Appended::Placed(seq) = appended[0] else {
        panic!("{appended:?}")
    };
    assert!(
        seq == Seq(placed + 1) || seq == Seq(placed + 21),
        "{seq} after {placed}"
    );
    let before = mailboxes.append(vec![draft_of("before", 100)]).await.unwrap();
    assert_eq!(
        before,
        [Appended::Known {
            seq: Seq(1),
            outcome: Some("handled".to_owned())
        }]
    );
    let page = mailboxes
        .envelopes(&name(), Filter::all().after(Seq(placed - 1)))
        .await
        .unwrap();
    assert_eq!(page[0].seq, Seq(placed));
    mailboxes.close().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Mailboxes::open_sled(&file.join("mailbox"), Arc::new(SystemClock::start())).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot write in {}", file.join("mailbox").display())),
        "{error}"
    );
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_is_an_error_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path()) else {
        println!("skipped: no small file system can be mounted here");
        return;
    };
    let home = small.0.join("mailbox");
    let mailboxes = Mailboxes::open_sled(&home, Arc::new(SystemClock::start())).unwrap();
    mailboxes.append(vec![draft_of("before", 100)]).await.unwrap();
    mailboxes.close().await;
    small.remount("ro");
    let error = Mailboxes::open_sled(&home, Arc::new(SystemClock::start())).unwrap_err();
    let cannot = format!("cannot write in {}", home.display());
    assert!(error.to_string().starts_with(&cannot), "{error}");
    small.remount("rw");
    let mailboxes = Mailboxes::open_sled(&home, Arc::new(SystemClock::start())).unwrap();
    assert_eq!(
        mailboxes.envelopes(&name(), Filter::all()).await.unwrap().len(),
        1
    );
    mailboxes.close().await;
}
