//! Progress on stderr, for a command that takes longer than a second and has a person before it.

use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a command may be silent.
const SILENCE: Duration = Duration::from_secs(1);

/// How often a sign of life is drawn.
const TICK: Duration = Duration::from_millis(120);

/// What a command is doing. Nothing is shown in its first second, nor where stderr is no terminal; what was
/// shown is gone when this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Dropped with this: the thread that waits for the first second to pass ends then.
    _ended: mpsc::Sender<()>,
}

impl Progress {
    /// Begins, with what is done in a few words.
    pub fn start(doing: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg} {pos}").expect("the template is a constant"),
        );
        bar.set_message(doing);
        let (ended, waits) = mpsc::channel();
        if io::stderr().is_terminal() {
            let shown = bar.clone();
            // Where no thread can be started there is no progress to see, and nothing else is wrong.
            let _no_progress = thread::Builder::new().name("progress".to_owned()).spawn(move || {
                if waits.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                    shown.enable_steady_tick(TICK);
                }
            });
        }
        Self { bar, _ended: ended }
    }

    /// So many are done, of nobody knows how many.
    pub fn count(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// So many of so many are done.
    pub fn at(&self, done: usize, of: usize) {
        if self.bar.length() != u64::try_from(of).ok() {
            self.bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
            self.bar.set_style(
                ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}")
                    .expect("the template is a constant"),
            );
        }
        self.bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }

    /// Takes away what was shown.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
