//! The corner cases of element-wise operators, of any number of inputs.

use dml_core::schema::FieldType;
use dml_core::{AbstractOperator, DataType, FieldValue, TensorDesc, TensorFlags, TensorLayout};

use super::tensors::Tensors;
use crate::reference::{
    self, BrokenRule, Case, PADDED, REVERSED, Random, SMALL, Signature, Sizes, TensorMaker, edges,
};

/// Makes the tensors of one operator's cases.
struct Maker<'a> {
    tensors: Tensors,
    signature: &'a Signature,
}

/// Rows of 32, which are four words of any type at least.
const ROWS: Sizes = [1, 1, 1, 2, 1, 2, 3, 32];

pub(super) fn all(row: Tensors, signature: &Signature) -> Vec<Case> {
    let make = Maker { tensors: row, signature };
    let groups = [make.values(), make.shapes(), make.layouts(), make.broadcasts(), make.buffers()];
    let all = groups.concat();
    // Where two types make many signatures, each has the case of values and some of the others.
    let [first, .., last] = signature.types.as_slice() else {
        return all;
    };
    let share = (*first as usize + 3 * *last as usize + signature.rank) % SHARES;
    let chosen = all.into_iter().enumerate();
    let chosen = chosen.filter(|(at, _)| *at == 0 || at % SHARES == share);
    chosen.map(|(_, case)| case).collect()
}

/// Signatures of two types share the cases of layouts in so many parts.
const SHARES: usize = 5;

impl Maker<'_> {
    /// A tensor for each of the operator's, by its number.
    fn operator(&self, tensor: impl Fn(usize, TensorMaker) -> TensorDesc) -> AbstractOperator {
        let rank = self.signature.rank;
        let types = self.tensors.types(self.signature).into_iter().enumerate();
        let tensors = types.map(|(at, data_type)| tensor(at, TensorMaker { data_type, rank }));
        self.tensors.operator(&tensors.collect::<Vec<_>>())
    }

    fn packed(&self, sizes: Sizes) -> AbstractOperator {
        self.operator(|_, make| make.packed(sizes))
    }

    fn output(&self) -> usize {
        self.tensors.arity()
    }

    /// Every element at an edge with every other.
    fn values(&self) -> Vec<Case> {
        let edges = edges(self.signature.data_type());
        let mut inputs = vec![vec![]; self.tensors.arity()];
        let count = u32::try_from(edges.len().pow(u32::try_from(inputs.len()).unwrap_or(1)));
        for index in 0..count.unwrap_or(u32::MAX) as usize {
            let mut rest = index;
            for input in &mut inputs {
                input.push(edges[rest % edges.len()]);
                rest /= edges.len();
            }
        }
        let mut sizes = [1; 8];
        sizes[7] = count.unwrap_or(u32::MAX);
        let packed = self.packed(sizes);
        let with_scale_bias = with_scale_bias(&packed, [-1.5, 0.375]);
        let case = |name, operator| Case::new(name, operator).with_inputs(inputs.clone());
        let scaled = with_scale_bias.map(|operator| case("values_scaled_and_biased", operator));
        [case("values", packed)].into_iter().chain(scaled).collect()
    }

    fn shapes(&self) -> Vec<Case> {
        let long_row = ("shape_long_row", [1, 1, 1, 1, 1, 1, 1, 4099]);
        let shapes = reference::shapes(self.signature.rank).into_iter().chain([long_row]);
        shapes.map(|(name, sizes)| Case::new(name, self.packed(sizes))).collect()
    }

    fn layouts(&self) -> Vec<Case> {
        let strided = |which: &dyn Fn(usize) -> bool, strides| {
            self.operator(|at, make| match which(at) {
                true => make.strided(SMALL, strides),
                false => make.packed(SMALL),
            })
        };
        let output = self.output();
        let rows = self.operator(|_, make| make.strided(ROWS, [0, 0, 0, 480, 0, 240, 48, 1]));
        vec![
            Case::new("strides_padded_output", strided(&|at| at == output, PADDED)),
            Case::new("strides_padded_inputs", strided(&|at| at != output, PADDED)),
            Case::new("strides_reversed_output", strided(&|at| at == output, REVERSED)),
            Case::new("strides_reversed_first", strided(&|at| at == 0, REVERSED)),
            Case::new("strides_reversed_all", strided(&|_| true, REVERSED)),
            Case::new("strides_padded_all", strided(&|_| true, PADDED)),
            Case::new("strides_padded_rows", rows),
        ]
    }

    /// One input repeated along some dimensions, while the others are whole.
    fn broadcasts(&self) -> Vec<Case> {
        let patterns: [(&str, Sizes, Sizes); 5] = [
            ("everywhere", SMALL, [0; 8]),
            ("by_channel", SMALL, [0, 0, 0, 0, 0, 1, 0, 0]),
            ("by_row", SMALL, [24, 0, 12, 0, 6, 2, 1, 0]),
            ("by_column", ROWS, [0, 0, 0, 0, 0, 0, 0, 1]),
            ("by_whole_row", ROWS, [0, 0, 0, 6, 0, 3, 1, 0]),
        ];
        let broadcast = |input: usize| {
            patterns.iter().map(move |(name, sizes, strides)| {
                let operator = self.operator(|at, make| match at == input {
                    true => make.strided(*sizes, *strides),
                    false => make.packed(*sizes),
                });
                Case::new(format!("broadcast_{input}_{name}"), operator)
            })
        };
        (0..self.tensors.arity()).flat_map(broadcast).collect()
    }

    fn buffers(&self) -> Vec<Case> {
        let packed = || self.packed(SMALL);
        let padded = || self.operator(|_, make| make.strided(SMALL, PADDED));
        let larger = self.operator(|_, make| {
            let tensor = make.packed(SMALL);
            let total = TensorLayout::new(&tensor).map_or(0, |layout| layout.total_size());
            tensor.with_total_size(total + 9)
        });
        let owned = |which: &dyn Fn(usize) -> bool| {
            self.operator(|at, make| {
                let owned = which(at) && at != self.output();
                let flags = if owned { TensorFlags::OWNED_BY_DML } else { TensorFlags::NONE };
                TensorDesc { flags, ..make.packed(SMALL) }
            })
        };
        let mut cases = vec![
            Case::new("total_size_larger", larger),
            Case::new("base_offset_16", packed()).at_output_offset(16),
            Case::new("base_offset_272", packed()).at_input_offset(272),
            Case::new("base_offset_48_padded", padded()).at_output_offset(48).at_input_offset(16),
            Case::new("storage_only", packed()).storage_only(),
            Case::new("storage_only_padded", padded()).storage_only().at_output_offset(80),
            Case::new("owned_first", owned(&|at| at == 0)),
            Case::new("owned_all", owned(&|_| true)),
            Case::new("owned_storage_only", owned(&|_| true)).storage_only(),
        ];
        if self.tensors.0.in_place {
            cases.extend(self.in_place());
        }
        cases
    }

    /// Each input as the output by itself, and all of them at once.
    fn in_place(&self) -> Vec<Case> {
        let arity = u32::try_from(self.tensors.arity()).unwrap_or_default();
        let all = (arity > 1).then(|| (0..arity).collect());
        let choices = (0..arity).map(|input| vec![input]).chain(all);
        let case = |inputs: Vec<u32>| {
            let number = |it: &u32| it.to_string();
            let which = inputs.iter().map(number).collect::<Vec<_>>().join("_");
            let padded = self.operator(|_, make| make.strided(SMALL, PADDED));
            // What is not the output is repeated.
            let is_output = |at| at == self.output() || inputs.iter().any(|it| *it as usize == at);
            let repeated = self.operator(|at, make| match is_output(at) {
                true => make.packed(ROWS),
                false => make.strided(ROWS, [0, 0, 0, 0, 0, 0, 0, 1]),
            });
            vec![
                Case::new(format!("in_place_{which}"), self.packed(SMALL)).in_place(inputs.clone()),
                Case::new(format!("in_place_{which}_padded"), padded).in_place(inputs.clone()),
                Case::new(format!("in_place_{which}_repeated"), repeated).in_place(inputs),
            ]
        };
        choices.flat_map(case).collect()
    }
}

/// The operator with a scale and a bias, where it takes them.
fn with_scale_bias(operator: &AbstractOperator, scale_bias: [f32; 2]) -> Option<AbstractOperator> {
    let schema = operator.schema();
    let at = schema.fields.iter().position(|it| it.field_type == FieldType::ScaleBias)?;
    let mut fields = operator.fields().to_vec();
    fields[at] = FieldValue::ScaleBias(Some(scale_bias));
    AbstractOperator::new(schema, fields).ok()
}

pub(super) fn random(row: Tensors, random: &mut Random, signature: &Signature) -> Case {
    let sizes = random.sizes(signature.rank);
    let types = row.types(signature);
    let (inputs, output) = types.split_at(types.len() - 1);
    let mut tensors: Vec<TensorDesc> =
        inputs.iter().map(|data_type| random.input_tensor(*data_type, &sizes)).collect();
    tensors.push(random.tensor(output[0], &sizes));
    let in_place = random_in_place(row, random, &mut tensors);
    let operator = row.operator(&tensors);
    let operator = match random.one_in(2) {
        true => with_scale_bias(&operator, [random.float(), random.float()]).unwrap_or(operator),
        false => operator,
    };
    Case::new("random", operator).in_place(in_place).with_random_buffers(random)
}

/// Makes some inputs the output now and then, where the operator allows it.
fn random_in_place(row: Tensors, random: &mut Random, tensors: &mut [TensorDesc]) -> Vec<u32> {
    let Some((output, inputs)) = tensors.split_last_mut() else { return vec![] };
    if !row.0.in_place || !random.one_in(4) {
        return vec![];
    }
    let chosen = (0..).zip(inputs).filter_map(|(index, input)| {
        let is_chosen = random.one_in(2);
        if is_chosen {
            input.clone_from(output);
        }
        is_chosen.then_some(index)
    });
    chosen.collect()
}

pub(super) fn broken_rules(row: Tensors, signature: &Signature) -> Vec<BrokenRule> {
    let rank = signature.rank;
    let types = row.types(signature);
    let packed = |data_type, sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    let all: Vec<TensorDesc> = types.iter().map(|it| packed(*it, &vec![2; rank])).collect();
    let with = |input: usize, tensor: TensorDesc| {
        let mut tensors = all.clone();
        tensors[input] = tensor;
        row.operator(&tensors)
    };
    let rule = |name: &str, input: usize, member: &str, tensor: TensorDesc| {
        let field = row.0.fields[input].name;
        let name = format!("{name}_in_{}", field.trim_end_matches("Tensor").to_lowercase());
        let (name, field) = (name.into(), format!("{field}.{member}").into());
        BrokenRule { name, operator: with(input, tensor), field }
    };
    let mut broken = Vec::new();
    for (input, data_type) in types[..row.arity()].iter().enumerate() {
        let mut sizes = vec![2; rank];
        sizes[0] = 1;
        let other = packed(other_type(*data_type), &vec![2; rank]);
        broken.push(rule("rule_sizes_differ", input, "Sizes", packed(*data_type, &sizes)));
        if row.type_parameters() == 1 {
            broken.push(rule("rule_types_differ", input, "DataType", other));
        }
    }
    broken
}

/// Another type of the same kind, which every level that accepts the first accepts too.
fn other_type(data_type: DataType) -> DataType {
    if data_type == DataType::Float32 { DataType::Float16 } else { DataType::Float32 }
}
