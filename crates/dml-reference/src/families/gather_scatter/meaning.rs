//! The kinds of gather and scatter operators, which the reference and the cases share.

/// The meaning of an operator's indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Each index selects a slice of the data.
    Gather,
    /// Each index selects an element of the data.
    Elements,
    /// Tuples of indices are coordinates.
    Parts,
    OneHot,
    Unpool,
    Reverse,
}

/// All coordinates, in row-major order.
pub(super) fn coordinates(sizes: &[u32]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    let count: usize = sizes.iter().map(|size| *size as usize).product();
    (0..count).map(move |mut number| {
        let mut coordinate = vec![0; sizes.len()];
        for (at, size) in coordinate.iter_mut().zip(sizes).rev() {
            *at = number % *size as usize;
            number /= *size as usize;
        }
        coordinate
    })
}
