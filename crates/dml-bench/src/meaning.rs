//! What operators mean, computed in the plainest way: small whole numbers make every sum of products exact.

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

/// Powers of e of rows of `width` elements, each in parts of their sum.
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

/// A convolution of one image of two dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    /// Of the input.
    pub(crate) channels: u32,
    /// Height and width of the input.
    pub(crate) size: u32,
    /// Channels of the output.
    pub(crate) filters: u32,
    /// Height and width of a filter, odd; the input gets margins of half of it.
    pub(crate) window: u32,
    /// From one element to the next, in both directions.
    pub(crate) stride: u32,
    /// Parts of the channels and the filters that have nothing to do with each other.
    pub(crate) groups: u32,
}

impl Convolution {
    /// Elements around the input, on each side.
    pub(crate) fn margin(&self) -> u32 {
        self.window / 2
    }

    /// Height and width of the output.
    pub(crate) fn output_size(&self) -> u32 {
        (self.size + 2 * self.margin() - self.window) / self.stride + 1
    }

    /// What `filters` make of `input`, as a cross-correlation.
    pub(crate) fn of(&self, input: &[f32], filters: &[f32]) -> Vec<f32> {
        let [channels, size, window, stride] =
            [self.channels / self.groups, self.size, self.window, self.stride]
                .map(|it| it as usize);
        let (width, margin) = (self.output_size() as usize, self.margin() as usize);
        let in_group = (self.filters / self.groups) as usize;
        let mut output = vec![0.0; self.filters as usize * width * width];
        for (filter, plane) in output.chunks_mut(width * width).enumerate() {
            let first = filter / in_group * channels;
            let taps = filters.chunks(channels * window * window).nth(filter).unwrap_or_default();
            for (tap, factor) in taps.iter().enumerate() {
                let (channel, y, x) = (tap / window / window, tap / window % window, tap % window);
                let image = &input[(first + channel) * size * size..][..size * size];
                for (at, sum) in plane.iter_mut().enumerate() {
                    let (y, x) = (at / width * stride + y, at % width * stride + x);
                    let is_inside = |it: usize| it >= margin && it - margin < size;
                    if is_inside(y) && is_inside(x) {
                        *sum += factor * image[(y - margin) * size + x - margin];
                    }
                }
            }
        }
        output
    }
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

    #[test]
    fn a_filter_sees_zeros_around_its_channels() {
        let plain =
            Convolution { channels: 2, size: 2, filters: 1, window: 3, stride: 1, groups: 1 };
        let input = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let mut filter = [0.0; 18];
        // The element itself, and that above it in the other channel.
        (filter[4], filter[10]) = (1.0, 1.0);
        assert_eq!(plain.of(&input, &filter), [1.0, 2.0, 8.0, 10.0]);
        let grouped = Convolution { filters: 2, groups: 2, stride: 2, ..plain };
        assert_eq!(grouped.output_size(), 1);
        assert_eq!(grouped.of(&input, &filter), [1.0, 0.0]);
    }
}
