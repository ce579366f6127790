//! The corner cases of operators with blocks.

use dml_core::schema::{FieldType, OperatorSchema};
use dml_core::{AbstractOperator, DataType, FieldValue, TensorDesc, TensorFlags, TensorLayout};

use crate::{
    BrokenRule, Case, PADDED, REVERSED, Random, SMALL, Signature, Sizes, TensorGenerator, edges,
};

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
}

/// The tensors of an operator, and the values of its attributes.
struct Parts {
    input: TensorDesc,
    output: TensorDesc,
    /// Scales and zero points; unused by an operator with a bias.
    quantization: Vec<TensorDesc>,
    scale: f32,
    bias: Vec<f32>,
}

/// The sizes of the input and of the blocks' tensors. The number of channels is 1 or 3.
const SHAPES: [(&str, Sizes, Sizes); 8] = [
    ("single_element", [1; 8], [1; 8]),
    ("one_block", SMALL, [1; 8]),
    ("block_of_each", SMALL, SMALL),
    ("by_channel", SMALL, [1, 1, 1, 1, 1, 3, 1, 1]),
    ("blocks_in_rows", [1, 1, 2, 1, 2, 3, 5, 24], [1, 1, 2, 1, 2, 3, 5, 3]),
    ("blocks_of_rows", [1, 1, 2, 1, 2, 3, 6, 7], [1, 1, 2, 1, 1, 3, 2, 7]),
    // More than eight dimensions after splitting into blocks, with odd sizes.
    ("blocks_everywhere", [4, 2, 4, 1, 4, 3, 6, 9], [2, 1, 2, 1, 2, 3, 2, 3]),
    ("long_row", [1, 1, 1, 1, 1, 1, 1, 4100], [1, 1, 1, 1, 1, 1, 1, 41]),
];

impl CaseGenerator<'_> {
    fn has_blocks(&self) -> bool {
        self.schema.fields.iter().any(|field| field.field_type == FieldType::TensorArray)
    }

    fn make(&self, name: &str) -> TensorGenerator {
        let data_type = self.signature.type_of(self.schema, name);
        TensorGenerator { data_type, rank: self.signature.rank }
    }

    /// The types of the scales and of the zero points, of which the signature gives one.
    fn types(&self) -> [DataType; 2] {
        let integer = |name| {
            let data_type = self.signature.type_of(self.schema, name);
            data_type.integer_range().is_some().then_some(data_type)
        };
        let given = self.signature.type_of(self.schema, "QuantizationTensors");
        match given.integer_range() {
            Some(_) => [DataType::Float32, given],
            None => {
                let like = integer("OutputTensor").or_else(|| integer("InputTensor"));
                [given, like.unwrap_or(DataType::Uint8)]
            }
        }
    }

    fn quantization_of(&self, tensor: impl Fn(TensorGenerator) -> TensorDesc) -> Vec<TensorDesc> {
        if !self.has_blocks() {
            return vec![];
        }
        let rank = self.signature.rank;
        self.types().map(|data_type| tensor(TensorGenerator { data_type, rank })).into()
    }

    fn packed(&self, sizes: Sizes, blocks: Sizes) -> Parts {
        let output = self.make("OutputTensor").packed(sizes);
        let channels = output.sizes.get(1).copied().unwrap_or(1);
        Parts {
            input: self.make("InputTensor").packed(sizes),
            quantization: self.quantization_of(|make| make.packed(blocks)),
            output,
            scale: 0.3,
            bias: (0..channels).map(|at| at as f32 - 0.7).collect(),
        }
    }

    fn operator(&self, parts: Parts) -> AbstractOperator {
        let count = |it: usize| FieldValue::Uint(u32::try_from(it).unwrap_or(u32::MAX));
        let fields = self.schema.fields.iter().map(|field| match field.name {
            "InputTensor" => FieldValue::Tensor(Some(parts.input.clone())),
            "OutputTensor" => FieldValue::Tensor(Some(parts.output.clone())),
            "QuantizationTensors" => FieldValue::TensorArray(parts.quantization.clone()),
            // The types of quantization are numbered by the number of tensors.
            "QuantizationType" | "QuantizationTensorCount" => count(parts.quantization.len()),
            "ChannelCount" => count(parts.bias.len()),
            "Scale" => FieldValue::Float(parts.scale),
            _ => FieldValue::FloatArray(parts.bias.clone()),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    pub(super) fn minimal(&self) -> AbstractOperator {
        self.operator(self.packed([1; 8], [1; 8]))
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let shape = |(name, sizes, blocks): (&str, Sizes, Sizes)| {
            Case::new(format!("shape_{name}"), self.operator(self.packed(sizes, blocks)))
        };
        let shapes = SHAPES.into_iter().map(shape);
        shapes.chain(self.values()).chain(self.layouts()).chain(self.buffers()).collect()
    }

    /// Edge elements with edge scales and random zero points, or with random scales and biases.
    fn values(&self) -> Vec<Case> {
        let types = [self.make("InputTensor").data_type, DataType::Float32];
        let types = if self.has_blocks() { [types[0], self.types()[0]] } else { types };
        let [elements, scales] = types.map(edges);
        let mut inputs = vec![vec![]; 2];
        for (element, scale) in
            elements.iter().flat_map(|element| scales.iter().map(move |at| (element, at)))
        {
            inputs[0].push(*element);
            inputs[1].push(*scale);
        }
        inputs.truncate(if self.has_blocks() { 2 } else { 1 });
        let mut sizes = [1; 8];
        sizes[7] = u32::try_from(inputs[0].len()).unwrap_or(u32::MAX);
        let mut random = Random::new("scales");
        let case = |number| {
            let any = Parts {
                scale: random.float(),
                bias: vec![random.float()],
                ..self.packed(sizes, sizes)
            };
            Case::new(format!("values_{number}"), self.operator(any)).with_inputs(inputs.clone())
        };
        let mut cases: Vec<Case> = (0..3).map(case).collect();
        let mut alone = self.packed(sizes, sizes);
        alone.quantization.truncate(1);
        alone.scale = -0.0;
        cases.push(Case::new("values_scale_alone", self.operator(alone)).with_inputs(inputs));
        cases
    }

    fn layouts(&self) -> Vec<Case> {
        let [input, output] = ["InputTensor", "OutputTensor"].map(|name| self.make(name));
        let usual = || self.packed(SMALL, [2, 1, 1, 1, 2, 3, 1, 3]);
        let blocks =
            |strides| self.quantization_of(|make| make.strided([2, 1, 1, 1, 2, 3, 1, 3], strides));
        let cases = [
            ("padded_output", Parts { output: output.strided(SMALL, PADDED), ..usual() }),
            ("padded_input", Parts { input: input.strided(SMALL, PADDED), ..usual() }),
            ("padded_blocks", Parts { quantization: blocks(PADDED), ..usual() }),
            ("reversed_output", Parts { output: output.strided(SMALL, REVERSED), ..usual() }),
            ("reversed_input", Parts { input: input.strided(SMALL, REVERSED), ..usual() }),
            ("reversed_blocks", Parts { quantization: blocks(REVERSED), ..usual() }),
            ("repeated_input", Parts { input: input.strided(SMALL, [0; 8]), ..usual() }),
            (
                "repeated_rows",
                Parts { input: input.strided(SMALL, [0, 0, 0, 0, 0, 0, 3, 1]), ..usual() },
            ),
            (
                "repeated_blocks",
                Parts { quantization: blocks([0, 0, 0, 0, 0, 1, 0, 0]), ..usual() },
            ),
        ];
        let case = |(name, parts)| Case::new(format!("strides_{name}"), self.operator(parts));
        cases.map(case).into()
    }

    fn buffers(&self) -> Vec<Case> {
        let usual = || self.packed(SMALL, [2, 1, 1, 1, 2, 3, 1, 3]);
        let packed = || self.operator(usual());
        let owned = |count: usize| {
            let Parts { mut input, mut quantization, .. } = usual();
            let tensors = [&mut input].into_iter().chain(&mut quantization);
            tensors.take(count).for_each(|tensor| tensor.flags = TensorFlags::OWNED_BY_DML);
            self.operator(Parts { input, quantization, ..usual() })
        };
        let larger = |tensor: TensorDesc| {
            let total = TensorLayout::new(&tensor).map_or(0, |layout| layout.total_size());
            tensor.with_total_size(total + 12)
        };
        let larger = Parts {
            input: larger(usual().input),
            output: larger(usual().output),
            quantization: usual().quantization.into_iter().map(larger).collect(),
            ..usual()
        };
        vec![
            Case::new("total_size_larger", self.operator(larger)),
            Case::new("base_offset_16", packed()).at_output_offset(16),
            Case::new("base_offset_272", packed()).at_input_offset(272),
            Case::new("storage_only", packed()).storage_only(),
            Case::new("owned_first", owned(1)),
            Case::new("owned_all", owned(3)),
            Case::new("owned_storage_only", owned(3)).storage_only(),
        ]
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let mut sizes = random.sizes(self.signature.rank);
        if let (false, Some(channels)) = (self.has_blocks(), sizes.get_mut(1)) {
            *channels = random.pick(&[1, 3]);
        }
        let divisor = |size: &u32| {
            let divisors: Vec<u32> = (1..=*size).filter(|it| size.is_multiple_of(*it)).collect();
            divisors
        };
        let blocks: Vec<u32> = sizes.iter().map(|size| random.pick(&divisor(size))).collect();
        let [input, output] = ["InputTensor", "OutputTensor"].map(|name| self.make(name).data_type);
        let mut quantization = vec![];
        if self.has_blocks() {
            let count = if random.one_in(4) { 1 } else { 2 };
            let types = self.types().into_iter().take(count);
            quantization = types.map(|data_type| random.input_tensor(data_type, &blocks)).collect();
        }
        let parts = Parts {
            input: random.input_tensor(input, &sizes),
            output: random.tensor(output, &sizes),
            quantization,
            scale: random.float(),
            bias: (0..sizes.get(1).copied().unwrap_or(1)).map(|_| random.float()).collect(),
        };
        Case::new("random", self.operator(parts)).with_random_buffers(random)
    }

    pub(super) fn broken_rules(&self) -> Vec<BrokenRule> {
        let rule = |name: &'static str, parts, field: &'static str| BrokenRule {
            name: name.into(),
            operator: self.operator(parts),
            field: field.into(),
        };
        let sizes = [2, 2, 2, 2, 2, 3, 2, 4];
        let usual = || self.packed(sizes, [1; 8]);
        if !self.has_blocks() {
            let two = self.packed([1, 1, 1, 1, 2, 2, 2, 2], [1; 8]);
            return vec![
                rule("rule_channels_are_not_taken", two, "ChannelCount"),
                rule(
                    "rule_bias_is_not_of_the_channels",
                    Parts { bias: vec![1.0], ..usual() },
                    "ChannelCount",
                ),
            ];
        }
        let with = |index: usize, change: &dyn Fn(&mut TensorDesc)| {
            let mut parts = usual();
            change(&mut parts.quantization[index]);
            parts
        };
        let last = self.signature.rank - 1;
        let integers = self.types()[1];
        let path = |index: usize| format!("QuantizationTensors[{index}].Sizes[{last}]");
        let sized = |name: &'static str, index, size| BrokenRule {
            name: name.into(),
            operator: self.operator(with(index, &|it| it.sizes[last] = size)),
            field: path(index).into(),
        };
        let counted = |name: &'static str, kind| {
            let mut fields = self.operator(usual()).fields().to_vec();
            let named =
                self.schema.fields.iter().position(|field| field.name == "QuantizationType");
            fields[named.expect("a field of the row")] = FieldValue::Uint(kind);
            let operator = AbstractOperator::new(self.schema, fields).expect("the same fields");
            BrokenRule { name: name.into(), operator, field: "QuantizationTensorCount".into() }
        };
        vec![
            counted("rule_more_tensors_than_a_scale", 1),
            counted("rule_tensors_without_quantization", 0),
            rule(
                "rule_scales_are_integers",
                with(0, &|it| it.data_type = integers),
                "QuantizationTensors[0].DataType",
            ),
            sized("rule_scales_of_no_blocks", 0, 3),
            sized("rule_zero_points_of_no_blocks", 1, 3),
            rule(
                "rule_zero_points_of_other_blocks",
                with(1, &|it| it.sizes[last] = 2),
                "QuantizationTensors[1].Sizes",
            ),
        ]
    }
}
