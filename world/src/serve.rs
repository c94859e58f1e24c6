//! A world behind a port of the loopback interface.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::faults::Faults;
use crate::graph::World;
use crate::hub::{Hub, Logged};
use crate::respond::respond;

/// The token that a served world takes.
pub const TOKEN: &str = "world-token";

/// A world that answers over HTTP, until this is dropped.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use world::{PullSpec, World};
///
/// let served = World::builder("2026-05-14T17:45:00Z").pull(PullSpec::new("o/r", 7)).build().serve().await?;
/// assert!(served.api_url().starts_with("http://127.0.0.1:"));
/// served.edit(|world| world.merge(("o/r", 7)))?;
/// assert!(served.log().is_empty(), "nobody asked anything yet");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Served {
    hub: Arc<Hub>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl World {
    /// Serves the world on a free port of 127.0.0.1, in a task of the current tokio runtime.
    pub async fn serve(self) -> io::Result<Served> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let hub = Arc::new(Hub::new(self, address));
        let app = Router::new().fallback(respond).with_state(Arc::clone(&hub));
        let service = app.into_make_service_with_connect_info::<Wire>();
        let mut closing = hub.closing();
        let server = axum::serve(Gate { listener }, service).with_graceful_shutdown(async move {
            // An error means that the sender is gone, which is the end as well.
            let _ = closing.wait_for(|closing| *closing).await;
        });
        let task = tokio::spawn(async move {
            if let Err(error) = server.await {
                tracing::error!(%error, "the world stopped serving");
            }
        });
        Ok(Served { hub, address, task })
    }
}

impl Served {
    /// The base of the REST interface, without a slash at the end.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The GraphQL endpoint.
    pub fn graphql_url(&self) -> String {
        format!("http://{}/graphql", self.address)
    }

    /// The token that it takes; every other one is refused.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Changes the world while it is served.
    pub fn edit<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        change(&mut self.hub.world.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the world while it is served.
    pub fn look<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.hub.world.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every request so far, in the order of their arrival.
    pub fn log(&self) -> Vec<Logged> {
        self.hub.log().clone()
    }

    /// The requests that asked to change something. No client of this project may send one.
    pub fn writes(&self) -> Vec<Logged> {
        self.log().into_iter().filter(|logged| logged.is_write).collect()
    }

    /// Waits until the log satisfies a condition. It is looked at after every arrival and every answer.
    pub async fn wait_for(&self, mut condition: impl FnMut(&[Logged]) -> bool) {
        let mut changes = self.hub.changes();
        loop {
            changes.mark_unchanged();
            if condition(&self.hub.log()) {
                return;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// The largest number of requests that were being answered at once.
    pub fn max_in_flight(&self) -> usize {
        self.hub.max_in_flight()
    }

    /// Stops answering: whoever waits for an answer sees the connection end. Dropping does the same.
    pub fn close(&self) {
        self.hub.close();
    }

    /// What goes wrong, to be switched on and off.
    pub fn faults(&self) -> &Faults {
        &self.hub.faults
    }
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.hub.close();
        self.task.abort();
    }
}

/// Accepts connections that a handler can cut.
struct Gate {
    listener: TcpListener,
}

impl Listener for Gate {
    type Io = Line;
    type Addr = Wire;

    async fn accept(&mut self) -> (Line, Wire) {
        let (stream, _) = <TcpListener as Listener>::accept(&mut self.listener).await;
        let wire = Wire::default();
        (
            Line {
                stream,
                wire: wire.clone(),
            },
            wire,
        )
    }

    fn local_addr(&self) -> io::Result<Wire> {
        Ok(Wire::default())
    }
}

/// A handler's hold on the connection that its request came over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire {
    cut: Arc<AtomicBool>,
}

impl Wire {
    /// Nothing more is written: the client sees the connection end.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Gate>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Gate>) -> Self {
        stream.remote_addr().clone()
    }
}

struct Line {
    stream: TcpStream,
    wire: Wire,
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.wire.cut.load(Ordering::Acquire) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Tells the handlers that wait that the world closes.
pub(crate) type Closing = watch::Receiver<bool>;
