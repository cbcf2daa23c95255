//! Determines which items of an import describe the same resource, which ones reference each other, and in which order
//! waiting items are written: targets of references before the items that reference them, and cycles as one group.

use std::collections::HashMap;

use bindery_model::blueprint::{Blueprint, BlueprintKind};
use serde_json::Value;

use crate::command::ImportItem;

/// The names that order an item among others: the names of its resource, and the names that it relates to.
pub(crate) struct Relations {
    /// The names by which items may identify its resource: those of [`given_names`], and those that the resource had
    /// when the item was decided.
    pub(crate) names: Vec<String>,
    /// The ids and keys that items reference, see [`targets_of`].
    pub(crate) targets: Vec<String>,
}

impl Relations {
    /// Returns the approximate number of bytes of memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.names.iter().chain(&self.targets).map(|name| size_of::<String>() + name.len()).sum()
    }
}

/// Returns the names by which an item identifies its resource: its key and its id.
pub(crate) fn given_names(blueprint: &Blueprint, item: &ImportItem) -> Vec<String> {
    if blueprint.kind == BlueprintKind::Singular {
        return vec![String::new()];
    }
    item.key.clone().into_iter().chain(item.id.map(|id| id.to_string())).collect()
}

/// Returns the ids and keys of resources of the same blueprint that an item references.
pub(crate) fn targets_of<'a>(blueprint: &Blueprint, item: &'a ImportItem) -> impl Iterator<Item = &'a str> {
    let values = item.copies.iter().flat_map(|copy| &copy.values);
    let related = values.filter(|written| {
        blueprint.fields[written.position].related_blueprint().is_some_and(|slug| slug == blueprint.slug)
    });
    related.flat_map(|written| match &written.value {
        Value::Array(targets) => targets.iter().filter_map(Value::as_str).collect(),
        target => Vec::from_iter(target.as_str()),
    })
}

/// Returns the positions of the items, in groups. The items of a group reference only items of the same or an earlier
/// group.
pub(crate) fn in_order(items: &[&Relations]) -> Vec<Vec<usize>> {
    components(&edges(items))
}

/// Returns, for each item, the items that must be written before it or together with it: those that it references, and
/// the previous item about its resource.
fn edges(items: &[&Relations]) -> Vec<Vec<usize>> {
    let Resources { of_items, by_name } = Resources::of(items);
    let mut edges = vec![Vec::new(); items.len()];
    let mut last: HashMap<usize, usize> = HashMap::new();
    for (position, resource) in of_items.iter().enumerate() {
        edges[position].extend(last.insert(*resource, position));
    }
    for (position, item) in items.iter().enumerate() {
        let targets = item.targets.iter().filter_map(|target| by_name.get(target.as_str()));
        edges[position].extend(targets.filter_map(|named| last.get(&of_items[*named])));
    }
    edges
}

/// The resources that items are about, each as the position of its first item.
struct Resources<'a> {
    /// The resource of each item.
    of_items: Vec<usize>,
    /// The first item with each name.
    by_name: HashMap<&'a str, usize>,
}

impl<'a> Resources<'a> {
    /// Finds the resources. Items that share a name are about one resource, also if only a third item connects their
    /// names: one names an id, the next one a key, and the third both.
    fn of(items: &[&'a Relations]) -> Resources<'a> {
        let mut parents: Vec<usize> = (0..items.len()).collect();
        let mut by_name = HashMap::new();
        for (position, item) in items.iter().enumerate() {
            for name in &item.names {
                let first = *by_name.entry(name.as_str()).or_insert(position);
                let (one, other) = (root_of(&mut parents, first), root_of(&mut parents, position));
                parents[one.max(other)] = one.min(other);
            }
        }
        let of_items = (0..items.len()).map(|position| root_of(&mut parents, position)).collect();
        Resources { of_items, by_name }
    }
}

/// Returns the root of the tree that a position is in, and shortens the way to it.
fn root_of(parents: &mut [usize], mut position: usize) -> usize {
    while parents[position] != position {
        parents[position] = parents[parents[position]];
        position = parents[position];
    }
    position
}

/// Returns the strongly connected components of a graph, by Tarjan's algorithm. A component comes after those that its
/// edges lead to.
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
    for position in 0..edges.len() {
        search.visit(position);
    }
    search.groups
}

struct Search<'a> {
    edges: &'a [Vec<usize>],
    /// The turn in which each item was found.
    found: Vec<Option<usize>>,
    /// For each item, the earliest turn among the open items that can be reached from it.
    lowest: Vec<usize>,
    is_open: Vec<bool>,
    /// The items whose group is not known yet, in the order they were found.
    open: Vec<usize>,
    n_found: usize,
    groups: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Visits everything that can be reached from an item. The path is on the heap, because a chain may be too long for
    /// the stack.
    fn visit(&mut self, start: usize) {
        if self.found[start].is_some() {
            return;
        }
        let mut path = vec![(start, 0)];
        self.enter(start);
        while let Some((position, next)) = path.last_mut() {
            let position = *position;
            match self.edges[position].get(*next) {
                Some(&target) => {
                    *next += 1;
                    match self.found[target] {
                        None => {
                            self.enter(target);
                            path.push((target, 0));
                        }
                        Some(found) if self.is_open[target] => self.lowest[position] = self.lowest[position].min(found),
                        Some(_) => {}
                    }
                }
                None => {
                    path.pop();
                    if let Some((before, _)) = path.last() {
                        self.lowest[*before] = self.lowest[*before].min(self.lowest[position]);
                    }
                    if self.found[position] == Some(self.lowest[position]) {
                        self.close(position);
                    }
                }
            }
        }
    }

    fn enter(&mut self, position: usize) {
        self.found[position] = Some(self.n_found);
        self.lowest[position] = self.n_found;
        self.n_found += 1;
        self.is_open[position] = true;
        self.open.push(position);
    }

    /// Closes the group whose first found item this is.
    fn close(&mut self, first: usize) {
        let from = self.open.iter().rposition(|position| *position == first).unwrap_or(0);
        let mut group = self.open.split_off(from);
        for position in &group {
            self.is_open[*position] = false;
        }
        group.sort_unstable();
        self.groups.push(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_ordered_first_and_cycles_form_one_group() {
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
    fn a_long_chain_and_a_long_cycle_do_not_overflow_the_stack() {
        let n = 300_000;
        let chain: Vec<Vec<usize>> = (0..n).map(|position| (position + 1..n).take(1).collect()).collect();
        assert_eq!(components(&chain), (0..n).rev().map(|position| vec![position]).collect::<Vec<_>>());
        let cycle: Vec<Vec<usize>> = (0..n).map(|position| vec![(position + 1) % n]).collect();
        assert_eq!(components(&cycle), [(0..n).collect::<Vec<_>>()]);
    }
}
