"""One library that makes identity matrices, measured on request.

Started as `python3 -c SCRIPT LIBRARY`. The first line that it prints is {"version": ..} or
{"error": ..}. Then each line read is a request, each line printed its answer:

    {"prepare": NAME, "type": "FLOAT32", "sizes": [4096, 4096]} -> {} or {"error": ..}
    {"run": NAME}                                               -> {"ns": ..} or {"error": ..}

A run is timed here, and its result compared with the expected one after the time was taken.
"""

import json
import os
import sys
from time import perf_counter_ns

# Whatever a library prints must not be taken for an answer.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

WARM_UP_RUNS = 3


def answer(value):
    print(json.dumps(value), file=answers)


def numpy_type(name):
    return {"INT8": "i1", "UINT8": "u1", "FLOAT16": "f2", "FLOAT32": "f4", "FLOAT64": "f8"}[name]


class Prepared:
    """Something to run: `run()` is timed, `result()` is an array of numpy's."""

    def __init__(self, run, result=None, before=None):
        self.run = run
        self.last = None
        self.result = result or (lambda: self.last)
        self.before = before or (lambda: None)

    def timed(self):
        # What the last run allocated is freed before the clock starts.
        self.last = None
        self.before()
        start = perf_counter_ns()
        self.last = self.run()
        return perf_counter_ns() - start


def batches(sizes):
    count = 1
    for size in sizes[:-2]:
        count *= size
    return count


class Numpy:
    def __init__(self):
        import numpy

        self.np = numpy
        self.version = numpy.__version__

    def prepare(self, kind, dtype, sizes):
        np, (rows, columns) = self.np, sizes[-2:]
        if kind == "eye":
            if len(sizes) != 2:
                raise ValueError("numpy.eye has no batches")
            return Prepared(lambda: np.eye(rows, columns, dtype=dtype))
        if kind == "broadcast_copy":
            return Prepared(lambda: np.broadcast_to(np.eye(rows, columns, dtype=dtype), sizes).copy())
        if kind == "preallocated":
            out = np.full(sizes, 3, dtype=dtype)
            diagonal = np.einsum("...ii->...i", out)

            def run():
                out.fill(0)
                diagonal[...] = 1

            return Prepared(run, lambda: out, lambda: out.fill(3))
        raise ValueError(f"numpy has no {kind}")


class OnnxRuntime:
    def __init__(self):
        import numpy
        import onnx
        import onnxruntime

        self.np, self.onnx, self.ort = numpy, onnx, onnxruntime
        self.version = onnxruntime.__version__

    def prepare(self, kind, dtype, sizes):
        helper, types = self.onnx.helper, self.onnx.TensorProto
        if len(sizes) != 2:
            raise ValueError("EyeLike has no batches")
        element = {"f4": types.FLOAT, "f8": types.DOUBLE}.get(dtype)
        if element is None:
            raise ValueError("EyeLike is not implemented for this type")
        node = helper.make_node("EyeLike", ["x"], ["y"], dtype=element)
        x = helper.make_tensor_value_info("x", element, sizes)
        y = helper.make_tensor_value_info("y", element, sizes)
        graph = helper.make_graph([node], "eye", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
        providers = ["CPUExecutionProvider"]
        session = self.ort.InferenceSession(model.SerializeToString(), providers=providers)
        value, out = self.np.zeros(sizes, dtype), self.np.full(sizes, 3, dtype)
        binding = session.io_binding()
        binding.bind_cpu_input("x", value)
        shape, pointer = list(out.shape), out.ctypes.data
        binding.bind_output("y", "cpu", 0, out.dtype, shape, pointer)
        # `value` is named so that it lives as long as the binding.
        run = lambda value=value: session.run_with_iobinding(binding)
        return Prepared(run, lambda: out, lambda: out.fill(3))


class OpenVino:
    def __init__(self):
        # A benchmark tells nobody on the network that it ran.
        sys.modules["openvino_telemetry"] = None
        import numpy
        import openvino
        from openvino import opset9

        self.np, self.ov, self.opset = numpy, openvino, opset9
        self.version = openvino.__version__.split("-")[0]

    def prepare(self, kind, dtype, sizes):
        ov, opset = self.ov, self.opset
        element = {"i1": "i8", "u1": "u8", "f2": "f16", "f4": "f32", "f8": "f64"}[dtype]
        # The diagonal is a parameter: a constant one is folded when the model is compiled.
        diagonal = opset.parameter([1], dtype=self.np.int32)
        rows, columns = (opset.constant(size, dtype=self.np.int32) for size in sizes[-2:])
        arguments = [rows, columns, diagonal, element]
        if sizes[:-2]:
            arguments.append(opset.constant(sizes[:-2], dtype=self.np.int32))
        model = ov.Model([opset.eye(*arguments)], [diagonal])
        request = ov.Core().compile_model(model, "CPU").create_infer_request()
        value, out = self.np.zeros([1], self.np.int32), self.np.full(sizes, 3, dtype)
        request.set_input_tensor(ov.Tensor(value, shared_memory=True))
        request.set_output_tensor(ov.Tensor(out, shared_memory=True))
        # `value` is named so that it lives as long as the request, which only points to it.
        # By default Python is given a copy of the output.
        share = kind == "Eye_no_copy"
        run = lambda value=value: request.infer(share_outputs=share)
        return Prepared(run, lambda: out, lambda: out.fill(3))


class Jax:
    def __init__(self):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import numpy

        jax.config.update("jax_enable_x64", True)
        self.jax, self.np = jax, numpy
        self.version = jax.__version__

    def prepare(self, kind, dtype, sizes):
        jnp, (rows, columns) = self.jax.numpy, sizes[-2:]

        # The diagonal is an argument: without one the result is a constant.
        def eye(k):
            one = jnp.eye(rows, columns, k, dtype=dtype)
            return jnp.broadcast_to(one, sizes) if sizes[:-2] else one

        compiled, k = self.jax.jit(eye), jnp.int32(0)
        made = Prepared(lambda: compiled(k).block_until_ready())
        made.result = lambda: self.np.asarray(made.last)
        return made


class Torch:
    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("no NVIDIA GPU answers")
        self.torch, self.version = torch, torch.__version__

    def prepare(self, kind, dtype, sizes):
        torch, (rows, columns) = self.torch, sizes[-2:]
        element = {"i1": "int8", "u1": "uint8", "f2": "float16", "f4": "float32", "f8": "float64"}
        options = {"dtype": getattr(torch, element[dtype]), "device": "cuda"}
        out = torch.full([rows, columns], 3, **options)

        def run():
            if sizes[:-2]:
                made = torch.eye(rows, columns, **options).expand(sizes).contiguous()
            else:
                made = torch.eye(rows, columns, out=out, **options)
            torch.cuda.synchronize()
            return made

        def before():
            out.fill_(3)
            torch.cuda.synchronize()

        made = Prepared(run, None, before)
        made.result = lambda: made.last.cpu().numpy()
        return made


class Cupy:
    def __init__(self):
        import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise RuntimeError("no NVIDIA GPU answers")
        self.cupy, self.version = cupy, cupy.__version__

    def prepare(self, kind, dtype, sizes):
        cupy, (rows, columns) = self.cupy, sizes[-2:]
        synchronize = cupy.cuda.runtime.deviceSynchronize
        if kind == "cudaMemset":
            out = cupy.full(sizes, 3, dtype=dtype)

            def run():
                cupy.cuda.runtime.memset(out.data.ptr, 0, out.nbytes)
                synchronize()

            # Zeros are no identity: the caller is told that there is nothing to compare.
            return Prepared(run, lambda: None, lambda: (out.fill(3), synchronize()))

        def run():
            made = cupy.eye(rows, columns, dtype=dtype)
            if sizes[:-2]:
                made = cupy.ascontiguousarray(cupy.broadcast_to(made, sizes))
            synchronize()
            return made

        made = Prepared(run)
        made.result = lambda: made.last.get()
        return made


LIBRARIES = {
    "numpy": Numpy,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "jax": Jax,
    "torch": Torch,
    "cupy": Cupy,
}


def check(prepared, sizes):
    """Raises where the last result is not one identity matrix for each batch."""
    result = prepared.result()
    if result is None:
        return
    import numpy

    if list(result.shape) != list(sizes):
        raise ValueError(f"its result has the shape {list(result.shape)}")
    ones = min(sizes[-2:]) * batches(sizes)
    diagonal = numpy.einsum("...ii->...i", result[..., : min(sizes[-2:]), : min(sizes[-2:])])
    # All ones where they belong, and nothing else anywhere.
    if not (diagonal == 1).all() or numpy.count_nonzero(result) != ones:
        raise ValueError("its result is wrong")


def main():
    try:
        library = LIBRARIES[sys.argv[1]]()
    except Exception as error:
        return answer({"error": f"{type(error).__name__}: {error}"})
    answer({"version": library.version})
    made = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "prepare" in request:
                name, sizes = request["prepare"], request["sizes"]
                # Only one case is measured at a time, so what an earlier one held is freed.
                made.pop(name, None)
                kind = name.split(":")[1]
                prepared = library.prepare(kind, numpy_type(request["type"]), sizes)
                for _ in range(WARM_UP_RUNS):
                    prepared.timed()
                    check(prepared, sizes)
                made[name] = prepared, sizes
                answer({})
            else:
                prepared, sizes = made[request["run"]]
                time = prepared.timed()
                check(prepared, sizes)
                answer({"ns": time})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]})


main()
