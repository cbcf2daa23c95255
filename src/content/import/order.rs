//! The order in which the lines that waited go in: what a line relates to before the line, circles together.

use std::collections::HashMap;

use crate::content::command::ImportItem;
use crate::content::decide::import::{given_names, targets_of};
use crate::model::blueprint::Blueprint;

/// The places of the items in groups: a group relates to itself and to those before it alone.
pub(super) fn in_order(blueprint: &Blueprint, items: &[&ImportItem]) -> Vec<Vec<usize>> {
    components(&edges(blueprint, items))
}

/// What each item must come after: the items that bring what it relates to, and the one before it of the same name.
fn edges(blueprint: &Blueprint, items: &[&ImportItem]) -> Vec<Vec<usize>> {
    let mut edges = vec![Vec::new(); items.len()];
    let mut last: HashMap<String, usize> = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        for name in given_names(blueprint, item) {
            edges[place].extend(last.insert(name, place));
        }
    }
    for (place, item) in items.iter().enumerate() {
        edges[place].extend(targets_of(blueprint, item).filter_map(|target| last.get(target)));
    }
    edges
}

/// The strongly connected components of a graph, by Tarjan's algorithm: each comes after those that it leads to.
fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        found: vec![None; edges.len()],
        lowest: vec![0; edges.len()],
        is_open: vec![false; edges.len()],
        open: Vec::new(),
        n_found: 0,
        groups: Vec::new(),
    };
    for place in 0..edges.len() {
        search.visit(place);
    }
    search.groups
}

struct Search<'a> {
    edges: &'a [Vec<usize>],
    /// When each item was found.
    found: Vec<Option<usize>>,
    /// The earliest found item of those that are open and can be reached.
    lowest: Vec<usize>,
    is_open: Vec<bool>,
    /// Items whose group is not known yet, in the order in which they were found.
    open: Vec<usize>,
    n_found: usize,
    groups: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Looks at everything that can be reached from an item. Keeps its path on the heap: a chain may be long.
    fn visit(&mut self, start: usize) {
        if self.found[start].is_some() {
            return;
        }
        let mut path = vec![(start, 0)];
        self.enter(start);
        while let Some((place, next)) = path.last_mut() {
            let place = *place;
            match self.edges[place].get(*next) {
                Some(&target) => {
                    *next += 1;
                    match self.found[target] {
                        None => {
                            self.enter(target);
                            path.push((target, 0));
                        }
                        Some(found) if self.is_open[target] => self.lowest[place] = self.lowest[place].min(found),
                        Some(_) => {}
                    }
                }
                None => {
                    path.pop();
                    if let Some((before, _)) = path.last() {
                        self.lowest[*before] = self.lowest[*before].min(self.lowest[place]);
                    }
                    if self.found[place] == Some(self.lowest[place]) {
                        self.close(place);
                    }
                }
            }
        }
    }

    fn enter(&mut self, place: usize) {
        self.found[place] = Some(self.n_found);
        self.lowest[place] = self.n_found;
        self.n_found += 1;
        self.is_open[place] = true;
        self.open.push(place);
    }

    /// Takes the group that the item was the first found of.
    fn close(&mut self, first: usize) {
        let from = self.open.iter().rposition(|place| *place == first).unwrap_or(0);
        let mut group = self.open.split_off(from);
        for place in &group {
            self.is_open[*place] = false;
        }
        group.sort_unstable();
        self.groups.push(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_related_to_comes_first_and_circles_come_together() {
        for (edges, expected) in [
            (vec![], vec![]),
            (vec![vec![], vec![], vec![]], vec![vec![0], vec![1], vec![2]]),
            (vec![vec![1], vec![2], vec![]], vec![vec![2], vec![1], vec![0]]),
            (vec![vec![0], vec![0]], vec![vec![0], vec![1]]),
            (vec![vec![1], vec![0], vec![1]], vec![vec![0, 1], vec![2]]),
            (vec![vec![1, 3], vec![2], vec![0], vec![4], vec![3]], vec![vec![3, 4], vec![0, 1, 2]]),
            (vec![vec![2], vec![2], vec![], vec![0, 1]], vec![vec![2], vec![0], vec![1], vec![3]]),
        ] {
            assert_eq!(components(&edges), expected, "{edges:?}");
        }
    }

    #[test]
    fn a_long_chain_and_a_long_circle_need_no_stack() {
        let n = 300_000;
        let chain: Vec<Vec<usize>> = (0..n).map(|place| (place + 1..n).take(1).collect()).collect();
        assert_eq!(components(&chain), (0..n).rev().map(|place| vec![place]).collect::<Vec<_>>());
        let circle: Vec<Vec<usize>> = (0..n).map(|place| vec![(place + 1) % n]).collect();
        assert_eq!(components(&circle), [(0..n).collect::<Vec<_>>()]);
    }
}
