//! The parts that operators of cases are composed of.

use dml_core::MultiheadAttentionMaskType as MaskType;

use dml_core::operators::attention::LENGTHS;

/// Which of queries, keys and values are stacked in one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    None,
    QueryKey,
    KeyValue,
    All,
}

/// The sizes, attributes and tensors of an operator.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) batches: u32,
    pub(super) queries: u32,
    pub(super) keys: u32,
    pub(super) past: u32,
    /// The number of query heads per group, and the number of groups (key/value heads).
    pub(super) per_group: u32,
    pub(super) groups: u32,
    pub(super) elements: u32,
    pub(super) of_value: u32,
    pub(super) stack: Stack,
    pub(super) mask: MaskType,
    pub(super) left_out: Vec<&'static str>,
    /// The dimensions of masks and position biases that are broadcast.
    pub(super) is_repeated: [bool; 4],
    /// The room for keys beyond the past, if lengths determine where new keys are stored.
    pub(super) place: u32,
    pub(super) scale: f32,
    pub(super) filter: f32,
}

/// All tensors that can occur together.
pub(super) const USUAL: Parts = Parts {
    batches: 2,
    queries: 3,
    keys: 5,
    past: 3,
    per_group: 1,
    groups: 2,
    elements: 3,
    of_value: 4,
    stack: Stack::None,
    mask: MaskType::Boolean,
    left_out: vec![],
    is_repeated: [false; 4],
    place: 2,
    scale: 0.25,
    filter: -10_000.0,
};

/// Batches, queries, keys, past, groups, and head sizes of keys and of values.
pub(super) const SHAPES: [[u32; 7]; 8] = [
    [1, 1, 1, 1, 1, 1, 1],
    [1, 1, 7, 9, 2, 8, 8],
    [3, 1, 1, 1, 1, 5, 2],
    [1, 4, 4, 4, 4, 4, 4],
    [2, 17, 33, 1, 1, 2, 3],
    [1, 33, 17, 16, 3, 16, 8],
    [1, 2, 3, 131, 1, 1, 33],
    [5, 2, 2, 2, 3, 33, 1],
];

/// The tensors of past keys and values.
pub(super) const PAST: [&str; 2] = ["PastKeyTensor", "PastValueTensor"];

impl Parts {
    /// The tensors that hold queries, keys and values.
    fn operands(&self) -> &'static [&'static str] {
        match self.stack {
            Stack::None => &["QueryTensor", "KeyTensor", "ValueTensor"],
            Stack::QueryKey => &["StackedQueryKeyTensor", "ValueTensor"],
            Stack::KeyValue => &["QueryTensor", "StackedKeyValueTensor"],
            Stack::All => &["StackedQueryKeyValueTensor"],
        }
    }

    /// Whether the operator has a tensor, provided that its schema does.
    pub(super) fn has(&self, name: &str) -> bool {
        let is_operand = ["QueryTensor", "KeyTensor", "ValueTensor"].contains(&name);
        match is_operand || name.starts_with("Stacked") {
            true => self.operands().contains(&name),
            false => !self.left_out.contains(&name),
        }
    }

    pub(super) fn mask(&self) -> MaskType {
        if self.has("MaskTensor") { self.mask } else { MaskType::None }
    }

    pub(super) fn is_counted(&self) -> bool {
        self.has(LENGTHS)
    }

    /// With sizes adjusted so that they fit stacked tensors or lengths.
    pub(super) fn matched(mut self) -> Self {
        let is_query_stacked = matches!(self.stack, Stack::QueryKey | Stack::All);
        if is_query_stacked || self.is_counted() {
            self.keys = self.queries;
        }
        if is_query_stacked {
            self.per_group = 1;
        }
        if matches!(self.stack, Stack::KeyValue | Stack::All) {
            self.of_value = self.elements;
        }
        if !self.has("PastKeyTensor") {
            self.past = 0;
        }
        self
    }

    /// The sizes of a tensor, without leading ones.
    pub(super) fn sizes(&self, name: &str) -> Vec<u32> {
        let Self { batches: b, queries: s, keys, past, elements: d, of_value: v, .. } = *self;
        let (g, h, all) = (self.groups, self.groups * self.per_group, past + keys);
        let mut scores = vec![b, h, s, all];
        for (size, is_repeated) in scores.iter_mut().zip(self.is_repeated) {
            *size = if is_repeated { 1 } else { *size };
        }
        let present = if self.is_counted() { past + self.place } else { all };
        match name {
            "QueryTensor" => vec![b, s, h * d],
            "KeyTensor" => vec![b, keys, g * d],
            "ValueTensor" => vec![b, keys, g * v],
            "StackedQueryKeyTensor" => vec![b, s, h, 2, d],
            "StackedKeyValueTensor" => vec![b, keys, g, 2, d],
            "StackedQueryKeyValueTensor" => vec![b, s, h, 3, d],
            "BiasTensor" => vec![h * d + g * d + g * v],
            "MaskTensor" => match self.mask {
                MaskType::Boolean => scores,
                MaskType::KeySequenceEndStart => vec![2, b],
                MaskType::KeyQuerySequenceLengthStartEnd => vec![3 * b + 2],
                _ => vec![1, b],
            },
            "RelativePositionBiasTensor" => scores,
            "PastKeyTensor" => vec![b, g, past, d],
            "PastValueTensor" => vec![b, g, past, v],
            LENGTHS => vec![b],
            "OutputPresentKeyTensor" => vec![b, g, present, d],
            "OutputPresentValueTensor" => vec![b, g, present, v],
            _ => vec![b, s, h * v],
        }
    }
}
