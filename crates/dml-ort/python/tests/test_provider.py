"""The provider under a stock ONNX Runtime: what runs where, options, threads, errors."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
from onnx import TensorProto, helper

import graphs

F, I = TensorProto.FLOAT, TensorProto.INT64
IS_FULL = os.environ.get("DML_FULL") == "1"


def setUpModule():
    global DEVICES
    DEVICES = graphs.register()


class Provider(unittest.TestCase):
    def check(self, source, feeds, device=None, **options):
        """Runs a model on the device and compares with the CPU provider."""
        made = graphs.session(source, device or DEVICES[0], **options)
        for found, wanted in zip(made.run(None, feeds), graphs.on_cpu(source, feeds), strict=True):
            self.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape))
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        return graphs.assigned(made)

    def test_every_device_runs_any_shape(self):
        self.assertTrue(DEVICES)
        for device in DEVICES:
            self.assertLessEqual({"name", "uuid", "index"}, device.ep_metadata.keys())
            made = graphs.session(graphs.add(), device)
            self.assertEqual(graphs.assigned(made), ([["Add"]], []))
            for n in (1, 4, 0, 4):
                a, b = np.random.rand(n, 3).astype("f"), np.ones(3, "f")
                np.testing.assert_array_equal(made.run(None, {"a": a, "b": b})[0], a + b)

    def test_a_node_that_stays_keeps_groups_apart(self):
        nodes = [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("SequenceConstruct", ["r"], ["s"]),
            helper.make_node("SequenceAt", ["s", "zero"], ["t"]),
            helper.make_node("Add", ["t", "r"], ["u"]),
            helper.make_node("Sqrt", ["u"], ["y"]),
        ]
        zero = [("zero", np.int64(0))]
        source = graphs.model(nodes, [("x", F, ["n"])], [("y", F, ["n"])], zero)
        found = self.check(source, {"x": np.arange(-2, 5, dtype="f")})
        self.assertEqual(found, ([["Add", "Sqrt"], ["Relu"]], ["SequenceAt", "SequenceConstruct"]))

    def test_shape_arithmetic_joins_its_neighbours(self):
        nodes = [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("Shape", ["r"], ["s"]),
            helper.make_node("Gather", ["s", "zero"], ["n"]),
            helper.make_node("Concat", ["n", "rest"], ["shape"], axis=0),
            helper.make_node("Reshape", ["r", "shape"], ["y"]),
        ]
        constants = [("zero", np.int64([0])), ("rest", np.int64([-1]))]
        source = graphs.model(nodes, [("x", F, ["n", 2, 3])], [("y", F, None)], constants)
        groups, others = self.check(source, {"x": np.random.rand(5, 2, 3).astype("f")})
        self.assertEqual((len(groups), others), (1, []))

    def test_what_only_computes_shapes_is_left_alone(self):
        source = graphs.model(
            [helper.make_node("Shape", ["x"], ["y"])], [("x", F, ["n"])], [("y", I, [1])]
        )
        self.assertEqual(self.check(source, {"x": np.zeros(3, "f")}), ([], ["Shape"]))

    def test_values_that_a_run_brings_decide_a_shape(self):
        node = helper.make_node("Slice", ["x", "from", "to"], ["y"])
        inputs = [("x", F, ["n"]), ("from", I, [1]), ("to", I, [1])]
        source = graphs.model([node, helper.make_node("Neg", ["y"], ["z"])], inputs, [("z", F, None)])
        for first, last in ((0, 3), (2, 9), (4, 4)):
            feeds = {"x": np.arange(7, dtype="f"), "from": np.int64([first]), "to": np.int64([last])}
            groups, _ = self.check(source, feeds)
            self.assertEqual(groups, [["Neg", "Slice"]])

    def test_what_follows_from_elements_decides_no_shape(self):
        nodes = [
            helper.make_node("Cast", ["x"], ["i"], to=I),
            helper.make_node("Expand", ["x", "i"], ["y"]),
        ]
        source = graphs.model(nodes, [("x", F, [1])], [("y", F, None)])
        _, others = self.check(source, {"x": np.float32([3])})
        self.assertIn("Expand", others)

    def test_graphs_inside_of_nodes_are_judged_too(self):
        branch = lambda op: helper.make_graph(
            [helper.make_node(op, ["x", "w"], ["b"])], op, [], [helper.make_tensor_value_info("b", F, None)]
        )
        node = helper.make_node("If", ["c"], ["y"], then_branch=branch("MatMul"), else_branch=branch("Add"))
        inputs = [("c", TensorProto.BOOL, []), ("x", F, [2, 2])]
        weights = [("w", np.float32([[1, 2], [3, 4]]))]
        source = graphs.model([node], inputs, [("y", F, [2, 2])], weights)
        for c in (True, False):
            found = self.check(source, {"c": np.array(c), "x": np.random.rand(2, 2).astype("f")})
            self.assertEqual(found, ([["Add"], ["MatMul"]], ["If"]))

    def test_graphs_of_loops_are_judged_too(self):
        value = helper.make_tensor_value_info
        body = helper.make_graph(
            [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("MatMul", ["h", "w"], ["p"]),
             helper.make_node("Tanh", ["p"], ["next"]), helper.make_node("Neg", ["next"], ["seen"])],
            "body",
            [value("i", I, []), value("go", TensorProto.BOOL, []), value("h", F, [20, 20])],
            [value("on", TensorProto.BOOL, []), value("next", F, [20, 20]), value("seen", F, [20, 20])],
        )
        node = helper.make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)
        outputs = [("last", F, [20, 20]), ("all", F, None)]
        weights = [("w", np.random.rand(20, 20).astype("f") - 0.5)]
        source = graphs.model([node], [("n", I, []), ("x", F, [20, 20])], outputs, weights)
        for n in (3, 0, 2):
            found = self.check(source, {"n": np.array(n), "x": np.random.rand(20, 20).astype("f")})
            self.assertEqual(found, ([["MatMul", "Neg", "Tanh"]], ["Identity", "Loop"]))
        self.assertIn("ONNX Runtime runs it", graphs.reasons(source, DEVICES[0])["Loop"])
        self.assertIn("computes shapes or views", graphs.reasons(source, DEVICES[0])["Identity"])

    def test_all_of_a_decoder_runs_on_the_device(self):
        layers, source = 6, graphs.decoder()
        names = [f"{kind}_{at}" for at in range(layers) for kind in ("key", "value")]
        past = {f"past_{name}": np.zeros((1, 2, 0, 16), "f") for name in names}
        made = graphs.session(source, DEVICES[0])
        groups, others = graphs.assigned(made)
        self.assertEqual(([len(group) for group in groups], others), ([87], []))
        ids, length = np.array([[3, 9, 27, 5, 40]]), 0
        for _ in range(4):
            length += ids.shape[1]
            feeds = {"input_ids": ids, "attention_mask": np.ones((1, length), "int64"), **past}
            wanted = graphs.on_cpu(source, feeds)
            for found, expected in zip(made.run(None, feeds), wanted, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
            past = dict(zip(past, wanted[1:], strict=True))
            ids = wanted[0][:, -1:].argmax(-1)

    def test_every_kind_of_attribute_is_read(self):
        nodes = [
            helper.make_node("Constant", [], ["k"], value=helper.make_tensor("v", F, [2], [1.0, 2.0])),
            helper.make_node("LeakyRelu", ["x"], ["a"], alpha=0.5),
            helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
            helper.make_node("Softmax", ["b"], ["c"], axis=0),
            helper.make_node("Mul", ["c", "k"], ["d"]),
            helper.make_node("Unsqueeze", ["d", "zero"], ["e"]),
            helper.make_node(
                "RNN", ["e", "w", "r"], ["y"], hidden_size=2, activations=["Relu"], direction="reverse"
            ),
            helper.make_node("Einsum", ["d"], ["z"], equation="ij->ji"),
        ]
        weights = [("zero", np.int64([0]))]
        weights += [(name, np.random.rand(1, 2, 2).astype("f")) for name in "wr"]
        outputs = [("y", F, None), ("z", F, None)]
        source = graphs.model(nodes, [("x", F, [2, 3])], outputs, weights)
        _, others = self.check(source, {"x": np.random.rand(2, 3).astype("f") - 0.5})
        self.assertEqual(others, [])

    def test_options_choose_the_device_and_its_level(self):
        node = helper.make_node("CumSum", ["x", "zero"], ["y"])
        shape = ("x", F, [4]), ("y", F, [4])
        source = graphs.model([node], shape[:1], shape[1:], [("zero", np.int64(0))])
        feeds = {"x": np.arange(4, dtype="f")}
        for device in DEVICES:
            chosen = {"device": device.ep_metadata["uuid"], "cache": "off"}
            self.assertEqual(self.check(source, feeds, options=chosen), ([["CumSum"]], []))
        low = {"feature_level": "1_0"}
        self.assertEqual(self.check(source, feeds, options=low), ([], ["CumSum"]))

    def test_wrong_options_say_what_is_accepted(self):
        wrong = {
            "devise": (
                "0",
                "unknown option 'devise'; the options are: "
                "device, feature_level, numerics, profile, cache, program_bytes",
            ),
            "device": ("no such device", "no such device"),
            "feature_level": ("9_9", "9_9"),
            "numerics": ("quick", "unknown numerics 'quick'; accepted: exact, fast"),
            "profile": ("no such profile", "no such profile"),
            "cache": (__file__, "accepted: `off`, or a folder that can be written"),
            "program_bytes": ("1 GB", "accepted: a number of bytes"),
        }
        for name, (value, expected) in wrong.items():
            with self.assertRaises(Exception) as raised:
                graphs.session(graphs.add(), DEVICES[0], {name: value})
            self.assertIn(expected, str(raised.exception))
            self.assertIn("dmlvk: ", str(raised.exception))

    def test_threads_run_one_session(self):
        made = graphs.session(graphs.add(), DEVICES[0])
        wrong = []

        def run(seed):
            random = np.random.default_rng(seed)
            for _ in range(40):
                a, b = random.random((random.integers(1, 4), 3), "f"), random.random(3, "f")
                if not np.array_equal(made.run(None, {"a": a, "b": b})[0], a + b):
                    wrong.append(seed)

        threads = [threading.Thread(target=run, args=[seed]) for seed in range(4)]
        [it.start() for it in threads]
        [it.join() for it in threads]
        self.assertEqual(wrong, [])

    def test_sessions_leave_nothing(self):
        def many(count):
            for _ in range(count):
                made = graphs.session(graphs.add(), DEVICES[0])
                made.run(None, {"a": np.ones((2, 3), "f"), "b": np.ones(3, "f")})
                del made
            return graphs.resident()

        count = 1000 if IS_FULL else 100
        before = many(count // 2)
        growth = many(count) - before
        print(f"{count} sessions: {growth >> 10} KiB more")
        self.assertLess(growth, 4 << 20)

    def test_the_library_is_unregistered_and_comes_back(self):
        code = """
import graphs, numpy as np, onnxruntime as ort, gc
for _ in range(3):
    made = graphs.session(graphs.add(), graphs.register()[0])
    assert made.run(None, {"a": np.ones((2, 3), "f"), "b": np.ones(3, "f")})[0].sum() == 12
    del made
    gc.collect()
    ort.unregister_execution_provider_library("dmlvk")
    assert not graphs.devices()
"""
        self.run_alone(code)

    def test_the_library_that_comes_back_50_times_leaves_nothing(self):
        code = """
import graphs, numpy as np, onnxruntime as ort
def run(made, n):
    made.run(None, {"a": np.ones((2 + n, 3), "f"), "b": np.ones(3, "f")})
def on_plug_in():
    device = graphs.register()[0]
    for n in range(3):
        run(graphs.session(graphs.add(), device, {"cache": "off"}), n)
    del device
    graphs.resident()
    ort.unregister_execution_provider_library("dmlvk")
    assert not graphs.devices()
def on_cpu():
    for n in range(3):
        run(ort.InferenceSession(graphs.add(), providers=["CPUExecutionProvider"]), n)
def growth(once):
    # The allocator gives and takes; what is left behind each time is in every difference of 10.
    resident = []
    for _ in range(5):
        for _ in range(10):
            once()
        resident.append(graphs.resident())
    return min(after - before for before, after in zip(resident, resident[1:]))
print(growth(on_cpu), growth(on_plug_in))
"""
        cpu, growth = map(int, self.run_alone(code).split())
        print(f"10 registrations: {growth >> 10} KiB more; 10 times on the CPU provider: {cpu >> 10} KiB")
        self.assertLess(growth, 1 << 18)

    def test_a_forked_process_has_errors_and_does_not_hang(self):
        code = """
import graphs, numpy as np, os, signal
feeds = {"a": np.ones((2, 3), "f"), "b": np.ones(3, "f")}
device = graphs.register()[0]
early = os.fork()  # Before a session, a child has one of its own.
if early == 0:
    signal.alarm(60)
    graphs.session(graphs.add(), device).run(None, feeds)
    os._exit(0)
assert os.waitpid(early, 0)[1] == 0
made = graphs.session(graphs.add(), device)
made.run(None, feeds)
child = os.fork()
if child == 0:
    signal.alarm(60)  # Ends what hangs.
    for attempt in (lambda: made.run(None, feeds), lambda: graphs.session(graphs.add(), device)):
        try:
            attempt()
        except Exception as error:
            assert "was forked from process" in str(error), error
        else:
            raise SystemExit("it ran")
    os._exit(0)  # ONNX Runtime would wait for its own threads if the session ended here.
assert os.waitpid(child, 0)[1] == 0
made.run(None, feeds)
"""
        self.run_alone(code)

    @unittest.skipUnless("DML_LOSSY_LOADER" in os.environ, "it needs a loader that loses devices")
    def test_a_lost_device_is_an_error_and_nothing_runs_instead(self):
        code = """
import ctypes, graphs, numpy as np, os, pathlib
kept = ctypes.CDLL("libvulkan.so.1")  # Unloaded, it would leave its name to the real one.
flag, feeds = pathlib.Path(os.environ["DML_LOSE_DEVICE"]), {"a": np.ones((2, 3), "f"), "b": np.ones(3, "f")}
device = graphs.register()[0]
made = graphs.session(graphs.add(), device)
made._enable_fallback = True  # As applications have it.
made.run(None, feeds)
flag.touch()
for _ in range(2):  # Also after the driver has recovered.
    try:
        made.run(None, feeds)
    except Exception as error:
        assert type(error).__name__ == "EngineError" and "dmlvk: " in str(error), repr(error)
    else:
        raise AssertionError("it ran")
    flag.unlink(missing_ok=True)
assert made.get_providers()[0] == device.ep_name
again = graphs.session(graphs.add(), device)
assert again.run(None, feeds)[0].sum() == 12
"""
        shim, flag = os.environ["DML_LOSSY_LOADER"], os.path.join(tempfile.mkdtemp(), "lose")
        found = self.run_alone("import ctypes; ctypes.CDLL('libvulkan.so.1'); print(open('/proc/self/maps').read())")
        loader = next(it.split()[-1] for it in found.splitlines() if "libvulkan.so" in it)
        paths = os.pathsep.join([shim, os.environ.get("LD_LIBRARY_PATH", "")])
        more = {"DML_REAL_LOADER": loader, "DML_LOSE_DEVICE": flag, "LD_LIBRARY_PATH": paths}
        said = self.run_alone(code, **more)
        self.assertNotIn("Falling back", said)

    @unittest.skipUnless("DML_OLD_ONNXRUNTIME" in os.environ, "it needs an old version")
    def test_an_old_version_is_refused_with_a_message(self):
        code = """
import sys, os
sys.path.insert(0, os.environ["DML_OLD_ONNXRUNTIME"])
import onnxruntime as ort, onnxruntime_ep_dmlvk as ep
try:
    ort.register_execution_provider_library("dmlvk", ep.get_library_path())
except Exception as error:
    assert "too old" in str(error) and "1.24" in str(error), error
else:
    raise AssertionError("it was taken")
"""
        self.run_alone(code)

    def test_the_programs_of_the_document_run(self):
        text = (pathlib.Path(__file__).parents[4] / "docs/onnxruntime.md").read_text()
        programs = re.findall("```python\n(.*?)```", text, re.DOTALL)
        # That of onnxruntime-genai needs a model of its own: genai.py does what it says.
        programs = [it for it in programs if "onnxruntime_genai" not in it]
        self.assertEqual(len(programs), 3)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "model.onnx").write_bytes(graphs.add())
            said = self.run_alone("".join(programs), folder)
        self.assertIn("DmlVulkanExecutionProvider ['Add']", said)

    def run_alone(self, code, folder=None, **more):
        """What a program prints that runs by itself, and succeeds."""
        ended = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env={**os.environ, **more}, capture_output=True, text=True
        )
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip is printed with its reason
