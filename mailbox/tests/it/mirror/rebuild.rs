//! The files built anew from the mailbox.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use mailbox::mirror::rebuild;
use mailbox::rotation::Rotation;

use super::{FOREIGN, Lab, ids, sync, take_in, write};

#[tokio::test]
async fn the_files_are_built_anew_and_what_others_wrote_is_not_lost() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    for id in ["a", "b", "c"] {
        lab.send(id).await;
    }
    lab.handle_one("greeted").await;
    sync(&mut mirror).await;
    fs::write(lab.file(), "spoilt\n").unwrap();
    fs::remove_file(lab.acks()).unwrap();
    write(&lab.file(), &format!("{FOREIGN}\n"));
    let mut late = fs::OpenOptions::new().append(true).open(lab.file()).unwrap();

    let rebuilt = rebuild(lab.dir.path(), &lab.mailboxes).await.unwrap();
    assert_eq!((rebuilt.messages, rebuilt.acks), (3, 1));
    assert_eq!(ids(&lab.file()), ["a", "b", "c"]);
    assert_eq!(ids(&lab.acks()), ["a"]);
    for file in [lab.file(), lab.acks()] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    // Another program has the old file open and goes on writing to it.
    use std::io::Write as _;
    late.write_all(format!("{}\n", FOREIGN.replace("foreign-1", "foreign-2")).as_bytes())
        .unwrap();
    let intake = sync(&mut mirror).await;
    let said = take_in(&lab.mailboxes, intake).await;
    for id in ["foreign-1", "foreign-2"] {
        assert!(
            said.iter().any(|said| said.ends_with(&format!("message {id}"))),
            "{said:?}"
        );
    }
    // The next messages follow in the new file.
    lab.send("d").await;
    sync(&mut mirror).await;
    let now = ids(&lab.file());
    assert_eq!(now[..3], ["a", "b", "c"]);
    assert_eq!(now.iter().filter(|id| *id == "d").count(), 1);

    // Built anew once more it is the mailbox, in its order.
    rebuild(lab.dir.path(), &lab.mailboxes).await.unwrap();
    assert_eq!(ids(&lab.file()), ["a", "b", "c", "foreign-1", "foreign-2", "d"]);
}

#[tokio::test]
async fn what_stands_in_an_earlier_piece_is_not_written_again() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    lab.send("a").await;
    sync(&mut mirror).await;
    let small = Rotation {
        size: 1,
        ..Rotation::default()
    };
    let piece = small
        .rotate(&lab.file(), std::time::SystemTime::now())
        .unwrap()
        .unwrap();
    lab.send("b").await;
    let rebuilt = rebuild(lab.dir.path(), &lab.mailboxes).await.unwrap();
    assert_eq!(rebuilt.messages, 1);
    assert_eq!(ids(&piece), ["a"]);
    assert_eq!(ids(&lab.file()), ["b"]);
}

#[tokio::test]
async fn what_a_killed_process_left_is_no_obstacle() {
    let lab = Lab::new().await;
    lab.send("a").await;
    drop(lab.open().await);
    rebuild(lab.dir.path(), &lab.mailboxes).await.unwrap();
    // Killed before the new file took its place: the second names of the old one are there.
    for name in [".greeter.jsonl.old", ".greeter.jsonl.new"] {
        fs::hard_link(lab.file(), lab.dir.path().join(name)).unwrap();
    }
    fs::rename(
        lab.dir.path().join(".greeter.jsonl.old"),
        lab.dir.path().join("greeter.jsonl.replaced"),
    )
    .unwrap();
    fs::hard_link(lab.file(), lab.dir.path().join(".greeter.jsonl.old")).unwrap();
    rebuild(lab.dir.path(), &lab.mailboxes).await.unwrap();
    assert_eq!(ids(&lab.file()), ["a"]);
    let mut names: Vec<String> = fs::read_dir(lab.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "_acks.jsonl",
            "_acks.jsonl.replaced",
            "greeter.jsonl",
            "greeter.jsonl.replaced"
        ]
    );
}
