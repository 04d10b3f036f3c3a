//! Charts over the real world and over made-up points.

use super::*;
use crate::i18n::{Lang, render};
use crate::session::Run;
use crate::sim::id::ServiceId;
use crate::sim::param::Param;
use crate::sim::snapshot::Snapshot;
use std::sync::Arc;

struct World(Run);

impl Source for World {
    fn points(&self, track: Track, until: Time) -> Vec<Point> {
        self.0.world().series(track, Time::ZERO, until, 200)
    }
    fn full(&self, service: ServiceId, track: ServiceTrack) -> Option<f64> {
        self.0.world().full_range(service, track)
    }
}

fn opened(id: &str, secs: u64) -> (World, Snapshot) {
    let scenario = crate::scenario::library(id).unwrap().unwrap();
    let mut run = Run::new(Arc::new(scenario.setup), Vec::new()).unwrap();
    assert!(run.advance(Time::from_secs(secs), usize::MAX).reached);
    let snapshot = run.world().snapshot();
    (World(run), snapshot)
}

#[test]
fn the_ledger_stacks_to_the_gpus_that_are_paid_for() {
    let (world, snapshot) = opened("seven-of-eight", 120);
    let plot = plot(Chart::Ledger, &snapshot, None, Time::from_secs(600), &world);
    let paid: f64 = snapshot.ledger.gpus_now.iter().map(|n| n.gpus()).sum();
    assert_eq!(plot.lines.last().and_then(Line::last), Some(paid as f32));
    let held = plot.lines.iter().find(|l| l.label == Message::LedgerHeld).unwrap();
    assert_eq!(held.own_value_at(snapshot.now), Some(7.0));
    let said = render(&Lang::english(), &summary(&plot, &snapshot));
    assert!(said.contains(&format!("of {paid} paid GPUs")), "{said}");
}

#[test]
fn every_chart_of_every_scenario_has_a_sentence_and_a_bounded_table() {
    for (id, _) in crate::scenario::LIBRARY {
        for secs in [0, 90, 1_500] {
            let (world, snapshot) = opened(id, secs);
            for chart in Chart::ALL {
                let plot = plot(chart, &snapshot, None, Time::from_secs(1_600), &world);
                assert!(!render(&Lang::english(), &summary(&plot, &snapshot)).is_empty());
                let rows = table(&plot);
                assert!(rows.len() <= 61, "{id} {chart:?}: {}", rows.len());
                assert!(rows.iter().all(|(_, values)| values.len() == plot.lines.len()));
                assert!(plot.axis.top > 0.0 && plot.axis.top.is_finite());
                for line in &plot.lines {
                    assert!(line.points.windows(2).all(|w| w[0].at < w[1].at), "{id} {chart:?}");
                    assert_eq!(line.runs().iter().map(|r| r.len()).sum::<usize>(), line.points.len());
                }
            }
        }
    }
}

#[test]
fn a_missing_stretch_breaks_the_line() {
    let point = |s| Point { at: Time::from_secs(s), value: Some(1.0) };
    let (world, snapshot) = opened("sandbox", 0);
    let mut line = plot(Chart::Ttft, &snapshot, None, Time::from_secs(60), &world).lines.remove(0);
    line.points = [0, 5, 10, 60, 65].map(point).to_vec();
    assert_eq!(line.runs().iter().map(|r| r.len()).collect::<Vec<_>>(), [3, 2]);
    line.points.clear();
    assert!(line.runs().is_empty());
}

#[test]
fn axis_tops_are_round_and_cover_the_value() {
    for v in [0.0, 0.003, 0.7, 1.0, 3.1, 7.0, 9.0, 44.0, 60.0, 99.0, 101.0, 1e6, f64::NAN] {
        let top = nice_top(v);
        assert!(top > 0.0 && (v.is_nan() || top >= v * 0.999), "{v}: {top}");
    }
    assert_eq!(Axis::for_values(7.0, 4.0, Unit::Count).ticks(), [0.0, 4.0, 8.0]);
    assert_eq!(Axis { top: 1.25, unit: Unit::Share }.height(40.0), 1.0);
}

#[test]
fn the_legend_gives_every_signal_a_value_with_its_unit_and_marks_the_one_that_is_read() {
    let (world, snapshot) = opened("lying-signal", 900);
    let plot = plot(Chart::Signals, &snapshot, None, Time::from_secs(1_600), &world);
    let rows = legend(&plot, Time::MAX);
    assert_eq!(rows.iter().map(|r| r.track).collect::<Vec<_>>(), ServiceTrack::SIGNALS);
    let read: Vec<_> = rows.iter().filter(|r| r.read).map(|r| r.track).collect();
    assert_eq!(read, [ServiceTrack::GpuUtilization]);
    assert!(plot.lines.last().is_some_and(|l| l.strong), "what is read lies on top");
    let said = |r: &LegendRow| render(&Lang::english(), &Message::Word { word: r.value.clone() });
    for row in &rows {
        assert!(!said(row).contains("none"), "{:?}: {}", row.track, said(row));
    }
    let of = |track| rows.iter().find(|r| r.track == track).map(said).unwrap();
    assert_eq!(of(ServiceTrack::GpuUtilization), "100 %");
    assert_eq!(of(ServiceTrack::FbUsed).matches("MiB").count(), 1);
    assert!(of(ServiceTrack::FbUsed).ends_with(" MiB") && of(ServiceTrack::PowerUsage).ends_with(" of 350 W"));
    assert!(of(ServiceTrack::Running).contains(" of "));
    // No two look alike.
    let looks: std::collections::BTreeSet<_> = rows.iter().map(|r| format!("{:?} {:?}", r.ink, r.dash)).collect();
    assert_eq!(looks.len(), rows.len());
}

#[test]
fn of_the_signals_only_the_honest_ones_grow_with_the_queue() {
    let (world, snapshot) = opened("lying-signal", 1_500);
    let plot = plot(Chart::Signals, &snapshot, None, Time::from_secs(1_600), &world);
    let line = |track| plot.lines.iter().find(|l| l.of == Some(track)).unwrap();
    let grew = |track| {
        let l = line(track);
        let at = |s| f64::from(l.value_at(Time::from_secs(s)).unwrap());
        at(1_490) / at(300).max(1e-9)
    };
    assert!(grew(ServiceTrack::GpuUtilization) < 1.2 && grew(ServiceTrack::FbUsed) == 1.0);
    assert!(grew(ServiceTrack::Running) > 2.0 && grew(ServiceTrack::TensorActive) > 1.5);
    for l in &plot.lines {
        assert!(l.points.iter().all(|p| p.value.is_none_or(|v| l.on_axis(v) <= 1.0 + 1e-6)), "{:?}", l.of);
    }
}

#[test]
fn the_charts_of_one_service_show_the_chosen_one() {
    let (world, snapshot) = opened("seven-of-eight", 300);
    assert!(snapshot.services.len() > 1);
    for service in &snapshot.services {
        let plot = plot(Chart::Replicas, &snapshot, Some(service.id), Time::from_secs(600), &world);
        assert_eq!(plot.service, Some(service.id));
        let ready = plot.lines.iter().find(|l| l.label == Message::LineReady).and_then(Line::last);
        assert_eq!(ready, Some(service.replicas_ready as f32), "{}", service.name);
        let said = render(&Lang::english(), &summary(&plot, &snapshot));
        assert!(said.starts_with(&service.name), "{said}");
    }
    // A service that is not there falls back to the scaled one.
    assert!(chart_service(&snapshot, Some(ServiceId(99))).is_some_and(|s| s.scaled));
}

#[test]
fn nothing_is_drawn_strong_while_no_hpa_reads() {
    let (world, mut snapshot) = opened("lying-signal", 60);
    snapshot.policy.set(Param::Scaler, 1).unwrap();
    let plot = plot(Chart::Signals, &snapshot, None, Time::from_secs(60), &world);
    assert!(plot.lines.iter().all(|l| !l.strong));
}

#[test]
fn labels_and_captions_say_the_present_and_add_up() {
    use crate::sim::metrics::ledger::PARTS_PER_GPU;
    use crate::sim::snapshot::{GpuCount, GpuUse};
    let (world, mut snapshot) = opened("seven-of-eight", 300);
    let en = Lang::english();
    snapshot.ledger.gpus_now = [GpuCount::default(); 8];
    snapshot.ledger.gpus_now[GpuUse::ServingBusy as usize] = GpuCount(PARTS_PER_GPU * 13 + PARTS_PER_GPU / 4);
    snapshot.ledger.gpus_now[GpuUse::Loading as usize] = GpuCount::whole(2);
    snapshot.ledger.gpus_now[GpuUse::Empty as usize] = GpuCount(PARTS_PER_GPU * 3 / 4);
    let now = LedgerNow::of(&snapshot);
    assert_eq!(now.paid(), 160);
    let ledger = plot(Chart::Ledger, &snapshot, None, Time::from_secs(600), &world);
    let (working, unused) = (tenths(now.working), tenths(now.unused));
    let label = |word: crate::i18n::Arg| render(&en, &Message::Word { word });
    let said = render(&en, &summary(&ledger, &snapshot));
    let expected = format!("{} of 16 paid GPUs work, {} are paid for nothing.", label(working), label(unused));
    assert_eq!(said, expected);

    for (i, service) in snapshot.services.iter_mut().enumerate() {
        service.waiting = 70 * u32::from(i == 0) + u32::from(i == 1);
    }
    let queue = plot(Chart::Queue, &snapshot, None, Time::from_secs(600), &world);
    assert!(render(&en, &summary(&queue, &snapshot)).starts_with("71 requests wait,"));
    let waiting = queue.lines.iter().find(|l| l.label == Message::LineWaiting).unwrap();
    assert_eq!(end_value(waiting, &snapshot), crate::i18n::Arg::Int(71));
}
