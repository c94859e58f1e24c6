//! Times as a test says them: relative to the world's own.

use chrono::{DateTime, Duration, Utc};

/// A time, absolute or relative to the world's now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// So long before the world's now; a negative duration lies in the future.
    Ago(Duration),
    /// Exactly then.
    At(DateTime<Utc>),
}

impl When {
    pub(crate) fn on(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::Ago(by) => now - by,
            Self::At(at) => at,
        }
    }
}

/// So many minutes before the world's now.
pub fn minutes_ago(minutes: i64) -> When {
    When::Ago(Duration::minutes(minutes))
}

/// So many hours before the world's now.
pub fn hours_ago(hours: i64) -> When {
    When::Ago(Duration::hours(hours))
}

/// So many days before the world's now.
pub fn days_ago(days: i64) -> When {
    When::Ago(Duration::days(days))
}

/// So many hours after the world's now: for dates that a commit's author invented.
pub fn hours_ahead(hours: i64) -> When {
    When::Ago(-Duration::hours(hours))
}

/// What can be said where a time is wanted: a [`When`], a time, or its RFC 3339 text.
pub trait IntoWhen {
    /// The time meant.
    fn into_when(self) -> When;
}

impl IntoWhen for When {
    fn into_when(self) -> When {
        self
    }
}

impl IntoWhen for DateTime<Utc> {
    fn into_when(self) -> When {
        When::At(self)
    }
}

/// # Panics
///
/// On a text that is no RFC 3339 time: the text is written in a test or in the demo.
impl IntoWhen for &str {
    fn into_when(self) -> When {
        let at = DateTime::parse_from_rfc3339(self);
        When::At(
            at.unwrap_or_else(|error| panic!("{self:?} is no RFC 3339 time: {error}"))
                .to_utc(),
        )
    }
}
