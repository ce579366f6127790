"""smollm2.py GGUF FOLDER: SmolLM2-135M-Instruct as ONNX, as FOLDER/f32.onnx and FOLDER/int4.onnx.

The nodes are those that exporters for ONNX Runtime write: GroupQueryAttention with rotary embeddings and caches that
grow, SimplifiedLayerNormalization, and for int4 MatMulNBits in blocks of 32. The table of embeddings is also the
matrix of the logits; int4 keeps it as FLOAT32 for the embeddings, and has a second one of 4 bits for the logits.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import gguf

BLOCK = 32
# Positions of the rotary embeddings, of the 8192 that the model was trained for.
POSITIONS = 1024


def quantized(weights):
    """Weights of (width, depth) in blocks of 4 bits: packed levels, scales and zero points.

    The scale of a block spans its elements and 0. Scales of the least squared error were tried and give logits that
    are farther from those of f32: the file's weights have 16 levels already, with another zero point.
    """
    blocks = weights.reshape(-1, BLOCK)
    least, greatest = np.minimum(blocks.min(axis=1), 0), np.maximum(blocks.max(axis=1), 0)
    scale = np.maximum((greatest - least) / 15, np.finfo("f4").tiny)
    zero = np.rint(-least / scale).astype(np.uint8)
    level = np.clip(np.rint(blocks / scale[:, None]) + zero[:, None], 0, 15).astype(np.uint8)
    packed = level[:, 0::2] | level[:, 1::2] << 4
    return packed.reshape(len(weights), -1, BLOCK // 2), scale, zero[0::2] | zero[1::2] << 4


class Builder:
    """Nodes and weights of a model; a node is named after its first output."""

    def __init__(self, is_quantized):
        self.is_quantized = is_quantized
        self.nodes, self.weights = [], []

    def weight(self, name, values):
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, operator, inputs, outputs, domain="", **attributes):
        made = helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain, **attributes)
        self.nodes.append(made)
        return outputs[0]

    def product(self, x, name, weights):
        """The product of `x` and a matrix, given as (width, depth)."""
        width, depth = weights.shape
        if not self.is_quantized:
            transposed = self.weight(f"{name}.weight", np.ascontiguousarray(weights.T))
            return self.node("MatMul", [x, transposed], [name])
        parts = zip(["packed", "scales", "zero_points"], quantized(weights), strict=True)
        inputs = [x, *(self.weight(f"{name}.{part}", values) for part, values in parts)]
        sizes = {"K": depth, "N": width, "bits": 4, "block_size": BLOCK}
        return self.node("MatMulNBits", inputs, [name], "com.microsoft", **sizes)


def halves_apart(weights, heads):
    """The rows of queries or keys with the two elements of a rotated pair half a head apart, as GroupQueryAttention
    has them; llama.cpp has them beside each other."""
    width, depth = weights.shape
    return weights.reshape(heads, width // heads // 2, 2, depth).swapaxes(1, 2).reshape(width, depth)


class Decoder:
    """The model of a GGUF file of the architecture `llama`."""

    def __init__(self, metadata, tensor):
        field = lambda name: metadata[f"llama.{name}"]
        self.tensor, self.layers = tensor, field("block_count")
        self.heads, self.groups = field("attention.head_count"), field("attention.head_count_kv")
        self.head_size = field("rope.dimension_count")
        self.base, self.epsilon = field("rope.freq_base"), field("attention.layer_norm_rms_epsilon")

    def norm(self, graph, x, name, output):
        scale = graph.weight(f"{output}.weight", self.tensor(f"{name}.weight"))
        attributes = {"axis": -1, "epsilon": self.epsilon}
        return graph.node("SimplifiedLayerNormalization", [x, scale], [output], **attributes)

    def attention(self, graph, x, layer):
        product = lambda y, part, weights: graph.product(y, f"layer{layer}.{part}", weights)
        weights = {part: self.tensor(f"blk.{layer}.attn_{part}.weight") for part in ["q", "k", "v", "output"]}
        query = product(x, "query", halves_apart(weights["q"], self.heads))
        key = product(x, "key", halves_apart(weights["k"], self.groups))
        value = product(x, "value", weights["v"])
        past, present = ([f"{when}.{layer}.{what}" for what in ["key", "value"]] for when in ["past", "present"])
        lengths = ["seqlens_k", "total_sequence_length", "cosines", "sines"]
        attended = graph.node(
            "GroupQueryAttention",
            [query, key, value, *past, *lengths],
            [f"layer{layer}.attention", *present],
            "com.microsoft",
            num_heads=self.heads,
            kv_num_heads=self.groups,
            do_rotary=1,
        )
        return product(attended, "attention_output", weights["output"])

    def feed_forward(self, graph, x, layer):
        product = lambda y, part: graph.product(y, f"layer{layer}.{part}", self.tensor(f"blk.{layer}.ffn_{part}.weight"))
        gate, up = product(x, "gate"), product(x, "up")
        sigmoid = graph.node("Sigmoid", [gate], [f"layer{layer}.sigmoid"])
        swish = graph.node("Mul", [gate, sigmoid], [f"layer{layer}.swish"])
        return product(graph.node("Mul", [swish, up], [f"layer{layer}.gated"]), "down")

    def caches(self, when, length):
        shape = ["batch", self.groups, length, self.head_size]
        names = [f"{when}.{layer}.{what}" for layer in range(self.layers) for what in ["key", "value"]]
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]

    def model(self, is_quantized):
        graph = Builder(is_quantized)
        pairs = np.arange(self.head_size // 2) / (self.head_size // 2)
        angles = np.arange(POSITIONS)[:, None] * self.base**-pairs
        for name, function in [("cosines", np.cos), ("sines", np.sin)]:
            graph.weight(name, function(angles).astype("f4"))
        embeddings = self.tensor("token_embd.weight")
        table = graph.weight("embeddings", embeddings)
        x = graph.node("Gather", [table, "input_ids"], ["embedded"])
        for layer in range(self.layers):
            normal = self.norm(graph, x, f"blk.{layer}.attn_norm", f"layer{layer}.attention_norm")
            x = graph.node("Add", [x, self.attention(graph, normal, layer)], [f"layer{layer}.attended"])
            normal = self.norm(graph, x, f"blk.{layer}.ffn_norm", f"layer{layer}.feed_forward_norm")
            x = graph.node("Add", [x, self.feed_forward(graph, normal, layer)], [f"layer{layer}.output"])
        normal = self.norm(graph, x, "output_norm", "last_norm")
        if is_quantized:
            graph.product(normal, "logits", embeddings)
        else:
            graph.node("FusedMatMul", [normal, table], ["logits"], "com.microsoft", transB=1)
        info = helper.make_tensor_value_info
        inputs = [
            info("input_ids", TensorProto.INT64, ["batch", "tokens"]),
            info("seqlens_k", TensorProto.INT32, ["batch"]),
            info("total_sequence_length", TensorProto.INT32, []),
        ]
        logits = info("logits", TensorProto.FLOAT, ["batch", "tokens", len(embeddings)])
        inputs, outputs = inputs + self.caches("past", "past"), [logits, *self.caches("present", "total")]
        made = helper.make_graph(graph.nodes, "smollm2", inputs, outputs, graph.weights)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(made, opset_imports=versions, ir_version=8)


def main():
    source, folder = map(pathlib.Path, sys.argv[1:])
    decoder = Decoder(*gguf.read(source))
    folder.mkdir(parents=True)
    for name, is_quantized in [("f32", False), ("int4", True)]:
        onnx.save(decoder.model(is_quantized), folder / f"{name}.onnx")
        print(f"{folder / name}.onnx", file=sys.stderr)


main()
