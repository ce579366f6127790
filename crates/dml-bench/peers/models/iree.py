"""Models on IREE with Vulkan, compiled for its target vulkan-spirv. `whole.py` tells what it has to offer."""

import contextlib
import os
import re
import subprocess
import sys

PACKAGES = ("iree",)
# The first opset of which its importer knows all operators.
OPSET = 17


def with_sizes(file, inputs, work):
    """The model of these inputs: its importer wants sizes, and recent operators."""
    import onnx
    from onnx import version_converter

    model = onnx.load(file)
    constants = {it.name for it in model.graph.initializer}
    given = (it for it in model.graph.input if it.name not in constants)
    for value, tensor in zip(given, inputs):
        shape = value.type.tensor_type.shape
        shape.ClearField("dim")
        for size in tensor.shape:
            shape.dim.add().dim_value = size
    if any(it.domain in ("", "ai.onnx") and it.version < OPSET for it in model.opset_import):
        # It cannot convert all, and the importer knows many of the older operators.
        with contextlib.suppress(RuntimeError):
            model = version_converter.convert_version(model, OPSET)
    made = work / "model.onnx"
    onnx.save(model, made)
    return made


def tool(what, *arguments):
    """Runs one of its modules, and raises with what is wrong first."""
    command = [sys.executable, "-m", f"iree.compiler.tools.{what}", *arguments]
    # This process was told where packages are, others are by this.
    environment = {**os.environ, "PYTHONPATH": sys.path[0]}
    ended = subprocess.run(command, env=environment, text=True, stderr=subprocess.PIPE)
    if ended.returncode:
        raise ValueError(f"{what.split('.')[-1]}: {first_error(ended.stderr)}")


def first_error(text):
    """In a few words: the operator that it does not know, or what comes before the code."""
    lines = re.findall(r"error: (.*)", text) or text.strip().splitlines()[-1:] or ["no error is told"]
    if unknown := re.search(r'"onnx\.(\w+)"', lines[0]):
        return f"no {unknown[1]} of this kind"
    return re.sub(r": %.*", "", lines[0])


def device_named(runtime, name):
    driver = runtime.get_driver("vulkan")
    for info in driver.query_available_devices():
        if info["name"].startswith(name):
            return driver.create_device(info["device_id"])
    raise ValueError("it does not see this device")


def prepare(file, inputs, expected, device, work):
    import iree.runtime as runtime

    source, binary = work / "model.mlir", work / "model.vmfb"
    tool("import_onnx", with_sizes(file, inputs, work), "-o", source)
    target = "--iree-hal-target-backends=vulkan-spirv"
    tool("scripts.iree_compile", source, target, "-o", binary)
    device = device_named(runtime, device)
    context = runtime.SystemContext(config=runtime.Config(device=device))
    module = runtime.VmModule.mmap(context.instance, str(binary))
    context.add_vm_module(module)
    [name] = [it for it in module.function_names if not it.startswith("__") and not it.endswith("$async")]
    function = context.modules[module.name][name]
    reader = Reader(runtime, device)

    def run():
        results = function(*inputs)
        results = results if isinstance(results, (tuple, list)) else [results]
        return [reader.read(it) for it in results]

    return run


class Reader:
    """Copies results to the host."""

    def __init__(self, runtime, device):
        self.runtime, self.device, self.buffers = runtime, device, {}

    def read(self, array):
        # Its own `to_host` imports host memory, which it does not align as these drivers ask.
        source = array._buffer_view.get_buffer()
        staging = self.staging(source.byte_length())
        fence, semaphore = self.runtime.HalFence, self.device.create_semaphore(0)
        done = fence.create_at(semaphore, 1)
        before = fence.create_at(semaphore, 0)
        self.device.queue_copy(source, staging, wait_semaphores=before, signal_semaphores=done)
        done.wait()
        return staging.map().asarray(array.shape, array.dtype).copy()

    def staging(self, length):
        runtime = self.runtime
        if length not in self.buffers:
            self.buffers[length] = self.device.allocator.allocate_buffer(
                memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
                allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
                allocation_size=length,
            )
        return self.buffers[length]
