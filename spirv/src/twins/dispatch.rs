//! `include/dispatch.glsl` on the host.

use dml_core::host::{HostDispatch, HostError};

/// Index of the specialization constant `LOCAL_SIZE`.
const LOCAL_SIZE: usize = 0;

/// Runs `main` for every invocation of the dispatch that has an index, with that index.
pub(super) fn for_each_index(
    dispatch: &mut HostDispatch<'_>,
    first_group: u32,
    count: u32,
    mut main: impl FnMut(&mut HostDispatch<'_>, u32) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let local_size = dispatch.specialization(LOCAL_SIZE);
    let groups = dispatch.groups();
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                let group = linear_group(first_group, groups, [x, y, z]);
                for local in 0..local_size {
                    if let Some(index) = linear_index(group, local, local_size, count) {
                        main(dispatch, index)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn linear_group(first_group: u32, groups: [u32; 3], id: [u32; 3]) -> u32 {
    let plane = id[1].wrapping_add(groups[1].wrapping_mul(id[2]));
    first_group.wrapping_add(id[0]).wrapping_add(groups[0].wrapping_mul(plane))
}

fn linear_index(group: u32, local: u32, local_size: u32, count: u32) -> Option<u32> {
    let last = count.wrapping_sub(1);
    if group > last / local_size {
        return None;
    }
    let first = group * local_size;
    if local > last - first {
        return None;
    }
    Some(first + local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_index_past_the_largest_count_comes_around() {
        for local_size in [1, 64, 96, 128] {
            let last_group = (u32::MAX - 1) / local_size;
            let indices: Vec<u32> = (last_group..=last_group.saturating_add(1))
                .flat_map(|group| (0..local_size).map(move |local| (group, local)))
                .filter_map(|(group, local)| linear_index(group, local, local_size, u32::MAX))
                .collect();
            let expected: Vec<u32> = (last_group * local_size..u32::MAX).collect();
            assert_eq!(indices, expected, "local size {local_size}");
        }
    }

    #[test]
    fn groups_are_numbered_along_x_then_y_then_z() {
        assert_eq!(linear_group(5, [4, 3, 2], [3, 0, 0]), 8);
        assert_eq!(linear_group(5, [4, 3, 2], [0, 1, 0]), 9);
        assert_eq!(linear_group(5, [4, 3, 2], [3, 2, 1]), 28);
    }
}
