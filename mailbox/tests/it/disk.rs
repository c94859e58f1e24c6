//! The durable store, closed and opened again.

use std::path::Path;
use std::sync::Arc;

use crate::{draft, draft_of, name};
use mailbox::store::DiskStore;
use mailbox::{
    Appended, Filter, Lessee, MAX_MESSAGE, MailboxError, Mailboxes, Moment, OpenError, Policy, Seq,
    SystemClock,
};

fn open(dir: &Path) -> Result<Mailboxes, OpenError> {
    Mailboxes::open_sled(dir, Arc::new(SystemClock::start()))
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let mailboxes = open(dir.path()).unwrap();
    for n in 0..100 {
        mailboxes
            .append(vec![draft_of(&format!("m-{n}"), n * 100)])
            .await
            .unwrap();
    }
    assert_eq!(
        mailboxes.counters().syncs,
        100,
        "one lone sender costs one sync a message"
    );
    mailboxes.close().await;

    let mailboxes = open(dir.path()).unwrap();
    let page = mailboxes.envelopes(&name(), Filter::all()).await.unwrap();
    assert_eq!(page.len(), 100);
    for (n, envelope) in (0..).zip(&page) {
        assert_eq!(envelope.seq, Seq(n + 1));
        assert_eq!(
            envelope.message,
            draft_of(&format!("m-{n}"), n as usize * 100).message
        );
    }
    let known = Appended::Known {
        seq: Seq(8),
        outcome: None,
    };
    assert_eq!(mailboxes.append(vec![draft_of("m-7", 0)]).await.unwrap(), [known]);
    mailboxes.close().await;
}

#[tokio::test]
async fn the_largest_message_reads_back_from_its_own_file() {
    let dir = tempfile::tempdir().unwrap();
    let largest = draft_of("big", MAX_MESSAGE - 90);
    let mailboxes = open(dir.path()).unwrap();
    mailboxes
        .append(vec![largest.clone(), draft_of("small", 1)])
        .await
        .unwrap();
    mailboxes.close().await;
    assert_eq!(std::fs::read_dir(dir.path().join("bodies")).unwrap().count(), 1);
    std::fs::write(dir.path().join("bodies/left-over"), "x").unwrap();

    let mailboxes = open(dir.path()).unwrap();
    let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!(delivery.envelope.message, largest.message);
    assert_eq!(std::fs::read_dir(dir.path().join("bodies")).unwrap().count(), 1);
    mailboxes.close().await;
}

#[tokio::test]
async fn a_second_process_is_told_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let mailboxes = open(dir.path()).unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::Held { pid: Some(pid), .. } if pid == std::process::id()));
    mailboxes.close().await;
    open(dir.path()).unwrap().close().await;
}

#[tokio::test]
async fn a_lease_of_an_earlier_life_is_void_at_once_and_its_attempt_counts() {
    let dir = tempfile::tempdir().unwrap();
    let mailboxes = open(dir.path()).unwrap();
    mailboxes.append(vec![draft_of("a", 1)]).await.unwrap();
    let first = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!(first.attempt, 1);
    mailboxes.close().await;

    let mailboxes = open(dir.path()).unwrap();
    let again = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!((again.envelope.seq, again.attempt), (Seq(1), 2));
    assert!(again.envelope.appended_at > Moment::EPOCH);
    mailboxes.close().await;
}

#[tokio::test]
async fn a_database_that_was_not_finished_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("journal.new/blobs")).unwrap();
    std::fs::write(dir.path().join("journal.new/conf"), "seg").unwrap();
    open(dir.path()).unwrap().close().await;
    assert!(!dir.path().join("journal.new").exists());
}

#[tokio::test]
async fn another_format_is_left_untouched() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).unwrap().close().await;
    std::fs::write(dir.path().join("format"), "mailbox 4\n").unwrap();
    let error = open(dir.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("format \"mailbox 4\", this program reads format \"mailbox 3\"")
    );
}

#[tokio::test]
async fn damage_is_an_error_that_names_the_whole_folder() {
    // What was written last is in the tail, or in the database where there is no tail.
    for (tail, file) in [(1024 * 1024, "tail-0"), (0, "journal/db")] {
        let dir = tempfile::tempdir().unwrap();
        let store = DiskStore::with_tail(dir.path(), tail).unwrap();
        let mailboxes = Mailboxes::open(store, Arc::new(SystemClock::start())).unwrap();
        let drafts = (0..200).map(|n| draft_of(&format!("m-{n}"), 200)).collect();
        mailboxes.append(drafts).await.unwrap();
        mailboxes.close().await;
        let file = dir.path().join(file);
        let whole = std::fs::read(&file).unwrap();
        let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
        for at in [0, used / 3, used / 2, used - 100] {
            let mut bytes = whole.clone();
            bytes[at..at + 64].iter_mut().for_each(|byte| *byte ^= 0xa5);
            std::fs::write(&file, bytes).unwrap();
            let error = open(dir.path()).unwrap_err().to_string();
            let whole = format!("the mailboxes in {} are damaged", dir.path().display());
            assert!(
                error.starts_with(&whole),
                "byte {at} of {}: {error}",
                file.display()
            );
        }
    }
}

/// A text that lies in a file of its own and is gone costs its own message and no other.
#[tokio::test]
async fn a_message_whose_text_is_lost_is_set_aside_and_blocks_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mailboxes = open(dir.path()).unwrap();
    mailboxes.declare(name(), Policy::default()).await.unwrap();
    mailboxes
        .append(vec![draft_of("large", 50_000), draft("small")])
        .await
        .unwrap();
    let bodies: Vec<_> = std::fs::read_dir(dir.path().join("bodies"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(bodies.len(), 1);
    std::fs::remove_file(&bodies[0]).unwrap();

    let refused = mailboxes.try_lease(&name(), Lessee::Process).await.unwrap_err();
    assert!(
        matches!(refused, MailboxError::Unreadable { seq: Seq(1), .. }),
        "{refused}"
    );
    let delivery = mailboxes
        .try_lease(&name(), Lessee::Process)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(delivery.envelope.message.msg_id().as_str(), "small");
    let status = mailboxes.status().await.unwrap();
    assert_eq!((status[0].quarantined, status[0].leased), (1, 1));
    let listed = mailboxes.envelopes(&name(), Filter::default()).await.unwrap();
    assert_eq!(listed.len(), 1);
}

/// Whoever waits for a change is not woken by a group that wrote nothing.
#[tokio::test]
async fn what_changes_nothing_wakes_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let mailboxes = open(dir.path()).unwrap();
    let mut changes = mailboxes.subscribe();
    mailboxes.declare(name(), Policy::default()).await.unwrap();
    mailboxes.append(vec![draft("1")]).await.unwrap();
    assert_eq!(changes.changed().await, [name()]);
    mailboxes.declare(name(), Policy::default()).await.unwrap();
    mailboxes.status().await.unwrap();
    let mut waiting = std::pin::pin!(changes.changed());
    let waker = std::task::Waker::noop();
    let polled = waiting.as_mut().poll(&mut std::task::Context::from_waker(waker));
    assert!(polled.is_pending());
}
