//! The sizes of the tensors of cases.

use super::{CaseGenerator, is_scatter};
use crate::Random;
use crate::families::gather_scatter::meaning::Meaning;

/// The sizes of all tensors, and the attributes' values, in the order of the fields.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) tensors: Vec<Vec<u32>>,
    pub(super) attributes: Vec<u32>,
}

/// The sizes with rank `rank`: leading ones are added or removed.
fn aligned(sizes: &[u32], rank: usize) -> Vec<u32> {
    let missing = vec![1; rank.saturating_sub(sizes.len())];
    [&missing, &sizes[sizes.len().saturating_sub(rank)..]].concat()
}

fn number(it: usize) -> u32 {
    u32::try_from(it).unwrap_or(u32::MAX)
}

/// The sizes of the data and of the index tuples.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    /// The significant dimensions of the data and of the indices; the last one of the indices has the tuples.
    data: &'a [u32],
    indices: &'a [u32],
    batches: usize,
}

impl CaseGenerator<'_> {
    fn rank(&self) -> usize {
        self.signature.rank
    }

    /// Replaces the dimension `axis` of `data` by the sizes `indices`.
    fn gather(&self, data: &[u32], axis: usize, indices: &[u32]) -> Shape {
        let rank = self.rank();
        let data = aligned(data, rank);
        let output = [&data[..axis], indices, &data[axis + 1..]].concat();
        let attributes = vec![number(axis), number(indices.len())];
        let tensors = vec![data, aligned(indices, rank), aligned(&output, rank)];
        Shape { tensors, attributes }
    }

    /// `count` indices along a dimension of `data`.
    fn elements(&self, data: &[u32], axis: usize, count: u32) -> Shape {
        let mut indices = data.to_vec();
        indices[axis] = count;
        let (data, attributes) = (data.to_vec(), vec![number(axis)]);
        let tensors = match is_scatter(self.schema) {
            true => vec![data.clone(), indices.clone(), indices, data],
            false => vec![data, indices.clone(), indices],
        };
        Shape { tensors, attributes }
    }

    fn parts(&self, Parts { data, indices, batches }: Parts<'_>) -> Shape {
        let rank = self.rank();
        let (tuple, tuples) = indices.split_last().expect("a dimension of tuples");
        let parts = [tuples, &data[batches + *tuple as usize..]].concat();
        let mut attributes = vec![number(data.len()), number(indices.len())];
        attributes.extend(self.has_batches().then_some(number(batches)));
        let [data, indices, parts] = [data, indices, &parts].map(|it| aligned(it, rank));
        let tensors = match is_scatter(self.schema) {
            true => vec![data.clone(), indices, parts, data],
            false => vec![data, indices, parts],
        };
        Shape { tensors, attributes }
    }

    /// Tensors with one element per sequence of the output; `values` are the sizes of another input.
    fn sequences(&self, output: &[u32], axis: usize, values: &[u32]) -> Shape {
        let mut one = output.to_vec();
        one[axis] = 1;
        let (output, attributes) = (output.to_vec(), vec![number(axis)]);
        let tensors = match self.meaning {
            Meaning::OneHot => vec![one, aligned(values, self.rank()), output],
            _ => vec![output.clone(), one, output],
        };
        Shape { tensors, attributes }
    }

    fn unpool(&self, input: &[u32], output: &[u32]) -> Shape {
        let [input, output] = [input, output].map(|it| aligned(it, self.rank()));
        Shape { tensors: vec![input.clone(), input, output], attributes: vec![] }
    }

    fn has_batches(&self) -> bool {
        self.schema.has_field("BatchDimensionCount")
    }

    /// The last of some odd sizes, with `size` along the axis.
    fn sizes(&self, axis: usize, size: u32) -> Vec<u32> {
        let mut sizes = [2, 1, 3, 1, 2, 3, 2, 5][8 - self.rank()..].to_vec();
        sizes[axis] = size;
        sizes
    }

    /// The smallest shape.
    pub(super) fn smallest(&self) -> Shape {
        let last = self.rank() - 1;
        let ones = vec![1; self.rank()];
        match self.meaning {
            Meaning::Gather => self.gather(&[1], last, &[1]),
            Meaning::Elements => self.elements(&ones, last, 1),
            Meaning::Parts => self.parts(Parts { data: &[1], indices: &[1], batches: 0 }),
            Meaning::OneHot => self.sequences(&ones, 0, &[2]),
            Meaning::Unpool => self.unpool(&ones, &ones),
            Meaning::Reverse => self.sequences(&ones, last, &[]),
        }
    }

    /// The shape that is used with several layouts.
    pub(super) fn main(&self) -> Shape {
        self.shapes().remove(0).1
    }

    /// All shapes, by name.
    pub(super) fn shapes(&self) -> Vec<(&'static str, Shape)> {
        let last = self.rank() - 1;
        match self.meaning {
            Meaning::Gather => self.gathers(),
            Meaning::Parts => self.all_parts(),
            Meaning::Elements => {
                let of = |axis, count| self.elements(&self.sizes(axis, 7), axis, count);
                let long = self.elements(&aligned(&[700], self.rank()), last, 650);
                vec![
                    ("axis_last", of(last, 6)),
                    ("axis_first", of(0, 4)),
                    ("axis_middle", of(last / 2, 7)),
                    ("one_index", of(last, 1)),
                    ("more_indices_than_elements", of(last, 9)),
                    ("long_axis", long),
                ]
            }
            Meaning::OneHot => {
                let of = |axis, values: &[u32]| self.sequences(&self.sizes(axis, 5), axis, values);
                let mut first = vec![1; self.rank()];
                first[0] = 2;
                vec![
                    ("axis_last", of(last, &[2])),
                    ("axis_first", of(0, &[2])),
                    ("axis_middle", of(last / 2, &first)),
                    ("many_values", of(last, &[3])),
                    ("one_element", self.sequences(&vec![1; self.rank()], 0, &[2])),
                    ("long_axis", self.sequences(&aligned(&[900], self.rank()), last, &[2])),
                ]
            }
            Meaning::Unpool => vec![
                ("doubled", self.unpool(&[2, 2, 2, 3], &[2, 2, 4, 6])),
                ("same", self.unpool(&[1, 3, 5, 7], &[1, 3, 5, 7])),
                ("of_other_channels", self.unpool(&[1, 1, 2, 2], &[1, 3, 2, 3])),
                ("more_elements_than_places", self.unpool(&[1, 2, 3, 3], &[1, 1, 3, 3])),
                ("large", self.unpool(&[1, 2, 20, 17], &[1, 2, 40, 35])),
            ],
            Meaning::Reverse => {
                let of = |axis, size| self.sequences(&self.sizes(axis, size), axis, &[]);
                vec![
                    ("axis_last", of(last, 7)),
                    ("axis_first", of(0, 4)),
                    ("axis_middle", of(last / 2, 6)),
                    ("one_element", of(last, 1)),
                    ("long_axis", self.sequences(&aligned(&[900], self.rank()), last, &[])),
                ]
            }
        }
    }

    fn gathers(&self) -> Vec<(&'static str, Shape)> {
        let last = self.rank() - 1;
        let data = [2, 3, 5];
        let dimensions = self.rank().min(3);
        let data = &data[3 - dimensions..];
        let two = &[3, 4][2 - self.rank().min(2)..];
        let mut shapes = vec![
            ("axis_last", self.gather(data, last, &[7])),
            ("axis_first", self.gather(data, self.rank() - dimensions, &[4])),
            ("axis_outermost", self.gather(data, 0, &[3])),
            ("no_index_dimension", self.gather(data, last, &[])),
            ("one_index", self.gather(data, last / 2, &[1])),
            ("of_all_dimensions", self.gather(&[6], last, &vec![2; self.rank()])),
            ("two_index_dimensions", self.gather(&[5], last, two)),
            ("many", self.gather(&[300], last, &[1100])),
        ];
        if last > 0 {
            shapes.push(("rows_of_quads", self.gather(&[7, 8], last - 1, &[5])));
        }
        shapes
    }

    fn all_parts(&self) -> Vec<(&'static str, Shape)> {
        let rank = self.rank();
        let of = |data: &[u32], indices: &[u32]| self.parts(Parts { data, indices, batches: 0 });
        let all = self.sizes(0, 2);
        let few = &[3, 2, 5][3 - rank.min(3)..];
        let of_tuples = |count, size| aligned(&[count, size], rank.min(2));
        let mut shapes = vec![
            ("rows", of(few, &of_tuples(2, 1))),
            ("whole_coordinates", of(&all, &of_tuples(6, number(rank)))),
            ("one_tuple", of(few, &[number(rank.min(3))])),
            ("indices_of_all_dimensions", of(&[9], &[vec![2; rank - 1], vec![1]].concat())),
            ("one_part", of(few, &[1])),
            ("many", of(&[40, 30][2 - rank.min(2)..], &of_tuples(900, number(rank.min(2))))),
        ];
        if rank > 1 {
            shapes.push(("rows_of_quads", of(&[7, 12], &[5, 1])));
        }
        if self.has_batches() {
            let batched = |data: [u32; 3], indices: [u32; 3], batches: usize| {
                let left = 3 - rank.min(3);
                let (data, indices) = (&data[left..], &indices[left..]);
                self.parts(Parts { data, indices, batches: batches.saturating_sub(left) })
            };
            shapes.extend([
                ("batch", batched([1, 2, 4], [1, 2, 1], 2)),
                ("batch_of_parts", batched([2, 4, 3], [2, 5, 1], 1)),
                ("two_batches", batched([2, 3, 4], [2, 3, 1], 2)),
            ]);
        }
        shapes
    }

    /// A random shape.
    pub(super) fn drawn(&self, random: &mut Random) -> Shape {
        let rank = self.rank();
        let below = |random: &mut Random, end| random.below(number(end)) as usize;
        match self.meaning {
            Meaning::Gather => {
                let dimensions = 1 + below(random, rank);
                let data = random.sizes(dimensions);
                let axis = rank - dimensions + below(random, dimensions);
                let count = below(random, rank - dimensions + 2);
                self.gather(&data, axis, &few(random, count))
            }
            Meaning::Elements => {
                let data = random.sizes(rank);
                let axis = below(random, rank);
                let more = if is_scatter(self.schema) { 0 } else { 3 };
                let count = 1 + random.below(data[axis] + more);
                self.elements(&data, axis, count)
            }
            Meaning::Parts => {
                let dimensions = 1 + below(random, rank);
                let batches =
                    if self.has_batches() { below(random, dimensions.min(rank)) } else { 0 };
                let tuple = 1 + below(random, dimensions - batches);
                let most = rank.min(rank + 1 + batches + tuple - dimensions);
                let of_indices = batches + 1 + below(random, most - batches);
                let data = random.sizes(dimensions);
                let tuples = few(random, of_indices - 1 - batches);
                let indices = [&data[..batches], &tuples, &[number(tuple)]].concat();
                self.parts(Parts { data: &data, indices: &indices, batches })
            }
            Meaning::OneHot => {
                let mut values = vec![1; rank];
                values[below(random, rank)] = 2 + random.below(2);
                self.sequences(&random.sizes(rank), below(random, rank), &values)
            }
            Meaning::Unpool => {
                let input = random.sizes(rank);
                let output: Vec<u32> = input.iter().map(|size| size + random.below(3)).collect();
                self.unpool(&input, &output)
            }
            Meaning::Reverse => self.sequences(&random.sizes(rank), below(random, rank), &[]),
        }
    }
}

/// Random sizes of a tensor of about a dozen elements at most.
fn few(random: &mut Random, rank: usize) -> Vec<u32> {
    let mut left = 12;
    (0..rank)
        .map(|_| {
            let size = 1 + random.below(left.min(4));
            left /= size;
            size
        })
        .collect()
}

/// A shape for each way to break a rule, with its name and the field that the error names.
pub(super) fn broken(
    meaning: Meaning,
    scatters: bool,
    right: Shape,
) -> Vec<(&'static str, String, Shape)> {
    let rank = right.tensors[0].len();
    let mut broken = vec![];
    let mut add = |name, field: String, change: &dyn Fn(&mut Shape)| {
        let mut shape = right.clone();
        change(&mut shape);
        broken.push((name, field, shape));
    };
    let no_dimension = number(rank);
    let others = if scatters { "UpdatesTensor.Sizes" } else { "OutputTensor.Sizes" };
    match meaning {
        Meaning::Unpool => return broken,
        Meaning::Parts => {
            let larger = |it: &mut Shape| it.tensors[2][0] = 7;
            add("rule_parts_of_another_size", others.to_owned(), &larger);
            add("rule_no_dimension_of_input", "InputDimensionCount".to_owned(), &|it| {
                it.attributes[0] = 0;
            });
            add("rule_too_many_dimensions", "IndicesDimensionCount".to_owned(), &|it| {
                it.attributes[1] = no_dimension + 1;
            });
            let field = format!("IndicesTensor.Sizes[{}]", rank - 1);
            add("rule_tuple_too_long", field, &|it| it.tensors[1][rank - 1] = 2);
            if rank > 1 {
                add("rule_indices_not_counted", "IndicesTensor.Sizes[0]".to_owned(), &|it| {
                    it.tensors[1][0] = 2;
                });
            }
            if right.attributes.len() > 2 {
                add("rule_all_are_batches", "BatchDimensionCount".to_owned(), &|it| {
                    it.attributes[2] = 1;
                });
                if rank > 1 {
                    add("rule_batches_differ", "IndicesTensor.Sizes".to_owned(), &|it| {
                        it.attributes = vec![2, 2, 1];
                        it.tensors[1][rank - 2] = 3;
                    });
                }
            }
            return broken;
        }
        Meaning::Gather => {
            let larger = |it: &mut Shape| it.tensors[2][0] = 7;
            add("rule_output_of_another_size", others.to_owned(), &larger);
            add("rule_too_many_dimensions", "IndexDimensions".to_owned(), &|it| {
                it.attributes[1] = no_dimension + 1;
            });
            if rank > 1 {
                add("rule_indices_not_counted", "IndicesTensor.Sizes[0]".to_owned(), &|it| {
                    it.tensors[1][0] = 2;
                });
            }
        }
        Meaning::Elements if rank > 1 => {
            add("rule_indices_of_another_size", "IndicesTensor.Sizes".to_owned(), &|it| {
                it.tensors[1][0] = 7;
                it.tensors[2][0] = 7;
            });
        }
        Meaning::OneHot => {
            add("rule_one_value", "ValuesTensor.Sizes".to_owned(), &|it| {
                it.tensors[1][rank - 1] = 1;
            });
            add("rule_several_indices", "IndicesTensor.Sizes".to_owned(), &|it| {
                it.tensors[0][0] = 2;
            });
        }
        Meaning::Reverse => {
            let field = "SequenceLengthsTensor.Sizes".to_owned();
            add("rule_several_lengths", field, &|it| it.tensors[1][rank - 1] = 2);
        }
        Meaning::Elements => {}
    }
    add("rule_axis_is_no_dimension", "Axis".to_owned(), &|it| it.attributes[0] = no_dimension);
    broken
}
