//! The corner cases of resampling.

use dml_core::schema::{FieldType, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc, TensorFlags};

use crate::{BrokenRule, Case, Random, Signature, Sizes, TensorGenerator};

/// The integer scale of a dimension, counted from the last one, as UPSAMPLE_2D takes it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
fn whole(scales: &[f32], from_last: usize) -> u32 {
    scales.iter().rev().nth(from_last).map_or(1, |scale| *scale as u32)
}

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
}

/// A resampling in up to four dimensions, of which the last ones are used.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) input: [u32; 4],
    pub(crate) output: [u32; 4],
    pub(crate) scales: [f32; 4],
    pub(crate) input_offset: f32,
    pub(crate) output_offset: f32,
}

pub(crate) const PIXELS: Shape = Shape {
    input: [1; 4],
    output: [1; 4],
    scales: [1.0; 4],
    input_offset: 0.5,
    output_offset: -0.5,
};
pub(crate) const LARGER: Shape =
    Shape { input: [1, 2, 3, 5], output: [1, 2, 6, 15], scales: [1.0, 1.0, 2.0, 3.0], ..PIXELS };

pub(crate) const SHAPES: [(&str, Shape); 14] = [
    ("one_element", PIXELS),
    ("same", Shape { input: [2, 3, 4, 5], output: [2, 3, 4, 5], ..PIXELS }),
    ("larger", LARGER),
    (
        "smaller",
        Shape {
            input: [1, 2, 8, 9],
            output: [1, 2, 4, 3],
            scales: [1.0, 1.0, 0.5, 0.33],
            ..PIXELS
        },
    ),
    (
        "everywhere",
        Shape { input: [2, 3, 2, 3], output: [3, 4, 5, 7], scales: [1.5, 1.4, 2.5, 2.4], ..PIXELS },
    ),
    (
        "much_smaller",
        Shape {
            input: [1, 2, 40, 33],
            output: [1, 2, 3, 4],
            scales: [1.0, 1.0, 0.075, 0.13],
            ..PIXELS
        },
    ),
    (
        "long_rows",
        Shape {
            input: [1, 2, 1, 170],
            output: [1, 2, 4, 510],
            scales: [1.0, 1.0, 4.0, 3.0],
            ..PIXELS
        },
    ),
    (
        "width_alone",
        Shape {
            input: [2, 1, 2, 5],
            output: [2, 1, 2, 10],
            scales: [1.0, 1.0, 1.0, 2.0],
            ..PIXELS
        },
    ),
    (
        "height_alone",
        Shape {
            input: [2, 1, 2, 5],
            output: [2, 1, 10, 5],
            scales: [1.0, 1.0, 5.0, 1.0],
            ..PIXELS
        },
    ),
    ("of_one_element", Shape { output: [1, 1, 9, 17], scales: [1.0, 1.0, 9.0, 17.0], ..PIXELS }),
    ("without_offsets", Shape { input_offset: 0.0, output_offset: 0.0, ..LARGER }),
    ("with_other_offsets", Shape { input_offset: -0.75, output_offset: 1.25, ..LARGER }),
    ("cut_off", Shape { output: [1, 2, 2, 3], ..LARGER }),
    ("beyond", Shape { output: [3, 2, 11, 41], ..LARGER }),
];

impl Shape {
    /// Whether scales are integers that map the input's sizes to the output's, with offsets of pixel centers.
    fn is_whole(&self) -> bool {
        let sizes = self.input.iter().zip(&self.output).zip(&self.scales);
        let mut sizes =
            sizes.map(|((input, output), scale)| *input as f32 * scale == *output as f32);
        sizes.all(|size| size)
            && self.scales.iter().all(|scale| scale.fract() == 0.0)
            && self.input_offset == 0.5
            && self.output_offset == -0.5
    }
}

/// The interpolation mode.
#[derive(Clone, Copy, Default)]
struct Mode {
    is_linear: bool,
    is_decreasing: bool,
    is_antialiased: bool,
}

impl CaseGenerator<'_> {
    fn rank(&self) -> usize {
        self.signature.rank.min(4)
    }

    fn make(&self) -> TensorGenerator {
        TensorGenerator { data_type: self.signature.data_type(), rank: self.signature.rank }
    }

    fn sizes(&self, sizes: [u32; 4]) -> Sizes {
        let mut all = [1; 8];
        all[8 - self.rank()..].copy_from_slice(&sizes[4 - self.rank()..]);
        all
    }

    fn has(&self, name: &str) -> bool {
        self.schema.has_field(name)
    }

    /// Whether the operator only scales the last two dimensions, by integers (UPSAMPLE_2D).
    fn is_whole(&self) -> bool {
        self.has("ScaleSize")
    }

    fn operator(
        &self,
        input: TensorDesc,
        output: TensorDesc,
        shape: &Shape,
        mode: Mode,
    ) -> AbstractOperator {
        let rank = input.sizes.len();
        let mut scales = vec![1.0; rank.saturating_sub(4)];
        scales.extend(&shape.scales[4 - self.rank()..]);
        let fields = self.schema.fields.iter().map(|field| match field.name {
            "InputTensor" => FieldValue::Tensor(Some(input.clone())),
            "OutputTensor" => FieldValue::Tensor(Some(output.clone())),
            "InterpolationMode" => FieldValue::Uint(mode.is_linear.into()),
            "RoundingDirection" => FieldValue::Uint(mode.is_decreasing.into()),
            "Antialiased" => FieldValue::Bool(mode.is_antialiased),
            "ScaleSize" => FieldValue::Size2d([0, 1].map(|at| whole(&scales, at))),
            "Scales" => FieldValue::FloatArray(scales.clone()),
            "InputPixelOffsets" => FieldValue::FloatArray(vec![shape.input_offset; rank]),
            "OutputPixelOffsets" => FieldValue::FloatArray(vec![shape.output_offset; rank]),
            _ if field.field_type == FieldType::Uint => {
                FieldValue::Uint(u32::try_from(rank).unwrap_or(u32::MAX))
            }
            _ => unreachable!("a field of no operator that resamples"),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    fn packed(&self, shape: &Shape, mode: Mode) -> AbstractOperator {
        let make = self.make();
        let [input, output] =
            [shape.input, shape.output].map(|sizes| make.packed(self.sizes(sizes)));
        self.operator(input, output, shape, mode)
    }

    pub(super) fn minimal(&self) -> AbstractOperator {
        self.packed(&PIXELS, Mode::default())
    }

    /// The modes that the operator has, by name.
    fn modes(&self) -> Vec<(&'static str, Mode)> {
        let nearest = Mode::default();
        let mut modes = vec![("nearest", nearest), ("linear", Mode { is_linear: true, ..nearest })];
        if self.has("RoundingDirection") {
            modes.push(("decreasing", Mode { is_decreasing: true, ..nearest }));
        }
        if self.has("Antialiased") {
            let smoothed = Mode { is_antialiased: true, ..nearest };
            modes.push(("smoothed", Mode { is_linear: true, ..smoothed }));
            modes.push(("smoothed_nearest", smoothed));
        }
        modes
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let of_mode = |(mode_name, mode): (&'static str, Mode)| {
            let shape = move |(name, shape): (&str, Shape)| {
                Case::new(format!("{mode_name}_{name}"), self.packed(&shape, mode))
            };
            let layouts = self.layouts(mode_name, mode);
            let shapes = SHAPES.into_iter().filter(|(_, it)| it.is_whole() || !self.is_whole());
            shapes.map(shape).chain(layouts).collect::<Vec<Case>>()
        };
        self.modes().into_iter().flat_map(of_mode).collect()
    }

    fn layouts(&self, mode_name: &str, mode: Mode) -> Vec<Case> {
        let make = self.make();
        let [input, output] = [LARGER.input, LARGER.output].map(|it| self.sizes(it));
        let of =
            |input: TensorDesc, output: TensorDesc| self.operator(input, output, &LARGER, mode);
        let packed = [input, output].map(|sizes| make.packed(sizes));
        let mut owned = packed[0].clone();
        owned.flags = TensorFlags::OWNED_BY_DML;
        let to = || packed[1].clone();
        let from = |strides| make.strided(input, strides);
        let case = |name: &str, operator| Case::new(format!("{mode_name}_{name}"), operator);
        vec![
            case("padded_input", of(from([0, 0, 0, 0, 0, 70, 20, 3]), to())),
            case("reversed_input", of(from([0, 0, 0, 0, 0, 1, 2, 6]), to())),
            case("repeated_rows", of(from([0, 0, 0, 0, 0, 0, 0, 1]), to())),
            case(
                "padded_output",
                of(packed[0].clone(), make.strided(output, [0, 0, 0, 0, 0, 400, 50, 3])),
            ),
            case(
                "reversed_output",
                of(packed[0].clone(), make.strided(output, [0, 0, 0, 0, 0, 1, 2, 12])),
            ),
            case("base_offset_272", self.packed(&LARGER, mode)).at_input_offset(272),
            case("storage_only", self.packed(&LARGER, mode)).storage_only(),
            case("owned", of(owned, to())),
        ]
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let input = random.sizes(self.signature.rank);
        let (shape, output) = match self.is_whole() {
            true => drawn_whole(random, &input),
            false => drawn(random, &input),
        };
        let (_, mode) = random.pick(&self.modes());
        let data_type = self.signature.data_type();
        let input = random.input_tensor(data_type, &input);
        let output = random.tensor(data_type, &output);
        let operator = self.operator(input, output, &shape, mode);
        Case::new("random", operator).with_random_buffers(random)
    }

    fn rule(&self, name: &'static str, shape: &Shape, field: String) -> BrokenRule {
        let operator = self.packed(shape, Mode::default());
        BrokenRule { name: name.into(), operator, field: field.into() }
    }

    fn broken_whole(&self) -> Vec<BrokenRule> {
        let rank = self.signature.rank;
        let size = |at: usize| format!("OutputTensor.Sizes[{at}]");
        let mut batches = LARGER;
        batches.output[0] = 3;
        let mut none = LARGER;
        none.scales[2] = 0.0;
        // A tensor of the other rank that the operator accepts.
        let make = TensorGenerator { rank: if rank == 4 { 5 } else { 4 }, ..self.make() };
        let output = make.packed(self.sizes(LARGER.output));
        let input = self.make().packed(self.sizes(LARGER.input));
        vec![
            self.rule("rule_batches_differ", &batches, size(rank - self.rank())),
            self.rule("rule_scale_of_0", &none, size(rank.saturating_sub(2))),
            BrokenRule {
                name: "rule_ranks_differ".into(),
                operator: self.operator(input, output, &LARGER, Mode::default()),
                field: "OutputTensor.DimensionCount".into(),
            },
        ]
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        if self.is_whole() {
            return self.broken_whole();
        }
        let last = self.signature.rank - 1;
        let rule = |name, shape: &Shape, field| self.rule(name, shape, field);
        let scaled = |name, scale| {
            let mut shape = LARGER;
            shape.scales[3] = scale;
            rule(name, &shape, format!("Scales[{last}]"))
        };
        let mut rules = vec![
            scaled("rule_scale_of_0", 0.0),
            scaled("rule_scale_below_0", -1.0),
            scaled("rule_scale_is_infinite", f32::INFINITY),
        ];
        if self.has("InputPixelOffsets") {
            let far = Shape { input_offset: f32::NAN, ..LARGER };
            let field = "InputPixelOffsets[0]".to_owned();
            rules.push(rule("rule_offset_is_no_number", &far, field));
        }
        rules
    }
}

/// Random scales and offsets for an input, with the output's sizes.
pub(crate) fn drawn(random: &mut Random, input: &[u32]) -> (Shape, Vec<u32>) {
    let mut shape = Shape {
        input_offset: random.pick(&[0.0, 0.5, -0.25]),
        output_offset: random.pick(&[0.0, -0.5, 0.75]),
        ..PIXELS
    };
    let mut left = 4096;
    let of = |(at, from): (usize, &u32)| {
        let scale = random.pick(&[1.0, 2.0, 0.5, 1.3, 0.7]);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes of cases are small"
        )]
        let wanted = (*from as f32 * scale) as u32 + random.below(2);
        let size = wanted.clamp(1, left);
        left = (left / size).max(1);
        if at + 4 >= input.len() {
            shape.scales[at + 4 - input.len()] = scale;
        }
        size
    };
    let output = input.iter().enumerate().map(of).collect();
    (shape, output)
}

/// Random integer scales of the last two dimensions, with the output's sizes.
fn drawn_whole(random: &mut Random, input: &[u32]) -> (Shape, Vec<u32>) {
    let (mut shape, mut output) = (PIXELS, input.to_vec());
    for (size, scale) in output.iter_mut().rev().zip(shape.scales[2..].iter_mut().rev()) {
        let times = 1 + random.below(3);
        *size *= times;
        *scale = times as f32;
    }
    (shape, output)
}
