//! SIGINT and SIGTERM: the first asks the program to stop, the second ends it.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure, say};

/// Hears both signals from its making on; until then each ends the process.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Begins to listen.
    pub fn listen() -> Result<Self, Failure> {
        let hear = |kind| {
            signal(kind)
                .map_err(|error| Failure::new(Exit::Other, "cannot listen for signals").because(error))
        };
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
        })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for `work`; the next signal ends the process at once instead. What was in hand is unread again at
    /// the next start.
    pub async fn or_exit<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            done = work => done,
            () = self.next() => {
                say("sweep: stopped at once; what was in hand is unread again at the next start");
                std::process::exit(i32::from(Exit::Other.code()));
            }
        }
    }
}
