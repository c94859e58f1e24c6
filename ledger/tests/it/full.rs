//! A disk that is full, a program that is in the way, and turns that race.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use ledger::{Ledger, LedgerError, Wrote};
use lifecycle::maintain::build;

use crate::support::{Home, batch, first, many, record, states, turn};

/// A small file system in memory.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount(dir: &Path) -> Option<Small<'_>> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(dir)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Small(dir))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        // What is still open is gone with the last file.
        let _ = Command::new("umount").arg("--lazy").arg(self.0).output();
    }
}

#[test]
fn a_full_disk_is_an_error_that_changes_nothing_and_passes_with_space() {
    let home = Home::new();
    let Some(_small) = Small::mount(home.dir.path()) else {
        println!("skipped: no small file system can be mounted here");
        return;
    };
    let mut ledger = home.open();
    let filler = home.dir.path().join("filler");
    fs::write(&filler, vec![1; 1024 * 1024]).unwrap();
    let mut number = 0;
    let error = loop {
        number += 1;
        assert!(number < 10_000, "the disk is never full");
        let visit = first(&build::ready(&format!("o/r#{number}")).done());
        if let Err(error) = ledger.record(&batch([visit])) {
            break error;
        }
    };
    let file = home.file();
    assert!(
        matches!(error, LedgerError::Full { .. } | LedgerError::Io { .. }),
        "{error:?}"
    );
    assert!(error.may_pass());
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
    assert_eq!(ledger.rows(None).unwrap().len(), number - 1);

    fs::remove_file(&filler).unwrap();
    let visit = first(&build::ready(&format!("o/r#{number}")).done());
    record(&mut ledger, &batch([visit]));
    drop(ledger);
    assert_eq!(home.open().rows(None).unwrap().len(), number);
}

#[test]
fn a_ledger_in_a_folder_that_takes_no_files_is_an_error_with_its_name() {
    let home = Home::new();
    // Also for root, who may write in any folder that is one.
    let file = Path::new("/proc/self/ledger.db");
    let refused = Ledger::open(file).unwrap_err();
    assert_eq!(refused.to_string(), "cannot open /proc/self/ledger.lock");
    drop(home);
}

#[test]
fn b089_of_two_turns_with_one_key_one_is_written() {
    let home = Home::new();
    let ledger = Arc::new(Mutex::new(home.open()));
    for round in 0..20 {
        let start = Arc::new(Barrier::new(2));
        let racers: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|who| {
                let (ledger, start) = (Arc::clone(&ledger), Arc::clone(&start));
                thread::spawn(move || {
                    let mut batch = batch([first(&build::ready(&format!("o/{who}#{}", round + 1)).done())]);
                    batch.turn = turn(&format!("reconciler/m-{round}"));
                    start.wait();
                    ledger.lock().unwrap().record(&batch).unwrap()
                })
            })
            .collect();
        let came_to: Vec<Wrote> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
        assert_eq!(
            came_to.iter().filter(|wrote| **wrote == Wrote::Written).count(),
            1,
            "{came_to:?}"
        );
    }
    assert_eq!(ledger.lock().unwrap().rows(None).unwrap().len(), 20);
}

#[test]
fn a_batch_that_cannot_be_written_whole_leaves_no_trace() {
    let home = Home::new();
    let mut ledger = home.open();
    record(&mut ledger, &batch(many(3).iter().map(first)));
    let before = states(&home.sql());
    let mut unknown = first(&build::ready("o/r#9").done());
    unknown.evidence = None;
    let mut broken = batch([first(&build::ready("o/r#8").done()), unknown]);
    broken.turn = turn("reconciler/m-1");
    assert!(ledger.record(&broken).is_err());
    assert_eq!(states(&home.sql()), before);
    assert_eq!(ledger.outcome("reconciler/m-1").unwrap(), None);
    assert!(ledger.evidence(&broken.visits[0].at).unwrap().is_none());
}
