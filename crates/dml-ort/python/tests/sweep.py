"""Operators with inputs of every kind of shape, for test_claims.py: sizes are names, so that any of them can be 0."""

import numpy as np
from onnx import TensorProto, helper

import graphs

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
TYPES = {F: np.float32, I: np.int64, B: np.bool_}
SIZES = {"n": 2, "m": 3, "k": 4, "c": 4, "h": 6, "w": 7, "s": 3, "one": 1}


class Case:
    """A node: what it reads is a list of names of sizes each, after a colon the type, and constants by name."""

    def __init__(self, operator, *inputs, constants=(), outputs=1, opset=17, **attributes):
        self.operator, self.opset, self.attributes = operator, opset, attributes
        self.inputs = [it.split(":") if ":" in it else (it, "f") for it in inputs]
        self.constants = [(f"k{i}", np.asarray(data)) for i, data in enumerate(constants)]
        self.outputs = [f"y{i}" for i in range(outputs)]

    def __str__(self):
        shown = [f"{shape or 'scalar'}" for shape, _ in self.inputs]
        return f"{self.operator}({'; '.join(shown)}){self.attributes or ''}"

    def names(self):
        """The sizes that may be 0. With those of a recurrent network the CPU provider ends the process."""
        if self.operator in ("GRU", "LSTM", "RNN"):
            return []
        words = [word for shape, _ in self.inputs for word in shape.split()]
        return sorted({it for it in words if it in SIZES and it != "one"})

    def type_of(self, kind):
        return {"f": F, "i": I, "b": B}[kind]

    def model(self, sizes=None):
        """With these sizes, or with open ones."""
        size = lambda word: int(word) if word.isdigit() else (None if sizes is None else sizes[word])
        given = [
            (f"x{i}", self.type_of(kind), [size(word) for word in shape.split()])
            for i, (shape, kind) in enumerate(self.inputs)
        ]
        read = [name for name, _, _ in given] + [name for name, _ in self.constants]
        node = helper.make_node(self.operator, read, self.outputs, **self.attributes)
        outputs = [(name, 0, None) for name in self.outputs]
        return graphs.model([node], given, outputs, self.constants, opset=self.opset)

    def feeds(self, sizes, random):
        feeds = {}
        for i, (shape, kind) in enumerate(self.inputs):
            shape = [int(word) if word.isdigit() else sizes[word] for word in shape.split()]
            values = random.random(shape) * 2 - 1 if kind == "f" else random.integers(0, 2, shape)
            feeds[f"x{i}"] = values.astype(TYPES[self.type_of(kind)])
        return feeds


def ints(*values):
    return np.array(values, np.int64)


def floats(*shape):
    return np.random.default_rng(7).random(shape, np.float32)


CASES = [
    *[Case(it, "n m", "n m") for it in "Add Sub Mul Div Pow Max Min PRelu".split()],
    *[Case(it, "n m", "m") for it in "Less Greater Equal LessOrEqual GreaterOrEqual Sum Mean".split()],
    *[Case(it, "n m:b", "n m:b") for it in "And Or Xor".split()],
    *[Case(it, "n m") for it in "Abs Neg Sqrt Exp Log Relu Sigmoid Tanh Erf Ceil Floor Round Sign Sin Cos".split()],
    *[Case(it, "n m") for it in "Elu LeakyRelu Selu HardSigmoid HardSwish Softplus Softsign Identity IsNaN".split()],
    *[Case(it, "n m s", axis=axis) for it in "Softmax LogSoftmax Hardmax".split() for axis in (1, -1)],
    Case("Not", "n m:b"),
    Case("Where", "n m:b", "n m", "m"),
    Case("Clip", "n m", constants=[np.float32(-0.5), np.float32(0.5)]),
    Case("Cast", "n m", to=I),
    Case("MatMul", "n k", "k m"),
    Case("MatMul", "s n k", "k m"),
    Case("MatMul", "s n k", "s k m"),
    Case("MatMul", "n k", "k"),
    Case("Gemm", "n k", "k m", "m"),
    Case("Gemm", "k n", "k m", transA=1, alpha=0.5),
    Case("Gemm", "n k", constants=[floats(4, 3), floats(3)]),
    Case("Einsum", "n k", "k m", equation="ij,jk->ik"),
    Case("Conv", "n c h w", constants=[floats(2, 4, 3, 3)], kernel_shape=[3, 3]),
    Case("Conv", "n c h w", constants=[floats(2, 4, 3, 3)], pads=[1, 1, 1, 1]),
    Case("Conv", "n c h w", constants=[np.zeros((0, 4, 3, 3), "f")]),
    Case("Conv", "n c h", "m c 3", "m"),
    Case("ConvTranspose", "n c h w", constants=[floats(4, 2, 3, 3)]),
    *[Case(it, "n c h w", kernel_shape=[2, 2], strides=[2, 2]) for it in ("MaxPool", "AveragePool")],
    *[Case(it, "n c h w") for it in ("GlobalMaxPool", "GlobalAveragePool")],
    Case("LpPool", "n c h w", kernel_shape=[2, 2]),
    *[Case(f"Reduce{it}", "n m s", axes=[1], opset=12) for it in "Sum Mean Max Min Prod L1 L2 SumSquare LogSum".split()],
    *[Case(f"Reduce{it}", "n m s", opset=12) for it in "Sum Mean Max Prod LogSumExp".split()],
    *[Case(it, "n m s", axis=1) for it in ("ArgMax", "ArgMin")],
    Case("CumSum", "n m", constants=[np.int64(1)]),
    Case("TopK", "n m", constants=[ints(2)], outputs=2),
    Case("Concat", "n m", "n s", axis=1),
    Case("Split", "n m", constants=[ints(1, 2)], outputs=2, axis=1),
    Case("Split", "k m", constants=[ints(2, 2)], outputs=2, axis=0),
    Case("Slice", "n m", constants=[ints(1), ints(9), ints(1)]),
    Case("Pad", "n m", constants=[ints(1, 0, 2, 1)]),
    Case("Tile", "n m", constants=[ints(2, 3)]),
    Case("Tile", "n m", constants=[ints(2, 0)]),
    Case("Expand", "n 1", constants=[ints(2, 3)]),
    Case("Transpose", "n m s", perm=[2, 0, 1]),
    Case("Reshape", "n m", constants=[ints(-1)]),
    Case("Reshape", "n m s", constants=[ints(0, -1)]),
    Case("Flatten", "n m s"),
    Case("Squeeze", "n 1 m", constants=[ints(1)]),
    Case("Unsqueeze", "n m", constants=[ints(1)]),
    Case("DepthToSpace", "n c h w", blocksize=2),
    Case("SpaceToDepth", "n c h 8", blocksize=2),
    Case("Gather", "n m", constants=[ints(0, 1)]),
    Case("Gather", "3 m", "n s:i"),
    Case("GatherElements", "3 m", "n m:i"),
    Case("GatherND", "3 m", "n 1:i"),
    Case("ScatterElements", "3 m", "n m:i", "n m"),
    Case("ScatterND", "3 m", "n 1:i", "n m"),
    Case("OneHot", "n:i", constants=[np.int64(3), np.float32([0, 1])]),
    Case("ReverseSequence", "s n m", constants=[ints(1, 2)], batch_axis=1, time_axis=0),
    Case("BatchNormalization", "n c h", constants=[floats(4), floats(4), floats(4), floats(4)]),
    Case("InstanceNormalization", "n c h w", constants=[floats(4), floats(4)]),
    Case("LayerNormalization", "n m k", constants=[floats(4), floats(4)]),
    Case("LRN", "n c h w", size=3),
    Case("LpNormalization", "n m"),
    Case("MeanVarianceNormalization", "n c h w"),
    Case("Resize", "n c h w", constants=[np.float32([]), np.float32([1, 1, 2, 2])]),
    Case("Trilu", "n m"),
    Case("EyeLike", "n m"),
    Case("Shape", "n m"),
    Case("QuantizeLinear", "n m", constants=[np.float32(0.1), np.uint8(3)]),
    Case("DynamicQuantizeLinear", "n m", outputs=3),
    Case("LSTM", "s n k", constants=[floats(1, 8, 4), floats(1, 8, 2)], outputs=3, hidden_size=2),
    Case("GRU", "s n k", constants=[floats(1, 6, 4), floats(1, 6, 2)], outputs=2, hidden_size=2),
    Case("RNN", "s n k", constants=[floats(1, 2, 4), floats(1, 2, 2)], outputs=2, hidden_size=2),
    Case("Dropout", "n m"),
    Case("GridSample", "n c h w", "n s m 2", opset=16),
    Case("NonZero", "n m"),
    Case("Compress", "n m", constants=[np.array([True, False])], axis=0),
]
