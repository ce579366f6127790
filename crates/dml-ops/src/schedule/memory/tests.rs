//! Tests of placements.

use super::placed::MOST_NEIGHBOURS;
use super::*;

fn buffer(size: u64, lives: Range<usize>) -> Buffer {
    Buffer { size, lives }
}

#[test]
fn what_lives_at_other_times_shares_bytes() {
    let chain: Vec<Buffer> = (0..10).map(|at| buffer(100, at..at + 2)).collect();
    let placement = place(&chain, 64, u64::MAX);
    assert_eq!(placement.size, 2 * 128);
    assert_eq!(placement.size, lower_bound(&chain, 64));
    assert!(placement.offsets.iter().all(|offset| offset.is_multiple_of(64)));
}

#[test]
fn nothing_takes_no_memory() {
    assert_eq!(
        place(&[], 256, u64::MAX),
        Placement { offsets: vec![], size: 0, divisions: vec![] }
    );
    assert_eq!(place(&[buffer(0, 0..3)], 256, u64::MAX).size, 0);
}

/// A generator of numbers that needs no crate.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).expect("31 bits")
}

/// The offsets by comparisons of every two buffers.
fn placed_by_all_pairs(order: &[usize], buffers: &[Buffer], alignment: u64) -> Vec<u64> {
    let mut offsets = vec![0; buffers.len()];
    let mut placed: Vec<usize> = vec![];
    for at in order.iter().copied().filter(|at| buffers[*at].size > 0) {
        let end = |at: usize, offset: u64| offset + buffers[at].size.next_multiple_of(alignment);
        let lives = &buffers[at].lives;
        let together = placed.iter().copied().filter(|other| {
            let other = &buffers[*other].lives;
            lives.start < other.end && other.start < lives.end
        });
        let together: Vec<usize> = together.collect();
        let is_free = |offset: &u64| {
            let mut others = together.iter();
            others.all(|other| {
                end(*other, offsets[*other]) <= *offset || end(at, *offset) <= offsets[*other]
            })
        };
        let ends = together.iter().map(|it| end(*it, offsets[*it]));
        offsets[at] = ends.chain([0]).filter(is_free).min().expect("above all");
        placed.push(at);
    }
    offsets
}

fn comparisons(buffers: &[Buffer], most_neighbours: usize) -> (usize, u64) {
    let mut placed = Placed::of(buffers, (64, u64::MAX));
    placed.most_neighbours = most_neighbours;
    placed.place_all(&(0..buffers.len()).collect::<Vec<_>>());
    (placed.compared, placed.size)
}

#[test]
fn a_buffer_is_compared_with_those_that_live_together_with_it_and_no_more_than_the_bound() {
    let chain: Vec<Buffer> = (0..50_000).map(|at| buffer(100, at..at + 3)).collect();
    assert_eq!(comparisons(&chain, MOST_NEIGHBOURS), (2 * 50_000 - 3, 3 * 128));
    let together: Vec<Buffer> = (0..10_000).map(|at| buffer(100, at..20_000)).collect();
    let (compared, size) = comparisons(&together, 16);
    assert!(compared <= 17 * 10_000, "{compared}");
    assert_eq!(size, lower_bound(&together, 64));
}

/// Some buffers of less than 5000 bytes.
fn drawn(state: &mut u64) -> Vec<Buffer> {
    let count = 1 + next(state) % 40;
    let buffers =
        (0..count).map(|at| buffer((next(state) % 5000) as u64, at..at + 1 + next(state) % 8));
    buffers.collect()
}

fn check_apart(placement: &Placement, buffers: &[Buffer]) {
    let end = |at: usize| placement.offsets[at] + buffers[at].size;
    let pairs = (0..buffers.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    for (one, other) in pairs {
        let [a, b] = [&buffers[one].lives, &buffers[other].lives];
        let together = a.start < b.end && b.start < a.end;
        let [from, to] = [&placement.offsets[one], &placement.offsets[other]];
        let apart = end(one) <= *to || end(other) <= *from;
        assert!(!together || apart || buffers[one].size * buffers[other].size == 0);
    }
}

#[test]
fn no_two_that_live_together_share_a_byte_and_first_fit_is_never_better() {
    let mut state = 7;
    for _ in 0..10_000 {
        let buffers = drawn(&mut state);
        let placement = place(&buffers, 64, u64::MAX);
        let order: Vec<usize> = (0..buffers.len()).rev().collect();
        let by_all_pairs = placed_by_all_pairs(&order, &buffers, 64);
        assert_eq!(place_in(&order, &buffers, (64, u64::MAX)).offsets, by_all_pairs);
        assert!(placement.size <= first_fit(&buffers, 64).size);
        assert!(placement.size >= lower_bound(&buffers, 64));
        check_apart(&placement, &buffers);
    }
}

#[test]
fn no_piece_exceeds_the_limit_and_the_largest_buffer() {
    let (mut state, mut divided) = (11, 0);
    for _ in 0..10_000 {
        let buffers = drawn(&mut state);
        let most = 3000 + (next(&mut state) % 3000) as u64;
        let placement = place(&buffers, 64, most);
        check_apart(&placement, &buffers);
        let starts = [0].into_iter().chain(placement.divisions.iter().copied());
        let ends = placement.divisions.iter().copied().chain([placement.size]);
        for (start, end) in starts.zip(ends) {
            assert!(start < end && start.is_multiple_of(PART_ALIGNMENT));
            let within = |at: &usize| (start..end).contains(&placement.offsets[*at]);
            let parts = (0..buffers.len()).filter(|at| buffers[*at].size > 0).filter(within);
            let parts =
                parts.inspect(|at| assert!(placement.offsets[*at] + buffers[*at].size <= end));
            assert!(parts.count() > 0);
            let largest = buffers.iter().map(|it| it.size.next_multiple_of(PART_ALIGNMENT)).max();
            assert!(end - start <= most.max(largest.unwrap_or(0)));
        }
        divided += usize::from(!placement.divisions.is_empty());
    }
    assert!(divided > 5_000, "{divided}");
}
