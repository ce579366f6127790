"""ncnn on Vulkan, with 32-bit storage and arithmetic. `peer.py` tells what a library has to offer."""

HALVES = ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage")
MAGIC = 7767517


def network(additions):
    """Its text: `b` is added to `a` so many times, and the result is `xN`."""
    copies = " ".join(f"b{index}" for index in range(additions))
    layers = ["Input a 0 1 x0", "Input b 0 1 b", f"Split split 1 {additions} b {copies}"]
    layers += [f"BinaryOp add{i} 2 1 x{i} b{i} x{i + 1} 0=0" for i in range(additions)]
    blobs = 2 + 2 * additions
    return "\n".join([str(MAGIC), f"{len(layers)} {blobs}", *layers, ""])


class Library:
    def __init__(self):
        import ncnn
        import numpy

        self.np, self.ncnn = numpy, ncnn
        self.version = ncnn.__version__

    def prepare(self, kind, dtype, sizes, device):
        """`add`: what its users get, which uploads two operands and downloads a result.

        `add_alone`: its Python package cannot leave operands on the device, so this is what an
        addition more in the same network takes.
        """
        if dtype != "f4" or kind not in ("add", "add_alone"):
            raise ValueError(f"there is no {kind} of this type here")
        one = self.additions(1, sizes, device)
        return one if kind == "add" else Difference(one, self.additions(3, sizes, device), 2)

    def additions(self, count, sizes, device):
        np, ncnn = self.np, self.ncnn
        net = ncnn.Net()
        net.opt.use_vulkan_compute = True
        for option in HALVES:
            setattr(net.opt, f"use_{option}", False)
        net.set_vulkan_device(self.device(device))
        if net.load_param_mem(network(count)) or net.load_model(ncnn.DataReaderFromEmpty()):
            raise ValueError("it refuses the network")
        elements = np.arange(np.prod(sizes)).reshape(sizes)
        a, b = ((elements % modulus - 30).astype("f4") for modulus in (61, 59))
        operands = {"x0": ncnn.Mat(a), "b": ncnn.Mat(b)}

        def run():
            extractor = net.create_extractor()
            for name, operand in operands.items():
                extractor.input(name, operand)
            code, result = extractor.extract(f"x{count}")
            if code:
                raise ValueError(f"it ended with {code}")
            return result

        made = Prepared(run, expected=a + count * b)
        made.result = lambda: np.asarray(made.last)
        # The operands only point to these.
        made.memory = a, b
        return made

    def device(self, name):
        for index in range(self.ncnn.get_gpu_count()):
            if self.ncnn.get_gpu_info(index).device_name().startswith(name):
                return index
        raise ValueError("it does not see this device")


class Difference(Prepared):
    """What each of the `extra` things takes that `more` does and `less` does not."""

    def __init__(self, less, more, extra):
        super().__init__(more.run, more.result, more.before, more.expected)
        self.less, self.more, self.extra = less, more, extra

    def timed(self):
        less = self.less.timed()
        self.less.last = None
        # One disturbed turn may make it negative, which is no time; the median of many is not.
        return max((self.more.timed() - less) // self.extra, 1)
