"""Graphs of nodes that are drawn from a seed, with open and with fixed shapes."""

import numpy as np
from onnx import TensorProto, helper

import graphs

F = TensorProto.FLOAT
# Open dimensions by name; the last dimension of every value is of this size.
SIZES = ({"a": 2, "b": 3}, {"a": 5, "b": 1})
WIDTH = 4
NODES = 12


class Graph:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []
        self.inputs = {"x": ("a", WIDTH), "z": ("b", "a", WIDTH)}
        self.values = dict(self.inputs)
        for _ in range(NODES):
            self.random.choice([self.unary, self.binary, self.product, self.rows, self.moved, self.stays, self.shaped])()
        self.outputs = list(self.values)[-3:]

    def pick(self, shape=None):
        names = [it for it, own in self.values.items() if shape in (None, own)]
        return self.random.choice(names)

    def node(self, operator, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        self.values[name] = shape
        return name

    def constant(self, data):
        name = f"c{len(self.constants)}"
        self.constants.append((name, np.asarray(data)))
        return name

    def unary(self):
        x = self.pick()
        self.node(self.random.choice("Relu Sigmoid Tanh Abs Neg Softplus Erf".split()), [x], self.values[x])

    def binary(self):
        a = self.pick()
        b = self.pick(self.values[a])
        self.node(self.random.choice("Add Sub Mul Max Min".split()), [a, b], self.values[a])

    def product(self):
        x = self.pick()
        weights = self.constant(self.random.random((WIDTH, WIDTH), np.float32) - 0.5)
        self.node("MatMul", [x, weights], self.values[x])

    def rows(self):
        x = self.pick()
        shape = self.values[x]
        if self.random.integers(2):
            self.node("Softmax", [x], shape, axis=-1)
        else:
            mean = f"m{len(self.nodes)}"
            self.nodes.append(helper.make_node("ReduceMean", [x], [mean], axes=[-1], keepdims=1))
            self.node("Sub", [x, mean], shape)

    def moved(self):
        x = self.pick()
        shape = self.values[x]
        order = [*reversed(range(len(shape) - 1)), len(shape) - 1]
        y = self.node("Transpose", [x], tuple(shape[it] for it in order), perm=order)
        if self.random.integers(2):
            self.node("Concat", [y, y], (*self.values[y][:-1], 2 * WIDTH), axis=-1)
            wide = list(self.values)[-1]
            picks = [self.constant(np.int64([it])) for it in (1, 1 + WIDTH, -1)]
            del self.values[wide]
            self.node("Slice", [wide, *picks], self.values[y])

    def stays(self):
        """What only ONNX Runtime runs."""
        x = self.pick()
        many = f"s{len(self.nodes)}"
        self.nodes.append(helper.make_node("SequenceConstruct", [x], [many]))
        self.node("SequenceAt", [many, self.constant(np.int64(0))], self.values[x])

    def shaped(self):
        """To one row and back, by the shape that it had."""
        x = self.pick()
        shape = self.values[x]
        sizes, flat = f"n{len(self.nodes)}", f"f{len(self.nodes)}"
        self.nodes.append(helper.make_node("Shape", [x], [sizes]))
        self.nodes.append(helper.make_node("Reshape", [x, self.constant(np.int64([-1]))], [flat]))
        self.node("Reshape", [flat, sizes], shape)

    def model(self, sizes=None):
        size = lambda it: it if sizes is None or isinstance(it, int) else sizes[it]
        given = [(name, F, [size(it) for it in shape]) for name, shape in self.inputs.items()]
        outputs = [(name, F, None) for name in self.outputs]
        return graphs.model(self.nodes, given, outputs, self.constants)

    def feeds(self, sizes):
        size = lambda it: it if isinstance(it, int) else sizes[it]
        shapes = {name: [size(it) for it in shape] for name, shape in self.inputs.items()}
        return {name: self.random.random(shape, np.float32) - 0.5 for name, shape in shapes.items()}
