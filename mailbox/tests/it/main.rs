//! The mailbox through its public surface.

mod handle;
