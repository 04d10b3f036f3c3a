//! Topology domains: node labels as a tree, and the order in which KAI tries them
//! (KAI Scheduler, topology plugin).
//!
//! Only nodes that carry the label of every level take part.

use crate::sim::placement::view::{Amounts, NodeView, Text};
use std::cmp::Ordering;

/// One domain: a zone, block, rack, NVLink domain or host. Domain 0 is the whole cluster.
#[derive(Debug, Default)]
struct Domain {
    children: Vec<usize>,
    /// Node positions, ascending.
    nodes: Vec<u32>,
    /// GPUs, thousandths of cores and MiB that are idle or about to be released inside.
    left: [u64; 3],
}

/// The tree for one ordered list of levels, outermost first. Depth 0 is the cluster, depth d the
/// level d - 1.
#[derive(Debug)]
pub struct Tree {
    domains: Vec<Domain>,
    /// Domains of each depth, by their label values.
    by_depth: Vec<Vec<usize>>,
    levels: Vec<Text>,
    /// Domains of a node from depth 0 on; empty for nodes that take no part.
    paths: Vec<Vec<usize>>,
}

impl Tree {
    /// `nodes` in position order and what they have `left`.
    pub fn new(levels: &[String], nodes: &[&NodeView], left: &[Amounts]) -> Tree {
        let mut members: Vec<(Vec<&Text>, usize)> = Vec::new();
        for (position, node) in nodes.iter().enumerate() {
            let path: Option<Vec<&Text>> = levels.iter().map(|key| node.labels.get(key)).collect();
            if let Some(path) = path {
                members.push((path, position));
            }
        }
        members.sort();
        let mut tree = Tree {
            domains: vec![Domain::default()],
            by_depth: vec![Vec::new(); levels.len() + 1],
            levels: levels.iter().map(|l| Text::from(l.as_str())).collect(),
            paths: vec![Vec::new(); nodes.len()],
        };
        tree.by_depth[0].push(0);
        let mut last: Vec<(&Text, usize)> = Vec::new();
        for (path, position) in members {
            let shared = last.iter().zip(&path).take_while(|((name, _), p)| name == *p).count();
            last.truncate(shared);
            for name in &path[shared..] {
                let parent = last.last().map_or(0, |(_, d)| *d);
                tree.domains.push(Domain::default());
                let domain = tree.domains.len() - 1;
                tree.domains[parent].children.push(domain);
                tree.by_depth[last.len() + 1].push(domain);
                last.push((name, domain));
            }
            let ids = last.iter().map(|(_, d)| *d);
            tree.paths[position] = std::iter::once(0).chain(ids).collect();
        }
        for (position, left) in left.iter().enumerate() {
            for &domain in &tree.paths[position] {
                tree.domains[domain].nodes.push(position as u32);
                tree.domains[domain].add(*left);
            }
        }
        tree
    }

    /// Depth of a level by its label key.
    pub fn depth_of(&self, level: &str) -> Option<usize> {
        self.levels.iter().position(|l| **l == *level).map(|i| i + 1)
    }

    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    /// Domains of one depth, by their label values.
    pub fn at(&self, depth: usize) -> &[usize] {
        &self.by_depth[depth]
    }

    /// Node positions of a domain, ascending.
    pub fn nodes(&self, domain: usize) -> &[u32] {
        &self.domains[domain].nodes
    }

    /// Domains of a node from depth 0 on; empty if it takes no part.
    pub fn path(&self, position: u32) -> &[usize] {
        &self.paths[position as usize]
    }

    /// A pod was placed.
    pub fn take(&mut self, position: u32, request: Amounts) {
        for &domain in &self.paths[position as usize] {
            let left = &mut self.domains[domain].left;
            left[0] = left[0].saturating_sub(u64::from(request.gpus));
            left[1] = left[1].saturating_sub(u64::from(request.cpu_m));
            left[2] = left[2].saturating_sub(u64::from(request.mem_mib));
        }
    }

    /// Domains down to `depth_max`, per depth, in the order in which a gang that asks for `wanted`
    /// in all would fill them: within each parent, those it would fill most come first; equal ones
    /// by their label values.
    pub fn ordered(&self, wanted: Amounts, depth_max: usize) -> Vec<Vec<usize>> {
        let mut by_depth = vec![vec![0]];
        for _ in 0..depth_max {
            let mut next: Vec<(f64, usize)> = Vec::new();
            for domain in by_depth.last().into_iter().flatten() {
                let first = next.len();
                let children = self.domains[*domain].children.iter();
                next.extend(children.map(|c| (self.domains[*c].fill(wanted), *c)));
                next[first..].sort_by(|(a, _), (b, _)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
            }
            by_depth.push(next.into_iter().map(|(_, d)| d).collect());
        }
        by_depth
    }

    /// Rank 0 to 10 of each node position, given the domains of a depth in their order: nodes of
    /// the last, emptiest domain rank highest. Ten steps only, as upstream rounds down.
    pub fn ranks(&self, ordered: &[usize]) -> Vec<u8> {
        let mut ranks = vec![0; self.paths.len()];
        for (i, domain) in ordered.iter().enumerate() {
            let rank = ((i + 1) as f64 / ordered.len() as f64 * 10.0).floor() as u8;
            for &position in self.nodes(*domain) {
                ranks[position as usize] = rank;
            }
        }
        ranks
    }
}

impl Domain {
    fn add(&mut self, amounts: Amounts) {
        self.left[0] += u64::from(amounts.gpus);
        self.left[1] += u64::from(amounts.cpu_m);
        self.left[2] += u64::from(amounts.mem_mib);
    }

    /// Share of the domain's room that the gang would use, in the resource where it is largest.
    fn fill(&self, wanted: Amounts) -> f64 {
        let asks = [wanted.gpus, wanted.cpu_m, wanted.mem_mib];
        let mut most = 0.0_f64;
        for (asked, free) in asks.into_iter().zip(self.left) {
            if asked > 0 {
                // A domain without the resource ranks as overfull.
                let ratio = if free == 0 { 1000.0 } else { f64::from(asked) / free as f64 };
                most = most.max(ratio);
            }
        }
        most
    }
}
