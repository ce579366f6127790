//! References of UNFOLD and FOLD, coordinate by coordinate.

use dml_core::{Error, Validated};

use super::elements::{Element, tensors};

/// The windows along a dimension.
struct Along {
    size: u32,
    window: u32,
    step: u32,
    dilation: u32,
    start: u32,
    /// The number of windows.
    count: u32,
}

impl Along {
    /// The input coordinate of a window's element; `None` in the padding.
    fn coordinate(&self, element: u32, window: u32) -> Option<u32> {
        let [element, window] = [(element, self.dilation), (window, self.step)]
            .map(|(at, apart)| u64::from(at) * u64::from(apart));
        let at = (element + window).checked_sub(self.start.into())?;
        u32::try_from(at).ok().filter(|at| *at < self.size)
    }
}

impl Along {
    /// The pairs of window element and window that contain a coordinate. The smaller of both sets is searched.
    fn pairs(&self, at: u32) -> Vec<(u32, u32)> {
        let position = u64::from(self.start) + u64::from(at);
        let other = |one: u32, [apart, weight, count]: [u32; 3]| {
            let rest = position.checked_sub(u64::from(one) * u64::from(apart))?;
            let other = u32::try_from(rest / u64::from(weight)).ok()?;
            (rest % u64::from(weight) == 0 && other < count).then_some(other)
        };
        if self.window <= self.count {
            let of =
                |element| Some((element, other(element, [self.dilation, self.step, self.count])?));
            (0..self.window).filter_map(of).collect()
        } else {
            let of =
                |window| Some((other(window, [self.step, self.dilation, self.window])?, window));
            (0..self.count).filter_map(of).collect()
        }
    }
}

fn along(operator: &Validated, sizes: &[u32]) -> Result<Vec<Along>, Error> {
    let array = |name| operator.uint_array(name);
    let (windows, steps, dilations) =
        (array("WindowSizes")?, array("Strides")?, array("Dilations")?);
    let (start, end) = (array("StartPadding")?, array("EndPadding")?);
    let of = |at: usize| {
        let size = sizes[2 + at];
        let room = start[at] + size + end[at] - (windows[at] - 1) * dilations[at] - 1;
        Along {
            size,
            window: windows[at],
            step: steps[at],
            dilation: dilations[at],
            start: start[at],
            count: room / steps[at] + 1,
        }
    };
    Ok((0..windows.len()).map(of).collect())
}

/// A row-major index as a coordinate.
fn divided(number: u32, sizes: impl DoubleEndedIterator<Item = u32>) -> Vec<u32> {
    let mut rest = number;
    let mut of = |size: u32| {
        let at = rest % size;
        rest /= size;
        at
    };
    let mut all: Vec<u32> = sizes.rev().map(&mut of).collect();
    all.push(rest);
    all.reverse();
    all
}

pub(super) fn unfold(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [input, _] = tensors(operator)?;
    let along = along(operator, input.sizes())?;
    let &[.., batch, row, column] = output else { return Ok(Element::Bits(0)) };
    // The first of `elements` is the channel, and the first of `windows` is always 0.
    let elements = divided(row, along.iter().map(|it| it.window));
    let windows = divided(column, along.iter().map(|it| it.count));
    let all = along.iter().zip(elements[1..].iter().zip(&windows[1..]));
    let inside: Option<Vec<u32>> = all.map(|(it, (e, w))| it.coordinate(*e, *w)).collect();
    Ok(inside.map_or(Element::Bits(0), |at| {
        Element::At([batch, elements[0]].into_iter().chain(at).collect())
    }))
}

pub(super) fn fold(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [input, tensor] = tensors(operator)?;
    let along = along(operator, tensor.sizes())?;
    // For each combination of windows, the row and column so far.
    let mut all = vec![(output[1], 0)];
    for (it, at) in along.iter().zip(&output[2..]) {
        let pairs = it.pairs(*at);
        let with = |(row, column): &(u32, u32), (element, window): &(u32, u32)| {
            (row * it.window + element, column * it.count + window)
        };
        all = all.iter().flat_map(|one| pairs.iter().map(move |pair| with(one, pair))).collect();
    }
    let before = vec![0; input.sizes().len() - 3];
    let place = |(row, column)| [&before[..], &[output[0], row, column]].concat();
    Ok(Element::Sum(all.into_iter().map(place).collect()))
}
