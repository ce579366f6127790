"""Small models, and sessions that run them on the device."""

import gc

import numpy as np
import onnxruntime as ort
import onnxruntime_ep_dmlvk as ep
from onnx import TensorProto, helper, numpy_helper

PREFIX = "ep.dmlvulkanexecutionprovider."


def register(name="dmlvk"):
    """Registers the library; the entries of its devices."""
    ort.register_execution_provider_library(name, ep.get_library_path())
    return devices()


def devices():
    return [it for it in ort.get_ep_devices() if it.ep_name in ep.get_ep_names()]


def model(nodes, inputs, outputs, constants=(), opset=17):
    """The bytes of a model. Inputs and outputs are (name, type, shape), constants (name, array)."""
    value = lambda it: helper.make_tensor_value_info(*it)
    weights = [numpy_helper.from_array(np.asarray(data), name) for name, data in constants]
    graph = helper.make_graph(nodes, "graph", list(map(value, inputs)), list(map(value, outputs)), weights)
    version = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=version, ir_version=8).SerializeToString()


def add():
    f = TensorProto.FLOAT
    node = helper.make_node("Add", ["a", "b"], ["c"])
    return model([node], [("a", f, ["n", 3]), ("b", f, [3])], [("c", f, ["n", 3])])


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
