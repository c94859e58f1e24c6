//! Both stores, for the suites that every store passes.

use mailbox::conformance::{self, Fixture};
use mailbox::store::{DiskStore, MemoryStore};

/// Stores in memory.
pub struct InMemory;

impl Fixture for InMemory {
    type Store = MemoryStore;

    fn fresh(&mut self) -> MemoryStore {
        MemoryStore::default()
    }

    fn reopen(&mut self, store: MemoryStore) -> MemoryStore {
        store
    }
}

/// Tails of the journal: as they are by default, so small that they often move on, and none.
const TAILS: [u64; 3] = [2 * 1024 * 1024, 4 * 1024, 0];

/// Stores on the disk, each in a folder that goes with the next one.
#[derive(Default)]
pub struct OnDisk {
    dir: Option<tempfile::TempDir>,
    opened: usize,
}

impl OnDisk {
    fn open(&mut self) -> DiskStore {
        let dir = self.dir.as_ref().unwrap().path();
        self.opened += 1;
        DiskStore::with_tail(dir, TAILS[self.opened % TAILS.len()]).unwrap()
    }
}

impl Fixture for OnDisk {
    type Store = DiskStore;

    fn fresh(&mut self) -> DiskStore {
        self.dir = Some(tempfile::tempdir().unwrap());
        self.open()
    }

    fn reopen(&mut self, store: DiskStore) -> DiskStore {
        drop(store);
        self.open()
    }
}

#[tokio::test]
async fn the_store_in_memory_conforms() {
    conformance::all(&mut InMemory).await;
}

#[tokio::test]
async fn the_store_on_the_disk_conforms() {
    let mut stores = OnDisk::default();
    // Each check meets each tail.
    for first in 0..TAILS.len() {
        stores.opened = first;
        conformance::all(&mut stores).await;
    }
}
