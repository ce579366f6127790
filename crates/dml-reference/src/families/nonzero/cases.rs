//! The corner cases of NONZERO_COORDINATES.

use dml_core::operators::{NONZERO_COORDINATES, NonzeroCoordinatesDesc};
use dml_core::{AbstractOperator, DataType, TensorDesc, TensorFlags};

use crate::layouts::{padded, repeated, reversed};
use crate::{BrokenRule, Case, Random, SMALL, Signature, edges, shapes};

fn packed(data_type: DataType, sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(data_type, sizes)
}

fn input(signature: &Signature, sizes: &[u32]) -> TensorDesc {
    let data_type = signature.type_of(&NONZERO_COORDINATES, "InputTensor");
    packed(data_type, &sizes[sizes.len() - signature.rank..])
}

/// The operator with `columns` columns. The coordinates have the input's rank, but at least two.
fn desc(signature: &Signature, input_tensor: TensorDesc, columns: u32) -> NonzeroCoordinatesDesc {
    let of = |name, sizes: &[u32]| packed(signature.type_of(&NONZERO_COORDINATES, name), sizes);
    let rank = input_tensor.sizes.len();
    let mut rows = vec![1; rank.max(2)];
    let last = rows.len() - 1;
    (rows[last - 1], rows[last]) = (input_tensor.sizes.iter().product(), columns);
    NonzeroCoordinatesDesc {
        input_tensor,
        output_count_tensor: of("OutputCountTensor", &vec![1; rank]),
        output_coordinates_tensor: of("OutputCoordinatesTensor", &rows),
    }
}

/// The operator with a column for each dimension.
fn of(signature: &Signature, input_tensor: TensorDesc) -> NonzeroCoordinatesDesc {
    let columns = u32::try_from(input_tensor.sizes.len()).unwrap_or(u32::MAX);
    desc(signature, input_tensor, columns)
}

/// The smallest number of columns that distinguishes all elements.
fn fewest(tensor: &TensorDesc) -> u32 {
    let counted = tensor.sizes.iter().skip_while(|size| **size == 1).count();
    u32::try_from(counted.max(1)).unwrap_or(u32::MAX)
}

pub(super) fn minimal(signature: &Signature) -> AbstractOperator {
    of(signature, input(signature, &[1; 8])).into()
}

pub(super) fn cases(signature: &Signature) -> Vec<Case> {
    let small = || input(signature, &SMALL);
    let laid = |change: fn(&mut TensorDesc)| {
        let mut tensor = small();
        change(&mut tensor);
        of(signature, tensor)
    };
    let output = |change: fn(&mut TensorDesc)| {
        let mut desc = of(signature, small());
        change(&mut desc.output_coordinates_tensor);
        desc
    };
    let owned = |it: &mut TensorDesc| it.flags = TensorFlags::OWNED_BY_DML;
    let shapes = shapes(signature.rank).into_iter();
    let mut cases: Vec<Case> = shapes
        .filter(|(name, _)| *name != "shape_many_groups")
        .map(|(name, sizes)| Case::new(name, of(signature, input(signature, &sizes))))
        .collect();
    cases.extend(values(signature));
    cases.extend(columns(signature));
    cases.extend([
        Case::new("strides_padded_input", laid(padded)),
        Case::new("strides_reversed_input", laid(reversed)),
        Case::new("strides_repeated_input", laid(repeated)),
        Case::new("strides_padded_output", output(padded)),
        Case::new("strides_reversed_output", output(reversed)),
        Case::new("base_offset_16", of(signature, small())).at_output_offset(16),
        Case::new("base_offset_272", of(signature, small())).at_input_offset(272),
        Case::new("storage_only", of(signature, small())).storage_only(),
        Case::new("owned", laid(owned)),
        Case::new("owned_storage_only", laid(owned)).storage_only(),
    ]);
    cases
}

/// No nonzero elements, only nonzero ones, only the last one, and zeros and values near 0.
fn values(signature: &Signature) -> Vec<Case> {
    let edges = edges(signature.type_of(&NONZERO_COORDINATES, "InputTensor"));
    let one = edges.iter().copied().find(|edge| *edge != 0).unwrap_or(1);
    let row = |name: &'static str, elements: Vec<u64>| {
        let count = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        let desc = of(signature, input(signature, &[1, 1, 1, 1, 1, 1, 1, count]));
        Case::new(name, desc).with_inputs(vec![elements])
    };
    vec![
        row("values", edges),
        row("no_element", vec![0; 67]),
        row("all_elements", vec![one; 67]),
        row("last_element", [vec![0; 66], vec![one]].concat()),
    ]
}

/// With the smallest number of columns, and with one more.
fn columns(signature: &Signature) -> Vec<Case> {
    let tensor = || input(signature, &[1, 1, 1, 1, 1, 1, 5, 3]);
    let fewest = fewest(&tensor());
    let most = u32::try_from(signature.rank).unwrap_or(u32::MAX);
    let with = |columns| desc(signature, tensor(), columns);
    vec![
        Case::new("columns_fewest", with(fewest)),
        Case::new("columns_more", with((fewest + 1).min(most))),
    ]
}

pub(super) fn random(random: &mut Random, signature: &Signature) -> Case {
    let data_type = signature.type_of(&NONZERO_COORDINATES, "InputTensor");
    let sizes = random.sizes(signature.rank);
    let tensor = random.input_tensor(data_type, &sizes);
    let most = u32::try_from(signature.rank).unwrap_or(u32::MAX);
    let fewest = fewest(&tensor);
    let columns = fewest + random.below(most - fewest + 1);
    let mut desc = desc(signature, tensor, columns);
    if random.one_in(2) {
        padded(&mut desc.output_coordinates_tensor);
    }
    Case::new("random", desc).with_random_buffers(random)
}

pub(super) fn broken_rules(signature: &Signature) -> Vec<BrokenRule> {
    let right = || of(signature, input(signature, &[2; 8]));
    let last = right().output_coordinates_tensor.sizes.len() - 1;
    let broken =
        |name: &'static str, field: String, change: &dyn Fn(&mut NonzeroCoordinatesDesc)| {
            let mut desc = right();
            change(&mut desc);
            BrokenRule { name: name.into(), operator: desc.into(), field: field.into() }
        };
    let columns = || format!("OutputCoordinatesTensor.Sizes[{last}]");
    let mut all = vec![
        broken("rule_columns_beyond_dimensions", columns(), &|it| {
            it.output_coordinates_tensor.sizes[last] += 1;
        }),
        broken("rule_rows_for_some_elements", "OutputCoordinatesTensor.Sizes".to_owned(), &|it| {
            it.output_coordinates_tensor.sizes[last - 1] -= 1;
        }),
        broken("rule_several_counts", "OutputCountTensor.Sizes".to_owned(), &|it| {
            it.output_count_tensor.sizes[0] = 2;
        }),
    ];
    if signature.rank > 1 {
        all.push(broken("rule_no_column_for_a_dimension", columns(), &|it| {
            it.output_coordinates_tensor.sizes[last] -= 1;
        }));
    }
    all
}
