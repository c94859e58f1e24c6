//! The files of a ledger: who may open them, and what is left of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ledger::{Ledger, OpenError, Reader};
use lifecycle::maintain::build;

use crate::support::{Home, batch, first, listing, many, record};

fn names(home: &Home) -> Vec<String> {
    listing(home.dir.path()).into_iter().map(|file| file.0).collect()
}

#[test]
fn a_ledger_is_private_and_one_file_beside_its_lock_when_nobody_writes_it() {
    let home = Home::new();
    let mut ledger = home.open();
    record(&mut ledger, &batch([first(&build::ready("o/r#7").done())]));
    drop(ledger);
    assert_eq!(names(&home), ["ledger.db", "ledger.lock"]);
    for file in [ledger::FILE, "ledger.lock"] {
        let found = fs::metadata(home.dir.path().join(file)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{file}");
    }
    let mode: String = home
        .sql()
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn where_there_is_no_ledger_a_reader_finds_none_and_makes_none() {
    let home = Home::new();
    assert!(Reader::open(&home.file()).unwrap().is_none());
    assert!(
        Reader::open(&home.dir.path().join("no/such/folder/ledger.db"))
            .unwrap()
            .is_none()
    );
    assert_eq!(names(&home), Vec::<String>::new());
}

#[test]
fn a_reader_alone_touches_no_file() {
    let home = Home::new();
    let mut ledger = home.open();
    record(&mut ledger, &batch(many(50).iter().map(first)));
    drop(ledger);
    let before = listing(home.dir.path());
    let reader = home.reader();
    assert_eq!(reader.rows(None).unwrap().len(), 50);
    assert_eq!(listing(home.dir.path()), before);
    drop(reader);
    assert_eq!(listing(home.dir.path()), before);
}

#[test]
fn a_reader_sees_what_a_writer_commits_before_beside_and_after_it() {
    let home = Home::new();
    drop(home.open());
    let early = home.reader();
    let count = |reader: &Reader| reader.rows(None).unwrap().len();
    assert_eq!(count(&early), 0);

    let mut ledger = home.open();
    let beside = home.reader();
    for number in 1..=5 {
        let visit = first(&build::ready(&format!("o/r#{number}")).done());
        record(&mut ledger, &batch([visit]));
        assert_eq!((count(&early), count(&beside)), (number, number));
    }
    drop(ledger);
    assert_eq!((count(&early), count(&beside)), (5, 5));

    let mut ledger = home.open();
    record(&mut ledger, &batch([first(&build::ready("o/r#6").done())]));
    assert_eq!((count(&early), count(&beside), count(&home.reader())), (6, 6, 6));
}

#[test]
fn a_second_writer_is_refused_in_words() {
    let home = Home::new();
    let ledger = home.open();
    let refused = Ledger::open(&home.file()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} is being written by process {}",
            home.file().display(),
            std::process::id()
        )
    );
    assert!(matches!(refused, OpenError::Held { .. }));
    drop(ledger);
    home.open();
}

#[test]
fn what_is_no_ledger_is_refused_by_name_and_left_alone() {
    let home = Home::new();
    let file = home.file();
    let sqlite = {
        let conn = home.sql();
        conn.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
            .unwrap();
        drop(conn);
        fs::read(&file).unwrap()
    };
    for (bytes, why) in [
        (b"# notes\n".to_vec(), "it is not a SQLite database"),
        (vec![0; 4096], "it is not a SQLite database"),
        (sqlite, "it is a SQLite database of something else"),
    ] {
        fs::write(&file, &bytes).unwrap();
        let before = listing(home.dir.path());
        let expected = format!("{} is no ledger: {why}", file.display());
        assert_eq!(Ledger::open(&file).unwrap_err().to_string(), expected);
        assert_eq!(Reader::open(&file).unwrap_err().to_string(), expected);
        assert_eq!(listing(home.dir.path()), before);
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let refused = Ledger::open(&file).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("{} is no ledger: it is a folder", file.display())
    );
}

#[test]
fn a_ledger_of_a_newer_version_is_refused_untouched() {
    let home = Home::new();
    let file = home.file();
    drop(home.open());
    home.sql().pragma_update(None, "user_version", 2).unwrap();
    let (bytes, before) = (fs::read(&file).unwrap(), listing(home.dir.path()));
    for refused in [Ledger::open(&file).unwrap_err(), Reader::open(&file).unwrap_err()] {
        assert_eq!(
            refused.to_string(),
            format!(
                "{} is a ledger of version 2; this program knows versions up to 1",
                file.display()
            )
        );
    }
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert_eq!(listing(home.dir.path()), before);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = Home::new();
    let file = home.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = Ledger::open(&file.join("home").join(ledger::FILE)).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with(&format!("cannot open {}", file.join("home").display())),
        "{refused}"
    );
}

#[test]
fn an_empty_file_becomes_a_ledger() {
    let home = Home::new();
    fs::write(home.file(), "").unwrap();
    assert!(Reader::open(&home.file()).unwrap().is_none());
    assert_eq!(home.open().rows(None).unwrap(), []);
}

#[test]
fn a_reader_needs_no_right_to_write_in_the_folder() {
    let home = Home::new();
    record(&mut home.open(), &batch([first(&build::ready("o/r#7").done())]));
    let mode = |mode| fs::set_permissions(home.dir.path(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    fs::set_permissions(home.file(), fs::Permissions::from_mode(0o400)).unwrap();
    let seen = home.reader().rows(None).unwrap();
    mode(0o700);
    assert_eq!(seen.len(), 1);
}

#[test]
fn a_copy_of_the_file_alone_is_a_ledger_to_read_and_to_write() {
    let home = Home::new();
    record(&mut home.open(), &batch([first(&build::ready("o/r#7").done())]));
    let copy = Home::new();
    // Also under a name that means something in an address.
    let file = copy.dir.path().join("a copy?mode=%41#.db");
    fs::copy(home.file(), &file).unwrap();
    let reader = Reader::open(&file).unwrap().unwrap();
    assert_eq!(reader.rows(None).unwrap().len(), 1);
    let ledger = Ledger::open(&file).unwrap();
    assert_eq!(ledger.rows(None).unwrap().len(), 1);
}

#[test]
fn a_reader_says_when_the_ledger_was_moved_away() {
    let home = Home::new();
    drop(home.open());
    let reader = home.reader();
    fs::rename(home.file(), home.dir.path().join("away.db")).unwrap();
    assert_eq!(
        reader.rows(None).unwrap_err().to_string(),
        format!(
            "{} is not the ledger any more that was opened: it is not there any more",
            home.file().display()
        )
    );
    let mut ledger = home.open();
    record(&mut ledger, &batch([first(&build::ready("o/r#7").done())]));
    assert_eq!(reader.rows(None).unwrap().len(), 1, "a new one is read");
}

#[test]
fn an_open_ledger_in_memory_is_empty() {
    let reader = Reader::empty().unwrap();
    assert_eq!(reader.rows(None).unwrap(), []);
    assert_eq!(reader.epoch().unwrap().0, 1);
}

/// Not a test of a promise but its figures: `cargo test -p ledger -- --ignored --nocapture figures`.
#[test]
#[ignore = "figures for a person"]
fn figures() {
    let home = Home::new();
    let mut ledger = home.open();
    let timed = |what: &str, work: &mut dyn FnMut() -> usize| {
        let start = std::time::Instant::now();
        let count = work();
        println!("{what}: {count} in {:?}", start.elapsed());
    };
    let visits: Vec<_> = many(11_236).iter().map(first).collect();
    let (first_pass, rest) = visits.split_at(1_236);
    timed("record", &mut || {
        record(&mut ledger, &batch(first_pass.iter().cloned())).states as usize
    });
    timed("record again", &mut || {
        let again = first_pass.iter().cloned().map(|mut visit| {
            visit.transitions.clear();
            visit
        });
        record(&mut ledger, &batch(again)).states as usize
    });
    record(&mut ledger, &batch(rest.iter().cloned()));
    let repo = "o/r".parse().unwrap();
    let reader = home.reader();
    for seen in [&*ledger, &reader] {
        timed("rows", &mut || seen.rows(None).unwrap().len());
        let now = pulls::build::now();
        timed("due", &mut || seen.due(&repo, now, 2_000).unwrap().len());
        timed("pending", &mut || seen.pending(&repo).unwrap().len());
        timed("cards", &mut || seen.cards(None).unwrap().len());
        timed("newest evidence", &mut || {
            seen.evidence_since(None).unwrap().len()
        });
        timed("row by row", &mut || {
            visits
                .iter()
                .filter(|visit| seen.row(&visit.at).unwrap().is_some())
                .count()
        });
    }
}
