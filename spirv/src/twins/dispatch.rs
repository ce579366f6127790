//! `include/dispatch.glsl` and `include/runs.glsl` on the host.

use dml_core::host::{HostDispatch, HostError};

/// The indices of one invocation: `count` of them, each `step` after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) step: u32,
}

/// Runs `main` for every invocation of the dispatch that has an index, with that index.
pub(crate) fn for_each_index(
    dispatch: &mut HostDispatch<'_>,
    first_group: u32,
    count: u32,
    mut main: impl FnMut(&mut HostDispatch<'_>, u32) -> Result<(), HostError>,
) -> Result<(), HostError> {
    for_each_invocation(dispatch, first_group, |dispatch, group, local, local_size| {
        match linear_index(group, local, local_size, count) {
            Some(index) => main(dispatch, index),
            None => Ok(()),
        }
    })
}

/// Runs `main` for every invocation of the dispatch that has indices, with these.
pub(super) fn for_each_run(
    dispatch: &mut HostDispatch<'_>,
    first_group: u32,
    count: u32,
    mut main: impl FnMut(&mut HostDispatch<'_>, Run) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let run_length = dispatch.specialization("RUN_LENGTH");
    for_each_invocation(dispatch, first_group, |dispatch, group, local, local_size| {
        match run_of(group, local, local_size, run_length, count) {
            Some(run) => main(dispatch, run),
            None => Ok(()),
        }
    })
}

/// Runs `main` for every group of the dispatch whose number is less than `count`, with that number.
pub(crate) fn for_each_group_below(
    dispatch: &mut HostDispatch<'_>,
    first_group: u32,
    count: u32,
    mut main: impl FnMut(&mut HostDispatch<'_>, u32) -> Result<(), HostError>,
) -> Result<(), HostError> {
    for_each_group(dispatch, first_group, |dispatch, group| match group < count {
        true => main(dispatch, group),
        false => Ok(()),
    })
}

/// Runs `main` with the number of every group, every invocation in it, and the number of these invocations.
fn for_each_invocation(
    dispatch: &mut HostDispatch<'_>,
    first_group: u32,
    mut main: impl FnMut(&mut HostDispatch<'_>, u32, u32, u32) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let local_size = dispatch.specialization("LOCAL_SIZE");
    for_each_group(dispatch, first_group, |dispatch, group| {
        (0..local_size).try_for_each(|local| main(dispatch, group, local, local_size))
    })
}

fn for_each_group(
    dispatch: &mut HostDispatch<'_>,
    first_group: u32,
    mut main: impl FnMut(&mut HostDispatch<'_>, u32) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let groups = dispatch.groups();
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                main(dispatch, linear_group(first_group, groups, [x, y, z]))?;
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

fn run_of(group: u32, local: u32, local_size: u32, run_length: u32, count: u32) -> Option<Run> {
    let last = count.wrapping_sub(1);
    let group_length = local_size * run_length;
    if group > last / group_length {
        return None;
    }
    let first = group * group_length;
    if local > last - first {
        return None;
    }
    let first = first + local;
    let in_run = run_length.min((last - first) / local_size + 1);
    Some(Run { first, count: in_run, step: local_size })
}

/// Adds to one coordinate its part of a step and the carry of the dimension further in, and sets the carry for the
/// next one. `step` is less than `size`.
pub(super) fn add_with_carry(size: u32, step: u32, at: &mut u32, carry: &mut u32) {
    let sum = at.wrapping_add(step).wrapping_add(*carry);
    *carry = u32::from(sum >= size);
    *at = sum.wrapping_sub(carry.wrapping_mul(size));
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
    fn runs_have_every_index_once() {
        for (local_size, run_length) in [(2, 16), (64, 16), (1024, 16), (3, 5), (64, 1)] {
            for count in [1, 2, 63, 64, 65, 1023, 1024, 1025, 5000, u32::MAX] {
                let last_group = (count - 1) / (local_size * run_length);
                let from = last_group.saturating_sub(1);
                let groups = from..=last_group.saturating_add(1);
                let mut indices: Vec<u32> = groups
                    .flat_map(|group| (0..local_size).map(move |local| (group, local)))
                    .filter_map(|(group, local)| {
                        run_of(group, local, local_size, run_length, count)
                    })
                    .flat_map(|run| (0..run.count).map(move |turn| run.first + turn * run.step))
                    .collect();
                indices.sort_unstable();
                let expected: Vec<u32> = (from * local_size * run_length..count).collect();
                assert_eq!(indices, expected, "{local_size} x {run_length} of {count}");
            }
        }
    }

    #[test]
    fn groups_are_numbered_along_x_then_y_then_z() {
        assert_eq!(linear_group(5, [4, 3, 2], [3, 0, 0]), 8);
        assert_eq!(linear_group(5, [4, 3, 2], [0, 1, 0]), 9);
        assert_eq!(linear_group(5, [4, 3, 2], [3, 2, 1]), 28);
    }
}
