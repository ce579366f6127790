//! Parts with long rows as regions of a copy: on CPU drivers these take a fraction of the time that a kernel
//! takes for as many bytes, and rows of 512 bytes as much.

use dml_core::Strategy;
use dml_core::plan::{Copy, CopyRegion, Repeat};

use super::part::{Part, Source, Walk};
use crate::ir::space::Operand;
use crate::schedule::dispatches::{MAX_LOOPS, MAX_REGIONS};
use crate::{Target, TransferUse};

/// A part as a copy, where it can be one and that is preferred or worth it.
pub(super) fn copy(
    part: &Part,
    input: &Operand,
    output: &Operand,
    target: &Target<'_>,
) -> Option<Copy> {
    let is_input = matches!(part.source, Source::Input(_));
    let (source, destination) = (input.slot?, output.slot?);
    if !is_input || target.transfer == TransferUse::StorageOnly {
        return None;
    }
    let rows = Rows::of(part, output.width.bytes());
    let suits = match target.tuning.strategy {
        Some(strategy) => strategy == Strategy::RowCopies,
        None => {
            rows.bytes >= u64::from(target.tuning.row_bytes / 2)
                && rows.count() <= target.tuning.most_regions.into()
        }
    };
    let loops = rows.loops.iter().map(|it| u64::from(it.count)).product::<u64>();
    if !suits || rows.count() > MAX_REGIONS || loops > MAX_LOOPS {
        return None;
    }
    let regions = rows.regions([input.base + part.input, output.base + part.output]);
    Some(Copy { source, destination, regions })
}

/// The rows of a part, whose elements are neighbours in both tensors.
struct Rows {
    element: i64,
    /// Of one row.
    bytes: u64,
    /// The rows of one loop.
    repeated: Walk,
    /// The other walks.
    loops: Vec<Walk>,
}

impl Rows {
    fn of(part: &Part, element: u32) -> Self {
        let (rows, mut loops): (Vec<Walk>, Vec<Walk>) =
            part.walks.iter().partition(|it| [it.input, it.output] == [1, 1]);
        // Two walks with stride 1 would be one, or have one element.
        let elements: u64 = rows.iter().map(|it| u64::from(it.count)).product();
        let longest = (0..loops.len()).max_by_key(|at| loops[*at].count);
        let repeated = longest.map(|at| loops.remove(at));
        Self {
            element: element.into(),
            bytes: elements * u64::from(element),
            repeated: repeated.unwrap_or(Walk { count: 1, input: 0, output: 0 }),
            loops,
        }
    }

    fn count(&self) -> u64 {
        let walks = self.loops.iter().chain([&self.repeated]);
        walks.map(|it| u64::from(it.count)).product()
    }

    /// A loop for each coordinate of the other walks, from the first elements of input and output on.
    fn regions(&self, first: [i64; 2]) -> Vec<CopyRegion> {
        let starts = self.loops.iter().fold(vec![first], |starts, walk| {
            let along = |[input, output]: [i64; 2]| {
                let at = move |by| [input + by * walk.input, output + by * walk.output];
                (0..i64::from(walk.count)).map(at)
            };
            starts.into_iter().flat_map(along).collect()
        });
        let repeat = Repeat {
            count: self.repeated.count,
            source_stride: self.repeated.input * self.element,
            destination_stride: self.repeated.output * self.element,
            growth: 0,
        };
        let region = |start: [i64; 2]| {
            // Every element is inside of its tensor.
            let [input, output] = start.map(|at| (at * self.element).cast_unsigned());
            CopyRegion { repeat, ..CopyRegion::once(input, output, self.bytes) }
        };
        starts.into_iter().map(region).collect()
    }
}
