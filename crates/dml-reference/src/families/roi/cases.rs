//! The corner cases of operators on regions of interest.

pub(in crate::families) mod elements;

use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, DataType, FieldValue, ReduceFunction, TensorDesc, TensorFlags};

use crate::number::encoded;
use crate::{BrokenRule, Case, Random, Signature, Sizes, TensorGenerator, edges};

pub(super) use elements::drawn;

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
}

#[derive(Clone, Copy)]
pub(in crate::families) struct Shape {
    pub(in crate::families) input: [u32; 4],
    pub(in crate::families) regions: u32,
    pub(in crate::families) cells: [u32; 2],
}

pub(in crate::families) const ONE: Shape = Shape { input: [1; 4], regions: 1, cells: [1; 2] };
pub(in crate::families) const USUAL: Shape =
    Shape { input: [2, 3, 5, 6], regions: 4, cells: [3, 2] };

pub(in crate::families) const SHAPES: [(&str, Shape); 6] = [
    ("one_element", ONE),
    ("usual", USUAL),
    ("larger", Shape { cells: [8, 11], ..USUAL }),
    ("one_row", Shape { input: [1, 2, 1, 17], cells: [1, 4], ..USUAL }),
    ("one_column", Shape { input: [3, 1, 13, 1], cells: [5, 1], ..USUAL }),
    ("many", Shape { input: [2, 3, 9, 8], regions: 37, cells: [2, 3] }),
];

/// The attributes of an operator.
#[derive(Clone, Copy)]
pub(in crate::families) struct Mode {
    pub(in crate::families) function: ReduceFunction,
    pub(in crate::families) is_linear: bool,
    /// The scales of x and y.
    pub(in crate::families) scales: [f32; 2],
    /// The offsets of input and output pixels.
    pub(in crate::families) offsets: [f32; 2],
    pub(in crate::families) outside: f32,
    pub(in crate::families) samples: [u32; 2],
    pub(in crate::families) to_corners: bool,
}

pub(in crate::families) const AVERAGE: Mode = Mode {
    function: ReduceFunction::Average,
    is_linear: true,
    scales: [1.0; 2],
    offsets: [0.5, -0.5],
    outside: 0.5,
    samples: [1, 4],
    to_corners: false,
};
pub(in crate::families) const MAXIMUM: Mode = Mode { function: ReduceFunction::Max, ..AVERAGE };
pub(in crate::families) const NEAREST: Mode = Mode { is_linear: false, ..AVERAGE };
const MOVED: Mode = Mode { is_linear: false, ..MAXIMUM };

pub(in crate::families) const MODES: [(&str, Mode); 14] = [
    ("average", AVERAGE),
    ("maximum", MAXIMUM),
    ("nearest_average", NEAREST),
    ("nearest_maximum", MOVED),
    ("two_samples", Mode { samples: [2, 2], ..AVERAGE }),
    ("three_samples_maximum", Mode { samples: [3, 3], ..MAXIMUM }),
    ("one_sample", Mode { samples: [0, 1], ..AVERAGE }),
    ("some_samples", Mode { samples: [2, 7], ..AVERAGE }),
    ("scales", Mode { scales: [0.25, 0.75], ..AVERAGE }),
    ("scales_below_0", Mode { scales: [-0.5, 2.0], ..AVERAGE }),
    ("outside", Mode { outside: 7.25, scales: [2.0, 2.5], ..AVERAGE }),
    ("without_offsets", Mode { offsets: [0.0; 2], ..AVERAGE }),
    ("to_corners", Mode { to_corners: true, ..AVERAGE }),
    ("to_corners_nearest", Mode { to_corners: true, offsets: [0.0, 0.25], ..NEAREST }),
];

/// The ranks of the regions' and batches' tensors, if they differ from the other tensors' rank.
type Ranks = Option<[usize; 2]>;

impl CaseGenerator<'_> {
    fn has(&self, name: &str) -> bool {
        self.schema.has_field(name)
    }

    /// How many numbers describe a region.
    fn numbers(&self) -> u32 {
        if self.has("BatchIndicesTensor") { 4 } else { 5 }
    }

    fn sizes(&self, shape: &Shape, name: &str) -> Sizes {
        let mut sizes = [1; 8];
        match name {
            "InputTensor" => sizes[4..].copy_from_slice(&shape.input),
            "ROITensor" => sizes[6..].copy_from_slice(&[shape.regions, self.numbers()]),
            "BatchIndicesTensor" => sizes[7] = shape.regions,
            _ => {
                let [down, across] = shape.cells;
                sizes[4..].copy_from_slice(&[shape.regions, shape.input[1], down, across]);
            }
        }
        sizes
    }

    /// The operator with these tensors.
    fn operator(
        &self,
        shape: &Shape,
        mode: Mode,
        ranks: Ranks,
        mut tensor: impl FnMut(&str, TensorGenerator, Sizes) -> TensorDesc,
    ) -> AbstractOperator {
        let fields = self.schema.fields.iter().map(|field| match field.name {
            name if name.ends_with("Tensor") => {
                let data_type = self.signature.type_of(self.schema, name);
                let mut make = TensorGenerator { data_type, rank: self.signature.rank };
                match (ranks, name) {
                    (Some([rank, _]), "ROITensor") => make.rank = rank,
                    (Some([_, rank]), "BatchIndicesTensor") => make.rank = rank,
                    _ => {}
                }
                FieldValue::Tensor(Some(tensor(name, make, self.sizes(shape, name))))
            }
            "ReductionFunction" => FieldValue::Uint(mode.function.dml_value()),
            "InterpolationMode" => FieldValue::Uint(mode.is_linear.into()),
            "SpatialScaleX" | "SpatialScale" => FieldValue::Float(mode.scales[0]),
            "SpatialScaleY" => FieldValue::Float(mode.scales[1]),
            "InputPixelOffset" => FieldValue::Float(mode.offsets[0]),
            "OutputPixelOffset" => FieldValue::Float(mode.offsets[1]),
            "OutOfBoundsInputValue" => FieldValue::Float(mode.outside),
            "MinimumSamplesPerOutput" => FieldValue::Uint(mode.samples[0]),
            "MaximumSamplesPerOutput" => FieldValue::Uint(mode.samples[1]),
            "AlignRegionsToCorners" => FieldValue::Bool(mode.to_corners),
            _ => FieldValue::Size2d([shape.cells[1], shape.cells[0]]),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    fn packed(&self, shape: &Shape, mode: Mode) -> AbstractOperator {
        self.operator(shape, mode, None, |_, make, sizes| make.packed(sizes))
    }

    pub(super) fn minimal(&self) -> AbstractOperator {
        self.packed(&ONE, AVERAGE)
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let shape = |(name, shape): (&str, Shape)| {
            Case::new(format!("shape_{name}"), self.packed(&shape, AVERAGE))
        };
        let shapes = SHAPES.into_iter().map(shape);
        let others = [self.modes(), self.given(), self.large(), self.layouts(), self.buffers()];
        shapes.chain(others.concat()).collect()
    }

    fn modes(&self) -> Vec<Case> {
        let is_possible = |(name, _): &(&str, Mode)| match name.starts_with("scales") {
            true => true,
            false if !self.has("BatchIndicesTensor") => false,
            false => {
                self.has("InputPixelOffset")
                    || !(name.contains("offsets") || name.contains("corners"))
            }
        };
        let case = |(name, mode): (&str, Mode)| {
            Case::new(format!("mode_{name}"), self.packed(&USUAL, mode))
        };
        let mut cases: Vec<Case> = MODES.into_iter().filter(is_possible).map(case).collect();
        if self.has("BatchIndicesTensor") && self.signature.rank == 4 {
            cases.extend([[2, 1], [3, 2], [2, 4], [4, 3]].map(|ranks| {
                let packed = |_: &str, make: TensorGenerator, sizes| make.packed(sizes);
                let operator = self.operator(&USUAL, AVERAGE, Some(ranks), packed);
                Case::new(format!("ranks_{}_{}", ranks[0], ranks[1]), operator)
            }));
        }
        cases
    }

    fn data_type(&self) -> DataType {
        self.signature.type_of(self.schema, "InputTensor")
    }

    /// Regions with these corners, in the first batch.
    fn regions(&self, corners: &[[f64; 4]]) -> Vec<u64> {
        let batch = (self.numbers() == 5).then_some(0.0);
        let numbers = corners.iter().flat_map(|corner| batch.into_iter().chain(*corner));
        numbers.map(|number| encoded(self.data_type(), number)).collect()
    }

    /// Elements and regions that are likely to reveal errors.
    fn given(&self) -> Vec<Case> {
        let elements = edges(self.data_type());
        let count = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        let shape = Shape { input: [1, 1, 1, count], regions: 1, cells: [1, count] };
        // The corners of ROI_POOLING belong to the region.
        let corner = if self.numbers() == 5 { 1.0 } else { 0.0 };
        let all = [0.0, 0.0, f64::from(count) - corner, 1.0 - corner];
        let mode = Mode { samples: [1, 1], ..MOVED };
        let values = Case::new("values", self.packed(&shape, mode));
        let values = values.with_inputs(vec![elements, self.regions(&[all])]);
        let far =
            3.0e38_f64.min(if self.data_type() == DataType::Float16 { 60_000.0 } else { f64::MAX });
        let (nan, infinity) = (f64::NAN, f64::INFINITY);
        let corners: Vec<(&str, [f64; 4])> = vec![
            ("empty", [2.0, 3.0, 2.0, 3.0]),
            ("mirrored", [5.5, 4.25, 1.0, 0.5]),
            ("before", [-9.0, -8.0, -3.0, -4.0]),
            ("at_the_edge", [-1.0, -1.0, 6.0, 5.0]),
            ("just_beyond", [-1.5, -1.5, 6.5, 5.5]),
            ("after", [20.0, 30.0, 25.0, 31.0]),
            ("halves", [0.5, 1.5, 3.5, 2.5]),
            ("around_all", [-4.0, -3.0, 11.0, 9.0]),
            ("far", [-far, -far, far, far]),
            ("infinite", [-infinity, 0.0, infinity, infinity]),
            ("no_numbers", [nan, 1.0, 2.0, nan]),
        ];
        let elements = |of: &Shape| {
            let count: u32 = of.input.iter().product();
            let value = |at: u32| f64::from(at * 37 % 101 + 1) / 16.0;
            (0..count).map(|at| encoded(self.data_type(), value(at))).collect::<Vec<u64>>()
        };
        let shape = Shape { regions: 1, ..USUAL };
        let region = |(name, corners): (&str, [f64; 4])| {
            let case = Case::new(format!("region_{name}"), self.packed(&shape, AVERAGE));
            case.with_inputs(vec![elements(&shape), self.regions(&[corners])])
        };
        std::iter::once(values).chain(corners.into_iter().map(region)).collect()
    }

    /// As many samples per cell, or elements, as an invocation may process.
    fn large(&self) -> Vec<Case> {
        let all = |shape: &Shape| {
            let [_, _, height, width] = shape.input.map(f64::from);
            self.regions(&[[0.0, 0.0, width, height]])
        };
        let case = |name: &'static str, shape: Shape, mode: Mode| {
            let count: u32 = shape.input.iter().product();
            let value = |at: u32| f64::from(at.wrapping_mul(2_654_435_769) >> 20 | 1) / 16.0;
            let elements = (0..count).map(|at| encoded(self.data_type(), value(at))).collect();
            Case::new(name, self.packed(&shape, mode)).with_inputs(vec![elements, all(&shape)])
        };
        let unlimited = Mode { samples: [0, u32::MAX], ..AVERAGE };
        if self.numbers() == 5 {
            // Some profiles limit descriptors to 1 MiB, and a region must fit one.
            let plane = Shape { input: [1, 1, 260, 1000], ..ONE };
            return vec![case("in_parts", plane, AVERAGE)];
        }
        let far = Mode { scales: [3.0, 0.25], ..unlimited };
        let most = Mode { scales: [100.0; 2], ..Mode { samples: [0, u32::MAX], ..MOVED } };
        vec![
            case("adaptive", Shape { input: [1, 2, 9, 14], cells: [2, 3], ..ONE }, unlimited),
            case("adaptive_beyond", Shape { input: [1, 1, 8, 180], ..ONE }, far),
            case("most_samples", Shape { input: [1, 1, 20, 30], ..ONE }, most),
        ]
    }

    fn layouts(&self) -> Vec<Case> {
        let strided = |which: &'static str, strides: Sizes| {
            self.operator(&USUAL, AVERAGE, None, |name, make, sizes| match name == which {
                true => make.strided(sizes, strides),
                false => make.packed(sizes),
            })
        };
        let case = |name: &str, which: &'static str, strides: [u32; 4]| {
            let mut all = [0; 8];
            all[4..].copy_from_slice(&strides);
            Case::new(format!("strides_{name}"), strided(which, all))
        };
        let mut cases = vec![
            case("padded_input", "InputTensor", [700, 190, 20, 3]),
            case("reversed_input", "InputTensor", [1, 2, 6, 30]),
            case("repeated_input", "InputTensor", [0, 0, 0, 1]),
            case("padded_regions", "ROITensor", [0, 0, 17, 3]),
            case("transposed_regions", "ROITensor", [0, 0, 1, 4]),
            case("repeated_regions", "ROITensor", [0, 0, 0, 1]),
            case("padded_output", "OutputTensor", [130, 40, 11, 3]),
            case("reversed_output", "OutputTensor", [1, 4, 12, 36]),
        ];
        if self.has("BatchIndicesTensor") {
            cases.push(case("padded_batches", "BatchIndicesTensor", [0, 0, 0, 3]));
        }
        cases
    }

    fn buffers(&self) -> Vec<Case> {
        let case = |name: &'static str| Case::new(name, self.packed(&USUAL, AVERAGE));
        let owned = |all: bool| {
            self.operator(&USUAL, AVERAGE, None, |name, make, sizes| {
                let mut tensor = make.packed(sizes);
                if name == "InputTensor" || (all && name != "OutputTensor") {
                    tensor.flags = TensorFlags::OWNED_BY_DML;
                }
                tensor
            })
        };
        vec![
            case("base_offset_16").at_output_offset(16),
            case("base_offset_272").at_input_offset(272),
            case("storage_only").storage_only(),
            Case::new("owned", owned(false)),
            Case::new("owned_all", owned(true)).storage_only(),
        ]
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let mut size = |most| 1 + random.below(most);
        let input = [size(3), size(4), size(12), size(12)];
        let shape = Shape { input, regions: size(5), cells: [size(5), size(5)] };
        let most = size(6);
        let mode = Mode {
            function: random.pick(&[AVERAGE, MAXIMUM]).function,
            is_linear: !random.one_in(3),
            scales: [0, 1].map(|_| random.pick(&[1.0, 0.25, 1.75, -1.0])),
            offsets: [random.pick(&[0.5, 0.0, 1.25]), random.pick(&[-0.5, 0.0, 0.75])],
            outside: random.pick(&[0.5, 3.0, 100.0]),
            samples: [random.below(most + 1), most],
            to_corners: random.one_in(3),
        };
        let operator = self.operator(&shape, mode, None, |name, make, sizes| {
            let sizes = &sizes[8 - make.rank..];
            match name {
                "OutputTensor" => random.tensor(make.data_type, sizes),
                _ => random.input_tensor(make.data_type, sizes),
            }
        });
        Case::new("random", operator).with_random_buffers(random)
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rule = |name: &'static str, operator, field: &str| BrokenRule {
            name: name.into(),
            operator,
            field: field.to_owned().into(),
        };
        let other_sizes = |which: &'static str, at: usize| {
            self.operator(&USUAL, AVERAGE, None, |name, make, mut sizes| {
                sizes[at] += u32::from(name == which);
                make.packed(sizes)
            })
        };
        let mut rules = vec![
            rule("rule_other_channels", other_sizes("OutputTensor", 5), "OutputTensor.Sizes[1]"),
            rule("rule_other_regions", other_sizes("ROITensor", 6), "ROITensor.Sizes[2]"),
            rule("rule_more_numbers", other_sizes("ROITensor", 7), "ROITensor.Sizes[3]"),
            rule("rule_lists_of_regions", other_sizes("ROITensor", 4), "ROITensor.Sizes[0]"),
        ];
        let mode = |name, mode, field| rule(name, self.packed(&USUAL, mode), field);
        if !self.has("BatchIndicesTensor") {
            rules.extend([rule(
                "rule_other_cells",
                other_sizes("OutputTensor", 7),
                "OutputTensor.Sizes[3]",
            )]);
            return rules;
        }
        let samples = |samples| Mode { samples, ..AVERAGE };
        let [least, most] = ["MinimumSamplesPerOutput", "MaximumSamplesPerOutput"];
        rules.extend([
            rule(
                "rule_other_batches",
                other_sizes("BatchIndicesTensor", 7),
                "BatchIndicesTensor.Sizes[3]",
            ),
            mode(
                "rule_function",
                Mode { function: ReduceFunction::Sum, ..AVERAGE },
                "ReductionFunction",
            ),
            mode("rule_no_samples", samples([0, 0]), most),
            mode("rule_samples_the_wrong_way", samples([3, 2]), least),
            mode("rule_too_many_samples", samples([501, u32::MAX]), least),
        ]);
        rules
    }
}
