//! Parts of tensors: which elements of an output are copies of which elements of an input.

use dml_spirv::element_wise::DIMENSIONS;

/// The source of a part's elements.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// The input with this number.
    Input(usize),
    /// A constant with these bits.
    Bits(u64),
}

/// A run of coordinates: their count, and the distance from one to the next in an input and in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) count: u32,
    pub(super) input: i64,
    pub(super) output: i64,
}

/// A set of coordinates in one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first coordinates, in the input and in the output.
    pub(super) input: i64,
    pub(super) output: i64,
    /// The distances to the others, outermost walk first.
    pub(super) walks: Vec<Walk>,
}

impl Run {
    /// `count` adjacent coordinates from `input` and `output` on.
    pub(super) fn new(count: u32, input: i64, output: i64) -> Self {
        Self { input, output, walks: vec![Walk { count, input: 1, output: 1 }] }
    }

    /// `count` coordinates of the output that all have the same coordinate of the input.
    pub(super) fn repeated(count: u32, input: i64, output: i64) -> Self {
        Self { input, output, walks: vec![Walk { count, input: 0, output: 1 }] }
    }
}

/// Some elements of an output and their sources. Walks have steps in elements, through both tensors.
#[derive(Clone, Debug)]
pub(super) struct MovedRegion {
    pub(super) source: Source,
    /// The first element in the input.
    pub(super) input: i64,
    /// The index of the output, and the first element in it.
    pub(super) output_index: usize,
    pub(super) output: i64,
    /// The walks to the others, outermost first; any number.
    pub(super) walks: Vec<Walk>,
}

impl MovedRegion {
    /// One element, the first of both tensors.
    pub(super) fn first(source: Source, output_index: usize) -> Self {
        Self { source, input: 0, output_index, output: 0, walks: vec![] }
    }

    /// This part repeated for every coordinate of a run along a dimension with these strides.
    pub(super) fn along(&self, run: &Run, [input, output]: [u32; 2]) -> Self {
        let input = match self.source {
            Source::Input(_) => i64::from(input),
            Source::Bits(_) => 0,
        };
        let output = i64::from(output);
        // A walk that goes nowhere may have strides whose product does not fit.
        let walks = run.walks.iter().filter(|walk| walk.count > 1);
        let walks = walks.map(|walk| Walk {
            count: walk.count,
            input: walk.input * input,
            output: walk.output * output,
        });
        Self {
            input: self.input + run.input * input,
            output: self.output + run.output * output,
            walks: self.walks.iter().copied().chain(walks).collect(),
            ..*self
        }
    }

    /// These elements as parts with so few walks that each fits an iteration space. Each walk has two
    /// elements or more, and all together less than 2^32: the shortest ones of 16 make 2^16 parts at most.
    pub(super) fn divided(self) -> Vec<Self> {
        let mut walks = joined(&self.walks);
        let mut parts = vec![Self { walks: vec![], ..self }];
        while walks.len() > DIMENSIONS {
            let shortest = (0..walks.len()).min_by_key(|at| walks[*at].count);
            let walk = walks.remove(shortest.expect("more than the dimensions"));
            let moved = |part: &Self, by: u32| Self {
                input: part.input + i64::from(by) * walk.input,
                output: part.output + i64::from(by) * walk.output,
                ..part.clone()
            };
            parts = parts
                .iter()
                .flat_map(|part| (0..walk.count).map(move |by| moved(part, by)))
                .collect();
        }
        parts.iter_mut().for_each(|part| part.walks.clone_from(&walks));
        parts
    }
}

/// The walks, with those merged that follow each other in both tensors.
fn joined(walks: &[Walk]) -> Vec<Walk> {
    let mut all: Vec<Walk> = Vec::new();
    for inner in walks {
        let follows = |outer: &Walk| {
            let count = i64::from(inner.count);
            let joined = outer.count.checked_mul(inner.count)?;
            (outer.input == inner.input * count && outer.output == inner.output * count)
                .then_some(joined)
        };
        match all.last_mut().and_then(|outer| Some((follows(outer)?, outer))) {
            Some((count, outer)) => *outer = Walk { count, ..*inner },
            None => all.push(*inner),
        }
    }
    all
}

/// The parts of every combination of one run in each dimension; `strides` are those of the input and of
/// the output.
pub(super) fn product<R: AsRef<[Run]>>(
    part: MovedRegion,
    strides: impl IntoIterator<Item = [u32; 2]>,
    runs: &[R],
) -> Vec<MovedRegion> {
    strides.into_iter().zip(runs).fold(vec![part], |parts, (strides, runs)| {
        let along = |part: &MovedRegion| {
            let runs = runs.as_ref().iter();
            runs.map(|run| part.along(run, strides)).collect::<Vec<_>>()
        };
        parts.iter().flat_map(along).collect()
    })
}
