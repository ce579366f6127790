//! The corner cases of DIAGONAL_MATRIX1.

use dml_core::{DataType, TensorDesc, TensorFlags};

use super::band as desc;
use crate::{Case, MIXED, Random, TensorGenerator};

const MIN: i32 = i32::MIN;
const MAX: i32 = i32::MAX;
/// 5 rows and 7 columns, in batches of 2 and 3: diagonals from -4 to 6.
const SIZES: [u32; 4] = [2, 3, 5, 7];
/// Packed strides.
const PACKED: [u32; 4] = [105, 35, 7, 1];
/// Strides with padding between batches and rows.
const PADDED: [u32; 4] = [163, 53, 9, 1];
/// Strides with padding between all elements.
const SPREAD: [u32; 4] = [420, 140, 28, 3];
/// Packed strides with columns outermost.
const TRANSPOSED: [u32; 4] = [105, 35, 1, 5];

pub(in super::super) fn all(data_type: DataType, rank: usize) -> Vec<Case> {
    let make = &TensorGenerator { data_type, rank };
    let mut cases = [
        bands(make),
        shapes(make),
        values(make),
        layouts(make),
        input_layouts(make),
        buffers(make),
        in_place(make),
        owned(make),
    ]
    .concat();
    if data_type == DataType::Float32 {
        cases.extend(documented(make));
    }
    cases
}

/// A random case: without an input, with an input of its own layout, in place, or with an owned input.
pub(in super::super) fn random(random: &mut Random, data_type: DataType, rank: usize) -> Case {
    let sizes = random.sizes(rank);
    let output = random.tensor(data_type, &sizes);
    let kind = random.below(4);
    let input = match kind {
        0 => None,
        1 => Some(output.clone()),
        _ => Some(random.input_tensor(data_type, &sizes)),
    };
    let flags = if kind == 2 { TensorFlags::OWNED_BY_DML } else { TensorFlags::NONE };
    let input = input.map(|input| TensorDesc { flags, ..input });
    let band = (random.diagonal(&sizes), random.diagonal(&sizes));
    let has_elements = input.is_some() && random.one_in(3);
    let operator = desc(input, output, random.element(data_type), band);
    let mut case = Case::new("random", operator).with_random_buffers(random);
    if kind == 1 {
        case.in_place = vec![(0, 0)];
    }
    if has_elements {
        let count = sizes.iter().product();
        case.inputs = vec![(0..count).map(|_: u32| random.element(data_type)).collect()];
    }
    case
}

/// A tensor of [`SIZES`] with these strides.
fn strided(make: &TensorGenerator, strides: [u32; 4]) -> TensorDesc {
    make.strided(SIZES, strides)
}

fn owned_input(make: &TensorGenerator, strides: [u32; 4]) -> TensorDesc {
    TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..strided(make, strides) }
}

/// A case without an input, and a case with an input.
fn pair(name: &'static str, tensor: &TensorDesc, band: (i32, i32)) -> [Case; 2] {
    let input_name = format!("input_{name}");
    [
        Case::new(name, desc(None, tensor.clone(), MIXED, band)),
        Case::new(input_name, desc(Some(tensor.clone()), tensor.clone(), MIXED, band)),
    ]
}

fn bands(make: &TensorGenerator) -> Vec<Case> {
    let bands = [
        ("band_one_wide", (1, 2)),
        ("band_three_wide", (-1, 2)),
        ("band_empty", (2, 2)),
        ("band_inverted", (2, -1)),
        ("band_inverted_by_one", (1, 0)),
        ("band_last_column", (6, 7)),
        ("band_past_right", (7, 9)),
        ("band_last_row", (-4, -3)),
        ("band_past_bottom", (-9, -4)),
        ("band_over_both_ends", (-9, 9)),
        ("band_inverted_past_right", (9, 7)),
        ("band_inverted_past_bottom", (-4, -9)),
        ("band_inverted_over_both_ends", (9, -9)),
        ("band_lower", (MIN, 1)),
        ("band_upper", (0, MAX)),
        ("band_int32_min_max", (MIN, MAX)),
        ("band_int32_max_min", (MAX, MIN)),
        ("band_int32_min_min", (MIN, MIN)),
        ("band_int32_max_max", (MAX, MAX)),
        ("band_inverted_int32_min", (0, MIN)),
        ("band_inverted_int32_max", (MAX, 1)),
    ];
    let tensor = make.packed(SIZES);
    bands.into_iter().flat_map(|(name, band)| pair(name, &tensor, band)).collect()
}

fn shapes(make: &TensorGenerator) -> Vec<Case> {
    let shapes = [
        ("shape_single_element", [1, 1, 1, 1], (0, 1)),
        ("shape_single_element_empty", [1; 4], (1, 0)),
        ("shape_row", [3, 2, 1, 13], (3, 8)),
        ("shape_column", [2, 2, 11, 1], (-1, -7)),
        ("shape_tall", [1, 2, 67, 9], (-60, -50)),
        ("shape_wide", [2, 1, 9, 67], (-3, 30)),
        ("shape_many_batches", [5, 7, 3, 3], (1, -1)),
    ];
    let pairs = shapes.into_iter().map(|(name, sizes, band)| pair(name, &make.packed(sizes), band));
    pairs.flatten().collect()
}

fn values(make: &TensorGenerator) -> Vec<Case> {
    let tensor = || make.packed([1, 2, 3, 3]);
    let with_input = |value| desc(Some(tensor()), tensor(), value, (0, 2));
    // NaNs of both signs, quiet and signalling, with payloads.
    let nans: &[u64] = match make.data_type {
        DataType::Float16 => &[0x7e01, 0x7d55, 0xfe00, 0xfc01],
        DataType::Float32 => &[0x7fc0_0001, 0x7fa5_5555, 0xffc0_0000, 0xff80_0001],
        _ => &[0x7ff8_0000_0000_0001, 0x7ff5_5555_5555_5555, 0xfff8 << 48, 0xfff0 << 48 | 1],
    };
    let elements = make.packed([1, 2, 3, 3]).sizes.iter().product::<u32>() as usize;
    let nans = nans.iter().copied().cycle().take(elements).collect();
    vec![
        Case::new("value_zero", desc(None, tensor(), 0, (0, 2))),
        Case::new("value_all_ones", desc(None, tensor(), u64::MAX, (0, 2))),
        Case::new("value_sign_bit", with_input(1 << (make.data_type.bits() - 1))),
        Case::new("input_value_zero", with_input(0)),
        Case::new("input_nan_payloads", with_input(0)).with_inputs(vec![nans]),
    ]
}

/// Layouts of the output, without an input.
fn layouts(make: &TensorGenerator) -> Vec<Case> {
    let band = (1, 3);
    let inverted = (3, -1);
    let larger = || make.packed(SIZES).with_total_size(210 * 8 + 13);
    vec![
        Case::new("strides_padded_rows", desc(None, strided(make, PADDED), MIXED, inverted)),
        Case::new("strides_transposed", desc(None, strided(make, TRANSPOSED), MIXED, band)),
        Case::new("total_size_larger", desc(None, larger(), MIXED, band)),
        Case::new("input_total_size_larger", desc(Some(larger()), larger(), MIXED, band)),
    ]
}

fn input_layouts(make: &TensorGenerator) -> Vec<Case> {
    let case = |name, input, output| {
        let (input, output) = (strided(make, input), strided(make, output));
        Case::new(name, desc(Some(input), output, MIXED, (3, -1)))
    };
    let packed = PACKED;
    vec![
        case("input_strides_same_transposed", TRANSPOSED, TRANSPOSED),
        case("input_strides_same_padded", PADDED, PADDED),
        case("input_strides_transposed", TRANSPOSED, packed),
        case("input_strides_padded", SPREAD, packed),
        case("input_strides_packed_to_padded", packed, SPREAD),
        case("input_strides_padded_to_transposed", PADDED, TRANSPOSED),
        case("input_broadcast_rows", [105, 35, 0, 1], packed),
        case("input_broadcast_columns", [15, 5, 1, 0], packed),
        case("input_broadcast_batches", [0, 0, 7, 1], PADDED),
        case("input_broadcast_element", [0; 4], packed),
    ]
}

fn buffers(make: &TensorGenerator) -> Vec<Case> {
    let no_input = || desc(None, make.packed(SIZES), MIXED, (-1, 2));
    let with =
        |input, output| desc(Some(strided(make, input)), strided(make, output), MIXED, (-1, 2));
    let packed = PACKED;
    vec![
        Case::new("base_offset_272", no_input()).at_output_offset(272),
        Case::new("storage_only", no_input()).storage_only(),
        Case::new("input_base_offsets", with(packed, packed))
            .at_input_offset(48)
            .at_output_offset(272),
        Case::new("input_base_offsets_padded", with(TRANSPOSED, PADDED))
            .at_input_offset(336)
            .at_output_offset(16),
        Case::new("input_storage_only", with(packed, packed)).storage_only(),
        Case::new("input_storage_only_padded", with(SPREAD, PADDED))
            .storage_only()
            .at_input_offset(80)
            .at_output_offset(16),
    ]
}

fn in_place(make: &TensorGenerator) -> Vec<Case> {
    let case = |name, strides, band| {
        let tensor = || strided(make, strides);
        Case::new(name, desc(Some(tensor()), tensor(), MIXED, band)).in_place([0])
    };
    let packed = PACKED;
    vec![
        case("in_place", packed, (-1, 2)),
        case("in_place_inverted", packed, (2, -1)),
        case("in_place_empty", packed, (2, 2)),
        case("in_place_everything", packed, (MIN, MAX)),
        case("in_place_padded", PADDED, (0, 1)).at_output_offset(272),
        case("in_place_storage_only", TRANSPOSED, (MAX, 1)).storage_only().at_output_offset(48),
    ]
}

fn owned(make: &TensorGenerator) -> Vec<Case> {
    let case = |name, strides, band| {
        let (input, output) = (owned_input(make, strides), make.packed(SIZES));
        Case::new(name, desc(Some(input), output, MIXED, band))
    };
    let packed = PACKED;
    vec![
        case("owned", packed, (-1, 2)).at_input_offset(272),
        case("owned_transposed", TRANSPOSED, (2, -1)),
        case("owned_broadcast", [0, 0, 1, 0], (2, -1)).at_input_offset(16),
        case("owned_everything", packed, (MIN, MAX)),
        case("owned_storage_only", packed, (0, 1)).storage_only().at_input_offset(48),
        case("owned_storage_only_padded", SPREAD, (0, 1)).storage_only(),
    ]
}

/// The four examples of the DML_DIAGONAL_MATRIX1_OPERATOR_DESC page, of size 4 by 5. Each digit is an element.
fn documented(make: &TensorGenerator) -> Vec<Case> {
    let bits = |digits: &str| -> Vec<u64> {
        let digits = digits.chars().filter_map(|digit| digit.to_digit(10));
        digits.map(|digit| (digit as f32).to_bits().into()).collect()
    };
    let case = |name, input: Option<&str>, value: f32, band, output| {
        let tensor = || make.packed([1, 1, 4, 5]);
        let operator = desc(input.map(|_| tensor()), tensor(), value.to_bits().into(), band);
        Case::new(name, operator)
            .with_inputs(input.map(bits).into_iter().collect())
            .documented(vec![bits(output)])
    };
    let input = Some("47379 12869 94187 43424");
    vec![
        // An erratum: the page says Value 7 and prints ones. Both versions are tested, each with the result of
        // the page's pseudocode.
        case("doc_default_identity_as_printed", None, 1., (0, 1), "10000 01000 00100 00010"),
        case("doc_default_identity_as_stated", None, 7., (0, 1), "70000 07000 00700 00070"),
        case("doc_strip", None, 7., (0, 3), "77700 07770 00777 00077"),
        case("doc_keep_upper", input, 0., (MIN, 1), "07379 00869 00087 00004"),
        case("doc_keep_diagonal", input, 0., (1, 0), "40000 02000 00100 00020"),
    ]
}
