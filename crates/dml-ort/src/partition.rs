//! Partitioning: joins as many nodes as possible without a group that depends on itself through other nodes.

/// Groups of the `claimed` nodes of a graph. `producers` has the nodes that each node reads from. The indices
/// of a group's nodes are ascending.
///
/// A node's level is the greatest number of changes from an unclaimed node to a claimed one on any path to it.
/// No path between two claimed nodes of the same level has an unclaimed node, so connected nodes of the same
/// level are joined.
pub(crate) fn groups(producers: &[Vec<usize>], claimed: &[bool]) -> Vec<Vec<usize>> {
    let levels = levels(producers, claimed);
    let mut leaders: Vec<usize> = (0..claimed.len()).collect();
    let joins = |a: usize, b: usize| claimed[a] && claimed[b] && levels[a] == levels[b];
    for (node, from) in producers.iter().enumerate() {
        for producer in from.iter().filter(|it| joins(node, **it)) {
            let [a, b] = [node, *producer].map(|it| leader(&leaders, it));
            leaders[a.max(b)] = a.min(b);
        }
    }
    let mut groups = vec![Vec::new(); claimed.len()];
    for node in (0..claimed.len()).filter(|it| claimed[*it]) {
        groups[leader(&leaders, node)].push(node);
    }
    groups.retain(|it: &Vec<usize>| !it.is_empty());
    groups
}

fn leader(leaders: &[usize], mut node: usize) -> usize {
    while leaders[node] != node {
        node = leaders[node];
    }
    node
}

/// The level of every node. Nodes on a cycle, which no valid graph has, stay at 0.
fn levels(producers: &[Vec<usize>], claimed: &[bool]) -> Vec<usize> {
    let mut levels = vec![0; claimed.len()];
    let mut waiting: Vec<usize> = producers.iter().map(Vec::len).collect();
    let mut users = vec![Vec::new(); claimed.len()];
    for (node, from) in producers.iter().enumerate() {
        from.iter().for_each(|producer| users[*producer].push(node));
    }
    let mut ready: Vec<usize> = (0..claimed.len()).filter(|it| waiting[*it] == 0).collect();
    while let Some(node) = ready.pop() {
        for user in &users[node] {
            let level = levels[node] + usize::from(claimed[*user] && !claimed[node]);
            levels[*user] = levels[*user].max(level);
            waiting[*user] -= 1;
            if waiting[*user] == 0 {
                ready.push(*user);
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_between_two_keeps_them_apart() {
        // 0 -> 1 (not claimed) -> 2, and 0 -> 2.
        let producers = [vec![], vec![0], vec![0, 1]];
        assert_eq!(groups(&producers, &[true, false, true]), [vec![0], vec![2]]);
        assert_eq!(groups(&producers, &[true; 3]), [vec![0, 1, 2]]);
    }

    #[test]
    fn what_is_not_connected_is_not_joined() {
        let producers = [vec![], vec![], vec![0], vec![1]];
        assert_eq!(groups(&producers, &[true; 4]), [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn a_long_way_round_raises_the_level() {
        // 0 -> 1 -> 2(no) -> 3 -> 4, and 0 -> 4: 4 cannot join 0, and joins 3.
        let producers = [vec![], vec![0], vec![1], vec![2], vec![3, 0]];
        let claimed = [true, true, false, true, true];
        assert_eq!(groups(&producers, &claimed), [vec![0, 1], vec![3, 4]]);
    }

    /// Groups of random graphs never form a cycle.
    #[test]
    fn groups_make_no_circle() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % below
        };
        for _ in 0..500 {
            let count = 1 + random(30);
            let producers: Vec<Vec<usize>> = (0..count)
                .map(|node| {
                    (0..random(4)).map(|_| random(node.max(1))).filter(|it| *it < node).collect()
                })
                .collect();
            let claimed: Vec<bool> = (0..count).map(|_| random(3) > 0).collect();
            let groups = groups(&producers, &claimed);
            assert_eq!(groups.iter().flatten().count(), claimed.iter().filter(|it| **it).count());
            assert!(has_order(&producers, &groups));
        }
    }

    /// Whether the graph with each group as one node has a topological order.
    fn has_order(producers: &[Vec<usize>], groups: &[Vec<usize>]) -> bool {
        let mut place: Vec<usize> = (0..producers.len()).map(|it| it + groups.len()).collect();
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|node| place[*node] = number);
        }
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (node, from) in producers.iter().enumerate() {
            open.extend(from.iter().map(|it| (place[*it], place[node])).filter(|(a, b)| a != b));
        }
        // Remove edges from nodes without incoming edges until no edge is left.
        loop {
            let before = open.len();
            let targets: Vec<usize> = open.iter().map(|(_, to)| *to).collect();
            open.retain(|(from, _)| targets.contains(from));
            if open.len() == before {
                return before == 0;
            }
        }
    }
}
