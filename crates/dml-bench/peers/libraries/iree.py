"""IREE on Vulkan, compiled for its target vulkan-spirv. `peer.py` tells what a library has to offer."""

# Each reads `a`, and perhaps `b`, and writes `out`. Sizes are those of matrices.
BODIES = {
    "gemm": """
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %result = linalg.matmul ins(%a, %b : {a}, {b}) outs(%fill : {out}) -> {out}
""",
    "softmax": """
  %result = linalg.softmax dimension(1) ins(%a : {a}) outs(%empty : {out}) -> {out}
""",
    "reduce_rows": """
  %sums = tensor.empty() : tensor<{rows}xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%sums : tensor<{rows}xf32>) -> tensor<{rows}xf32>
  %reduced = linalg.reduce {{ arith.addf }}
    ins(%a : {a}) outs(%fill : tensor<{rows}xf32>) dimensions = [1]
  %result = tensor.expand_shape %reduced [[0, 1]] output_shape [{rows}, 1]
    : tensor<{rows}xf32> into {out}
""",
}

MAIN = """
func.func @main({inputs}, %out: {out} {{iree.abi.output = 0 : index}}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {out}
{body}
  return %result : {out}
}}
"""

SOURCE = """
func.func @add(%a: {t}, %b: {t}, %out: {t} {{iree.abi.output = 0 : index}}) -> {t} {{
  %sum = arith.addf %a, %b : {t}
  return %sum : {t}
}}
"""


def tensor(sizes):
    return "tensor<" + "x".join(map(str, sizes)) + "xf32>"


def shaped(made, sizes):
    """The same with the sizes that the result is asked for with."""
    result, made.expected = made.result, made.expected.reshape(sizes)
    made.result = lambda: result().reshape(sizes)
    return made


class Library:
    KINDS = tuple(BODIES)

    def __init__(self):
        from importlib import metadata

        import iree.compiler
        import iree.runtime
        import numpy

        self.np, self.compiler, self.runtime = numpy, iree.compiler, iree.runtime
        self.version = metadata.version("iree-base-compiler")

    def prepare(self, kind, dtype, sizes, device):
        """`add`: operands and result are on the device and stay there; nothing is allocated."""
        if (kind, dtype) != ("add", "f4"):
            raise ValueError(f"there is no {kind} of this type here")
        np, device = self.np, self.device(device)
        elements = np.arange(np.prod(sizes)).reshape(sizes)
        a, b = ((elements % modulus - 30).astype("f4") for modulus in (61, 59))
        source = SOURCE.format(t=tensor(sizes))
        return self.compiled(device, source, "add", (a, b), a + b, 0)

    def more(self, kind, request):
        """The same of other operators, on matrices."""
        inputs = [numbers(sizes[-2:], at) for at, sizes in enumerate(request["inputs"])]
        result, tolerance = expected(kind, inputs, request["parameters"])
        names = dict(zip("ab", (tensor(it.shape) for it in inputs)), out=tensor(result.shape))
        body = BODIES[kind].format(**names, rows=result.shape[0])
        arguments = ", ".join(f"%{name}: {names[name]}" for name in "ab"[: len(inputs)])
        source = MAIN.format(inputs=arguments, out=names["out"], body=body)
        device = self.device(request["device"])
        made = self.compiled(device, source, "main", inputs, result, tolerance)
        return shaped(made, request["sizes"])

    def compiled(self, device, source, name, inputs, result, tolerance):
        np, runtime = self.np, self.runtime
        # What the output has before is not the result.
        other = np.full(result.shape, 99, "f4")
        on_device = [runtime.asdevicearray(device, it) for it in (*inputs, other, other)]
        *arguments, other = on_device
        binary = self.compiler.compile_str(
            source, target_backends=["vulkan-spirv"], input_type="none"
        )
        context = runtime.SystemContext(config=runtime.Config(device=device))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
        function = context.modules.module[name]
        out, source = (array._buffer_view.get_buffer() for array in on_device[-2:])
        staging = device.allocator.allocate_buffer(
            memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
            allocation_size=out.byte_length(),
        )

        def read_back():
            # Its own `to_host` imports host memory, which it does not align as these drivers ask.
            self.copy(device, out, staging)
            return staging.map().asarray(result.shape, np.dtype("f4"))

        overwrite = lambda: self.copy(device, source, out)
        return Prepared(lambda: function(*arguments), read_back, overwrite, result, tolerance)

    def device(self, name):
        driver = self.runtime.get_driver("vulkan")
        for info in driver.query_available_devices():
            if info["name"].startswith(name):
                return driver.create_device(info["device_id"])
        raise ValueError("it does not see this device")

    def copy(self, device, source, target):
        fence, semaphore = self.runtime.HalFence, device.create_semaphore(0)
        done = fence.create_at(semaphore, 1)
        device.queue_copy(
            source,
            target,
            wait_semaphores=fence.create_at(semaphore, 0),
            signal_semaphores=done,
        )
        done.wait()
