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

/// Stores on the disk, each in a folder that goes with the next one.
#[derive(Default)]
pub struct OnDisk {
    dir: Option<tempfile::TempDir>,
}

impl Fixture for OnDisk {
    type Store = DiskStore;

    fn fresh(&mut self) -> DiskStore {
        let dir = self.dir.insert(tempfile::tempdir().unwrap());
        DiskStore::open(dir.path()).unwrap()
    }

    fn reopen(&mut self, store: DiskStore) -> DiskStore {
        drop(store);
        DiskStore::open(self.dir.as_ref().unwrap().path()).unwrap()
    }
}

#[tokio::test]
async fn the_store_in_memory_conforms() {
    conformance::all(&mut InMemory).await;
}

#[tokio::test]
async fn the_store_on_the_disk_conforms() {
    conformance::all(&mut OnDisk::default()).await;
}
