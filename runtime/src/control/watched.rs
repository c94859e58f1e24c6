//! A connection to a process that may be stopped without ending: one that shows no sign of life breaks.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that fails for good once nothing came in over it for a while, for whoever reads and whoever writes.
///
/// The other end says something at least every [`BEAT`](mailbox::remote::BEAT), so that silence means that it is
/// stopped, and not that nobody asked it anything.
pub(super) struct Watched<S> {
    stream: S,
    /// Who is at the other end, for the error.
    pid: u32,
    patience: Duration,
    silence: Pin<Box<Sleep>>,
    /// Whoever waits to write is woken when the connection breaks.
    writer: Option<Waker>,
    broken: bool,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, pid: u32, patience: Duration) -> Self {
        Self {
            stream,
            pid,
            patience,
            silence: Box::pin(sleep(patience)),
            writer: None,
            broken: false,
        }
    }

    fn error(&self) -> io::Error {
        let (pid, seconds) = (self.pid, self.patience.as_secs_f64());
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("process {pid} has shown no sign of life for {seconds} s; is it stopped?"),
        )
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.broken {
            return Poll::Ready(Err(this.error()));
        }
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, into) {
            this.silence.as_mut().reset(Instant::now() + this.patience);
            return Poll::Ready(read);
        }
        ready!(this.silence.as_mut().poll(cx));
        this.broken = true;
        if let Some(writer) = this.writer.take() {
            writer.wake();
        }
        Poll::Ready(Err(this.error()))
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn write<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.broken {
            return Poll::Ready(Err(self.error()));
        }
        let wrote = write(Pin::new(&mut self.stream), cx);
        if wrote.is_pending() {
            self.writer = Some(cx.waker().clone());
        }
        wrote
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx, |stream, cx| stream.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};

    use super::*;

    #[tokio::test]
    async fn silence_breaks_it_for_who_reads_and_who_writes() {
        let (near, mut far) = duplex(8);
        let (mut reader, mut writer) = split(Watched::new(near, 7, Duration::from_millis(100)));
        let mut byte = [0];
        far.write_all(b"x").await.unwrap();
        reader.read_exact(&mut byte).await.unwrap();
        // More than the other end takes: the writer waits too.
        let (read, wrote) = tokio::join!(reader.read_exact(&mut byte), writer.write_all(&[0; 100]));
        let error = read.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(
            error.to_string(),
            "process 7 has shown no sign of life for 0.1 s; is it stopped?"
        );
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // It is over for good, whatever comes then.
        far.write_all(b"x").await.unwrap();
        assert!(reader.read_exact(&mut byte).await.is_err());
        assert!(writer.write_all(b"x").await.is_err());
    }
}
