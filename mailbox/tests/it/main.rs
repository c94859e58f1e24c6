//! The mailbox through its public surface.

mod disk;
mod handle;
