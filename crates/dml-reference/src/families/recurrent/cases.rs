//! The corner cases of recurrent networks.

use dml_core::operators::{
    ACTIVATION_HARD_SIGMOID, ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_SOFTSIGN,
    ACTIVATION_TANH,
};
use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, RecurrentNetworkDirection, TensorDesc, TensorFlags};

use crate::layouts::{padded, repeated, reversed, snake};
use crate::{BrokenRule, Case, Random, Signature, Sizes, TensorGenerator};

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
}

/// The sizes, attributes and tensors of an operator.
#[derive(Clone)]
struct Parts {
    steps: u32,
    sequences: u32,
    elements: u32,
    hidden: u32,
    direction: RecurrentNetworkDirection,
    left_out: Vec<&'static str>,
    /// Which of the sets in [`CaseGenerator::functions`] is used.
    functions: usize,
    flag: bool,
    threshold: Option<f32>,
}

const BOTH: RecurrentNetworkDirection = RecurrentNetworkDirection::Bidirectional;

/// With all tensors that the operator has.
const USUAL: Parts = Parts {
    steps: 3,
    sequences: 2,
    elements: 3,
    hidden: 4,
    direction: RecurrentNetworkDirection::Forward,
    left_out: vec![],
    functions: 0,
    flag: false,
    threshold: None,
};

/// Steps, sequences, elements and hidden elements.
const SHAPES: [[u32; 4]; 9] = [
    [1, 1, 1, 1],
    [1, 3, 2, 5],
    // The input has the size of a simple cell's weights.
    [1, 4, 3, 4],
    [9, 1, 4, 3],
    [2, 9, 5, 2],
    [2, 2, 1, 8],
    [2, 2, 33, 1],
    [3, 17, 8, 16],
    [40, 1, 2, 2],
];

impl Parts {
    fn directions(&self) -> u32 {
        if self.direction == BOTH { 2 } else { 1 }
    }
}

impl CaseGenerator<'_> {
    fn gates(&self) -> u32 {
        match self.schema.name {
            "RNN" => 1,
            "GRU" => 3,
            _ => 4,
        }
    }

    /// The activation functions of a direction: the default ones, or another set.
    fn functions(&self, which: usize) -> Vec<AbstractOperator> {
        let nested = |schema: &'static OperatorSchema, values: Vec<FieldValue>| {
            AbstractOperator::nested(schema, values).expect("the attributes of the row")
        };
        let plain = |schema| nested(schema, vec![]);
        let hard = || {
            let [alpha, beta] = [0.2, 0.25].map(FieldValue::Float);
            nested(&ACTIVATION_HARD_SIGMOID, vec![alpha, beta])
        };
        let all = [
            [plain(&ACTIVATION_SIGMOID), plain(&ACTIVATION_TANH), plain(&ACTIVATION_TANH)],
            [hard(), plain(&ACTIVATION_SOFTSIGN), plain(&ACTIVATION_RELU)],
        ];
        let [gate, new, shown] = all[which % all.len()].clone();
        match self.schema.name {
            "RNN" => vec![new],
            "GRU" => vec![gate, new],
            _ => vec![gate, new, shown],
        }
    }

    fn sizes(&self, name: &str, parts: &Parts) -> Sizes {
        let Parts { steps, sequences, elements, hidden, .. } = *parts;
        let (directions, width) = (parts.directions(), self.gates() * hidden);
        let [a, b, c, d] = match name {
            "InputTensor" => [1, steps, sequences, elements],
            "WeightTensor" => [1, directions, width, elements],
            "RecurrenceTensor" => [1, directions, width, hidden],
            "BiasTensor" => [1, 1, directions, 2 * width],
            "PeepholeTensor" => [1, 1, directions, 3 * hidden],
            "SequenceLengthsTensor" => [1, 1, 1, sequences],
            "OutputSequenceTensor" => [steps, directions, sequences, hidden],
            _ => [1, directions, sequences, hidden],
        };
        [1, 1, 1, 1, a, b, c, d]
    }

    fn tensor(&self, name: &str, parts: &Parts) -> TensorDesc {
        let data_type = self.signature.type_of(self.schema, name);
        TensorGenerator { data_type, rank: self.signature.rank }.packed(self.sizes(name, parts))
    }

    fn value(&self, field: &FieldSchema, parts: &Parts) -> FieldValue {
        let functions = || -> Vec<AbstractOperator> {
            let of = |at| self.functions(parts.functions + at as usize);
            (0..parts.directions()).flat_map(of).collect()
        };
        match (field.name, field.field_type) {
            (name, FieldType::Tensor) => {
                let is_there = !parts.left_out.contains(&name);
                FieldValue::Tensor(is_there.then(|| self.tensor(name, parts)))
            }
            ("ActivationDescCount", _) => {
                FieldValue::Uint(u32::try_from(functions().len()).unwrap_or(u32::MAX))
            }
            ("ActivationDescs", _) => FieldValue::OperatorDescArray(functions()),
            ("Direction", _) => FieldValue::Uint(parts.direction.dml_value()),
            ("ClipThreshold", _) => FieldValue::Float(parts.threshold.unwrap_or(0.0)),
            ("UseClipThreshold", _) => FieldValue::Bool(parts.threshold.is_some()),
            _ => FieldValue::Bool(parts.flag),
        }
    }

    fn operator(&self, parts: &Parts) -> AbstractOperator {
        let values = self.schema.fields.iter().map(|field| self.value(field, parts));
        AbstractOperator::new(self.schema, values.collect()).expect("the fields of the row")
    }

    fn case(&self, name: impl Into<String>, parts: &Parts) -> Case {
        Case::new(name.into(), self.operator(parts))
    }

    /// Without optional tensors, except for one output and for those with type parameters of their own.
    pub(super) fn minimal(&self) -> AbstractOperator {
        let [steps, sequences, elements, hidden] = [1; 4];
        let mut left_out = self.optional();
        left_out.retain(|name| !["OutputSingleTensor", "SequenceLengthsTensor"].contains(name));
        self.operator(&Parts { steps, sequences, elements, hidden, left_out, ..USUAL })
    }

    fn optional(&self) -> Vec<&'static str> {
        self.schema.fields.iter().filter(|field| field.optional).map(|field| field.name).collect()
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let mut cases = vec![self.case("values", &USUAL)];
        for [steps, sequences, elements, hidden] in SHAPES {
            let name = format!("sizes_{steps}_{sequences}_{elements}_{hidden}");
            let parts = Parts { steps, sequences, elements, hidden, ..USUAL };
            cases.push(self.case(&name, &parts));
            let left_out = vec!["SequenceLengthsTensor", "HiddenInitTensor", "BiasTensor"];
            cases.push(self.case(format!("bare_{name}"), &Parts { left_out, ..parts }));
        }
        for direction in [RecurrentNetworkDirection::Backward, BOTH] {
            let name = direction.name().to_lowercase();
            cases.push(self.case(&name, &Parts { direction, ..USUAL }));
            let left_out = vec!["SequenceLengthsTensor"];
            cases.push(self.case(format!("{name}_whole"), &Parts { direction, left_out, ..USUAL }));
        }
        for name in self.optional() {
            let left_out = vec![name];
            let parts = Parts { left_out, direction: BOTH, ..USUAL };
            cases.push(self.case(format!("without_{}", snake(name)), &parts));
        }
        cases.push(self.case("other_functions", &Parts { functions: 1, ..USUAL }));
        cases.push(self.case("flag", &Parts { flag: true, ..USUAL }));
        let bare = vec!["HiddenInitTensor", "BiasTensor", "PeepholeTensor", "CellMemInitTensor"];
        cases.push(self.case("flag_bare", &Parts { flag: true, left_out: bare, ..USUAL }));
        cases.push(self.case("threshold", &Parts { threshold: Some(0.75), ..USUAL }));
        cases.extend(self.layouts());
        cases
    }

    fn layouts(&self) -> Vec<Case> {
        let usual = self.operator(&Parts { direction: BOTH, ..USUAL });
        let changed = |names: &[&str], change: &dyn Fn(&mut TensorDesc)| {
            let mut fields = usual.fields().to_vec();
            for (field, value) in self.schema.fields.iter().zip(&mut fields) {
                if let FieldValue::Tensor(Some(tensor)) = value
                    && names.contains(&field.name)
                {
                    change(tensor);
                }
            }
            AbstractOperator::new(self.schema, fields).expect("the fields of the row")
        };
        let mut cases = vec![];
        let tensors =
            || self.schema.fields.iter().filter(|field| field.field_type == FieldType::Tensor);
        for field in tensors() {
            let name = |what: &str| format!("{what}_{}", snake(field.name));
            cases.push(Case::new(name("padded"), changed(&[field.name], &padded)));
            cases.push(Case::new(name("reversed"), changed(&[field.name], &reversed)));
            if field.kind == FieldKind::Input {
                cases.push(Case::new(name("repeated"), changed(&[field.name], &repeated)));
            }
        }
        let inputs: Vec<&str> = tensors()
            .filter(|tensor| tensor.kind == FieldKind::Input)
            .map(|tensor| tensor.name)
            .collect();
        let owned = changed(&inputs, &|it| it.flags = TensorFlags::OWNED_BY_DML);
        cases.push(Case::new("owned", owned.clone()));
        cases.push(Case::new("owned_storage_only", owned).storage_only());
        cases.push(Case::new("base_offset_16", usual.clone()).at_output_offset(16));
        cases.push(Case::new("base_offset_272", usual.clone()).at_input_offset(272));
        cases.push(Case::new("storage_only", usual).storage_only());
        cases
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let mut left_out: Vec<&'static str> =
            self.optional().into_iter().filter(|_| random.one_in(3)).collect();
        left_out.retain(|name| *name != "OutputSequenceTensor");
        let parts = Parts {
            steps: 1 + random.below(5),
            sequences: 1 + random.below(5),
            elements: 1 + random.below(9),
            hidden: 1 + random.below(9),
            direction: random.pick(&RecurrentNetworkDirection::ALL),
            left_out,
            functions: random.below(2) as usize,
            flag: random.one_in(2),
            threshold: random.one_in(3).then_some(0.5),
        };
        let operator = self.operator(&parts);
        let mut fields = operator.fields().to_vec();
        for (field, value) in self.schema.fields.iter().zip(&mut fields) {
            if let FieldValue::Tensor(Some(tensor)) = value {
                let (data_type, sizes) = (tensor.data_type, tensor.sizes.clone());
                *tensor = match field.kind {
                    FieldKind::Output => random.tensor(data_type, &sizes),
                    _ => random.input_tensor(data_type, &sizes),
                };
            }
        }
        let operator = AbstractOperator::new(self.schema, fields).expect("the fields of the row");
        Case::new("random", operator).with_random_buffers(random)
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rule = |name: String, operator, field: String| BrokenRule {
            name: name.into(),
            operator,
            field: field.into(),
        };
        let changed = |wanted: &str, change: &dyn Fn(&mut FieldValue)| {
            let mut fields = self.operator(&USUAL).fields().to_vec();
            for (field, value) in self.schema.fields.iter().zip(&mut fields) {
                if field.name == wanted {
                    change(value);
                }
            }
            AbstractOperator::new(self.schema, fields).expect("the fields of the row")
        };
        let mut rules = vec![];
        for field in self.schema.fields.iter().filter(|field| field.field_type == FieldType::Tensor)
        {
            // The sizes of the other tensors follow from these two.
            if ["InputTensor", "RecurrenceTensor"].contains(&field.name) {
                continue;
            }
            let wider = changed(field.name, &|value| {
                if let FieldValue::Tensor(Some(tensor)) = value
                    && let Some(last) = tensor.sizes.last_mut()
                {
                    *last += 1;
                }
            });
            let path = format!("{}.Sizes[{}]", field.name, self.signature.rank - 1);
            rules.push(rule(format!("rule_size_of_{}", snake(field.name)), wider, path));
        }
        let outputs = self.schema.fields.iter().filter(|field| field.kind == FieldKind::Output);
        let left_out = outputs.map(|output| output.name).collect();
        let none = self.operator(&Parts { left_out, ..USUAL });
        rules.push(rule("rule_no_output".to_owned(), none, "OutputSingleTensor".to_owned()));
        let mut few = self.operator(&Parts { direction: BOTH, ..USUAL }).fields().to_vec();
        for (field, value) in self.schema.fields.iter().zip(&mut few) {
            match field.name {
                "ActivationDescCount" => *value = FieldValue::Uint(1),
                "ActivationDescs" => {
                    *value = FieldValue::OperatorDescArray(self.functions(0)[..1].to_vec());
                }
                _ => {}
            }
        }
        let few = AbstractOperator::new(self.schema, few).expect("the fields of the row");
        rules.push(rule("rule_functions".to_owned(), few, "ActivationDescCount".to_owned()));
        if self.gates() == 4 {
            let parts = Parts { threshold: Some(-1.0), ..USUAL };
            let below_0 = self.operator(&parts);
            rules.push(rule("rule_threshold".to_owned(), below_0, "ClipThreshold".to_owned()));
        }
        rules
    }
}
