//! An LSTM, step by step, in double precision.

/// A layer that goes forward, without biases, from states of 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongShortTerm {
    pub(crate) steps: u32,
    pub(crate) sequences: u32,
    /// The elements of an input.
    pub(crate) elements: u32,
    /// The elements of a state.
    pub(crate) hidden: u32,
}

const GATES: usize = 4;

impl LongShortTerm {
    /// The hidden states after each step, of inputs, their weights, and those of the recurrence.
    #[expect(clippy::cast_possible_truncation, reason = "rounded once")]
    pub(crate) fn of(&self, [inputs, weights, recurrence]: [&[f32]; 3]) -> Vec<f32> {
        let [sequences, elements, hidden] =
            [self.sequences, self.elements, self.hidden].map(|it| it as usize);
        let mut states = vec![(vec![0.0; hidden], vec![0.0; hidden]); sequences];
        let mut output = Vec::new();
        for step in inputs.chunks(sequences * elements) {
            for (input, state) in step.chunks(elements).zip(&mut states) {
                let input: Vec<f64> = input.iter().copied().map(f64::from).collect();
                *state = next(state, &input, weights, recurrence);
                output.extend(state.0.iter().map(|it| *it as f32));
            }
        }
        output
    }
}

/// The hidden state and the cell's after a step. Rows of weights are those of the gates i, o, f and c.
fn next(
    (shown, cell): &(Vec<f64>, Vec<f64>),
    input: &[f64],
    weights: &[f32],
    recurrence: &[f32],
) -> (Vec<f64>, Vec<f64>) {
    let sums: Vec<f64> = (0..GATES * cell.len())
        .map(|row| inner(weights, row, input) + inner(recurrence, row, shown))
        .collect();
    let sigmoid = |it: f64| 1.0 / (1.0 + (-it).exp());
    let of = |at: usize| {
        let [i, o, f, c] = std::array::from_fn(|gate| sums[gate * cell.len() + at]);
        let after = sigmoid(f) * cell[at] + sigmoid(i) * c.tanh();
        (sigmoid(o) * after.tanh(), after)
    };
    (0..cell.len()).map(of).unzip()
}

fn inner(rows: &[f32], row: usize, numbers: &[f64]) -> f64 {
    let row = &rows[row * numbers.len()..][..numbers.len()];
    row.iter().zip(numbers).map(|(a, b)| f64::from(*a) * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_keeps_what_its_gates_let_through() {
        let one = LongShortTerm { steps: 2, sequences: 1, elements: 1, hidden: 1 };
        // Gates that are wide open, but for that which forgets, and a sum of 1 for what is new.
        let open = [100.0, 100.0, -100.0, 1.0];
        let shown = 1.0_f32.tanh().tanh();
        let found = one.of([&[1.0, 1.0], &open, &[0.0; 4]]);
        assert!(found.iter().all(|it| (it - shown).abs() < 1e-6), "{found:?}");
        // One that keeps everything adds up.
        let found = one.of([&[1.0, 1.0], &[100.0, 100.0, 100.0, 1.0], &[0.0; 4]]);
        assert!((found[1] - (2.0 * 1.0_f32.tanh()).tanh()).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn sequences_have_states_of_their_own() {
        let two = LongShortTerm { steps: 1, sequences: 2, elements: 1, hidden: 1 };
        let found = two.of([&[0.0, 1.0], &[1.0; 4], &[1.0; 4]]);
        assert!(found[0] == 0.0 && found[1] > 0.0, "{found:?}");
    }
}
