//! Philox 4x32-10 as published by its authors, and the cases of RANDOM_GENERATOR.

use dml_core::operators::{RANDOM_GENERATOR, RandomGeneratorDesc};
use dml_core::schema::OperatorSchema;

use dml_core::{AbstractOperator, Error, RandomGeneratorType, TensorDesc, TensorFlags, Validated};

use crate::{BrokenRule, Case, Random, Reference, Signature, TensorGenerator, shapes};

pub(super) struct Philox;

/// A round, with the four words of the counter (`l0 r0 l1 r1` in the paper's order) and the two of the key.
fn round(counter: [u64; 4], key: [u64; 2]) -> [u64; 4] {
    const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    let [first, second] = [MULTIPLIERS[0] * counter[0], MULTIPLIERS[1] * counter[2]];
    let low = |it: u64| it & 0xffff_ffff;
    [
        (second >> 32) ^ counter[1] ^ key[0],
        low(second),
        (first >> 32) ^ counter[3] ^ key[1],
        low(first),
    ]
}

/// The counter in a state.
fn counter_of(state: &[u64]) -> u128 {
    state[..4].iter().rev().fold(0, |number, word| number << 32 | u128::from(*word))
}

/// The words of a counter, lowest first.
fn words_of(counter: u128) -> [u64; 4] {
    let low = |it: u128| u64::try_from(it & 0xffff_ffff).unwrap_or_default();
    [0, 32, 64, 96].map(|at| low(counter >> at))
}

/// Ten rounds; between rounds, the golden ratio and the square root of 3 minus 1 are added to the key.
fn philox(counter: u128, key: [u64; 2]) -> [u64; 4] {
    let mut words = words_of(counter);
    for index in 0..10 {
        let grown = |word: u64, by: u64| (word + index * by) & 0xffff_ffff;
        words = round(words, [grown(key[0], 0x9e37_79b9), grown(key[1], 0xbb67_ae85)]);
    }
    words
}

impl Reference for Philox {
    fn schema(&self) -> &'static OperatorSchema {
        &RANDOM_GENERATOR
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let state = inputs.iter().flatten().next().map_or(&[][..], Vec::as_slice);
        let mut counter = counter_of(state);
        let count = operator.required_tensor("OutputTensor")?.element_count();
        let mut words = vec![];
        while (words.len() as u64) < count {
            words.extend(philox(counter, [state[4], state[5]]));
            counter = counter.wrapping_add(1);
        }
        words.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        let next = words_of(counter);
        Ok(vec![words, [next.as_slice(), &state[4..]].concat()])
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        CaseGenerator(signature).packed([1; 8])
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        let maker = CaseGenerator(signature);
        let mut cases: Vec<Case> =
            shapes(signature.rank).map(|(name, sizes)| Case::new(name, maker.packed(sizes))).into();
        // The first feature level accepts four dimensions.
        if signature.rank == 4 {
            cases.extend(maker.published());
        }
        cases.extend(maker.layouts());
        cases
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        let maker = CaseGenerator(signature);
        let output = random.tensor(signature.data_type(), &random.clone().sizes(signature.rank));
        let operator = maker.operator(maker.state(1), output, random.one_in(2));
        Case::new("random", operator).with_random_buffers(random)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        let maker = CaseGenerator(signature);
        let make = maker.make();
        let seven = make.packed([1, 1, 1, 1, 1, 1, 1, 7]);
        let operator = maker.operator(seven, make.packed([1; 8]), false);
        let name = "rule_state_of_seven_words".into();
        vec![BrokenRule { name, operator, field: "InputStateTensor.Sizes".into() }]
    }
}

struct CaseGenerator<'a>(&'a Signature);

impl CaseGenerator<'_> {
    fn make(&self) -> TensorGenerator {
        TensorGenerator { data_type: self.0.data_type(), rank: self.0.rank }
    }

    /// A state whose words are `step` elements apart.
    fn state(&self, step: u32) -> TensorDesc {
        let sizes = [1, 1, 1, 1, 1, 1, 1, 6];
        match step {
            1 => self.make().packed(sizes),
            _ => self.make().strided(sizes, [0, 0, 0, 0, 0, 0, 0, step]),
        }
    }

    fn operator(&self, state: TensorDesc, output: TensorDesc, has_state: bool) -> AbstractOperator {
        RandomGeneratorDesc {
            output_state_tensor: has_state.then(|| self.state(1)),
            input_state_tensor: state,
            output_tensor: output,
            r#type: RandomGeneratorType::Philox4x3210,
        }
        .into()
    }

    fn packed(&self, sizes: [u32; 8]) -> AbstractOperator {
        self.operator(self.state(1), self.make().packed(sizes), true)
    }

    /// The authors' published results for three states.
    fn published(&self) -> [Case; 3] {
        let states: [(&str, [u64; 6], [u64; 4]); 3] = [
            ("zeros", [0; 6], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ("ones", [0xffff_ffff; 6], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                "digits_of_pi",
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344, 0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        states.map(|(name, state, words)| {
            let output = self.make().packed([1, 1, 1, 1, 1, 1, 1, 4]);
            let operator = self.operator(self.state(1), output, false);
            let counter = counter_of(&state).wrapping_add(1);
            let after = [words_of(counter).as_slice(), &state[4..]].concat();
            let case = Case::new(format!("documented_{name}"), operator);
            case.with_inputs(vec![state.to_vec()]).documented(vec![words.to_vec(), after])
        })
    }

    fn layouts(&self) -> Vec<Case> {
        let make = self.make();
        let sizes = [1, 1, 1, 1, 1, 1, 5, 7];
        let packed = || make.packed(sizes);
        let of = |state: TensorDesc, output| self.operator(state, output, true);
        let case = |name: &'static str| Case::new(name, of(self.state(1), packed()));
        let mut owned = self.state(1);
        owned.flags = TensorFlags::OWNED_BY_DML;
        let row = make.packed([1, 1, 1, 1, 1, 1, 1, 41]);
        vec![
            Case::new("state_alone_is_not_wanted", self.operator(self.state(1), packed(), false)),
            Case::new("strides_state", of(self.state(3), row.clone())),
            Case::new(
                "strides_padded_output",
                of(self.state(1), make.strided(sizes, [1, 1, 1, 1, 1, 1, 30, 3])),
            ),
            Case::new(
                "strides_reversed_output",
                of(self.state(1), make.strided(sizes, [1, 1, 1, 1, 1, 1, 1, 5])),
            ),
            // The counter's lowest word overflows into all others.
            Case::new("counter_runs_over", of(self.state(1), row)).with_inputs(vec![vec![
                0xffff_fffc,
                0xffff_ffff,
                0xffff_ffff,
                0xffff_ffff,
                1,
                2,
            ]]),
            case("base_offset_16").at_output_offset(16),
            case("base_offset_272").at_input_offset(272),
            case("storage_only").storage_only(),
            Case::new("owned", of(owned, packed())),
        ]
    }
}
