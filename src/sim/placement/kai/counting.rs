//! Counting how many of an attempt's pods some nodes take, without placing them: exact for pods of
//! one kind, a lower bound for mixed ones.

use super::allocate::attempt;
use super::session::{AttemptKey, Session};
use crate::sim::placement::view::Amounts;

/// Equal pods in a row: request, match class, how many have no place yet.
pub type Run = (Amounts, usize, u32);

/// The attempt's pods, placed as far as they go and without regard to order or preference.
pub struct Greedy<'s, 'a> {
    session: &'s Session<'a>,
    pub runs: Vec<Run>,
    /// Pods with a place so far.
    pub fit: u32,
    total: u32,
}

impl<'s, 'a> Greedy<'s, 'a> {
    pub fn new(session: &'s Session<'a>, job: usize) -> Self {
        let (start, count) = attempt(session, job);
        let j = &session.jobs[job];
        let group = &session.view.groups[j.group];
        let mut runs: Vec<Run> = Vec::new();
        for i in start..start + count {
            let request = group.tasks[j.pending[i] as usize].request;
            match runs.last_mut() {
                Some((r, class, n)) if *r == request && *class == j.classes[i] => *n += 1,
                _ => runs.push((request, j.classes[i], 1)),
            }
        }
        Greedy { session, runs, fit: 0, total: count as u32 }
    }

    /// How many pods these nodes take.
    pub fn fit(mut self, nodes: impl Iterator<Item = u32>) -> u32 {
        for node in nodes {
            let mut left = self.session.left[node as usize];
            self.fill_node(node, &mut left);
            if self.fit == self.total {
                break;
            }
        }
        self.fit
    }

    /// Puts as many pods on the node as it takes.
    pub fn fill_node(&mut self, node: u32, left: &mut Amounts) {
        for (request, class, waiting) in &mut self.runs {
            if *waiting == 0 || self.session.matcher.class(*class).out[node as usize].is_some() {
                continue;
            }
            let n = request.times_in(*left, *waiting);
            if n == 0 {
                continue;
            }
            *waiting -= n;
            self.fit += n;
            *left = Amounts {
                gpus: left.gpus - n * request.gpus,
                cpu_m: left.cpu_m - n * request.cpu_m,
                mem_mib: left.mem_mib - n * request.mem_mib,
            };
        }
    }
}

/// Whether pods of one kind are more than the whole cluster takes: spares trying them one by one.
pub fn cannot_fit(session: &Session, job: usize) -> bool {
    let greedy = Greedy::new(session, job);
    let (_, need) = attempt(session, job);
    let [(_, class, _)] = greedy.runs[..] else { return false };
    let nodes = session.matcher.class(class).nodes.iter().copied();
    greedy.fit(nodes) < need as u32
}

/// The key of an attempt for pods of one kind that no running pod pins to a domain.
pub fn attempt_key(session: &Session, job: usize) -> Option<AttemptKey> {
    let greedy = Greedy::new(session, job);
    let [(request, class, count)] = greedy.runs[..] else {
        return None;
    };
    let topology = &session.view.groups[session.jobs[job].group].topology;
    if topology.required.is_some() && !session.jobs[job].active_on.is_empty() {
        return None;
    }
    Some((request.gpus, request.cpu_m, request.mem_mib, class, count, topology.clone()))
}
