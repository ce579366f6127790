//! Attention of one sequence, head by head.

use super::{product, softmax};

/// An attention of as many queries as keys, with a scale and without masks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    /// The number of queries, and of keys.
    pub(crate) steps: u32,
    pub(crate) heads: u32,
    /// The elements of a query, a key and a value in a head.
    pub(crate) elements: u32,
}

impl Attention {
    /// The factor of the products of queries and keys; exact for 64 elements.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    pub(crate) fn scale(&self) -> f32 {
        (self.elements as f32).sqrt().recip()
    }

    /// The output of the attention. Products of queries and keys are of numbers that make them exact.
    #[expect(clippy::cast_possible_truncation, reason = "rounded once")]
    pub(crate) fn of(&self, [queries, keys, values]: [&[f32]; 3]) -> Vec<f32> {
        let [steps, heads, elements] =
            [self.steps, self.heads, self.elements].map(|it| it as usize);
        let row = heads * elements;
        let mut output = vec![0.0; steps * row];
        for head in 0..heads {
            let of_head = |all: &[f32]| -> Vec<f32> {
                all.chunks(row).flat_map(|it| it[head * elements..][..elements].to_vec()).collect()
            };
            let [query, key, value] = [queries, keys, values].map(of_head);
            let across: Vec<f32> = (0..elements)
                .flat_map(|at| key.iter().skip(at).step_by(elements).copied())
                .collect();
            let scores = product(&query, &across, [steps, steps]);
            let scores: Vec<f32> = scores.into_iter().map(|score| score * self.scale()).collect();
            let shares = softmax(&scores, steps);
            for (shares, found) in shares.chunks(steps).zip(output.chunks_mut(row)) {
                let mut sums = vec![0.0; elements];
                for (share, value) in shares.iter().zip(value.chunks(elements)) {
                    let added = value.iter().map(|it| f64::from(*share) * f64::from(*it));
                    sums.iter_mut().zip(added).for_each(|(sum, it)| *sum += it);
                }
                let found = &mut found[head * elements..][..elements];
                found.iter_mut().zip(sums).for_each(|(found, sum)| *found = sum as f32);
            }
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_head_finds_the_values_of_the_keys_that_fit() {
        let two = Attention { steps: 2, heads: 2, elements: 1 };
        // The first head's queries fit the second key only; the second head's fit both.
        let (queries, keys) = ([99.0, 0.0, 99.0, 0.0], [0.0, 1.0, 1.0, 1.0]);
        let found = two.of([&queries, &keys, &[1.0, 2.0, 3.0, 4.0]]);
        assert_eq!(found, [3.0, 3.0, 3.0, 3.0]);
        assert_eq!(Attention { elements: 64, ..two }.scale(), 0.125);
    }
}
