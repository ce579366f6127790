//! The corner cases of pooling operators.

pub(crate) mod shape;

use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc, TensorFlags};

use super::meaning::Meaning;
use crate::{BrokenRule, Case, Random, Signature, Sizes, TensorGenerator, edges};
use shape::{ONE, OTHERS, Others, PADDED, REVERSED, SHAPES, Shape, USUAL};

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) meaning: Meaning,
    pub(super) signature: &'a Signature,
}

impl CaseGenerator<'_> {
    fn has(&self, name: &str) -> bool {
        self.schema.has_field(name)
    }

    /// The number of dimensions with windows.
    fn dimensions(&self) -> usize {
        self.signature.rank.saturating_sub(2).min(3)
    }

    fn make(&self, name: &str) -> TensorGenerator {
        TensorGenerator {
            data_type: self.signature.type_of(self.schema, name),
            rank: self.signature.rank,
        }
    }

    /// The shape without attributes that the operator lacks.
    fn possible(&self, mut shape: Shape) -> Shape {
        if !self.has("Dilations") {
            shape.dilation = [1; 3];
        }
        shape
    }

    /// The output's sizes: the number of windows in each dimension.
    fn output_sizes(&self, shape: &Shape) -> Sizes {
        let mut sizes = shape.input;
        if self.meaning == Meaning::Response {
            return sizes;
        }
        for at in 3 - self.dimensions()..3 {
            let size = &mut sizes[5 + at];
            // For operators that break a rule, any size will do.
            let padded = (*size + shape.start[at]).saturating_add(shape.end[at]);
            let reach = shape.window[at].saturating_sub(1) * shape.dilation[at] + 1;
            let room = padded.checked_sub(reach);
            *size = room.map_or(1, |room| room / shape.step[at].max(1) + 1);
        }
        sizes
    }

    /// The operator with these tensors.
    fn operator(
        &self,
        shape: &Shape,
        others: Others,
        tensor: impl Fn(&str, TensorGenerator, Sizes) -> TensorDesc,
    ) -> AbstractOperator {
        let of_last =
            |values: [u32; 3]| FieldValue::UintArray(values[3 - self.dimensions()..].to_vec());
        let output = self.output_sizes(shape);
        let scales = match (self.signature.rank, others.by_channel) {
            (3.., true) => {
                let mut sizes = [1; 8];
                let channels = 9 - self.signature.rank;
                sizes[channels] = shape.input[channels];
                sizes
            }
            _ => [1; 8],
        };
        let fields = self.schema.fields.iter().map(|field| {
            let make = || self.make(field.name);
            match field.name {
                "InputTensor" => FieldValue::Tensor(Some(tensor(field.name, make(), shape.input))),
                "OutputIndicesTensor" if !others.indices => FieldValue::Tensor(None),
                name if name.ends_with("ZeroPointTensor") && !others.zero_points => {
                    FieldValue::Tensor(None)
                }
                _ if field.kind == FieldKind::Input => {
                    FieldValue::Tensor(Some(tensor(field.name, make(), scales)))
                }
                _ if field.kind == FieldKind::Output => {
                    FieldValue::Tensor(Some(tensor(field.name, make(), output)))
                }
                "DimensionCount" => {
                    FieldValue::Uint(u32::try_from(self.dimensions()).unwrap_or(u32::MAX))
                }
                "Strides" => of_last(shape.step),
                "WindowSize" => of_last(shape.window),
                "StartPadding" => of_last(shape.start),
                "EndPadding" => of_last(shape.end),
                "Dilations" => of_last(shape.dilation),
                "IncludePadding" => FieldValue::Bool(others.include_padding),
                "P" => FieldValue::Uint(others.degree),
                "CrossChannel" => FieldValue::Bool(others.cross_channel),
                "LocalSize" => FieldValue::Uint(others.local_size),
                "Alpha" => FieldValue::Float(others.factors[0]),
                "Beta" => FieldValue::Float(others.factors[1]),
                _ => FieldValue::Float(others.factors[2]),
            }
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    fn packed(&self, shape: &Shape, others: Others) -> AbstractOperator {
        self.operator(shape, others, |_, make, sizes| make.packed(sizes))
    }

    pub(super) fn minimal(&self) -> AbstractOperator {
        self.packed(&ONE, OTHERS)
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let shape = |(name, shape): (&str, Shape)| {
            Case::new(format!("shape_{name}"), self.packed(&self.possible(shape), OTHERS))
        };
        let shapes = SHAPES.into_iter().map(shape);
        let others = [self.attributes(), self.values(), self.layouts(), self.buffers()];
        shapes.chain(others.concat()).collect()
    }

    fn attributes(&self) -> Vec<Case> {
        let usual = |others| self.packed(&USUAL, others);
        let mut cases = vec![];
        if self.has("Dilations") {
            let apart = Shape {
                dilation: [2, 2, 3],
                window: [2, 3, 2],
                start: [1, 2, 3],
                end: [1, 2, 2],
                ..USUAL
            };
            let around = Shape { window: [2; 3], dilation: [4, 6, 7], start: [1; 3], ..USUAL };
            let around = Shape { end: [1, 2, 1], ..around };
            cases.push(Case::new("dilated", self.packed(&apart, OTHERS)));
            cases.push(Case::new("dilated_around_all", self.packed(&around, OTHERS)));
        }
        if self.has("IncludePadding") {
            let excluding = Others { include_padding: false, ..OTHERS };
            for (name, shape) in SHAPES {
                let operator = self.packed(&self.possible(shape), excluding);
                cases.push(Case::new(format!("without_padding_{name}"), operator));
            }
        }
        if self.has("P") {
            cases.extend([1, 3, 7].map(|degree| {
                Case::new(format!("degree_{degree}"), usual(Others { degree, ..OTHERS }))
            }));
        }
        if self.has("OutputIndicesTensor") {
            cases.push(Case::new("without_indices", usual(Others { indices: false, ..OTHERS })));
        }
        if self.meaning == Meaning::Quantized {
            let of_all = Others { by_channel: false, ..OTHERS };
            let without = Others { zero_points: false, ..OTHERS };
            cases.push(Case::new("one_scale", usual(of_all)));
            cases.push(Case::new("without_zero_points", usual(without)));
        }
        if self.meaning == Meaning::Response {
            for (local_size, cross_channel) in
                [(1, true), (2, true), (3, false), (4, false), (9, true), (11, false)]
            {
                let kind = if cross_channel { "channels" } else { "plane" };
                let others = Others { local_size, cross_channel, ..OTHERS };
                cases.push(Case::new(format!("{kind}_of_{local_size}"), usual(others)));
            }
            for (name, factors) in [
                ("usual", [0.0001, 0.75, 1.0]),
                ("no_exponent", [0.5, 0.0, 1.0]),
                ("no_sum", [0.0, 1.0, 2.0]),
            ] {
                let others = Others { factors, ..OTHERS };
                cases.push(Case::new(format!("factors_{name}"), usual(others)));
            }
        }
        cases
    }

    /// Elements that are likely to reveal errors, alone or in all pairs.
    fn values(&self) -> Vec<Case> {
        let edges = edges(self.make("InputTensor").data_type);
        let (elements, window): (Vec<u64>, u32) = match self.meaning {
            // Powers of small numbers are out of the range of single precision.
            Meaning::Norm | Meaning::Quantized => return vec![],
            Meaning::Maximum => {
                let pairs = edges.iter().flat_map(|a| edges.iter().flat_map(|b| [*a, *b]));
                (pairs.collect(), 2)
            }
            _ => (edges, 1),
        };
        let mut input = [1; 8];
        input[7] = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        let shape = Shape { input, window: [1, 1, window], step: [1, 1, window], ..ONE };
        let others = Others { local_size: 1, ..OTHERS };
        vec![Case::new("values", self.packed(&shape, others)).with_inputs(vec![elements])]
    }

    fn layouts(&self) -> Vec<Case> {
        let others = Others { include_padding: false, ..OTHERS };
        let strided = |which: &'static str, strides: Sizes| {
            self.operator(&USUAL, others, |name, make, sizes| match name.starts_with(which) {
                true => make.strided(sizes, strides),
                false => make.packed(sizes),
            })
        };
        // Strides of the output, which has other sizes.
        let (padded, reversed) = ([0, 0, 0, 4000, 1200, 300, 30, 3], [0, 0, 0, 1, 2, 6, 30, 300]);
        vec![
            Case::new("strides_padded_input", strided("InputTensor", PADDED)),
            Case::new("strides_reversed_input", strided("InputTensor", REVERSED)),
            Case::new("strides_repeated_input", strided("InputTensor", [0; 8])),
            Case::new("strides_repeated_rows", strided("InputTensor", [0, 0, 0, 0, 0, 0, 0, 1])),
            Case::new("strides_padded_output", strided("Output", padded)),
            Case::new("strides_reversed_output", strided("Output", reversed)),
        ]
    }

    fn buffers(&self) -> Vec<Case> {
        let case = |name: &'static str| Case::new(name, self.packed(&USUAL, OTHERS));
        let owned = |all: bool| {
            self.operator(&USUAL, OTHERS, |name, make, sizes| {
                let mut tensor = make.packed(sizes);
                let is_output = matches!(name, "OutputTensor" | "OutputIndicesTensor");
                if name == "InputTensor" || (all && !is_output) {
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
            Case::new("owned_all", owned(true)),
            Case::new("owned_storage_only", owned(true)).storage_only(),
        ]
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let mut shape = ONE;
        let rank = self.signature.rank;
        let sizes = random.sizes(rank);
        for (place, size) in shape.input[8 - rank..].iter_mut().zip(&sizes) {
            *place = *size;
        }
        for at in 3 - self.dimensions()..3 {
            let size = shape.input[5 + at].min(4);
            shape.window[at] = 1 + random.below(size);
            shape.step[at] = 1 + random.below(3);
            shape.dilation[at] = 1 + random.below(2);
            // A window must fit.
            let spare = (shape.window[at] - 1) * (shape.dilation[at] - 1);
            shape.start[at] = spare + random.below(3);
            shape.end[at] = random.below(3);
        }
        let shape = self.possible(shape);
        let others = Others {
            include_padding: random.one_in(2),
            degree: 1 + random.below(4),
            cross_channel: random.one_in(2),
            local_size: 1 + random.below(6),
            factors: [
                random.pick(&[0.0001, 0.5, 2.0]),
                random.pick(&[0.25, 0.5, 0.75, 1.0]),
                random.pick(&[0.5, 1.0, 2.0]),
            ],
            by_channel: random.one_in(2),
            zero_points: !random.one_in(3),
            indices: !random.one_in(3),
        };
        let drawn = std::cell::RefCell::new(random);
        let operator = self.operator(&shape, others, |name, make, sizes| {
            let sizes = &sizes[8 - make.rank..];
            match name {
                "OutputTensor" | "OutputIndicesTensor" => {
                    drawn.borrow_mut().tensor(make.data_type, sizes)
                }
                _ => drawn.borrow_mut().input_tensor(make.data_type, sizes),
            }
        });
        Case::new("random", operator).with_random_buffers(drawn.into_inner())
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rule = |name: &'static str, operator, field: String| BrokenRule {
            name: name.into(),
            operator,
            field: field.into(),
        };
        if self.meaning == Meaning::Response {
            let none = self.packed(&USUAL, Others { local_size: 0, ..OTHERS });
            return vec![rule("rule_window_of_0", none, "LocalSize".to_owned())];
        }
        let last = self.dimensions() - 1;
        let at_last = |name: &str| format!("{name}[{last}]");
        let of = |name: &'static str, change: &dyn Fn(&mut Shape), field: &str| {
            // The output has the sizes of the unchanged shape.
            let mut changed = USUAL;
            change(&mut changed);
            let output = self.output_sizes(&USUAL);
            let operator = self.operator(&changed, OTHERS, |name, make, sizes| {
                make.packed(if name.starts_with("OutputT") || name.starts_with("OutputI") {
                    output
                } else {
                    sizes
                })
            });
            rule(name, operator, at_last(field))
        };
        let mut rules = vec![
            of("rule_window_of_0", &|it| it.window[2] = 0, "WindowSize"),
            of("rule_step_of_0", &|it| it.step[2] = 0, "Strides"),
            of("rule_window_beyond_all", &|it| it.window[2] = 9, "WindowSize"),
            of("rule_padded_size_beyond_32_bits", &|it| it.end[2] = u32::MAX, "EndPadding"),
        ];
        let more = self.operator(&USUAL, OTHERS, |name, make, mut sizes| {
            if name.starts_with("OutputT") || name.starts_with("OutputI") {
                sizes[7] += 1;
            }
            make.packed(sizes)
        });
        let path = format!("OutputTensor.Sizes[{}]", self.signature.rank - 1);
        rules.push(rule("rule_more_windows_than_there_are", more, path));
        if self.has("Dilations") {
            rules.push(of("rule_dilation_of_0", &|it| it.dilation[2] = 0, "Dilations"));
        }
        if self.has("P") {
            let none = self.packed(&USUAL, Others { degree: 0, ..OTHERS });
            rules.push(rule("rule_degree_of_0", none, "P".to_owned()));
        }
        if self.meaning == Meaning::Quantized {
            let scales = |which: &'static str| {
                self.operator(&USUAL, OTHERS, |name, make, mut sizes| {
                    if name == format!("{which}ScaleTensor")
                        || name == format!("{which}ZeroPointTensor")
                    {
                        sizes[7] = 2;
                    }
                    make.packed(sizes)
                })
            };
            let path = |which| format!("{which}ScaleTensor.Sizes[{}]", self.signature.rank - 1);
            rules.push(rule("rule_scales_of_rows", scales("Input"), path("Input")));
            rules.push(rule("rule_output_scales_of_rows", scales("Output"), path("Output")));
        }
        rules
    }
}
