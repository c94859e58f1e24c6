//! The plots of a report.

use chrono::TimeDelta;
use lifecycle::Bucket;

use super::{Report, Sample};
use crate::html::escaped;
use crate::plot::{Axis, Colour, Mark, Plot, Said, log_spans, time_axis, value_of, whole_numbers};
use crate::spread::Spread;
use crate::words::{count, minute, span};

/// The colours, apart for eyes that tell few of them from each other, each with its class in the style sheet.
const BLUE: (Colour, &str) = (Colour(0x00, 0x77, 0xBB), "c0");
const TEAL: (Colour, &str) = (Colour(0x00, 0x99, 0x88), "c1");
const RED: (Colour, &str) = (Colour(0xCC, 0x33, 0x11), "c2");
const ORANGE: (Colour, &str) = (Colour(0xEE, 0x77, 0x33), "c3");
const MAGENTA: (Colour, &str) = (Colour(0xEE, 0x33, 0x77), "c4");
const GREY: (Colour, &str) = (Colour(0x8C, 0x95, 0x9F), "c5");

/// What waited for less is drawn as if it had waited so long, in milliseconds: nobody minds a second.
const SHORTEST_WAIT: u64 = 1_000;

/// How much of a day's place its bars take.
const BARS: f64 = 0.78;

/// Messages a day.
pub(super) fn messages(report: &Report) -> String {
    let days = &report.days;
    let sum = |of: fn(&super::Day) -> u64| days.iter().map(of).sum::<u64>();
    let (appended, acked, failed) = (
        sum(|day| day.appended),
        sum(|day| day.acked),
        sum(|day| day.failed),
    );
    let most = days
        .iter()
        .map(|day| day.appended.max(day.acked).max(day.failed))
        .max();
    let mut marks = Vec::new();
    for (place, day) in (0..).map(f64::from).zip(days) {
        let bars = [(day.appended, BLUE), (day.acked, TEAL), (day.failed, RED)];
        let width = BARS / 3.0;
        for (nth, (number, (colour, _))) in (0..)
            .map(f64::from)
            .zip(bars)
            .filter(|(_, (number, _))| *number > 0)
        {
            let left = place - BARS / 2.0 + nth * width;
            marks.push(Mark::Bar {
                from: (left, 0.0),
                to: (left + width, number as f64),
                colour,
            });
        }
    }
    let plot = Plot {
        x: day_axis(report),
        y: whole_numbers(most.unwrap_or(0)),
        marks,
    };
    let desc = format!(
        "{} appended, {acked} acked and {} in {}.",
        count(appended, "message"),
        count(failed, "failed attempt"),
        count(days.len() as u64, "day"),
    );
    let keys = [(BLUE, "appended"), (TEAL, "acked"), (RED, "failed attempts")];
    figure(&plot, "messages", "Messages a day", &desc, &keys)
}

/// From append to ack, a day.
pub(super) fn latency(report: &Report) -> String {
    let points = |of: fn(&Spread) -> u64| -> Vec<(f64, f64)> {
        let places = (0..).map(f64::from).zip(&report.days);
        places
            .filter_map(|(place, day)| Some((place, of(day.ack_latency_ms.as_ref()?).max(1) as f64)))
            .collect()
    };
    let spreads = || report.days.iter().filter_map(|day| day.ack_latency_ms.as_ref());
    let least = spreads().map(|spread| spread.median).min().unwrap_or(1);
    let most = spreads().map(|spread| spread.p90).max().unwrap_or(1);
    let mut marks = Vec::new();
    for (of, (colour, _)) in [
        (points(|spread| spread.p90), ORANGE),
        (points(|spread| spread.median), BLUE),
    ] {
        marks.push(Mark::Line {
            points: of.clone(),
            colour,
        });
        marks.push(Mark::Dots { points: of, colour });
    }
    let plot = Plot {
        x: day_axis(report),
        y: log_spans(least, most),
        marks,
    };
    let desc = match spreads().next() {
        None => "Nothing was acked.".to_owned(),
        Some(_) => format!(
            "The median of a day is at least {}; nine of ten are handled within {} on the slowest day.",
            span(least),
            span(most)
        ),
    };
    let keys = [(BLUE, "median"), (ORANGE, "9 of 10 within")];
    figure(
        &plot,
        "latency",
        "From append to ack, a day (logarithmic)",
        &desc,
        &keys,
    )
}

/// How long a message had been unread at most, over time.
pub(super) fn unread(report: &Report) -> String {
    let ages = || report.samples.iter().filter_map(|sample| sample.longest_wait_ms);
    let least = ages().min().unwrap_or(0).max(SHORTEST_WAIT);
    let most = ages().max().unwrap_or(0).max(SHORTEST_WAIT);
    let mut marks = Vec::new();
    // A stretch without anything unread parts the line.
    for stretch in report.samples.split(|sample| sample.longest_wait_ms.is_none()) {
        let points: Vec<(f64, f64)> = stretch
            .iter()
            .filter_map(|sample| {
                Some((
                    value_of(sample.at),
                    sample.longest_wait_ms?.max(SHORTEST_WAIT) as f64,
                ))
            })
            .collect();
        marks.push(match points.len() {
            0 => continue,
            1 => Mark::Dots {
                points,
                colour: BLUE.0,
            },
            _ => Mark::Line {
                points,
                colour: BLUE.0,
            },
        });
    }
    let plot = Plot {
        x: sample_axis(&report.samples),
        y: log_spans(least, most),
        marks,
    };
    let unread: u64 = report.actors.iter().map(|actor| actor.unread).sum();
    let desc = match ages().max() {
        None => "Nothing was unread.".to_owned(),
        Some(most) => format!(
            "At most {}; {} at the end.",
            span(most),
            count(unread, "unread message")
        ),
    };
    let keys = [(BLUE, "longest wait of a message that was unread")];
    figure(
        &plot,
        "unread",
        "Unread age: the longest wait (logarithmic)",
        &desc,
        &keys,
    )
}

/// Pull requests in each bucket, over time.
pub(super) fn buckets(report: &Report) -> String {
    let samples = &report.samples;
    let total = |sample: &Sample| sample.buckets.iter().sum::<u64>();
    let most = samples.iter().map(total).max().unwrap_or(0);
    let mut marks = Vec::new();
    // The last bucket lies lowest, so that what needs a person stands on top.
    for place in (0..Bucket::ALL.len()).rev() {
        let colour = colour_of(Bucket::ALL[place]).0;
        let reach = |sample: &Sample| {
            let below: u64 = sample.buckets[place + 1..].iter().sum();
            (below, below + sample.buckets[place])
        };
        let same = |a: &Sample, b: &Sample| reach(a) == reach(b);
        let mut from = 0;
        // Steps of the same height are one bar; the last sample is an end and no step.
        for run in samples[..samples.len().saturating_sub(1)].chunk_by(same) {
            let (low, high) = reach(&run[0]);
            let to = from + run.len();
            if high > low {
                marks.push(Mark::Bar {
                    from: (value_of(samples[from].at), low as f64),
                    to: (value_of(samples[to].at), high as f64),
                    colour,
                });
            }
            from = to;
        }
    }
    let plot = Plot {
        x: sample_axis(samples),
        y: whole_numbers(most),
        marks,
    };
    let now: Vec<String> = report
        .buckets
        .iter()
        .map(|bucket| format!("{} {}", bucket.bucket, bucket.now))
        .collect();
    let desc = format!(
        "At the end: {}. At most {} at once.",
        now.join(", "),
        count(most, "pull request")
    );
    let keys = Bucket::ALL.map(|bucket| (colour_of(bucket), bucket.as_str()));
    let mut html = figure(&plot, "buckets", "Pull requests in each bucket", &desc, &keys);
    html.push_str(&samples_table(report));
    html
}

/// The end of each day, or of each step where steps are longer, as a table.
fn samples_table(report: &Report) -> String {
    let mut headings = vec!["at"];
    headings.extend(Bucket::ALL.map(Bucket::as_str));
    headings.extend(["unread messages", "longest wait"]);
    let mut table = crate::html::Table::new("What stood, day by day", &headings);
    let mut next = None;
    for sample in report.samples.iter().rev() {
        if next.is_some_and(|next| sample.at > next) {
            continue;
        }
        next = sample.at.checked_sub_signed(TimeDelta::days(1));
        let mut cells = vec![minute(sample.at)];
        cells.extend(sample.buckets.map(|number| number.to_string()));
        cells.push(sample.unread.to_string());
        cells.push(sample.longest_wait_ms.map_or_else(|| "–".to_owned(), span));
        table.row(&cells);
    }
    let table = table.end();
    format!("<details>\n<summary>The course as a table</summary>\n{table}</details>\n")
}

/// How long pull requests were in a bucket.
pub(super) fn time_in_bucket(report: &Report) -> String {
    let spreads = || {
        report
            .buckets
            .iter()
            .filter_map(|bucket| bucket.time_in_bucket_ms.as_ref())
    };
    let least = spreads().map(|spread| spread.median).min().unwrap_or(1);
    let most = spreads().map(|spread| spread.max).max().unwrap_or(1);
    let mut marks = Vec::new();
    // From the top down.
    for (place, bucket) in (0..).map(f64::from).zip(report.buckets.iter().rev()) {
        let Some(spread) = &bucket.time_in_bucket_ms else {
            continue;
        };
        let at = |ms: u64| (ms.max(1) as f64, place);
        marks.push(Mark::Line {
            points: vec![at(spread.median), at(spread.max)],
            colour: GREY.0,
        });
        for (ms, (colour, _)) in [(spread.max, GREY), (spread.p90, ORANGE), (spread.median, BLUE)] {
            marks.push(Mark::Dots {
                points: vec![at(ms)],
                colour,
            });
        }
    }
    let names: Vec<&str> = Bucket::ALL.iter().rev().map(|bucket| bucket.as_str()).collect();
    let plot = Plot {
        x: log_spans(least, most),
        y: Axis::names(&names),
        marks,
    };
    let longest = report
        .buckets
        .iter()
        .filter_map(|bucket| Some((bucket.longest.as_ref()?, bucket.bucket)))
        .max_by_key(|(stay, _)| stay.ms);
    let desc = match longest {
        None => "No pull request was seen.".to_owned(),
        Some((stay, bucket)) => format!("The longest: {} in {bucket}, {}.", stay.at(), span(stay.ms)),
    };
    let keys = [(BLUE, "median"), (ORANGE, "9 of 10 within"), (GREY, "longest")];
    figure(&plot, "stays", "Time in each bucket (logarithmic)", &desc, &keys)
}

fn colour_of(bucket: Bucket) -> (Colour, &'static str) {
    match bucket {
        Bucket::Close => RED,
        Bucket::Investigate => ORANGE,
        Bucket::Rebase => MAGENTA,
        Bucket::Qa => BLUE,
        Bucket::Ship => TEAL,
        Bucket::Wait => GREY,
    }
}

fn day_axis(report: &Report) -> Axis {
    let names: Vec<String> = report
        .days
        .iter()
        .map(|day| day.day.format("%b %-d").to_string())
        .collect();
    Axis::some_names(&names)
}

fn sample_axis(samples: &[Sample]) -> Axis {
    let at = |sample: Option<&Sample>| sample.map_or(chrono::DateTime::UNIX_EPOCH, |sample| sample.at);
    time_axis(at(samples.first()), at(samples.last()))
}

/// A plot with what it is called, what it shows and what its colours mean; words where there is nothing to draw.
fn figure(plot: &Plot, id: &str, title: &str, desc: &str, keys: &[((Colour, &str), &str)]) -> String {
    let mut html = format!("<figure>\n<h3>{}</h3>\n", escaped(title));
    if plot.marks.iter().all(Mark::is_empty) {
        html.push_str("<p class=\"soft\">Nothing to draw in this range.</p>\n");
    } else {
        let svg = plot.svg(&Said { id, title, desc });
        html.push_str(&format!("<div class=\"plot\">{svg}</div>\n<figcaption>"));
        for ((_, class), name) in keys {
            html.push_str(&format!(
                "<span class=\"key {class}\"><span>{}</span></span>",
                escaped(name)
            ));
        }
        html.push_str(&format!("<span>{}</span></figcaption>\n", escaped(desc)));
    }
    html.push_str("</figure>\n");
    html
}
