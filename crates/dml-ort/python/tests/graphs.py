"""Small models, and sessions that run them on the device."""

import gc
import os
import re
import tempfile

import numpy as np
import onnxruntime as ort
import onnxruntime_ep_dmlvk as ep
from onnx import TensorProto, helper, numpy_helper

PREFIX = "ep.dmlvulkanexecutionprovider."
# Shapes are computed with these, and elements seen by them: leaving them out costs nothing.
ARITHMETIC = set(
    "Cast Concat Constant ConstantOfShape Equal Gather Identity Not Reshape Shape Size Slice Squeeze Unsqueeze".split()
)


def register(name="dmlvk"):
    """Registers the library; the entries of its devices."""
    ort.register_execution_provider_library(name, ep.get_library_path())
    return devices()


def devices():
    return [it for it in ort.get_ep_devices() if it.ep_name in ep.get_ep_names()]


def memory(device):
    """The arguments for the device memory in ONNX Runtime's functions: type, number and vendor."""
    info = device.memory_info(ort.OrtDeviceMemoryType.DEFAULT)
    return "gpu", info.device_id, info.device_vendor_id


def copy(sources, targets):
    """Copies values, wherever they are."""
    ort.copy_tensors(sources, targets, None)


def model(nodes, inputs, outputs, constants=(), opset=17):
    """The bytes of a model. Inputs and outputs are (name, type, shape), constants (name, array). A type of 0 is open."""
    empty = helper.make_empty_tensor_value_info
    value = lambda it: helper.make_tensor_value_info(*it) if it[1] else empty(it[0])
    weights = [numpy_helper.from_array(np.asarray(data), name) for name, data in constants]
    graph = helper.make_graph(nodes, "graph", list(map(value, inputs)), list(map(value, outputs)), weights)
    version = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=version, ir_version=8).SerializeToString()


def add():
    f = TensorProto.FLOAT
    node = helper.make_node("Add", ["a", "b"], ["c"])
    return model([node], [("a", f, ["n", 3]), ("b", f, [3])], [("c", f, ["n", 3])])


def decoder(layers=6, hidden=64, heads=4, groups=2, words=48, longest=32):
    """A decoder with weights of 4 bits, of the nodes that onnxruntime-genai's builder writes: what each row has
    of the cache follows from a mask. With 6 layers it has 87 nodes."""
    random, size = np.random.default_rng(0), hidden // heads
    nodes, constants = [], []

    def constant(name, data):
        constants.append((name, data))
        return name

    def node(op, inputs, outputs, domain="", **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def product(x, name, depth, width):
        packed = constant(name + "_q", random.integers(0, 256, (width, depth // 32, 16), dtype=np.uint8))
        scales = constant(name + "_s", random.uniform(0.01, 0.03, width * depth // 32).astype(np.float32))
        bits = dict(K=depth, N=width, bits=4, block_size=32)
        return node("MatMulNBits", [x, packed, scales], [name], "com.microsoft", **bits)

    def norm(name):
        return constant(name + "_g", random.uniform(0.5, 1.5, hidden).astype(np.float32))

    angles = np.arange(longest)[:, None] / 100.0 ** (np.arange(size // 2) / (size // 2))
    turns = [constant("cos", np.cos(angles).astype(np.float32)), constant("sin", np.sin(angles).astype(np.float32))]
    one, second = constant("one", np.array([1], np.int64)), constant("second", np.array(1, np.int64))
    sums = node("ReduceSum", ["attention_mask", one], ["sums"])
    lasts = node("Cast", [node("Sub", [sums, one], ["less"])], ["lasts"], to=TensorProto.INT32)
    length = node("Gather", [node("Shape", ["attention_mask"], ["sizes"]), second], ["length"])
    total = node("Cast", [length], ["total"], to=TensorProto.INT32)
    table = constant("table", random.standard_normal((words, hidden)).astype(np.float32))
    x = node("Gather", [table, "input_ids"], ["embedded"])
    inputs = [(name, TensorProto.INT64, shape) for name, shape in
              [("input_ids", ["batch", "tokens"]), ("attention_mask", ["batch", "all"])]]
    outputs = [("logits", TensorProto.FLOAT, ["batch", "tokens", words])]
    skip = None
    for at in range(layers):
        named = lambda name: f"{name}_{at}"
        if skip is None:
            normal, skip = node("SimplifiedLayerNormalization", [x, norm(named("n"))], [named("n")], axis=-1), x
        else:
            normal, skip = added(node, x, skip, norm(named("n")), named("n"))
        parts = [product(normal, named(name), hidden, width * size)
                 for name, width in [("q", heads), ("k", groups), ("v", groups)]]
        caches = [(kind + named(name), TensorProto.FLOAT, ["batch", groups, of, size])
                  for kind, of in [("past_", "past"), ("present_", "all")] for name in ["key", "value"]]
        inputs += caches[:2]
        outputs += caches[2:]
        past, present = [[name for name, *_ in half] for half in (caches[:2], caches[2:])]
        attended = node("GroupQueryAttention", [*parts, *past, lasts, total, *turns], [named("a"), *present],
                        "com.microsoft", num_heads=heads, kv_num_heads=groups, do_rotary=1)
        x = product(attended, named("o"), heads * size, hidden)
        normal, skip = added(node, x, skip, norm(named("m")), named("m"))
        gate, up = [product(normal, named(name), hidden, 2 * hidden) for name in ["gate", "up"]]
        swish = node("Mul", [gate, node("Sigmoid", [gate], [named("sigmoid")])], [named("swish")])
        x = product(node("Mul", [swish, up], [named("both")]), named("down"), 2 * hidden, hidden)
    normal, _ = added(node, x, skip, norm("last"), "last")
    product(normal, "logits", hidden, words)
    return model(nodes, inputs, outputs, constants, opset=17)


def added(node, x, skip, weight, name):
    """Both, normalized and as they are."""
    outputs = [name, "", "", name + "_sum"]
    node("SkipSimplifiedLayerNormalization", [x, skip, weight], outputs, "com.microsoft", epsilon=1e-5)
    return name, name + "_sum"


def session(source, device, options=None, settings=None):
    """A session that never goes on without the device."""
    chosen = ort.SessionOptions()
    chosen.add_provider_for_devices([device], options or {})
    chosen.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in (settings or {}).items():
        chosen.add_session_config_entry(key, value)
    made = ort.InferenceSession(source, chosen, enable_fallback=0)
    made.disable_fallback()
    return made


def reasons(source, device):
    """Why nodes are not on the device, by operator: what the provider logs while a session is created."""
    with tempfile.TemporaryFile() as log:
        before = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            chosen = ort.SessionOptions()
            chosen.log_severity_level = 1
            chosen.add_provider_for_devices([device], {})
            ort.InferenceSession(source, chosen, enable_fallback=0)
        finally:
            os.dup2(before, 2)
            os.close(before)
        log.seek(0)
        return dict(re.findall(r"dmlvk: (\w+) '[^']*': (.*)", log.read().decode(errors="replace")))


def on_cpu(source, feeds):
    """What the CPU provider answers."""
    return ort.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, feeds)


def assigned(made):
    """The operators of each group on the device, and those of all other nodes."""
    groups, others = [], []
    for part in made.get_provider_graph_assignment_info():
        names = [node.op_type for node in part.get_nodes()]
        if part.ep_name in ep.get_ep_names():
            groups.append(sorted(names))
        else:
            others += names
    return sorted(groups), sorted(others)


def resident():
    """Bytes of memory that the process has."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
