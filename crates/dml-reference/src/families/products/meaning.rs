//! The pairs of elements that are multiplied for a sum, by the documentation.

use dml_core::{Error, Validated};

use super::fields::{is_backward, is_reversed, transposed};

/// The index of an element in row-major order.
pub(super) fn index(sizes: &[u32], coordinate: &[usize]) -> usize {
    sizes.iter().zip(coordinate).fold(0, |index, (size, at)| index * *size as usize + at)
}

/// The pairs of elements whose products are added to an element of the output, by their indices in both
/// factors.
pub(super) fn pairs(
    operator: &Validated,
    factors: [&str; 2],
    at: &[usize],
) -> Result<Vec<[usize; 2]>, Error> {
    let [first, second] = factors.map(|name| operator.required_tensor(name));
    let (first, second) = (first?.sizes(), second?.sizes());
    match factors[0] {
        "ATensor" => of_matrices(operator, [first, second], at),
        _ => of_convolution(operator, [first, second], at),
    }
}

fn of_matrices(
    operator: &Validated,
    [a, b]: [&[u32]; 2],
    at: &[usize],
) -> Result<Vec<[usize; 2]>, Error> {
    let [is_a_transposed, is_b_transposed] = transposed(operator)?;
    let (batch, cell) = at.split_at(at.len() - 2);
    let count = a[at.len() - if is_a_transposed { 2 } else { 1 }] as usize;
    let place = |is_transposed: bool, [row, column]: [usize; 2]| match is_transposed {
        true => [batch, &[column, row]].concat(),
        false => [batch, &[row, column]].concat(),
    };
    let pair = |depth| {
        let one = place(is_a_transposed, [cell[0], depth]);
        let other = place(is_b_transposed, [depth, cell[1]]);
        [index(a, &one), index(b, &other)]
    };
    Ok((0..count).map(pair).collect())
}

/// Tries all pairs of an input element and a filter tap.
fn of_convolution(
    operator: &Validated,
    [input, filter]: [&[u32]; 2],
    at: &[usize],
) -> Result<Vec<[usize; 2]>, Error> {
    let (is_backward, is_reversed) = (is_backward(operator)?, is_reversed(operator)?);
    let groups = operator.uint("GroupCount")? as usize;
    let values = |name: &str| operator.uint_array(name);
    let (strides, dilations) = (values("Strides")?, values("Dilations")?);
    let padding = values("StartPadding")?;
    let in_channels = input[1] as usize / groups;
    let out_channels = if is_backward { filter[1] as usize } else { filter[0] as usize / groups };
    let group = at[1] / out_channels;
    // For all combinations of dimensions so far, the positions of input elements and filter taps.
    let mut met: Vec<[Vec<usize>; 2]> = vec![[vec![], vec![]]];
    for (dimension, place) in at[2..].iter().enumerate() {
        let all = (0..input[2 + dimension] as usize)
            .flat_map(|from| (0..filter[2 + dimension] as usize).map(move |tap| (from, tap)));
        let [stride, dilation, padding] =
            [strides, dilations, padding].map(|it| it[dimension] as usize);
        let meets = |(from, tap): &(usize, usize)| match is_backward {
            true => place + padding == from * stride + tap * dilation,
            false => from + padding == place * stride + tap * dilation,
        };
        let pairs: Vec<(usize, usize)> = all.filter(meets).collect();
        let with = |[one, other]: &[Vec<usize>; 2]| {
            let pair = |(from, tap): &(usize, usize)| {
                let last = filter[2 + dimension] as usize - 1;
                let tap = if is_reversed { last - tap } else { *tap };
                [[one.as_slice(), &[*from]].concat(), [other.as_slice(), &[tap]].concat()]
            };
            pairs.iter().map(pair).collect::<Vec<_>>()
        };
        met = met.iter().flat_map(with).collect();
    }
    let mut found = vec![];
    for channel in 0..in_channels {
        let from = group * in_channels + channel;
        let of_filter = match is_backward {
            true => [from, at[1] % out_channels],
            false => [at[1], channel],
        };
        for [places, taps] in &met {
            let one = [&[at[0], from], places.as_slice()].concat();
            let other = [&of_filter, taps.as_slice()].concat();
            found.push([index(input, &one), index(filter, &other)]);
        }
    }
    Ok(found)
}
