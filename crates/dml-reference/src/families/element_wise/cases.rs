//! The corner cases of element-wise operators with any number of inputs.

use dml_core::{AbstractOperator, TensorDesc, TensorFlags, TensorLayout};

use super::tensors::{Attributes, Tensors};
use crate::{Case, PADDED, REVERSED, Random, SMALL, Sizes, TensorGenerator, edges, shapes};

/// Makes the cases of one operator.
struct CaseGenerator<'a> {
    tensors: Tensors<'a>,
}

/// Rows of 32 elements, which take at least four words in any type.
const ROWS: Sizes = [1, 1, 1, 2, 1, 2, 3, 32];

pub(super) fn all(tensors: Tensors<'_>) -> Vec<Case> {
    let make = CaseGenerator { tensors };
    let groups = [make.values(), make.shapes(), make.layouts(), make.broadcasts(), make.buffers()];
    let without = tensors.without_optional().map(|tensors| CaseGenerator { tensors }.left_out());
    groups.into_iter().chain(without).flatten().collect()
}

/// The number of attribute values that are tried.
const ATTRIBUTE_CASES: usize = 3;

impl CaseGenerator<'_> {
    /// The operator with a tensor for each of its tensors' indices.
    fn operator(&self, tensor: impl Fn(usize, TensorGenerator) -> TensorDesc) -> AbstractOperator {
        self.tensors.operator(tensor, Attributes::Usual)
    }

    fn packed(&self, sizes: Sizes) -> AbstractOperator {
        self.operator(|_, make| make.packed(sizes))
    }

    fn output(&self) -> usize {
        self.tensors.arity()
    }

    /// All pairs of edge elements, and the same for a few attribute values.
    fn values(&self) -> Vec<Case> {
        let types = self.tensors.types();
        let edges: Vec<Vec<u64>> = types[..self.output()].iter().map(|it| edges(*it)).collect();
        let longest = edges.iter().map(Vec::len).max().unwrap_or(1);
        // For three or more inputs, random combinations.
        let mut any = (edges.len() > 2).then(|| Random::new("combinations"));
        let all = edges.iter().map(Vec::len).product();
        let count = if any.is_some() { longest * longest } else { all };
        let mut inputs = vec![vec![]; edges.len()];
        for index in 0..count {
            let mut rest = index;
            for (input, edges) in inputs.iter_mut().zip(&edges) {
                let next = edges[rest % edges.len()];
                input.push(any.as_mut().map_or(next, |any| any.pick(edges)));
                rest /= edges.len();
            }
        }
        let mut sizes = [1; 8];
        sizes[7] = u32::try_from(count).unwrap_or(u32::MAX);
        let case = |name: String, attributes: Attributes<'_>| {
            let operator = self.tensors.operator(|_, make| make.packed(sizes), attributes);
            Case::new(name, operator).with_inputs(inputs.clone())
        };
        let mut cases = vec![case("values".to_owned(), Attributes::Usual)];
        let kinds = [false, true].into_iter().zip(self.tensors.has_attributes());
        for (optional, _) in kinds.filter(|(_, has_some)| *has_some) {
            let of = if optional { "optional" } else { "required" };
            for number in 0..ATTRIBUTE_CASES {
                let name = format!("values_{of}_attributes_{number}");
                let random = &mut Random::new(&name);
                cases.push(case(name.clone(), Attributes::Drawn { random, optional, number }));
            }
        }
        cases
    }

    /// Cases of an operator without its optional tensors.
    fn left_out(&self) -> Vec<Case> {
        let named = |case: Case| Case { name: format!("{}_left_out", case.name).into(), ..case };
        self.values().into_iter().chain(self.buffers()).map(named).collect()
    }

    fn shapes(&self) -> Vec<Case> {
        let long_row = ("shape_long_row", [1, 1, 1, 1, 1, 1, 1, 4099]);
        let shapes = shapes(self.tensors.signature.rank).into_iter().chain([long_row]);
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

    /// One input broadcast along some dimensions, while the others are not.
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
        if self.tensors.schema.in_place {
            cases.extend(self.in_place());
        }
        cases
    }

    /// Each input of the output's type in place by itself, and all of them at once.
    fn in_place(&self) -> Vec<Case> {
        let types = self.tensors.types();
        let inputs = types[..self.output()].iter().zip(0..);
        let alike: Vec<u32> =
            inputs.filter(|(it, _)| **it == types[self.output()]).map(|(_, index)| index).collect();
        let all = (alike.len() > 1).then(|| alike.clone());
        let choices = alike.into_iter().map(|input| vec![input]).chain(all);
        let case = |inputs: Vec<u32>| {
            let number = |it: &u32| it.to_string();
            let which = inputs.iter().map(number).collect::<Vec<_>>().join("_");
            let padded = self.operator(|_, make| make.strided(SMALL, PADDED));
            // Inputs that are not in place are broadcast.
            let is_output =
                |at| at == self.output() || inputs.iter().any(|input| *input as usize == at);
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

pub(super) fn random(tensors: Tensors<'_>, random: &mut Random) -> Case {
    let without = tensors.without_optional().filter(|_| random.one_in(4));
    let tensors = without.unwrap_or(tensors);
    let sizes = random.sizes(tensors.signature.rank);
    let types = tensors.types();
    let (inputs, output) = types.split_at(types.len() - 1);
    let mut descs: Vec<TensorDesc> =
        inputs.iter().map(|data_type| random.input_tensor(*data_type, &sizes)).collect();
    descs.push(random.tensor(output[0], &sizes));
    let in_place = random_in_place(tensors, random, &mut descs);
    let optional = random.one_in(2);
    let number = random.below(8) as usize;
    let operator = tensors.of(descs, Attributes::Drawn { random, optional, number });
    Case::new("random", operator).in_place(in_place).with_random_buffers(random)
}

/// Sometimes makes inputs the output's memory, if the operator allows it.
fn random_in_place(of: Tensors<'_>, random: &mut Random, tensors: &mut [TensorDesc]) -> Vec<u32> {
    let Some((output, inputs)) = tensors.split_last_mut() else { return vec![] };
    if !of.schema.in_place || !random.one_in(4) {
        return vec![];
    }
    let chosen = (0..).zip(inputs).filter_map(|(index, input)| {
        let is_chosen = input.data_type == output.data_type && random.one_in(2);
        if is_chosen {
            input.clone_from(output);
        }
        is_chosen.then_some(index)
    });
    chosen.collect()
}
