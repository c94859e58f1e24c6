//! The drawing, by `plotters`.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::element::{Circle, PathElement, Rectangle};
use plotters::prelude::{IntoDrawingArea as _, IntoFont as _, SVGBackend};
use plotters::style::{Color as _, RGBColor, TextStyle};

use super::{Axis, Colour, GRID, HEIGHT, INK, Mark, Plot, Said, WIDTH};
use crate::html::escaped;

/// What drawing can fail with; into a string it does not.
type Fault = DrawingAreaErrorKind<std::io::Error>;

impl From<Colour> for RGBColor {
    fn from(colour: Colour) -> Self {
        Self(colour.0, colour.1, colour.2)
    }
}

pub(super) fn svg(plot: &Plot, said: &Said<'_>) -> String {
    let mut drawn = String::new();
    draw(plot, &mut drawn).expect("drawing into a string cannot fail");
    // The element itself is written here, since it has what the drawing knows nothing of.
    let within = drawn.split_once('>').map_or("", |(_, within)| within);
    let Said { id, title, desc } = said;
    format!(
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" xmlns=\"http://www.w3.org/2000/svg\" \
         aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{}</title>\n\
         <desc id=\"{id}-desc\">{}</desc>{within}",
        escaped(title),
        escaped(desc),
    )
}

fn draw(plot: &Plot, into: &mut String) -> Result<(), Fault> {
    let area = SVGBackend::with_string(into, (WIDTH, HEIGHT)).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin_top(10)
        .margin_right(24)
        .x_label_area_size(26)
        .y_label_area_size(64)
        .build_cartesian_2d(plot.x.clone(), plot.y.clone())?;
    let ink = RGBColor::from(INK);
    let label = TextStyle::from(("sans-serif", 12).into_font()).color(&ink);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(RGBColor::from(GRID).mix(0.0))
        .bold_line_style(RGBColor::from(GRID))
        .axis_style(ink)
        .label_style(label)
        .x_labels(plot.x.ticks())
        .y_labels(plot.y.ticks())
        .x_label_formatter(&|value| plot.x.label(*value))
        .y_label_formatter(&|value| plot.y.label(*value))
        .draw()?;
    for mark in &plot.marks {
        put(&mut chart, mark)?;
    }
    drop(chart);
    area.present()
}

fn put(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<Axis, Axis>>,
    mark: &Mark,
) -> Result<(), Fault> {
    match mark {
        Mark::Bar { from, to, colour } => {
            let bar = Rectangle::new([*from, *to], RGBColor::from(*colour).filled());
            chart.draw_series(std::iter::once(bar)).map(drop)
        }
        Mark::Line { points, colour } => {
            let line = PathElement::new(points.clone(), RGBColor::from(*colour).stroke_width(2));
            chart.draw_series(std::iter::once(line)).map(drop)
        }
        Mark::Dots { points, colour } => {
            let colour = RGBColor::from(*colour);
            let dots = points.iter().map(|at| Circle::new(*at, 4, colour.filled()));
            chart.draw_series(dots).map(drop)
        }
    }
}
