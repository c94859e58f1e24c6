//! The mirror among programs and files that do what they like. All of it is harmless.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use mailbox::mirror::{Mirror, Rules};
use mailbox::rotation::{Rotation, earlier};
use mailbox::{Clock, Draft, Filter, Mailboxes, Message, Seq, SystemClock};

use super::{FOREIGN, Lab, ids, sync, take_in, write};
use crate::full::Small;
use crate::{draft, draft_of, name};

/// Tells a child which file to append to, and how its ids begin.
const FILE: &str = "MAILBOX_MIRROR_FILE";
const NAME: &str = "MAILBOX_MIRROR_NAME";
/// Lines of one child.
const LINES: usize = 5_000;

fn foreign(id: &str) -> String {
    format!("{}\n", FOREIGN.replace("foreign-1", id))
}

/// Whatever became of a line that was torn, those before and after it are taken in, each once.
#[tokio::test]
async fn a_line_torn_at_any_byte_harms_no_other() {
    let whole = foreign("torn");
    for end in 0..whole.len() {
        let lab = Lab::new().await;
        lab.send("ours").await;
        let (mut mirror, _) = lab.open().await;
        write(&lab.file(), &(foreign("before") + &whole[..end]));
        lab.settle(&mut mirror).await;
        // Its writer died. The next message ends the line, and so may another program.
        if end % 2 == 0 {
            lab.send("next").await;
        } else {
            write(&lab.file(), "\n");
        }
        lab.settle(&mut mirror).await;
        write(&lab.file(), &foreign("after"));
        lab.settle(&mut mirror).await;
        mirror.close().await.unwrap();
        let (_, said) = lab.settled().await;
        assert!(said.is_empty(), "{end}: {said:?}");
        let mut found = lab.ids().await;
        found.retain(|id| id != "next");
        let complete = end == whole.len() - 1;
        let expected = if complete {
            vec!["ours", "before", "torn", "after"]
        } else {
            vec!["ours", "before", "after"]
        };
        assert_eq!(found, expected, "{end}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_lines_of_ours_are_reported_and_skipped() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"\xff\xfe\x00\n");
    bytes.extend_from_slice(&[0; 5_000]);
    bytes.push(b'\n');
    bytes.extend_from_slice(b"\r\n\n  \n");
    bytes.extend_from_slice(foreign("unix").as_bytes());
    bytes.extend_from_slice(foreign("windows").replace('\n', "\r\n").as_bytes());
    bytes.extend_from_slice(foreign("nul\\u0000").as_bytes());
    bytes.extend_from_slice(foreign("raw").replace("Ada", "A\0da").as_bytes());
    bytes.extend_from_slice("\u{feff}".as_bytes());
    bytes.extend_from_slice(foreign("marked").as_bytes());
    bytes.extend_from_slice(foreign("last").as_bytes());
    fs::write(lab.file(), &bytes).unwrap();
    fs::write(lab.acks(), &bytes).unwrap();
    let said = lab.settle(&mut mirror).await;
    assert_eq!(lab.ids().await, ["unix", "windows", "last"]);
    // Five of the lines are no messages, and none is an ack.
    assert_eq!(said.len(), 3 + 5 + 8, "{said:#?}");
    // What was taken in has its line; nothing is said twice.
    mirror.close().await.unwrap();
    assert!(lab.settled().await.1.is_empty());
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_is_passed_over() {
    let mut lab = Lab::new().await;
    lab.rules.rotation.size = u64::MAX;
    let (mut mirror, _) = lab.open().await;
    let mut file = File::create(lab.file()).unwrap();
    let piece = vec![b'x'; 1024 * 1024];
    for at in 0..100 {
        file.write_all(&piece).unwrap();
        if at % 25 == 0 {
            assert!(sync(&mut mirror).await.is_empty());
        }
    }
    // Meanwhile the mailbox has a message, whose line ends the long one.
    lab.send("ours").await;
    let mut said = lab.settle(&mut mirror).await;
    write(&lab.file(), &foreign("theirs"));
    said.extend(lab.settle(&mut mirror).await);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("1 longer than"), "{said:?}");
    assert_eq!(lab.ids().await, ["ours", "theirs"]);
    mirror.close().await.unwrap();
    assert!(lab.settled().await.1.is_empty());
}

/// What is no file is in trouble alone: the acks and the other mailboxes go on, and so does it when it is a file again.
#[tokio::test]
async fn a_file_that_is_replaced_by_something_else_holds_up_no_other() {
    type Replace = fn(&Path);
    let cases: [(&str, Replace); 4] = [
        ("directory", |path| fs::create_dir(path).unwrap()),
        ("pipe", |path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("link to a device", |path| symlink("/dev/zero", path).unwrap()),
        ("link to itself", |path| symlink(path, path).unwrap()),
    ];
    for (what, replace) in cases {
        let lab = Lab::new().await;
        let other = "other".parse().unwrap();
        lab.mailboxes
            .declare(other, mailbox::Policy::default())
            .await
            .unwrap();
        let (mut mirror, _) = lab.open().await;
        lab.send("a").await;
        lab.settle(&mut mirror).await;
        fs::remove_file(lab.file()).unwrap();
        replace(&lab.file());
        lab.send("b").await;
        lab.handle_one("greeted").await;
        write(&lab.dir.path().join("other.jsonl"), &foreign("theirs"));
        for _ in 0..2 {
            let synced = mirror.sync().await.unwrap();
            assert_eq!(synced.behind.len(), 1, "{what}: {:?}", synced.behind);
            let said = synced.behind[0].to_string();
            assert!(said.contains("greeter.jsonl"), "{what}: {said}");
            take_in(&lab.mailboxes, synced.intake).await;
        }
        assert_eq!(ids(&lab.acks()), ["a"], "{what}");
        let status = lab.mailboxes.status().await.unwrap();
        assert_eq!(
            status.iter().map(|status| status.total).collect::<Vec<_>>(),
            [2, 1],
            "{what}"
        );
        match fs::symlink_metadata(lab.file()).unwrap().is_dir() {
            true => fs::remove_dir(lab.file()).unwrap(),
            false => fs::remove_file(lab.file()).unwrap(),
        }
        lab.settle(&mut mirror).await;
        assert_eq!(ids(&lab.file()), ["b"], "{what}");
    }
}

#[tokio::test]
async fn a_link_to_a_file_is_followed_and_never_cut() {
    let mut lab = Lab::new().await;
    lab.rules.rotation = Rotation {
        size: 1,
        ..Rotation::default()
    };
    let elsewhere = lab.dir.path().join("elsewhere");
    fs::write(&elsewhere, foreign("theirs")).unwrap();
    symlink(&elsewhere, lab.file()).unwrap();
    let (mut mirror, said) = lab.settled().await;
    assert_eq!(said, ["1 message theirs"]);
    lab.send("ours").await;
    lab.settle(&mut mirror).await;
    assert_eq!(ids(&elsewhere), ["theirs", "ours"]);
    assert!(earlier(&lab.file()).unwrap().is_empty());
}

#[tokio::test]
async fn the_folder_may_go_while_it_runs_and_what_is_made_is_the_owners_alone() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    lab.send("a").await;
    lab.settle(&mut mirror).await;
    fs::remove_dir_all(lab.dir.path()).unwrap();
    lab.send("b").await;
    lab.handle_one("greeted").await;
    lab.settle(&mut mirror).await;
    assert_eq!(ids(&lab.file()), ["b"]);
    mirror.close().await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(lab.dir.path()), 0o700);
    for file in [lab.file(), lab.acks(), lab.dir.path().join(".position.json")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

/// Not a test: a program that appends to a file of the mirror.
#[test]
#[ignore = "the program that another test of this file starts"]
fn the_other_program() {
    let (Ok(file), Ok(name)) = (std::env::var(FILE), std::env::var(NAME)) else {
        return;
    };
    let mut file = File::options().append(true).create(true).open(file).unwrap();
    for n in 0..LINES {
        // Some lines are longer than a page of memory.
        let id = format!("{name}-{n}");
        let line = foreign(&id).replace("Ada", &"Ada ".repeat(1 + 500 * usize::from(n % 50 == 0)));
        file.write_all(line.as_bytes()).unwrap();
    }
}

fn start(file: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mirror::stress::the_other_program", "--ignored"])
        .env(FILE, file)
        .env(NAME, name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Two programs append thousands of lines each while the mailbox writes its own to the same file, and the file is cut
/// all the while: they write on to pieces that have lost the name.
#[tokio::test]
async fn two_programs_append_at_once_and_every_line_is_taken_in_once() {
    let mut lab = Lab::new().await;
    lab.rules.rotation.size = 10_000;
    let (mut mirror, _) = lab.open().await;
    lab.send("ours-0").await;
    sync(&mut mirror).await;
    let mut others = [start(&lab.file(), "a"), start(&lab.file(), "b")];
    let mut ours = 1;
    let mut said = Vec::new();
    loop {
        let ended = others.iter_mut().all(|other| other.try_wait().unwrap().is_some());
        for _ in 0..20 {
            lab.send(&format!("ours-{ours}")).await;
            ours += 1;
        }
        said.extend(take_in(&lab.mailboxes, sync(&mut mirror).await).await);
        if ended {
            break;
        }
    }
    said.extend(lab.settle(&mut mirror).await);
    // The last lines may be in a piece that was cut twice since: a start looks at all of them.
    mirror.close().await.unwrap();
    said.extend(lab.settled().await.1);
    assert!(
        said.iter().all(|said| said.contains(" message ")),
        "a line was torn: {said:?}"
    );
    let mut found = lab.ids().await;
    found.sort();
    let all = [("a", LINES), ("b", LINES), ("ours", ours)];
    let mut expected: Vec<String> = all
        .iter()
        .flat_map(|(name, count)| (0..*count).map(move |n| format!("{name}-{n}")))
        .collect();
    expected.sort();
    assert_eq!(found.len(), expected.len());
    assert_eq!(found, expected);
    // And every line is in the files once.
    let mut pieces = earlier(&lab.file()).unwrap();
    assert!(!pieces.is_empty());
    pieces.push(lab.file());
    let mut lines: Vec<String> = pieces
        .iter()
        .filter(|piece| piece.exists())
        .flat_map(|piece| ids(piece))
        .collect();
    lines.sort();
    assert_eq!(lines, expected);
}

/// A disk that is full while the mirror is written: what is missing follows when there is room, and nothing twice.
#[tokio::test]
async fn a_full_disk_is_said_and_made_up_for() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path()) else {
        println!("skipped: no small file system can be mounted here");
        return;
    };
    let mailboxes = Mailboxes::open_memory(Arc::new(SystemClock::start()));
    let folder = small.0.join("inbox");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mut mirror = Mirror::new(&folder, mailboxes.clone(), Arc::clone(&clock), Rules::default());
    mailboxes.append(vec![draft("first")]).await.unwrap();
    sync(&mut mirror).await;
    let filler = small.0.join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[1; 64 * 1024]).is_ok() {}
    while file.write_all(&[1; 64]).is_ok() {}
    let drafts: Vec<Draft> = (0..200).map(|n| draft_of(&format!("m-{n}"), 1_000)).collect();
    mailboxes.append(drafts).await.unwrap();
    for round in 0..3 {
        let synced = mirror.sync().await.unwrap();
        assert!(synced.intake.is_empty(), "{:?}", synced.intake);
        // After the first a part of a line may be there, which is left alone for a moment.
        assert!(
            !synced.behind.is_empty() || (round > 0 && synced.waits),
            "{round}"
        );
        let said = synced
            .behind
            .iter()
            .all(|behind| behind.to_string().contains("No space left"));
        assert!(said, "{:?}", synced.behind);
    }
    drop(file);
    fs::remove_file(&filler).unwrap();
    while mirror.sync().await.unwrap().waits {
        tokio::task::yield_now().await;
    }
    sync(&mut mirror).await;
    let mut expected = vec!["first".to_owned()];
    expected.extend((0..200).map(|n| format!("m-{n}")));
    assert_eq!(ids(&folder.join("greeter.jsonl")), expected);
    mirror.close().await.unwrap();
    let mut mirror = Mirror::new(&folder, mailboxes.clone(), clock, Rules::default());
    assert!(sync(&mut mirror).await.is_empty());
    assert_eq!(ids(&folder.join("greeter.jsonl")).len(), 201);
    let page = mailboxes
        .envelopes(&name(), Filter::all().after(Seq(200)))
        .await
        .unwrap();
    assert_eq!(
        page[0].message,
        Message::parse(draft_of("m-199", 1_000).message.line().as_bytes()).unwrap()
    );
}
