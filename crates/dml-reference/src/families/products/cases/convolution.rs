//! The corner cases of convolutions.

use dml_core::{FieldValue, TensorDesc, Validated};

use super::{CaseGenerator, Parts};
use crate::families::products::fields::is_backward;
use crate::{BrokenRule, Case, Random, Sizes};

/// The sizes of a convolution in up to three spatial dimensions, of which the last ones are used.
#[derive(Clone, Copy)]
pub(super) struct Convolution {
    pub(super) batches: u32,
    pub(super) groups: u32,
    /// Input and output channels per group.
    pub(super) channels: [u32; 2],
    pub(super) input: [u32; 3],
    pub(super) filter: [u32; 3],
    pub(super) strides: [u32; 3],
    pub(super) dilations: [u32; 3],
    pub(super) start: [u32; 3],
    pub(super) end: [u32; 3],
    pub(super) output_padding: [u32; 3],
    /// Whether the filter is applied without reversal, and whether the convolution is transposed.
    pub(super) choices: [bool; 2],
}

impl Convolution {
    pub(super) const ONE: Self = Self {
        batches: 1,
        groups: 1,
        channels: [1, 1],
        input: [1; 3],
        filter: [1; 3],
        strides: [1; 3],
        dilations: [1; 3],
        start: [0; 3],
        end: [0; 3],
        output_padding: [0; 3],
        choices: [true, false],
    };

    const USUAL: Self =
        Self { batches: 2, channels: [3, 5], input: [3, 4, 7], filter: [2, 3, 3], ..Self::ONE };

    fn output(&self, at: usize) -> u32 {
        let padding = self.start[at] + self.end[at];
        let window = (self.filter[at] - 1) * self.dilations[at] + 1;
        match self.choices[1] {
            false => (self.input[at] + padding - window) / self.strides[at] + 1,
            true => {
                (self.input[at] - 1) * self.strides[at] + window + self.output_padding[at] - padding
            }
        }
    }
}

/// The largest number of products in a sum, for a filter of these sizes.
pub(super) fn depth(operator: &Validated, sizes: &[u32]) -> usize {
    let is_backward = is_backward(operator).unwrap_or(false);
    let groups = operator.uint("GroupCount").unwrap_or(1);
    let skipped = if is_backward { groups as usize } else { 1 };
    let of = |at: usize| sizes.get(at).map_or(1, |size| *size as usize);
    let taps: usize = sizes.iter().skip(2).map(|size| *size as usize).product();
    taps * if is_backward { of(0) / skipped } else { of(1) }
}

impl CaseGenerator<'_> {
    /// The number of spatial dimensions.
    fn spatial(&self) -> usize {
        self.signature.rank.saturating_sub(2).clamp(1, 3)
    }

    fn sizes(&self, first: [u32; 2], places: [u32; 3]) -> Sizes {
        let spatial = self.spatial();
        let mut sizes = [1; 8];
        sizes[8 - spatial..].copy_from_slice(&places[3 - spatial..]);
        if self.signature.rank >= 3 {
            sizes[6 - spatial..8 - spatial].copy_from_slice(&first);
        }
        sizes
    }

    /// Packed tensors; quantization parameters of the filter are per channel.
    pub(super) fn convolution(&self, it: &Convolution) -> Parts {
        let spatial = self.spatial();
        let [input, output] = it.channels.map(|channels| channels * it.groups);
        let filter = match it.choices[1] {
            true => [input, it.channels[1]],
            false => [output, it.channels[0]],
        };
        let places = [0, 1, 2].map(|at| if at + spatial < 3 { 1 } else { it.output(at) });
        let of_channels = self.sizes([1, output], [1; 3]);
        let parts = self.tensors([
            ("InputTensor", self.sizes([it.batches, input], it.input)),
            ("InputScaleTensor", [1; 8]),
            ("InputZeroPointTensor", [1; 8]),
            ("FilterTensor", self.sizes(filter, it.filter)),
            ("FilterScaleTensor", of_channels),
            ("FilterZeroPointTensor", of_channels),
            ("BiasTensor", of_channels),
            ("OutputScaleTensor", [1; 8]),
            ("OutputZeroPointTensor", [1; 8]),
            ("OutputTensor", self.sizes([it.batches, output], places)),
        ]);
        let list = |values: [u32; 3]| FieldValue::UintArray(values[3 - spatial..].to_vec());
        let [mode, direction] = it.choices.map(|choice| FieldValue::Uint(choice.into()));
        let count = u32::try_from(spatial).expect("at most 3");
        parts
            .valued("Mode", mode)
            .valued("Direction", direction)
            .valued("DimensionCount", FieldValue::Uint(count))
            .valued("Strides", list(it.strides))
            .valued("Dilations", list(it.dilations))
            .valued("StartPadding", list(it.start))
            .valued("EndPadding", list(it.end))
            .valued("OutputPadding", list(it.output_padding))
            .valued("GroupCount", FieldValue::Uint(it.groups))
    }

    pub(super) fn of_convolutions(&self) -> Vec<Case> {
        let usual = Convolution::USUAL;
        let padded = Convolution { start: [1, 1, 2], end: [0, 2, 1], ..usual };
        let mut all = vec![
            ("single_element", Convolution::ONE),
            (
                "filter_like_input",
                Convolution { input: [3; 3], filter: [3; 3], start: [1; 3], ..Convolution::ONE },
            ),
            ("usual", usual),
            ("padded", padded),
            ("strided", Convolution { strides: [2, 2, 3], ..padded }),
            ("dilated", Convolution { dilations: [2, 1, 2], ..padded }),
            (
                "strided_and_dilated",
                Convolution { strides: [1, 2, 2], dilations: [1, 2, 3], ..padded },
            ),
            ("groups", Convolution { groups: 3, channels: [2, 4], ..padded }),
            ("by_depth", Convolution { groups: 6, channels: [1, 1], ..padded }),
            ("many_channels", Convolution { batches: 1, channels: [9, 20], ..usual }),
            ("single_tap", Convolution { filter: [1; 3], channels: [8, 12], ..usual }),
            (
                "only_padding_meets",
                Convolution { input: [1; 3], filter: [1; 3], start: [1; 3], end: [2; 3], ..usual },
            ),
        ];
        if self.has("Direction") {
            let reversed = |it| Convolution { choices: [false, false], ..it };
            let backward = |it| Convolution { choices: [true, true], ..it };
            let narrow = Convolution { input: [2, 3, 4], ..usual };
            let cut = Convolution { start: [0, 1, 1], end: [1, 0, 2], ..narrow };
            all.extend([
                ("reversed", reversed(padded)),
                ("backward", backward(narrow)),
                ("backward_padded", backward(cut)),
                (
                    "backward_strided",
                    backward(Convolution { strides: [1, 2, 3], output_padding: [0, 1, 2], ..cut }),
                ),
                ("backward_dilated", backward(Convolution { dilations: [1, 2, 3], ..cut })),
                (
                    "backward_strided_and_dilated",
                    backward(Convolution { strides: [2, 2, 4], dilations: [1, 2, 6], ..cut }),
                ),
                (
                    "backward_groups",
                    backward(Convolution {
                        groups: 2,
                        channels: [3, 4],
                        strides: [1, 2, 2],
                        ..cut
                    }),
                ),
                (
                    "backward_gaps",
                    backward(Convolution { filter: [1; 3], strides: [2, 2, 3], ..narrow }),
                ),
                (
                    "backward_reversed",
                    Convolution { choices: [false, true], strides: [1, 1, 2], ..cut },
                ),
            ]);
        }
        let case = |(name, it): &(&str, Convolution)| {
            self.case(format!("shape_{name}"), &self.convolution(it))
        };
        let mut cases: Vec<Case> = all.iter().map(case).collect();
        let parts = self.convolution(&padded);
        cases.push(self.case("without_optional", &self.plain(parts.clone())));
        cases.push(self.case("without_optional_or_padding", &self.plain(self.convolution(&usual))));
        cases.extend(self.layouts(&parts));
        cases.extend(self.activations(&parts));
        if self.signature.data_type().integer_range().is_none() {
            cases.push(self.of_all_digits(&self.plain(parts)));
        }
        cases
    }

    /// Without optional tensors, and with quantization parameters per tensor.
    fn plain(&self, mut parts: Parts) -> Parts {
        let rank = self.signature.rank;
        for field in self.schema.fields.iter().filter(|field| field.optional) {
            parts.tensors.remove(field.name);
        }
        for (name, tensor) in &mut parts.tensors {
            if name.contains("Scale") {
                *tensor = TensorDesc::packed(tensor.data_type, &vec![1; rank]);
            }
        }
        parts
    }

    pub(super) fn random_convolution(&self, random: &mut Random) -> Parts {
        let mut three = |least: u32, most: u32| [0; 3].map(|_| least + random.below(most));
        let [input, filter, strides, dilations] =
            [three(3, 5), three(1, 3), three(1, 3), three(1, 2)];
        let [start, end, output_padding] = [three(0, 2), three(0, 2), three(0, 2)];
        let [groups, batches, one, other] = [1, 1, 1, 1].map(|least| least + random.below(3));
        let is_backward = self.has("Direction") && random.one_in(2);
        let is_correlation = !self.has("Direction") || random.one_in(2);
        let mut it = Convolution {
            batches,
            groups,
            channels: [one, other * if random.one_in(3) { 4 } else { 1 }],
            input,
            filter,
            strides,
            dilations,
            start,
            end,
            output_padding,
            choices: [is_correlation, is_backward],
        };
        for at in 0..3 {
            let window = (it.filter[at] - 1) * it.dilations[at] + 1;
            if is_backward {
                // At least one element remains after cropping.
                let whole = (it.input[at] - 1) * it.strides[at] + window;
                it.start[at] = it.start[at].min(whole - 1);
                it.end[at] = it.end[at].min(whole - 1 - it.start[at]);
            } else {
                it.input[at] = it.input[at].max(window);
            }
        }
        self.convolution(&it)
    }

    pub(super) fn broken_convolutions(&self) -> Vec<BrokenRule> {
        let usual = || self.convolution(&Convolution::USUAL);
        let last = self.signature.rank - 1;
        let sized = |name: &'static str, at: usize, size: u32| {
            usual().changed(name, |it| it.sizes[at] = size)
        };
        let valued = |name: &'static str, value: FieldValue| usual().valued(name, value);
        let list = |value: u32| FieldValue::UintArray(vec![value; self.spatial()]);
        let mut rules = vec![
            self.rule("rule_no_groups", &valued("GroupCount", FieldValue::Uint(0)), "GroupCount"),
            self.rule(
                "rule_groups_divide_no_channels",
                &valued("GroupCount", FieldValue::Uint(2)),
                "GroupCount",
            ),
            self.rule("rule_stride_of_0", &valued("Strides", list(0)), "Strides[0]"),
            self.rule("rule_dilation_of_0", &valued("Dilations", list(0)), "Dilations[0]"),
            self.rule(
                "rule_filter_is_of_other_channels",
                &sized("FilterTensor", 1, 2),
                "FilterTensor.Sizes[1]",
            ),
            self.rule(
                "rule_output_is_larger",
                &sized("OutputTensor", last, 6),
                format!("OutputTensor.Sizes[{last}]"),
            ),
            self.rule(
                "rule_output_is_of_other_batches",
                &sized("OutputTensor", 0, 3),
                "OutputTensor.Sizes[0]",
            ),
            self.rule(
                "rule_filter_is_larger_than_the_input",
                &sized("FilterTensor", last, 9),
                format!("FilterTensor.Sizes[{last}]"),
            ),
        ];
        if self.has("BiasTensor") {
            rules.push(self.rule(
                "rule_bias_is_not_of_the_channels",
                &sized("BiasTensor", 1, 2),
                "BiasTensor.Sizes[1]",
            ));
        }
        if self.has("FilterZeroPointTensor") {
            rules.push(self.rule(
                "rule_zero_points_of_no_channels",
                &sized("FilterZeroPointTensor", 1, 2),
                "FilterZeroPointTensor.Sizes[1]",
            ));
            rules.push(self.rule(
                "rule_zero_points_of_the_input",
                &sized("InputZeroPointTensor", 1, 3),
                "InputZeroPointTensor.Sizes[1]",
            ));
        }
        rules
    }
}
