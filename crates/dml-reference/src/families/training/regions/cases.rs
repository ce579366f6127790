//! The corner cases of the gradients of ROI_ALIGN, and elements for them.

use dml_core::schema::FieldSchema;
use dml_core::{AbstractOperator, DataType, FieldValue, ReduceFunction, TensorLayout, Validated};

use super::{INPUT, OF_CELLS, OF_ELEMENTS, OF_REGIONS};
use crate::families::roi::cases::elements::corner;
use crate::families::roi::cases::{
    AVERAGE, MAXIMUM, MODES, Mode, NEAREST, ONE, SHAPES, Shape, USUAL,
};
use crate::families::training::cases::CaseGenerator;
use crate::number::encoded;
use crate::{BrokenRule, Case, Random, edges};

const REGIONS: &str = "ROITensor";
const BATCHES: &str = "BatchIndicesTensor";

/// The names of the optional tensors that are present.
type OptionalTensors<'a> = &'a [&'a str];

const ALL: OptionalTensors<'_> = &[INPUT, OF_ELEMENTS, OF_REGIONS];
const ELEMENTS: OptionalTensors<'_> = &[OF_ELEMENTS];

/// The ranks of the regions' and batches' tensors, if they differ from the other tensors' rank.
type Ranks = Option<[usize; 2]>;

/// The sizes of a tensor.
fn sizes(maker: &CaseGenerator<'_>, shape: &Shape, name: &str, ranks: Ranks) -> Vec<u32> {
    let mut sizes = [1; 8];
    match name {
        OF_CELLS => {
            let [down, across] = shape.cells;
            sizes[4..].copy_from_slice(&[shape.regions, shape.input[1], down, across]);
        }
        REGIONS | OF_REGIONS => sizes[6..].copy_from_slice(&[shape.regions, 4]),
        BATCHES => sizes[7] = shape.regions,
        _ => sizes[4..].copy_from_slice(&shape.input),
    }
    let rank = match (ranks, name) {
        (Some([rank, _]), REGIONS | OF_REGIONS) | (Some([_, rank]), BATCHES) => rank,
        _ => maker.rank(),
    };
    sizes[8 - rank..].to_vec()
}

fn attributes(mode: Mode) -> [(&'static str, FieldValue); 9] {
    [
        ("ReductionFunction", FieldValue::Uint(mode.function.dml_value())),
        ("InterpolationMode", FieldValue::Uint(mode.is_linear.into())),
        ("SpatialScaleX", FieldValue::Float(mode.scales[0])),
        ("SpatialScaleY", FieldValue::Float(mode.scales[1])),
        ("InputPixelOffset", FieldValue::Float(mode.offsets[0])),
        ("OutputPixelOffset", FieldValue::Float(mode.offsets[1])),
        ("MinimumSamplesPerOutput", FieldValue::Uint(mode.samples[0])),
        ("MaximumSamplesPerOutput", FieldValue::Uint(mode.samples[1])),
        ("AlignRegionsToCorners", FieldValue::Bool(mode.to_corners)),
    ]
}

/// The operator with the shape's sizes, changed by `change`.
fn changed(
    maker: &CaseGenerator<'_>,
    (shape, mode, given): (&Shape, Mode, OptionalTensors<'_>),
    ranks: Ranks,
    change: impl Fn(&str, &mut Vec<u32>),
) -> AbstractOperator {
    let of = |field: &FieldSchema| {
        let is_there = !field.optional || given.contains(&field.name);
        is_there.then(|| {
            let mut sizes = sizes(maker, shape, field.name, ranks);
            change(field.name, &mut sizes);
            sizes
        })
    };
    maker.operator(of, &attributes(mode))
}

fn operator(
    maker: &CaseGenerator<'_>,
    shape: &Shape,
    mode: Mode,
    given: OptionalTensors<'_>,
) -> AbstractOperator {
    changed(maker, (shape, mode, given), None, |_, _| ())
}

pub(super) fn operators(maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)> {
    let of = |shape: &Shape, mode, given| operator(maker, shape, mode, given);
    let mut all: Vec<(String, AbstractOperator)> = SHAPES
        .iter()
        .map(|(name, shape)| (format!("shape_{name}"), of(shape, AVERAGE, ALL)))
        .collect();
    // Input and gradients are distinguished even if they have equal sizes.
    let alike = Shape { input: [4, 3, 3, 2], ..USUAL };
    all.push(("shape_alike".to_owned(), of(&alike, MAXIMUM, ALL)));
    all.extend(MODES.map(|(name, mode)| (format!("mode_{name}"), of(&USUAL, mode, ALL))));
    let some: [(&str, Mode, OptionalTensors<'_>); 8] = [
        ("elements", AVERAGE, ELEMENTS),
        ("elements_and_input", AVERAGE, &[INPUT, OF_ELEMENTS]),
        ("regions", AVERAGE, &[INPUT, OF_REGIONS]),
        ("elements_of_maximum", MAXIMUM, &[INPUT, OF_ELEMENTS]),
        ("regions_of_maximum", MAXIMUM, &[INPUT, OF_REGIONS]),
        ("elements_of_nearest", NEAREST, ELEMENTS),
        ("regions_of_nearest", NEAREST, &[INPUT, OF_REGIONS]),
        (
            "elements_of_nearest_maximum",
            Mode { is_linear: false, ..MAXIMUM },
            &[INPUT, OF_ELEMENTS],
        ),
    ];
    all.extend(some.map(|(name, mode, given)| (format!("alone_{name}"), of(&USUAL, mode, given))));
    if maker.rank() == 4 {
        all.extend([[2, 1], [3, 2], [2, 4], [4, 3]].map(|ranks| {
            let name = format!("ranks_{}_{}", ranks[0], ranks[1]);
            (name, changed(maker, (&USUAL, AVERAGE, ALL), Some(ranks), |_, _| ()))
        }));
    }
    let unlimited = Mode { samples: [0, u32::MAX], ..AVERAGE };
    let most = Mode { samples: [500, 500], is_linear: false, ..AVERAGE };
    let adaptive = Shape { input: [1, 2, 9, 14], cells: [2, 3], ..USUAL };
    all.extend([
        ("adaptive".to_owned(), of(&adaptive, unlimited, ALL)),
        (
            "adaptive_maximum".to_owned(),
            of(&adaptive, Mode { function: ReduceFunction::Max, ..unlimited }, ALL),
        ),
        ("most_samples".to_owned(), of(&Shape { input: [1, 1, 4, 6], ..ONE }, most, ELEMENTS)),
        (
            "many_elements".to_owned(),
            of(&Shape { input: [1, 1, 300, 400], regions: 2, ..USUAL }, AVERAGE, ELEMENTS),
        ),
    ]);
    all
}

pub(super) fn drawn(maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator {
    let mut size = |most| 1 + random.below(most);
    let input = [size(3), size(4), size(12), size(12)];
    let shape = Shape { input, regions: size(5), cells: [size(5), size(5)] };
    let most = size(6);
    let mode = Mode {
        function: random.pick(&[AVERAGE, MAXIMUM]).function,
        is_linear: !random.one_in(3),
        scales: [0, 1].map(|_| random.pick(&[1.0, 0.25, 1.75, -1.0])),
        // Samples lie between the corners, since gradients of others have other signs, which cancel.
        offsets: [random.pick(&[0.5, 0.0, 1.25]), random.pick(&[-0.5, 0.0, -0.25])],
        samples: [random.below(most + 1), most],
        to_corners: random.one_in(3),
        ..AVERAGE
    };
    let given = random.pick(&[ALL, &[INPUT, OF_ELEMENTS], &[INPUT, OF_REGIONS]]);
    operator(maker, &shape, mode, given)
}

/// Degenerate regions, edge gradients, and the documentation's example.
pub(super) fn special(maker: &CaseGenerator<'_>) -> Vec<Case> {
    let data_type = maker.type_of(OF_CELLS);
    let bits =
        |values: &[f64]| values.iter().map(|value| encoded(data_type, *value)).collect::<Vec<_>>();
    let far = if data_type == DataType::Float16 { 60_000.0 } else { 3.0e38 };
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let corners: [(&str, [f64; 4]); 11] = [
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
    let shape = Shape { regions: 1, ..USUAL };
    let count: u32 = [shape.input[1], shape.cells[0], shape.cells[1]].iter().product();
    let gradients: Vec<f64> = (0..count).map(|at| f64::from(at * 37 % 101 + 1) / 16.0).collect();
    let image: Vec<f64> = places(&shape.input).map(|[y, x]| y + x).collect();
    let mut cases: Vec<Case> = corners
        .iter()
        .map(|(name, corners)| {
            let case = Case::new(format!("region_{name}"), operator(maker, &shape, AVERAGE, ALL));
            case.with_inputs(vec![bits(&image), bits(&gradients), bits(corners)])
        })
        .collect();
    let values = edges(data_type);
    let width = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let row = Shape { input: [1, 1, 1, width], regions: 1, cells: [1, width] };
    let one = Mode { samples: [1, 1], ..NEAREST };
    let all = [0.0, 0.0, f64::from(width), 1.0];
    let case = Case::new("values", operator(maker, &row, one, ELEMENTS));
    cases.push(case.with_inputs(vec![vec![], values, bits(&all)]));
    if data_type == DataType::Float32 && maker.rank() == 4 {
        // The documentation's example does not state pixel offsets: with these, coordinates at halves are
        // rounded down.
        let mode = Mode { offsets: [0.625, -0.5], ..one };
        let shown = Shape { input: [1, 1, 4, 4], regions: 4, cells: [1, 3] };
        let regions = [0, 2].map(|y| [0, 2].map(|x| [x, y, x + 2, y + 2].map(f64::from)));
        let gradients: Vec<f64> = (1..=12).map(f64::from).collect();
        let rows = [[3.0, 3.0, 9.0, 6.0], [0.0; 4], [15.0, 9.0, 21.0, 12.0], [0.0; 4]];
        let case = Case::new("documented", operator(maker, &shown, mode, ELEMENTS));
        let regions = bits(&regions.concat().concat());
        let case = case.with_inputs(vec![vec![], bits(&gradients), regions, vec![0; 4]]);
        cases.push(case.documented(vec![bits(&rows.concat()), vec![]]));
    }
    cases
}

/// The coordinates of all elements of planes.
fn places(sizes: &[u32]) -> impl Iterator<Item = [f64; 2]> + '_ {
    let planes: u32 = sizes[..2].iter().product();
    let [height, width] = [sizes[2], sizes[3]];
    let plane = move || {
        (0..height).flat_map(move |y| (0..width).map(move |x| [f64::from(y), f64::from(x)]))
    };
    (0..planes).flat_map(move |_| plane())
}

pub(super) fn elements(
    random: &mut Random,
    operator: &Validated,
    index: usize,
    layout: &TensorLayout,
) -> Vec<u64> {
    let data_type = layout.data_type();
    let count = u32::try_from(layout.element_count()).unwrap_or(u32::MAX);
    let known = [INPUT, OF_ELEMENTS].map(|it| operator.tensor(it).ok().flatten());
    let sizes = known.into_iter().flatten().next().map_or(&[1; 4][..], TensorLayout::sizes);
    match index {
        // The gradients of regions are sums of differences, which lose few digits if all are positive.
        0 if matches!(operator.tensor(OF_REGIONS), Ok(Some(_))) => places(sizes)
            .map(|[y, x]| encoded(data_type, y + x + f64::from(random.below(8)) / 8.0))
            .collect(),
        0 | 1 => {
            let mut element = || f64::from(1 + random.below(4000)) / 1000.0;
            (0..count).map(|_| encoded(data_type, element())).collect()
        }
        2 => {
            let mut number =
                |at: u32| corner(random, sizes[if at.is_multiple_of(2) { 3 } else { 2 }]);
            (0..count).map(|at| encoded(data_type, number(at))).collect()
        }
        _ => {
            let mut index = || match random.below(8) {
                0 => random.bits() >> (64 - data_type.bits()),
                _ => random.below(sizes[0] + 1).into(),
            };
            (0..count).map(|_| index()).collect()
        }
    }
}

pub(super) fn broken_rules(maker: &CaseGenerator<'_>) -> Vec<BrokenRule> {
    let other_sizes = |which: &'static str, at: usize| {
        changed(maker, (&USUAL, AVERAGE, ALL), None, |name, sizes| {
            let of_last = sizes.len().saturating_sub(4 - at);
            sizes[of_last] += u32::from(name == which);
        })
    };
    let of = |mode, given| operator(maker, &USUAL, mode, given);
    let mode = |mode| of(mode, ALL);
    let samples = |samples| mode(Mode { samples, ..AVERAGE });
    let [least, most] = ["MinimumSamplesPerOutput", "MaximumSamplesPerOutput"];
    let both_regions = |at: usize| {
        changed(maker, (&USUAL, AVERAGE, ALL), None, |name, sizes| {
            let of_last = sizes.len().saturating_sub(4 - at);
            sizes[of_last] += u32::from([REGIONS, OF_REGIONS].contains(&name));
        })
    };
    vec![
        maker.broken("rule_other_channels", other_sizes(INPUT, 1), "InputTensor.Sizes[1]"),
        maker.broken(
            "rule_other_channels_of_gradients",
            other_sizes(OF_ELEMENTS, 1),
            "OutputGradientTensor.Sizes[1]",
        ),
        maker.broken(
            "rule_other_height",
            other_sizes(OF_ELEMENTS, 2),
            "OutputGradientTensor.Sizes[2]",
        ),
        maker.broken("rule_other_regions", both_regions(2), "ROITensor.Sizes[2]"),
        maker.broken("rule_more_numbers", both_regions(3), "ROITensor.Sizes[3]"),
        maker.broken("rule_other_batches", other_sizes(BATCHES, 3), "BatchIndicesTensor.Sizes[3]"),
        maker.broken(
            "rule_function",
            mode(Mode { function: ReduceFunction::Sum, ..AVERAGE }),
            "ReductionFunction",
        ),
        maker.broken("rule_no_samples", samples([0, 0]), most),
        maker.broken("rule_samples_the_wrong_way", samples([3, 2]), least),
        maker.broken("rule_too_many_samples", samples([501, u32::MAX]), least),
        maker.broken("rule_no_outputs", of(AVERAGE, &[INPUT]), OF_ELEMENTS),
        maker.broken("rule_regions_of_no_input", of(AVERAGE, &[OF_REGIONS]), INPUT),
        maker.broken("rule_greatest_of_no_input", of(MAXIMUM, ELEMENTS), INPUT),
    ]
}
