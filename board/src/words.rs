//! Spans and moments as people read them.

use chrono::{DateTime, Utc};

/// A span of milliseconds in its two largest units: `340ms`, `12.5s`, `4m 10s`, `3h 12m`, `2d 4h`.
///
/// ```
/// assert_eq!(board::words::span(11_520_000), "3h 12m");
/// ```
pub fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if ms < 1_000 => format!("{ms}ms"),
        (0, 0, 0) if ms < 60_000 && ms % 1_000 >= 100 => format!("{}.{}s", seconds, ms % 1_000 / 100),
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => pair(minutes, "m", seconds % 60, "s"),
        (0, _, _) => pair(hours, "h", minutes, "m"),
        _ => pair(days, "d", hours, "h"),
    }
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit} {small}{small_unit}"),
    }
}

/// A moment: `2026-05-14 17:45:00 UTC`.
pub fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A moment without its seconds: `2026-05-14 17:45 UTC`.
pub fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// A number with its noun: `1 message`, `3 messages`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_at_most_two_units() {
        for (ms, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (1_050, "1s"),
            (12_540, "12.5s"),
            (60_000, "1m"),
            (250_000, "4m 10s"),
            (3_600_000, "1h"),
            (86_400_000, "1d"),
            (187_200_000, "2d 4h"),
        ] {
            assert_eq!(span(ms), text);
        }
    }
}
