"""ncnn on Vulkan, with 32-bit arithmetic, and storage of the operator's type. `peer.py` tells what a
library has to offer."""

import tempfile

# Options for storage in half precision, and options that are never set.
STORED_AS_HALVES = ("fp16_packed", "fp16_storage")
NEVER = ("fp16_arithmetic", "bf16_packed", "bf16_storage")
MAGIC = 7767517


def network(additions):
    """Its text: `b` is added to `a` so many times, and the result is `xN`."""
    copies = " ".join(f"b{index}" for index in range(additions))
    layers = ["Input a 0 1 x0", "Input b 0 1 b", f"Split split 1 {additions} b {copies}"]
    layers += [f"BinaryOp add{i} 2 1 x{i} b{i} x{i + 1} 0=0" for i in range(additions)]
    blobs = 2 + 2 * additions
    return "\n".join([str(MAGIC), f"{len(layers)} {blobs}", *layers, ""])


WINDOWS = "0={filters} 1={window} 3={stride} 4={margin} 6={count}"
# Layers of as many inputs as they name, and of weights in a file.
LAYERS = {
    "gemm": "Gemm layer 2 1 a b out",
    "softmax": "Softmax layer 1 1 a out 0=1 1=1",
    "reduce_rows": "Reduction layer 1 1 a out 0=0 1=0 -23303=1,1 4=1 5=1",
    "attention": "SDPA layer 3 1 a b c out 6={scale}",
    "lstm": "LSTM layer 1 1 a out 0={hidden} 1={count}",
    "convolution": "Convolution layer 1 1 a out " + WINDOWS,
    "convolution_winograd": "Convolution layer 1 1 a out " + WINDOWS,
    "up_convolution": "Deconvolution layer 1 1 a out " + WINDOWS,
}
DEPTHWISE = "ConvolutionDepthWise layer 1 1 a out " + WINDOWS + " 7={groups}"


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
        parameters, inputs = request["parameters"] or {}, given(kind, request)
        result, tolerance = expected(kind, inputs, parameters)
        layer, weights = self.layer(kind, inputs, parameters)
        # Winograd's way computes with fractions.
        tolerance = 1e-3 if kind == "convolution_winograd" else tolerance
        net = self.net(request["device"], request["dtype"] == "f2")
        net.opt.use_winograd_convolution = kind == "convolution_winograd"
        operands = {name: self.operand(kind, it, parameters) for name, it in zip("abc", inputs)}
        layers = [*(f"Input {name} 0 1 {name}" for name in operands), layer]
        text = "\n".join([str(MAGIC), f"{len(layers)} {len(layers)}", *layers, ""])
        if net.load_param_mem(text):
            raise ValueError("it refuses the network")
        for of_net in net.layers():
            if not of_net.support_vulkan:
                raise ValueError(f"its layer {of_net.type} runs on the CPU alone")
        if self.load_weights(net, weights):
            raise ValueError("it refuses the weights")
        made = self.runs(net, operands, "out", result, tolerance)
        made.result = lambda: self.result(kind, made.last, request["sizes"])
        return made

    def layer(self, kind, inputs, parameters):
        """Its text, and the weights, which are no longer inputs then."""
        layer, weights = LAYERS[kind], None
        if "convolution" in kind:
            weights = inputs.pop()
            if kind == "up_convolution":
                weights = self.np.ascontiguousarray(weights.swapaxes(0, 1))
            layer = DEPTHWISE if parameters["groups"] > 1 else layer
            filters, _, window, _ = weights.shape
            own = {"filters": filters, "window": window, "count": weights.size}
            return layer.format(**own, **parameters), weights
        if kind == "lstm":
            weights, recurrence = inputs.pop(1), inputs.pop(1)
            return layer.format(hidden=recurrence.shape[-1], count=weights.size), weights
        return layer.format(**parameters), None

    def operand(self, kind, array, parameters):
        """It has no dimension for batches."""
        if kind == "attention":
            return by_heads(array, parameters["heads"])
        is_image = "convolution" in kind
        return self.np.ascontiguousarray(array[0] if is_image else array[0, 0], "f4")

    def result(self, kind, found, sizes):
        found = self.np.asarray(found)
        if kind == "attention":
            found = found.transpose(1, 0, 2)
        return found.reshape(sizes)

    def load_weights(self, net, weights):
        if weights is None:
            return net.load_model(self.ncnn.DataReaderFromEmpty())
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            # Four zeros say that single precision follows.
            file.write(bytes(4) + weights.tobytes())
            file.flush()
            return net.load_model(file.name)

    def net(self, device, are_halves=False):
        net = self.ncnn.Net()
        net.opt.use_vulkan_compute = True
        for option in STORED_AS_HALVES:
            setattr(net.opt, f"use_{option}", are_halves)
        for option in NEVER:
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
