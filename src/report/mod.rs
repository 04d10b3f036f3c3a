//! Reports: what a run came to, as data and as text for the command line.

use crate::scenario;
use crate::sim::metrics::ledger::GpuState;
use crate::sim::param::{Kind, Param};
use crate::sim::snapshot::RequestTotals;
use crate::sim::world::World;
use serde::Serialize;
use std::fmt::Write;

/// Totals of a run up to its present.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub scenario: String,
    pub seed: u64,
    /// Simulated seconds.
    pub time_s: f64,
    pub requests: RequestTotals,
    pub score: f64,
    /// Share of offered requests that met the SLO.
    pub g: f64,
    /// Ideal over paid GPU time.
    pub e: f64,
    pub ledger: Vec<LedgerRow>,
    pub bill_gpu_minutes: f64,
    pub bill_usd: f64,
    pub services: Vec<ServiceRow>,
    pub decisions: usize,
    /// 16 hex digits.
    pub state_hash: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct LedgerRow {
    pub state: GpuState,
    pub gpu_minutes: f64,
    pub usd: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct ServiceRow {
    pub name: String,
    pub replicas_wanted: u32,
    pub replicas_ready: u32,
    pub waiting: u32,
    pub running: u32,
    /// Its clients' requests.
    pub requests: RequestTotals,
    /// The same by tenant, where it has tenants.
    pub tenants: Vec<TenantRow>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TenantRow {
    pub name: String,
    pub requests: RequestTotals,
}

impl Report {
    pub fn of(world: &World) -> Report {
        let s = world.snapshot();
        let ledger = GpuState::ALL.iter().map(|state| LedgerRow {
            state: *state,
            gpu_minutes: s.ledger.gpu_time[*state as usize].mins_f64(),
            usd: s.ledger.cost[*state as usize].usd(),
        });
        let services = s.services.iter().map(|v| ServiceRow {
            name: v.name.clone(),
            replicas_wanted: v.replicas_wanted,
            replicas_ready: v.replicas_ready,
            waiting: v.waiting,
            running: v.running,
            requests: v.requests,
            tenants: v.tenants.iter().map(|t| TenantRow { name: t.name.clone(), requests: t.requests }).collect(),
        });
        Report {
            scenario: world.setup().id.clone(),
            seed: world.setup().seed,
            time_s: world.now().secs_f64(),
            requests: s.requests,
            score: s.score.total,
            g: s.score.g,
            e: s.score.e,
            ledger: ledger.collect(),
            bill_gpu_minutes: s.ledger.bill_gpu_time.mins_f64(),
            bill_usd: s.ledger.bill.usd(),
            services: services.collect(),
            decisions: s.decisions,
            state_hash: format!("{:016x}", world.state_hash()),
        }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let r = &self.requests;
        writeln!(out, "scenario      {} (seed {}), {:.0} s simulated", self.scenario, self.seed, self.time_s)?;
        writeln!(out, "score         {:.1} = 100 x G^0.7 x E^0.3, G {:.3}, E {:.3}", self.score, self.g, self.e)?;
        writeln!(
            out,
            "requests      {} offered = {} met SLO + {} late + {} timed out + {} rejected + {} failed + {} lost + {} degraded + {} unfinished",
            r.offered, r.met, r.late, r.timed_out, r.rejected, r.failed, r.lost, r.degraded, r.unfinished
        )?;
        writeln!(out, "ledger        GPU-minutes        USD")?;
        for row in &self.ledger {
            let name = serde_json::to_value(row.state).unwrap_or_default();
            let name = name.as_str().unwrap_or_default().replace('_', " ");
            writeln!(out, "  {name:<14}{:>9.1}{:>11.2}", row.gpu_minutes, row.usd)?;
        }
        writeln!(out, "  {:<14}{:>9.1}{:>11.2}", "bill", self.bill_gpu_minutes, self.bill_usd)?;
        writeln!(out, "services      wanted  ready  running  waiting")?;
        for s in &self.services {
            writeln!(
                out,
                "  {:<12}{:>6}{:>7}{:>9}{:>9}",
                s.name, s.replicas_wanted, s.replicas_ready, s.running, s.waiting
            )?;
        }
        writeln!(out, "decisions     {}", self.decisions)?;
        writeln!(out, "state hash    {}", self.state_hash)
    }
}

/// The library and the parameter table.
pub fn list() -> String {
    let mut out = String::from("scenarios\n");
    for (id, _) in scenario::LIBRARY {
        let _ = writeln!(out, "  {id}");
    }
    out.push_str("parameters (--set ID=VALUE)\n");
    for param in Param::ALL {
        let values = match param.kind() {
            Kind::Choice(ids) => ids.join(" | "),
            Kind::Count { min, max } => format!("{min} to {max}"),
            Kind::Percent { min, max } => format!("{min} to {max} percent"),
            Kind::Seconds { min, max } => format!("{min}s to {max}s"),
            Kind::Limit { max } => format!("0 (none) to {max}"),
        };
        let _ = writeln!(out, "  {:<26}{values} (default {})", param.id(), param.value_text(param.default_value()));
    }
    out
}
