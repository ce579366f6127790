"""IREE on Vulkan, compiled for its target vulkan-spirv. `peer.py` tells what a library has to offer."""

SOURCE = """
func.func @add(%a: {t}, %b: {t}, %out: {t} {{iree.abi.output = 0 : index}}) -> {t} {{
  %sum = arith.addf %a, %b : {t}
  return %sum : {t}
}}
"""


class Library:
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
        np, runtime, device = self.np, self.runtime, self.device(device)
        elements = np.arange(np.prod(sizes)).reshape(sizes)
        a, b = ((elements % modulus - 30).astype("f4") for modulus in (61, 59))
        on_device = [runtime.asdevicearray(device, array) for array in (a, b, a)]
        tensor = "tensor<" + "x".join(map(str, sizes)) + "xf32>"
        binary = self.compiler.compile_str(
            SOURCE.format(t=tensor), target_backends=["vulkan-spirv"], input_type="none"
        )
        context = runtime.SystemContext(config=runtime.Config(device=device))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
        add = context.modules.module["add"]
        source, _, out = (array._buffer_view.get_buffer() for array in on_device)
        staging = device.allocator.allocate_buffer(
            memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
            allocation_size=out.byte_length(),
        )

        def read_back():
            # Its own `to_host` imports host memory, which it does not align as these drivers ask.
            self.copy(device, out, staging)
            return staging.map().asarray(sizes, np.dtype(dtype))

        # What is not written again is not the sum.
        overwrite = lambda: self.copy(device, source, out)
        return Prepared(lambda: add(*on_device), read_back, overwrite, a + b)

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
