"""What is claimed runs, and has the CPU provider's values: at every feature level, with every kind of shape."""

import unittest

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

import graphs
import random_graphs
import sweep

F, I = TensorProto.FLOAT, TensorProto.INT64
# The refusals of docs/onnxruntime.md for sizes of 0 that only a run brings.
REFUSED = ()
# The CPU provider of older versions ends the process for some sizes of 0.
HAS_EMPTY = int(ort.__version__.split(".")[1]) >= 32
LEVELS = ("1_0", "2_0", "2_1", "4_0", "6_4")


def setUpModule():
    global DEVICE
    DEVICE = graphs.register()[-1]


def same(found, wanted, what):
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{what}: {a.dtype} {a.shape} for {b.dtype} {b.shape}"
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=what)


class Claims(unittest.TestCase):
    def test_every_operator_runs_with_sizes_of_0_as_the_cpu_provider_does(self):
        random, wrong, compared = np.random.default_rng(1), [], 0
        for case in sweep.CASES:
            opened = graphs.session(case.model(), DEVICE, {"cache": "off"})
            for zero in (None, *(case.names() if HAS_EMPTY else ())):
                sizes = {**sweep.SIZES, **({zero: 0} if zero else {})}
                feeds = case.feeds(sizes, random)
                try:
                    wanted = graphs.on_cpu(case.model(sizes), feeds)
                except Exception:
                    continue  # No answer to compare with: ONNX has none.
                for made in (opened, graphs.session(case.model(sizes), DEVICE, {"cache": "off"})):
                    what = f"{case}, {zero} is 0, {'open' if made is opened else 'fixed'}"
                    try:
                        found = made.run(None, feeds)
                    except Exception as error:
                        # The limits of the document: an error, and never another value.
                        if case.operator not in REFUSED:
                            wrong.append(f"{what}: {str(error).strip()[:300]}")
                        continue
                    if case.operator == "ReduceMean":
                        wanted = [np.where(np.isnan(found[0]), np.nan, wanted[0])]
                    try:
                        same(found, wanted, what)
                        compared += 1
                    except AssertionError as error:
                        wrong.append(f"{what}: {str(error).strip()[:300]}")
        print(f"{compared} runs of {len(sweep.CASES)} nodes")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_every_level_runs_what_it_claims_of_a_chain(self):
        weights = [("w", np.random.default_rng(2).random((4, 4), np.float32))]
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Softmax", ["b"], ["y"], axis=-1),
        ]
        for rows in ("n", 3):
            source = graphs.model(nodes, [("x", F, [rows, 4])], [("y", F, [rows, 4])], weights)
            feeds = {"x": np.random.default_rng(3).random((3, 4), np.float32)}
            wanted = graphs.on_cpu(source, feeds)
            for level in LEVELS:
                made = graphs.session(source, DEVICE, {"feature_level": level, "cache": "off"})
                same(made.run(None, feeds), wanted, level)
                groups, others = graphs.assigned(made)
                # Before 2_1 there are no graphs of operators.
                joined = level not in ("1_0", "2_0")
                self.assertEqual(groups, [["MatMul", "Relu", "Softmax"]] if joined else [["MatMul"], ["Relu"], ["Softmax"]])
                self.assertEqual(others, [])

    def test_every_level_runs_what_it_claims_of_random_graphs(self):
        claimed = 0
        for seed in range(8):
            graph = random_graphs.Graph(seed)
            for level in LEVELS:
                options = {"feature_level": level, "cache": "off"}
                opened = graphs.session(graph.model(), DEVICE, options)
                for sizes in random_graphs.SIZES:
                    feeds = graph.feeds(sizes)
                    wanted = graphs.on_cpu(graph.model(sizes), feeds)
                    fixed = graphs.session(graph.model(sizes), DEVICE, options)
                    for made in (opened, fixed):
                        same(made.run(None, feeds), wanted, f"seed {seed}, level {level}, {sizes}")
                        groups, _ = graphs.assigned(made)
                        claimed += sum(map(len, groups))
                        if level in ("1_0", "2_0"):
                            self.assertTrue(all(len(it) == 1 for it in groups), groups)
        print(f"{claimed} nodes on the device")
        self.assertGreater(claimed, 1000)

    def test_open_sizes_that_constants_decide_are_no_reason_to_stay(self):
        split = helper.make_node("Split", ["x", "parts"], ["a", "b"], axis=0)
        halves = graphs.model(
            [split, helper.make_node("Neg", ["a"], ["y"]), helper.make_node("Exp", ["b"], ["z"])],
            [("x", F, ["n", 2])], [("y", F, None), ("z", F, None)], [("parts", np.int64([2, 3]))],
        )
        frames = graphs.model(
            [helper.make_node("STFT", ["x", "step", "window"], ["y"])],
            [("x", F, [1, "n", 1])], [("y", F, None)],
            [("step", np.int64(64)), ("window", np.hanning(256).astype("f"))],
        )
        random = np.random.default_rng(4)
        weights = [("w", random.random((1, 2, 3), np.float32)), ("r", random.random((1, 2, 2), np.float32))]
        lengths = graphs.model(
            [helper.make_node("RNN", ["x", "w", "r", "", "n"], ["y"], hidden_size=2)],
            [("x", F, ["s", "b", 3])], [("y", F, None)], [*weights, ("n", np.int32([5, 3]))],
        )
        for source, shape in ((halves, (5, 2)), (frames, (1, 700, 1)), (lengths, (5, 2, 3))):
            feeds = {"x": random.random(shape, np.float32)}
            made = graphs.session(source, DEVICE)
            same(made.run(None, feeds), graphs.on_cpu(source, feeds), str(shape))
            self.assertEqual(graphs.assigned(made)[1], [])

    def test_values_that_differ_from_the_cpu_provider_s_are_those_of_the_document(self):
        def answer(node, feeds, constants=(), opset=17, kind=F):
            given = [(name, I if it.dtype == np.int64 else F, list(it.shape)) for name, it in feeds.items()]
            source = graphs.model([node], given, [("y", kind, None)], constants, opset=opset)
            made = graphs.session(source, DEVICE)
            self.assertEqual(graphs.assigned(made)[1], [], node.op_type)
            return made.run(None, feeds)[0].tolist()

        x = np.float32([-2, 0, 2])
        clip = helper.make_node("Clip", ["x", "low", "high"], ["y"])
        bounds = [("low", np.float32(-1)), ("high", np.float32(np.nan))]
        self.assertTrue(np.isnan(answer(clip, {"x": x}, bounds)).all())
        mean = helper.make_node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)
        self.assertTrue(np.isnan(answer(mean, {"x": np.zeros((2, 0), "f")})).all())
        cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT8)
        self.assertEqual(answer(cast, {"x": np.float32([-1, 300, np.nan])}, kind=TensorProto.UINT8), [0, 255, 0])
        for operator, indices in (("Gather", [5, -9]), ("GatherElements", [5, -9]), ("GatherND", [[5], [-9]])):
            node = helper.make_node(operator, ["x", "i"], ["y"])
            self.assertEqual(answer(node, {"x": x, "i": np.int64(indices)}), [2, -2], operator)


if __name__ == "__main__":
    unittest.main(verbosity=2)
