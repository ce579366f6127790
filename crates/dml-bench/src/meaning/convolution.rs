//! Convolutions of one image, and transposed convolutions.

/// A convolution of one image of two dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    /// The channels of the input.
    pub(crate) channels: u32,
    /// Height and width of the input.
    pub(crate) size: u32,
    /// The channels of the output.
    pub(crate) filters: u32,
    /// Height and width of a filter, an odd number; the input gets padding of half of it.
    pub(crate) window: u32,
    /// The step between windows, in both directions.
    pub(crate) stride: u32,
    /// The number of groups that channels and filters are divided into.
    pub(crate) groups: u32,
}

impl Convolution {
    /// Padding around the input, on each side.
    pub(crate) fn margin(&self) -> u32 {
        self.window / 2
    }

    /// Height and width of the output.
    pub(crate) fn output_size(&self) -> u32 {
        (self.size + 2 * self.margin() - self.window) / self.stride + 1
    }

    /// The cross-correlation of `input` with `filters`.
    pub(crate) fn of(&self, input: &[f32], filters: &[f32]) -> Vec<f32> {
        let [channels, size, window] =
            [self.channels / self.groups, self.size, self.window].map(|it| it as usize);
        let width = self.output_size() as usize;
        let in_group = (self.filters / self.groups) as usize;
        let mut output = vec![0.0; self.filters as usize * width * width];
        for (filter, plane) in output.chunks_mut(width * width).enumerate() {
            let first = filter / in_group * channels;
            let taps = filters.chunks(channels * window * window).nth(filter).unwrap_or_default();
            for (tap, factor) in taps.iter().enumerate() {
                let image = &input[(first + tap / window / window) * size * size..][..size * size];
                self.add_tap(plane, image, [tap / window % window, tap % window], *factor);
            }
        }
        output
    }

    /// Adds the products of one channel with one element of a filter, at its position.
    fn add_tap(&self, plane: &mut [f32], image: &[f32], [y, x]: [usize; 2], factor: f32) {
        let [size, stride, margin] = [self.size, self.stride, self.margin()].map(|it| it as usize);
        // The first element of the output whose window has this filter element inside of the image.
        let first = margin.saturating_sub(x).div_ceil(stride);
        for (row, sums) in plane.chunks_mut(self.output_size() as usize).enumerate() {
            let Some(y) = (row * stride + y).checked_sub(margin).filter(|y| *y < size) else {
                continue;
            };
            let Some(seen) = image[y * size..][..size].get(first * stride + x - margin..) else {
                continue;
            };
            let sums = sums.iter_mut().skip(first);
            let add = |(sum, it): (&mut f32, &f32)| *sum += factor * it;
            // The compiler vectorizes this loop if no element is skipped.
            if stride == 1 {
                sums.zip(seen).for_each(add);
            } else {
                sums.zip(seen.iter().step_by(stride)).for_each(add);
            }
        }
    }
}

/// A transposed convolution of one image, whose windows do not overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpConvolution {
    /// The channels of the input.
    pub(crate) channels: u32,
    /// Height and width of the input.
    pub(crate) size: u32,
    /// The channels of the output.
    pub(crate) filters: u32,
    /// Height and width of the window that each element of the input is spread over.
    pub(crate) window: u32,
}

impl UpConvolution {
    /// Height and width of the output.
    pub(crate) fn output_size(&self) -> u32 {
        self.size * self.window
    }

    /// The transposed convolution of `input`; filters are ordered by the input's channels, then by the output's.
    pub(crate) fn of(&self, input: &[f32], filters: &[f32]) -> Vec<f32> {
        let [size, window, count] = [self.size, self.window, self.filters].map(|it| it as usize);
        let width = self.output_size() as usize;
        let mut output = vec![0.0; count * width * width];
        for (image, filters) in
            input.chunks(size * size).zip(filters.chunks(count * window * window))
        {
            for (plane, taps) in
                output.chunks_mut(width * width).zip(filters.chunks(window * window))
            {
                for (y, sums) in plane.chunks_mut(width).enumerate() {
                    let seen = &image[y / window * size..][..size];
                    let taps = &taps[y % window * window..][..window];
                    for (sums, it) in sums.chunks_mut(window).zip(seen) {
                        sums.iter_mut().zip(taps).for_each(|(sum, factor)| *sum += factor * it);
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

    const PLAIN: Convolution =
        Convolution { channels: 2, size: 2, filters: 1, window: 3, stride: 1, groups: 1 };
    const INPUT: [f32; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

    #[test]
    fn a_filter_sees_zeros_around_its_channels() {
        let mut filter = [0.0; 18];
        // The element itself, and that above it in the other channel.
        (filter[4], filter[10]) = (1.0, 1.0);
        assert_eq!(PLAIN.of(&INPUT, &filter), [1.0, 2.0, 8.0, 10.0]);
        let grouped = Convolution { filters: 2, groups: 2, stride: 2, ..PLAIN };
        assert_eq!(grouped.output_size(), 1);
        assert_eq!(grouped.of(&INPUT, &filter), [1.0, 0.0]);
    }

    #[test]
    fn a_filter_sees_what_is_left_and_right_of_an_element() {
        let one = Convolution { channels: 1, size: 3, filters: 1, stride: 2, ..PLAIN };
        let input: Vec<f32> = (1_u8..=9).map(f32::from).collect();
        let mut filter = [0.0; 9];
        (filter[3], filter[5]) = (10.0, 1.0);
        assert_eq!(one.of(&input, &filter), [2.0, 20.0, 8.0, 80.0]);
        let every = Convolution { stride: 1, ..one };
        assert_eq!(every.of(&input, &filter)[..3], [2.0, 13.0, 20.0]);
    }

    #[test]
    fn an_element_becomes_a_window_of_sums_over_channels() {
        let up = UpConvolution { channels: 2, size: 1, filters: 2, window: 2 };
        let filters =
            [1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(up.of(&[1.0, 10.0], &filters), [11.0, 2.0, 3.0, 4.0, 10.0, 11.0, 10.0, 10.0]);
        let wide = UpConvolution { channels: 1, size: 2, filters: 1, window: 2 };
        let expected = [
            1.0, 2.0, 2.0, 4.0, //
            3.0, 4.0, 6.0, 8.0, //
            3.0, 6.0, 4.0, 8.0, //
            9.0, 12.0, 12.0, 16.0,
        ];
        assert_eq!(wide.of(&[1.0, 2.0, 3.0, 4.0], &filters), expected);
    }
}
