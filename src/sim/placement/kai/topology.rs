//! Topology domains: node labels as a tree, and the order in which KAI tries them
//! (KAI Scheduler, topology plugin).
//!
//! Only nodes that carry the label of every level take part.

use crate::sim::placement::view::{Amounts, NodeView, Text};
use std::collections::VecDeque;

/// One domain: a zone, block, rack, NVLink domain or host. Domain 0 is the whole cluster.
#[derive(Debug)]
struct Domain {
    children: Vec<usize>,
    /// Node positions, ascending.
    nodes: Vec<u32>,
}

/// The tree for one ordered list of levels, outermost first. Depth 0 is the cluster, depth d the
/// level d - 1.
#[derive(Debug)]
pub struct Tree {
    domains: Vec<Domain>,
    levels: Vec<Text>,
}

/// The tree with its branches in the order in which a given gang would fill them.
#[derive(Debug)]
pub struct Ordered {
    /// Domains of each depth, fullest first within each parent.
    by_depth: Vec<Vec<usize>>,
}

impl Tree {
    /// `nodes` in position order. Siblings are numbered by label value, which breaks ties.
    pub fn new(levels: &[String], nodes: &[&NodeView]) -> Tree {
        let mut members: Vec<(Vec<&Text>, u32)> = Vec::new();
        for (position, node) in nodes.iter().enumerate() {
            let path: Option<Vec<&Text>> = levels.iter().map(|key| node.labels.get(key)).collect();
            if let Some(path) = path {
                members.push((path, position as u32));
            }
        }
        members.sort();
        let empty = |_| Domain {
            children: Vec::new(),
            nodes: Vec::new(),
        };
        let mut domains: Vec<Domain> = vec![empty(())];
        let mut last: Vec<(&Text, usize)> = Vec::new();
        for (path, position) in &members {
            let shared = last.iter().zip(path).take_while(|((name, _), p)| name == *p).count();
            last.truncate(shared);
            for name in &path[shared..] {
                let parent = last.last().map_or(0, |(_, d)| *d);
                domains.push(empty(()));
                let domain = domains.len() - 1;
                domains[parent].children.push(domain);
                last.push((name, domain));
            }
            domains[0].nodes.push(*position);
            for (_, domain) in &last {
                domains[*domain].nodes.push(*position);
            }
        }
        for domain in &mut domains {
            domain.nodes.sort_unstable();
        }
        let levels = levels.iter().map(|l| Text::from(l.as_str())).collect();
        Tree { domains, levels }
    }

    /// Depth of a level by its label key.
    pub fn depth_of(&self, level: &str) -> Option<usize> {
        self.levels.iter().position(|l| **l == *level).map(|i| i + 1)
    }

    /// Node positions of a domain, ascending.
    pub fn nodes(&self, domain: usize) -> &[u32] {
        &self.domains[domain].nodes
    }

    /// Sorts the branches for a gang that asks for `wanted` in all: those it would fill most come
    /// first. `left` is what nodes have idle or about to be released, by position.
    pub fn order(&self, wanted: Amounts, left: &[Amounts]) -> Ordered {
        let fill: Vec<f64> = self.domains.iter().map(|d| fill(wanted, &d.nodes, left)).collect();
        let mut by_depth = vec![Vec::new(); self.levels.len() + 1];
        let mut queue = VecDeque::from([(0, 0)]);
        while let Some((domain, depth)) = queue.pop_front() {
            by_depth[depth].push(domain);
            let mut children = self.domains[domain].children.clone();
            // Stable: equal siblings stay in the order of their names.
            children.sort_by(|a, b| fill[*b].total_cmp(&fill[*a]));
            queue.extend(children.into_iter().map(|c| (c, depth + 1)));
        }
        Ordered { by_depth }
    }
}

impl Ordered {
    /// Domains of one depth.
    pub fn at(&self, depth: usize) -> &[usize] {
        &self.by_depth[depth]
    }

    /// Rank 0 to 10 of each node position: nodes of the emptiest domain at that depth rank
    /// highest. Ten steps only, as upstream rounds down.
    pub fn ranks(&self, tree: &Tree, depth: usize, nodes: usize) -> Vec<u8> {
        let mut ranks = vec![0; nodes];
        let domains = self.at(depth);
        for (i, domain) in domains.iter().enumerate() {
            let rank = ((i + 1) as f64 / domains.len() as f64 * 10.0).floor() as u8;
            for &position in tree.nodes(*domain) {
                ranks[position as usize] = rank;
            }
        }
        ranks
    }
}

/// Share of the domain's room that the gang would use, in the resource where it is largest.
fn fill(wanted: Amounts, nodes: &[u32], left: &[Amounts]) -> f64 {
    let mut room = [0u64; 3];
    for &n in nodes {
        let l = left[n as usize];
        room[0] += u64::from(l.gpus);
        room[1] += u64::from(l.cpu_m);
        room[2] += u64::from(l.mem_mib);
    }
    let asks = [wanted.gpus, wanted.cpu_m, wanted.mem_mib];
    let mut most = 0.0_f64;
    for (asked, free) in asks.into_iter().zip(room) {
        if asked > 0 {
            // A domain without the resource ranks as overfull.
            let ratio = if free == 0 {
                1000.0
            } else {
                f64::from(asked) / free as f64
            };
            most = most.max(ratio);
        }
    }
    most
}
