//! An order in which nodes can be executed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The nodes in topological order: each after the nodes that it reads, and otherwise in the order of the
/// description. `Err` has the nodes of a cycle, each of which reads the next one.
pub(super) fn order(reads: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    if reads.iter().enumerate().all(|(node, sources)| sources.iter().all(|it| *it < node)) {
        return Ok((0..reads.len()).collect());
    }
    let mut readers: Vec<Vec<usize>> = vec![vec![]; reads.len()];
    let mut waiting: Vec<usize> = reads.iter().map(Vec::len).collect();
    for (node, sources) in reads.iter().enumerate() {
        sources.iter().for_each(|source| readers[*source].push(node));
    }
    let is_ready = |node: &usize| reads[*node].is_empty();
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..reads.len()).filter(is_ready).map(Reverse).collect();
    let mut order = Vec::with_capacity(reads.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for reader in &readers[node] {
            waiting[*reader] -= 1;
            if waiting[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    if order.len() == reads.len() {
        return Ok(order);
    }
    Err(circle(reads, &waiting))
}

/// A cycle, found by going from a waiting node to a node that it waits for until a node repeats.
fn circle(reads: &[Vec<usize>], waiting: &[usize]) -> Vec<usize> {
    let waits = |node: &usize| waiting[*node] > 0;
    let mut path: Vec<usize> = (0..reads.len()).find(waits).into_iter().collect();
    while let Some(next) = path.last().and_then(|last| reads[*last].iter().copied().find(waits)) {
        if let Some(first) = path.iter().position(|node| *node == next) {
            return path.split_off(first);
        }
        path.push(next);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn a_node_follows_what_it_reads() {
        assert_eq!(order(&[vec![2, 1], vec![], vec![1, 1]]), Ok(vec![1, 2, 0]));
        assert_eq!(order(&[vec![], vec![0], vec![], vec![1, 2]]), Ok(vec![0, 1, 2, 3]));
        assert_eq!(order(&[]), Ok(vec![]));
    }

    #[test]
    fn a_circle_is_found_without_what_depends_on_it() {
        assert_eq!(order(&[vec![3], vec![2, 0], vec![1], vec![2]]), Err(vec![2, 1]));
        assert_eq!(order(&[vec![0]]), Err(vec![0]));
    }
}
