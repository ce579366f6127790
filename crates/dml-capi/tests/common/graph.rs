//! A graph as a C program fills it.

use std::ffi::CStr;
use std::ptr;

use dmlvk::*;

use super::descs::*;

/// relu(input + constant), 2 x 2 floats; each struct can be changed before it is compiled.
pub struct Graph {
    #[expect(dead_code, reason = "the tensors point to it")]
    sizes: Box<[u32; 2]>,
    /// The buffer tensors of the input, and of everything else.
    pub buffers: Box<[DML_BUFFER_TENSOR_DESC; 2]>,
    #[expect(dead_code, reason = "the operators point to them")]
    tensors: Box<[DML_TENSOR_DESC; 2]>,
    #[expect(dead_code, reason = "an operator points to it")]
    add: Box<DML_ELEMENT_WISE_ADD_OPERATOR_DESC>,
    #[expect(dead_code, reason = "an operator points to it")]
    relu: Box<DML_ACTIVATION_RELU_OPERATOR_DESC>,
    pub operators: Box<[DML_OPERATOR_DESC; 2]>,
    #[expect(dead_code, reason = "the constant points to it")]
    data: Box<[f32; 4]>,
    pub operator_nodes: Box<[DML_OPERATOR_GRAPH_NODE_DESC; 2]>,
    pub constant: Box<DML_CONSTANT_DATA_GRAPH_NODE_DESC>,
    /// The sum, the constant, and the result.
    pub nodes: Box<[DML_GRAPH_NODE_DESC; 3]>,
    pub input: Box<DML_INPUT_GRAPH_EDGE_DESC>,
    pub output: Box<DML_OUTPUT_GRAPH_EDGE_DESC>,
    pub intermediate: Box<[DML_INTERMEDIATE_GRAPH_EDGE_DESC; 2]>,
    pub input_edges: Box<[DML_GRAPH_EDGE_DESC; 1]>,
    pub output_edges: Box<[DML_GRAPH_EDGE_DESC; 1]>,
    pub intermediate_edges: Box<[DML_GRAPH_EDGE_DESC; 2]>,
    pub desc: DML_GRAPH_DESC,
}

/// The elements of the constant.
pub const CONSTANT: [f32; 4] = [1.0, -2.0, 3.0, 0.5];

impl Graph {
    /// `input_flags` are those of the input's tensor.
    pub fn new(input_flags: u32) -> Self {
        let sizes = Box::new([2, 2]);
        let buffer = |flags| DML_BUFFER_TENSOR_DESC {
            DataType: 1,
            Flags: flags,
            DimensionCount: 2,
            Sizes: sizes.as_ptr(),
            Strides: ptr::null(),
            TotalTensorSizeInBytes: 16,
            GuaranteedBaseOffsetAlignment: 0,
        };
        let buffers = Box::new([buffer(input_flags), buffer(0)]);
        let tensor = |index: usize| DML_TENSOR_DESC { Type: 1, Desc: to(&buffers[index]).cast() };
        let tensors = Box::new([tensor(0), tensor(1)]);
        let [input, other] = [to(&tensors[0]), to(&tensors[1])];
        let add = DML_ELEMENT_WISE_ADD_OPERATOR_DESC {
            ATensor: input,
            BTensor: other,
            OutputTensor: other,
        };
        let add = Box::new(add);
        let relu = DML_ACTIVATION_RELU_OPERATOR_DESC { InputTensor: other, OutputTensor: other };
        let relu = Box::new(relu);
        let operators = Box::new([
            DML_OPERATOR_DESC { Type: 4, Desc: to(&*add).cast() },
            DML_OPERATOR_DESC { Type: 44, Desc: to(&*relu).cast() },
        ]);
        let data = Box::new(CONSTANT);
        let operator_node = |index: usize, name: &'static CStr| DML_OPERATOR_GRAPH_NODE_DESC {
            Operator: to(&operators[index]),
            Name: name.as_ptr(),
        };
        let operator_nodes = Box::new([operator_node(0, c"sum"), operator_node(1, c"result")]);
        let constant = Box::new(DML_CONSTANT_DATA_GRAPH_NODE_DESC {
            Data: data.as_ptr().cast(),
            DataSize: 16,
            Name: ptr::null(),
        });
        let nodes = Box::new([
            DML_GRAPH_NODE_DESC { Type: 1, Desc: to(&operator_nodes[0]).cast() },
            DML_GRAPH_NODE_DESC { Type: 2, Desc: to(&*constant).cast() },
            DML_GRAPH_NODE_DESC { Type: 1, Desc: to(&operator_nodes[1]).cast() },
        ]);
        let input = Box::new(DML_INPUT_GRAPH_EDGE_DESC {
            GraphInputIndex: 0,
            ToNodeIndex: 0,
            ToNodeInputIndex: 0,
            Name: ptr::null(),
        });
        let output = Box::new(DML_OUTPUT_GRAPH_EDGE_DESC {
            FromNodeIndex: 2,
            FromNodeOutputIndex: 0,
            GraphOutputIndex: 0,
            Name: ptr::null(),
        });
        let between = |from, to, input| DML_INTERMEDIATE_GRAPH_EDGE_DESC {
            FromNodeIndex: from,
            FromNodeOutputIndex: 0,
            ToNodeIndex: to,
            ToNodeInputIndex: input,
            Name: ptr::null(),
        };
        let intermediate = Box::new([between(1, 0, 1), between(0, 2, 0)]);
        let input_edges = Box::new([DML_GRAPH_EDGE_DESC { Type: 1, Desc: to(&*input).cast() }]);
        let output_edges = Box::new([DML_GRAPH_EDGE_DESC { Type: 2, Desc: to(&*output).cast() }]);
        let edge =
            |index: usize| DML_GRAPH_EDGE_DESC { Type: 3, Desc: to(&intermediate[index]).cast() };
        let intermediate_edges = Box::new([edge(0), edge(1)]);
        let desc = DML_GRAPH_DESC {
            InputCount: 1,
            OutputCount: 1,
            NodeCount: 3,
            Nodes: nodes.as_ptr(),
            InputEdgeCount: 1,
            InputEdges: input_edges.as_ptr(),
            OutputEdgeCount: 1,
            OutputEdges: output_edges.as_ptr(),
            IntermediateEdgeCount: 2,
            IntermediateEdges: intermediate_edges.as_ptr(),
        };
        Self {
            sizes,
            buffers,
            tensors,
            add,
            relu,
            operators,
            data,
            operator_nodes,
            constant,
            nodes,
            input,
            output,
            intermediate,
            input_edges,
            output_edges,
            intermediate_edges,
            desc,
        }
    }

    pub fn compile(&self, device: DmlVkDevice, flags: u32) -> (HRESULT, DmlVkOperator) {
        // SAFETY: the description is complete and lives long enough.
        super::made(|place| unsafe { dmlvk_compile_graph(device, &self.desc, flags, place) })
    }

    /// The operator, which must compile.
    pub fn compiled(&self, device: DmlVkDevice) -> DmlVkOperator {
        super::handle(self.compile(device, 0))
    }
}

fn to<T>(value: &T) -> *const T {
    ptr::from_ref(value)
}
