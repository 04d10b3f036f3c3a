//! Marks and grid of a chart, onto any plotters backend. No text: a canvas would blur it.

use crate::view::charts::{Axis, Dash, Hatch, Ink, Line, Plot, Shape};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{PathElement, Polygon};
use plotters::prelude::DrawingBackend;
use plotters::series::{AreaSeries, DashedLineSeries, LineSeries};
use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::sim::series_view::Point;
use crate::sim::time::Time;
use std::collections::BTreeMap;

/// Colours by name.
pub type Inks = BTreeMap<Ink, RGBColor>;

type Failed<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;
type Canvas<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Width of a line in CSS pixels: usually, of one that matters most, and of the others beside it.
const LINE_PX: f64 = 2.0;
const STRONG_PX: f64 = 3.5;
const THIN_PX: f64 = 1.5;
/// Distance of hatch strokes in CSS pixels.
const HATCH_PX: f64 = 7.0;

struct Brush<'a> {
    inks: &'a Inks,
    /// Device pixels per CSS pixel.
    scale: f64,
    /// Size in device pixels.
    size: (f64, f64),
    until: f64,
}

/// Draws the lines of a chart that are to be shown. `scale` is device pixels per CSS pixel.
///
/// # Errors
/// What the backend says.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    plot: &Plot,
    inks: &Inks,
    scale: f64,
    shown: impl Fn(&Line) -> bool,
) -> Result<(), Failed<DB>> {
    let (width, height) = area.dim_in_pixel();
    let brush = Brush { inks, scale, size: (f64::from(width), f64::from(height)), until: plot.until.0.max(1) as f64 };
    // Both axes run from 0 to 1: the view model has done the scaling.
    let mut chart = ChartBuilder::on(area).build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    for tick in plot.axis.ticks() {
        let y = plot.axis.height(tick);
        chart.draw_series([PathElement::new(vec![(0.0, y), (1.0, y)], brush.line(Ink::Rule, 1.0))])?;
    }
    for line in plot.lines.iter().filter(|l| shown(l)) {
        let axis = if line.second { plot.second.unwrap_or(plot.axis) } else { plot.axis };
        match line.shape {
            Shape::Band(hatch) => brush.band(&mut chart, line, &axis, hatch)?,
            Shape::Area => brush.area(&mut chart, line, &axis)?,
            Shape::Line | Shape::Steps => brush.stroke(&mut chart, line, &axis)?,
        }
    }
    if let Some((value, _)) = &plot.limit {
        let y = plot.axis.height(*value);
        let style = brush.line(Ink::Good, LINE_PX);
        chart.draw_series(brush.dashed(vec![(0.0, y), (1.0, y)], (6.0, 4.0), style))?;
    }
    area.present()
}

impl Brush<'_> {
    fn ink(&self, ink: Ink) -> RGBColor {
        self.inks.get(&ink).copied().unwrap_or(RGBColor(128, 128, 128))
    }

    fn line(&self, ink: Ink, css_px: f64) -> ShapeStyle {
        let width = (css_px * self.scale).round().max(1.0) as u32;
        ShapeStyle { color: self.ink(ink).to_rgba(), filled: false, stroke_width: width }
    }

    fn x(&self, at: Time) -> f64 {
        at.0 as f64 / self.until
    }

    fn dashed(
        &self,
        path: Vec<(f64, f64)>,
        (on, off): (f64, f64),
        style: ShapeStyle,
    ) -> DashedLineSeries<std::vec::IntoIter<(f64, f64)>, u32> {
        let px = |css: f64| (css * self.scale).round().max(1.0) as u32;
        DashedLineSeries::new(path, px(on), px(off), style)
    }

    /// The corner points of a run: steps hold each value until the next. `full` is the value that
    /// the axis shows as 1.
    fn path(&self, run: &[Point], (axis, full): (&Axis, f64), steps: bool) -> Vec<(f64, f64)> {
        let mut path = Vec::with_capacity(run.len() * 2);
        for point in run {
            let Some(value) = point.value else { continue };
            let (x, y) = (self.x(point.at), axis.height(f64::from(value) / full));
            if let (true, Some(&(_, before))) = (steps, path.last()) {
                path.push((x, before));
            }
            path.push((x, y));
        }
        path
    }

    fn stroke<DB: DrawingBackend>(&self, chart: &mut Canvas<DB>, line: &Line, axis: &Axis) -> Result<(), Failed<DB>> {
        let width = match (line.strong, line.of) {
            (true, _) => STRONG_PX,
            (false, Some(_)) => THIN_PX,
            (false, None) => LINE_PX,
        };
        let style = self.line(line.ink, width);
        for run in line.runs() {
            let path = self.path(run, (axis, line.full), line.shape == Shape::Steps);
            match line.dash {
                Dash::Solid => drop(chart.draw_series(LineSeries::new(path, style))?),
                Dash::Dashed => drop(chart.draw_series(self.dashed(path, (7.0, 4.0), style))?),
                Dash::Dotted => drop(chart.draw_series(self.dashed(path, (2.0, 3.0), style))?),
                Dash::Long => drop(chart.draw_series(self.dashed(path, (12.0, 4.0), style))?),
            }
        }
        Ok(())
    }

    fn area<DB: DrawingBackend>(&self, chart: &mut Canvas<DB>, line: &Line, axis: &Axis) -> Result<(), Failed<DB>> {
        for run in line.runs() {
            let path = self.path(run, (axis, line.full), false);
            let fill = self.ink(line.ink).mix(0.3);
            chart.draw_series(AreaSeries::new(path, 0.0, fill).border_style(self.line(line.ink, 1.0)))?;
        }
        Ok(())
    }

    fn band<DB: DrawingBackend>(
        &self,
        chart: &mut Canvas<DB>,
        line: &Line,
        axis: &Axis,
        hatch: Hatch,
    ) -> Result<(), Failed<DB>> {
        let drawn = |(p, below): &(&Point, &f32)| p.value.is_some_and(|v| v > **below + 1e-4);
        let edges: Vec<(&Point, &f32)> = line.points.iter().zip(&line.below).collect();
        for part in edges.chunk_by(|a, b| drawn(a) == drawn(b)) {
            if !part.first().is_some_and(drawn) {
                continue;
            }
            let top: Vec<Point> = part.iter().map(|(p, _)| **p).collect();
            let floor = part.iter().map(|(p, below)| Point { at: p.at, value: Some(**below) });
            let top = self.path(&top, (axis, line.full), true);
            let floor = self.path(&floor.collect::<Vec<_>>(), (axis, line.full), true);
            self.fill(chart, line.ink, hatch, &top, &floor)?;
        }
        Ok(())
    }

    /// A band between two step paths that share their positions.
    fn fill<DB: DrawingBackend>(
        &self,
        chart: &mut Canvas<DB>,
        ink: Ink,
        hatch: Hatch,
        top: &[(f64, f64)],
        floor: &[(f64, f64)],
    ) -> Result<(), Failed<DB>> {
        let colour = self.ink(ink);
        // One box of the backend per point would be slow, and a polygon of one point draws nothing.
        let outline: Vec<(f64, f64)> = top.iter().chain(floor.iter().rev()).copied().collect();
        chart.draw_series([Polygon::new(outline, colour.mix(hatch.strength()).filled())])?;
        if hatch != Hatch::None {
            chart.draw_series([PathElement::new(top.to_vec(), self.line(ink, 1.0))])?;
        }
        if hatch == Hatch::Rising {
            self.hatch(chart, ink, top, floor)?;
        }
        Ok(())
    }

    /// Strokes at fixed places of the canvas, so that they stand still while the band grows.
    fn hatch<DB: DrawingBackend>(
        &self,
        chart: &mut Canvas<DB>,
        ink: Ink,
        top: &[(f64, f64)],
        floor: &[(f64, f64)],
    ) -> Result<(), Failed<DB>> {
        let (Some(first), Some(last)) = (top.first(), top.last()) else {
            return Ok(());
        };
        let step = HATCH_PX * self.scale / self.size.0;
        let mut strokes = Vec::new();
        let mut x = (first.0 / step).ceil() * step;
        while x <= last.0 && step > 0.0 {
            let at = |path: &[(f64, f64)]| {
                let next = path.partition_point(|p| p.0 <= x);
                path.get(next.saturating_sub(1)).map_or(0.0, |p| p.1)
            };
            strokes.push(PathElement::new(vec![(x, at(floor)), (x, at(top))], self.line(ink, 2.0)));
            x += step;
        }
        chart.draw_series(strokes)?;
        Ok(())
    }
}
