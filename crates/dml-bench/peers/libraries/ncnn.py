"""ncnn on Vulkan, with 32-bit storage and arithmetic. `peer.py` tells what a library has to offer."""

import tempfile

HALVES = ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage")
MAGIC = 7767517


def network(additions):
    """Its text: `b` is added to `a` so many times, and the result is `xN`."""
    copies = " ".join(f"b{index}" for index in range(additions))
    layers = ["Input a 0 1 x0", "Input b 0 1 b", f"Split split 1 {additions} b {copies}"]
    layers += [f"BinaryOp add{i} 2 1 x{i} b{i} x{i + 1} 0=0" for i in range(additions)]
    blobs = 2 + 2 * additions
    return "\n".join([str(MAGIC), f"{len(layers)} {blobs}", *layers, ""])


# Layers of one input, or of two that are no weights, and of those in a file.
LAYERS = {
    "gemm": "Gemm layer 2 1 a b out",
    "softmax": "Softmax layer 1 1 a out 0=1 1=1",
    "reduce_rows": "Reduction layer 1 1 a out 0=0 1=0 -23303=1,1 4=1 5=1",
    "convolution": "Convolution layer 1 1 a out 0={filters} 1={window} 3={stride} 4={margin} 6={count}",
}
LAYERS["convolution_winograd"] = LAYERS["convolution"]
DEPTHWISE = "ConvolutionDepthWise" + LAYERS["convolution"].removeprefix("Convolution") + " 7={groups}"


class Library:
    KINDS = tuple(LAYERS)

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
        net = self.net(device)
        if net.load_param_mem(network(count)) or net.load_model(ncnn.DataReaderFromEmpty()):
            raise ValueError("it refuses the network")
        elements = np.arange(np.prod(sizes)).reshape(sizes)
        a, b = ((elements % modulus - 30).astype("f4") for modulus in (61, 59))
        return self.runs(net, {"x0": a, "b": b}, f"x{count}", a + count * b, 0)

    def more(self, kind, request):
        """A network of one layer: what its users get, with uploads and a download."""
        parameters, sizes = request["parameters"] or {}, request["inputs"]
        inputs = [numbers(it, at) for at, it in enumerate(sizes)]
        result, tolerance = expected(kind, inputs, parameters)
        layer, weights = LAYERS[kind], None
        if kind.startswith("convolution"):
            weights = inputs.pop()
            layer = DEPTHWISE if parameters["groups"] > 1 else layer
            filters, _, window, _ = weights.shape
            of_weights = {"filters": filters, "window": window, "count": weights.size}
            layer = layer.format(**of_weights, **parameters)
        # Winograd's way computes with fractions.
        tolerance = 1e-3 if kind == "convolution_winograd" else tolerance
        net = self.net(request["device"])
        net.opt.use_winograd_convolution = kind == "convolution_winograd"
        names = "ab"[: len(inputs)]
        layers = [*(f"Input {name} 0 1 {name}" for name in names), layer]
        text = "\n".join([str(MAGIC), f"{len(layers)} {len(layers)}", *layers, ""])
        if net.load_param_mem(text) or self.load_weights(net, weights):
            raise ValueError("it refuses the network")
        # It has no dimension for batches.
        shape = (lambda it: it[0]) if weights is not None else (lambda it: it[0, 0])
        operands = {name: self.np.ascontiguousarray(shape(it)) for name, it in zip(names, inputs)}
        made = self.runs(net, operands, "out", result, tolerance)
        made.result = lambda: self.np.asarray(made.last).reshape(request["sizes"])
        return made

    def load_weights(self, net, weights):
        if weights is None:
            return net.load_model(self.ncnn.DataReaderFromEmpty())
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            # Four zeros say that single precision follows.
            file.write(bytes(4) + weights.tobytes())
            file.flush()
            return net.load_model(file.name)

    def net(self, device):
        net = self.ncnn.Net()
        net.opt.use_vulkan_compute = True
        for option in HALVES:
            setattr(net.opt, f"use_{option}", False)
        net.set_vulkan_device(self.device(device))
        return net

    def runs(self, net, arrays, output, expected, tolerance):
        np, operands = self.np, {name: self.ncnn.Mat(it) for name, it in arrays.items()}

        def run():
            extractor = net.create_extractor()
            for name, operand in operands.items():
                extractor.input(name, operand)
            code, result = extractor.extract(output)
            if code:
                raise ValueError(f"it ended with {code}")
            return result

        made = Prepared(run, expected=expected, tolerance=tolerance)
        made.result = lambda: np.asarray(made.last)
        # The operands only point to these.
        made.memory = arrays
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
