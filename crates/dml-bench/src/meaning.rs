//! Simple implementations of operators: small whole numbers make every sum of products exact.

mod attention;
mod convolution;
mod recurrent;

pub(crate) use attention::Attention;
pub(crate) use convolution::{Convolution, UpConvolution};
pub(crate) use recurrent::LongShortTerm;

/// A matrix, row by row.
pub(crate) fn matrix(
    [height, width]: [usize; 2],
    element: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    (0..height).flat_map(|y| (0..width).map(move |x| (y, x))).map(|(y, x)| element(y, x)).collect()
}

/// `a`, of `rows` rows, times `b`, of `columns` columns.
pub(crate) fn product(a: &[f32], b: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let depth = a.len() / rows;
    let mut sums = vec![0.0; rows * columns];
    for (row, sums) in a.chunks(depth).zip(sums.chunks_mut(columns)) {
        for (factor, of_b) in row.iter().zip(b.chunks(columns)) {
            sums.iter_mut().zip(of_b).for_each(|(sum, it)| *sum += factor * it);
        }
    }
    sums
}

/// The softmax of rows of `width` elements.
#[expect(clippy::cast_possible_truncation, reason = "rounded once")]
pub(crate) fn softmax(elements: &[f32], width: usize) -> Vec<f32> {
    let shares = |row: &[f32]| {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let powers: Vec<f64> = row.iter().map(|it| f64::from(it - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |it| (it / sum) as f32)
    };
    elements.chunks(width).flat_map(shares).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_rows_of_the_first_and_columns_of_the_second() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 2.0, 1.0, 0.0, 3.0]);
        assert_eq!(product(&a, &b, [2, 2]), [5.0, 11.0, 14.0, 23.0]);
        assert_eq!(matrix([2, 2], |y, x| a[2 * y + x]), a[..4]);
    }

    #[test]
    fn shares_of_a_row_make_one() {
        let shares = softmax(&[0.0, 0.0, 0.0, 2.0], 2);
        assert_eq!(shares[..2], [0.5, 0.5]);
        assert!((shares[2] - 0.119_202_92).abs() < 1e-7 && shares[2] + shares[3] == 1.0);
    }
}
