//! What the receiver of a bucket is asked to do (the author's half, "Routing").

use crate::bucket::Bucket;

impl Bucket {
    /// The intent of the message. Routing is by declared intent: every actor that declares it gets one.
    pub fn intent(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Investigate => "respond",
            Self::Rebase => "rebase",
            Self::Qa => "reattest",
            Self::Ship => "ship",
            Self::Wait => "audit",
        }
    }

    /// The mailbox that the built-in declarations give.
    pub fn inbox(self) -> &'static str {
        match self {
            Self::Close | Self::Rebase | Self::Ship => "drip",
            Self::Investigate => "investigate",
            Self::Qa => "qa",
            Self::Wait => "retro",
        }
    }
}
