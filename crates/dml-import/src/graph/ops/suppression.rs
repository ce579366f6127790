//! NonMaxSuppression: selects the boxes of the highest scores, on the host, as the output's shape depends on
//! them.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::{Budget, Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{Tensor, text};

/// For each class of each batch, the boxes by falling scores, without those that overlap an earlier one. Boxes
/// of equal scores keep their order.
#[derive(Debug)]
pub(crate) struct NonMaxSuppression {
    /// Whether boxes are given by center, width and height, rather than by two corners.
    pub(crate) is_centered: bool,
}

/// How many comparisons of boxes count as one element read, since they are as fast.
const PAIRS: u64 = 64;

/// Limits for selecting boxes.
struct Thresholds {
    /// The greatest number of boxes per class.
    count: usize,
    /// The greatest intersection over union (IoU) of two selected boxes.
    overlap: f32,
    /// The score that boxes must exceed.
    score: Option<f32>,
}

impl Op for NonMaxSuppression {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let [of_boxes, of_scores] = [operands.shape(0, "boxes")?, operands.shape(1, "scores")?];
        let wrong = |name: &str, shape: &[u64], accepted: String| {
            operands.node.invalid(name, text(shape), "is the wrong shape", accepted)
        };
        let &[batches, count, 4] = of_boxes else {
            return Err(wrong("boxes", of_boxes, "[batches, boxes, 4]".to_owned()));
        };
        let classes = match *of_scores {
            [of, classes, each] if [of, each] == [batches, count] => classes,
            _ => return Err(wrong("scores", of_scores, format!("[{batches}, classes, {count}]"))),
        };
        let thresholds = Thresholds::of(operands)?;
        let mut chosen = vec![];
        // Without boxes the number of classes is unlimited.
        if thresholds.count > 0 && !of_scores.contains(&0) {
            let boxes = floats(operands, 0, "boxes")?;
            let boxes: Vec<Area> = boxes.chunks_exact(4).map(|it| self.area(it)).collect();
            let scores = floats(operands, 1, "scores")?;
            let each = boxes.len() / usize::try_from(batches).unwrap_or(1);
            for (class, scores) in (0_u64..).zip(scores.chunks_exact(each)) {
                let batch = class / classes;
                let first = usize::try_from(batch).unwrap_or(0) * each;
                let boxes = &boxes[first..first + each];
                for index in thresholds.chosen(operands.budget, boxes, scores)? {
                    chosen.extend([batch, class % classes, index as u64].map(u64::cast_signed));
                }
            }
        }
        let shape = vec![chosen.len() as u64 / 3, 3];
        Ok(vec![Value::host(Tensor::from_integers(shape, &chosen))])
    }
}

impl NonMaxSuppression {
    /// The area of a box.
    fn area(&self, numbers: &[f32]) -> Area {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| numbers.get(at).copied().unwrap_or(f32::NAN));
        let sorted = |a: f32, b: f32| if a >= b { [b, a] } else { [a, b] };
        let around = |center: f32, length: f32| [center - length / 2.0, center + length / 2.0];
        match self.is_centered {
            true => Area::new([around(a, c), around(b, d)]),
            false => Area::new([sorted(a, c), sorted(b, d)]),
        }
    }
}

impl Thresholds {
    fn of(operands: &NodeInputs<'_>) -> Result<Self> {
        let integer = |index, name| match operands.optional(index) {
            None => Ok(0),
            Some(_) => operands.number(index, name, &[ElementType::INT64]).map(|it| match it {
                Scalar::Integer(count) => usize::try_from(count.max(0)).unwrap_or(usize::MAX),
                Scalar::Float(_) => 0,
            }),
        };
        #[expect(clippy::cast_possible_truncation, reason = "it was a float of 32 bits")]
        let float = |index, name| {
            let is_given = operands.optional(index).is_some();
            let read = || operands.number(index, name, &[ElementType::FLOAT32]);
            is_given.then(|| read().map(|read| read.float() as f32)).transpose()
        };
        let overlap = float(3, "iou_threshold")?.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&overlap) {
            let problem = "is not a part of an area";
            return Err(operands.node.invalid("iou_threshold", overlap, problem, "0 to 1"));
        }
        let count = integer(2, "max_output_boxes_per_class")?;
        Ok(Self { count, overlap, score: float(4, "score_threshold")? })
    }

    /// The indices of the selected boxes of a class, highest scores first.
    fn chosen(&self, budget: &Budget, boxes: &[Area], scores: &[f32]) -> Result<Vec<usize>> {
        let is_above = |score: f32| self.score.is_none_or(|least| score > least);
        let mut sorted: Vec<usize> =
            (0..boxes.len()).filter(|index| is_above(scores[*index])).collect();
        // Both zeros are equal scores; NaN comes last.
        let key = |index: usize| match scores[index] {
            score if score.is_nan() => f32::NEG_INFINITY,
            score => score + 0.0,
        };
        sorted.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
        let mut chosen: Vec<usize> = vec![];
        let mut pairs = 0;
        for index in sorted {
            if chosen.len() >= self.count {
                break;
            }
            pairs += chosen.len() as u64;
            budget.take(&[pairs / PAIRS])?;
            pairs %= PAIRS;
            let candidate = &boxes[index];
            if !chosen.iter().any(|it| candidate.overlap(&boxes[*it]) > self.overlap) {
                chosen.push(index);
            }
        }
        Ok(chosen)
    }
}

/// The least and the greatest coordinate of a box in both dimensions, and its area.
struct Area {
    ranges: [[f32; 2]; 2],
    size: f32,
}

impl Area {
    fn new(ranges: [[f32; 2]; 2]) -> Self {
        let [one, other] = ranges.map(|[least, greatest]| greatest - least);
        Self { ranges, size: one * other }
    }

    /// The intersection over union (IoU) of two boxes. Like ONNX Runtime's, it is rounded after each step,
    /// since boxes at exactly the threshold do not overlap.
    fn overlap(&self, other: &Self) -> f32 {
        // NaN is propagated if it is the first operand.
        let greater = |a: f32, b: f32| if a < b { b } else { a };
        let lesser = |a: f32, b: f32| if b < a { b } else { a };
        let mut both = 1.0;
        for (a, b) in self.ranges.iter().zip(&other.ranges) {
            let length = lesser(a[1], b[1]) - greater(a[0], b[0]);
            if length <= 0.0 {
                return 0.0;
            }
            both *= length;
        }
        let all = self.size + other.size - both;
        if [both, self.size, other.size, all].iter().any(|it| *it <= 0.0) {
            return 0.0;
        }
        both / all
    }
}

/// The elements of an input of 32-bit floats.
fn floats(operands: &NodeInputs<'_>, index: usize, name: &str) -> Result<Vec<f32>> {
    let tensor = operands.tensor(index, name)?;
    operands.type_is(tensor.element_type(), &[ElementType::FLOAT32], name)?;
    let bits = tensor.bits().map(|bits| u32::try_from(bits).unwrap_or_default());
    Ok(bits.map(f32::from_bits).collect())
}
