//! The work groups of a dispatch, within the device's limits.

/// A part of a one-dimensional range of work groups, as one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The range's first group in this dispatch.
    pub(crate) first_group: u32,
    /// Groups in x, y and z. Their product may exceed the range; kernels check that.
    pub(crate) groups: [u32; 3],
}

/// Splits the groups for `indices` over x, y, z and, where these do not suffice or exceed `at_most` groups, over several
/// dispatches. `limits` is maxComputeWorkGroupCount and has no zeros; `at_most` is not 0. A group has at least 2 indices,
/// or there are less than 2^31 of them, so that the number of no group exceeds 2^32, including groups past the end of
/// the range.
pub(crate) fn split(
    indices: u32,
    group_length: u32,
    limits: [u32; 3],
    at_most: u32,
) -> impl Iterator<Item = Grid> + use<> {
    let groups = indices.div_ceil(group_length);
    let most = limits.iter().fold(1u32, |product, limit| product.saturating_mul(*limit));
    let mut most = most.min(at_most);
    if groups > most {
        most = whole_rectangle(most, limits);
        // As many dispatches, but of equal work.
        most = whole_rectangle(groups.div_ceil(groups.div_ceil(most)), limits);
    }
    (0..groups.div_ceil(most)).map(move |index| {
        let first_group = index * most;
        Grid { first_group, groups: rectangle(most.min(groups - first_group), limits) }
    })
}

/// At most `groups` groups, such that a box has exactly as many: two dispatches must not have a group in common.
fn whole_rectangle(groups: u32, [max_x, max_y, _]: [u32; 3]) -> u32 {
    let layer = max_x.saturating_mul(max_y);
    match groups {
        _ if groups <= max_x => groups,
        _ if groups <= layer => groups - groups % max_x,
        _ => groups - groups % layer,
    }
}

/// The sizes of a box with at least `groups` groups, with less than one unused group in each of its rows.
fn rectangle(groups: u32, [max_x, max_y, _]: [u32; 3]) -> [u32; 3] {
    let rows = groups.div_ceil(max_x);
    let layers = rows.div_ceil(max_y);
    let rows = rows.div_ceil(layers);
    [groups.div_ceil(rows * layers), rows, layers]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the grids cover every group of the range, within the limits, and that only the
    /// last one passes the end.
    fn check(invocations: u32, local_size: u32, limits: [u32; 3]) -> Vec<Grid> {
        check_at_most(invocations, local_size, limits, u32::MAX)
    }

    /// As `split`, with at most `groups` groups in a dispatch.
    fn check_at_most(
        invocations: u32,
        local_size: u32,
        limits: [u32; 3],
        at_most: u32,
    ) -> Vec<Grid> {
        let grids: Vec<_> = split(invocations, local_size, limits, at_most).collect();
        let needed = u64::from(invocations.div_ceil(local_size));
        let mut covered = 0u64;
        for (index, grid) in grids.iter().enumerate() {
            assert_eq!(u64::from(grid.first_group), covered);
            assert!(grid.groups.iter().zip(limits).all(|(count, limit)| *count <= limit));
            let groups = grid.groups.iter().map(|count| u64::from(*count)).product::<u64>();
            covered += groups;
            assert!(covered <= needed || index + 1 == grids.len());
            // But for the groups past the end.
            assert!(groups - covered.saturating_sub(needed) <= at_most.into());
        }
        assert!(covered >= needed && covered < 1 << 32);
        grids
    }

    const VULKAN: [u32; 3] = [65_535; 3];

    #[test]
    fn small_ranges_are_one_row() {
        assert_eq!(check(1, 64, VULKAN), [Grid { first_group: 0, groups: [1, 1, 1] }]);
        assert_eq!(check(65, 64, VULKAN), [Grid { first_group: 0, groups: [2, 1, 1] }]);
    }

    #[test]
    fn rows_and_layers_are_used_as_needed() {
        assert_eq!(check(65_535 * 64, 64, VULKAN)[0].groups, [65_535, 1, 1]);
        assert_eq!(check(65_535 * 64 + 1, 64, VULKAN)[0].groups, [32_768, 2, 1]);
        assert_eq!(check(u32::MAX, 64, VULKAN).len(), 1);
        assert_eq!(check(2000, 2, [10, 10, 10])[0].groups, [10, 10, 10]);
    }

    #[test]
    fn one_dimensional_devices_get_several_dispatches() {
        let grids = check(u32::MAX, 64, [65_535, 1, 1]);
        assert_eq!(grids.len(), 1025);
        check(u32::MAX, 2, VULKAN);
        check(u32::MAX, 2, [65_535, 65_535, 1]);
        check(12_345, 8, [7, 3, 2]);
    }

    #[test]
    fn no_dispatch_has_more_groups_than_it_may() {
        let groups = |grids: Vec<Grid>| grids.iter().map(|grid| grid.groups).collect::<Vec<_>>();
        assert_eq!(groups(check_at_most(640, 64, VULKAN, 10)), [[10, 1, 1]]);
        // Three dispatches, of equal work.
        assert_eq!(groups(check_at_most(640, 64, VULKAN, 4)), [[4, 1, 1], [4, 1, 1], [2, 1, 1]]);
        assert_eq!(groups(check_at_most(9 * 64, 64, VULKAN, 4)), [[3, 1, 1]; 3]);
        assert_eq!(check_at_most(640, 64, VULKAN, 1).len(), 10);
        // More than a row has: whole rows, so that none passes the end of its part.
        let grids = check_at_most(u32::MAX, 64, VULKAN, 100_000);
        assert!(grids.len() > 1000 && grids.iter().all(|grid| grid.groups[1..] == [1, 1]));
        for limits in [[7, 3, 2], [7, 3, 1], [7, 1, 1], [65_535, 65_535, 1]] {
            for at_most in [1, 2, 6, 7, 8, 20, 21, 22, 41, 42, 43, 1000] {
                check_at_most(12_345, 8, limits, at_most);
            }
        }
    }
}
