//! The parts that make up a padded tensor.
//!
//! With constant margins these are slabs: the slabs of the outermost dimension are as wide as the output, and
//! those of each further dimension lie beside the input only. In every other mode each dimension is divided
//! into runs, which go through the input in one direction, and the parts are all combinations of the
//! dimensions' runs. Where a margin repeats the input, all whole periods are one run.

use dml_core::{Error, PaddingMode, Validated};

use super::part::{MovedRegion, Run, Source, Walk, product};
use super::shapes::{strides, tensors};
use crate::target::{MAX_STEPS, beyond_steps};

/// The input's size in a dimension, and the sizes of both margins.
#[derive(Clone, Copy)]
struct Margins {
    start: u32,
    size: u32,
    end: u32,
}

impl Margins {
    /// The size of the output in the dimension.
    fn total(self) -> i64 {
        i64::from(self.start) + i64::from(self.size) + i64::from(self.end)
    }

    /// The run that copies the input.
    fn inner(self) -> Run {
        Run::new(self.size, 0, self.start.into())
    }

    /// The runs of both margins, which repeat the first and the last element of the input.
    fn edges(self) -> impl Iterator<Item = Run> {
        let after = i64::from(self.start) + i64::from(self.size);
        let runs = [
            Run::repeated(self.start, 0, 0),
            Run::repeated(self.end, i64::from(self.size) - 1, after),
        ];
        runs.into_iter().zip([self.start, self.end]).filter(|(_, count)| *count > 0).map(|it| it.0)
    }

    /// The runs of a periodic margin: each period has the input forwards, and then `mirrored` of its elements
    /// backwards, beginning with element `from`.
    fn folded(self, mirrored: i64, from: i64) -> Vec<Run> {
        let size = i64::from(self.size);
        let period = size + mirrored;
        let forwards = Stretch { begin: 0, length: size, input: 0, step: 1 };
        let backwards = Stretch { begin: size, length: mirrored, input: from, step: -1 };
        let stretches = [forwards, backwards].into_iter().filter(|it| it.length > 0);
        stretches.flat_map(|stretch| stretch.every(period, self)).collect()
    }

    fn runs(self, mode: Option<PaddingMode>) -> Vec<Run> {
        let size = i64::from(self.size);
        match mode {
            Some(PaddingMode::Reflection) => self.folded((size - 2).max(0), size - 2),
            Some(PaddingMode::Symmetric) => self.folded(size, size - 1),
            Some(PaddingMode::Wrap) => self.folded(0, 0),
            _ => self.edges().chain([self.inner()]).collect(),
        }
    }
}

/// A part of each period of the output that goes through the input in one direction.
struct Stretch {
    /// The first output coordinate, counted from where the input begins.
    begin: i64,
    length: i64,
    /// The first input coordinate, and the step to the next one.
    input: i64,
    step: i64,
}

impl Stretch {
    /// The runs of all periods: one that begins before the output, the whole ones, and one that ends after it.
    fn every(&self, period: i64, margins: Margins) -> Vec<Run> {
        let (total, length) = (margins.total(), self.length);
        let each = |count: i64| Walk { count: number(count), input: self.step, output: 1 };
        let first = (i64::from(margins.start) + self.begin) % period;
        let mut runs = vec![];
        if first + length > period {
            let hidden = period - first;
            let input = self.input + hidden * self.step;
            runs.push(Run { input, output: 0, walks: vec![each((length - hidden).min(total))] });
        }
        let whole = (total - first - length).div_euclid(period) + 1;
        if whole > 0 {
            let periods = Walk { count: number(whole), input: 0, output: period };
            let walks = vec![periods, each(length)];
            runs.push(Run { input: self.input, output: first, walks });
        }
        let last = first + whole.max(0) * period;
        if last < total {
            let walks = vec![each(total - last)];
            runs.push(Run { input: self.input, output: last, walks });
        }
        runs
    }
}

/// A number of coordinates, as a size.
fn number(count: i64) -> u32 {
    u32::try_from(count).expect("no more than the output has")
}

/// The parts of PADDING; `bits` are the value of constant margins.
pub(super) fn padding(operator: &Validated, bits: u64) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let (start, end) = (operator.uint_array("StartPadding")?, operator.uint_array("EndPadding")?);
    let all = start.iter().zip(input.sizes()).zip(end);
    let all: Vec<Margins> =
        all.map(|((start, size), end)| Margins { start: *start, size: *size, end: *end }).collect();
    let part = MovedRegion::first(Source::Input(0), 0);
    let mode = PaddingMode::from_dml_value(operator.uint("PaddingMode")?);
    if mode == Some(PaddingMode::Constant) {
        let inner: Vec<[Run; 1]> = all.iter().map(|it| [it.inner()]).collect();
        let mut parts = product(part, strides(input, output), &inner);
        for at in 0..all.len() {
            let slab: Vec<Vec<Run>> = slab(&all, at);
            let margin = MovedRegion::first(Source::Bits(bits), 0);
            parts.extend(product(margin, strides(input, output), &slab));
        }
        return Ok(parts);
    }
    let runs: Vec<Vec<Run>> = all.iter().map(|it| it.runs(mode)).collect();
    let count = runs.iter().map(|run| run.len() as u64).product::<u64>();
    if count > MAX_STEPS.into() {
        return Err(beyond_steps(operator.schema().name, "OutputTensor", count));
    }
    Ok(product(part, strides(input, output), &runs))
}

/// The runs of the margins of dimension `of`, without the margins of the dimensions outside of it.
fn slab(all: &[Margins], of: usize) -> Vec<Vec<Run>> {
    let runs = all.iter().enumerate().map(|(at, it)| match at.cmp(&of) {
        std::cmp::Ordering::Less => vec![Run::repeated(it.size, 0, it.start.into())],
        std::cmp::Ordering::Equal => it.edges().collect(),
        std::cmp::Ordering::Greater => vec![Run::repeated(number(it.total()), 0, 0)],
    });
    runs.collect()
}
