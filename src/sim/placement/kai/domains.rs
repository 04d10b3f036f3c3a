//! Which topology domains an attempt may use, and in which order they are tried.

use super::allocate::attempt;
use super::counting::Greedy;
use super::session::Session;
use crate::sim::placement::view::{Amounts, GroupView, Text};

/// The depths at which an attempt may be placed.
pub struct Depths {
    /// The required level, or the whole cluster.
    pub outer: usize,
    /// The preferred level, if that is inside.
    inner: usize,
    preferred: Option<usize>,
    pub required: bool,
}

impl Depths {
    /// `Err`: the level that the settings do not know, or that no node has.
    pub fn of(session: &Session, group: &GroupView) -> Result<Depths, Text> {
        let constraint = &group.topology;
        let named = constraint.required.as_ref().or(constraint.preferred.as_ref());
        let Some((tree, named)) = session.tree.as_ref().zip(named) else {
            return Err(Text::from(""));
        };
        let depth = |level: &Option<Text>| match level {
            None => Ok(None),
            Some(key) => tree.depth_of(key).map(Some).ok_or_else(|| key.clone()),
        };
        let (required, preferred) = (depth(&constraint.required)?, depth(&constraint.preferred)?);
        if tree.nodes(0).is_empty() {
            return Err(named.clone());
        }
        let outer = required.unwrap_or(0);
        Ok(Depths { outer, inner: preferred.unwrap_or(outer).max(outer), preferred, required: required.is_some() })
    }
}

/// Where an attempt may go: domains in the order they are tried, and the topology score of each
/// node position (empty without a preferred level).
pub struct Domains {
    pub candidates: Vec<usize>,
    pub ranks: Vec<u8>,
}

impl Domains {
    pub fn of(session: &Session, job: usize, depths: &Depths) -> Domains {
        let mut domains = Domains { candidates: Vec::new(), ranks: Vec::new() };
        let Some(tree) = &session.tree else { return domains };
        let (start, count) = attempt(session, job);
        let need = count as u32;
        let fits = domain_fits(session, job, depths);
        if !fits.iter().any(|fit| *fit >= need) {
            return domains;
        }
        let j = &session.jobs[job];
        let tasks = &session.view.groups[j.group].tasks;
        let waiting = j.pending[start..start + count].iter();
        let wanted = waiting.fold(Amounts::ZERO, |sum, t| sum.plus(tasks[*t as usize].request));
        let ordered = tree.ordered(wanted, depths.inner.max(depths.preferred.unwrap_or(0)));
        for depth in (depths.outer..=depths.inner).rev() {
            let fitting = ordered[depth].iter().filter(|d| fits[**d] >= need);
            domains.candidates.extend(fitting);
        }
        if let Some(preferred) = depths.preferred {
            domains.ranks = tree.ranks(&ordered[preferred]);
        }
        domains
    }
}

/// How many of the attempt's pods each domain between the depths takes; 0 for domains that are
/// out because running pods of the group pin another one. Mixed pods cannot be counted without
/// placing them: then every domain counts as large enough.
pub fn domain_fits(session: &Session, job: usize, depths: &Depths) -> Vec<u32> {
    let Some(tree) = &session.tree else { return Vec::new() };
    let mut fits = vec![0u32; tree.domains()];
    let j = &session.jobs[job];
    let (_, need) = attempt(session, job);
    let greedy = Greedy::new(session, job);
    let pins: &[u32] = if depths.required { &j.active_on } else { &[] };
    let pinned: Vec<usize> = pins.iter().filter_map(|n| tree.path(*n).get(depths.outer).copied()).collect();
    let is_open = |path: &[usize]| pins.is_empty() || pinned.contains(&path[depths.outer]);
    match greedy.runs[..] {
        [(request, class, waiting)] => {
            for &n in &session.matcher.class(class).nodes {
                let k = request.times_in(session.left[n as usize], waiting);
                let path = tree.path(n);
                if k == 0 || path.is_empty() || !is_open(path) {
                    continue;
                }
                for &domain in &path[depths.outer..=depths.inner] {
                    fits[domain] = fits[domain].saturating_add(k);
                }
            }
        }
        _ => {
            for depth in depths.outer..=depths.inner {
                for &domain in tree.at(depth) {
                    let first = tree.nodes(domain).first();
                    if first.is_some_and(|n| is_open(tree.path(*n))) {
                        fits[domain] = need as u32;
                    }
                }
            }
        }
    }
    fits
}
