//! Files that are cut, and what others write to them meanwhile.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use mailbox::rotation::{Rotation, earlier};

use super::{FOREIGN, Lab, ids, sync, take_in, write};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that is cut after every round in which something was written.
async fn always_cut() -> Lab {
    let mut lab = Lab::new().await;
    lab.rules.rotation = Rotation {
        size: 1,
        keep: 90 * DAY,
    };
    lab
}

fn foreign(id: &str) -> String {
    format!("{}\n", FOREIGN.replace("foreign-1", id))
}

fn append_to(path: PathBuf) -> File {
    File::options().append(true).open(path).unwrap()
}

/// Every id in the file and its earlier pieces, in their order.
fn all_ids(lab: &Lab) -> Vec<String> {
    let mut all: Vec<String> = earlier(&lab.file())
        .unwrap()
        .iter()
        .flat_map(|piece| ids(piece))
        .collect();
    if lab.file().exists() {
        all.extend(ids(&lab.file()));
    }
    all
}

#[tokio::test]
async fn a_full_file_is_cut_and_every_line_is_in_one_piece() {
    let lab = always_cut().await;
    let (mut mirror, _) = lab.open().await;
    for id in ["a", "b", "c"] {
        lab.send(id).await;
        lab.handle_one("greeted").await;
        lab.settle(&mut mirror).await;
    }
    assert_eq!(all_ids(&lab), ["a", "b", "c"]);
    assert_eq!(earlier(&lab.file()).unwrap().len(), 3);
    assert_eq!(earlier(&lab.acks()).unwrap().len(), 3);
    assert!(!lab.file().exists());
    mirror.close().await.unwrap();
    // A start writes nothing again, though the file is not there.
    let (mirror, said) = lab.settled().await;
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(all_ids(&lab), ["a", "b", "c"]);
    drop(mirror);
}

#[tokio::test]
async fn who_has_the_old_file_open_loses_no_line() {
    let lab = always_cut().await;
    let (mut mirror, _) = lab.open().await;
    write(&lab.file(), &foreign("first"));
    // Other programs opened the file before each of two cuts, and write whenever they like.
    let mut oldest = append_to(lab.file());
    lab.settle(&mut mirror).await;
    write(&lab.file(), &foreign("second"));
    let mut older = append_to(lab.file());
    lab.settle(&mut mirror).await;
    assert_eq!(earlier(&lab.file()).unwrap().len(), 2);
    older.write_all(foreign("to-the-last").as_bytes()).unwrap();
    assert_eq!(lab.settle(&mut mirror).await, ["2 message to-the-last"]);
    // Half a line, the process ends, the other half.
    let line = foreign("in-two-parts");
    older.write_all(&line.as_bytes()[..30]).unwrap();
    lab.settle(&mut mirror).await;
    mirror.close().await.unwrap();
    older.write_all(&line.as_bytes()[30..]).unwrap();
    oldest.write_all(foreign("to-the-oldest").as_bytes()).unwrap();
    let (mut mirror, said) = lab.settled().await;
    assert_eq!(said, ["2 message to-the-oldest", "3 message in-two-parts"]);
    // The piece before the last is looked at with the next cut.
    oldest.write_all(foreign("once-more").as_bytes()).unwrap();
    write(&lab.file(), &foreign("third"));
    lab.settle(&mut mirror).await;
    assert_eq!(
        lab.ids().await,
        [
            "first",
            "second",
            "to-the-last",
            "to-the-oldest",
            "in-two-parts",
            "third",
            "once-more"
        ]
    );
}

#[tokio::test]
async fn killed_right_after_the_cut_nothing_is_lost_and_nothing_is_there_twice() {
    let lab = always_cut().await;
    lab.send("a").await;
    let (mirror, _) = lab.settled().await;
    mirror.close().await.unwrap();
    lab.send("b").await;
    let (mirror, _) = lab.settled().await;
    // It is cut by now, and how far the mirror was is not kept.
    drop(mirror);
    let last = earlier(&lab.file()).unwrap().pop().unwrap();
    write(&last, &foreign("tail"));
    let (mirror, said) = lab.settled().await;
    assert_eq!(said, ["2 message tail"]);
    drop(mirror);
    assert_eq!(all_ids(&lab), ["a", "b", "tail"]);
    // Killed before anything was ever kept: all pieces are read, and nothing in them is written again.
    fs::remove_file(lab.dir.path().join(".position.json")).unwrap();
    let (_, said) = lab.settled().await;
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(all_ids(&lab), ["a", "b", "tail"]);
    assert_eq!(lab.ids().await, ["a", "b", "tail"]);
}

#[tokio::test]
async fn pieces_go_when_nothing_in_them_is_to_be_kept() {
    let lab = always_cut().await;
    let (mut mirror, _) = lab.open().await;
    for id in ["a", "b"] {
        lab.send(id).await;
        lab.settle(&mut mirror).await;
    }
    let pieces = earlier(&lab.file()).unwrap();
    // One more line in the older one, which is read before it goes.
    write(&pieces[0], &foreign("late"));
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(mailbox::Clock::now(&*lab.clock).as_millis());
    append_to(pieces[0].clone()).set_modified(now - 91 * DAY).unwrap();
    append_to(pieces[1].clone()).set_modified(now - 89 * DAY).unwrap();
    lab.send("c").await;
    let said = lab.settle(&mut mirror).await;
    assert_eq!(said, ["2 message late"]);
    assert!(!pieces[0].exists());
    assert!(pieces[1].exists());
    lab.send("d").await;
    lab.settle(&mut mirror).await;
    assert_eq!(all_ids(&lab), ["b", "c", "d"]);
}

#[tokio::test]
async fn an_old_file_is_cut_though_it_is_small() {
    let lab = Lab::new().await;
    if fs::metadata(lab.dir.path()).unwrap().created().is_err() {
        println!("skipped: this file system does not know when a file was made");
        return;
    }
    let (mut mirror, _) = lab.open().await;
    lab.send("a").await;
    sync(&mut mirror).await;
    let made = fs::metadata(lab.file()).unwrap().created().unwrap();
    let made = made.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let now = Duration::from_millis(mailbox::Clock::now(&*lab.clock).as_millis());
    lab.clock.advance(made + 29 * DAY - now);
    sync(&mut mirror).await;
    assert!(earlier(&lab.file()).unwrap().is_empty());
    lab.clock.advance(2 * DAY);
    sync(&mut mirror).await;
    assert_eq!(earlier(&lab.file()).unwrap().len(), 1);
    lab.send("b").await;
    let intake = sync(&mut mirror).await;
    assert!(take_in(&lab.mailboxes, intake).await.is_empty());
    assert_eq!(all_ids(&lab), ["a", "b"]);
}
