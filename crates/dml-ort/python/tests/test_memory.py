"""The provider's device memory under a stock ONNX Runtime: values that stay on the device, and those that are copied."""

import threading
import unittest

import numpy as np
import onnxruntime as ort
import onnxruntime_ep_dmlvk as ep
from onnx import TensorProto, helper

import graphs

F, I = TensorProto.FLOAT, TensorProto.INT64
# Larger than what the host always knows.
LARGE = 1024
TYPES = {"float": "f4", "float16": "f2", "double": "f8", "int8": "i1", "uint16": "u2", "int64": "i8", "bool": "?"}
TYPES = {f"tensor({name})": kind for name, kind in TYPES.items()}


def setUpModule():
    global DEVICES, MEMORY
    DEVICES = graphs.register()
    MEMORY = graphs.memory(DEVICES[0])


def on_device(array):
    return ort.OrtValue.ortvalue_from_numpy(array, *MEMORY)


def room(shape, kind=np.float32):
    return ort.OrtValue.ortvalue_from_shape_and_type(shape, kind, *MEMORY)


def on_host(value):
    """A copy of a value in the device memory."""
    found = np.empty(value.shape(), TYPES[value.data_type()])
    graphs.copy([value], [ort.OrtValue.ortvalue_from_numpy(found)])
    return found


def chain(*operators):
    """A model of operators of one input, one after the other."""
    names = ["x", *(f"v{at}" for at in range(len(operators) - 1)), "y"]
    nodes = [helper.make_node(it, [names[at]], [names[at + 1]]) for at, it in enumerate(operators)]
    return graphs.model(nodes, [("x", F, ["n"])], [("y", F, ["n"])])


class Memory(unittest.TestCase):
    def run_bound(self, made, inputs, outputs):
        """Runs with values of the device memory; the bytes that were copied to the device and from it."""
        binding = made.io_binding()
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in outputs.items():
            binding.bind_ortvalue_output(name, value)
        before = ep.copied_bytes()
        made.run_with_iobinding(binding)
        return [now - then for now, then in zip(ep.copied_bytes(), before, strict=True)]

    def test_all_devices_have_one_memory(self):
        self.assertEqual({graphs.memory(it) for it in DEVICES}, {MEMORY})
        self.assertEqual(MEMORY[0], "gpu")

    def test_values_go_to_the_memory_and_come_back(self):
        for kind in ["f4", "f2", "f8", "i1", "u2", "i8", "?"]:
            for shape in [(3, 5), (), (0, 2), (70, 70)]:
                array = np.asarray(np.random.rand(*shape) * 9).astype(kind)
                np.testing.assert_array_equal(on_host(on_device(array)), array)
        self.assertEqual(on_host(room([4])).shape, (4,))

    def test_a_copy_does_not_change_with_its_source(self):
        first, second = on_device(np.full(LARGE, 1, "f")), room([LARGE])
        graphs.copy([first], [second])
        graphs.copy([ort.OrtValue.ortvalue_from_numpy(np.full(LARGE, 2, "f"))], [first])
        self.assertEqual([on_host(it)[-1] for it in (first, second)], [2, 1])

    def test_values_between_runs_are_not_copied(self):
        made = graphs.session(chain("Neg", "Relu"), DEVICES[0])
        x, y = np.arange(-LARGE, LARGE, dtype="f"), room([2 * LARGE])
        given = on_device(x)
        self.assertEqual(self.run_bound(made, {"x": given}, {"y": y}), [x.nbytes, 0])
        # A value that is read again goes to the device for good.
        self.assertEqual(self.run_bound(made, {"x": given}, {"y": y}), [x.nbytes, 0])
        self.assertEqual(self.run_bound(made, {"x": given}, {"y": y}), [0, 0])
        z = room([2 * LARGE])
        self.assertEqual(self.run_bound(made, {"x": y}, {"y": z}), [0, 0])
        np.testing.assert_array_equal(on_host(y), np.maximum(-x, 0))
        np.testing.assert_array_equal(on_host(z), np.maximum(-np.maximum(-x, 0), 0))

    def test_an_output_may_take_the_place_of_an_input(self):
        made, value = graphs.session(chain("Neg", "Exp"), DEVICES[0]), on_device(np.zeros(LARGE, "f"))
        expected = np.zeros(LARGE, "f")
        for _ in range(5):
            self.run_bound(made, {"x": value}, {"y": value})
            expected = np.exp(-expected)
            np.testing.assert_allclose(on_host(value), expected, rtol=1e-6)

    def test_outputs_that_the_host_reads_come_with_the_run(self):
        made, x = graphs.session(chain("Neg"), DEVICES[0]), np.arange(LARGE, dtype="f")
        for _ in range(3):
            before = ep.copied_bytes()
            np.testing.assert_array_equal(made.run(None, {"x": x})[0], -x)
            copied = [now - then for now, then in zip(ep.copied_bytes(), before, strict=True)]
            self.assertEqual(copied, [x.nbytes, x.nbytes])

    def test_a_value_of_one_device_runs_on_another(self):
        value, x = room([LARGE]), np.arange(LARGE, dtype="f")
        self.run_bound(graphs.session(chain("Neg"), DEVICES[0]), {"x": on_device(x)}, {"y": value})
        for device in DEVICES:
            other = room([LARGE])
            self.run_bound(graphs.session(chain("Neg"), device), {"x": value}, {"y": other})
            np.testing.assert_array_equal(on_host(other), x)

    def test_nodes_of_the_cpu_get_copies(self):
        nodes = [
            helper.make_node("Neg", ["x"], ["a"]),
            helper.make_node("SequenceConstruct", ["a"], ["s"]),
            helper.make_node("SequenceAt", ["s", "zero"], ["b"]),
            helper.make_node("Add", ["a", "b"], ["y"]),
        ]
        source = graphs.model(nodes, [("x", F, ["n"])], [("y", F, ["n"])], [("zero", np.int64(0))])
        made, x, y = graphs.session(source, DEVICES[0]), np.arange(LARGE, dtype="f"), room([LARGE])
        for _ in range(3):
            self.run_bound(made, {"x": on_device(x)}, {"y": y})
            np.testing.assert_array_equal(on_host(y), -2 * x)

    def test_pointers_into_an_allocation_are_followed(self):
        made, x, y = graphs.session(chain("Neg"), DEVICES[0]), np.arange(4 * LARGE, dtype="f"), room([LARGE])
        whole = on_device(x)
        for part in (0, 1, 3):
            self.run_at(made, whole.data_ptr() + 4 * LARGE * part, [LARGE], y)
            np.testing.assert_array_equal(on_host(y), -x[LARGE * part : LARGE * (part + 1)])

    def run_at(self, made, address, shape, output):
        binding = made.io_binding()
        binding.bind_input("x", MEMORY[0], MEMORY[1], np.float32, shape, address)
        binding.bind_ortvalue_output("y", output)
        made.run_with_iobinding(binding)

    def test_bad_addresses_are_errors(self):
        made, y = graphs.session(chain("Neg"), DEVICES[0]), room([LARGE])
        value = on_device(np.zeros(LARGE, "f"))
        address = value.data_ptr()
        wrong = [
            (address, LARGE + 1, "where the allocation has 4096 bytes"),
            (address + 4, LARGE, "where the allocation has 4092 bytes"),
            (0x1000, LARGE, "is not memory of this provider"),
            (address + (1 << 30), LARGE, "is in no allocation"),
        ]
        for where, count, message in wrong:
            with self.assertRaisesRegex(Exception, f"dmlvk: input 'x': .*{message}"):
                self.run_at(made, where, [count], y)
        del value
        with self.assertRaisesRegex(Exception, "is in no allocation"):
            self.run_at(made, address, [LARGE], y)

    def test_an_output_of_another_shape_is_an_error(self):
        made, x = graphs.session(chain("Neg"), DEVICES[0]), on_device(np.ones(LARGE, "f"))
        with self.assertRaises(Exception):
            self.run_bound(made, {"x": x}, {"y": room([LARGE + 1])})
        self.assertEqual(on_host(x)[-1], 1)

    def test_a_decoder_copies_no_cache(self):
        """Past and present are one value of a fixed size, or present grows: the cache stays on the device."""
        layers, heads, width, capacity = 2, 4, 64, 32
        source = graphs.decoder(layers, heads * width, heads, heads, longest=capacity)
        names = [f"{kind}_{at}" for at in range(layers) for kind in ("key", "value")]
        made = graphs.session(source, DEVICES[0])
        for grows in (False, True):
            size = 0 if grows else capacity
            zeros = {f"past_{name}": np.zeros((1, heads, size, width), "f") for name in names}
            past = {name: on_device(it) for name, it in zeros.items()}
            expected, ids, length = zeros, np.array([[3, 9, 27, 5, 40]]), 0
            for step in range(8):
                length += ids.shape[1]
                mask = np.ones((1, length), "i8") if grows else (np.arange(capacity) < length)[None].astype("i8")
                present = past if not grows else {
                    f"past_{name}": room([1, heads, length, width]) for name in names
                }
                logits = room([1, ids.shape[1], 48])
                inputs = {"input_ids": on_device(ids), "attention_mask": on_device(mask), **past}
                outputs = {"logits": logits, **{it.replace("past", "present"): at for it, at in present.items()}}
                copied = self.run_bound(made, inputs, outputs)
                wanted = graphs.on_cpu(source, {"input_ids": ids, "attention_mask": mask, **expected})
                np.testing.assert_allclose(on_host(logits), wanted[0], rtol=1e-4, atol=1e-4)
                expected, past = dict(zip(expected, wanted[1:], strict=True)), present
                if step > 0:
                    # Ids and mask; the logits of one token are so few that they come with the run.
                    self.assertEqual(copied, [ids.nbytes + mask.nbytes, wanted[0].nbytes], (grows, step))
                ids = wanted[0][:, -1:].argmax(-1)
            for name, cache in past.items():
                np.testing.assert_allclose(on_host(cache)[:, :, :length], expected[name][:, :, :length], rtol=1e-4, atol=1e-4)

    def test_threads_have_their_own_values(self):
        made, wrong = graphs.session(chain("Neg", "Exp"), DEVICES[0]), []

        def run(seed):
            random = np.random.default_rng(seed)
            for _ in range(20):
                x = random.random(LARGE * random.integers(1, 4), "f")
                value = on_device(x)
                self.run_bound(made, {"x": value}, {"y": value})
                if not np.allclose(on_host(value), np.exp(-x), rtol=1e-6):
                    wrong.append(seed)

        threads = [threading.Thread(target=run, args=[seed]) for seed in range(4)]
        [it.start() for it in threads]
        [it.join() for it in threads]
        self.assertEqual(wrong, [])

    def test_values_leave_nothing(self):
        made = graphs.session(chain("Neg"), DEVICES[0])

        def many(count):
            for at in range(count):
                value = on_device(np.ones(LARGE * (1 + at % 3), "f"))
                self.run_bound(made, {"x": value}, {"y": value})
            return graphs.resident()

        before = many(200)
        self.assertLess(many(200) - before, 4 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
