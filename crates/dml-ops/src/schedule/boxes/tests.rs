use std::collections::HashSet;

use super::*;
use dml_reference::Random;

/// Packed in any order of dimensions, with padding anywhere, or of any strides, 0 included.
fn strides(random: &mut Random, sizes: [u32; 4]) -> [u32; 4] {
    if random.one_in(3) {
        return std::array::from_fn(|_| random.pick(&[0, 1, 2, 3, 5, 16, 700]));
    }
    let mut order = [0, 1, 2, 3];
    for last in (1..4u32).rev() {
        order.swap(last as usize, random.below(last + 1) as usize);
    }
    let mut strides = [0; 4];
    let mut next = random.pick(&[1, 1, 1, 2, 3]);
    for dimension in order {
        strides[dimension] = next;
        next = next * sizes[dimension] + random.pick(&[0, 0, 1, 7]);
    }
    strides
}

fn placement(random: &mut Random, sizes: [u32; 4], element_bits: u32) -> Placement<4> {
    let strides = strides(random, sizes).map(i64::from);
    // Some dimensions are walked backwards, from their last element on.
    let mirrored = strides.map(|stride| if random.one_in(4) { -stride } else { stride });
    let lasts = sizes.into_iter().zip(mirrored).map(|(size, it)| i64::from(size - 1) * it.min(0));
    let first = i64::from(random.below(6)) - lasts.sum::<i64>();
    let granule = random.pick(&[WORD, 16]);
    Placement { first, strides: mirrored, repeats: 0, element_bits, granule, beyond: 0 }
}

fn packed(sizes: [u32; 4], element_bits: u32) -> Placement<4> {
    let [_, size1, height, width] = sizes;
    let strides = [size1 * height * width, height * width, width, 1];
    Placement::in_words(0, strides, element_bits)
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

fn coordinates(part: TensorBox<4>) -> impl Iterator<Item = [u32; 4]> {
    let [_, size1, height, width] = part.sizes;
    (0..part.sizes.iter().product()).map(move |index| {
        let (row, x) = (index / width, index % width);
        let (batch, y) = (row / height, row % height);
        let at = [batch / size1, batch % size1, y, x];
        std::array::from_fn(|dimension| part.origin[dimension] + at[dimension])
    })
}

/// Checks one division: no element is missing or in two boxes, every box fits, and every element is
/// where its box says. Returns the number of boxes.
fn check(sizes: [u32; 4], operands: &[Placement<4>], window: u64) -> u64 {
    let name = format!("{sizes:?} {operands:?} {window}");
    let boxes = divide(sizes, operands, window).expect(&name);
    let total = boxes.total();
    let mut seen = HashSet::new();
    let mut found = 0;
    for part in boxes {
        found += 1;
        for operand in operands {
            let view = operand.view(&part);
            let bits = u64::from(operand.element_bits);
            assert!(length(&view.range) <= window, "{name} {part:?}");
            let (start, end) = (view.range.start, view.range.end);
            assert!(start % operand.granule == 0 && end % WORD == 0, "{name} {part:?}");
            let is_forward = operand.strides.iter().all(|stride| *stride >= 0);
            let lead = u64::from(view.start) * bits;
            assert!(lead < 8 * operand.granule || !is_forward, "{name} {part:?}");
            for at in coordinates(part) {
                let bit = (operand.first + operand.distance(at)).cast_unsigned() * bits;
                let offset: [u32; 4] = std::array::from_fn(|it| at[it] - part.origin[it]);
                let inside = i64::from(view.start) + operand.distance(offset);
                let inside = inside.cast_unsigned() * bits;
                assert_eq!(8 * view.range.start + inside, bit, "{name} {part:?}");
                assert!(bit + bits <= 8 * view.range.end, "{name} {part:?}");
            }
        }
        assert!(coordinates(part).all(|at| seen.insert(at)), "{name} {part:?}");
    }
    let elements = sizes.iter().product::<u32>() as usize;
    assert!(seen.len() == elements, "{name}");
    assert!(seen.iter().flatten().zip(sizes.iter().cycle()).all(|(at, size)| at < size), "{name}");
    assert_eq!(found, total, "{name}");
    total
}

#[test]
fn boxes_cover_every_element_once_and_fit_every_operand() {
    let mut random = Random::new("boxes");
    let mut several = 0;
    for _ in 0..4000 {
        let sizes = std::array::from_fn(|_| random.pick(&[1, 1, 2, 3, 4, 7, 9, 17]));
        let bits = random.pick(&[4, 8, 16, 32, 64]);
        let window = random.pick(&[8, 12, 16, 35, 64, 100, 256, 1024]);
        let mut operand = || match placement(&mut random, sizes, bits) {
            // Not even a granule.
            it if window <= 16 => Placement { granule: WORD, ..it },
            it => it,
        };
        let operands: Vec<_> = [operand(), operand()][..1 + several as usize % 2].to_vec();
        several += u32::from(check(sizes, &operands, window) > 1);
    }
    assert!(several > 1000, "{several}");
}

#[test]
fn a_tensor_that_fits_is_one_box_whatever_its_layout() {
    for bits in [4, 8, 16, 32, 64] {
        let tensor = packed([2, 3, 5, 7], bits);
        let window = (210 * u64::from(bits) / 8).next_multiple_of(4);
        assert_eq!(check([2, 3, 5, 7], &[tensor], window), 1);
        assert!(check([2, 3, 5, 7], &[tensor], window - 4) > 1);
    }
    let broadcast = Placement::in_words(0, [0; 4], 64);
    assert_eq!(check([2, 3, 5, 7], &[broadcast], 8), 1);
}

#[test]
fn what_is_outermost_in_memory_is_cut() {
    let parts = |strides, window| {
        let tensor = Placement::in_words(0, strides, 32);
        let boxes = divide([1, 2, 8, 8], &[tensor], window).unwrap();
        boxes.map(|part| part.sizes).collect::<Vec<_>>()
    };
    // Rows: 256 bytes a matrix.
    assert_eq!(parts([128, 64, 8, 1], 256), [[1, 1, 8, 8]; 2]);
    assert_eq!(parts([128, 64, 8, 1], 128), [[1, 1, 4, 8]; 4]);
    assert_eq!(parts([128, 64, 8, 1], 16), [[1, 1, 1, 4]; 32]);
    // Columns.
    assert_eq!(parts([128, 64, 1, 8], 128), [[1, 1, 8, 4]; 4]);
    // Batches between the rows: two halves of each matrix.
    assert_eq!(parts([0, 8, 16, 1], 256), [[1, 2, 4, 8]; 2]);
    // Elements far apart.
    assert_eq!(parts([0, 1 << 31, 1 << 20, 1 << 16], 4), [[1; 4]; 128]);
}

#[test]
fn boxes_of_narrow_elements_share_no_word_where_it_can_be_helped() {
    let ranges = |bits: u32, sizes: [u32; 4], window| {
        let tensor = packed(sizes, bits);
        let boxes = divide(sizes, &[tensor], window).unwrap();
        boxes.map(|part| tensor.view(&part).range).collect::<Vec<_>>()
    };
    let touching = |ranges: &[Range<u64>]| ranges.windows(2).any(|two| two[0].end > two[1].start);
    // Rows of an odd number of bytes: four together are whole words.
    let rows = ranges(8, [1, 1, 64, 7], 61);
    assert!(rows.len() == 8 && !touching(&rows), "{rows:?}");
    let columns = ranges(16, [1, 1, 1, 101], 30);
    assert!(columns.len() == 9 && !touching(&columns), "{columns:?}");
    // Not even two rows fit.
    assert!(touching(&ranges(8, [1, 1, 4, 7], 12)));
}

#[test]
fn a_window_below_one_element_is_refused() {
    for (bits, window) in [(4, 3), (8, 3), (16, 3), (32, 3), (64, 7), (64, 4), (8, 0)] {
        assert!(divide([1, 1, 2, 3], &[packed([1, 1, 2, 3], bits)], window).is_none());
    }
}

#[test]
fn the_largest_tensors_take_few_boxes() {
    let sizes = [1, 1, 65_535, 65_537];
    // What Vulkan guarantees, less the largest alignment.
    let window = (1 << 27) - 256;
    let total = |operands: &[Placement<4>]| divide(sizes, operands, window).unwrap().total();
    for (bits, boxes) in [(4, 17), (8, 33), (16, 65), (32, 129), (64, 257)] {
        let tensor = packed(sizes, bits);
        let span = (((1u64 << 32) - 1) * u64::from(bits)).div_ceil(8);
        assert!(total(&[tensor]) == boxes && boxes <= span.div_ceil(window) + 1);
        let transposed = Placement::in_words(0, [0, 0, 1, 65_535], bits);
        assert!(total(&[transposed]) <= span.div_ceil(window) + 1);
        assert!(total(&[tensor, transposed]) <= boxes * boxes);
        let mut last = divide(sizes, &[tensor], window).unwrap();
        let part = last.by_ref().last().unwrap();
        assert_eq!(tensor.view(&part).range.end, span.next_multiple_of(4));
    }
}
