//! The figures of all programs as one markdown table a scenario.

use std::io::BufRead;

use crate::Figure;
use crate::disk::machine;

/// Reads figures as JSON lines and prints them.
pub fn print(lines: impl BufRead) {
    let figures: Vec<Figure> = lines
        .lines()
        .map_while(Result::ok)
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(&line).expect("each line is a figure"))
        .collect();
    println!("Machine: {}\n", machine());
    let mut scenarios: Vec<&str> = Vec::new();
    for figure in &figures {
        if !scenarios.contains(&figure.scenario.as_str()) {
            scenarios.push(&figure.scenario);
        }
    }
    for scenario in scenarios {
        println!("### {scenario}\n");
        println!("| case | engine | | of the limit | lowest to highest | |");
        println!("| --- | --- | ---: | ---: | --- | --- |");
        for figure in figures.iter().filter(|figure| figure.scenario == scenario) {
            println!(
                "| {} | {} | {} {} | {} | {} | {} |",
                figure.case,
                figure.engine,
                number(figure.value),
                figure.unit,
                figure
                    .ratio
                    .map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                figure
                    .range
                    .map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}")),
                figure.note.as_deref().unwrap_or_default(),
            );
        }
        println!();
    }
}

/// Three or four digits that count.
fn number(value: f64) -> String {
    match value {
        value if value >= 1000.0 => {
            let text = format!("{value:.0}");
            let (head, tail) = text.split_at(text.len() - 3);
            if head.len() > 3 {
                let (millions, thousands) = head.split_at(head.len() - 3);
                format!("{millions},{thousands},{tail}")
            } else {
                format!("{head},{tail}")
            }
        }
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}
