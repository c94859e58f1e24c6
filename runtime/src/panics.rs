//! Panics: one log event each, with the place; and a turn that panics is a turn that failed.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

thread_local! {
    /// Where this thread panicked last. The hook runs on the thread that panics, before it unwinds.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic is one `tracing` event with its place, and no text on stderr of its own. Calling it again
/// changes nothing.
pub fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let place = info
                .location()
                .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
            tracing::error!(%place, "panic: {}", text(info.payload()));
            PLACE.with(|last| *last.borrow_mut() = Some(place));
        }));
    });
}

/// Runs a future to its end, or to its panic, which comes back as text.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    std::future::poll_fn(move |context| {
        // What the future leaves half changed is thrown away by whoever is told of the panic.
        match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => Poll::Ready(Err(describe(payload.as_ref()))),
        }
    })
    .await
}

/// Runs a function to its end, or to its panic, which comes back as text.
pub(crate) fn caught_now<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| describe(payload.as_ref()))
}

fn describe(payload: &(dyn Any + Send)) -> String {
    match PLACE.with(|last| last.borrow_mut().take()) {
        Some(place) => format!("panicked at {place}: {}", text(payload)),
        None => format!("panicked: {}", text(payload)),
    }
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}
